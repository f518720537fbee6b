"""Choices behind one face: drawn by Hypothesis, so that failing programs shrink, or from a seed, which is faster."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


class Chooser(ABC):
    """Makes choices. Everywhere the first option, or the least number, is the simplest."""

    @abstractmethod
    def integer(self, low: int, high: int) -> int:
        """An integer between the two, both included."""

    def chance(self, percent: int) -> bool:
        """True about `percent` times in a hundred."""
        return self.integer(0, 99) >= 100 - percent

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.integer(0, len(options) - 1)]

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """One of the options, each as likely as its weight says."""
        rest = self.integer(0, sum(weight for weight, _ in options) - 1)
        for weight, option in options:
            rest -= weight
            if rest < 0:
                return option
        raise AssertionError("the weights add up to more than was drawn")


@cache
def _integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high)


class Drawn(Chooser):
    """Choices that Hypothesis makes, replays and shrinks."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return low if low == high else self._draw(_integers(low, high))


class Seeded(Chooser):
    """Choices from a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)
