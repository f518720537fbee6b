"""How much random tests draw: `ARCHLINE_TESTS` is `quick` if not set, `full` in CI, and `deep` by hand."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

Case = TypeVar("Case")
SHARES = {"quick": 0.1, "full": 0.15, "deep": 10.0}
EFFORT = os.environ.get("ARCHLINE_TESTS", "quick")


def drawn(count: int, least: int = 5) -> int:
    """The share of `count` examples that the effort draws; never fewer than the least of both."""
    return max(min(count, least), round(count * SHARES[EFFORT]))


def all_of(count: int, quick: int) -> int:
    """A number of examples that is promised: only a quick run draws fewer."""
    return quick if EFFORT == "quick" else count


long = pytest.mark.long
"""A test that takes long, of a kind that others of its file stand for: a quick run leaves it out."""


MODES = [False, pytest.param(True, marks=long)]
"""Whether a run is compiled, for tests of programs that both modes execute alike.

To compile a program of a few lines takes a second and more. A quick run leaves it to the tests that are about it.
"""
TRIED_MODES = (False,) if EFFORT == "quick" else (False, True)
"""The same within a test."""


def some(cases: Sequence[Case], every: int = 4, full: int = 1) -> list[Case]:
    """Cases that are alike: each `every`-th one in a quick run, each `full`-th in a full one, the first among them.

    A deep run tries all.
    """
    return list(cases[:: {"quick": every, "full": full}.get(EFFORT, 1)])
