"""What is found one after the other, as far as it is asked for, and kept for those who ask again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The values of an iterator, from the first on for each who asks."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._found: list[T] = []

    def __iter__(self) -> Iterator[T]:
        index = 0
        while index < len(self._found) or self._more():
            yield self._found[index]
            index += 1

    def _more(self) -> bool:
        for each in self._source:
            self._found.append(each)
            return True
        return False
