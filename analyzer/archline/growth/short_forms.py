"""Shorten long forms and growths to their first or leading terms, so that a line of output holds them."""

from __future__ import annotations

import re
from collections.abc import Callable

from archline.algebra.atoms import Floor
from archline.algebra.polynomial import Poly
from archline.expr.text import prefix_relation
from archline.growth.leading_terms import CACHE_PARAMETERS, find_leading_terms

MAX_FORM_LENGTH = 44
"""Forms of up to this number of characters are shown in full."""
ELLIPSIS = "..."
"""The mark for omitted terms, after their signs; `--all` shows them."""
MAX_GROWTH_LENGTH = 110
"""Growths of up to this number of characters are shown in full."""


def shorten_growth(text: str) -> str:
    """Return a growth as text, cut to its first terms where it is long."""
    return cut_terms(text, MAX_GROWTH_LENGTH)


def cut_terms(text: str, most: int) -> str:
    """Return the text, or its first terms, those of the highest degree, and the signs of the omitted terms.

    A first term of up to twice the limit is not cut inside its brackets. `most` is the limit, in characters.
    """
    if len(text) <= most:
        return text
    ends = [sign.start() for sign in re.finditer(r" [+-] ", text)]
    outer_ends = [end for end in ends if text.count("(", 0, end) == text.count(")", 0, end)]
    end = max((place for place in outer_ends if place < most), default=min(outer_ends, default=len(text)))
    if end > 2 * most:
        end = max((place for place in ends if place < most), default=most)
    if end == len(text):
        return text
    # If subtracted terms were omitted without a sign, a lower bound would seem too high.
    signs = {text[place + 1] for place in outer_ends or ends if place >= end}
    return f"{text[:end]} {'+-' if len(signs) > 1 else min(signs, default='+') + ' '}{ELLIPSIS}"


def shorten_form(value: Poly, write: Callable[[Poly], str], most: int = MAX_FORM_LENGTH) -> str:
    """Return a form in full if it is short, else its leading terms, marked `~`, or the beginning of its text.

    Short is at most `most` characters.
    """
    text = write(value)
    if len(text) <= most:
        return text
    lead = find_leading_with_slow_divisors(value)
    short = prefix_relation("~", write(lead)) if lead else text
    shown = min(short, text, key=len)
    return cut_terms(shown, 2 * most)


def find_leading_with_slow_divisors(value: Poly, slow: frozenset[str] = frozenset()) -> Poly | None:
    """Return the leading terms as all sizes grow, or, where unknown, as `slow` sizes and divisors grow more slowly.

    None if they are unknown then too.
    """
    return find_leading_terms(value) or find_leading_terms(value, slow | find_block_sizes(value))


def find_block_sizes(value: Poly) -> frozenset[str]:
    """Return the sizes by which arrays are divided in blocks, such as b in ceil(n/b)."""
    moduli = (atom.modulus for atom in value.atoms_within() if isinstance(atom, Floor))
    return frozenset(name for modulus in moduli for name in modulus.names) - CACHE_PARAMETERS
