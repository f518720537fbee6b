"""What a processor does between steps: the costs of statements on one processor, in the scope of its program."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.communication.floors import between_floors, is_nonnegative
from archline.analysis.metrics.cost_model import STANDARD
from archline.analysis.metrics.recursion import Derivation
from archline.analysis.metrics.statements import Outcome
from archline.analysis.metrics.tally import FREE, chosen
from archline.ir.ranges import IterationRange, static_range
from archline.ir.scope import Scope, static_value
from archline.language import syntax as s
from archline.language.model import Module
from archline.records import record, replace


class Stretches(Derivation):
    """Derives costs between steps. Callees on the grid are followed in the scope of their callers.

    `free` are the statements that only say where data starts and ends.
    """

    def __init__(self, module: Module, coarse: bool) -> None:
        super().__init__(module, coarse, STANDARD)
        self.free: set[s.Stmt] = set()

    def iterations(self, loop: s.Loop, scope: Scope) -> IterationRange:
        return iterations_of(loop, scope)

    def statement(self, statement: s.Stmt, scope: Scope) -> Outcome:
        if statement in self.free:
            return FREE, "", ()
        tally, rule, steps = super().statement(statement, scope)
        if isinstance(statement, s.Local) and statement.when is not None:
            tally = chosen(self._holding(statement.when, scope), tally, FREE, scope.facts)
        return tally, rule, steps


def iterations_of(loop: s.Loop, scope: Scope) -> IterationRange:
    """The range of a loop, whose symbol is none of the caller's. Raises NotStaticError."""
    found = _whole(static_range(_ascending(loop, scope), scope), loop, scope)
    last = found.value.substitute({found.variable: found.hi - 1}) + 1
    for atom in last.atoms():
        if isinstance(atom, a.CeilLog2) and last - Poly.of_atom(atom) in (ZERO, -ONE):
            return _Halving(
                found.variable, found.lo, found.hi, found.value, found.facts, found.span, below=atom.argument
            )
    return found


def _ascending(loop: s.Loop, scope: Scope) -> s.Loop:
    """The loop with a symbol of its own; one that descends in ones has the same sums and maxima as one that ascends."""
    fresh = replace(loop, variable=scope.facts.unused(loop.variable))
    if not loop.down or loop.step is not None:
        return fresh
    end = s.Binary("+", loop.lo, s.Integer(1, span=loop.lo.span), span=loop.lo.span)
    return replace(fresh, lo=loop.hi, hi=end, down=False)


def _whole(found: IterationRange, loop: s.Loop, scope: Scope) -> IterationRange:
    """The range without a maximum in its end, where (q + 1)*w//p is no less than q*w//p."""
    if loop.down or loop.step is not None:
        return found
    end = scope.facts.simplify(static_value(loop.hi, scope))
    if end != found.hi and is_nonnegative(between_floors(end - found.lo, scope.facts).lower, scope.facts):
        return replace(found, hi=end, _done={})
    return found


@record
class _Halving(IterationRange):
    """The range of `for s in 0..ceil(log2(p))`: where there is an iteration, p is 2 at least."""

    below: Poly = ZERO

    @property
    def inside(self) -> Facts:
        return super().inside.with_nonnegative(self.below - 2)
