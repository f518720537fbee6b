"""What io is not derived of: declared io, communication, and accesses that cannot be followed."""

from __future__ import annotations

from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.call_graph import declared_costs, reachable
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
        costs = {node for node, _, metric in declared_costs(module, each.body) if metric == "io"}
        for node in s.nodes(each.body):
            if isinstance(node, s.Communication | s.Split):
                raise UntracedError("the costs of communication are not derived in this version", node.span)
            if node in costs:
                raise UntracedError("declared io is not added up in this version", node.span)
