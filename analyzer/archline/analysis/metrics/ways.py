"""Ways through the body of a recursive algorithm: the conditions on sizes met so far, with their outcomes."""

from __future__ import annotations

from collections.abc import Iterable

from archline.algebra.disjunctions import Knowledge
from archline.algebra.polynomial import Poly
from archline.ir.conditions import alternatives, negated
from archline.ir.scope import Scope
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
        condition = branch.condition if taken else negated(branch.condition)
        known = before.learn(alternatives(condition, scope))
        if known is not None:
            decision = Decision(branch, taken, undecided.indicator, undecided.condition)
            yield Way((*way.decisions, decision), known)
