"""Forms as a page shows them: in full where they are short, else by their leading terms."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra.asymptotic.leading_terms import leading
from archline.algebra.polynomial import Poly

FULL = 44
"""Characters of a form that is shown in full."""
LONG = "(long: see --all)"
LEADING = "~: leading terms as all sizes grow"


MOST = 110
"""Characters of a growth that is shown."""


def short_growth(text: str) -> str:
    """A growth, or what says where it is in full."""
    return text if len(text) <= MOST else LONG


def short_form(value: Poly, write: Callable[[Poly], str], most: int = FULL) -> str:
    """The form in full where it is short, else its leading terms, marked `~`, if they are known and no longer."""
    text = write(value)
    if len(text) <= most:
        return text
    lead = leading(value)
    short = text if lead is None else f"~ {write(lead)}"
    shown = min(short, text, key=len)
    return shown if len(shown) <= 2 * most else LONG
