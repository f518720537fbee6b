"""Choices of resident sets, compared by their lines and misses at sample sizes, all samples at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archline.records import record

MAX_TRIED = 16
"""Choices that are tried together, in the order of what they save: the first that fits is most often among them."""


@record(eq=False)
class ParetoChoices:
    """For each sample rows that are choices: all misses, and the numbers of the units.

    Before these, by region: the lines that the units take, and whether they fetch at every access. Regions in which the
    same units do so are alike: `regions` has the place of each among them. Numbers are floats, as no bound is taken
    from them. Rows with infinite misses are no choices: one sample may have fewer than another. In the place of a unit
    is -1 where a choice has fewer.
    """

    space: NDArray[np.float64]
    scratch: NDArray[np.bool_]
    misses: NDArray[np.float64]
    units: NDArray[np.intp]
    regions: NDArray[np.intp]

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        """How many units a choice has."""
        counts: NDArray[np.intp] = np.sum(self.units >= 0, axis=2)
        return counts

    @cached_property
    def _in_all(self) -> NDArray[np.float64]:
        """The lines of a choice, added up over all regions."""
        lines: NDArray[np.float64] = np.tensordot(np.bincount(self.regions).astype(float), self.space, 1)
        return lines

    @cached_property
    def _sharing(self) -> NDArray[np.bool_]:
        """Whether some units of a choice fetch at every access."""
        sharing: NDArray[np.bool_] = np.any(self.scratch, axis=0)
        return sharing

    def at(self, sample: int) -> list[tuple[int, ...]]:
        """The units of each choice at a sample."""
        rows = self.units[sample][np.isfinite(self.misses[sample])].tolist()
        return [tuple([unit for unit in row if unit >= 0]) for row in rows]

    def combine(self, other: ParetoChoices, limit: int) -> ParetoChoices:
        """Each choice with each of another set: the best of them."""
        both = _SharedRegions.of((self.regions, other.regions))
        wide, many = (len(self.misses), -1), other.misses.shape[1]
        keys = _ComparisonKeys(
            self._needs(other, both).reshape(wide),
            (self.misses[..., None] + other.misses[:, None]).reshape(wide),
            (self._in_all[..., None] + other._in_all[:, None]).reshape(wide),
            (self._counts[..., None] + other._counts[:, None]).reshape(wide),
            (self._sharing[..., None] | other._sharing[:, None]).reshape(wide),
        )
        best, some = keys.best(limit)
        (left, right), each = both.rows, np.arange(len(best))[:, None]
        one, two = best // many, best % many
        return ParetoChoices(
            self.space[left[:, None, None], each, one] + other.space[right[:, None, None], each, two],
            self.scratch[left[:, None, None], each, one] | other.scratch[right[:, None, None], each, two],
            np.where(some, keys.misses[each, best], np.inf),
            np.concatenate([self.units[each, one], other.units[each, two]], axis=2),
            both.regions,
        )

    def _needs(self, other: ParetoChoices, both: _SharedRegions) -> NDArray[np.float64]:
        """The lines of each choice with each of another set, in the region where they take most."""
        left, right = both.rows
        needs = np.full((*self.misses.shape, other.misses.shape[1]), -np.inf)
        for place in range(len(other.space)):
            here = left[right == place]
            own = (self.space[here] + self.scratch[here]).max(axis=0)[..., None]
            anew = other.scratch[place][:, None]
            if anew.any():
                own = np.where(anew, self.space[here].max(axis=0)[..., None] + 1, own)
            np.maximum(needs, own + other.space[place][:, None], out=needs)
        return needs

    def best(self, limit: int) -> ParetoChoices:
        """Those that no other one beats in lines and misses both; where they are many, evenly spread.

        Apart where some accesses share a line that is fetched each time, as others may share it too.
        """
        needs = (self.space + self.scratch).max(axis=0)
        keys = _ComparisonKeys(needs, self.misses, self._in_all, self._counts, self._sharing)
        best, some = keys.best(limit)
        each = np.arange(len(best))[:, None]
        misses = np.where(some, self.misses[each, best], np.inf)
        return ParetoChoices(
            self.space[:, each, best], self.scratch[:, each, best], misses, self.units[each, best], self.regions
        )

    def greedy_fill(
        self, sample: int, owners: Sequence[object], first: Sequence[bool], capacities: Sequence[int]
    ) -> Iterator[list[int]]:
        """One choice of each owner: from the `first` on the one that saves most and fits, again and again."""
        places = {owner: place for place, owner in enumerate(dict.fromkeys(owners))}
        owner = np.array([places[each] for each in owners], dtype=np.intp)
        start = np.zeros(len(places), dtype=np.intp)
        start[owner[np.flatnonzero(first)]] = np.flatnonzero(first)
        misses, rows = self.misses[sample], np.concatenate([self.space[:, sample], self.scratch[:, sample]], axis=1)
        space, scratch = np.hsplit(np.unique(rows, axis=0), 2)
        for capacity in capacities:
            chosen = start.copy()
            lines, sharing = space[:, chosen].sum(axis=1), scratch[:, chosen].sum(axis=1)
            while True:
                now = chosen[owner]
                saved = misses[now] - misses
                saving = np.flatnonzero(saved > 0)
                order = saving[np.argsort(-saved[saving], kind="stable")]
                for begin in range(0, len(order), MAX_TRIED):
                    tried = order[begin : begin + MAX_TRIED]
                    needs = lines[:, None] + space[:, tried] - space[:, now[tried]]
                    needs += sharing[:, None] + scratch[:, tried] - scratch[:, now[tried]] > 0
                    fitting = np.flatnonzero(needs.max(axis=0) <= capacity)
                    if fitting.size:
                        break
                else:
                    break
                best = tried[fitting[0]]
                lines += space[:, best] - space[:, now[best]]
                sharing += scratch[:, best] - scratch[:, now[best]]
                chosen[owner[best]] = best
            yield [int(unit) for unit in self.units[sample, chosen].ravel() if unit >= 0]


def combine_choices(parts: Sequence[ParetoChoices]) -> ParetoChoices:
    """All choices of several sets."""
    wide = max(each.units.shape[2] for each in parts)
    places = [((0, 0), (0, 0), (0, wide - each.units.shape[2])) for each in parts]
    units = [np.pad(each.units, more, constant_values=-1) for each, more in zip(parts, places, strict=True)]
    alike = _SharedRegions.of([each.regions for each in parts])
    return ParetoChoices(
        np.concatenate([each.space[rows] for each, rows in zip(parts, alike.rows, strict=True)], axis=2),
        np.concatenate([each.scratch[rows] for each, rows in zip(parts, alike.rows, strict=True)], axis=2),
        np.concatenate([each.misses for each in parts], axis=1),
        np.concatenate(units, axis=1),
        alike.regions,
    )


@record(eq=False)
class _SharedRegions:
    """Regions that are alike in several sets of choices: `rows` has their places in each, `regions` that of each."""

    rows: NDArray[np.intp]
    regions: NDArray[np.intp]

    @classmethod
    def of(cls, several: Sequence[NDArray[np.intp]]) -> _SharedRegions:
        """Those of sets whose own regions are these."""
        if len(several) == 1:
            return cls(np.arange(several[0].max(initial=-1) + 1)[None], several[0])
        first, *others = several
        for other in others:
            first = np.unique(first * (other.max(initial=-1) + 1) + other, return_inverse=True)[1].reshape(-1)
        _, one_each = np.unique(first, return_index=True)
        return cls(np.stack([each[one_each] for each in several]), first)


@record(eq=False)
class _ComparisonKeys:
    """What choices are compared by: lines where they take most, misses, lines added up, how many units there are.

    Those that are `sharing` have a line that is fetched each time.
    """

    needs: NDArray[np.float64]
    misses: NDArray[np.float64]
    lines: NDArray[np.float64]
    counts: NDArray[np.intp]
    sharing: NDArray[np.bool_]

    def best(self, limit: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """The rows of the best, from few lines to many, and which of them are some: samples may have fewer."""
        order = np.lexsort((self.counts, self.lines, self.misses, self.needs), axis=-1)
        each = np.arange(len(order))[:, None]
        sharing = self.sharing[each, order]
        apart = np.where(np.stack([~sharing, sharing]), self.misses[each, order], np.inf)
        before = np.full_like(apart, np.inf)
        np.minimum.accumulate(apart[..., :-1], axis=2, out=before[..., 1:])
        kept = np.concatenate(_evenly_spaced(apart < before, limit), axis=1)
        places = np.argsort(~kept, axis=1, kind="stable")[:, : kept.sum(axis=1).max(initial=0)]
        return order[each, places % order.shape[1]], kept[each, places]


def _evenly_spaced(kept: NDArray[np.bool_], limit: int) -> NDArray[np.bool_]:
    """Of those that are kept so many, evenly spread: of n the ones with numbers i*(n - 1) // (limit - 1)."""
    many = kept.sum(axis=2, keepdims=True)
    if many.max(initial=0) <= limit:
        return kept
    number, last = kept.cumsum(axis=2) - 1, np.maximum(many - 1, 1)
    nearest = -(-number * (limit - 1) // last)
    chosen: NDArray[np.bool_] = (many <= limit) | (nearest * last // (limit - 1) == number)
    return kept & chosen
