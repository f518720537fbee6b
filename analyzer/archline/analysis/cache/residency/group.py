"""Derive the residencies of several references to one array: group reuse in a window, in a row, and pinned lines.

Interleaved references to one row, such as a[2*i*s] and a[(2*i + 1)*s], hold the line of each reference, or only
the line of the last access.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from operator import itemgetter

from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.cache.footprint.union import group_footprint
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.footprint.windows import find_coefficient
from archline.analysis.cache.residency.base import (
    Resident,
    bound_above_in_sizes,
    find_common_loops,
    is_in_one_innermost_row,
    keep_if_closed_form,
    measure_single_pass,
)
from archline.analysis.cache.residency.single import measure_last_line
from archline.ir.factored import FactoredProduct, UnboundedError
from archline.ir.tree import Loop, contiguous_dimension


def derive_interleaved_residency(references: Sequence[Reference]) -> Resident | None:
    """Derive the residency that holds the lines of interleaved references to one row, at most one loop step apart.

    At most one line is needed by two consecutive iterations, as all elements of the first lie on one side of the
    elements of the second. None if the references are not interleaved like this, or if no closed form exists.
    """
    if _find_common_direction(references) is None:
        return None
    return keep_if_closed_form(Resident(tuple(references), references[0].chain[-1], _measure_interleaved))


def derive_interleaved_line_residency(references: Sequence[Reference]) -> Resident | None:
    """Derive the residency that holds only the line of the last access of interleaved references to one row.

    None if they are not interleaved, or if no closed form exists.
    """
    direction = _find_common_direction(references)
    changes = None if direction is None else _count_line_changes(references, direction)
    if changes is None:
        return None
    return keep_if_closed_form(
        Resident(tuple(references), references[0].chain[-1], partial(measure_last_line, *changes))
    )


def _find_common_direction(references: Sequence[Reference]) -> int | None:
    """Return the direction (1 or -1) in which the innermost loop moves references; None if one overtakes another."""
    if not is_in_one_innermost_row(references):
        return None
    loop, along = references[0].chain[-1], contiguous_dimension(references[0].array)
    entries = [interval for reference in references if (interval := reference.place[along])]
    strides = {find_coefficient(end, loop.variable) for interval in entries for end in interval}
    stride = strides.pop() if len(strides) == 1 else None
    if stride is None:
        return None
    direction = 1 if loop.inside.positive(stride) else -1
    step = stride.scaled(direction)
    fits = all(loop.inside.nonnegative(step - (first[1] - second[0])) for first in entries for second in entries)
    return direction if fits else None


def _count_line_changes(references: Sequence[Reference], direction: int) -> tuple[int, int] | None:
    """Bound how many accesses of interleaved references cross the end of a line in a pass of the innermost loop.

    Also count the runs of accesses to one element in an iteration. The end of a line separates the elements of at
    most one iteration: all earlier ones lie before it, all later ones after. None if the order of two elements is
    unknown.
    """
    facts, along = references[0].chain[-1].inside, contiguous_dimension(references[0].array)
    numbered = [pair for reference in references for pair in zip(reference.order, reference.accesses, strict=True)]
    sequence = [access.place[along] for _, access in sorted(numbered, key=itemgetter(0))]
    places = [place for place in dict.fromkeys(sequence) if place is not None]
    behind = {
        place: [facts.nonnegative((place - other_place).scaled(direction)) for other_place in places]
        for place in places
    }
    if not all(behind[left][y] or behind[right][x] for x, left in enumerate(places) for y, right in enumerate(places)):
        return None
    ranks = [sum(behind[place]) for place in sequence if place is not None]
    cuts = ([False, *(rank >= cut for rank in ranks), True] for cut in ranks)
    crossings = max(sum(x != y for x, y in pairwise(sides)) for sides in cuts)
    return crossings, 1 + sum(x != y for x, y in pairwise(sequence))


def _measure_interleaved(references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """Bound the lines and misses of the residency that holds the lines of interleaved references.

    Misses are at most the lines between the first and the last element, and those of each element in each
    iteration.
    """
    chain = references[0].chain
    depth, loop = len(chain), chain[-1]
    space = sum((ref.get_footprint(depth).largest.value for ref in references), ZERO)
    single = sum((ref.get_footprint(depth).count.value for ref in references), ZERO) * loop.facts.positive_part(
        loop.trips
    )
    between = group_footprint(references, depth - 1).count.value
    return FactoredProduct((space,)), FactoredProduct((loop.facts.minimum(between, single),)).bound_sum_over_chain(
        chain[:-1]
    )


def derive_row_with_next_element_residency(references: Sequence[Reference]) -> Resident | None:
    """Derive the residency that holds one line for a row, which an inner loop reads, and the element after the row.

    None for other references, or if no closed form exists.
    """
    try:
        row, after = sorted(references, key=lambda reference: -len(reference.chain))
    except ValueError:
        return None
    array, chain = row.array, after.chain
    if row.chain[:-1] != chain or not chain or array.layout == "zmorton" or array.moves or array.strided:
        return None
    inner, along = row.chain[-1], contiguous_dimension(array)
    if row.order[-1] > after.order[0] or inner.trips != inner.hi - inner.lo:
        return None
    for dimension, (moving, fixed) in enumerate(zip(row.place, after.place, strict=True)):
        if moving is None or fixed is None or moving[0] != moving[1] or fixed[0] != fixed[1]:
            return None
        end = moving[0].substitute({inner.variable: inner.hi})
        is_in_row = find_coefficient(moving[0], inner.variable) == ONE if dimension == along else end == moving[0]
        if not is_in_row or end != fixed[0]:
            return None
    return keep_if_closed_form(
        Resident((row, after), chain[-1], partial(measure_single_pass, len(chain), 0), fit=lambda _: True)
    )


def iterate_pinned_windows(references: Sequence[Reference]) -> Iterator[tuple[Loop | None, Poly, Poly]]:
    """Yield windows around all references in which lines can be pinned: loop, lines, number of windows.

    If the f most frequently fetched lines are pinned, misses are at most misses*(1 - f/lines) + f*windows.
    """
    chain = find_common_loops(references)
    for depth in range(len(chain) + 1):
        with suppress(UnboundedError):
            lines = bound_above_in_sizes(
                group_footprint(references, depth).count.bound_max_over_chain(chain[:depth]), references[0].facts
            ).value
            windows = bound_above_in_sizes(
                FactoredProduct((ONE,)).bound_sum_over_chain(chain[:depth]), references[0].facts
            ).value
            yield chain[depth - 1] if depth else None, lines, windows
