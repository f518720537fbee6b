"""Split the additive metrics by statement, so that the totals of the statements sum to those of a call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from archline.algebra.polynomial import ONE
from archline.analysis.metrics.operations import CostModel
from archline.analysis.metrics.tally import FREE, Tally
from archline.ir.amounts import exact_amount
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.metrics import METRICS, Composition, Event, MetricDefinition
from archline.records import replace

EXECUTIONS = MetricDefinition(
    "executions", "", "executions of the first statement of a line", composition=Composition.SUM
)
_SPLIT = (replace(METRICS["flops"], by_kind=False), METRICS["work"], EXECUTIONS)


class Place(NamedTuple):
    """The position of the first character of a statement, or of an `elif`, in its source."""

    line: int
    column: int


class _Statement(NamedTuple):
    """The place of the statement whose costs are counted, and whether it is the first one written on its line.

    The test of an `elif` is a statement too.
    """

    place: Place | None = None
    begins_line: bool = False


_OUTSIDE = _Statement()
# One for each thread: servers and notebooks derive in several.
_current: ContextVar[_Statement] = ContextVar("statement", default=_OUTSIDE)


class StatementModel(CostModel):
    """Counts flops and work, each in total and for each statement, and the executions of each statement.

    A statement is a kind of each metric: `work.12:5` is the work of the statement at line 12, column 5. Derivations
    sum kinds over loops, branches, and recursive calls as they do the metrics. A call has the costs of its algorithm.
    """

    effort_factor = 8

    def __init__(self) -> None:
        super().__init__(_SPLIT)

    def attribute_to(self, block: tuple[s.Stmt, ...], index: int) -> AbstractContextManager[None]:
        return _enter_statement(_describe_statement(block[index], block[:index], _current.get()))

    def attribute_to_branch(self, branch: s.Branch) -> AbstractContextManager[None]:
        return _enter_statement(_describe_branch(branch, _current.get()))

    def count_event(self, event: Event, times: int = 1) -> Tally:
        return self.attribute_all(super().count_event(event, times))

    def count_statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        return self._count_execution()

    def count_branch(self, branch: s.Branch) -> Tally:
        # The current statement of an `else` is still the test before it, which has been counted.
        return FREE if branch.condition is None else self._count_execution()

    def _count_execution(self) -> Tally:
        once = Tally({EXECUTIONS.name: exact_amount(ONE)})
        return self.attribute_all(once) if _current.get().begins_line else FREE

    def list_declared_metrics(self, metric: str) -> tuple[str, ...]:
        names = tuple(name for name in super().list_declared_metrics(metric) if "." not in name)
        place = _current.get().place
        return names if place is None else (*names, *(_name_kind(name, place) for name in names))

    def attribute_all(self, tally: Tally) -> Tally:
        """Count all that a tally counts, also its iterations, as costs of the current statement."""
        place = _current.get().place
        totals = {name: amount for name, amount in tally.sums.items() if "." not in name}
        kinds = {} if place is None else {_name_kind(name, place): totals[name] for name in totals}
        rounds = {name: self.attribute_all(once) for name, once in tally.rounds.items()}
        return replace(tally, sums={**totals, **kinds}, rounds=rounds)

    def attribute_call(self, tally: Tally) -> Tally:
        # What the statements of a callee cost is the cost of the call; how often they are executed is not.
        own = {name: amount for name, amount in tally.sums.items() if self.needs_solution(name, called=True)}
        rounds = {name: self.attribute_call(once) for name, once in tally.rounds.items()}
        return self.attribute_all(replace(tally, sums=own, rounds=rounds))

    def needs_solution(self, name: str, called: bool) -> bool:
        # Totals are of use in calls only, as those of the algorithm itself are derived without its statements.
        return "." not in name and name != EXECUTIONS.name if called else "." in name


@contextmanager
def _enter_statement(statement: _Statement) -> Iterator[None]:
    """Return a context in which all costs are those of a statement."""
    token = _current.set(statement)
    try:
        yield
    finally:
        _current.reset(token)


def _describe_statement(statement: s.Stmt, before: tuple[s.Stmt, ...], outer: _Statement) -> _Statement:
    """Return what a statement is counted as, given the statements before it and the one around its block."""
    if isinstance(statement, s.If) and isinstance(statement.branches[0].condition, s.Reached):
        # It holds the statements behind an exit, and stands for none.
        return _Statement(outer.place)
    place = Place(statement.span.line, statement.span.column)
    # One written statement may stand for several, a block may stand on the line of its loop, and several `return`
    # become one, which returns a register.
    last = next((earlier.span.line for earlier in reversed(before) if not _is_declaration(earlier)), None)
    gathers = isinstance(statement, s.Return) and any(earlier.span == statement.span for earlier in before)
    lines = {last, None if outer.place is None else outer.place.line}
    return _Statement(place, place.line not in lines and not gathers and not _is_declaration(statement))


def _describe_branch(branch: s.Branch, before: _Statement) -> _Statement:
    """Return what a branch after the first one of an `if` is counted as: an `else` as the test before it."""
    if branch.condition is None:
        return before
    place = Place(branch.span.line, branch.span.column)
    return _Statement(place, before.place is None or place.line != before.place.line)


def _is_declaration(statement: s.Stmt) -> bool:
    """Test whether a statement only declares a name, which executes nothing."""
    return isinstance(statement, s.Local) and statement.value is None


def _name_kind(metric: str, place: Place) -> str:
    return f"{metric}.{place.line}:{place.column}"


def split_kind(name: str) -> tuple[str, Place]:
    """Return the metric and the place that a kind stands for."""
    metric, _, place = name.partition(".")
    line, _, column = place.partition(":")
    return metric, Place(int(line), int(column))


BY_STATEMENT = StatementModel()
