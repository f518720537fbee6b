"""What the interpreter works on: values, views, frames, counts, and which strands are parallel."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Label = tuple[tuple[int, int, bool], ...]
"""A strand: (loop or block, iteration or spawn, whether a strand of its own), from the outermost in."""


class IllFormedError(Exception):
    """The program does what no program may: it leaves an array, reads an unset element, races, or passes a limit."""


class Data(int):
    """An int that is data: arithmetic on it costs work."""


@dataclass
class View:
    """Elements and, seen through the same slices, a number for each that says which element it is."""

    values: NDArray[np.object_]
    ids: NDArray[np.int64]
    element: str


@dataclass
class Frame:
    """An algorithm's body or an iteration of a parallel loop: what `sync` in it waits for."""

    label: Label
    now: int = 0
    pending: int = 0
    block: int = 0
    spawned: int = 0


@dataclass
class Counts:
    """Executed costs; flops by operator or function."""

    flops: Counter[str] = field(default_factory=Counter)
    work: int = 0
    span: int = 0


def parallel(left: Label, right: Label) -> bool:
    """Whether two strands may run at once."""
    for mine, other in zip(left, right, strict=False):
        if mine == other:
            continue
        if mine[0] != other[0]:
            return False
        if mine[0] > 0 or (mine[2] and other[2]):
            return True
        if mine[2] == other[2]:
            return False
        child, rest = (mine, other) if mine[2] else (other, mine)
        # What follows a spawn in its block runs beside the spawned call.
        return rest[1] > child[1]
    return False
