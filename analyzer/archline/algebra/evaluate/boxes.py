"""Bounds expressions over many boxes at once, where each size lies in a range.

Numbers are floating-point ones, rounded outward. Over a box an expression is also bounded by its slopes: its minimum
is at the lower end of each size along which it only rises, and along the other sizes it changes by at most the slope
times the width. Rounding, as by floor, is a constant where both ends of the box have the same value; elsewhere it is
an unknown number below 1 that is subtracted, which changes no slope.
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
IntervalArrays: TypeAlias = tuple[Array, Array]
_ROUNDING_ERROR = 2.0**-50
"""An upper bound of the relative rounding error of an operation, logarithms included."""


def _round_outward(low: Array, high: Array) -> IntervalArrays:
    return low - np.abs(low) * _ROUNDING_ERROR, high + np.abs(high) * _ROUNDING_ERROR


def _multiply_intervals(one: IntervalArrays, other: IntervalArrays) -> IntervalArrays:
    corners = [first * second for first in one for second in other]
    # 0 times an infinite end is 0.
    corners = [np.where(np.isnan(corner), 0.0, corner) for corner in corners]
    return _round_outward(reduce(np.minimum, corners), reduce(np.maximum, corners))


@record(eq=False)
class BoundsOverBoxes:
    """An expression over boxes: its minimum and maximum values, and those of its slope along each size."""

    values: IntervalArrays
    slopes: IntervalArrays

    @property
    def low(self) -> Array:
        return self.values[0]

    @property
    def high(self) -> Array:
        return self.values[1]

    def __add__(self, other: BoundsOverBoxes) -> BoundsOverBoxes:
        pairs = ((self.values, other.values), (self.slopes, other.slopes))
        values, slopes = (_round_outward(left[0] + right[0], left[1] + right[1]) for left, right in pairs)
        return BoundsOverBoxes(values, slopes)

    def __neg__(self) -> BoundsOverBoxes:
        return BoundsOverBoxes((-self.high, -self.low), (-self.slopes[1], -self.slopes[0]))

    def __sub__(self, other: BoundsOverBoxes) -> BoundsOverBoxes:
        return self + -other

    def __mul__(self, other: BoundsOverBoxes) -> BoundsOverBoxes:
        left, right = _multiply_intervals(self.values, other.slopes), _multiply_intervals(other.values, self.slopes)
        return BoundsOverBoxes(
            _multiply_intervals(self.values, other.values), _round_outward(left[0] + right[0], left[1] + right[1])
        )

    def __truediv__(self, other: BoundsOverBoxes) -> BoundsOverBoxes:
        return self * other.power(-1.0)

    def take_maximum(self, least: BoundsOverBoxes) -> BoundsOverBoxes:
        values = tuple(np.maximum(left, right) for left, right in zip(self.values, least.values, strict=True))
        larger, smaller = self.low >= least.high, self.high <= least.low
        low, high = (
            np.where(larger, left, np.where(smaller, right, choose(left, right)))
            for left, right, choose in zip(self.slopes, least.slopes, (np.minimum, np.maximum), strict=True)
        )
        return BoundsOverBoxes((values[0], values[1]), (low, high))

    def take_minimum(self, most: BoundsOverBoxes) -> BoundsOverBoxes:
        return -(-self).take_maximum(-most)

    def power(self, exponent: float) -> BoundsOverBoxes:
        """Return a power; unbounded where a number that is not positive has an exponent that is not an integer."""
        if exponent == 1:
            return self
        if exponent > 1 and exponent == int(exponent):
            half = self.power(exponent // 2)
            size = half.take_maximum(-half)
            return size * size if exponent % 2 == 0 else half * half * self
        if exponent < 0 and exponent == int(exponent):
            nonzero = (self.low > 0) | (self.high < 0)
            positive_power = self.power(-exponent)
            inverse = positive_power._apply_monotone(lambda value: 1 / value, lambda value: -1 / value**2)
            return inverse.restrict_to(nonzero)
        rises = self._apply_monotone(lambda value: value**exponent, lambda value: exponent * value ** (exponent - 1))
        return rises.restrict_to(self.low > 0)

    def root(self) -> BoundsOverBoxes:
        """Return the square root; unbounded where the number may be negative."""
        return self._apply_monotone(np.sqrt, lambda value: 0.5 / np.sqrt(value)).restrict_to(self.low >= 0)

    def logarithm(self) -> BoundsOverBoxes:
        """Return the binary logarithm; unbounded where the number may not be positive."""
        return self._apply_monotone(np.log2, lambda value: 1 / (value * np.log(2))).restrict_to(self.low > 0)

    def exponential(self, base: float) -> BoundsOverBoxes:
        """Return base to this power, for a base above 1."""
        return self._apply_monotone(lambda value: base**value, lambda value: np.log(base) * base**value)

    def _apply_monotone(self, function: Callable[[Array], Array], slope: Callable[[Array], Array]) -> BoundsOverBoxes:
        """Apply a monotone function whose slope is monotone too."""
        (left, right), (first, second) = ([compute(end) for end in self.values] for compute in (function, slope))
        slopes = _round_outward(np.minimum(first, second), np.maximum(first, second))
        return BoundsOverBoxes(
            _round_outward(np.minimum(left, right), np.maximum(left, right)), _multiply_intervals(slopes, self.slopes)
        )

    def restrict_to(self, where: NDArray[np.bool_]) -> BoundsOverBoxes:
        """Return the bounds at the boxes that `where` marks, and -oo to oo at all other boxes."""
        ends = (-np.inf, np.inf)
        values, slopes = (
            tuple(np.where(where & ~np.isnan(bounds), bounds, end) for bounds, end in zip(pair, ends, strict=True))
            for pair in (self.values, self.slopes)
        )
        return BoundsOverBoxes((values[0], values[1]), (slopes[0], slopes[1]))


class Boxes:
    """Boxes of sizes, given by an array of minimum and one of maximum values for each size; slopes are along `moving`.

    With `around` the boxes are points inside those boxes; an atom that is constant on a box takes its value from it.
    """

    def __init__(
        self, lows: Mapping[str, Any], highs: Mapping[str, Any], moving: Sequence[str], around: Boxes | None = None
    ) -> None:
        self._lows, self._highs, self._moving, self._around = lows, highs, list(moving), around
        self._length = max((len(column) for column in lows.values() if np.ndim(column)), default=1)
        self._known: dict[Hashable, BoundsOverBoxes] = {}

    def number(self, low: Any, high: Any = None) -> BoundsOverBoxes:
        """Return the number `low`, or an unknown one between `low` and `high`, as an expression over the boxes."""
        pair = (low, low if high is None else high)
        ends = [np.broadcast_to(np.asarray(end, float), (self._length,)) for end in pair]
        zero = np.zeros((len(self._moving), self._length))
        return BoundsOverBoxes(_round_outward(ends[0], ends[1]), (zero, zero))

    def name(self, name: str) -> BoundsOverBoxes:
        bounds = self.number(self._lows[name], self._highs[name])
        if name not in self._moving:
            return bounds
        along = np.zeros((len(self._moving), self._length))
        along[self._moving.index(name)] = 1
        return BoundsOverBoxes(bounds.values, (along, along))

    @memoised
    def bound_expression(self, value: Poly) -> BoundsOverBoxes:
        terms = (self._bound_product(monomial) * self.number(float(factor)) for monomial, factor in value.terms.items())
        return reduce(BoundsOverBoxes.__add__, terms, self.number(0.0))

    @memoised
    def _bound_product(self, monomial: Monomial) -> BoundsOverBoxes:
        *rest, (atom, power) = monomial or ((None, 0),)
        last = self.number(1.0) if atom is None else self._bound_atom(atom).power(float(power))
        return self._bound_product(tuple(rest)) * last if rest else last

    @memoised
    def _bound_atom(self, atom: Atom) -> BoundsOverBoxes:
        parts = [self.bound_expression(part) for part in atom.parts]
        match atom:
            case Symbol():
                return self.name(atom.name)
            case a.PositivePart():
                return parts[0].take_maximum(self.number(0.0))
            case a.Quotient():
                return parts[0] / parts[1]
            case a.Floor():
                return self.floor(parts[0] / parts[1], atom.key, _integer_margin(atom) / parts[1].high)
            case a.CeilLog2():
                inside = parts[0].take_maximum(self.number(1.0))
                return -self.floor(-inside.logarithm(), atom.key, _integer_margin(atom) / inside.high)
            case a.Exponential(base=base):
                return parts[0].exponential(float(base))
            case a.RealFunction(function="log2"):
                return parts[0].logarithm()
            case a.RealFunction(function="sqrt"):
                return parts[0].root()
            case a.RealFunction():
                root = parts[0].root()
                return self.floor(root, atom.key, _integer_margin(atom) / (2 * root.high + 2))
            case a.CommonDivisor():
                # gcd(0, n) = n; of negative numbers it is that of their absolute values.
                high = [np.maximum(np.abs(part.low), np.abs(part.high)) for part in parts]
                first, second = parts[0].low > 0, parts[1].low > 0
                low, smaller = (
                    np.where(first | second, 1.0, 0.0),
                    np.where(first & second, np.minimum(*high), np.maximum(*high)),
                )
                return self._mark_constant(self.number(low, smaller), atom.key, np.ones(self._length, bool), parts[0])
            case _:
                # Atoms that depend on the data have no bounds here.
                return self.number(-np.inf, np.inf).restrict_to(np.zeros(self._length, bool))

    def floor(self, value: BoundsOverBoxes, key: Hashable, apart: Any = 0.0) -> BoundsOverBoxes:
        """Return the floor of a value; `key` identifies it, also for points inside these boxes.

        A value that is not an integer is more than `apart` below the next integer.
        """
        low, high = np.floor(value.low + apart), np.floor(value.high)
        return self._mark_constant(self.number(low, high), key, low == high, value - self.number(0.0, 1.0))

    def _mark_constant(
        self, value: BoundsOverBoxes, key: Hashable, same: NDArray[np.bool_], otherwise: BoundsOverBoxes
    ) -> BoundsOverBoxes:
        """Return `value` on boxes marked `same`, as one unknown constant that points inside share; else `otherwise`."""
        if self._around is not None:
            value, mark = self._around._known["constant", key], self._around._known["same", key]
            value, same = BoundsOverBoxes(value.values, self.number(0.0).slopes), mark.low > 0
        else:
            self._known["constant", key], self._known["same", key] = value, self.number(same)
        values, slopes = (
            tuple(np.where(same, constant, varying) for constant, varying in zip(*pair, strict=True))
            for pair in ((value.values, otherwise.values), (value.slopes, otherwise.slopes))
        )
        return BoundsOverBoxes((values[0], values[1]), (slopes[0], slopes[1]))

    def bound_formula(self, find: Callable[[Boxes], BoundsOverBoxes]) -> IntervalArrays:
        """Return lower bounds of a formula over the boxes, improved by its slopes, and upper bounds."""
        with np.errstate(all="ignore"):
            bounds = find(self)
            shape = (len(self._moving), self._length)
            ends = [np.zeros(shape), np.zeros(shape)]
            for along, name in enumerate(self._moving):
                ends[0][along], ends[1][along] = self._lows[name], self._highs[name]
            rises, falls = bounds.slopes[0] >= 0, bounds.slopes[1] <= 0
            middle = (ends[0] + ends[1]) / 2
            point = np.where(rises, ends[0], np.where(falls, ends[1], middle))
            rows = dict(zip(self._moving, point, strict=True))
            corner = find(Boxes({**self._lows, **rows}, {**self._highs, **rows}, (), self))
            steepest = np.maximum(np.abs(bounds.slopes[0]), np.abs(bounds.slopes[1]))
            lost = np.where(rises | falls, 0.0, steepest * ((ends[1] - ends[0]) / 2 * (1 + _ROUNDING_ERROR)))
            # Along a size of zero width nothing is lost, even if the slope is infinite.
            lost = np.where(ends[1] > ends[0], lost, 0.0)
            by_slopes = _round_outward(corner.low - lost.sum(axis=0) * (1 + _ROUNDING_ERROR), bounds.high)[0]
            low = np.fmax(np.where(np.isnan(by_slopes), -np.inf, by_slopes), bounds.low)
            return low, np.where(np.isnan(bounds.high), np.inf, bounds.high)


def _integer_margin(atom: Atom) -> float:
    """Return 1/2 if all parts of a rounded atom are integers, else 0; over the divisor it is `apart` of `floor`."""
    return 0.5 if all(map(a.is_integral, atom.parts)) else 0.0
