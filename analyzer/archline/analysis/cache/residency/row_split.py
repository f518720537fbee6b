"""Split the rows of an array at a row: one residency holds the rows on one side, others those on the other side.

Every access is to a row on one of the sides: for each side, the loop that selects the row runs through a part of
its range. The lines and misses of a side are counted in terms of `SPLIT_ROW`, the first row of the second side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from archline.algebra.atoms import PositivePart
from archline.algebra.bounds import Bounds
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.cache.footprint.references import IndexSetSplitter, LoopSide
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import find_coefficient, is_data_independent
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.single import find_walk_depth
from archline.ir.factored import UnboundedError
from archline.ir.layout import LINE
from archline.ir.tree import Loop, contiguous_dimension
from archline.records import memoised, record, replace

SPLIT_ROW = "cut "
"""The symbol of the first row of the second side, which no name of a program equals."""
MAX_TILED_REFERENCES = 4
"""The maximum number of references to an array whose rows are split within tiles."""
MAX_SIDE_PRODUCTS = 20_000
"""The maximum number of term products for the misses of one residency on a side."""


@record
class RowSide:
    """The rows of a dimension before `SPLIT_ROW`, or those from it on.

    If `relative`, `SPLIT_ROW` is not a row but a number of iterations of the loop that selects rows.
    If `clipped`, the interval of subscripts is divided instead of a loop's range, as the subscripts depend on data.
    """

    dimension: int
    before: bool
    relative: bool = False
    clipped: bool = False

    @property
    def opposite(self) -> RowSide:
        """The rows on the opposite side of the split."""
        return replace(self, before=not self.before)


@dataclass(eq=False)
class SidePartitioner:
    """Restricts references to the rows on one side of a split; restricted references share restricted loops."""

    side: RowSide
    cutter: IndexSetSplitter
    _rules: dict[tuple[str, Poly], LoopSide] = field(default_factory=dict)

    def measure_side(self, unit: Resident) -> tuple[Poly, Poly] | None:
        """Bound the lines and misses of a residency on this side; None if no closed form in sizes exists."""
        parts = [self.restrict(reference) for reference in unit.references]
        restricted = tuple(part for part in parts if part is not None)
        if len(restricted) < len(parts) or not _share_outer_loops(unit, restricted) or not unit.fit(restricted):
            return None
        counters = {loop.variable for part in restricted for loop in part.chain}
        try:
            with limit_effort(MAX_SIDE_PRODUCTS, own=True):
                space, misses = (amount.value for amount in unit.measure(restricted))
        except (UnboundedError, TooComplexError):
            return None
        is_in_sizes = (
            not counters & (space.names | misses.names) and is_data_independent(space) and is_data_independent(misses)
        )
        return (space, misses * unit.moves) if is_in_sizes else None

    @memoised
    def restrict(self, reference: Reference) -> Reference | None:
        """Restrict a reference to this side; None if no loop selects its rows one by one."""
        if self.side.clipped:
            return self.cutter.clip(reference, self.side.dimension, self.side.before)
        rule = self._find_loop_side(reference)
        return None if rule is None else self.cutter.split(reference, rule)

    def _find_loop_side(self, reference: Reference) -> LoopSide | None:
        """Find the part of the row loop's range that selects the rows of this side; None if it is unknown."""
        place = reference.place[self.side.dimension]
        if place is None or place[0] != place[1]:
            return None
        loop = _find_row_loop(reference, self.side.dimension)
        if loop is None or loop.trips != loop.hi - loop.lo:
            return None
        slope, counter = find_coefficient(place[0], loop.variable), Poly.symbol(loop.variable)
        if self.side.relative:
            end, below = loop.lo + Poly.symbol(SPLIT_ROW), self.side.before
        elif slope == ONE:
            end, below = Poly.symbol(SPLIT_ROW) - (place[0] - counter), self.side.before
        elif slope == -ONE:
            end, below = place[0] + counter - Poly.symbol(SPLIT_ROW) + 1, not self.side.before
        else:
            return None
        return self._rules.setdefault((loop.variable, end), LoopSide(loop, end, below))


def _find_row_loop(reference: Reference, dimension: int) -> Loop | None:
    place = reference.place[dimension]
    picking = (loop for loop in reversed(reference.chain) if place is not None and loop.variable in place[0].names)
    return next(picking, None)


def _has_differing_rows(reference: Reference, dimension: int) -> bool:
    """Test whether rows are accessed differently: the range of the row loop varies, or inner ranges depend on the row.

    Rows that are accessed alike need no split: any share can be retained as a class, if the residencies of the plan
    free no lines then.
    """
    loop = _find_row_loop(reference, dimension)
    if loop is None:
        return False
    depth = reference.chain.index(loop)
    around = {outer.variable for outer in reference.chain[:depth]}
    return bool(around & (loop.lo.names | loop.hi.names)) or any(
        loop.variable in end.names for inner in reference.chain[depth + 1 :] for end in (inner.lo, inner.hi)
    )


def _has_outer_row_start(reference: Reference, dimension: int, held: Loop | None) -> bool:
    """Test whether a loop around the loop `held` determines the start, but not the end, of the row loop."""
    loop = _find_row_loop(reference, dimension)
    if loop is None or held is None:
        return False
    around = reference.chain[: reference.chain.index(held)]
    return any(outer.variable in loop.lo.names - loop.hi.names for outer in around)


def _share_outer_loops(unit: Resident, parts: Sequence[Reference]) -> bool:
    """Test whether all parts have the same loops outside the windows of a residency."""
    if len(parts) == 1 or unit.loop is None:
        return True
    depth = unit.references[0].chain.index(unit.loop) + 1
    return all(part.chain[:depth] == parts[0].chain[:depth] for part in parts)


@record(eq=False)
class SideResidency:
    """The lines and misses of a residency on one side of a split, which frees `instead` lines that the plan held."""

    lines: Poly = field(repr=False)
    instead: Poly = field(repr=False)
    misses: Poly = field(repr=False)
    loop: Loop | None


@record(eq=False)
class RowSplit:
    """A split of rows: one residency holds those on one side of `SPLIT_ROW`, the plan's residencies hold the rest.

    `SPLIT_ROW` is a multiple of `step` between 0 and `last`, or `last`. Before the split, the plan's residencies had
    `fetched` misses. The new residency holds the rows before `SPLIT_ROW` if `before`, else those from it on.
    """

    references: tuple[Reference, ...]
    halves: tuple[SideResidency, ...]
    fetched: Poly = field(repr=False)
    last: Poly
    step: Poly
    before: bool

    @property
    def values(self) -> tuple[Poly, ...]:
        """The step and the maximum of `SPLIT_ROW`, the misses before, and the lines and misses of each half."""
        halves = (value for half in self.halves for value in (half.lines, half.instead, half.misses))
        return self.step, self.last, self.fetched, *halves


@dataclass(eq=False)
class RowSplitSearch:
    """Finds splits of the rows of an array; `own` maps each reference to its residencies."""

    own: Mapping[Reference, Sequence[Resident]]

    def iterate_sides(self, coarse: Resident, fine: Sequence[Resident]) -> Iterator[RowSide]:
        """Yield the sides of a split on which the residency `coarse` may replace the plan's residencies `fine`."""
        array = coarse.references[0].array
        counters = {loop.variable for reference in coarse.references for loop in reference.chain}
        if array.layout == "zmorton" or array.moves or any(counters & extent.names for extent in array.extents):
            # Rows do not consist of lines, or their lines change between iterations.
            return
        if sum(reference.array is array for reference in self.own) > MAX_TILED_REFERENCES and any(
            map(_has_clipped_loop, coarse.references)
        ):
            # The misses of a part of the rows of tiles have long forms, which take too long for many references.
            return
        held = any(not unit.scratch for unit in fine)
        for dimension in range(len(array.extents)):
            if held or any(_has_differing_rows(reference, dimension) for reference in coarse.references):
                relative = all(
                    _has_outer_row_start(reference, dimension, coarse.loop) for reference in coarse.references
                )
                yield from (RowSide(dimension, before, relative) for before in (True, False))
        along = contiguous_dimension(array)
        walks = [reference.place[along] for reference in coarse.references if find_walk_depth(reference) is not None]
        if held and walks:
            # Most walks pass the end of the interval that no loop moves: lines on that side save most misses.
            yield RowSide(along, not any(place and counters & place[0].names for place in walks), clipped=True)

    def derive_split(self, coarse: Resident, fine: Sequence[Resident], side: RowSide) -> RowSplit | None:
        """Measure the residency `coarse` on one side, and `fine` ones on the other; None if no closed form exists."""
        measured = self._measure_side(coarse, side)
        if measured is None:
            return None
        lines, misses = measured
        halves, fetched = [SideResidency(lines, ZERO, misses, coarse.loop)], ZERO
        for unit in fine:
            opposite = self._split_fine_residency(unit, side.opposite)
            if opposite is None:
                return None
            halves += opposite
            fetched = fetched + unit.misses
        array = coarse.references[0].array
        step = LINE if side.dimension == contiguous_dimension(array) else ONE
        return RowSplit(coarse.references, tuple(halves), fetched, array.extents[side.dimension], step, side.before)

    def _split_fine_residency(self, unit: Resident, side: RowSide) -> list[SideResidency] | None:
        """Measure a residency of the plan on its side, reference by reference if it has no closed form jointly.

        None if a reference has no closed form either.
        """
        measured = self._measure_side(unit, side)
        if measured is not None:
            lines, misses = measured
            # A scratch residency holds no line on either side.
            held = (ZERO, ZERO) if unit.scratch else (lines, unit.space)
            return [SideResidency(*held, misses, unit.loop)]
        halves, instead = [], unit.space
        for reference in unit.references if len(unit.references) > 1 else ():
            single = (
                candidate for candidate in self.own[reference] if candidate.loop is unit.loop and not candidate.scratch
            )
            amounts = next(
                (pair for candidate in single if (pair := self._measure_side(candidate, side)) is not None), None
            )
            if amounts is None:
                return None
            halves.append(SideResidency(amounts[0], instead, amounts[1], unit.loop))
            instead = ZERO
        return halves or None

    @memoised
    def _build_partitioner(self, side: RowSide, rows: Poly) -> SidePartitioner:
        return SidePartitioner(side, IndexSetSplitter(SPLIT_ROW, Bounds((ZERO,), (rows,))))

    @memoised
    def _measure_side(self, unit: Resident, side: RowSide) -> tuple[Poly, Poly] | None:
        rows = unit.references[0].array.extents[side.dimension]
        return self._build_partitioner(side, rows).measure_side(unit)


def _has_clipped_loop(reference: Reference) -> bool:
    """Test whether a loop around a reference has a minimum or maximum as a bound, as tiles have."""
    ends = (end for loop in reference.chain for end in (loop.lo, loop.hi))
    return any(isinstance(atom, PositivePart) for end in ends for atom in end.atoms())
