"""Compute the misses of LRU caches of all sizes from the distribution of stack distances.

LRU misses bound the misses of optimal replacement, by D. D. Sleator, R. E. Tarjan (Communications of the ACM
28(2), 1985).

Let LRU with C' lines, empty at the start, fetch f + k*C' lines, 1 <= f <= C'. Cut the run into a part in which
it fetches f lines, and k parts in which it fetches C'.

- In the first part every fetch is a first access, which any cache fetches: a line is fetched again only after
  C' other lines were accessed, and from an empty cache these and the line itself are C' + 1 fetches.
- In any other part at least C' lines other than x are accessed, where x is the last line accessed before: if x is
  fetched, C' other lines were accessed since; if a line is fetched twice, it and C' others were accessed between;
  otherwise the C' lines that are fetched are different, and x is not among them.
- When such a part begins, an optimal cache of C <= C' lines holds x and at most C - 1 lines of the part. It
  fetches the rest.

So it fetches at least f + k*(C' - C + 1) lines, which is at least LRU(C')*(C' - C + 1)/C'. The theorem has C
lines less, as its caches may begin with different lines.
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

# Counts are sent between processes: atoms, which are interned, and hashes are rebuilt in the receiving one.
copyreg.pickle(Poly, lambda value: (Poly, (value.terms,)))
copyreg.pickle(Symbol, lambda atom: (Symbol, (atom.name,)))
copyreg.pickle(Floor, lambda atom: (Floor, (atom.argument, atom.modulus)))
THRESHOLD = "T"
"""The symbol of the minimum distance from which on accesses are counted."""


@record
class Condition:
    """A constraint: the value is 0 if `equal`, else at least 0."""

    value: Poly
    equal: bool

    def holds(self, point: Mapping[str, int]) -> bool:
        number = evaluate(self.value, point)
        return number == 0 if self.equal else number >= 0


@record
class CountPiece:
    """A value that applies if all conditions of one of the `cases` hold."""

    cases: tuple[tuple[Condition, ...], ...]
    value: Poly

    def holds(self, point: Mapping[str, int]) -> bool:
        return any(all(condition.holds(point) for condition in case) for case in self.cases)


PiecewiseCount = tuple[CountPiece, ...]
"""The value is 0 where no piece holds."""


def evaluate_piecewise(pieces: PiecewiseCount, point: Mapping[str, int]) -> int:
    """Evaluate a piecewise integer at a point; 0 where no piece holds."""
    for piece in pieces:
        if piece.holds(point):
            number = evaluate(piece.value, point)
            assert number.denominator == 1
            return int(number)
    return 0


@record
class DistanceCount:
    """The number of accesses at one stack distance."""

    distance: Poly
    count: PiecewiseCount


@record
class DistanceRange:
    """The number of accesses at a distance of at least `least` + T/`scale`, as a function of the symbol T."""

    least: Poly
    scale: int
    count: PiecewiseCount


@record
class LruCounts:
    """The accesses of one call by stack distance, with lines of `line` words, in terms of symbolic sizes.

    `first` counts first accesses, which have no distance. A row of `settled` counts the accesses at one distance,
    a row of `ranged` those at distances affine in the loop variables. A distance of `open` depends on loop
    variables in another way; its accesses are counted in total only.
    """

    line: int
    sizes: tuple[str, ...]
    accesses: PiecewiseCount
    first: PiecewiseCount
    settled: tuple[DistanceCount, ...]
    ranged: tuple[DistanceRange, ...]
    open: tuple[DistanceCount, ...]

    def at(self, point: Mapping[str, int]) -> MissCurve:
        """Evaluate the counts at sizes, as a miss curve."""
        return MissCurve(
            evaluate_piecewise(self.accesses, point),
            evaluate_piecewise(self.first, point),
            tuple((evaluate(row.distance, point), evaluate_piecewise(row.count, point)) for row in self.settled),
            tuple((evaluate(row.least, point), row) for row in self.ranged),
            any(evaluate_piecewise(row.count, point) for row in self.open),
            point,
        )


SCALE_DOUBLINGS = 24
"""How often cache sizes double on the scale that is tried, in four steps each; also the number of distances tried."""


@record
class LruLowerBound:
    """A lower bound on io, which follows from `misses` misses of LRU with `lines` lines."""

    bound: int
    lines: int
    misses: int


def bound_optimal_misses_below(misses: int, lines: int, capacity: int) -> int:
    """Bound the misses of optimal replacement with `capacity` lines from below, given the LRU misses with `lines`."""
    if not misses:
        return 0
    parts, first = divmod(misses - 1, lines)
    return first + 1 + parts * (lines - capacity + 1)


@record
class MissCurve:
    """The misses of LRU caches as a function of their number of lines, at one point of sizes.

    `settled` pairs distances with numbers of accesses; `ranged` pairs minimum distances with accesses; `open`
    tells whether accesses of unknown distance exist.
    """

    accesses: int
    first: int
    settled: tuple[tuple[Fraction, int], ...]
    ranged: tuple[tuple[Fraction, DistanceRange], ...]
    open: bool
    point: Mapping[str, int]

    def misses(self, lines: int) -> int | None:
        """Count the misses of an LRU cache of a number of lines; None if distances are unknown."""
        return None if self.open else self._count_misses(lines)

    def _count_misses(self, lines: int) -> int:
        beyond = sum(
            evaluate_piecewise(row.count, {**self.point, THRESHOLD: ceil((lines + 1 - least) * row.scale)})
            for least, row in self.ranged
        )
        return self.first + sum(count for distance, count in self.settled if distance > lines) + beyond

    def bound(self, capacity: int) -> LruLowerBound | None:
        """Return the best lower bound on io with `capacity` lines; None if distances are unknown."""
        if self.open:
            return None
        fetched = ((lines, self._count_misses(lines)) for lines in self._choose_cache_sizes(capacity))
        bounds = (
            LruLowerBound(bound_optimal_misses_below(misses, lines, capacity), lines, misses)
            for lines, misses in fetched
        )
        return max(bounds, key=lambda candidate: candidate.bound)

    def _choose_cache_sizes(self, capacity: int) -> list[int]:
        """Choose cache sizes, from `capacity` to all lines of the run: on a scale, and just below frequent distances.

        From a size of all lines on, LRU has only first misses.
        """
        largest = max(capacity, self.first)
        edges = [int(distance) - 1 for distance, _ in sorted(self.settled, key=lambda row: -row[1])[:SCALE_DOUBLINGS]]
        unit = max(1, capacity // 8)
        scale = [capacity + (unit << step // 4) * (step % 4 + 4) // 4 for step in range(4 * SCALE_DOUBLINGS)]
        return sorted({capacity, largest, *(size for size in (*edges, *scale) if capacity <= size <= largest)})
