"""Stop a run early: `fail` records a site and values in the state, and raises StoppedError."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from archline.execution.jit import helper
from archline.execution.slots import CALL, SITE, VALUES

Words = MutableSequence[Any]


class StoppedError(Exception):
    """The run stopped early; the state has the site and the reason."""


@helper
def fail(state: Words, site: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, call: int = 0) -> None:
    """Record the site and the reason, and stop the run."""
    state[SITE] = site
    state[VALUES] = a
    state[VALUES + 1] = b
    state[VALUES + 2] = c
    state[VALUES + 3] = d
    state[VALUES + 4] = e
    state[CALL] = call
    raise StoppedError
