"""Integers that satisfy what is known of the symbols: what is below 0 there has no proof that it is at least 0.

Most of what is asked about has no proof, and looking for one until all ways are tried takes far longer than arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import PointValues
from archline.algebra.polynomial import Poly
from archline.expr.intervals import EvaluationError

CORNER = (0,)
APART = (1_000, 3, 50), (3, 1_000, 70, 0, 9), (1,)
"""How far symbols are above the least that they may be, in turn: at a corner, and where sizes lie apart."""
Known = tuple[str, Sequence[Poly], Sequence[Poly]]
"""A symbol, and what it is at least and at most, in symbols before it."""


class Witness:
    """A point at which all bounds hold, if one is found."""

    def __init__(self, offsets: Sequence[int], known: Iterable[Known]) -> None:
        self._offsets, self._count = offsets, 0
        self._place: PointValues | None = PointValues({})
        for each in known:
            self._learn(each)

    def beside(self, known: Known) -> Witness:
        """The point with one more symbol."""
        found = copy(self)
        found._place = None if self._place is None else self._place.copy()
        found._learn(known)
        return found

    def _learn(self, known: Known) -> None:
        name, lower, upper = known
        offset = self._offsets[self._count % len(self._offsets)]
        self._count += 1
        number = None if self._place is None else _number(self._place, lower, upper, offset)
        if self._place is None or number is None:
            self._place = None
        else:
            self._place.learn(name, number)

    def refutes(self, value: Poly) -> bool:
        """Whether the value is below 0 there."""
        return self._place is not None and _negative(value, self._place) and not any(_quotients(value))


def _number(place: PointValues, lower: Sequence[Poly], upper: Sequence[Poly], offset: int) -> int | None:
    """A number for a symbol beside others; None where none is found."""
    try:
        low = max((int(place.number(each).ceil()) for each in lower), default=None)
        high = min((int(place.number(each).floor()) for each in upper), default=None)
    except EvaluationError:
        return None
    return _between(low, high, offset)


def _between(low: int | None, high: int | None, offset: int) -> int | None:
    """An integer between the ends, as far from one as is wished, if that can be."""
    if low is None:
        return offset if high is None else high - offset
    if high is None:
        return low + offset
    return min(low + offset, high) if low <= high else None


def _negative(value: Poly, place: PointValues) -> bool:
    try:
        return bool(place.number(value).p < 0)
    except EvaluationError:
        return False


def _quotients(value: Poly) -> Iterator[bool]:
    """Divisions that a program promises to be exact: they may be none at the points."""
    return (isinstance(atom, a.Quotient) for atom in value.atoms_within())
