"""Concave functions that never fall, of straight pieces: the most that parts of a whole come to, however divided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from archline.numbers import fmpq
from archline.records import record

NOTHING = fmpq(0)
Point = tuple[fmpq, fmpq]


@record
class Concave:
    """Its value at 0, and pieces by width and slope, from steep to flat; behind the last it stays what it is."""

    start: fmpq = NOTHING
    pieces: tuple[tuple[fmpq, fmpq], ...] = ()

    def at(self, place: fmpq) -> fmpq:
        """The value at a place >= 0."""
        value = self.start
        for width, slope in self.pieces:
            if place <= width:
                return value + place * slope
            value, place = value + width * slope, place - width
        return value

    def points(self, first: fmpq, last: fmpq) -> Iterator[Point]:
        """Both ends of an interval, and the corners between, with the values there."""
        yield first, self.at(first)
        yield from ((place, value) for place, value in self.corners if first < place < last)
        if last > first:
            yield last, self.at(last)

    @cached_property
    def corners(self) -> tuple[Point, ...]:
        """Where pieces end."""
        found, place, value = [], NOTHING, self.start
        for width, slope in self.pieces:
            place, value = place + width, value + width * slope
            found.append((place, value))
        return tuple(found)

    def stretched(self, part: fmpq) -> Concave:
        """The value at a part of a place."""
        return Concave(self.start, tuple((width / part, slope * part) for width, slope in self.pieces) if part else ())

    def with_line(self, line: tuple[fmpq, fmpq], end: fmpq) -> Concave:
        """Beside it, up to an end, start + slope*x."""
        start, slope = line
        reached, pieces = NOTHING, []
        for width, own in self.pieces:
            width = min(width, end - reached)
            pieces.append((width, own + slope))
            reached += width
        return Concave(self.start + start, steep((*pieces, (end - reached, slope))))


def together(parts: Iterable[Concave]) -> Concave:
    """The most that the parts come to where what they are at adds up to a place."""
    parts = tuple(parts)
    pieces = (piece for each in parts for piece in each.pieces)
    return Concave(sum((each.start for each in parts), NOTHING), steep(pieces))


def added(parts: Sequence[Concave]) -> Concave:
    """What the parts come to, all at the same place."""
    places = sorted({NOTHING, *(place for each in parts for place, _ in each.corners)})
    return covering((place, sum((each.at(place) for each in parts), NOTHING)) for place in places)


def lesser(one: Concave, other: Concave, end: fmpq) -> Concave:
    """The lesser of two, up to an end."""
    places = sorted({NOTHING, end, *(place for each in (one, other) for place, _ in each.corners if place < end)})
    found = []
    for place, following in zip(places, [*places[1:], end], strict=True):
        before, behind = (one.at(each) - other.at(each) for each in (place, following))
        found.append(place)
        if before * behind < 0:
            found.append(place + (following - place) * before / (before - behind))
    return covering((place, min(one.at(place), other.at(place))) for place in found)


def covering(points: Iterable[Point]) -> Concave:
    """The least such function from 0 on that is nowhere below some points, at places and with values >= 0."""
    hull: list[Point] = []
    for place, value in sorted(((NOTHING, NOTHING), *points)):
        if hull and value <= hull[-1][1]:
            # What does not rise is below already.
            continue
        if hull and place == hull[-1][0]:
            hull.pop()
        while len(hull) > 1 and _slope(hull[-2], hull[-1]) <= _slope(hull[-1], (place, value)):
            hull.pop()
        hull.append((place, value))
    return Concave(hull[0][1], tuple((right[0] - left[0], _slope(left, right)) for left, right in pairwise(hull)))


def _slope(left: Point, right: Point) -> fmpq:
    return (right[1] - left[1]) / (right[0] - left[0])


def steep(pieces: Iterable[tuple[fmpq, fmpq]]) -> tuple[tuple[fmpq, fmpq], ...]:
    """Pieces that rise, from steep to flat."""
    rising = [(width, slope) for width, slope in pieces if width > 0 and slope > 0]
    return tuple(sorted(rising, key=lambda each: -each[1]))
