"""Ways through the body of a recursive algorithm: the conditions on sizes met so far, with their outcomes."""

from __future__ import annotations

from collections.abc import Iterable

from archline.algebra.disjunctions import Knowledge
from archline.algebra.polynomial import Poly
from archline.ir.scope import OPPOSITE, NotStaticError, Scope, never_negative, static_value
from archline.language import syntax as s
from archline.records import record, replace
from archline.recurrences.model import Decision


@record
class Way:
    """The decisions taken so far, and what they imply."""

    decisions: tuple[Decision, ...]
    known: Knowledge


class UndecidedError(Exception):
    """An `if` on sizes that the current case does not decide."""

    def __init__(self, branch: s.Branch, indicator: Poly, condition: s.Expr, scope: Scope) -> None:
        super().__init__()
        self.branch, self.indicator, self.condition, self.scope = branch, indicator, condition, scope


def both_ways(way: Way, undecided: UndecidedError) -> Iterable[Way]:
    """Both outcomes of a condition, as far as they are possible."""
    branch, scope = undecided.branch, undecided.scope
    assert branch.condition is not None
    before = replace(way.known, facts=scope.facts)
    for taken in (True, False):
        known = before.learn(_values(branch.condition, taken, scope))
        if known is not None:
            decision = Decision(branch, taken, undecided.indicator, undecided.condition)
            yield Way((*way.decisions, decision), known)


def _values(condition: s.Expr, taken: bool, scope: Scope) -> list[tuple[Poly, ...]]:
    """Alternatives, in each of which all of some values are >= 0, that together make the condition true (or false)."""
    match condition:
        case s.Unary(op="not", operand=operand):
            return _values(operand, not taken, scope)
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            first, second = _values(left, taken, scope), _values(right, taken, scope)
            return [(*x, *y) for x in first for y in second] if (op == "and") == taken else [*first, *second]
        case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
            try:
                difference = static_value(left, scope) - static_value(right, scope)
            except NotStaticError:
                return [()]
            wanted = op if taken else OPPOSITE[op]
            if wanted == "!=":
                return [never_negative("<", difference), never_negative(">", difference)]
            return [never_negative(wanted, difference)]
        case _:
            return [()]
