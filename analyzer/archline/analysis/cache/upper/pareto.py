"""Compares choices of residencies by their lines and misses, at all sample sizes together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archline.records import record

MAX_TRIED = 16
"""The number of choices that are tested together, in order of their saving; the first fit is mostly among them."""


@record(eq=False)
class ParetoChoices:
    """Choices of residencies in arrays: rows of `misses` and `units` for each sample.

    `space` holds, for each region, sample and choice, the lines that its residencies take, and `scratch` whether
    one of its residencies fetches at every access. Regions with equal rows share one: `regions` maps each region
    to its row. Numbers are floats, as no bound is taken from them. Infinite misses mark padding, as a sample may
    have fewer choices than another; in `units`, -1 marks padding.
    """

    space: NDArray[np.float64]
    scratch: NDArray[np.bool_]
    misses: NDArray[np.float64]
    units: NDArray[np.intp]
    regions: NDArray[np.intp]

    @cached_property
    def _counts(self) -> NDArray[np.intp]:
        """The number of residencies of each choice."""
        counts: NDArray[np.intp] = np.sum(self.units >= 0, axis=2)
        return counts

    @cached_property
    def _in_all(self) -> NDArray[np.float64]:
        """The lines of each choice, summed over all regions."""
        lines: NDArray[np.float64] = np.tensordot(np.bincount(self.regions).astype(float), self.space, 1)
        return lines

    @cached_property
    def _sharing(self) -> NDArray[np.bool_]:
        """True for choices with residencies that fetch at every access."""
        sharing: NDArray[np.bool_] = np.any(self.scratch, axis=0)
        return sharing

    def at(self, sample: int) -> list[tuple[int, ...]]:
        """List the residencies of each choice at a sample."""
        rows = self.units[sample][np.isfinite(self.misses[sample])].tolist()
        return [tuple([unit for unit in row if unit >= 0]) for row in rows]

    def combine(self, other: ParetoChoices, limit: int) -> ParetoChoices:
        """Pair each choice with each of another set, and select the best pairs."""
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
        """The lines that each pair of choices needs in the region where it needs most."""
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
        """Select the Pareto-optimal choices in lines and misses, evenly spread if they exceed `limit`.

        Choices with scratch lines are selected separately, as a scratch line can be shared.
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
        """Yield one choice of each owner for each capacity: from `first` on, repeatedly the best saving that fits."""
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
    """Concatenate several sets of choices."""
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
    """Regions with equal rows in all of several sets: `rows` has the row in each set, `regions` the map."""

    rows: NDArray[np.intp]
    regions: NDArray[np.intp]

    @classmethod
    def of(cls, several: Sequence[NDArray[np.intp]]) -> _SharedRegions:
        """Merge the region maps of several sets of choices."""
        if len(several) == 1:
            return cls(np.arange(several[0].max(initial=-1) + 1)[None], several[0])
        first, *others = several
        for other in others:
            first = np.unique(first * (other.max(initial=-1) + 1) + other, return_inverse=True)[1].reshape(-1)
        _, one_each = np.unique(first, return_index=True)
        return cls(np.stack([each[one_each] for each in several]), first)


@record(eq=False)
class _ComparisonKeys:
    """Sort keys of choices: peak lines, misses, total lines and the number of residencies.

    Choices in `sharing` have a line that is fetched at each access.
    """

    needs: NDArray[np.float64]
    misses: NDArray[np.float64]
    lines: NDArray[np.float64]
    counts: NDArray[np.intp]
    sharing: NDArray[np.bool_]

    def best(self, limit: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the rows of the Pareto-optimal choices, fewest lines first, and a mask of valid rows."""
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
    """Keep at most `limit` of the marked choices, evenly spaced: number i*(n - 1) // (limit - 1) of n."""
    many = kept.sum(axis=2, keepdims=True)
    if many.max(initial=0) <= limit:
        return kept
    number, last = kept.cumsum(axis=2) - 1, np.maximum(many - 1, 1)
    nearest = -(-number * (limit - 1) // last)
    chosen: NDArray[np.bool_] = (many <= limit) | (nearest * last // (limit - 1) == number)
    return kept & chosen
