"""Which of several coefficients, the shortest first, make the best proved bound, with few proofs, which take long.

The first ones that are near enough are taken, unless shorter ones before them make a better bound; where none are
near enough, the best of all. No proof is needed of a bound that is not better than a proved one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from archline.algebra.evaluate.floats import Array
from archline.recurrences.exact.coefficient_lp import Coefficients
from archline.recurrences.exact.constraints import ALIKE, Bound

ROUNDED = 1 + 1e-6
"""How much larger than it is a factor may be in floating point."""


class Choice:
    """Coefficients, each with the largest factor of its bound in floating point, the bound, and whether it is proved.

    Bounds and proofs are looked for when they are asked for, and once.
    """

    def __init__(
        self,
        short: Sequence[Coefficients],
        largest: Array,
        bound: Callable[[Coefficients], Bound],
        proved: Callable[[Coefficients], bool],
    ) -> None:
        self._count, self._largest = len(short), largest
        # By their place: coefficients take long to hash.
        self._of = cache(lambda index: bound(short[index]))
        self._proved = cache(lambda index: proved(short[index]))

    def best(self, wanted: Fraction, enough: Callable[[Bound], bool]) -> Bound | None:
        """The best proved bound; `enough` tells whether one is near enough, with a factor of `wanted` at most."""
        end = self._first(float(wanted) * ROUNDED, enough)
        if end is not None:
            last = self._of(end)
            if not any(self._rivals(index, last) for index in range(end)):
                return last
        best: Bound | None = None
        for index in range(self._count if end is None else end + 1):
            if best is not None and self._worse(index, best):
                continue
            if self._of(index).better(best) and self._proved(index):
                best = self._of(index)
        return best

    def _first(self, most: float, enough: Callable[[Bound], bool]) -> int | None:
        """The first one that is near enough and proved."""
        for index in range(self._count):
            if self._largest[index] <= most and enough(self._of(index)) and self._proved(index):
                return index
        return None

    def _rivals(self, index: int, last: Bound) -> bool:
        """Whether a proved one may be better than the last, or leads to one that is."""
        return not self._worse(index, last) and not last.better(self._of(index)) and self._proved(index)

    def _worse(self, index: int, bound: Bound) -> bool:
        """Whether one is far worse than a bound, whatever else is seen of it."""
        return bound.steady and bool(self._largest[index] > float(ALIKE * bound.factor) * ROUNDED)
