"""Derive residencies of stencils, and of rows with pinned entries, which hold fewer lines than windows have.

Stencils: loops sweep over elements in an order, and each element is accessed first by the leading reference and last
by the trailing one. The elements between these two are held: for a stencil with one row on each side of the middle
one, that is two rows and a line, not three rows. Rows with pinned entries: the lines of the entries are held, and
one line of the rest of the row at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.cache.footprint.union import group_footprint
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import find_coefficient
from archline.analysis.cache.residency.base import (
    Classes,
    Resident,
    is_in_one_innermost_row,
    is_in_one_row,
    keep_if_closed_form,
)
from archline.ir.factored import FactoredProduct, UnboundedError, bound_sum_over_loops
from archline.ir.layout import LINE, bound_interval_lines_above
from archline.ir.tree import Loop, contiguous_dimension
from archline.records import record

Offsets = tuple[int, ...]
"""The lead of a reference over the first reference, in iterations of each loop."""


@record
class RowSweep:
    """References of a stencil: loops from `depth` on move them by one element each, the innermost loop along rows.

    `ahead` and `behind` are the offsets of the leading and the trailing reference; `rows` has for each loop but the
    innermost the number of subscripts that all references reach in its dimension.
    """

    references: tuple[Reference, ...]
    depth: int
    ahead: Offsets
    behind: Offsets
    rows: tuple[Poly, ...]


def iterate_stencil_residencies(references: Sequence[Reference]) -> Iterator[Resident | None]:
    """Yield residencies that hold the rows of a stencil while a loop runs, one for each loop that moves rows.

    Those without a closed form are None.
    """
    array, chain = references[0].array, references[0].chain
    if array.layout == "zmorton" or array.moves or array.strided or len(array.extents) < 2:
        return
    if any(reference.is_data_dependent or reference.chain != chain for reference in references):
        return
    for depth in range(len(chain) - 1):
        sweep = _find_sweep(tuple(references), depth)
        if sweep is not None:
            measure, splitting = partial(_measure_sweep, depth, sweep=sweep), partial(_derive_sweep_classes, sweep)
            yield keep_if_closed_form(Resident(sweep.references, chain[depth], measure, splitting=splitting))


def derive_pinned_row_residency(references: Sequence[Reference]) -> Resident | None:
    """Derive the residency that pins entries of a row while a loop passes through it: A[i, k] with A[i, j] for all j.

    None for other references, or if no closed form exists.
    """
    if not is_in_one_innermost_row(references):
        return None
    chain = references[0].chain
    moving = _select_moved_references(references, chain[-1])
    if len(moving) != 1:
        return None
    if not moving[0].get_footprint(len(chain)).is_sliding_window:
        # The reference returns to lines that it has left.
        return None
    return keep_if_closed_form(Resident(tuple(references), chain[-1], _measure_pinned_row))


def _measure_pinned_row(references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the lines and misses of the residency that pins entries of a row.

    It holds the lines of each reference in an iteration, and fetches the row in each pass.
    """
    depth = len(references[0].chain)
    space = sum((reference.get_footprint(depth).largest.value for reference in references), ZERO)
    return FactoredProduct((space,)), group_footprint(references, depth - 1).total


def derive_row_prefix_residency(references: Sequence[Reference]) -> Resident | None:
    """Derive the residency that pins an entry's line while a loop passes the row before: A[i, k < j] and A[i, j].

    None for other references, or if no closed form exists.
    """
    array, chain = references[0].array, max((reference.chain for reference in references), key=len)
    if len(chain) < 2 or not array.aligned or not is_in_one_row(references, chain[-1]):
        return None
    inner, along = chain[-1], contiguous_dimension(array)
    moving = _select_moved_references(references, inner)
    fixed = [reference for reference in references if reference not in moving]
    if len(moving) != 1 or not fixed or any(reference.chain not in (chain, chain[:-1]) for reference in references):
        return None
    (row,), entry = moving, fixed[0]
    place, end = row.place[along], entry.place[along]
    if place is None or end is None:
        return None
    after_row = place[0].substitute({inner.variable: inner.hi})
    in_order = (
        place[0] == place[1]
        and find_coefficient(place[0], inner.variable) == ONE
        and inner.trips == inner.hi - inner.lo
    )
    if not in_order or end != (after_row, after_row) or any(reference.place != entry.place for reference in fixed):
        return None
    if not _is_entry_line_steady((row, *fixed)):
        return None
    return keep_if_closed_form(Resident((row, *fixed), chain[-2], _measure_row_prefix, fit=_is_entry_line_steady))


def _select_moved_references(references: Sequence[Reference], loop: Loop) -> list[Reference]:
    """Select the references that a loop moves along the row."""
    along = contiguous_dimension(references[0].array)
    return [
        reference for reference in references if any(loop.variable in end.names for end in reference.place[along] or ())
    ]


def _is_entry_line_steady(references: tuple[Reference, ...]) -> bool:
    """Test whether the iterations of the loop around the row that access a line of the entry are consecutive."""
    row, entry = references[:2]
    return entry.get_footprint(len(row.chain) - 1).is_sliding_window


def _measure_row_prefix(references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the lines and misses of the residency that pins an entry's line while a loop passes the row before it.

    It holds a line of the row and one of the entry, and fetches the row's prefix in each pass. The lines of the
    entries are fetched once while the loop around the row runs.
    """
    row, entry = references[:2]
    along, inner = contiguous_dimension(row.array), row.chain[-1]
    place, end = row.place[along], entry.place[along]
    assert place is not None
    assert end is not None
    first = place[0].substitute({inner.variable: inner.lo})
    words = end[0] - first
    lines = a.floor_div(end[0], LINE) - a.floor_div(first, LINE) if row.whole_lines else words * LINE**-1 + 1
    per_pass = FactoredProduct((lines,))
    all_passes = bound_sum_over_loops(per_pass, lambda: per_pass, row.chain[:-1]).value
    return FactoredProduct((Poly.constant(2),)), FactoredProduct(
        (all_passes + entry.get_footprint(len(row.chain) - 2).total.value,)
    )


def _find_sweep(references: tuple[Reference, ...], depth: int) -> RowSweep | None:
    """Find the sweep of references at a depth; None unless the loops move different dimensions, by one each."""
    loops, along = references[0].chain[depth:], contiguous_dimension(references[0].array)
    inside = {loop.variable for loop in loops}
    if any(inside & (loop.lo.names | loop.hi.names) or loop.trips != loop.hi - loop.lo for loop in loops):
        return None
    moved = [_find_moved_dimension(references[0], loop) for loop in loops]
    if None in moved or len(set(moved)) < len(moved) or moved[-1] != along:
        return None
    ends: list[list[tuple[int, int]]] = [[] for _ in references]
    for loop, dimension in zip(loops, moved, strict=True):
        assert dimension is not None
        for leads, reference in zip(ends, references, strict=True):
            lead = _find_lead(reference, references[0], loop, dimension)
            if lead is None or (dimension != along and lead[0] != lead[1]):
                return None
            leads.append(lead)
    fixed = [dimension for dimension in range(len(references[0].place)) if dimension not in moved]
    if any(ref.place[dimension] != references[0].place[dimension] for ref in references for dimension in fixed):
        return None
    ahead, behind = (pick(tuple(lead[side] for lead in leads) for leads in ends) for pick, side in ((max, 1), (min, 0)))
    if ahead[:-1] == behind[:-1]:
        return None
    rows = []
    for number, loop in enumerate(loops[:-1]):
        spread = max(leads[number][1] for leads in ends) - min(leads[number][0] for leads in ends)
        rows.append(loop.facts.positive_part(loop.hi - loop.lo) + spread)
    return RowSweep(references, depth, ahead, behind, tuple(rows))


def _find_moved_dimension(reference: Reference, loop: Loop) -> int | None:
    """Find the only dimension that a loop moves; None if it moves none or several."""
    moved = [
        dimension
        for dimension, interval in enumerate(reference.place)
        if interval is not None and any(loop.variable in end.names for end in interval)
    ]
    return moved[0] if len(moved) == 1 else None


def _find_lead(reference: Reference, first: Reference, loop: Loop, dimension: int) -> tuple[int, int] | None:
    """Find the minimum and the maximum lead of a reference over `first` in a dimension, in iterations of `loop`.

    None if the lead is not an integer that is the same in all iterations, or if the loop moves another dimension.
    """
    interval, base = reference.place[dimension], first.place[dimension]
    if interval is None or base is None or _find_moved_dimension(reference, loop) != dimension:
        return None
    slopes = {find_coefficient(end, loop.variable) for end in (*interval, *base)}
    slope = slopes.pop() if len(slopes) == 1 else None
    distances = [end - base[0] for end in interval]
    if slope not in (ONE, -ONE) or not all(gap.is_constant and gap.constant_term.q == 1 for gap in distances):
        return None
    sign = 1 if slope == ONE else -1
    low, high = sorted(sign * int(gap.constant_term.p) for gap in distances)
    return low, high


def _measure_sweep(
    depth: int, references: tuple[Reference, ...], sweep: RowSweep
) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the lines and misses of a stencil that holds the rows from the leading to the trailing reference.

    Each line is fetched once.
    """
    outer = references[0].chain[:depth]
    space = FactoredProduct(
        (_count_live_rows(sweep) * _bound_lines_per_row_above(references) + _bound_lines_within_row_above(sweep),)
    )
    return space.bound_max_over_chain(outer), group_footprint(references, depth).total


def _derive_sweep_classes(sweep: RowSweep) -> Classes:
    """Partition the lines of a sweep by their position in a row."""
    outer = sweep.references[0].chain[: sweep.depth]
    try:
        rows, lines = (
            FactoredProduct((amount,)).bound_max_over_chain(outer).value
            for amount in (_count_live_rows(sweep), _bound_lines_per_row_above(sweep.references))
        )
    except UnboundedError:
        return ()
    return ((rows, _bound_lines_within_row_above(sweep), lines),)


def _count_live_rows(sweep: RowSweep) -> Poly:
    """Count the rows from the trailing to the leading reference."""
    total = ZERO
    for number, (front, back) in enumerate(zip(sweep.ahead[:-1], sweep.behind[:-1], strict=True)):
        rows = Poly.constant(front - back if number == 0 else max(0, front - back))
        for extent in sweep.rows[number + 1 :]:
            rows = rows * extent
        total = total + rows
    return total


def _bound_lines_per_row_above(references: tuple[Reference, ...]) -> Poly:
    first = references[0]
    box = group_footprint(references, len(first.chain) - 1).hull
    return bound_interval_lines_above(
        box[contiguous_dimension(first.array)], first.chain[-1].facts, first.array, first.whole_lines
    )


def _bound_lines_within_row_above(sweep: RowSweep) -> Poly:
    """Bound the lines from the trailing to the leading reference as if both were in one row."""
    return a.ceil_div(Poly.constant(max(0, sweep.ahead[-1] - sweep.behind[-1])), LINE) + 1
