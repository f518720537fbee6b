"""How much work a derivation may take: so many term products; what only sharpens answers, also so much time.

Answers do not depend on the machine but where a command has a time limit and says that it was reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count, islice
from sys import maxsize
from time import process_time
from typing import Generic, TypeVar

T = TypeVar("T")

EVERY = 64
"""After about so many term products the clock is read."""
LATE = 15 * EVERY
"""So many more are counted then where the time is up: a derivation that is needed is to end soon as well."""


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
    """Let what only sharpens answers take so long from now on; 0 for as long as it needs, and nothing is left out."""
    Clock.until = process_time() + seconds if seconds else None
    Clock.late = Clock.late and bool(seconds)


def late() -> bool:
    """Whether the time is up: what only sharpens an answer is left out then, which the command says."""
    effort = _current.get()
    until = Clock.until if effort is None or effort.until is None else effort.until
    if until is None or process_time() < until:
        return False
    Clock.late = True
    return True


class Effort:
    """The term products that are left of a limit; what only sharpens an answer also ends when its time is up."""

    __slots__ = ("left", "until")

    def __init__(self, left: int, until: float | None) -> None:
        self.left, self.until = left, until

    def spend(self, amount: int) -> None:
        """Count work. Raises OutOfBudgetError when the limit is used up."""
        self.left -= amount
        if self.left < 0:
            raise OutOfBudgetError("its closed form is too large to derive")
        if self.left % EVERY < amount and late():
            if self.until is not None:
                raise OutOfBudgetError(OUT_OF_TIME)
            self.left -= LATE


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
    was derived before; it sharpens an answer that there is without, and ends after half of the time that a command has
    left, so that what follows has some too. The block's work `counts` for the limit around it or not.
    """
    outer = _current.get()
    limit = terms if outer is None or own else min(outer.left, terms)
    until = None if outer is None else outer.until
    if own and until is None and Clock.until is not None:
        now = process_time()
        until = now + max(0.0, Clock.until - now) / 2
    inner = Effort(limit, until)
    token = _current.set(inner)
    try:
        yield
    finally:
        _current.reset(token)
        if counts and outer is not None:
            outer.left -= limit - inner.left


def search(find: Callable[[], T], otherwise: T) -> T:
    """What a search finds that only sharpens an answer; else the answer that there is without: it ends in time."""
    try:
        with budget(maxsize, own=True):
            return find()
    except OutOfBudgetError:
        return otherwise


class LazyList(Generic[T]):
    """The values of an iterator, computed once and on demand; each reader starts at the first."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._found: list[T] = []

    def __iter__(self) -> Iterator[T]:
        for index in count():
            if index == len(self._found):
                self._found += islice(self._source, 1)
                if index == len(self._found):
                    return
            yield self._found[index]
