"""How much work a derivation may take: so many term products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class TooComplexError(Exception):
    """An expression outgrew what it may take; the cost it belongs to is reported as unknown, with this reason."""


class OutOfBudgetError(TooComplexError):
    """The whole derivation grew too large; a coarser one may still succeed."""


class Effort:
    """The term products that are left of a limit."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self, amount: int) -> None:
        """Count work. Raises OutOfBudgetError when the limit is used up."""
        self.left -= amount
        if self.left < 0:
            raise OutOfBudgetError("its closed form is too large to derive")


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
    was derived before. The block's work `counts` for the limit around it or not.
    """
    outer = _current.get()
    limit = terms if outer is None or own else min(outer.left, terms)
    inner = Effort(limit)
    token = _current.set(inner)
    try:
        yield
    finally:
        _current.reset(token)
        if counts and outer is not None:
            outer.left -= limit - inner.left
