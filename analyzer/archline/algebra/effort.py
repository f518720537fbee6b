"""Limits the work of derivations by a number of term products, and that of optional refinements also by time.

Results depend on the machine only if a command has a time limit and reports that it was reached.
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

CLOCK_INTERVAL = 64
"""The number of term products after which the clock is read."""
OVERTIME_CHARGE = 15 * CLOCK_INTERVAL
"""The term products charged at each reading once the time is up, so that a required derivation ends soon as well."""


class TooComplexError(Exception):
    """An expression exceeded a limit; the cost that it belongs to is reported as unknown, with this reason."""


OUT_OF_TIME = "the time limit was reached"


class OutOfBudgetError(TooComplexError):
    """The whole derivation exceeded its limit; a coarser one may still succeed."""


class Clock:
    """The processor time in seconds at which a command's limit ends, and whether work was omitted because of it."""

    until: float | None = None
    late = False


def set_time_limit(seconds: float) -> None:
    """Allow optional refinements the given seconds from now on; 0 removes the limit, and nothing is left out."""
    Clock.until = process_time() + seconds if seconds else None
    Clock.late = Clock.late and bool(seconds)


def is_out_of_time() -> bool:
    """Test whether the time is up; if so, record that a refinement is left out, which the command reports."""
    effort = _current.get()
    until = Clock.until if effort is None or effort.until is None else effort.until
    if until is None or process_time() < until:
        return False
    Clock.late = True
    return True


class Effort:
    """A budget: the term products `left`, and for optional refinements the processor time at which it ends."""

    __slots__ = ("left", "until")

    def __init__(self, left: int, until: float | None) -> None:
        self.left, self.until = left, until

    def spend(self, amount: int) -> None:
        """Count work. Raises OutOfBudgetError when the limit is used up."""
        self.left -= amount
        if self.left < 0:
            raise OutOfBudgetError("its closed form is too large to derive")
        if self.left % CLOCK_INTERVAL < amount and is_out_of_time():
            if self.until is not None:
                raise OutOfBudgetError(OUT_OF_TIME)
            self.left -= OVERTIME_CHARGE


# One for each thread: servers and notebooks derive in several.
_current: ContextVar[Effort | None] = ContextVar("effort", default=None)


def spend_effort(amount: int) -> None:
    """Count work against the limits of the enclosing blocks; raises OutOfBudgetError when one is used up."""
    effort = _current.get()
    if effort is not None:
        effort.spend(amount)


@contextmanager
def limit_effort(terms: int, *, own: bool = False, counts: bool = False) -> Iterator[None]:
    """Limit the work of the block to about this number of term products; raises OutOfBudgetError beyond it.

    An enclosing limit applies too, unless `own` is set; then the result does not depend on what was derived before.
    An `own` block refines a result that exists without it, and ends after half of the time that a command has left, so
    that later steps have some too. If `counts`, the work of the block is charged to the enclosing limit.
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


def search_within_time(find: Callable[[], T], otherwise: T) -> T:
    """Return the result of `find`, an optional refinement, or `otherwise` if it runs out of time."""
    try:
        with limit_effort(maxsize, own=True):
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
