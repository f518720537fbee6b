"""Expressions over many boxes at once: what they are at least and at most where each size lies in a range.

Numbers are floating-point ones, rounded outward. Over a box an expression is also bounded by its slopes: a size along
which it only rises is at its lower end where the expression is least, and along the others it changes by no more than
the slope times the width. Rounding, as floor does it, is a constant where both ends of the box have the same value;
elsewhere it is an unknown number below 1 that is taken away, which changes no slope.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol
from archline.records import memoised, record

Array: TypeAlias = NDArray[np.float64]
Ends: TypeAlias = tuple[Array, Array]
_ROUNDED = 2.0**-50
"""More than an operation rounds by, also one that takes a logarithm."""


def _outward(low: Array, high: Array) -> Ends:
    return low - np.abs(low) * _ROUNDED, high + np.abs(high) * _ROUNDED


def _product(one: Ends, other: Ends) -> Ends:
    corners = [first * second for first in one for second in other]
    # What is 0 rules out what has no end.
    corners = [np.where(np.isnan(each), 0.0, each) for each in corners]
    return _outward(reduce(np.minimum, corners), reduce(np.maximum, corners))


@record(eq=False)
class OverBoxes:
    """An expression over boxes: its least and greatest values, and those of its slope along each size."""

    values: Ends
    slopes: Ends

    @property
    def low(self) -> Array:
        """Nothing is below this."""
        return self.values[0]

    @property
    def high(self) -> Array:
        """Nothing is above this."""
        return self.values[1]

    def __add__(self, other: OverBoxes) -> OverBoxes:
        pairs = ((self.values, other.values), (self.slopes, other.slopes))
        values, slopes = (_outward(one[0] + two[0], one[1] + two[1]) for one, two in pairs)
        return OverBoxes(values, slopes)

    def __neg__(self) -> OverBoxes:
        return OverBoxes((-self.high, -self.low), (-self.slopes[1], -self.slopes[0]))

    def __sub__(self, other: OverBoxes) -> OverBoxes:
        return self + -other

    def __mul__(self, other: OverBoxes) -> OverBoxes:
        one, two = _product(self.values, other.slopes), _product(other.values, self.slopes)
        return OverBoxes(_product(self.values, other.values), _outward(one[0] + two[0], one[1] + two[1]))

    def __truediv__(self, other: OverBoxes) -> OverBoxes:
        return self * other.power(-1.0)

    def at_least(self, least: OverBoxes) -> OverBoxes:
        """The greater one of two."""
        values = tuple(np.maximum(one, two) for one, two in zip(self.values, least.values, strict=True))
        more, less = self.low >= least.high, self.high <= least.low
        low, high = (
            np.where(more, one, np.where(less, two, choose(one, two)))
            for one, two, choose in zip(self.slopes, least.slopes, (np.minimum, np.maximum), strict=True)
        )
        return OverBoxes((values[0], values[1]), (low, high))

    def at_most(self, most: OverBoxes) -> OverBoxes:
        """The smaller one of two."""
        return -(-self).at_least(-most)

    def power(self, exponent: float) -> OverBoxes:
        """A power; without bounds where a number that is not above 0 is raised to one that is no whole number."""
        if exponent == 1:
            return self
        if exponent > 1 and exponent == int(exponent):
            half = self.power(exponent // 2)
            size = half.at_least(-half)
            return size * size if exponent % 2 == 0 else half * half * self
        if exponent < 0 and exponent == int(exponent):
            signed = (self.low > 0) | (self.high < 0)
            below = self.power(-exponent)
            found = below._through(lambda value: 1 / value, lambda value: -1 / value**2)
            return found.known(signed)
        rises = self._through(lambda value: value**exponent, lambda value: exponent * value ** (exponent - 1))
        return rises.known(self.low > 0)

    def root(self) -> OverBoxes:
        """The square root of a number that is not below 0."""
        return self._through(np.sqrt, lambda value: 0.5 / np.sqrt(value)).known(self.low >= 0)

    def logarithm(self) -> OverBoxes:
        """The binary logarithm of a number above 0."""
        return self._through(np.log2, lambda value: 1 / (value * np.log(2))).known(self.low > 0)

    def exponential(self, base: float) -> OverBoxes:
        """A number above 1 to this power."""
        return self._through(lambda value: base**value, lambda value: np.log(base) * base**value)

    def _through(self, function: Callable[[Array], Array], slope: Callable[[Array], Array]) -> OverBoxes:
        """A function that only rises or falls, and whose slope does."""
        (one, two), (first, second) = ([each(end) for end in self.values] for each in (function, slope))
        slopes = _outward(np.minimum(first, second), np.maximum(first, second))
        return OverBoxes(_outward(np.minimum(one, two), np.maximum(one, two)), _product(slopes, self.slopes))

    def known(self, where: NDArray[np.bool_]) -> OverBoxes:
        """The same at some boxes, without bounds at the others."""
        ends = (-np.inf, np.inf)
        values, slopes = (
            tuple(np.where(where & ~np.isnan(each), each, end) for each, end in zip(pair, ends, strict=True))
            for pair in (self.values, self.slopes)
        )
        return OverBoxes((values[0], values[1]), (slopes[0], slopes[1]))


class Boxes:
    """Boxes of sizes: arrays of least and greatest values of each; slopes are along the sizes that are `moving`.

    With `around` these are points of other boxes, for which numbers that rounding takes away are as they may be there.
    """

    def __init__(
        self, lows: Mapping[str, Any], highs: Mapping[str, Any], moving: Sequence[str], around: Boxes | None = None
    ) -> None:
        self._lows, self._highs, self._moving, self._around = lows, highs, list(moving), around
        self._length = max((len(each) for each in lows.values() if np.ndim(each)), default=1)
        self._known: dict[Hashable, OverBoxes] = {}

    def number(self, low: Any, high: Any = None) -> OverBoxes:
        """A number, or one between two."""
        pair = (low, low if high is None else high)
        ends = [np.broadcast_to(np.asarray(each, float), (self._length,)) for each in pair]
        none = np.zeros((len(self._moving), self._length))
        return OverBoxes(_outward(ends[0], ends[1]), (none, none))

    def name(self, name: str) -> OverBoxes:
        """A size."""
        found = self.number(self._lows[name], self._highs[name])
        if name not in self._moving:
            return found
        along = np.zeros((len(self._moving), self._length))
        along[self._moving.index(name)] = 1
        return OverBoxes(found.values, (along, along))

    @memoised
    def of(self, value: Poly) -> OverBoxes:
        """An expression in sizes."""
        terms = (self._product(monomial) * self.number(float(each)) for monomial, each in value.terms.items())
        return reduce(OverBoxes.__add__, terms, self.number(0.0))

    @memoised
    def _product(self, monomial: Monomial) -> OverBoxes:
        *others, (atom, power) = monomial or ((None, 0),)
        last = self.number(1.0) if atom is None else self._atom(atom).power(float(power))
        return self._product(tuple(others)) * last if others else last

    @memoised
    def _atom(self, atom: Atom) -> OverBoxes:
        parts = [self.of(each) for each in atom.parts]
        match atom:
            case Symbol():
                return self.name(atom.name)
            case a.PositivePart():
                return parts[0].at_least(self.number(0.0))
            case a.Quotient():
                return parts[0] / parts[1]
            case a.Floor():
                return self.floor(parts[0] / parts[1], atom.key, _whole(atom) / parts[1].high)
            case a.CeilLog2():
                inside = parts[0].at_least(self.number(1.0))
                return -self.floor(-inside.logarithm(), atom.key, _whole(atom) / inside.high)
            case a.Exponential(base=base):
                return parts[0].exponential(float(base))
            case a.RealFunction(function="log2"):
                return parts[0].logarithm()
            case a.RealFunction(function="sqrt"):
                return parts[0].root()
            case a.RealFunction():
                root = parts[0].root()
                return self.floor(root, atom.key, _whole(atom) / (2 * root.high + 2))
            case a.CommonDivisor():
                most = parts[0].at_most(parts[1]).high
                return self._constant(self.number(1.0, most), atom.key, np.ones(self._length, bool), parts[0])
            case _:
                # What depends on the data has no bounds here.
                return self.number(-np.inf, np.inf).known(np.zeros(self._length, bool))

    def floor(self, value: OverBoxes, key: Hashable, apart: Any = 0.0) -> OverBoxes:
        """The greatest whole numbers that are not above a value; `key` names it, around these boxes too.

        A value that is not whole is more than `apart` below the next whole number.
        """
        low, high = np.floor(value.low + apart), np.floor(value.high)
        return self._constant(self.number(low, high), key, low == high, value - self.number(0.0, 1.0))

    def _constant(self, value: OverBoxes, key: Hashable, same: NDArray[np.bool_], otherwise: OverBoxes) -> OverBoxes:
        """A value that counts as the `same` all over some boxes, which points inside take over; else another one."""
        if self._around is not None:
            value, mark = self._around._known["constant", key], self._around._known["same", key]
            value, same = OverBoxes(value.values, self.number(0.0).slopes), mark.low > 0
        else:
            self._known["constant", key], self._known["same", key] = value, self.number(same)
        values, slopes = (
            tuple(np.where(same, one, two) for one, two in zip(*pair, strict=True))
            for pair in ((value.values, otherwise.values), (value.slopes, otherwise.slopes))
        )
        return OverBoxes((values[0], values[1]), (slopes[0], slopes[1]))

    def ends(self, find: Callable[[Boxes], OverBoxes]) -> Ends:
        """What a formula of these boxes is at least, by its slopes, and at most."""
        with np.errstate(all="ignore"):
            found = find(self)
            shape = (len(self._moving), self._length)
            ends = [np.zeros(shape), np.zeros(shape)]
            for along, name in enumerate(self._moving):
                ends[0][along], ends[1][along] = self._lows[name], self._highs[name]
            rises, falls = found.slopes[0] >= 0, found.slopes[1] <= 0
            middle = (ends[0] + ends[1]) / 2
            point = np.where(rises, ends[0], np.where(falls, ends[1], middle))
            rows = dict(zip(self._moving, point, strict=True))
            corner = find(Boxes({**self._lows, **rows}, {**self._highs, **rows}, (), self))
            steepest = np.maximum(np.abs(found.slopes[0]), np.abs(found.slopes[1]))
            lost = np.where(rises | falls, 0.0, steepest * ((ends[1] - ends[0]) / 2 * (1 + _ROUNDED)))
            # Along a size that is fixed nothing is lost, however steep it is.
            lost = np.where(ends[1] > ends[0], lost, 0.0)
            by_slopes = _outward(corner.low - lost.sum(axis=0) * (1 + _ROUNDED), found.high)[0]
            low = np.fmax(np.where(np.isnan(by_slopes), -np.inf, by_slopes), found.low)
            return low, np.where(np.isnan(found.high), np.inf, found.high)


def _whole(atom: Atom) -> float:
    """By what part of its divisor a quotient of integers, or a root or logarithm of one, differs from whole numbers."""
    return 0.5 if all(map(a.is_integral, atom.parts)) else 0.0
