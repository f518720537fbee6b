"""Products of powers as text in the language's syntax: one quotient at most, `n^3/(g^2*c)`, powers by their exponents.

Every growth that is shown is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from archline.numbers import fmpq

_TIGHT = re.compile(r"\w+|\w+\([\w/]+\)|\d+\.\d+")
"""Exponents without brackets: numbers, names, log2(3) and log2(3/2)."""


def quotient_text(above: Sequence[str], below: Sequence[str]) -> str:
    """A product of factors over one of others."""
    top = "*".join(above) or "1"
    if not below:
        return top
    return f"{top}/{below[0]}" if len(below) == 1 else f"{top}/({'*'.join(below)})"


def power_text(base: str, exponent: str) -> str:
    """base^exponent, where the base needs no brackets; of exponent 1/2, its root."""
    if exponent == "1":
        return base
    if exponent == "1/2":
        return f"sqrt({base})"
    return f"{base}^{exponent}" if _TIGHT.fullmatch(exponent) else f"{base}^({exponent})"


def multiple_text(factor: fmpq, of: str) -> str:
    """A positive rational times a factor: `log2(7)/2`, `3*log2(7)/2`."""
    above = f"{factor.p}*{of}" if factor.p != 1 else of
    return above if factor.q == 1 else f"{above}/{factor.q}"


def difference_text(parts: Iterable[tuple[bool, str]]) -> str:
    """A sum of terms, each with whether it is negative: `3 - log2(7)`, `log2(7) - 2`, what is subtracted last."""
    text = ""
    for negative, part in sorted(parts, key=lambda each: each[0]):
        sign = (" - " if negative else " + ") if text else ("-" if negative else "")
        text += sign + part
    return text
