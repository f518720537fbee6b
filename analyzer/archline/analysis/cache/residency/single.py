"""Units of one reference: the lines of its windows, the one line of the last access, or none of its own.

Places that the data moves one way along a row hold the line where they are, or those between them. Where the data
decides how often loops inside run, as over the entries of a sparse row, most may be empty: lines that the loop around
holds stay then, though there is no room for them beside what the inner loops hold. Where these are long, it may pay to
leave them all lines, and to fetch what was given up again.
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
from archline.analysis.cache.footprint.windows import is_known, slope_of
from archline.analysis.cache.residency.base import (
    Resident,
    accepts_no_parts,
    classes_of,
    common_loops,
    in_one_row,
    of_its_own,
    pass_once,
    rows_of,
    with_known_bounds,
)
from archline.ir.factored import FactoredProduct, UnboundedError
from archline.ir.ranges import is_nondecreasing
from archline.ir.tree import Loop, contiguous_dimension


def pointer_line(reference: Reference) -> Resident | None:
    """The line at which an integer of the data points that moves one way through a row."""
    depth = walk_depth(reference)
    if depth is None:
        return None
    return with_known_bounds(
        Resident((reference,), reference.chain[depth], partial(pass_once, depth, 0), fit=lambda _: True)
    )


def monotone_walk_residency(references: Sequence[Reference]) -> Resident | None:
    """Places that move along a row together, and where they begin and end: the lines from the first to the last."""
    moving = [each for each in references if walk_depth(each) is not None]
    array, depths = references[0].array, {walk_depth(each) for each in moving}
    if len(depths) != 1 or len({walk_key(each) for each in moving}) > 1 or array.layout == "zmorton" or array.moves:
        return None
    (depth,) = depths
    if depth is None:
        return None
    shifts = [_walk_offset(each, moving, depth) for each in references]
    known_shifts = [each for each in shifts if each is not None]
    if len(known_shifts) < len(shifts):
        return None
    loop, words = moving[0].chain[depth], max(known_shifts) - min(known_shifts)
    # Lines are held from before the loop to behind it, if something is accessed there.
    around = loop if len(moving) == len(references) else moving[0].chain[depth - 1] if depth else None
    return with_known_bounds(Resident(tuple(references), around, partial(pass_once, depth, words), fit=lambda _: True))


def walk_depth(reference: Reference) -> int | None:
    """The depth of the loop through which the places of a reference move one way, where it is around them."""
    walk, variables = reference.walk, [loop.variable for loop in reference.chain]
    return variables.index(walk.loop) if walk is not None and walk.loop in variables else None


def walk_key(reference: Reference) -> object:
    """What places that move along a row together have in common."""
    walk = reference.walk
    return id(reference) if walk is None else (walk.loop, walk.course, rows_of(reference), *map(id, reference.chain))


def _walk_offset(reference: Reference, moving: Sequence[Reference], depth: int) -> int | None:
    """How far a place is from others that move, as they begin or end or all the time; None where that is not known."""
    walk, first = reference.walk, moving[0].walk
    if reference in moving:
        return None if walk is None else walk.shift
    if first is None or reference.chain != moving[0].chain[:depth] or rows_of(reference) != rows_of(moving[0]):
        return None
    if walk is not None and walk.rests and (walk.loop, walk.course) == (first.loop, first.course):
        return walk.shift
    place = reference.place[contiguous_dimension(reference.array)]
    if (
        place is None
        or place[0] != place[1]
        or first.first is None
        or max(reference.order) > min(number for each in moving for number in each.order)
    ):
        return None
    apart = place[0] - first.first
    return first.shift + int(apart.constant_term) if apart.is_constant and apart.constant_term.q == 1 else None


def reloaded_residencies(
    reference: Reference, own: Sequence[Resident], others: Sequence[Reference]
) -> Iterator[Resident | None]:
    """Those of a reference's own units that hold one line, given up in the loops inside if the data decides these."""
    chain = reference.chain
    inner = (each for each in others if len(each.chain) > len(chain) and common_loops((reference, each)) == chain)
    loops = tuple(dict.fromkeys(each.chain[len(chain)] for each in inner))
    scratch = next((unit for unit in own if unit.scratch), None)
    if not chain or not loops or scratch is None or all(is_known(each.trips) for each in loops):
        return
    for unit in own:
        if unit.loop in chain and not unit.scratch and unit.space == ONE:
            yield with_known_bounds(
                replace(
                    unit,
                    measure=partial(_footprint_with_reload, unit, scratch, loops),
                    given_up=loops,
                    fit=accepts_no_parts,
                )
            )


def _footprint_with_reload(
    unit: Resident, scratch: Resident, loops: Sequence[Loop], references: tuple[Reference, ...]
) -> tuple[FactoredProduct, FactoredProduct]:
    """A line more for each iteration of the loops inside, of which one would do; no more than one for each access."""
    (space, misses), (_, most) = unit.measure(references), scratch.measure(references)
    (reference,) = references
    again = sum((FactoredProduct((each.trips,)).over(reference.chain).value for each in loops), ZERO)
    return space, FactoredProduct((reference.facts.minimum(misses.value + again, most.value),))


def single_reference_residencies(reference: Reference) -> Iterator[Resident]:
    """The ways to keep one reference: through any loop around it, throughout, or not at all."""
    passed = one_line(reference), pointer_line(reference)
    scratch = with_known_bounds(Resident((reference,), None, _each_access, scratch=True, fit=lambda _: True))
    yield from filter(None, (*in_windows((reference,)), *passed, scratch))


def in_windows(references: tuple[Reference, ...]) -> Iterator[Resident | None]:
    """The ways to keep the lines of windows, those of several references as one, through the loops that they share."""
    array, chain = references[0].array, common_loops(references)
    if len(references) > 1 and (array.layout == "zmorton" or array.moves or array.strided):
        return
    for depth in range(len(chain) + 1):
        with suppress(UnboundedError):
            for start in _retention_depths(references, depth):
                loop = chain[min(start, depth - 1)] if depth else None
                held, fit = partial(_retained_footprint, depth, start), partial(_is_sliding, depth, start)
                splitting = partial(classes_of, references, depth)
                yield with_known_bounds(Resident(references, loop, held, splitting=splitting, fit=fit))


def _retention_depths(references: tuple[Reference, ...], depth: int) -> Iterator[int]:
    """Windows at a depth are kept from one to the next in the loops from these depths on; `depth`: in none."""
    with of_its_own():
        slides = group_footprint(references, depth).is_sliding_window
    if not slides:
        yield depth
        return
    start = depth - 1
    yield start
    while start and len(references) == 1 and _windows_tile_row(references[0], start):
        start -= 1
        yield start


def _retained_footprint(
    depth: int, start: int, references: tuple[Reference, ...]
) -> tuple[FactoredProduct, FactoredProduct]:
    """Windows at a depth are held; what the loops from `start` on touch is fetched once in all of them."""
    space = group_footprint(references, depth).largest
    if start < depth - 1:
        # A loop between is perhaps never entered: what holds inside says nothing then, and lines are not below 0.
        space = FactoredProduct((references[0].facts.positive_part(space.value),))
    return space, group_footprint(references, start).total


def _is_sliding(depth: int, start: int, references: tuple[Reference, ...]) -> bool:
    """Whether windows at a depth may be kept from one to the next in the loops from `start` on."""
    return (start == depth and len(references) > 1) or start in _retention_depths(references, depth)


def _windows_tile_row(reference: Reference, depth: int) -> bool:
    """Whether the windows at a depth are parts of one row, each behind the one before it."""
    array, loop = reference.array, reference.chain[depth - 1]
    if (array.local and array.moves) or array.layout == "zmorton" or None in reference.place:
        return False
    hull, along = reference.hull(depth), contiguous_dimension(array)
    inner = reference.chain[depth]
    moving = {loop.variable, inner.variable}
    rows = [interval for each, interval in enumerate(reference.hull(depth + 1)) if each != along]
    if any(moving & end.names for interval in rows for end in interval):
        return False
    ends = reference.hull(depth + 1)[along]
    facts = inner.facts.with_symbol(inner.variable, (inner.lo,), (inner.hi - 2,))
    after = {inner.variable: Poly.symbol(inner.variable) + 1}
    if not all(_no_less(end.substitute(after) - end, facts) for end in ends):
        return False
    low, high = hull[along]
    following = low.substitute({loop.variable: Poly.symbol(loop.variable) + 1})
    facts = loop.facts.with_symbol(loop.variable, (loop.lo,), (loop.hi - 2,))
    # Where a part is empty, the one behind it must not begin before it.
    return all(_no_less(following - end, facts) for end in (high, low))


def _no_less(apart: Poly, facts: Facts) -> bool:
    """Whether it is at least 0; entries of offsets do not become less."""
    return is_nondecreasing(apart, facts) or facts.nonnegative(a.as_gaps(apart))


def _each_access(references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """A line for each access but those that find the line of the access right before them."""
    (reference,) = references
    chain, (anew, steps) = reference.chain, _access_gaps(reference)
    if not steps:
        return FactoredProduct((ONE,)), FactoredProduct((Poly.constant(anew),)).over(chain)
    loop, facts = chain[-1], chain[-1].facts
    trips = facts.positive_part(loop.trips)
    ends = reference.lines(len(chain) - 1).count.value
    if facts.positive(ends):
        ends = ends - 1
    passing = facts.minimum(trips.scaled(len(steps)), ends.scaled(sum(steps)))
    return FactoredProduct((ONE,)), FactoredProduct((trips.scaled(anew) + passing,)).over(chain[:-1])


def _access_gaps(reference: Reference) -> tuple[int, tuple[int, ...]]:
    """How many accesses of an iteration count, and how far the others are from the one right before each.

    Through the innermost loop places in a row move by one, so that an end of a line lies between two that are so far
    apart in as many iterations at most. Those in one place count once.
    """
    along, moving = contiguous_dimension(reference.array), _moves_along(reference)
    anew, steps = 1, []
    for (before, here), (after, there) in pairwise(zip(reference.order, reference.in_order, strict=True)):
        step = abs(there[along] - here[along])
        if reference.is_free or after > before + 1 or (step and not moving):
            anew += 1
        elif step:
            steps.append(step)
    return anew, tuple(steps)


def _moves_along(reference: Reference) -> bool:
    """Whether the innermost loop moves the places along one row, by one each time."""
    if not reference.chain or not in_one_row([reference], reference.chain[-1]):
        return False
    entry = reference.place[contiguous_dimension(reference.array)]
    return entry is not None and slope_of(entry[0], reference.chain[-1].variable) in (ONE, -ONE)


def one_line(reference: Reference) -> Resident | None:
    """A row's neighbours, read one after the other in the innermost loop, kept as the one line of the last access."""
    chain, along = reference.chain, contiguous_dimension(reference.array)
    if not chain or reference.array.layout == "zmorton" or reference.array.moves or reference.is_free:
        return None
    place = reference.place[along]
    assert place is not None
    rows = reference.lines(len(chain) - 1).row_loops
    if len(reference.accesses) == 1 or rows or slope_of(place[0], chain[-1].variable) != ONE:
        return None
    passes = line_crossings([place[along] for place in reference.in_order])
    return with_known_bounds(Resident((reference,), chain[-1], partial(last_line, passes, 0)))


def last_line(passes: int, others: int, references: tuple[Reference, ...]) -> tuple[FactoredProduct, FactoredProduct]:
    """The line of the last access: one is fetched first, and one each time that the end of a line is passed.

    With `others` no more than so many in each iteration.
    """
    *outer, loop = references[0].chain
    count, facts = group_footprint(references, len(outer)).count.value, loop.facts
    fetched = count.scaled(passes)
    if facts.positive(count) or facts.positive(loop.trips):
        fetched = fetched - (passes - 1)
    if others:
        fetched = facts.minimum(fetched, facts.positive_part(loop.trips).scaled(others))
    return FactoredProduct((ONE,)), FactoredProduct((fetched,)).over(tuple(outer))


def line_crossings(offsets: Sequence[int]) -> int:
    """How often accesses at v + each offset, for v one after the other, pass the end of any one line, 1 at least."""
    first, last = min(offsets), max(offsets)
    sides = [v + offset > 0 for v in range(-last, 2 - first) for offset in offsets]
    return max(1, sum(x != y for x, y in pairwise(sides)))
