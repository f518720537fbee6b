"""Computes with intervals exactly: real numbers that are enclosed by two rationals, and partly known amounts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeAlias

from archline.expr import tree as s
from archline.numbers import arb, ctx, fmpq
from archline.records import record

Number: TypeAlias = int | Fraction
Point: TypeAlias = Mapping[str, Number]
"""The values of sizes, of Z and L, of P."""
MAX_BITS = 1 << 16
"""The length of the longest number that is computed; beyond it evaluation is refused."""
MAX_DEGREE = 12
"""The highest degree of roots that are tested for being rational."""
PRECISION = 100
"""Bits of logarithms and of powers that are not rational."""
MAX_EXPONENT = 1000
"""Irrational powers are below 2^MAX_EXPONENT."""
POWER_ERROR = Fraction(1, 1 << 40)
"""The relative error of the C library's `pow` in a run is at most a few units in the last place, 2^-52."""


class EvaluationError(Exception):
    """An expression has no value at a point; the message says why, and `expr` is the failing sub-expression."""

    def __init__(self, message: str, expr: s.Expr | None = None) -> None:
        super().__init__(message)
        self.expr = expr


class UndefinedError(EvaluationError):
    """An expression certainly has no value at a point: it divides by 0, or a root or logarithm is not real."""


def _make_error(message: str, certain: bool) -> EvaluationError:
    return (UndefinedError if certain else EvaluationError)(message)


@record(slots=True)
class Interval:
    """An enclosure of a number: lower <= number <= upper, both exact."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, value: Interval | Number | tuple[Number, Number]) -> Interval:
        """Return an interval from a pair of ends or an exact number. Raises ValueError for ends out of order."""
        match value:
            case Interval():
                result = value
            case (lower, upper):
                result = cls(Fraction(lower), Fraction(upper))
            case number:
                result = cls(Fraction(number), Fraction(number))
        if result.lower > result.upper:
            raise ValueError(f"the lower end {result.lower} is above the upper end {result.upper}")
        return result

    @property
    def exact(self) -> bool:
        return self.lower == self.upper

    @property
    def ends(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper

    @property
    def width(self) -> Fraction:
        return self.upper - self.lower

    @property
    def middle(self) -> Fraction:
        return (self.lower + self.upper) / 2

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lower + other.lower, self.upper + other.upper)

    def __neg__(self) -> Interval:
        return Interval(-self.upper, -self.lower)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        if self.lower >= 0 and other.lower >= 0:
            return Interval(self.lower * other.lower, self.upper * other.upper)
        corners = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        if other.lower <= 0 <= other.upper:
            raise _make_error("division by zero", other.exact)
        return self * Interval(1 / other.upper, 1 / other.lower)

    def __abs__(self) -> Interval:
        return Interval(max(self.lower, -self.upper, Fraction(0)), max(-self.lower, self.upper))

    def maximum(self, other: Interval) -> Interval:
        return Interval(max(self.lower, other.lower), max(self.upper, other.upper))

    def minimum(self, other: Interval) -> Interval:
        return Interval(min(self.lower, other.lower), min(self.upper, other.upper))

    def power(self, exponent: Interval) -> Interval:
        """Return a power; raises EvaluationError if it is too long, or has a base <= 0 and a fraction as exponent."""
        if exponent.exact and exponent.lower.denominator == 1:
            number = int(exponent.lower)
            if abs(number) * max(map(_bit_length, (self.lower, self.upper))) > MAX_BITS:
                raise EvaluationError(f"the power has more than {MAX_BITS} bits")
            if number < 0:
                return Interval.of(1) / self.power(-exponent)
            ends = (self.lower**number, self.upper**number)
            low = Fraction(0) if number > 0 and number % 2 == 0 and self.lower < 0 < self.upper else min(ends)
            return Interval(low, max(ends))
        if exponent.lower == exponent.upper == Fraction(1, 2):
            return self.apply_function("sqrt")
        if self.lower <= 0:
            raise _make_error("a power whose exponent is not an integer needs a positive base", self.upper < 0)
        corners = [
            _enclose_power(base, power)
            for base in {self.lower, self.upper}
            for power in {exponent.lower, exponent.upper}
        ]
        return Interval(min(corner.lower for corner in corners), max(corner.upper for corner in corners))

    def apply_function(self, name: str) -> Interval:
        """Return sqrt, log2, floor or ceil of the number, which are all monotone. Raises EvaluationError."""
        if name == "sqrt" and self.lower < 0:
            raise _make_error("square root of a negative number", self.upper < 0)
        if name == "log2" and self.lower <= 0:
            raise _make_error("logarithm of a number that is not positive", self.upper <= 0)
        low = _FUNCTIONS[name](self.lower)
        return low if self.exact else Interval(low.lower, _FUNCTIONS[name](self.upper).upper)

    def scale(self, factor: Fraction) -> Interval:
        """Return the interval scaled by a factor >= 0."""
        return Interval(self.lower * factor, self.upper * factor)


def enclose_executed_power(value: float) -> Interval:
    """Return an enclosure of the exact power that a run has computed in floating point as `value`."""
    centre = Fraction(value)
    margin = max(abs(centre), Fraction(1)) * POWER_ERROR
    return Interval(centre - margin, centre + margin)


def exact_root(value: Fraction, degree: int = 2) -> Fraction | None:
    """Return the root of a number >= 0 if it is rational; None also for degrees above MAX_DEGREE."""
    if degree > MAX_DEGREE:
        return None
    top, bottom = (_integer_root(part, degree) for part in (value.numerator, value.denominator))
    return None if top is None or bottom is None else Fraction(top, bottom)


def _bit_length(value: Fraction) -> int:
    """Return the bits of the longer of numerator and denominator; 0 for -1, 0 and 1, whose powers do not grow."""
    return 0 if value in (-1, 0, 1) else max(value.numerator.bit_length(), value.denominator.bit_length())


def _integer_root(value: int, degree: int) -> int | None:
    if degree == 2:
        root = math.isqrt(value)
        return root if root * root == value else None
    low, high = 0, 1 << -(-value.bit_length() // degree)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


def _enclose_sqrt(value: Fraction) -> Interval:
    exact = exact_root(value)
    if exact is not None:
        return Interval.of(exact)
    scale = value.denominator << 64
    root = math.isqrt((value.numerator * value.denominator) << 128)
    return Interval(Fraction(root, scale), Fraction(root + 1, scale))


def _enclose_log2(value: Fraction) -> Interval:
    top, bottom = value.numerator, value.denominator
    if top & (top - 1) == 0 and bottom & (bottom - 1) == 0:
        return Interval.of(top.bit_length() - bottom.bit_length())
    with ctx.workprec(PRECISION):
        return _enclose_ball(arb(fmpq(top, bottom)).log() / arb.const_log2())


def _enclose_ball(ball: arb) -> Interval:
    """Return the ends of a ball, which are binary fractions."""
    ends = ((int(mantissa), int(exponent)) for mantissa, exponent in (ball.lower().man_exp(), ball.upper().man_exp()))
    return Interval(*(Fraction(top << max(power, 0), 1 << max(-power, 0)) for top, power in ends))


_FUNCTIONS: Mapping[str, Callable[[Fraction], Interval]] = {
    "sqrt": _enclose_sqrt,
    "log2": _enclose_log2,
    "floor": lambda value: Interval.of(math.floor(value)),
    "ceil": lambda value: Interval.of(math.ceil(value)),
}


def _enclose_power(base: Fraction, exponent: Fraction) -> Interval:
    """Enclose a positive number to a rational power. Raises EvaluationError beyond 2^1000."""
    root = exact_root(base, exponent.denominator)
    if root is not None:
        return Interval.of(root).power(Interval.of(exponent.numerator))
    power = _enclose_log2(base) * Interval.of(exponent)
    if max(abs(power.lower), abs(power.upper)) > MAX_EXPONENT:
        raise EvaluationError("the power is too large or too small")
    with ctx.workprec(PRECISION):
        return _enclose_ball(
            arb(fmpq(base.numerator, base.denominator)) ** arb(fmpq(exponent.numerator, exponent.denominator))
        )
