"""What is wrong with a certificate, and where."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class RejectedError(Exception):
    """A certificate that is not accepted: why, and the place, from the outermost entry in."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place: list[str] = []


def require(condition: bool, reason: str) -> None:
    """Reject unless it is so."""
    if not condition:
        raise RejectedError(reason)


@contextmanager
def at(*place: str | int) -> Iterator[None]:
    """Entries of a certificate that are being looked at."""
    try:
        yield
    except RejectedError as problem:
        problem.place[:0] = [f"[{each}]" if isinstance(each, int) else f".{each}" for each in place]
        raise
