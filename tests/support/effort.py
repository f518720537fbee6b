"""How much random tests draw: `ARCHLINE_TESTS` is `quick` if not set, `full` in CI, and `deep` by hand."""

from __future__ import annotations

import os

SHARES = {"quick": 0.25, "full": 0.7, "deep": 10.0}
EFFORT = os.environ.get("ARCHLINE_TESTS", "quick")


def drawn(count: int, least: int = 5) -> int:
    """The share of `count` examples that the effort draws; never fewer than the least of both."""
    return max(min(count, least), round(count * SHARES[EFFORT]))
