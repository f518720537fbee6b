"""The misses of an LRU cache of any number of lines, as one count for all: the distribution of stack distances.

What LRU fetches bounds what optimal replacement fetches, by D. D. Sleator, R. E. Tarjan (Communications of the ACM
28(2), 1985).

Let LRU with C' lines, empty at the start, fetch f + k*C' lines, 1 <= f <= C'. Cut the run into a part in which it
fetches f lines, and k parts in which it fetches C'.

- In the first part every fetch is a first access, which any cache fetches: a line comes back only after C' others have
  been accessed, and from an empty cache these and the line itself are C' + 1 fetches.
- In any other part at least C' lines beside x are accessed, where x is the last one accessed before: if x is fetched,
  C' others have been accessed since; if a line is fetched twice, it and C' others have been accessed between; else the
  C' lines that are fetched are different, and none of them is x.
- When such a part begins, an optimal cache of C <= C' lines holds x and at most C - 1 of these. It fetches the others.

So it fetches at least f + k*(C' - C + 1) lines, which is at least LRU(C')*(C' - C + 1)/C'. The theorem has C lines
less, as its caches may begin with different lines.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping
from fractions import Fraction
from math import ceil

from archline.algebra.atoms import Floor
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly, Symbol
from archline.records import record

# Counts go from process to process: atoms are made anew, one object each, and hashes are those of one process.
copyreg.pickle(Poly, lambda value: (Poly, (value.terms,)))
copyreg.pickle(Symbol, lambda atom: (Symbol, (atom.name,)))
copyreg.pickle(Floor, lambda atom: (Floor, (atom.argument, atom.modulus)))
THRESHOLD = "T"
"""The symbol of the distance that an access has at least."""


@record
class Condition:
    """At least 0, or equal to 0."""

    value: Poly
    equal: bool

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether it holds at a point."""
        found = evaluate(self.value, point)
        return found == 0 if self.equal else found >= 0


@record
class Piece:
    """A value where all conditions of one of the `cases` hold."""

    cases: tuple[tuple[Condition, ...], ...]
    value: Poly

    def holds(self, point: Mapping[str, int]) -> bool:
        """Whether the piece is the one that a point is in."""
        return any(all(each.holds(point) for each in case) for case in self.cases)


Piecewise = tuple[Piece, ...]
"""0 where no piece holds."""


def value_at(pieces: Piecewise, point: Mapping[str, int]) -> int:
    """The value at a point: an integer."""
    for piece in pieces:
        if piece.holds(point):
            found = evaluate(piece.value, point)
            assert found.denominator == 1
            return int(found)
    return 0


@record
class DistanceCount:
    """So many accesses are at a stack distance."""

    distance: Poly
    count: Piecewise


@record
class DistanceRange:
    """So many accesses are at a distance of at least `least` + T/`scale`, with T a symbol of the count."""

    least: Poly
    scale: int
    count: Piecewise


@record
class LruCounts:
    """The accesses of one call by stack distance, with lines of `line` words, in the sizes that were left symbols.

    `first` are the first accesses to a line, which are at no distance. A row of `settled` has those at one distance, of
    `ranged` those at distances that are affine in the loop variables. A distance of `open` changes with the loop
    variables that stand in it otherwise, and which of its accesses are how far is not counted.
    """

    line: int
    sizes: tuple[str, ...]
    accesses: Piecewise
    first: Piecewise
    settled: tuple[DistanceCount, ...]
    ranged: tuple[DistanceRange, ...]
    open: tuple[DistanceCount, ...]

    def at(self, point: Mapping[str, int]) -> MissCurve:
        """The counts at sizes, ready for any number of lines."""
        return MissCurve(
            value_at(self.accesses, point),
            value_at(self.first, point),
            tuple((evaluate(row.distance, point), value_at(row.count, point)) for row in self.settled),
            tuple((evaluate(row.least, point), row) for row in self.ranged),
            any(value_at(row.count, point) for row in self.open),
            point,
        )


STEPS_PER_SCALE = 24
"""Numbers of lines are tried at so many steps of a scale on which they double every few steps."""


@record
class LruLowerBound:
    """io is at least `bound`, since LRU with `lines` lines fetches `misses`."""

    bound: int
    lines: int
    misses: int


def at_least(misses: int, lines: int, capacity: int) -> int:
    """What optimal replacement with `capacity` lines fetches at least, where LRU with `lines` fetches `misses`."""
    if not misses:
        return 0
    parts, first = divmod(misses - 1, lines)
    return first + 1 + parts * (lines - capacity + 1)


@record
class MissCurve:
    """The misses of LRU caches at one point of sizes, by their number of lines.

    `settled` are distances, each with its number of accesses; `ranged` are least distances, each with its accesses;
    `open` is whether there are accesses of an unknown distance.
    """

    accesses: int
    first: int
    settled: tuple[tuple[Fraction, int], ...]
    ranged: tuple[tuple[Fraction, DistanceRange], ...]
    open: bool
    point: Mapping[str, int]

    def misses(self, lines: int) -> int | None:
        """The lines that an LRU cache of so many lines fetches; None where accesses of an unknown distance decide."""
        return None if self.open else self._fetched(lines)

    def _fetched(self, lines: int) -> int:
        beyond = sum(
            value_at(each.count, {**self.point, THRESHOLD: ceil((lines + 1 - least) * each.scale)})
            for least, each in self.ranged
        )
        return self.first + sum(count for distance, count in self.settled if distance > lines) + beyond

    def bound(self, capacity: int) -> LruLowerBound | None:
        """The best bound on io with so many lines; None where misses are not known at some number of lines."""
        if self.open:
            return None
        fetched = ((lines, self._fetched(lines)) for lines in self._candidates(capacity))
        bounds = (LruLowerBound(at_least(misses, lines, capacity), lines, misses) for lines, misses in fetched)
        return max(bounds, key=lambda each: each.bound)

    def _candidates(self, capacity: int) -> list[int]:
        """Numbers of lines from `capacity` to all: on a scale, and where one more would make many accesses hits."""
        most = max(capacity, self.first)
        edges = [int(distance) - 1 for distance, _ in sorted(self.settled, key=lambda row: -row[1])[:STEPS_PER_SCALE]]
        unit = max(1, capacity // 8)
        scale = [capacity + (unit << step // 4) * (step % 4 + 4) // 4 for step in range(4 * STEPS_PER_SCALE)]
        return sorted({capacity, most, *(each for each in (*edges, *scale) if capacity <= each <= most)})
