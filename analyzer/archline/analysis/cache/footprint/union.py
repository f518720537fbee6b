"""Lines of one array that several references touch in a window: row by row where rows are told apart, else by a box."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO
from archline.algebra.sums.summation import UnresolvedError
from archline.analysis.cache.footprint.upper import ROW, Reference, Rows, monotone
from archline.ir.factored import Product, largest_in, most, total_in
from archline.ir.layout import ClosedInterval, box_lines, placed_run, run
from archline.ir.tree import Array, Chain, Loop, contiguous_dimension
from archline.records import field, record


@record(eq=False)
class Union:
    """What references to one array, neither in Z-Morton order nor at a place that moves, touch together."""

    references: Sequence[Reference]
    depth: int

    @property
    def chain(self) -> Chain:
        """The fixed loops."""
        return self.references[0].chain[: self.depth]

    @property
    def facts(self) -> Facts:
        """What holds in a window."""
        return self.references[0].around(self.depth)

    @property
    def _array(self) -> Array:
        return self.references[0].array

    @property
    def _whole(self) -> bool:
        return self.references[0].whole_lines

    @cached_property
    def _counters(self) -> frozenset[str]:
        """The names of what is not always the same: counters and the row."""
        return frozenset((ROW,)).union(*(each.counters for each in self.references))

    @cached_property
    def parts(self) -> list[Rows | None]:
        """What each reference touches row by row."""
        return [each.lines(self.depth).by_row for each in self.references]

    @cached_property
    def by_row(self) -> Rows | None:
        """The union row by row; None where some reference tells no rows apart."""
        if len(self.references[0].array.extents) != 2:
            return None
        known = [each for each in self.parts if each is not None]
        if len(known) < len(self.parts):
            return None
        rows = known[0].rows
        for each in known[1:]:
            rows = _hull(rows, each.rows, self.facts)
        facts = self.facts.with_symbol(ROW, (rows[0],), (rows[1],))
        entries = known[0].entries
        for each in known[1:]:
            entries = _hull(entries, each.entries, facts)
        return Rows(rows, entries)

    @cached_property
    def box(self) -> list[ClosedInterval]:
        """The smallest box around all."""
        boxes = [each.hull(self.depth) for each in self.references]
        found = []
        for intervals in zip(*boxes, strict=True):
            joint = intervals[0]
            for other in intervals[1:]:
                joint = _hull(joint, other, self.facts)
            found.append(joint)
        return found

    @cached_property
    def lines(self) -> Product:
        """At most so many lines. Raises UnboundedError."""
        if self.by_row is None:
            return box_lines(self.references[0].array, self.box, self.facts, self._whole, self._counters)
        first, last = self.by_row.rows
        facts = self.facts.with_symbol(ROW, (first,), (last,))
        each = Product((run(self.by_row.entries, facts, self._array, self._whole, self._counters),))
        return each.summed(ROW, first, self.facts.maximum(first, last + 1), self.facts)

    @property
    def largest(self) -> Product:
        """At most so many lines in any window. Raises UnboundedError."""
        return largest_in(self._placed, lambda: self.lines, self.chain)

    @property
    def total(self) -> Product:
        """At most so many lines in all windows, each counted for itself. Raises UnboundedError."""
        return total_in(self._placed, lambda: self.lines, self.chain)

    @cached_property
    def _placed(self) -> Product | None:
        """The lines of a window from where rows begin and end; None where that cannot be told, or added up."""
        if self.by_row is None or not self._whole:
            return None
        first, last = self.by_row.rows
        facts = self.facts.with_symbol(ROW, (first,), (last,))
        lines = placed_run(self.by_row.entries, facts, self._array)
        if lines is None:
            return None
        try:
            return Product((lines,)).added(ROW, first, self.facts.maximum(first, last + 1), self.facts)
        except (UnresolvedError, TooComplexError):
            return None

    def spread(self) -> tuple[Product, Product]:
        """How many rows a window has at most, and how many lines a row."""
        array = self.references[0].array
        if self.by_row is None:
            along = contiguous_dimension(array)
            rows = Product()
            for dimension, (low, high) in enumerate(self.box):
                if dimension != along:
                    rows = rows.times(self.facts.positive_part(high - low + 1))
            return rows, Product((run(self.box[along], self.facts, array, True, self._counters),))
        first, last = self.by_row.rows
        end = self.facts.maximum(first, last + 1)
        facts = self.facts.with_symbol(ROW, (first,), (last,))
        each = run(self.by_row.entries, facts, self._array, True, self._counters)
        wide = most(each, ROW, first, end, self.facts)
        return Product((end - first,)), Product((wide,))

    def slides(self, loop: Loop) -> bool:
        """Whether every line is in an unbroken run of the windows of a loop, the innermost fixed one."""
        if self.by_row is None:
            return all(monotone(end, loop, loop.facts) for interval in self.box for end in interval)
        first, last = self.by_row.rows
        inside = loop.facts.with_symbol(ROW, (ZERO,), (self.references[0].array.extents[0] - 1,))
        return all(monotone(end, loop, loop.facts) for end in (first, last)) and all(
            monotone(end, loop, inside) for end in self.by_row.entries
        )


@record(eq=False)
class Unions:
    """What references touch together in the windows of each depth; neighbouring depths ask for the same."""

    references: tuple[Reference, ...]
    _known: dict[int, Union] = field(default_factory=dict, repr=False)

    def at(self, depth: int, references: tuple[Reference, ...] | None = None) -> Union:
        """The union in a window, of other references where these are not the same."""
        if references is not None and references is not self.references:
            return Union(references, depth)
        if depth not in self._known:
            self._known[depth] = Union(self.references, depth)
        return self._known[depth]


def _hull(one: ClosedInterval, other: ClosedInterval, facts: Facts) -> ClosedInterval:
    return facts.minimum(one[0], other[0]), facts.maximum(one[1], other[1])
