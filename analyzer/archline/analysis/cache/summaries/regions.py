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
    find_nonnegativity_condition,
    unite_over_loop,
    with_loop_bounds,
)
from archline.ir.tree import Access, Array, Loop, Node, RecursiveCall, View
from archline.language import syntax as s
from archline.records import record

MAX_MERGED_BOXES = 12
"""The maximum number of boxes among which adjacent ones are merged."""
MAX_REGIONS = 40
"""The maximum number of regions of a list of nodes, as a loop can turn one region into two."""
HalfOpenBox = tuple[HalfOpenInterval, ...]
"""In each dimension the first entry, and the one after the last."""
Half = Literal["", "lower", "upper"]
"""The half of a square box: all of it, the diagonal and below, or the diagonal and above."""


@record
class MustTouchRegion:
    """A region of an array that is touched in full if the extents of the array are at least `least`.

    The region omits `before` entries at the start and `behind` entries at the end of each dimension. `half`
    restricts it to one side of the diagonal. `own`, if given, is the region as a box in the sizes and the indices of
    the algorithm that receives the array.
    """

    least: tuple[int, ...]
    before: int = 0
    behind: int = 0
    half: Half = ""
    beside: bool = False
    """Exclude the diagonal itself."""
    own: HalfOpenBox | None = None

    def box_in_view(self, ends: Sequence[HalfOpenInterval]) -> HalfOpenBox:
        """Return the box of the region in a view with the given bounds."""
        if self.beside:
            return exclude_diagonal(ends, self.half)
        return tuple((lo + self.before, hi - self.behind) for lo, hi in ends)

    def box_in_array(self, array: Array) -> HalfOpenBox:
        """Return the box of the region in a whole array."""
        return self.box_in_view([(ZERO, extent) for extent in array.extents]) if self.own is None else self.own


Claims = Mapping[s.Algorithm, Mapping[str, Sequence[MustTouchRegion]]]
"""The claimed regions by algorithm and array parameter."""


@record
class ArrayPart:
    """A box of elements of an array, or half of it."""

    box: HalfOpenBox
    half: Half = ""


@record
class ConditionalRegion:
    """A part of an array that is touched if all of `needs` are nonnegative."""

    part: ArrayPart
    needs: tuple[Poly, ...] = ()

    def find_dimensions_with(self, name: str) -> list[int]:
        """List the dimensions in which the box depends on a symbol."""
        return [dimension for dimension, (lo, hi) in enumerate(self.part.box) if name in lo.names or name in hi.names]

    def at(self, name: str, value: Poly) -> ConditionalRegion:
        values = {name: value}
        box = tuple((lo.substitute(values), hi.substitute(values)) for lo, hi in self.part.box)
        return ConditionalRegion(ArrayPart(box, self.part.half), tuple(need.substitute(values) for need in self.needs))


@record(eq=False)
class RegionCollector:
    """Collects the parts of an array that a body touches in full, by accesses and by claims about its calls."""

    array: Array
    claims: Claims

    def collect(self, nodes: Sequence[Node], facts: Facts) -> list[ConditionalRegion]:
        """Collect the regions that a sequence of executed nodes touches."""
        regions: dict[ConditionalRegion, None] = {}
        for node in nodes:
            match node:
                case Access(array=array, place=place, sufficient_conditions=()) if array is self.array:
                    regions |= dict.fromkeys(map(ConditionalRegion, _make_element_part(place)))
                case RecursiveCall():
                    regions |= dict.fromkeys(map(ConditionalRegion, self._iterate_call_parts(node, facts)))
                case Loop(body=body):
                    loop = WindowLoop(node.variable, node.lo, node.hi)
                    inside = self.collect(body, with_loop_bounds(loop, facts, 1))
                    regions |= dict.fromkeys(
                        total for region in inside for total in _iterate_loop_regions(region, loop, facts)
                    )
                case _:
                    pass
        listed = list(regions)[:MAX_REGIONS]
        return [*listed, *_merge_adjacent(listed)]

    def _iterate_call_parts(self, call: RecursiveCall, facts: Facts) -> Iterator[ArrayPart]:
        claimed = self.claims.get(call.target, {})
        for name, view in call.views.items():
            for claim in claimed.get(name, ()):
                if view.array is self.array and _has_minimum_extents(view, claim.least, facts):
                    yield from iterate_claimed_part(view, claim, call.sizes)


def _has_minimum_extents(view: View, least: Sequence[int], facts: Facts) -> bool:
    pairs = zip(view.extents, least, strict=True)
    return all(not minimum or facts.nonnegative(extent - minimum) for extent, minimum in pairs)


def _make_element_part(place: Sequence[Poly | None]) -> Iterator[ArrayPart]:
    box = tuple((subscript, subscript + 1) for subscript in place if subscript is not None)
    if len(box) == len(place):
        yield ArrayPart(box)


def iterate_claimed_part(
    view: View, claim: MustTouchRegion, sizes: Mapping[str, Poly] = MappingProxyType({})
) -> Iterator[ArrayPart]:
    """Yield the claimed part of a view as a part of its array, if the view is a box of the array.

    `sizes` are the sizes and indices of the call that receives the view.
    """
    has_same_axes = view.axes == tuple((dimension, ONE) for dimension in range(len(view.starts)))
    if not view.exact or (not has_same_axes and (claim.before or claim.behind or claim.half or claim.own is not None)):
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
        box = (tuple(end.substitute(sizes) for end in interval) for interval in claim.own)
        yield ArrayPart(tuple((start + lo, start + hi) for (start, _), (lo, hi) in zip(ends, box, strict=True)))
    else:
        yield ArrayPart(claim.box_in_view(ends), claim.half)


def _iterate_loop_regions(touched: ConditionalRegion, turn: WindowLoop, facts: Facts) -> Iterator[ConditionalRegion]:
    """Yield the region that all iterations touch together, or the regions of the first and of the last iteration."""
    name = turn.variable
    clipped = clip_loop(touched.needs, turn, facts)
    if clipped is None:
        return
    turn, needs = clipped
    box, nonempty, moving = (
        touched.part.box,
        find_nonnegativity_condition(turn.hi - turn.lo - 1, facts),
        touched.find_dimensions_with(name),
    )
    if len(moving) == 1 and not touched.part.half:
        (dimension,) = moving
        joint = unite_over_loop(box[dimension], turn, with_loop_bounds(turn, facts, 2))
        if joint is not None:
            # An interval of one subscript for each iteration is empty if the loop is.
            empty = () if joint[1] - joint[0] == turn.hi - turn.lo else nonempty
            yield ConditionalRegion(ArrayPart((*box[:dimension], joint, *box[dimension + 1 :])), (*needs, *empty))
            return
    if len(box) == 2 and len(moving) == 2:
        yield from (ConditionalRegion(part, needs) for part in _iterate_loop_triangle(box, turn, facts))
    for value in (turn.lo, turn.hi - 1) if moving else (turn.lo,):
        fixed = touched.at(name, value)
        yield ConditionalRegion(fixed.part, (*fixed.needs, *nonempty))


def _iterate_loop_triangle(box: HalfOpenBox, turn: WindowLoop, facts: Facts) -> Iterator[ArrayPart]:
    """Yield the half of a square that iterations touch row by row, or column by column."""
    square = (turn.lo, turn.hi), (turn.lo, turn.hi)
    sides: tuple[tuple[Half, HalfOpenBox], ...] = (("lower", box), ("upper", box[::-1]))
    for half, (rows, columns) in sides:
        is_strict = _excludes_diagonal(rows, columns, turn, facts)
        if is_strict is not None:
            yield ArrayPart(exclude_diagonal(square, half) if is_strict else square, half)


def _excludes_diagonal(
    rows: HalfOpenInterval, columns: HalfOpenInterval, turn: WindowLoop, facts: Facts
) -> bool | None:
    """Test whether a loop touches the half below the diagonal without it (True) or with it (False); None if neither.

    Iterations touch rows up to the diagonal, or columns from the diagonal on.
    """
    variable = Poly.symbol(turn.variable)
    current = variable, variable + 1
    for is_strict in (False, True):
        is_row_up_to = (
            rows == current and columns[1] == variable + int(not is_strict) and facts.nonnegative(turn.lo - columns[0])
        )
        is_column_from = columns == current and rows[0] == variable + int(is_strict) and rows[1] == turn.hi
        if is_row_up_to or is_column_from:
            return is_strict
    return None


def exclude_diagonal(square: Sequence[HalfOpenInterval], half: Half) -> HalfOpenBox:
    """Return the smaller box whose half, with its diagonal, is the half of a square without the diagonal."""
    (top, bottom), (left, right) = square
    if half == "lower":
        return (top + 1, bottom), (left, right - 1)
    return (top, bottom - 1), (left + 1, right)


def _merge_adjacent(found: Sequence[ConditionalRegion]) -> Iterator[ConditionalRegion]:
    """Yield the unions of pairs of boxes that are adjacent in one dimension and equal in all other ones."""
    boxes = [region for region in found if not region.part.half][:MAX_MERGED_BOXES]
    for left, right in permutations(boxes, 2):
        (first, second) = left.part.box, right.part.box
        different = [index for index, ends in enumerate(first) if ends != second[index]]
        if len(different) == 1 and first[different[0]][1] == second[different[0]][0]:
            dimension = different[0]
            joint = (*first[:dimension], (first[dimension][0], second[dimension][1]), *first[dimension + 1 :])
            yield ConditionalRegion(ArrayPart(joint), tuple(dict.fromkeys((*left.needs, *right.needs))))
