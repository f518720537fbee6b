"""Integers that satisfy what is known of the symbols: what is below 0 there has no proof that it is at least 0.

Most of what is asked about has no proof, and looking for one until all ways are tried takes far longer than arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle

from archline.algebra import atoms as a
from archline.algebra.evaluation import EvaluationError, Place
from archline.algebra.polynomial import Poly

OFFSETS = ((0,), (1_000, 3, 50), (3, 1_000, 70, 0, 9), (1,))
"""How far symbols are above the least that they may be, in turn: at corners, and where sizes lie apart."""
Known = tuple[str, Sequence[Poly], Sequence[Poly]]
"""A symbol, and what it is at least and at most, in symbols before it."""


class Witnesses:
    """A few points at which all bounds hold; none where none is found."""

    def __init__(self, known: Iterable[Known]) -> None:
        known = tuple(known)
        self._places = [place for offsets in OFFSETS if (place := _placed(known, offsets)) is not None]

    def refute(self, value: Poly) -> bool:
        """Whether the value is below 0 at one of them."""
        return any(_negative(value, place) for place in self._places) and not any(_quotients(value))


def _placed(known: Sequence[Known], offsets: Sequence[int]) -> Place | None:
    place = Place({})
    for (name, lower, upper), offset in zip(known, cycle(offsets), strict=False):
        try:
            low = max((int(place.number(each).ceil()) for each in lower), default=None)
            high = min((int(place.number(each).floor()) for each in upper), default=None)
        except EvaluationError:
            return None
        number = _between(low, high, offset)
        if number is None:
            return None
        place.learn(name, number)
    return place


def _between(low: int | None, high: int | None, offset: int) -> int | None:
    """An integer between the ends, as far from one as is wished, if that can be."""
    if low is None:
        return offset if high is None else high - offset
    if high is None:
        return low + offset
    return min(low + offset, high) if low <= high else None


def _negative(value: Poly, place: Place) -> bool:
    try:
        return place.number(value) < 0
    except EvaluationError:
        return False


def _quotients(value: Poly) -> Iterator[bool]:
    """Divisions that a program promises to be exact: they may be none at the points."""
    for atom in value.atoms():
        yield isinstance(atom, a.Quotient)
        for part in atom.parts:
            yield from _quotients(part)
