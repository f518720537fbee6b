"""Where the lesser of two changes along a size: bracketed by bisection, exactly where neighbouring sizes decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from archline.compare.verdicts import Verdict


@dataclass(frozen=True)
class Crossover:
    """At `start` of a size the one is proved to take less, at `end` the other; between them nothing is decided."""

    variable: str
    start: int
    end: int
    machine: str
    before: str
    after: str
    pair: tuple[str, str]

    @property
    def exact(self) -> bool:
        """Whether no size lies between."""
        return self.end == self.start + 1


def brackets(points: Sequence[tuple[int, Verdict]], at: Callable[[int], Verdict | None]) -> list[tuple[int, int]]:
    """The closest sizes that are found on either side of each change between decided points.

    `at` gives the verdict of the bounds at a size, None where there is none. A change back and forth between two points
    is not seen; what is returned are sizes at which the verdicts are as said.
    """
    decided = [(size, verdict.less) for size, verdict in points if verdict.decided and verdict.less is not None]
    found = []
    for (low, before), (high, after) in pairwise(decided):
        if before != after:
            start = _last(low, high, before, at)
            found.append((start, -_last(-high, -start, after, lambda size: at(-size))))
    return found


def _last(low: int, high: int, less: str | None, at: Callable[[int], Verdict | None]) -> int:
    """A size from `low` on at which `less` takes less, and at whose successor that is not so."""
    while high - low > 1:
        middle = (low + high) // 2
        verdict = at(middle)
        same = verdict is not None and verdict.decided and verdict.less == less
        low, high = (middle, high) if same else (low, middle)
    return low
