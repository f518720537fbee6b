"""Collect the parts of an array that a body touches in full: elements, loops over them, and claims of calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from types import MappingProxyType
from typing import Literal

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.cache.footprint.project import clip_loop
from archline.analysis.cache.footprint.windows import (
    HalfOpenInterval,
    WindowLoop,
    at_least_zero,
    union,
    with_loop_bounds,
)
from archline.ir.tree import Access, Array, Loop, Node, RecursiveCall, View
from archline.language import syntax as s
from archline.records import record

MAX_PARTS = 12
"""The maximum number of parts among which adjacent ones are merged."""
MAX_REGIONS = 40
"""The maximum number of regions of a list of nodes, as a loop can turn one region into two."""
Box = tuple[HalfOpenInterval, ...]
"""In each dimension the first entry, and the one after the last."""
Half = Literal["", "lower", "upper"]
"""The part of a square box: all, the diagonal and below, or the diagonal and above."""


@record
class MustTouchRegion:
    """A region of an array that is touched in full if its extents are at least `least`.

    The region omits `before` entries at the start and `behind` entries at the end of each dimension. `half`
    restricts it to one side of the diagonal, which is itself excluded if the next field says so. `own` is a box
    instead, in the sizes and the indices of the algorithm that receives the array.
    """

    least: tuple[int, ...]
    before: int = 0
    behind: int = 0
    half: Half = ""
    beside: bool = False
    own: Box | None = None

    def box(self, ends: Sequence[HalfOpenInterval]) -> Box:
        """The box of the region in a view with the given bounds."""
        if self.beside:
            return beside_diagonal(ends, self.half)
        return tuple((lo + self.before, hi - self.behind) for lo, hi in ends)

    def of(self, array: Array) -> Box:
        """The box of the region in a whole array."""
        return self.box([(ZERO, extent) for extent in array.extents]) if self.own is None else self.own


Claims = Mapping[s.Algorithm, Mapping[str, Sequence[MustTouchRegion]]]
"""The claimed regions by algorithm and array parameter."""


@record
class Part:
    """A box of elements of an array, or half of it."""

    box: Box
    half: Half = ""


@record
class ConditionalRegion:
    """A part of an array that is touched if all of `needs` are nonnegative."""

    part: Part
    needs: tuple[Poly, ...] = ()

    def uses(self, name: str) -> list[int]:
        """List the dimensions in which the region depends on a symbol."""
        return [place for place, (lo, hi) in enumerate(self.part.box) if name in lo.names or name in hi.names]

    def at(self, name: str, value: Poly) -> ConditionalRegion:
        values = {name: value}
        box = tuple((lo.substitute(values), hi.substitute(values)) for lo, hi in self.part.box)
        return ConditionalRegion(Part(box, self.part.half), tuple(need.substitute(values) for need in self.needs))


@record(eq=False)
class RegionCollector:
    """Collects the parts of an array that calls and accesses touch in full."""

    array: Array
    claims: Claims

    def of(self, nodes: Sequence[Node], facts: Facts) -> list[ConditionalRegion]:
        """Collect the regions that a sequence of executed nodes touches."""
        regions: dict[ConditionalRegion, None] = {}
        for node in nodes:
            match node:
                case Access(array=array, place=place, wherever=()) if array is self.array:
                    regions |= dict.fromkeys(map(ConditionalRegion, _element_region(place)))
                case RecursiveCall():
                    regions |= dict.fromkeys(map(ConditionalRegion, self._regions_of_call(node, facts)))
                case Loop(body=body):
                    turn = WindowLoop(node.variable, node.lo, node.hi)
                    inside = self.of(body, with_loop_bounds(turn, facts, 1))
                    regions |= dict.fromkeys(
                        all_ for region in inside for all_ in _regions_of_loop(region, turn, facts)
                    )
                case _:
                    pass
        listed = list(regions)[:MAX_REGIONS]
        return [*listed, *_merge_adjacent(listed)]

    def _regions_of_call(self, call: RecursiveCall, facts: Facts) -> Iterator[Part]:
        claimed = self.claims.get(call.target, {})
        for name, view in call.views.items():
            for claim in claimed.get(name, ()):
                if view.array is self.array and _extents_at_least(view, claim.least, facts):
                    yield from claimed_part(view, claim, call.sizes)


def _extents_at_least(view: View, least: Sequence[int], facts: Facts) -> bool:
    pairs = zip(view.extents, least, strict=True)
    return all(not minimum or facts.nonnegative(extent - minimum) for extent, minimum in pairs)


def _element_region(place: Sequence[Poly | None]) -> Iterator[Part]:
    box = tuple((subscript, subscript + 1) for subscript in place if subscript is not None)
    if len(box) == len(place):
        yield Part(box)


def claimed_part(
    view: View, claim: MustTouchRegion, sizes: Mapping[str, Poly] = MappingProxyType({})
) -> Iterator[Part]:
    """Yield the claimed part of a view in its array, if the view is a box of it.

    `sizes` are those of the call that receives the view.
    """
    straight = view.axes == tuple((dimension, ONE) for dimension in range(len(view.starts)))
    if not view.exact or (not straight and (claim.before or claim.behind or claim.half or claim.own is not None)):
        return
    ends = []
    for dimension, start in enumerate(view.starts):
        width = ONE
        # From the innermost axis out, a step is the product of the extents inside it.
        for (along, step), extent in zip(reversed(view.axes), reversed(view.extents), strict=True):
            if along == dimension:
                if step != width:
                    return
                width = width * extent
        if start is None:
            return
        ends.append((start, start + width))
    if claim.own is not None:
        own = (tuple(end.substitute(sizes) for end in interval) for interval in claim.own)
        yield Part(tuple((start + lo, start + hi) for (start, _), (lo, hi) in zip(ends, own, strict=True)))
    else:
        yield Part(claim.box(ends), claim.half)


def _regions_of_loop(touched: ConditionalRegion, turn: WindowLoop, facts: Facts) -> Iterator[ConditionalRegion]:
    """Yield the region that all iterations touch; else that of the first one, and of the last one."""
    name = turn.variable
    clipped = clip_loop(touched.needs, turn, facts)
    if clipped is None:
        return
    turn, needs = clipped
    box, some, moving = touched.part.box, at_least_zero(turn.hi - turn.lo - 1, facts), touched.uses(name)
    if len(moving) == 1 and not touched.part.half:
        (place,) = moving
        joint = union(box[place], turn, with_loop_bounds(turn, facts, 2))
        if joint is not None:
            # An interval of one subscript for each iteration is empty if the loop is.
            empty = () if joint[1] - joint[0] == turn.hi - turn.lo else some
            yield ConditionalRegion(Part((*box[:place], joint, *box[place + 1 :])), (*needs, *empty))
            return
    if len(box) == 2 and len(moving) == 2:
        yield from (ConditionalRegion(part, needs) for part in _triangle_of_loop(box, turn, facts))
    for value in (turn.lo, turn.hi - 1) if moving else (turn.lo,):
        fixed = touched.at(name, value)
        yield ConditionalRegion(fixed.part, (*fixed.needs, *some))


def _triangle_of_loop(box: Box, turn: WindowLoop, facts: Facts) -> Iterator[Part]:
    """Yield the half of a square that iterations touch row by row, or column by column."""
    square = (turn.lo, turn.hi), (turn.lo, turn.hi)
    sides: tuple[tuple[Half, Box], ...] = (("lower", box), ("upper", box[::-1]))
    for half, (rows, columns) in sides:
        beside = _is_strictly_below_diagonal(rows, columns, turn, facts)
        if beside is not None:
            yield Part(beside_diagonal(square, half) if beside else square, half)


def _is_strictly_below_diagonal(
    rows: HalfOpenInterval, columns: HalfOpenInterval, turn: WindowLoop, facts: Facts
) -> bool | None:
    """Test whether rows end before the diagonal (True) or at it (False); None if neither.

    Iterations touch rows up to the diagonal, or columns from the diagonal on.
    """
    place = Poly.symbol(turn.variable)
    here = place, place + 1
    for beside in (False, True):
        up_to = rows == here and columns[1] == place + int(not beside) and facts.nonnegative(turn.lo - columns[0])
        down_from = columns == here and rows[0] == place + int(beside) and rows[1] == turn.hi
        if up_to or down_from:
            return beside
    return None


def beside_diagonal(square: Sequence[HalfOpenInterval], half: Half) -> Box:
    """The smaller box whose half is the half of a square without its diagonal."""
    (top, bottom), (left, right) = square
    if half == "lower":
        return (top + 1, bottom), (left, right - 1)
    return (top, bottom - 1), (left + 1, right)


def _merge_adjacent(found: Sequence[ConditionalRegion]) -> Iterator[ConditionalRegion]:
    """Merge pairs of parts that are adjacent in one dimension and equal in the rest."""
    boxes = [region for region in found if not region.part.half][:MAX_PARTS]
    for left, right in permutations(boxes, 2):
        (first, second) = left.part.box, right.part.box
        apart = [place for place, ends in enumerate(first) if ends != second[place]]
        if len(apart) == 1 and first[apart[0]][1] == second[apart[0]][0]:
            place = apart[0]
            joint = (*first[:place], (first[place][0], second[place][1]), *first[place + 1 :])
            yield ConditionalRegion(Part(joint), tuple(dict.fromkeys((*left.needs, *right.needs))))
