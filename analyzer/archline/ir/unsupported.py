"""What io is not derived of: declared io, communication, and accesses that cannot be followed."""

from __future__ import annotations

from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.call_graph import reachable
from archline.language.model import Module


class UntracedError(Exception):
    """Accesses that this version cannot follow: why, and where."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


def require_accesses(module: Module, algorithm: s.Algorithm) -> None:
    """Raises UntracedError where an algorithm, or one that it calls, declares io, or moves words otherwise."""
    for each in (algorithm, *reachable(module, algorithm)):
        if each.grid:
            raise UntracedError(
                "io is derived on one processor, not on a grid: ask for it of what the processors call", each.span
            )
        for node in s.nodes(each.body):
            match node:
                case s.Communication() | s.Split():
                    raise UntracedError("the costs of communication are not derived in this version", node.span)
                case s.Costs() | s.Call() if any(metric == "io" for _, metric in _declared(module, node)):
                    raise UntracedError("declared io is not added up in this version", node.span)
                case _:
                    pass


def _declared(module: Module, node: s.Costs | s.Call) -> tuple[tuple[s.Expr, str], ...]:
    """The costs that a statement declares, or the extern that a call calls."""
    if isinstance(node, s.Costs):
        return node.amounts
    target = module.targets.get(node)
    return target.costs if isinstance(target, s.Extern) else ()
