"""Represents concave, nondecreasing, piecewise linear functions, and their sums, minima and sup-convolutions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from archline.numbers import fmpq
from archline.records import record

RATIONAL_ZERO = fmpq(0)
Point = tuple[fmpq, fmpq]


@record
class ConcaveFunction:
    """A function on [0, oo) by its value at 0 and linear pieces (width, slope), steep to flat; constant after them."""

    start: fmpq = RATIONAL_ZERO
    pieces: tuple[tuple[fmpq, fmpq], ...] = ()

    def evaluate(self, place: fmpq) -> fmpq:
        value = self.start
        for width, slope in self.pieces:
            if place <= width:
                return value + place * slope
            value, place = value + width * slope, place - width
        return value

    def iterate_breakpoints(self, first: fmpq, last: fmpq) -> Iterator[Point]:
        """Yield the arguments and values at both ends of an interval and of the corners between them."""
        yield first, self.evaluate(first)
        yield from ((place, value) for place, value in self.corners if first < place < last)
        if last > first:
            yield last, self.evaluate(last)

    @cached_property
    def corners(self) -> tuple[Point, ...]:
        """The arguments at which pieces end, with the values there."""
        corners, place, value = [], RATIONAL_ZERO, self.start
        for width, slope in self.pieces:
            place, value = place + width, value + width * slope
            corners.append((place, value))
        return tuple(corners)

    def scale_argument(self, part: fmpq) -> ConcaveFunction:
        """Return x -> f(part*x)."""
        return ConcaveFunction(
            self.start, tuple((width / part, slope * part) for width, slope in self.pieces) if part else ()
        )

    def with_line(self, line: tuple[fmpq, fmpq], end: fmpq) -> ConcaveFunction:
        """Return f(x) + start + slope*x up to x = `end`, constant from there on; `line` is (start, slope)."""
        start, slope = line
        reached, pieces = RATIONAL_ZERO, []
        for width, steepness in self.pieces:
            width = min(width, end - reached)
            pieces.append((width, steepness + slope))
            reached += width
        return ConcaveFunction(self.start + start, sort_pieces_by_slope((*pieces, (end - reached, slope))))


def sup_convolve(parts: Iterable[ConcaveFunction]) -> ConcaveFunction:
    """Return the sup-convolution: x -> the maximum of f_1(x_1) + f_2(x_2) + ... over x_i >= 0 that add up to x."""
    parts = tuple(parts)
    pieces = (piece for part in parts for piece in part.pieces)
    return ConcaveFunction(sum((part.start for part in parts), RATIONAL_ZERO), sort_pieces_by_slope(pieces))


def add_functions(parts: Sequence[ConcaveFunction]) -> ConcaveFunction:
    """Return x -> f_1(x) + f_2(x) + ..., the pointwise sum."""
    places = sorted({RATIONAL_ZERO, *(place for part in parts for place, _ in part.corners)})
    return concave_majorant((place, sum((part.evaluate(place) for part in parts), RATIONAL_ZERO)) for place in places)


def pointwise_minimum(left: ConcaveFunction, right: ConcaveFunction, end: fmpq) -> ConcaveFunction:
    """Return x -> min(f(x), g(x)) for x in [0, end], constant from `end` on."""
    places = sorted(
        {RATIONAL_ZERO, end, *(place for part in (left, right) for place, _ in part.corners if place < end)}
    )
    corners = []
    for place, following in zip(places, [*places[1:], end], strict=True):
        before, after = (left.evaluate(point) - right.evaluate(point) for point in (place, following))
        corners.append(place)
        if before * after < 0:
            corners.append(place + (following - place) * before / (before - after))
    return concave_majorant((place, min(left.evaluate(place), right.evaluate(place))) for place in corners)


def concave_majorant(points: Iterable[Point]) -> ConcaveFunction:
    """Return the smallest concave nondecreasing function that is nowhere below the `points`, of values >= 0."""
    hull: list[Point] = []
    for place, value in sorted(((RATIONAL_ZERO, RATIONAL_ZERO), *points)):
        if hull and value <= hull[-1][1]:
            # The hull is nondecreasing, so it is not below this point.
            continue
        if hull and place == hull[-1][0]:
            hull.pop()
        while len(hull) > 1 and _slope_between(hull[-2], hull[-1]) <= _slope_between(hull[-1], (place, value)):
            hull.pop()
        hull.append((place, value))
    return ConcaveFunction(
        hull[0][1], tuple((right[0] - left[0], _slope_between(left, right)) for left, right in pairwise(hull))
    )


def _slope_between(left: Point, right: Point) -> fmpq:
    return (right[1] - left[1]) / (right[0] - left[0])


def sort_pieces_by_slope(pieces: Iterable[tuple[fmpq, fmpq]]) -> tuple[tuple[fmpq, fmpq], ...]:
    """Sort the pieces of positive slope and width from steep to flat."""
    rising = [(width, slope) for width, slope in pieces if width > 0 and slope > 0]
    return tuple(sorted(rising, key=lambda piece: -piece[1]))
