"""Count the lines that a reference touches in a window of the execution, and decide whether windows slide.

A window fixes the outer loops around a reference; the loops inside run. If each subscript that selects a row depends
on one inner loop, rows are distinct: lines are counted row by row, and triangles are not rounded up to rectangles.
Other references are bounded by the smallest box around them. Every count is an upper bound in the sizes, L and the
variables of the fixed loops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.analysis.cache.footprint.windows import (
    ROW_PREFIX,
    IntervalByRow,
    RowRanges,
    bound_line_sum_above,
    bound_rows_and_lines_above,
    find_coefficient,
    is_monotone,
    sum_lines_exactly,
)
from archline.ir.factored import (
    FactoredProduct,
    UnboundedError,
    bound_max_in_loop,
    bound_max_over_loops,
    bound_maximum,
    bound_sum_over_loops,
)
from archline.ir.layout import LINE, ClosedInterval, bound_interval_lines_above, count_aligned_lines, count_stack_lines
from archline.ir.shape import Shape, access_shape, chain_shape, name_counters
from archline.ir.tree import Access, Array, Chain, Loop, MonotoneWalk, contiguous_dimension
from archline.records import field, memoised, record

MAX_SHORT_STRIDE = 4
"""The largest stride along a row that is taken to be shorter than a line."""


@record(eq=False)
class Reference:
    """Accesses to one row of an array, in the same loops, whose subscripts differ by constants.

    `place` has an interval of subscripts for each dimension. If a subscript depends on data, the interval contains
    all values that it may have, or is None for the whole dimension; `walk` tells whether it moves in one direction
    along a row. `order` has the positions of the accesses in the text, with calls inlined. Without `whole_lines`, w
    words of a row count as w/L + 2 lines: an upper bound without floors. Each fetched line counts `moves` times: 2
    if write-backs count.
    """

    array: Array
    place: tuple[ClosedInterval | None, ...]
    chain: Chain
    facts: Facts = field(repr=False)
    accesses: tuple[Access, ...] = field(repr=False)
    order: tuple[int, ...] = (0,)
    whole_lines: bool = True
    moves: int = 1
    found: dict[tuple[object, ...], object] = field(default_factory=dict, repr=False, init=False)

    @property
    def name(self) -> str:
        return self.array.name

    @memoised
    def get_footprint(self, depth: int) -> ReferenceFootprint:
        """Return the footprint of a window with the loops `chain[:depth]` fixed."""
        return ReferenceFootprint(self, depth)

    @property
    def walk(self) -> MonotoneWalk | None:
        """The movement along a row of a data-dependent subscript that only rises or only falls, for all accesses.

        None if no subscript is of this kind.
        """
        return self.accesses[0].walk

    @property
    def is_data_dependent(self) -> bool:
        """True if a subscript depends on data, so that each iteration may access another element."""
        return None in self.accesses[0].place

    @memoised
    def is_fixed_by_data(self, depth: int) -> bool:
        """Tell whether a subscript depends on data, but is constant while the loops `chain[:depth]` are fixed."""
        inner = {loop.variable for loop in self.chain[depth:]}
        return self.is_data_dependent and len(self.accesses) == 1 and depth >= 0 and inner <= self.accesses[0].steady

    @cached_property
    def counters(self) -> frozenset[str]:
        """The variables of the loops around the reference."""
        return frozenset(loop.variable for loop in self.chain)

    @cached_property
    def shape(self) -> Shape:
        """A key of everything that line counts depend on, with loop variables named by their depths."""
        names = name_counters(self.chain)
        accesses = tuple(access_shape(access, names) for access in self.accesses)
        place = tuple(ends and (ends[0].substitute(names), ends[1].substitute(names)) for ends in self.place)
        return chain_shape(self.chain, self.facts), accesses, place, self.whole_lines

    @cached_property
    def access_offsets(self) -> tuple[tuple[int, ...], ...]:
        """The distance of each access from the first one in each dimension, for accesses in program order."""
        first = self.accesses[0].place
        result = []
        for access in self.accesses:
            pairs = zip(access.place, first, strict=True)
            result.append(tuple(0 if x is None or y is None else int((x - y).constant_term.p) for x, y in pairs))
        return tuple(result)

    @memoised
    def hull(self, depth: int) -> tuple[ClosedInterval, ...]:
        """Return a box around the elements that a window touches, the smallest that is known.

        A window is an iteration of the outer `depth` loops (0: the whole run).
        """
        return tuple(self._hull_intervals(depth))

    def _hull_intervals(self, depth: int) -> Iterator[ClosedInterval]:
        dimensions = [(ZERO, extent - 1) for extent in self.array.extents]
        if depth == len(self.chain):
            yield from (interval or whole for interval, whole in zip(self.place, dimensions, strict=True))
            return
        loop = self.chain[depth]
        for (lo, hi), whole in zip(self.hull(depth + 1), dimensions, strict=True):
            try:
                yield -bound_max_in_loop(-lo, loop, loop.facts), bound_max_in_loop(hi, loop, loop.facts)
            except UnboundedError:
                yield whole

    def window_facts(self, depth: int) -> Facts:
        """Return the facts in a window, an iteration of the outer `depth` loops (0: the whole run)."""
        return self.chain[depth - 1].inside if depth else self.facts


@record(eq=False)
class ReferenceFootprint:
    """The footprint of one reference in a window, an iteration of the outer `depth` loops."""

    reference: Reference
    depth: int

    @property
    def chain(self) -> Chain:
        """The outer loops, which a window fixes."""
        return self.reference.chain[: self.depth]

    @property
    def hull(self) -> tuple[ClosedInterval, ...]:
        """A bounding box of the elements that are touched."""
        return self.reference.hull(self.depth)

    @property
    def _inner_loops(self) -> Chain:
        return self.reference.chain[self.depth :]

    @cached_property
    def row_loops(self) -> dict[int, Loop]:
        """The inner loop that alone determines the subscript of a dimension, by dimension; no loop occurs twice."""
        result: dict[int, Loop] = {}
        array = self.reference.array
        if array.layout == "zmorton" or array.moves:
            return result
        for dimension, interval in enumerate(self.reference.place):
            if dimension == contiguous_dimension(array) or interval is None or interval[0] != interval[1]:
                continue
            inside = [loop for loop in self._inner_loops if loop.variable in interval[0].names]
            if len(inside) != 1 or inside[0] in result.values():
                continue
            if find_coefficient(interval[0], inside[0].variable) is not None:
                result[dimension] = inside[0]
        return result

    @cached_property
    def _other_loops(self) -> Chain:
        """The inner loops that determine no row by themselves."""
        rows = set(map(id, self.row_loops.values()))
        return tuple(loop for loop in self._inner_loops if id(loop) not in rows)

    @cached_property
    def _row_loop_chain(self) -> Chain:
        rows = set(map(id, self.row_loops.values()))
        return tuple(loop for loop in self._inner_loops if id(loop) in rows)

    @cached_property
    def ranges(self) -> RowRanges:
        """The range of each row loop's variable in all iterations of the other loops, from the outermost loop in."""
        facts = self.reference.window_facts(self.depth)
        result = []
        for loop in self._row_loop_chain:
            lo, hi = self._extend_interval((loop.lo, loop.hi), facts)
            result.append((loop.variable, lo, facts.maximum(lo, hi), facts))
            facts = facts.with_symbol(loop.variable, (lo,), (hi - 1,))
        return result

    @cached_property
    def facts(self) -> Facts:
        """The facts in the window, including those about the variables of row loops."""
        facts = self.reference.window_facts(self.depth)
        for name, lo, hi, _ in self.ranges:
            facts = facts.with_symbol(name, (lo,), (hi - 1,))
        return facts

    def _extend_interval(self, ends: ClosedInterval, facts: Facts) -> ClosedInterval:
        """Extend an interval over all iterations of the loops that determine no row."""
        lo, hi = ends
        for loop in reversed(self._other_loops):
            if loop.variable in lo.names | hi.names:
                joined = _with_missing_bounds(loop.facts, facts)
                first, end = self._narrow_loop_range(loop, joined)
                lo, hi = (
                    -bound_maximum(-lo, loop.variable, first, end, joined),
                    bound_maximum(hi, loop.variable, first, end, joined),
                )
        return lo, hi

    def _narrow_loop_range(self, loop: Loop, facts: Facts) -> ClosedInterval:
        """Narrow a loop's range by the row variables: if row r runs from k + 1, k is at most r - 1."""
        first, end = loop.lo, loop.hi
        row_names = {name for name in facts.bounds if name not in loop.facts.bounds}
        excluded = {inner.variable for inner in self._other_loops[self._other_loops.index(loop) :]}
        for inner in self._row_loop_chain:
            row, counter = Poly.symbol(inner.variable), Poly.symbol(loop.variable)
            if inner.variable not in row_names:
                continue
            for need in (row - inner.lo, inner.hi - 1 - row, *inner.holds):
                slope = find_coefficient(need, loop.variable)
                if slope not in (ONE, -ONE) or (need - slope * counter).names & excluded:
                    continue
                if slope == ONE:
                    first = facts.maximum(first, counter - need)
                else:
                    end = facts.minimum(end, counter + need + 1)
        return first, end

    @cached_property
    def box(self) -> tuple[ClosedInterval, ...]:
        """The interval of subscripts in each dimension, in terms of the variables of row loops."""
        result = []
        for interval, extent in zip(self.reference.place, self.reference.array.extents, strict=True):
            whole = ZERO, extent - 1
            try:
                result.append(whole if interval is None else self._extend_interval(interval, self.facts))
            except UnboundedError:
                result.append(whole)
        return tuple(result)

    @cached_property
    def by_row(self) -> IntervalByRow | None:
        """The touched interval of a matrix by row; None if rows are not distinct."""
        along = contiguous_dimension(self.reference.array)
        row = 1 - along
        place, entries = self.reference.place[row], self.box[along]
        if place is None:
            return None
        if row not in self.row_loops:
            low, high = self.box[row]
            if self.row_loops or low != high:
                return None
            return IntervalByRow((low, low), entries)
        ((name, lo, hi, _),) = self.ranges
        slope = find_coefficient(place[0], name)
        if slope not in (ONE, -ONE):
            return None
        shift = place[0] - slope * Poly.symbol(name)
        first, last = (lo, hi - 1) if slope == ONE else (hi - 1, lo)
        back = {name: slope * (Poly.symbol(ROW_PREFIX) - shift)}
        rows = slope * first + shift, slope * last + shift
        return IntervalByRow(rows, (entries[0].substitute(back), entries[1].substitute(back)))

    @cached_property
    def _is_dense(self) -> bool:
        """True if the box has no gaps: no subscript is strided or moves with data."""
        for dimension, interval in enumerate(self.reference.place):
            is_contiguous = dimension == contiguous_dimension(self.reference.array)
            if self._is_fixed_by_data(dimension) and not is_contiguous:
                continue
            if interval is None or (dimension not in self.row_loops and not self._has_short_stride(interval)):
                return False
        return True

    def _is_fixed_by_data(self, dimension: int) -> bool:
        """Tell whether the subscript of a dimension depends on data, but is constant in a window."""
        return self.reference.accesses[0].place[dimension] is None and self.reference.is_fixed_by_data(self.depth)

    def _has_short_stride(self, interval: ClosedInterval, most_apart: int = 1) -> bool:
        """Test whether each inner loop moves an interval by a constant step of at most `most_apart`."""
        slopes = [
            find_coefficient(interval[0], loop.variable)
            for loop in self._other_loops
            if loop.variable in interval[0].names
        ]
        return all(
            step is not None and step.is_constant and 0 < abs(step.constant_term) <= most_apart for step in slopes
        )

    @cached_property
    def per_row(self) -> FactoredProduct:
        """An upper bound on the lines of one row times the rows that no loop determines by itself.

        In Z-Morton order it is the lines of the square, and on a moving stack those up to the array's end.
        """
        array = self.reference.array
        if not self._inner_loops and self.reference.is_data_dependent:
            return FactoredProduct()
        if array.moves:
            return FactoredProduct((self._bound_stack_lines(),))
        if array.layout == "zmorton":
            return FactoredProduct((self._bound_zmorton_lines_above(),))
        return self._free_row_count.times(self._bound_interval_lines(self.box[contiguous_dimension(array)]))

    @cached_property
    def _free_row_count(self) -> FactoredProduct:
        """An upper bound on the number of rows that no loop determines by itself."""
        along = contiguous_dimension(self.reference.array)
        free = [
            dimension for dimension in range(len(self.box)) if dimension != along and dimension not in self.row_loops
        ]
        return FactoredProduct(tuple(self._bound_subscript_count(dimension, self.box[dimension]) for dimension in free))

    def _bound_interval_lines(self, interval: ClosedInterval) -> Poly:
        if self._is_fixed_by_data(contiguous_dimension(self.reference.array)):
            return ONE
        lines = bound_interval_lines_above(
            interval, self.facts, self.reference.array, self.reference.whole_lines, self.reference.counters
        )
        subscripts = self.reference.place[contiguous_dimension(self.reference.array)]
        if (
            subscripts is None
            or self._has_short_stride(subscripts)
            or (not self.reference.whole_lines and self._has_short_stride(subscripts, MAX_SHORT_STRIDE))
        ):
            return lines
        return self.facts.minimum(lines, self._bound_distinct_subscripts(subscripts))

    def _bound_subscript_count(self, dimension: int, interval: ClosedInterval) -> Poly:
        if self._is_fixed_by_data(dimension):
            return ONE
        width = self.facts.positive_part(a.as_gaps(interval[1] - interval[0] + 1))
        subscripts = self.reference.place[dimension]
        if subscripts is None or self._has_short_stride(subscripts):
            return width
        return self.facts.minimum(width, self._bound_distinct_subscripts(subscripts))

    def _bound_distinct_subscripts(self, interval: ClosedInterval) -> Poly:
        """Bound from above the number of distinct subscripts in an interval that inner loops move."""
        count = interval[1] - interval[0] + 1
        moving = interval[0].names
        for loop in reversed(self._other_loops):
            if loop.variable in moving:
                count = count * self._bound_variable_values(loop, moving)
            if loop.variable in count.names:
                count = bound_max_in_loop(count, loop, _with_missing_bounds(loop.facts, self.facts))
        return count

    def _bound_variable_values(self, loop: Loop, fixed: frozenset[str]) -> Poly:
        """Bound from above the values that a loop variable takes in all iterations of the loops not in `fixed`."""
        lo, hi = loop.lo, loop.hi
        for moving_loop in reversed(self._other_loops):
            if moving_loop.variable not in fixed and moving_loop.variable in lo.names | hi.names:
                joined = _with_missing_bounds(moving_loop.facts, self.facts)
                lo, hi = -bound_max_in_loop(-lo, moving_loop, joined), bound_max_in_loop(hi, moving_loop, joined)
        # Facts inside a loop imply nonnegative trip counts only if the loop is entered.
        return self.facts.positive_part(hi - lo)

    def _bound_zmorton_lines_above(self) -> Poly:
        """Bound the lines of a box in Z-Morton order by its elements and by the lines of the enclosing square.

        A part of a square is not in Z-Morton order itself, so that only its elements count.
        """
        array = self.reference.array
        rows, columns = array.extents
        side = a.exponential(2, a.ceil_log2(self.facts.maximum(rows, columns)))
        elements = self._bound_subscript_count(0, self.box[0]) * self._bound_subscript_count(1, self.box[1])
        if array.strided or not array.aligned:
            return elements
        return self.facts.minimum(elements, a.ceil_div(side * side, LINE))

    def _bound_stack_lines(self) -> Poly:
        """Bound the lines from the bottom of the stack to the end of a local array, over all inner iterations."""
        value = count_stack_lines(self.reference.array)
        for loop in reversed(self._inner_loops):
            value = bound_max_in_loop(value, loop, _with_missing_bounds(loop.facts, self.facts))
        # A bound over the iterations of a loop that is never entered may be negative.
        return self.facts.positive_part(value)

    def bound_rows_and_lines_above(self) -> tuple[FactoredProduct, FactoredProduct] | None:
        """Bound the number of rows of a window, and the lines of a row; None for arrays without row order."""
        array = self.reference.array
        if array.moves or array.layout == "zmorton":
            return None
        return bound_rows_and_lines_above(
            self._free_row_count, self._bound_interval_lines(self.box[contiguous_dimension(array)]), self.ranges
        )

    @cached_property
    def count(self) -> FactoredProduct:
        """An upper bound on the lines of the window."""
        return bound_line_sum_above(self.per_row, self.ranges)

    @cached_property
    def _lines_by_iterations(self) -> FactoredProduct | None:
        """A bound that counts a row for each iteration; None unless data decides the trip count of a row loop."""
        if all(loop.trips == loop.hi - loop.lo for loop in self._row_loop_chain):
            return None
        total = self.per_row
        for loop, (name, lo, hi, facts) in zip(reversed(self._row_loop_chain), reversed(self.ranges), strict=True):
            if loop.trips == loop.hi - loop.lo:
                total = total.bound_sum(name, lo, hi, facts)
            else:
                largest = FactoredProduct(tuple(bound_maximum(f, name, lo, hi, facts) for f in total.factors))
                total = largest.times(self._bound_row_iterations(loop))
        return total

    def _bound_row_iterations(self, last: Loop) -> Poly:
        """Bound the iterations of a row loop in a window, in terms of the variables of row loops around it."""
        count = last.trips
        for loop in reversed(self._inner_loops[: self._inner_loops.index(last)]):
            if id(loop) in map(id, self._other_loops):
                count = bound_max_in_loop(count, loop, _with_missing_bounds(loop.facts, self.facts)) * loop.trips
        return count

    @cached_property
    def largest(self) -> FactoredProduct:
        """An upper bound on the lines of any window. Raises UnboundedError."""
        exact = self._aligned_lines if self.row_loops else None
        return self._take_lesser_bound(
            bound_max_over_loops(exact, lambda: self.count, self.chain),
            lambda bound: bound.bound_max_over_chain(self.chain),
        )

    @cached_property
    def total(self) -> FactoredProduct:
        """An upper bound on the lines of all windows, counted separately. Raises UnboundedError."""
        total = bound_sum_over_loops(self._aligned_lines, lambda: self.count, self.chain)
        return self._take_lesser_bound(total, lambda bound: bound.bound_sum_over_chain(self.chain))

    def _take_lesser_bound(
        self, bound: FactoredProduct, over_windows: Callable[[FactoredProduct], FactoredProduct]
    ) -> FactoredProduct:
        """Return the lesser of `bound` and of `_lines_by_iterations`, to which `over_windows` is applied."""
        with suppress(UnboundedError):
            if self._lines_by_iterations is not None:
                return bound.minimum(over_windows(self._lines_by_iterations), self.reference.facts)
        return bound

    @cached_property
    def _aligned_lines(self) -> FactoredProduct | None:
        """The lines of a window from the alignment of its rows; None if unknown or without closed form."""
        array = self.reference.array
        if array.moves or array.layout == "zmorton" or not self._is_dense or not self.reference.whole_lines:
            return None
        lines = count_aligned_lines(self.box[contiguous_dimension(array)], self.facts, array)
        return None if lines is None else sum_lines_exactly(self._free_row_count.times(lines), self.ranges)

    # Sliding
    @cached_property
    def is_sliding_window(self) -> bool:
        """True if for every line, the iterations of the innermost fixed loop that touch it are consecutive."""
        free = self.reference.is_data_dependent and (
            not self._inner_loops or self.reference.is_fixed_by_data(self.depth)
        )
        if self.depth == 0 or (free and not self.reference.is_fixed_by_data(self.depth - 1)):
            return False
        loop = self.reference.chain[self.depth - 1]
        if not self._depends_on_loop(loop):
            return True
        if not self._is_dense or self.reference.array.layout == "zmorton" or self.reference.array.moves:
            return False
        ends = self._list_window_ends(loop)
        return ends is not None and all(
            is_monotone(end, loop, _with_missing_bounds(loop.facts, self.facts)) for end in ends
        )

    def _list_window_ends(self, loop: Loop) -> list[Poly] | None:
        """List the ends of a window's row ranges and intervals in rows, in terms of the row where `loop` moves rows.

        None if rows that `loop` moves are more than one apart: a row between two is touched intermittently.
        """
        places = {row.variable: interval[0] for row, interval in self._iterate_row_places()}
        back: dict[str, Poly] = {}
        for name, place in places.items():
            if loop.variable in place.names:
                row = Poly.symbol(name)
                if place.coefficients(Symbol(name)).get(1) not in (ONE, -ONE):
                    return None
                sign = place.coefficients(Symbol(name))[1]
                back[name] = sign * (Poly.symbol(f"{ROW_PREFIX}{name}") - (place - sign * row))
        ends = [
            end for dimension, interval in enumerate(self.box) if dimension not in self.row_loops for end in interval
        ]
        for name, lo, hi, _ in self.ranges:
            ends += [places[name].substitute({name: end}) if name in back else end for end in (lo, hi)]
        return [end.substitute(back) for end in ends]

    def _iterate_row_places(self) -> Iterator[tuple[Loop, ClosedInterval]]:
        """Yield the loops that determine rows, with the subscripts that they determine."""
        for dimension, loop in self.row_loops.items():
            interval = self.reference.place[dimension]
            assert interval is not None
            yield loop, interval

    def _depends_on_loop(self, loop: Loop) -> bool:
        """Test whether the elements that a window touches may depend on a loop's variable."""
        mentioned = {name for interval in self.reference.place if interval for end in interval for name in end.names}
        for inner in self._inner_loops:
            mentioned |= inner.lo.names | inner.hi.names
        array = self.reference.array
        return loop.variable in mentioned or (array.local and loop.variable in array.moves)


def _with_missing_bounds(facts: Facts, more: Facts) -> Facts:
    """Add to `facts` the bounds of `more` on symbols that `facts` has no bounds on."""
    for name, bounds in more.bounds.items():
        if name not in facts.bounds:
            facts = facts.with_symbol(name, bounds.lower, bounds.upper)
    return facts
