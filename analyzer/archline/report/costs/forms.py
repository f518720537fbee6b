"""Forms as a page shows them: in full where they are short, else by their leading terms."""

from __future__ import annotations

import re
from collections.abc import Callable

from archline.algebra.asymptotic.leading_terms import leading
from archline.algebra.polynomial import Poly

FULL = 44
"""Characters of a form that is shown in full."""
CUT = " + ..."
"""What stands for more terms, which are shown with `--all`."""
LEADING = "~: leading terms as all sizes grow"


MOST = 110
"""Characters of a growth that is shown."""


def short_growth(text: str) -> str:
    """A growth, or its first terms."""
    return cut(text, MOST)


def cut(text: str, most: int) -> str:
    """The text, or the first of its terms, those of the highest degree."""
    if len(text) <= most:
        return text
    ends = [each.start() for each in re.finditer(r" [+-] ", text[:most])]
    whole = [end for end in ends if text.count("(", 0, end) == text.count(")", 0, end)]
    return text[: (whole or ends or [most])[-1]] + CUT


def short_form(value: Poly, write: Callable[[Poly], str], most: int = FULL) -> str:
    """The form in full where it is short, else its leading terms, marked `~`, or the first ones."""
    text = write(value)
    if len(text) <= most:
        return text
    lead = leading(value)
    short = text if lead is None else f"~ {write(lead)}"
    shown = min(short, text, key=len)
    return cut(shown, 2 * most)
