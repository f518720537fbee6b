"""Exact numbers as text, however long."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from archline.numbers import arb, fmpq, fmpz

SHOWN_DIGITS = 60


def exact(value: int | Fraction) -> str:
    """All digits: `1024`, `7/2`."""
    # flint writes numbers of any length in good time; Python's own conversion is quadratic, and limited.
    number = Fraction(value)
    top = fmpz(number.numerator).str(condense=0)
    return top if number.denominator == 1 else f"{top}/{fmpz(number.denominator).str(condense=0)}"


def readable(value: int | Fraction) -> str:
    """All digits where they fit a line; else the leading ones and how many there are."""
    text = exact(value)
    if len(text) <= SHOWN_DIGITS:
        return text
    top, _, bottom = text.partition("/")
    return _short(top) + (f"/{_short(bottom)}" if bottom else "")


def short(value: Fraction) -> str:
    """Four digits, however large the number is: `0.3333`, `2.5`, `1.234e+9000`."""
    try:
        return f"{float(value):.4g}"
    except OverflowError:
        return str(arb(fmpq(value.numerator, value.denominator)).str(4, radius=False))


def _short(digits: str) -> str:
    if len(digits) <= SHOWN_DIGITS:
        return digits
    sign = "-" if digits.startswith("-") else ""
    digits = digits.removeprefix("-")
    return f"{sign}{digits[:20]}... ({len(digits)} digits)"


def point_text(point: Mapping[str, int | Fraction] | None) -> str:
    """`n = 64, m = 2`."""
    return ", ".join(f"{name} = {readable(value)}" for name, value in (point or {}).items())
