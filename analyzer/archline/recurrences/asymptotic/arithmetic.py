"""Two kinds of numbers that recurrences are evaluated in: rationals, and floats of any magnitude."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, TypeAlias

from archline.numbers import arb, fmpq, fmpz

Number: TypeAlias = Any
Given: TypeAlias = int | Fraction | float
MAX_BITS = 1 << 16
MAX_SIZE_BITS = 1 << 12
_NEAR = 1e-9


class NoValueError(Exception):
    """An operation without a value in this arithmetic."""


def exact_root(value: fmpq, degree: int) -> fmpq | None:
    """The root of a number >= 0 where it is rational."""
    top, bottom = fmpz(value.p).root(degree), fmpz(value.q).root(degree)
    return fmpq(top, bottom) if top**degree == value.p and bottom**degree == value.q else None


class Arithmetic:
    """Operations other than + - * and comparisons, which numbers have themselves: on rationals; subclasses have others.

    What is irrational has no value among rationals.
    """

    def number(self, value: Given) -> Number:
        """A given number in this arithmetic."""
        fraction = Fraction(value)
        return fmpq(fraction.numerator, fraction.denominator)

    def plain(self, value: Number) -> Fraction | float:
        """A number of this arithmetic as one of Python's."""
        return Fraction(int(value.p), int(value.q))

    def size(self, value: Number) -> Number:
        """A size as calls take it: what rounding has moved off an integer is moved back."""
        if int(value.p).bit_length() + int(value.q).bit_length() > MAX_SIZE_BITS:
            raise NoValueError("a size that is too long")
        return value

    def key(self, value: Number) -> object:
        """Equal for sizes that are meant to be equal."""
        return value

    def difference(self, left: Number, right: Number) -> Number:
        """The difference left - right where it decides a comparison: 0 for numbers that are meant to be equal."""
        return left - right

    def pi(self) -> Number:
        raise NoValueError("pi is irrational")

    def divide(self, left: Number, right: Number) -> Number:
        if right == 0:
            raise NoValueError("division by zero")
        return left / right

    def floor_divide(self, left: Number, right: Number) -> Number:
        return self.floor(self.divide(left, right))

    def remainder(self, left: Number, right: Number) -> Number:
        return left - right * self.floor_divide(left, right)

    def floor(self, value: Number) -> Number:
        return fmpq(value.floor())

    def ceil(self, value: Number) -> Number:
        return -self.floor(-value)

    def power(self, base: Number, exponent: Number) -> Number:
        degree, power = int(exponent.q), int(exponent.p)
        if degree > 1:
            if base < 0 or degree > 64:
                raise NoValueError("a power that is not rational")
            root = exact_root(base, degree)
            if root is None:
                raise NoValueError("a power that is not rational")
            base = root
        if base == 0 and power < 0:
            raise NoValueError("division by zero")
        bits = max(int(base.p).bit_length(), int(base.q).bit_length())
        if base not in (0, 1, -1) and bits * abs(power) > MAX_BITS:
            raise NoValueError("a power that is too long")
        return base**power

    def sqrt(self, value: Number) -> Number:
        return self.power(value, self.number(Fraction(1, 2)))

    def rsqrt(self, value: Number) -> Number:
        return self.divide(self.number(1), self.sqrt(value))

    def fibonacci(self, value: Number) -> Number:
        """Of an integer from 0 on."""
        return self.number(int(fmpz.fib_ui(fmpz(self._count(value)))))

    def harmonic(self, value: Number) -> Number:
        """1 + 1/2 + ... + 1/value of an integer from 0 on."""
        found = fmpq.harmonic(self._count(value))
        return self.number(Fraction(int(found.p), int(found.q)))

    def _count(self, value: Number) -> int:
        size = float(self.size(value))
        if not (size.is_integer() and 0 <= size <= MAX_BITS):
            raise NoValueError("a function of integers that are not too large")
        return int(size)

    def exp(self, value: Number) -> Number:
        if value != 0:
            raise NoValueError("an irrational number")
        return fmpq(1)

    def log(self, value: Number) -> Number:
        if value != 1:
            raise NoValueError("an irrational number")
        return fmpq(0)

    def log2(self, value: Number) -> Number:
        if value <= 0:
            raise NoValueError("logarithm of a number that is not positive")
        top, bottom = int(value.p), int(value.q)
        if top & (top - 1) or bottom & (bottom - 1):
            raise NoValueError("a logarithm that is not rational")
        return fmpq(top.bit_length() - bottom.bit_length())


class _Wide(Arithmetic):
    """Flint's balls, whose exponents have no bound; sizes are their midpoints."""

    def number(self, value: Given) -> arb:
        fraction = Fraction(value)
        return arb(fmpq(fraction.numerator, fraction.denominator))

    def plain(self, value: arb) -> float:
        return float(value)

    def size(self, value: arb) -> arb:
        near = float(value)
        if near < 1e6:
            nearest = round(near)
            if abs(near - nearest) <= _NEAR * abs(near):
                return arb(nearest)
        return value.mid()

    def key(self, value: arb) -> object:
        near = float(value)
        if 0 < near < math.inf:
            return round(math.log(near) * 4e10)
        return round(float(value.log()) * 4e10) if value > 0 else (near,)

    def difference(self, left: arb, right: arb) -> arb | float:
        near, other = float(left), float(right)
        if abs(near) < math.inf and abs(other) < math.inf:
            return 0.0 if abs(near - other) <= _NEAR * abs(near) else near - other
        difference = (left - right).mid()
        return arb(0) if abs(difference) <= _NEAR * abs(left.mid()) else difference

    def pi(self) -> arb:
        return arb.pi()

    def floor(self, value: arb) -> arb:
        return self.size(value).floor()

    def power(self, base: arb, exponent: arb) -> arb:
        if base == 0:
            if exponent < 0:
                raise NoValueError("division by zero")
            return arb(0 if exponent > 0 else 1)
        found = base ** (self.size(exponent) if base < 0 else exponent)
        if not found.is_finite():
            raise NoValueError("a power that is not real")
        return found

    def sqrt(self, value: arb) -> arb:
        if value < 0:
            raise NoValueError("square root of a negative number")
        return value.sqrt()

    def exp(self, value: arb) -> arb:
        return value.exp()

    def log2(self, value: arb) -> arb:
        return self.log(value) / arb.const_log2()

    def log(self, value: arb) -> arb:
        if not value > 0:
            raise NoValueError("logarithm of a number that is not positive")
        return value.log()


EXACT = Arithmetic()
WIDE: Arithmetic = _Wide()
