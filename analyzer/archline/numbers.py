"""Provides exact numbers and balls of reals from python-flint, which no other module imports, and writes numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, log10

from flint import arb, arb_poly, ctx, fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx, fmpq_poly, fmpz, fmpz_poly

__all__ = [
    "arb",
    "arb_poly",
    "ctx",
    "factor_into_primes",
    "fmpq",
    "fmpq_mat",
    "fmpq_mpoly",
    "fmpq_mpoly_ctx",
    "fmpq_poly",
    "fmpz",
    "fmpz_poly",
    "format_exact",
    "format_percent",
    "format_point",
    "format_ratio",
    "format_readable",
    "format_short",
]  # fmt: skip
SHOWN_DIGITS = 60


def factor_into_primes(number: fmpz | int) -> list[tuple[int, int]]:
    """Return the prime factors of a positive integer with their multiplicities, smallest first."""
    return [(int(prime), int(count)) for prime, count in fmpz(number).factor()]


def format_exact(value: int | Fraction) -> str:
    """Write a number with all its digits: `1024`, `7/2`."""
    # flint writes numbers of any length in good time; Python's own conversion is quadratic, and limited.
    number = Fraction(value)
    top = fmpz(number.numerator).str(condense=0)
    return top if number.denominator == 1 else f"{top}/{fmpz(number.denominator).str(condense=0)}"


def format_readable(value: int | Fraction) -> str:
    """Write an integer in full, a long one as its first digits and number of digits; fractions with nine digits."""
    return _shorten_digits(format_exact(value)) if value == int(value) else format_nine_digits(Fraction(value))


def format_ratio(value: Fraction | float) -> str:
    """Write a ratio rounded up to two digits after the point, or to as many as distinguish it from 1."""
    if not value < 10**6:
        return f"{float(value):.3g}"
    digits = next((count for count in range(2, 15) if value <= 1 or value - 1 >= Fraction(1, 10**count)), 15)
    return f"{float(Fraction(ceil(Fraction(value) * 10**digits), 10**digits)):.{digits}f}"


def format_short(value: Fraction) -> str:
    """Write a number of any magnitude with four digits: `0.3333`, `2.5`, `1.234e+9000`."""
    try:
        return f"{float(value):.4g}"
    except OverflowError:
        return str(arb(fmpq(value.numerator, value.denominator)).str(4, radius=False))


def format_significant(value: float, count: int) -> str:
    """Write a number with `count` significant digits, without exponent below a million: `11.9`, `4090`, `3.4e+38`."""
    if not 10**count <= value < 10**6:
        return f"{value:.{count}g}"
    return str(round(value, count - 1 - floor(log10(value)))).removesuffix(".0")


def format_nine_digits(value: Fraction) -> str:
    """Write an integer below 10^15 exactly, other numbers with nine digits, also beyond the range of floats."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value)
    try:
        return f"{float(value):.9g}"
    except OverflowError:
        exponent = floor(log10(abs(value.numerator)) - log10(value.denominator))
        return f"{'-' if value < 0 else ''}{float(abs(value) / 10**exponent):.9g}e+{exponent}"


def _shorten_digits(digits: str) -> str:
    if len(digits) <= SHOWN_DIGITS:
        return digits
    sign = "-" if digits.startswith("-") else ""
    digits = digits.removeprefix("-")
    return f"{sign}{digits[:20]}... ({len(digits)} digits)"


def format_point(point: Mapping[str, int | Fraction] | None) -> str:
    """Write sizes with their values: `n = 64, m = 2`."""
    return ", ".join(f"{name} = {format_readable(value)}" for name, value in (point or {}).items())


def format_percent(value: Fraction) -> str:
    """Write a share as a percentage: `2%`, `0.5%`."""
    return f"{float(value * 100):g}%"
