"""Long forms and growths by their first or leading terms."""

from __future__ import annotations

import re
from collections.abc import Callable

from archline.algebra.atoms import Floor
from archline.algebra.polynomial import Poly
from archline.expr.text import behind
from archline.growth.leading_terms import CACHE, leading

FULL = 44
"""Characters of a form that is shown in full."""
CUT = "..."
"""What stands for more terms, behind their signs; they are shown with `--all`."""
MOST = 110
"""Characters of a growth that is shown."""


def short_growth(text: str) -> str:
    """A growth, or its first terms."""
    return cut(text, MOST)


def cut(text: str, most: int) -> str:
    """The text, or the first of its terms, those of the highest degree, and the signs of the others.

    A first term that is up to twice as long as the limit is not cut inside its brackets.
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
    signs = {text[each + 1] for each in whole or ends if each >= end}
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
    """Its leading terms as all sizes grow, or, where they are not known, as `slow` ones and divisors do more slowly."""
    return leading(value) or leading(value, slow | divisors(value))


def divisors(value: Poly) -> frozenset[str]:
    """The sizes that arrays are cut by, as b in ceil(n/b)."""
    moduli = (atom.modulus for atom in value.atoms_within() if isinstance(atom, Floor))
    return frozenset(name for each in moduli for name in each.names) - CACHE
