"""Judge two estimates: which is smaller, by proof or by execution, by which margin, and between which sizes it changes.

A change is bracketed by bisection; the bracket is exact if its sizes are neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from archline.energy.estimates import Estimate, ModelOnMachine
from archline.expr.intervals import Interval
from archline.records import field, record, replace

PROVED, THIN, DEPENDS, EXECUTED, OPEN = "proved", "proved, thin", "depends on the data", "executed", "open"
QUANTITIES = ("energy", "time", "power", "energy_delay", "bytes")
FIRST_LABEL, SECOND_LABEL = "A", "B"


@record
class Execution:
    """The ratio of two executions on the same data, which `data` describes."""

    data: str
    ratio: Interval


@record
class PointVerdict:
    """The verdict on two algorithms: `less` is "A" if the first takes less, "B" if the second does, or None.

    `ratio` bounds the first amount divided by the second, for all data; `decides` names the term that decides, or whose
    bounds leave it open; `reason` explains a thin margin or an open verdict.
    """

    verdict: str
    less: str | None
    ratio: Interval | None
    decides: str
    reason: str = ""
    executions: tuple[Execution, ...] = field(default=())

    @property
    def decided(self) -> bool:
        """Whether the bounds alone decide."""
        return self.verdict in (PROVED, THIN)


def judge_estimates(first: Estimate, second: Estimate, by: str) -> PointVerdict:
    """Compare two estimates by their bounds on the quantity `by`, such as energy or time."""
    first_amount, second_amount = first.by(by), second.by(by)
    if first_amount is None or second_amount is None:
        lacks = first if first_amount is None else second
        reason = next(iter(lacks.reasons.values()), f"the {by} is not known")
        return PointVerdict(OPEN, None, None, "", reason)
    ratio = divide_amounts(first_amount, second_amount)
    less = _decide_lesser(first_amount, second_amount)
    if less is None and not (first_amount.exact and first_amount == second_amount):
        return PointVerdict(
            OPEN, None, ratio, _find_widest_term(first, second, by), _explain_undecided(first, second, by)
        )
    decides = _find_deciding_term(first, second, by, less)
    thin = _explain_thin_margin(first, second, by, less, ratio)
    if less is None:
        return PointVerdict(PROVED, None, ratio, decides, "equal")
    return PointVerdict(THIN if thin else PROVED, less, ratio, decides, thin)


def divide_amounts(one: Interval, other: Interval) -> Interval | None:
    """Return the ratio of two amounts; None if the second may be 0."""
    return one / other if other.lower > 0 else None


def _decide_lesser(one: Interval, other: Interval) -> str | None:
    """Return the label of the smaller amount; None if the bounds do not decide."""
    if one.upper < other.lower:
        return FIRST_LABEL
    return SECOND_LABEL if other.upper < one.lower else None


def _select_parts(estimate: Estimate, by: str) -> Mapping[str, Interval]:
    """Return the sides of a time, the terms of an energy, or the bytes, by name."""
    if by == "bytes":
        return {by: estimate.amounts[by]} if by in estimate.amounts else {}
    return estimate.sides if by == "time" else estimate.terms


def _subtract_parts(first: Estimate, second: Estimate, by: str) -> dict[str, Interval]:
    left, right = _select_parts(first, by), _select_parts(second, by)
    zero = Interval.of(0)
    return {name: left.get(name, zero) - right.get(name, zero) for name in dict.fromkeys((*left, *right))}


def _find_deciding_term(first: Estimate, second: Estimate, by: str, less: str | None) -> str:
    """Return the term with the largest difference in favour of `less`; for times the largest side of the slower."""
    if less is None:
        return ""
    if by == "time":
        loser = second if less == FIRST_LABEL else first
        return loser.binds
    sign = -1 if less == FIRST_LABEL else 1
    differences = _subtract_parts(first, second, by)
    return max(differences, key=lambda name: sign * differences[name].middle)


def _find_widest_term(first: Estimate, second: Estimate, by: str) -> str:
    """Return the term of the quantity `by` whose difference has the widest bounds; empty if there is none."""
    differences = _subtract_parts(first, second, by)
    return max(differences, key=lambda name: differences[name].width) if differences else ""


def _explain_undecided(first: Estimate, second: Estimate, by: str) -> str:
    """Name the term with the widest bounds, and the algorithm that has it."""
    name = _find_widest_term(first, second, by)
    widths = {
        place: _select_parts(estimate, by)[name].width
        for place, estimate in ((FIRST_LABEL, first), (SECOND_LABEL, second))
        if name in _select_parts(estimate, by)
    }
    if not any(widths.values()):
        return "the two are equal within the rounding of the bounds"
    side = max(widths, key=lambda place: widths[place])
    return f"widest: {name} of {side}"


def _explain_thin_margin(first: Estimate, second: Estimate, by: str, less: str | None, ratio: Interval | None) -> str:
    """Explain why a verdict is not robust: margin below the model's error, or reversal by its coarser form; else ""."""
    if by not in ("energy", "energy_delay", "power"):
        return ""
    accuracy = first.model.accuracy
    if accuracy is not None and ratio is not None and less is not None:
        margin = 1 - ratio.upper if less == FIRST_LABEL else 1 - 1 / ratio.lower
        if margin < accuracy:
            percent = f"{float(100 * margin):.3g} %"
            return f"the margin, {percent}, is below the model's stated error, {float(100 * accuracy):.3g} %"
    coarse = [_estimate_coarse_amount(estimate, by) for estimate in (first, second)]
    if coarse[0] is None or coarse[1] is None:
        return ""
    coarse_lesser = _decide_lesser(coarse[0], coarse[1])
    if coarse_lesser == less:
        return ""
    return f"{'undecided' if coarse_lesser is None else 'reversed'} if eps_op multiplies flops instead of work"


def _estimate_coarse_amount(estimate: Estimate, by: str) -> Interval | None:
    """Return the quantity by the coarser form of the model, in which eps_op multiplies flops; None if there is none."""
    energy = ModelOnMachine(estimate.model, estimate.machine, estimate.amounts.keys()).estimate_coarser(estimate)
    return None if energy is None else replace(estimate, energy=energy, quotients={}).by(by)


def decide_by_executions(verdict: PointVerdict, ratios: Sequence[Execution], decides: str) -> PointVerdict:
    """Decide a verdict that the bounds leave open by the `ratios` of executions; `decides` is the deciding term."""
    directions = {_decide_lesser_by_ratio(execution.ratio) for execution in ratios}
    if not ratios:
        return verdict
    if len(directions) > 1:
        ordered = sorted(ratios, key=lambda execution: execution.ratio.middle)
        ends = [f"{float(execution.ratio.middle):.3g} with {execution.data}" for execution in (ordered[0], ordered[-1])]
        reason = f"{ends[0]}, {ends[1]}"
        return replace(verdict, verdict=DEPENDS, less=None, reason=reason, executions=tuple(ratios))
    (only,) = directions
    reason = "with " + "; ".join(execution.data for execution in ratios)
    return replace(verdict, verdict=EXECUTED, less=only, decides=decides, reason=reason, executions=tuple(ratios))


def _decide_lesser_by_ratio(ratio: Interval) -> str | None:
    """Return the label of the algorithm that takes less by a ratio; None if it may be 1."""
    if ratio.upper < 1:
        return FIRST_LABEL
    return SECOND_LABEL if ratio.lower > Fraction(1) else None


@record
class Crossover:
    """A change of the algorithm that takes less: this is proved for `before` at size `start`, for `after` at `end`.

    Between these sizes nothing is decided.
    """

    variable: str
    start: int
    end: int
    machine: str
    before: str
    after: str
    pair: tuple[str, str]

    @property
    def exact(self) -> bool:
        """Whether `end` is the next size after `start`."""
        return self.end == self.start + 1


def bracket_changes(
    points: Sequence[tuple[int, PointVerdict]], at: Callable[[int], PointVerdict | None]
) -> list[tuple[int, int]]:
    """Return for each change between decided points the closest decided sizes on both sides of it.

    `at` returns the verdict by bounds at a size, or None. Two opposite changes between neighbouring points are not
    found; the verdicts at the returned sizes are proved.
    """
    decided = [(size, verdict.less) for size, verdict in points if verdict.decided and verdict.less is not None]
    result = []
    for (low, before), (high, after) in pairwise(decided):
        if before != after:
            start = _find_last_size(low, high, before, at)
            result.append((start, -_find_last_size(-high, -start, after, lambda size: at(-size))))
    return result


def _find_last_size(low: int, high: int, less: str | None, at: Callable[[int], PointVerdict | None]) -> int:
    """Find by bisection a size from `low` on where `less` is proved to take less, but not at the next size."""
    while high - low > 1:
        middle = (low + high) // 2
        verdict = at(middle)
        is_less = verdict is not None and verdict.decided and verdict.less == less
        low, high = (middle, high) if is_less else (low, middle)
    return low
