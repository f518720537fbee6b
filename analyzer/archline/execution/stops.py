"""Stop a run early: `fail` records the number of a place in the source and values, and raises StoppedError."""

from __future__ import annotations

from collections.abc import MutableSequence
from typing import Any

from archline.execution.jit import helper
from archline.execution.slots import CALL, FIRST_VALUE, SITE

Words = MutableSequence[Any]


class StoppedError(Exception):
    """The run stopped early; the state has the number of the place in the source, and values for its message."""


@helper
def fail(state: Words, site: int, a: int = 0, b: int = 0, c: int = 0, d: int = 0, e: int = 0, call: int = 0) -> None:
    """Record `site`, the number of the place in the source, and values for its message; stop the run."""
    state[SITE] = site
    state[FIRST_VALUE] = a
    state[FIRST_VALUE + 1] = b
    state[FIRST_VALUE + 2] = c
    state[FIRST_VALUE + 3] = d
    state[FIRST_VALUE + 4] = e
    state[CALL] = call
    raise StoppedError
