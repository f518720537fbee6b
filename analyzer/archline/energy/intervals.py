"""Exact interval arithmetic: what is known of an amount, and what follows for formulas of it."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from archline.energy import rules
from archline.energy.units import format_si
from archline.expr.values import MAX_BITS, Enclosure, Value, real_function, real_power
from archline.language.diagnostics import error
from archline.records import record

Number: TypeAlias = int | Fraction


class UndefinedError(Exception):
    """An amount that a formula does not give: a division by zero, the logarithm of zero."""


@record(slots=True)
class Interval:
    """What is known of an amount: lower <= amount <= upper, both exact."""

    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, value: Interval | Number | tuple[Number, Number]) -> Interval:
        """An interval, a pair of ends, or one exact number. Raises ArchlineError (AL460) for ends out of order."""
        match value:
            case Interval():
                result = value
            case (lower, upper):
                result = cls(Fraction(lower), Fraction(upper))
            case number:
                result = cls(Fraction(number), Fraction(number))
        if result.lower > result.upper:
            raise error(rules.WRONG_AMOUNT, f"the lower end {result.lower} is above the upper end {result.upper}")
        return result

    @property
    def exact(self) -> bool:
        """Whether the ends meet."""
        return self.lower == self.upper

    @property
    def width(self) -> Fraction:
        """The distance of the ends."""
        return self.upper - self.lower

    @property
    def middle(self) -> Fraction:
        """The midpoint."""
        return (self.lower + self.upper) / 2

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other: Interval) -> Interval:
        return Interval(self.lower - other.upper, self.upper - other.lower)

    def __mul__(self, other: Interval) -> Interval:
        if self.lower >= 0 and other.lower >= 0:
            return Interval(self.lower * other.lower, self.upper * other.upper)
        corners = [a * b for a in (self.lower, self.upper) for b in (other.lower, other.upper)]
        return Interval(min(corners), max(corners))

    def __truediv__(self, other: Interval) -> Interval:
        if other.lower <= 0 <= other.upper:
            raise UndefinedError("a division by zero")
        return self * Interval(1 / other.upper, 1 / other.lower)

    def largest(self, other: Interval) -> Interval:
        """The larger of the two amounts."""
        return Interval(max(self.lower, other.lower), max(self.upper, other.upper))

    def smallest(self, other: Interval) -> Interval:
        """The smaller of the two amounts."""
        return Interval(min(self.lower, other.lower), min(self.upper, other.upper))

    def power(self, exponent: Interval) -> Interval:
        """The amount raised to a power; 0 < amount where the exponent is no integer."""
        if exponent.exact and exponent.lower.denominator == 1:
            number = int(exponent.lower)
            if abs(number) * max(map(_bits, (self.lower, self.upper))) > MAX_BITS:
                raise UndefinedError(f"a power of more than {MAX_BITS} bits")
            if number < 0:
                return Interval(Fraction(1), Fraction(1)) / self.power(Interval(-exponent.lower, -exponent.lower))
            ends = (self.lower**number, self.upper**number)
            low = Fraction(0) if number > 0 and number % 2 == 0 and self.lower < 0 < self.upper else min(ends)
            return Interval(low, max(ends))
        if self.lower <= 0:
            raise UndefinedError("a power of a number that is not positive")
        corners = [
            _interval(real_power(base, power))
            for base in (self.lower, self.upper)
            for power in (exponent.lower, exponent.upper)
        ]
        return Interval(min(each.lower for each in corners), max(each.upper for each in corners))

    def function(self, name: str) -> Interval:
        """sqrt, log2, floor or ceil of the amount, all of which rise with it."""
        if self.lower < 0 or (name == "log2" and self.lower == 0):
            raise UndefinedError(f"{name} of a number that is not positive")
        low, high = (_interval(real_function(name, end)) for end in (self.lower, self.upper))
        return Interval(low.lower, high.upper)

    def times(self, factor: Fraction) -> Interval:
        """The interval scaled by a factor >= 0."""
        return Interval(self.lower * factor, self.upper * factor)

    def text(self, unit: str) -> str:
        """`4.213 mJ`, or `4.213 .. 5.000 mJ`."""
        low, high = format_si(self.lower, unit), format_si(self.upper, unit)
        if low == high:
            return low
        number, _, own = low.partition(" ")
        return f"{number} .. {high}" if own == high.partition(" ")[2] else f"{low} .. {high}"


def _bits(value: Fraction) -> int:
    """The length of a number; 0 for those whose powers do not grow."""
    return 0 if value in (-1, 0, 1) else max(value.numerator.bit_length(), value.denominator.bit_length())


def _interval(value: Value) -> Interval:
    if isinstance(value, Enclosure):
        return Interval(value.lo, value.hi)
    return Interval(Fraction(value), Fraction(value))
