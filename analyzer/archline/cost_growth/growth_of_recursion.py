"""Derive the growth of a recursive cost by solving its recurrence over real sizes, as `archline recurrence` does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.reals import OutOfReachError
from archline.expr import build as b
from archline.growth.growths import TOO_LONG, Growth
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.records import record
from archline.recurrences.asymptotic.of_integers import ForcingGrowth, OneSidedRecurrence, build_real_recurrence
from archline.recurrences.asymptotic.problem import RealRecurrence, SolvedGrowth, Superpolynomial
from archline.recurrences.asymptotic.solve import solve
from archline.recurrences.model import IntegerRecurrence

MAX_EFFORT = 200_000


@record
class RecurrenceGrowth:
    """The upper and lower growth of a recurrence, each None if unknown; `reason` explains a missing upper one.

    The lower growth holds if `size` >= `least`, as the cost may be 0 at smaller sizes; without a `size` it holds for
    all sizes. If the growth differs between regimes, `pieces` have both under conditions that cover all sizes.
    """

    upper: s.Expr | None
    lower: s.Expr | None
    size: str = ""
    least: int = 1
    reason: str = ""
    pieces: tuple[Growth, ...] = ()


def solve_for_growth(
    recurrence: IntegerRecurrence, added: ForcingGrowth, facts: Sequence[s.Fact] = ()
) -> RecurrenceGrowth:
    """Solve a recurrence for its growth under facts; `added` gives the growth of the cost that a call itself adds."""
    try:
        with limit_effort(MAX_EFFORT, own=True):
            if recurrence.scales:
                return _solve_scaled_size_recurrence(recurrence, added, facts)
            return _solve_one_size_recurrence(recurrence, added)
    except (TooComplexError, ArchlineError) as problem:
        return RecurrenceGrowth(None, None, reason=TOO_LONG if isinstance(problem, ArchlineError) else str(problem))


def _solve_one_size_recurrence(recurrence: IntegerRecurrence, added: ForcingGrowth) -> RecurrenceGrowth:
    """Solve a recurrence in one size, from above and from below; the lower growth holds from a positive value on."""
    most, least = OneSidedRecurrence(recurrence, True, added), OneSidedRecurrence(recurrence, False, added)
    try:
        above = most.build_recurrence()
        ends = _require_single_growth(_solve_or_raise(above))
    except OutOfReachError as problem:
        return RecurrenceGrowth(None, None, reason=str(problem))
    try:
        start = least.find_positive_start()
        if start is None:
            return RecurrenceGrowth(ends.upper, None)
        below = least.build_recurrence()
        lower = (ends if below == above else _require_single_growth(_solve_or_raise(below))).lower
    except OutOfReachError:
        return RecurrenceGrowth(ends.upper, None)
    return RecurrenceGrowth(ends.upper, lower, least.size, start)


def _solve_scaled_size_recurrence(
    recurrence: IntegerRecurrence, added: ForcingGrowth, facts: Sequence[s.Fact]
) -> RecurrenceGrowth:
    """Solve a recurrence whose calls divide several sizes, from above and from below."""
    most, more = recurrence.most, list[s.Expr]([b.ZERO] * 2)
    if recurrence.more:
        ends = added(recurrence.more, most.facts)
        if ends[0] is None:
            return RecurrenceGrowth(None, None, reason="the growth of the cost of the outermost call is unknown")
        more = [end or b.ZERO for end in ends]
    try:
        above = _require_tight_growths(_solve_or_raise(build_real_recurrence(most, True, added, facts)))
    except OutOfReachError as problem:
        return RecurrenceGrowth(None, None, reason=str(problem))
    below: list[Growth] = []
    with suppress(OutOfReachError):
        below = _require_tight_growths(_solve_or_raise(build_real_recurrence(recurrence.least, False, added, facts)))
    alike = [growth.when for growth in below] == [growth.when for growth in above]
    lowers = {growth.when: growth.lower for growth in below if alike}
    pieces = tuple(
        Growth(
            _add_to_growth(lowers.get(growth.when), more[1]), _add_to_growth(growth.upper, more[0]), where=growth.where
        )
        for growth in above
    )
    if len(pieces) > 1:
        return RecurrenceGrowth(None, None, reason="its growth differs between regimes", pieces=pieces)
    return RecurrenceGrowth(pieces[0].upper, pieces[0].lower)


def _add_to_growth(growth: s.Expr | None, more: s.Expr) -> s.Expr | None:
    """Add the growth of the cost that only the outermost call adds; None stays None."""
    return growth if growth is None or more is b.ZERO else b.binary("+", growth, more)


def _solve_or_raise(problem: RealRecurrence) -> list[Growth]:
    """Solve a recurrence, and return its growths; the first one whose condition is true applies.

    Raises OutOfReachError if it cannot be solved.
    """
    match solve(problem):
        case SolvedGrowth(growths=growths):
            return list(growths)
        case Superpolynomial(growth=order, between=between) if order is not None:
            return [Growth(*(between or (order, order)))]
        case failed:
            raise OutOfReachError(failed.reason)


def _require_single_growth(growths: list[Growth]) -> Growth:
    """Return the only growth. Raises OutOfReachError if there are several."""
    if len(growths) > 1:
        raise OutOfReachError("its growth differs between regimes")
    return growths[0]


def _require_tight_growths(growths: list[Growth]) -> list[Growth]:
    """Return the growths if all are Theta classes. Raises OutOfReachError if one is not."""
    if not all(growth.tight for growth in growths):
        raise OutOfReachError("only upper and lower bounds on its growth are known")
    return growths
