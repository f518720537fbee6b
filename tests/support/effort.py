"""How much random tests draw: `ARCHLINE_TESTS` is `quick` if not set, `full` in CI, and `deep` by hand."""

from __future__ import annotations

import os

SHARES = {"quick": 0.25, "full": 1.0, "deep": 10.0}
EFFORT = os.environ.get("ARCHLINE_TESTS", "quick")
FULL = EFFORT != "quick"
"""Whether tests are to look at everything, and not at a sample."""


def drawn(count: int, least: int = 5) -> int:
    """How many examples to draw where CI draws `count`; never fewer than the least of both."""
    return max(min(count, least), round(count * SHARES[EFFORT]))
