"""Choices of units, compared by the numbers that they have at one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from archline.analysis.io.units import Unit


@dataclass(frozen=True, eq=False)
class Choices:
    """A row a choice: the lines that its units take in each region, where they fetch at every access, and all misses.

    The numbers are floats, as no bound is taken from them.
    """

    space: NDArray[np.float64]
    scratch: NDArray[np.bool_]
    misses: NDArray[np.float64]
    units: tuple[tuple[Unit, ...], ...]

    @classmethod
    def nothing(cls, regions: int) -> Choices:
        """The choice of no unit."""
        return cls(np.zeros((1, regions)), np.zeros((1, regions), dtype=bool), np.zeros(1), ((),))

    def among(self, rows: Sequence[int] | NDArray[np.intp]) -> Choices:
        """Some of the choices."""
        return Choices(self.space[rows], self.scratch[rows], self.misses[rows], tuple(self.units[row] for row in rows))

    def beside(self, other: Choices, limit: int) -> Choices:
        """Each choice with each of another set: the best of them."""
        wide = (-1, self.space.shape[1])
        space = (self.space[:, None] + other.space).reshape(wide)
        scratch = (self.scratch[:, None] | other.scratch).reshape(wide)
        misses = (self.misses[:, None] + other.misses).ravel()
        counts = np.add.outer([len(each) for each in self.units], [len(each) for each in other.units]).ravel()
        rows = _best(space, scratch, misses, counts, limit)
        many = len(other.units)
        units = tuple(self.units[row // many] + other.units[row % many] for row in rows)
        return Choices(space[rows], scratch[rows], misses[rows], units)

    def best(self, limit: int) -> Choices:
        """Those that no other one beats in lines and misses both; where they are many, evenly spread.

        Apart where some accesses share a line that is fetched each time, as others may share it too.
        """
        counts = np.array([len(each) for each in self.units])
        return self.among(_best(self.space, self.scratch, self.misses, counts, limit))

    def filled(self, owners: Sequence[object], first: Sequence[bool], capacity: int) -> tuple[Unit, ...]:
        """One choice of each owner: from the `first` on the one that saves most and fits, again and again."""
        places = {owner: place for place, owner in enumerate(dict.fromkeys(owners))}
        owner = np.array([places[each] for each in owners], dtype=np.intp)
        chosen = np.zeros(len(places), dtype=np.intp)
        chosen[owner[np.flatnonzero(first)]] = np.flatnonzero(first)
        while True:
            now = chosen[owner]
            space = self.space[chosen].sum(axis=0) + self.space - self.space[now]
            anew = self.scratch[chosen].sum(axis=0) + self.scratch - self.scratch[now].astype(int) > 0
            saved = np.where((space + anew).max(axis=1) <= capacity, self.misses[now] - self.misses, 0.0)
            best = int(saved.argmax())
            if saved[best] <= 0:
                return tuple(unit for row in chosen for unit in self.units[row])
            chosen[owner[best]] = best


def together(parts: Sequence[Choices]) -> Choices:
    """All choices of several sets."""
    return Choices(
        np.concatenate([each.space for each in parts]),
        np.concatenate([each.scratch for each in parts]),
        np.concatenate([each.misses for each in parts]),
        tuple(units for each in parts for units in each.units),
    )


def _best(
    space: NDArray[np.float64],
    scratch: NDArray[np.bool_],
    misses: NDArray[np.float64],
    counts: NDArray[np.int64],
    limit: int,
) -> NDArray[np.intp]:
    """The rows of the best choices, from few lines to many."""
    ranked = np.lexsort((counts, space.sum(axis=1), misses, (space + scratch).max(axis=1)))
    sharing: NDArray[np.bool_] = np.any(scratch, axis=1)[ranked]
    found = []
    for rows in (ranked[~sharing], ranked[sharing]):
        fewest = np.minimum.accumulate(misses[rows])
        kept = rows[np.concatenate([[True], fewest[1:] < fewest[:-1]])] if len(rows) else rows
        if len(kept) > limit:
            kept = kept[np.arange(limit) * (len(kept) - 1) // (limit - 1)]
        found.append(kept)
    return np.concatenate(found)
