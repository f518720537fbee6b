"""Count the lines that a run may touch: of the reached parts of its arrays, and of its stack of local arrays.

If they all fit in the cache, each is fetched at most once. Where references are analysed row by row, that bound
is weak; it serves for subscripts such as f[i*i] and y[i % m], local arrays whose addresses depend on a loop
variable, and squares in Z-Morton order. At given sizes, elements that several references reach are counted once,
and those that none reaches are not counted, such as the corners of a grid on which a stencil works.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from math import prod

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly, sum_polynomials
from archline.analysis.cache.footprint.upper import Reference
from archline.expr.intervals import EvaluationError
from archline.ir.factored import UnboundedError, bound_max_in_loop
from archline.ir.layout import LINE, ClosedInterval, count_array_lines, count_stack_lines
from archline.ir.tree import Array, Chain, contiguous_dimension
from archline.records import record

MAX_CELLS = 10_000
"""The maximum number of cells into which the bounds of boxes may cut an array."""
Sizes = Mapping[str, int]
Box = tuple[range, ...]


@record(eq=False)
class ArrayFootprint:
    """The lines of an array, and the boxes that references reach: first and last subscript in each dimension.

    `along` is the contiguous dimension. Each line moves `moves` times: once, or twice if write-backs count.
    """

    lines: Poly
    along: int
    extents: tuple[Poly, ...]
    boxes: tuple[tuple[ClosedInterval, ...], ...]
    moves: int = 1

    def at(self, sizes: Sizes) -> int:
        """Count the lines in the union of the boxes, at sizes and L. Raises EvaluationError."""
        all_lines = int(evaluate(self.lines, sizes))
        try:
            clipped = [box for reached in self.boxes if all(box := tuple(self._clip_box(reached, sizes)))]
        except EvaluationError:
            return all_lines
        return min(all_lines, _count_union_points(clipped)) if self.boxes else all_lines

    def _clip_box(self, box: Sequence[ClosedInterval], sizes: Sizes) -> Iterator[range]:
        """Clip a box to the array; the range of the contiguous dimension is converted to lines."""
        for dimension, ((low, high), extent) in enumerate(zip(box, self.extents, strict=True)):
            first = max(0, int(evaluate(low, sizes)))
            last = min(int(evaluate(extent, sizes)) - 1, int(evaluate(high, sizes)))
            if dimension == self.along:
                first, last = first // sizes["L"], last // sizes["L"]
            yield range(first, last + 1)


def _count_union_points(boxes: Sequence[Box]) -> int:
    """Count the points in the union of boxes, by the cells that the ends of the boxes define.

    For more than MAX_CELLS cells it is the sum over the boxes, an upper bound.
    """
    ends = [sorted({end for span in spans for end in (span.start, span.stop)}) for spans in zip(*boxes, strict=True)]
    if prod(map(len, ends)) > MAX_CELLS:
        return sum(prod(map(len, box)) for box in boxes)
    cells = product(*(list(pairwise(cuts)) for cuts in ends))
    return sum(
        prod(stop - start for start, stop in cell)
        for cell in cells
        if any(all(start in side for (start, _), side in zip(cell, box, strict=True)) for box in boxes)
    )


@record(eq=False)
class TotalFootprint:
    """The footprints of the argument arrays, and the lines of the stack up to the end of each local array."""

    given: tuple[ArrayFootprint, ...]
    tops: tuple[Poly, ...]
    moves: int = 1
    """The moves of each line of the stack."""

    def at(self, sizes: Sizes) -> tuple[int, int]:
        """Count the lines at sizes and L, and the moves of all lines. Raises EvaluationError."""
        top = max((int(evaluate(height, sizes)) for height in self.tops), default=0)
        counts = [(top, self.moves), *((footprint.at(sizes), footprint.moves) for footprint in self.given)]
        return sum(lines for lines, _ in counts), sum(lines * moves for lines, moves in counts)

    def lines(self, facts: Facts, moved: bool = False) -> Poly:
        """The number of lines of all arrays in sizes and L; if `moved`, each line counts as often as it moves."""
        top = ZERO
        for height in self.tops:
            top = facts.maximum(top, height)
        given = sum_polynomials(footprint.lines * (footprint.moves if moved else 1) for footprint in self.given)
        return given + top * (self.moves if moved else 1)


def derive_total_footprint(references: Sequence[Reference], facts: Facts) -> TotalFootprint | None:
    """Bound the footprint of a run; None if the height of the stack has no closed form over all iterations."""
    by_array: dict[Array, list[Reference]] = {}
    for ref in references:
        by_array.setdefault(ref.array, []).append(ref)
    tops: dict[Poly, None] = {}
    for array, group in by_array.items():
        if array.local:
            try:
                tops[_bound_stack_top(array, group[0].chain)] = None
            except UnboundedError:
                return None
    given = tuple(_build_array_footprint(array, group, facts) for array, group in by_array.items() if not array.local)
    stack = max((ref.moves for array, group in by_array.items() if array.local for ref in group), default=1)
    return TotalFootprint(given, tuple(map(facts.restore, tops)), stack)


def _build_array_footprint(array: Array, references: Sequence[Reference], facts: Facts) -> ArrayFootprint:
    restore = facts.restore
    boxes = () if array.layout == "zmorton" else (reference.hull(0) for reference in references)
    return ArrayFootprint(
        restore(_bound_array_lines(array)),
        contiguous_dimension(array),
        tuple(map(restore, array.extents)),
        tuple(tuple((restore(low), restore(high)) for low, high in box) for box in boxes),
        max(reference.moves for reference in references),
    )


def _bound_array_lines(array: Array) -> Poly:
    """Return the lines of an array, at most one for each element of a Z-Morton square."""
    if array.layout != "zmorton":
        return count_array_lines(array)
    rows, columns = array.extents
    return a.minimum(count_array_lines(array), rows * columns)


def _bound_stack_top(array: Array, chain: Chain) -> Poly:
    """Bound the lines from the bottom of the stack to the end of a local array, over all iterations."""
    top = count_stack_lines(array)
    for loop in reversed(chain):
        if loop.variable in top.names:
            top = chain[0].facts.positive_part(bound_max_in_loop(_merge_floor_terms(top), loop, loop.facts))
    return top


def _merge_floor_terms(lines: Poly) -> Poly:
    """Bound a number of lines from above, with floor(x/L) + floor(y/L) replaced by floor((x + y)/L).

    For example, rows of n - i and of i words count as n words, so that the bound does not depend on i.
    """
    rest, words = ZERO, ZERO
    for monomial, number in lines.terms.items():
        match monomial:
            case ((a.Floor(argument=argument, modulus=modulus), 1),) if (
                modulus == LINE and number > 0 and number.q == 1
            ):
                words = words + argument.scaled(number)
            case _:
                rest = rest + Poly({monomial: number})
    return rest + a.floor_div(words, LINE) if words else lines
