"""Evaluate expressions at points in ball arithmetic; proofs read logarithms as log2(2 + w), tables do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce

from archline.algebra.evaluate.formulas import BallArithmetic, CompiledFormula, EvaluationRefusedError, NoValueError
from archline.algebra.reals import OutOfReachError
from archline.language import syntax as s
from archline.numbers import arb, ctx, fmpq

PRECISION = 256
LONG_SIZE_BITS = 1024
"""Bits of precision for a size that is a ball because it is too long to be an integer."""
LONGEST_DECIMAL = 1 << 20
"""Numbers of more bits are written as powers of 2."""
_LONGEST = arb(2) ** LONGEST_DECIMAL


class _Balls(BallArithmetic):
    """Ball arithmetic, in which a rounding that the enclosure does not determine has no value."""

    def number(self, value: int | Fraction | float | arb) -> arb:
        return value if isinstance(value, arb) else super().number(value)

    def normalise_size(self, value: arb) -> arb:
        return value

    def min(self, values: Sequence[arb]) -> arb:
        return reduce(arb.min, values)

    def max(self, values: Sequence[arb]) -> arb:
        return reduce(arb.max, values)

    def divide(self, left: arb, right: arb) -> arb:
        if right.contains(0):
            raise NoValueError("division by zero")
        return left / right

    def floor(self, value: arb) -> arb:
        # The integer of a ball is made in full, however long it is.
        whole = value.floor().unique_fmpz() if abs(value) < _LONGEST else None
        if whole is None:
            raise NoValueError("a rounding that is not certain")
        return arb(whole)

    def log2(self, value: arb) -> arb:
        if value.is_exact() and value > 0:
            mantissa, exponent = value.man_exp()
            if mantissa == 1:
                return arb(exponent)
        return super().log2(value)

    def factorial(self, value: arb) -> arb:
        if not (value > -1 and value.contains_integer()):
            raise NoValueError("a factorial of what is not a whole number")
        return super().factorial(value)

    def arrangements(self, value: arb) -> arb:
        # The sum of n!/k! for k <= n is e*n! rounded down, for n >= 1.
        total = arb(1).exp() * self.factorial(value)
        whole = total.floor().unique_fmpz() if total < 1 << PRECISION else None
        return total - arb(0.5, 0.5) if whole is None else arb(whole)

    def log_star(self, value: arb) -> arb:
        count = 0
        while value > 1:
            value, count = self.log2(value), count + 1
        if not value <= 1:
            raise NoValueError("a number of logarithms that is not certain")
        return arb(count)


_BALLS = _Balls()


def enclose_value_at(expr: s.Expr, point: Mapping[str, int | arb], *, exact_logs: bool = False) -> arb:
    """Enclose the value of an expression at a point; log2(w) is log2(2 + w) unless `exact_logs`.

    Raises OutOfReachError for no value or an uncertain rounding.
    """
    bits = (value.bit_length() if isinstance(value, int) else LONG_SIZE_BITS for value in point.values())
    try:
        with ctx.workprec(PRECISION + max(bits, default=0)):
            ball: arb = CompiledFormula(expr, _BALLS, exact_logs=exact_logs).at(point)
            return ball
    except (NoValueError, EvaluationRefusedError) as problem:
        raise OutOfReachError(str(problem)) from None


def format_digits(value: arb, count: int = 6) -> str:
    """Format an enclosed number with a few digits, for people."""
    exact = value.unique_fmpz() if abs(value) < 10**12 else None
    if exact is not None:
        return str(exact)
    if abs(value) > _LONGEST or 0 < abs(value) < 1 / _LONGEST:
        return f"{'-' if value < 0 else ''}2^{(abs(value).log() / arb.const_log2()).str(count, radius=False)}"
    return str(value.str(count, radius=False))


def format_integer(value: fmpq | int) -> str:
    """Format an integer in the language's syntax; a long power of 2 is written as a power."""
    whole = int(value)
    if whole > 1 << 20 and whole.bit_count() == 1:
        return f"2^{whole.bit_length() - 1}"
    return str(whole)
