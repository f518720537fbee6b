"""Bound the lines of an array that several references touch in a window from above, by rows or by a box."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, sum_polynomials
from archline.analysis.cache.footprint.upper import Reference, ReferenceFootprint
from archline.analysis.cache.footprint.windows import (
    ROW_PREFIX,
    IntervalByRow,
    RowRanges,
    bound_line_sum_above,
    bound_rows_and_lines_above,
    is_monotone,
    sum_lines_exactly,
)
from archline.ir.factored import FactoredProduct, bound_max_over_loops, bound_sum_over_loops
from archline.ir.layout import ClosedInterval, bound_interval_lines_above, count_aligned_lines
from archline.ir.tree import Array, Chain, contiguous_dimension
from archline.records import record


def group_footprint(references: Sequence[Reference], depth: int) -> ReferenceFootprint | GroupFootprint:
    """Return the footprint of references to one array in a window, an iteration of the outer `depth` loops; cached."""
    first, *rest = references
    if not rest:
        return first.get_footprint(depth)
    key = depth, *rest
    footprint = first.found.get(key)
    if not isinstance(footprint, GroupFootprint):
        footprint = first.found[key] = GroupFootprint(references, depth)
    return footprint


@record(eq=False)
class GroupFootprint:
    """The footprint of several references to one array in a window, an iteration of the outer `depth` loops."""

    references: Sequence[Reference]
    depth: int

    @property
    def chain(self) -> Chain:
        """The outer loops, which a window fixes."""
        return self.references[0].chain[: self.depth]

    @property
    def facts(self) -> Facts:
        return self.references[0].window_facts(self.depth)

    @property
    def _array(self) -> Array:
        return self.references[0].array

    @cached_property
    def by_row(self) -> IntervalByRow | None:
        """An interval for each row that contains the entries touched there; None if some reference has none."""
        if len(self._array.extents) != 2:
            return None
        parts = [reference.get_footprint(self.depth).by_row for reference in self.references]
        row_intervals = [part for part in parts if part is not None]
        if len(row_intervals) < len(parts):
            return None
        rows = _interval_hull([part.rows for part in row_intervals], self.facts)
        facts = self.facts.with_symbol(ROW_PREFIX, (rows[0],), (rows[1],))
        return IntervalByRow(rows, _interval_hull([part.entries for part in row_intervals], facts))

    @cached_property
    def hull(self) -> list[ClosedInterval]:
        """The smallest box that contains the boxes of all references."""
        boxes = [reference.hull(self.depth) for reference in self.references]
        return [_interval_hull(intervals, self.facts) for intervals in zip(*boxes, strict=True)]

    @cached_property
    def _row_ranges(self) -> RowRanges:
        """The range of rows, if the union is known row by row."""
        if self.by_row is None:
            return []
        first, last = self.by_row.rows
        return [(ROW_PREFIX, first, self.facts.maximum(first, last + 1), self.facts)]

    @cached_property
    def _row_interval(self) -> tuple[ClosedInterval, Facts]:
        """The interval of entries in a row, and the facts in that row."""
        if self.by_row is None:
            return self.hull[contiguous_dimension(self._array)], self.facts
        first, last = self.by_row.rows
        return self.by_row.entries, self.facts.with_symbol(ROW_PREFIX, (first,), (last,))

    @cached_property
    def _lines_per_row(self) -> Poly:
        interval, facts = self._row_interval
        counters = frozenset((ROW_PREFIX,)).union(*(reference.counters for reference in self.references))
        return bound_interval_lines_above(interval, facts, self._array, self.references[0].whole_lines, counters)

    @cached_property
    def _free_row_count(self) -> FactoredProduct:
        """The number of rows of the bounding box; 1 if the union is known row by row."""
        if self.by_row is not None:
            return FactoredProduct()
        rows = (ends for dimension, ends in enumerate(self.hull) if dimension != contiguous_dimension(self._array))
        return FactoredProduct(tuple(self.facts.positive_part(a.as_gaps(high - low + 1)) for low, high in rows))

    @cached_property
    def count(self) -> FactoredProduct:
        """An upper bound on the lines of a window; their sum over references in Z-Morton order or on a moving stack."""
        if self._array.layout == "zmorton" or self._array.moves:
            return FactoredProduct(
                (sum_polynomials(reference.get_footprint(self.depth).count.value for reference in self.references),)
            )
        return bound_line_sum_above(self._free_row_count.times(self._lines_per_row), self._row_ranges)

    @property
    def largest(self) -> FactoredProduct:
        """An upper bound on the lines of any window. Raises UnboundedError."""
        return bound_max_over_loops(self._aligned_lines, lambda: self.count, self.chain)

    @property
    def total(self) -> FactoredProduct:
        """An upper bound on the lines of all windows, counted separately. Raises UnboundedError."""
        return bound_sum_over_loops(self._aligned_lines, lambda: self.count, self.chain)

    @cached_property
    def _aligned_lines(self) -> FactoredProduct | None:
        """The lines of a window from the alignment of its rows; None if unknown or without closed form."""
        has_alignment = self.by_row is not None and self.references[0].whole_lines
        lines = count_aligned_lines(*self._row_interval, self._array) if has_alignment else None
        return None if lines is None else sum_lines_exactly(FactoredProduct((lines,)), self._row_ranges)

    def bound_rows_and_lines_above(self) -> tuple[FactoredProduct, FactoredProduct]:
        """Bound the number of rows of a window, and the lines of a row."""
        return bound_rows_and_lines_above(self._free_row_count, self._lines_per_row, self._row_ranges)

    @cached_property
    def is_sliding_window(self) -> bool:
        """True if for every line, the iterations of the innermost fixed loop that touch it are consecutive."""
        if not self.depth:
            return False
        loop = self.chain[-1]
        if self.by_row is None:
            return all(is_monotone(end, loop, loop.facts) for interval in self.hull for end in interval)
        inside = loop.facts.with_symbol(ROW_PREFIX, (ZERO,), (self._array.extents[0] - 1,))
        return all(is_monotone(end, loop, loop.facts) for end in self.by_row.rows) and all(
            is_monotone(end, loop, inside) for end in self.by_row.entries
        )


def _interval_hull(intervals: Sequence[ClosedInterval], facts: Facts) -> ClosedInterval:
    (low, high), *others = intervals
    for first, last in others:
        low, high = facts.minimum(low, first), facts.maximum(high, last)
    return low, high
