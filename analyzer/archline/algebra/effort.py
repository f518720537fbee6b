"""How much work a derivation may take: so many term products; what only sharpens answers, also so much time.

Answers do not depend on the machine but where a command has a time limit and says that it was reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import process_time

EVERY = 64
"""After about so many term products the clock is read."""


class TooComplexError(Exception):
    """An expression outgrew what it may take; the cost it belongs to is reported as unknown, with this reason."""


OUT_OF_TIME = "the time limit was reached"


class OutOfBudgetError(TooComplexError):
    """The whole derivation grew too large; a coarser one may still succeed."""


class Clock:
    """When the time of a command is up, in seconds of processor time, and whether that left anything out."""

    until: float | None = None
    late = False


def allow(seconds: float) -> None:
    """Let what only sharpens answers take so long from now on; 0 for as long as it needs."""
    Clock.until, Clock.late = process_time() + seconds if seconds else None, False


def late() -> bool:
    """Whether the time is up: what only sharpens an answer is left out then, which the command says."""
    if Clock.until is None or process_time() < Clock.until:
        return False
    Clock.late = True
    return True


class Effort:
    """The term products that are left of a limit; what has its own may also run out of time."""

    __slots__ = ("left", "timed")

    def __init__(self, left: int, timed: bool) -> None:
        self.left, self.timed = left, timed

    def spend(self, amount: int) -> None:
        """Count work. Raises OutOfBudgetError when the limit is used up."""
        self.left -= amount
        if self.left < 0:
            raise OutOfBudgetError("its closed form is too large to derive")
        if self.timed and self.left % EVERY < amount and late():
            raise OutOfBudgetError(OUT_OF_TIME)


# One a thread: servers and notebooks derive in several.
_current: ContextVar[Effort | None] = ContextVar("effort", default=None)


def spend(amount: int) -> None:
    """Count work against the limits of the blocks around; raises OutOfBudgetError when one is used up."""
    effort = _current.get()
    if effort is not None:
        effort.spend(amount)


@contextmanager
def budget(terms: int, *, own: bool = False, counts: bool = False) -> Iterator[None]:
    """Limit the work of the block to about so many term products; raises OutOfBudgetError beyond.

    A limit around it holds as well, except for a block with its `own`: what such a block finds does not depend on what
    was derived before; it sharpens an answer that there is without, and ends where the time of a command is up. The
    block's work `counts` for the limit around it or not.
    """
    outer = _current.get()
    limit = terms if outer is None or own else min(outer.left, terms)
    inner = Effort(limit, own)
    token = _current.set(inner)
    try:
        yield
    finally:
        _current.reset(token)
        if counts and outer is not None:
            outer.left -= limit - inner.left
