"""The body of a recursive algorithm, case by case: the conditions on sizes that lead through it, and its costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from archline.algebra.disjunctions import Knowledge
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.metrics.tally import DerivationStep, Tally
from archline.ir.conditions import alternatives, negated
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.records import record, replace
from archline.recurrences.model import Decision, Equation

MAX_CASES = 48


@record
class DecisionPath:
    """The decisions taken so far, and what they imply."""

    decisions: tuple[Decision, ...]
    known: Knowledge


@record
class BodyCase:
    """One way through the body: the conditions on sizes that lead there, and the costs (without the 1 of the call).

    `facts` hold there. `data` names integers that only the data gives.
    """

    way: DecisionPath
    facts: Facts
    tally: Tally
    steps: tuple[DerivationStep, ...] = ()
    data: tuple[str, ...] = ()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The conditions on sizes with their outcomes."""
        return self.way.decisions

    @property
    def known(self) -> tuple[Poly, ...]:
        """The values >= 0 of the decisions."""
        return self.way.known.nonnegative

    def equation(self, value: Poly) -> Equation:
        """What a metric is in this case."""
        return Equation(self.decisions, self.facts, value, tuple(x for x in self.data if x in value.names), self.known)


class UndecidedError(Exception):
    """An `if` on sizes that the current case does not decide."""

    def __init__(self, branch: s.Branch, indicator: Poly, condition: s.Expr, scope: Scope) -> None:
        super().__init__()
        self.branch, self.indicator, self.condition, self.scope = branch, indicator, condition, scope


class TooManyCasesError(Exception):
    """The body has more ways through it than are followed."""


def every_case(facts: Facts, follow: Callable[[DecisionPath], BodyCase]) -> list[BodyCase]:
    """Every way through a body that conditions on sizes distinguish. Raises TooManyCasesError."""
    found: list[BodyCase] = []
    pending = [DecisionPath((), Knowledge(facts))]
    while pending:
        if len(found) + len(pending) > MAX_CASES:
            raise TooManyCasesError
        way = pending.pop()
        try:
            found.append(follow(way))
        except UndecidedError as undecided:
            pending.extend(reversed(list(_both_ways(way, undecided))))
    return found


def _both_ways(way: DecisionPath, undecided: UndecidedError) -> Iterator[DecisionPath]:
    """Both outcomes of a condition, as far as they are possible."""
    branch, scope = undecided.branch, undecided.scope
    assert branch.condition is not None
    before = replace(way.known, facts=scope.facts)
    for taken in (True, False):
        condition = branch.condition if taken else negated(branch.condition)
        known = before.learn(alternatives(condition, scope))
        if known is not None:
            decision = Decision(branch, taken, undecided.indicator, undecided.condition)
            yield DecisionPath((*way.decisions, decision), known)
