"""The misses of an LRU cache of any number of lines, as one count for all: the distribution of stack distances."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cache.lru.wire import Piecewise, value_at
from archline.records import record

THRESHOLD = "T"


@record
class Row:
    """So many accesses are at a stack distance."""

    distance: Poly
    count: Piecewise


@record
class DistanceRange:
    """So many accesses are at a distance of at least `least` + T/`scale`, with T a symbol of the count."""

    least: Poly
    scale: int
    count: Piecewise

    def beyond(self, lines: int, point: Mapping[str, int]) -> int:
        """How many are at a larger distance than so many lines."""
        needed = ceil((lines + 1 - evaluate(self.least, point)) * self.scale)
        return value_at(self.count, {**point, THRESHOLD: needed})


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
    settled: tuple[Row, ...]
    ranged: tuple[DistanceRange, ...]
    open: tuple[Row, ...]

    def misses(self, lines: int, point: Mapping[str, int]) -> int | None:
        """The lines that an LRU cache of so many lines fetches at sizes; None where open rows decide that."""
        if any(value_at(row.count, point) for row in self.open):
            return None
        found = value_at(self.first, point)
        found += sum(value_at(row.count, point) for row in self.settled if evaluate(row.distance, point) > lines)
        return found + sum(row.beyond(lines, point) for row in self.ranged)
