"""Derive residencies of one reference: the lines of its windows, the line of the last access, or none.

References whose data-dependent subscripts move in one direction along a row hold the current line, or the lines
between them. If the trip counts of inner loops depend on data, as over the entries of a sparse row, most loops may
be empty: lines that the outer loop holds then survive, although they do not fit together with those of inner loops.
If inner loops are long, it may pay to yield all lines to them, and to reload afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import pairwise

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.cache.footprint.union import group_footprint
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import find_coefficient, is_data_independent
from archline.analysis.cache.residency.base import (
    Resident,
    accepts_no_parts,
    derive_classes,
    find_common_loops,
    get_row_subscripts,
    is_in_one_row,
    keep_if_closed_form,
    limit_residency_effort,
    measure_single_pass,
)
from archline.ir.factored import FactoredProduct, UnboundedError
from archline.ir.ranges import is_nonnegative_distance
from archline.ir.tree import Loop, contiguous_dimension


def derive_pointer_line_residency(reference: Reference) -> Resident | None:
    """Derive the residency that holds the current line of a data-dependent subscript, which is monotone along a row.

    None if no subscript moves like this, or if no closed form exists.
    """
    depth = find_walk_depth(reference)
    if depth is None:
        return None
    return keep_if_closed_form(
        Resident((reference,), reference.chain[depth], partial(measure_single_pass, depth, 0), fit=lambda _: True)
    )


def derive_monotone_walk_residency(references: Sequence[Reference]) -> Resident | None:
    """Derive the residency that holds the lines from the first to the last of references that advance along a row.

    Their subscripts depend on data and move in one direction; some references may be at the first element of such a
    movement, or at its end. None if the references do not move together, or if no closed form exists.
    """
    moving = [ref for ref in references if find_walk_depth(ref) is not None]
    array, depths = references[0].array, {find_walk_depth(ref) for ref in moving}
    if len(depths) != 1 or len({make_walk_key(ref) for ref in moving}) > 1 or array.layout == "zmorton" or array.moves:
        return None
    (depth,) = depths
    if depth is None:
        return None
    shifts = [_find_walk_offset(ref, moving, depth) for ref in references]
    known_shifts = [shift for shift in shifts if shift is not None]
    if len(known_shifts) < len(shifts):
        return None
    loop, words = moving[0].chain[depth], max(known_shifts) - min(known_shifts)
    # Lines are held from before the walk until after it, if references access the array there.
    held_loop = loop if len(moving) == len(references) else moving[0].chain[depth - 1] if depth else None
    return keep_if_closed_form(
        Resident(tuple(references), held_loop, partial(measure_single_pass, depth, words), fit=lambda _: True)
    )


def find_walk_depth(reference: Reference) -> int | None:
    """Return the depth of the loop along which a data-dependent subscript is monotone; None if there is none."""
    walk, variables = reference.walk, [loop.variable for loop in reference.chain]
    return variables.index(walk.loop) if walk is not None and walk.loop in variables else None


def make_walk_key(reference: Reference) -> object:
    """Make a key that is equal for references whose data-dependent subscripts advance together along a row."""
    walk = reference.walk
    return (
        id(reference)
        if walk is None
        else (walk.loop, walk.course, get_row_subscripts(reference), *map(id, reference.chain))
    )


def _find_walk_offset(reference: Reference, moving: Sequence[Reference], depth: int) -> int | None:
    """Find the distance in words of a reference from the common course of `moving`; None if unknown.

    A reference outside of the loop may be at the first element of the course, or at its end.
    """
    walk, first = reference.walk, moving[0].walk
    if reference in moving:
        return None if walk is None else walk.shift
    if (
        first is None
        or reference.chain != moving[0].chain[:depth]
        or get_row_subscripts(reference) != get_row_subscripts(moving[0])
    ):
        return None
    if walk is not None and walk.rests and (walk.loop, walk.course) == (first.loop, first.course):
        return walk.shift
    place = reference.place[contiguous_dimension(reference.array)]
    if (
        place is None
        or place[0] != place[1]
        or first.first is None
        or max(reference.order) > min(number for walking in moving for number in walking.order)
    ):
        return None
    distance = place[0] - first.first
    return first.shift + int(distance.constant_term) if distance.is_constant and distance.constant_term.q == 1 else None


def iterate_reloaded_residencies(
    reference: Reference, own: Sequence[Resident], others: Sequence[Reference]
) -> Iterator[Resident | None]:
    """Yield residencies of one line that is given up during inner loops and fetched again, if data decides trip counts.

    `own` are the residencies of `reference`; the inner loops are those of `others`. None for one without a closed
    form.
    """
    chain = reference.chain
    inner = (ref for ref in others if len(ref.chain) > len(chain) and find_common_loops((reference, ref)) == chain)
    loops = tuple(dict.fromkeys(ref.chain[len(chain)] for ref in inner))
    scratch = next((unit for unit in own if unit.scratch), None)
    if not chain or not loops or scratch is None or all(is_data_independent(loop.trips) for loop in loops):
        return
    for unit in own:
        if unit.loop in chain and not unit.scratch and unit.space == ONE:
            yield keep_if_closed_form(
                replace(
                    unit,
                    measure=partial(_measure_with_reloads, unit, scratch, loops),
                    given_up=loops,
                    fit=accepts_no_parts,
                )
            )


def _measure_with_reloads(
    unit: Resident, scratch: Resident, loops: Sequence[Loop], references: tuple[Reference, ...]
) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the lines and misses of `unit` with one more miss for each iteration of the inner `loops`.

    These misses are at most those of `scratch`.
    """
    (space, misses), (_, max_misses) = unit.measure(references), scratch.measure(references)
    (reference,) = references
    reloads = sum((FactoredProduct((loop.trips,)).bound_sum_over_chain(reference.chain).value for loop in loops), ZERO)
    return space, FactoredProduct((reference.facts.minimum(misses.value + reloads, max_misses.value),))


def iterate_single_reference_residencies(reference: Reference) -> Iterator[Resident]:
    """Yield the residencies of one reference: in windows of each loop and of the run, of one line, and scratch."""
    single_lines = derive_last_line_residency(reference), derive_pointer_line_residency(reference)
    scratch = keep_if_closed_form(Resident((reference,), None, _measure_scratch, scratch=True, fit=lambda _: True))
    yield from filter(None, (*iterate_window_residencies((reference,)), *single_lines, scratch))


def iterate_window_residencies(references: tuple[Reference, ...]) -> Iterator[Resident | None]:
    """Yield residencies that hold the lines of a window, for windows of each common loop, jointly for all references.

    None for one without a closed form.
    """
    array, chain = references[0].array, find_common_loops(references)
    if len(references) > 1 and (array.layout == "zmorton" or array.moves or array.strided):
        return
    for depth in range(len(chain) + 1):
        with suppress(UnboundedError):
            for start in _iterate_retention_depths(references, depth):
                loop = chain[min(start, depth - 1)] if depth else None
                measure, fit = (
                    partial(_measure_retained_windows, depth, start),
                    partial(_can_retain_windows, depth, start),
                )
                splitting = partial(derive_classes, references, depth)
                yield keep_if_closed_form(Resident(references, loop, measure, splitting=splitting, fit=fit))


def _iterate_retention_depths(references: tuple[Reference, ...], depth: int) -> Iterator[int]:
    """Yield depths such that the loops from there to `depth` can retain lines from one window at `depth` to the next.

    `depth` itself stands for no retention.
    """
    with limit_residency_effort():
        slides = group_footprint(references, depth).is_sliding_window
    if not slides:
        yield depth
        return
    start = depth - 1
    yield start
    while start and len(references) == 1 and _is_row_tiled_by_windows(references[0], start):
        start -= 1
        yield start


def _measure_retained_windows(
    depth: int, start: int, references: tuple[Reference, ...]
) -> tuple[FactoredProduct, FactoredProduct]:
    """Return the maximum number of lines of a window at `depth`, and the misses if the loops from `start` on retain its
    lines, so that each line is fetched once per window at `start`.
    """
    space = group_footprint(references, depth).largest
    if start < depth - 1:
        # If a loop between is never entered, the facts inside it do not hold, and the bound could be negative.
        space = FactoredProduct((references[0].facts.positive_part(space.value),))
    return space, group_footprint(references, start).total


def _can_retain_windows(depth: int, start: int, references: tuple[Reference, ...]) -> bool:
    """Test whether the loops from `start` on can retain the lines of windows at a depth."""
    return (start == depth and len(references) > 1) or start in _iterate_retention_depths(references, depth)


def _is_row_tiled_by_windows(reference: Reference, depth: int) -> bool:
    """Test whether the windows at a depth are consecutive parts of one row."""
    array, loop = reference.array, reference.chain[depth - 1]
    if (array.local and array.moves) or array.layout == "zmorton" or None in reference.place:
        return False
    hull, along = reference.hull(depth), contiguous_dimension(array)
    inner = reference.chain[depth]
    moving = {loop.variable, inner.variable}
    rows = [interval for dimension, interval in enumerate(reference.hull(depth + 1)) if dimension != along]
    if any(moving & end.names for interval in rows for end in interval):
        return False
    ends = reference.hull(depth + 1)[along]
    facts = inner.facts.with_symbol(inner.variable, (inner.lo,), (inner.hi - 2,))
    after = {inner.variable: Poly.symbol(inner.variable) + 1}
    if not all(_is_nonnegative_gap(end.substitute(after) - end, facts) for end in ends):
        return False
    low, high = hull[along]
    next_low = low.substitute({loop.variable: Poly.symbol(loop.variable) + 1})
    facts = loop.facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 2,))
    # If a part is empty, the next one must not begin before it.
    return all(_is_nonnegative_gap(next_low - end, facts) for end in (high, low))


def _is_nonnegative_gap(apart: Poly, facts: Facts) -> bool:
    """Test whether a difference is nonnegative, given that entries of offset arrays are nondecreasing."""
    return is_nonnegative_distance(apart, facts) or facts.nonnegative(a.as_gaps(apart))


def _measure_scratch(references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the lines and misses of a residency that fetches at every access.

    An access that hits the line of the access before does not fetch.
    """
    (reference,) = references
    chain, (fetches, steps) = reference.chain, _count_fetches_and_steps(reference)
    if not steps:
        return FactoredProduct((ONE,)), FactoredProduct((Poly.constant(fetches),)).bound_sum_over_chain(chain)
    loop, facts = chain[-1], chain[-1].facts
    trips = facts.positive_part(loop.trips)
    ends = reference.get_footprint(len(chain) - 1).count.value
    if facts.positive(ends):
        ends = ends - 1
    crossings = facts.minimum(trips.scaled(len(steps)), ends.scaled(sum(steps)))
    return FactoredProduct((ONE,)), FactoredProduct((trips.scaled(fetches) + crossings,)).bound_sum_over_chain(
        chain[:-1]
    )


def _count_fetches_and_steps(reference: Reference) -> tuple[int, tuple[int, ...]]:
    """Count the accesses of an iteration that always fetch, and list the distances of other ones to the one before.

    If the innermost loop moves elements along a row by one, a line's end lies between two elements at distance d
    in at most d iterations. Accesses to the same element count once.
    """
    along, has_unit_stride = contiguous_dimension(reference.array), _has_unit_stride(reference)
    fetches, steps = 1, []
    for (before, offsets), (after, next_offsets) in pairwise(
        zip(reference.order, reference.access_offsets, strict=True)
    ):
        step = abs(next_offsets[along] - offsets[along])
        if reference.is_data_dependent or after > before + 1 or (step and not has_unit_stride):
            fetches += 1
        elif step:
            steps.append(step)
    return fetches, tuple(steps)


def _has_unit_stride(reference: Reference) -> bool:
    """Test whether the innermost loop moves the elements along one row, by one in each iteration."""
    if not reference.chain or not is_in_one_row([reference], reference.chain[-1]):
        return False
    entry = reference.place[contiguous_dimension(reference.array)]
    return entry is not None and find_coefficient(entry[0], reference.chain[-1].variable) in (ONE, -ONE)


def derive_last_line_residency(reference: Reference) -> Resident | None:
    """Derive the residency that holds the line of the last access, for neighbours in a row that a loop reads in order.

    None for other references, or if no closed form exists.
    """
    chain, along = reference.chain, contiguous_dimension(reference.array)
    if not chain or reference.array.layout == "zmorton" or reference.array.moves or reference.is_data_dependent:
        return None
    place = reference.place[along]
    assert place is not None
    rows = reference.get_footprint(len(chain) - 1).row_loops
    if len(reference.accesses) == 1 or rows or find_coefficient(place[0], chain[-1].variable) != ONE:
        return None
    crossings = count_line_crossings([offsets[along] for offsets in reference.access_offsets])
    return keep_if_closed_form(Resident((reference,), chain[-1], partial(measure_last_line, crossings, 0)))


def measure_last_line(
    crossings: int, max_misses: int, references: tuple[Reference, ...]
) -> tuple[FactoredProduct, FactoredProduct]:
    """Measure a residency of one line: it misses at the first fetch, and `crossings` times at each line's end.

    If `max_misses` is positive, it bounds the misses of an iteration.
    """
    *outer, loop = references[0].chain
    count, facts = group_footprint(references, len(outer)).count.value, loop.facts
    fetched = count.scaled(crossings)
    if facts.positive(count) or facts.positive(loop.trips):
        fetched = fetched - (crossings - 1)
    if max_misses:
        fetched = facts.minimum(fetched, facts.positive_part(loop.trips).scaled(max_misses))
    return FactoredProduct((ONE,)), FactoredProduct((fetched,)).bound_sum_over_chain(tuple(outer))


def count_line_crossings(offsets: Sequence[int]) -> int:
    """Count how many times accesses at v + offset, for consecutive v, cross the end of a line; at least 1."""
    first, last = min(offsets), max(offsets)
    sides = [v + offset > 0 for v in range(-last, 2 - first) for offset in offsets]
    return max(1, sum(x != y for x, y in pairwise(sides)))
