"""A list of what an iterator gives, as far as readers ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Generic, TypeVar

T = TypeVar("T")


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
