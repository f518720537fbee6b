"""Bound footprints from below: count lines that a window of the execution touches for certain.

The loops of a window are projected out one by one, the innermost first. The touched region is, in every
dimension of the array, a fully touched interval of subscripts. A loop that moves one interval joins neighbours
to a longer one (so the tiles of a row become the row); a loop that selects a row remains as a sum over rows; of
any other loop only the first, middle or last iteration is considered. Every count is at most the number of
lines of the array that the window touches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from itertools import islice, zip_longest
from math import gcd

from archline.algebra import atoms as a
from archline.algebra import effort, polynomial
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.algebra.relax import bound_sum
from archline.algebra.sums.summation import UnresolvedError, sum_over
from archline.analysis.cache.footprint.project import LoopProjection, TouchedBox, clip_loop
from archline.analysis.cache.footprint.windows import (
    CertainAccess,
    HalfOpenInterval,
    WindowLoop,
    WindowSet,
    facts_in_iteration,
    find_coefficient,
    iterate_joint_conditions,
)
from archline.ir.layout import LINE
from archline.records import record, replace

INVERSE_LINE = Poly.of_atom(Symbol("L"), -1)
MAX_REGIONS = 6
"""The maximum number of regions that are followed for one access, as loops and conditions allow several."""
MAX_TERM_PRODUCTS, MAX_TERMS = 2_000, 60
"""Limits on the term products of one sum, and on its terms; larger sums are replaced by simpler bounds, or omitted."""
_SumOverLoop = Callable[[Poly, WindowLoop, Facts], Poly]


@record(eq=False)
class FootprintLowerBound:
    """Lower bounds on the lines that the certain access `spot` touches in a set of windows."""

    spot: CertainAccess
    windows: WindowSet

    @cached_property
    def _projection(self) -> LoopProjection:
        return LoopProjection(self.spot.array, frozenset(loop.variable for loop in self._loops))

    @property
    def contiguous_dimension(self) -> int | None:
        """The dimension along which elements share lines; None in Z-Morton order."""
        return self._projection.contiguous_dimension

    @cached_property
    def _loops(self) -> tuple[WindowLoop, ...]:
        windows = self.windows
        inner = (
            WindowLoop(loop.variable, loop.lo, _simplify_range_end(loop.lo, loop.hi))
            for loop in self.spot.chain[windows.depth :]
        )
        return (*windows.outer, *windows.first, *inner)

    @cached_property
    def _loop_facts(self) -> list[Facts]:
        """The facts around each loop, and inside the last one."""
        return [self.windows.loop_facts(self._loops[:depth]) for depth in range(len(self._loops) + 1)]

    @cached_property
    def parts(self) -> list[CertainRegion]:
        """Alternative regions that a window is certain to touch, with inner loops and conditions projected out."""
        loops, facts = self._loops, self._loop_facts
        needs = iterate_joint_conditions(self.spot.when, facts[-1])
        regions = [TouchedBox(self.spot.box, conditions) for conditions in islice(needs, MAX_REGIONS)]
        for depth in reversed(range(len(self.windows.outer), len(loops))):
            projected = [self._projection.project_out(region, loops[depth], facts[depth]) for region in regions]
            # The first projection of each region, then the second ones.
            regions = [
                region for row in zip_longest(*projected) for region in row if region is not None and region.is_possible
            ]
            regions = regions[:MAX_REGIONS]
        return [CertainRegion(self, region) for region in regions]

    def row_facts(self, region: TouchedBox) -> list[Facts]:
        """List the facts around each loop over rows, from the outermost in, and those in the innermost one."""
        around = [self._loop_facts[len(self.windows.outer)]]
        for row in reversed(region.rows):
            around.append(facts_in_iteration(WindowLoop(row.variable, row.lo, row.hi), around[-1]))
        return around

    def list_total_bounds(self, region: TouchedBox, words: bool) -> list[Poly]:
        """List lower bounds on the lines of each window, or on words/L if `words`, summed over all windows."""
        return [bound for bound in dict.fromkeys(self._iterate_total_bounds(region, words)) if bound]

    def _iterate_total_bounds(self, region: TouchedBox, only_words: bool) -> Iterator[Poly]:
        """Yield lower bounds on the lines of a region, summed over its rows and over windows.

        Whole lines of each row are summed if a closed form exists, else words/L, and one line for each row.
        With `only_words`, only words/L are summed.
        """
        around = self.row_facts(region)
        rows, words = self._count_rows_and_words(region, around[-1])
        if not only_words:
            line_sums = [
                self._sum_over_rows(region, rows * bound, around, _sum_exactly)
                for bound in _iterate_row_line_bounds(region, words)
            ]
            yield from filter(None, line_sums)
            if any(line_sums) or words == ONE:
                return
        bounded = self._sum_over_rows(
            region,
            rows * words * (ONE if self.contiguous_dimension is None else INVERSE_LINE),
            around,
            _bound_sum_below,
        )
        if bounded is not None:
            yield bounded
        if not only_words and not any(row.variable in words.names for row in region.rows):
            nonempty_rows = replace(region, needs=(*region.needs, words - 1))
            row_sum = self._sum_over_rows(nonempty_rows, rows, around, _bound_sum_below)
            if row_sum is not None:
                yield row_sum

    def _count_rows_and_words(self, region: TouchedBox, facts: Facts) -> tuple[Poly, Poly]:
        rows, words = ONE, ONE
        for dimension, interval in enumerate(region.box):
            if interval is None:
                continue
            width = facts.positive_part(a.as_gaps(interval[1] - interval[0]))
            if dimension == self.contiguous_dimension:
                words = width
            else:
                rows = rows * width
        return rows, words if region.spaced is None else region.spaced[0]

    def _sum_over_rows(self, region: TouchedBox, amount: Poly, around: list[Facts], add: _SumOverLoop) -> Poly | None:
        """Sum an amount of each row over rows and windows; None if no closed form exists."""
        try:
            with effort.limit_effort(MAX_TERM_PRODUCTS):
                for row, facts in zip(region.rows, reversed(around[:-1]), strict=True):
                    amount = add(amount, WindowLoop(row.variable, row.lo, row.hi), facts)
                if self.contiguous_dimension is None:
                    amount = self._bound_element_lines(amount)
                total = self._sum_over_windows(region.needs, amount, add)
                return total if len(total.terms) <= MAX_TERMS else None
        except (UnresolvedError, TooComplexError):
            return None

    def _bound_element_lines(self, count: Poly) -> Poly:
        """Bound from below the lines of a number of elements at arbitrary addresses."""
        is_single_window = not self.windows.outer and a.is_integral(count)
        return a.ceil_div(count, LINE) if is_single_window else count * INVERSE_LINE

    def _sum_over_windows(self, needs: tuple[Poly, ...], total: Poly, add: _SumOverLoop) -> Poly:
        for loop, facts in zip(reversed(self.windows.outer), reversed(self._outer_facts), strict=True):
            clipped = clip_loop(needs, loop, facts)
            if clipped is None:
                total = polynomial.product((total, *map(a.nonnegative_indicator, needs)))
                needs = ()
            else:
                loop, needs = clipped
            total = add(total, WindowLoop(loop.variable, loop.lo, facts.maximum(loop.lo, loop.hi)), facts)
        remaining = [need for need in needs if not self.windows.facts.nonnegative(need)]
        return polynomial.product((total, *map(a.nonnegative_indicator, remaining)))

    @property
    def _outer_facts(self) -> list[Facts]:
        return self._loop_facts[: len(self.windows.outer)]


@record(eq=False)
class CertainRegion:
    """A region of elements (`seen`) that windows are certain to touch, with the bound that it belongs to (`least`)."""

    least: FootprintLowerBound
    seen: TouchedBox

    @cached_property
    def hull(self) -> list[HalfOpenInterval | None]:
        """Intervals that contain the region in all rows of a window, by dimension; None if unknown."""
        rows = {row.dimension: (row.place, row.place + 1) for row in self.seen.rows}
        return [self._extend_over_rows(ends or rows.get(dimension)) for dimension, ends in enumerate(self.seen.box)]

    def _extend_over_rows(self, interval: HalfOpenInterval | None) -> HalfOpenInterval | None:
        """Extend an interval over all rows that move it; None if its ends are not monotone."""
        for row, facts in zip(self.seen.rows, reversed(self.least.row_facts(self.seen)[:-1]), strict=True):
            if interval is None:
                return None
            loop = WindowLoop(row.variable, row.lo, row.hi)
            low, high = (
                _compute_extreme_value(interval[0], loop, facts, False),
                _compute_extreme_value(interval[1], loop, facts, True),
            )
            interval = None if low is None or high is None else (low, high)
        return interval

    def is_disjoint_from(self, other: CertainRegion, rows: bool) -> bool:
        """Test whether two regions have no element (if `rows`, no row) in common in any window."""
        along, facts = self.least.contiguous_dimension, self.least.row_facts(self.seen)[0]
        for dimension, (interval, other_interval) in enumerate(zip(self.hull, other.hull, strict=True)):
            if rows and dimension == along:
                continue
            if self._is_interleaved_with(other, dimension):
                return not rows or along is not None
            if interval is None or other_interval is None:
                continue
            if facts.nonnegative(other_interval[0] - interval[1]) or facts.nonnegative(interval[0] - other_interval[1]):
                return not rows or along is not None
        return False

    def _is_interleaved_with(self, other: CertainRegion, dimension: int) -> bool:
        """Test whether the subscripts of two regions have different remainders, as odd and even rows do."""
        rows = [*self.seen.rows, *other.seen.rows]
        in_dimension = [row for row in rows if row.dimension == dimension]
        slopes = [find_coefficient(row.place, row.variable) for row in in_dimension]
        steps = [int(slope.constant_term.p) for slope in slopes if slope is not None and slope.is_constant]
        if len(in_dimension) != 2 or len(steps) != 2:
            return False
        first, second = (
            row.place - step * Poly.symbol(row.variable) for row, step in zip(in_dimension, steps, strict=True)
        )
        gap = first - second
        is_fixed = {row.variable for row in rows}.isdisjoint(first.names | second.names)
        return is_fixed and gap.is_constant and a.is_integral(gap) and int(gap.constant_term.p) % gcd(*steps) != 0

    @cached_property
    def lines(self) -> list[Poly]:
        """Lower bounds on the lines of the region, summed over all windows."""
        return self.least.list_total_bounds(self.seen, False)

    @cached_property
    def words(self) -> list[Poly]:
        """Lower bounds on the elements of the region divided by L, summed over all windows."""
        return self.least.list_total_bounds(self.seen, True)


def _iterate_row_line_bounds(region: TouchedBox, words: Poly) -> Iterator[Poly]:
    """Yield lower bounds on the lines of the elements in one row, which are consecutive or equally spaced."""
    if region.spaced is None:
        yield a.ceil_div(words, LINE)
        return
    count, step = region.spaced
    yield a.minimum(count, a.ceil_div(step * (count - 1) + 1, LINE))
    yield a.ceil_div(count, a.ceil_div(LINE, step))


def _simplify_range_end(lo: Poly, hi: Poly) -> Poly:
    """Simplify a range's end lo + max(0, n) to lo + n; an empty range may then end before it begins."""
    nonzero = [operand for operand in a.split_extremum(hi - lo, True) if operand]
    return lo + reduce(a.maximum, nonzero) if nonzero else hi


def _compute_extreme_value(value: Poly, turn: WindowLoop, facts: Facts, greatest: bool) -> Poly | None:
    """Return the greatest (or least) value of an expression over a loop; None unless it is linear in the variable."""
    if turn.variable not in value.names:
        return value
    slope = find_coefficient(value, turn.variable)
    if slope is None or not (facts.nonnegative(slope) or facts.nonnegative(-slope)):
        return None
    last = facts.nonnegative(slope) == greatest
    return value.substitute({turn.variable: turn.hi - 1 if last else turn.lo})


def _sum_exactly(value: Poly, turn: WindowLoop, facts: Facts) -> Poly:
    """Sum a value over a loop. Raises UnresolvedError."""
    return sum_over(a.as_gaps(value), turn.variable, turn.lo, turn.hi, facts)


def _bound_sum_below(value: Poly, turn: WindowLoop, facts: Facts) -> Poly:
    """Bound the sum of a nonnegative amount over a loop from below."""
    bound = bound_sum(a.as_gaps(value), turn.variable, turn.lo, turn.hi, facts, False)
    return ZERO if bound is None or turn.variable in bound.names else bound
