"""Shorten long forms and growths to their first or leading terms, so that a line of output holds them."""

from __future__ import annotations

import re
from collections.abc import Callable

from archline.algebra.atoms import Floor
from archline.algebra.polynomial import Poly
from archline.expr.text import behind
from archline.growth.leading_terms import CACHE, leading

FULL = 44
"""Forms of up to this number of characters are shown in full."""
CUT = "..."
"""The mark for omitted terms, after their signs; `--all` shows them."""
MOST = 110
"""Growths of up to this number of characters are shown in full."""


def short_growth(text: str) -> str:
    """Return a growth as text, cut to its first terms where it is long."""
    return cut(text, MOST)


def cut(text: str, most: int) -> str:
    """Return the text, or its first terms, those of the highest degree, and the signs of the omitted terms.

    A first term of up to twice the limit is not cut inside its brackets.
    """
    if len(text) <= most:
        return text
    ends = [each.start() for each in re.finditer(r" [+-] ", text)]
    whole = [end for end in ends if text.count("(", 0, end) == text.count(")", 0, end)]
    end = max((place for place in whole if place < most), default=min(whole, default=len(text)))
    if end > 2 * most:
        end = max((place for place in ends if place < most), default=most)
    if end == len(text):
        return text
    # Without the terms that are subtracted a lower bound would be none.
    signs = {text[place + 1] for place in whole or ends if place >= end}
    return f"{text[:end]} {'+-' if len(signs) > 1 else min(signs, default='+') + ' '}{CUT}"


def short_form(value: Poly, write: Callable[[Poly], str], most: int = FULL) -> str:
    """The form in full where it is short, else its leading terms, marked `~`, or the first ones as text."""
    text = write(value)
    if len(text) <= most:
        return text
    lead = lead_of(value)
    short = behind("~", write(lead)) if lead else text
    shown = min(short, text, key=len)
    return cut(shown, 2 * most)


def lead_of(value: Poly, slow: frozenset[str] = frozenset()) -> Poly | None:
    """Return the leading terms as all sizes grow, or, where unknown, as `slow` sizes and divisors grow more slowly."""
    return leading(value) or leading(value, slow | divisors(value))


def divisors(value: Poly) -> frozenset[str]:
    """Return the sizes by which arrays are divided in blocks, such as b in ceil(n/b)."""
    moduli = (atom.modulus for atom in value.atoms_within() if isinstance(atom, Floor))
    return frozenset(name for modulus in moduli for name in modulus.names) - CACHE
