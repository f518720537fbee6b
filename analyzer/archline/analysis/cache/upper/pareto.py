"""Compares choices of residencies by their lines and misses, for all sample sizes in one array operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from archline.records import record

MAX_TESTED_CHOICES = 16
"""The number of choices that are tested in one array operation, in order of saving; usually one of them fits."""


@record(eq=False)
class ParetoChoices:
    """Choices of residencies as numpy arrays: `misses` and the residencies `units` by sample and choice.

    `space` has, by region, sample and choice, the lines that the residencies hold, and `scratch` whether one of the
    residencies fetches at every access. Regions with equal rows share one: `regions` maps each region to its row.
    Numbers are floats, as they only compare choices and are in no bound. A sample with fewer choices than another is
    padded with infinite misses, and a choice with fewer residencies with -1 in `units`.
    """

    space: NDArray[np.float64]
    scratch: NDArray[np.bool_]
    misses: NDArray[np.float64]
    units: NDArray[np.intp]
    regions: NDArray[np.intp]

    @cached_property
    def _residency_counts(self) -> NDArray[np.intp]:
        counts: NDArray[np.intp] = np.sum(self.units >= 0, axis=2)
        return counts

    @cached_property
    def _total_lines(self) -> NDArray[np.float64]:
        """The lines of each choice, summed over all regions."""
        lines: NDArray[np.float64] = np.tensordot(np.bincount(self.regions).astype(float), self.space, 1)
        return lines

    @cached_property
    def _uses_scratch(self) -> NDArray[np.bool_]:
        """True for choices with residencies that fetch at every access."""
        sharing: NDArray[np.bool_] = np.any(self.scratch, axis=0)
        return sharing

    def at(self, sample: int) -> list[tuple[int, ...]]:
        """List the residencies of each choice at a sample, as their numbers."""
        rows = self.units[sample][np.isfinite(self.misses[sample])].tolist()
        return [tuple([unit for unit in row if unit >= 0]) for row in rows]

    def combine(self, more: ParetoChoices, limit: int) -> ParetoChoices:
        """Pair each choice with each of another set, and select the best pairs, at most `limit` at each sample."""
        shared = _SharedRegions.of((self.regions, more.regions))
        wide, more_count = (len(self.misses), -1), more.misses.shape[1]
        keys = _ComparisonKeys(
            self._compute_pair_needs(more, shared).reshape(wide),
            (self.misses[..., None] + more.misses[:, None]).reshape(wide),
            (self._total_lines[..., None] + more._total_lines[:, None]).reshape(wide),
            (self._residency_counts[..., None] + more._residency_counts[:, None]).reshape(wide),
            (self._uses_scratch[..., None] | more._uses_scratch[:, None]).reshape(wide),
        )
        best, valid = keys.select_best(limit)
        (left, right), rows = shared.rows, np.arange(len(best))[:, None]
        first, second = best // more_count, best % more_count
        return ParetoChoices(
            self.space[left[:, None, None], rows, first] + more.space[right[:, None, None], rows, second],
            self.scratch[left[:, None, None], rows, first] | more.scratch[right[:, None, None], rows, second],
            np.where(valid, keys.misses[rows, best], np.inf),
            np.concatenate([self.units[rows, first], more.units[rows, second]], axis=2),
            shared.regions,
        )

    def _compute_pair_needs(self, more: ParetoChoices, both: _SharedRegions) -> NDArray[np.float64]:
        """Compute the lines that each pair of choices needs in the region where it needs most."""
        left, right = both.rows
        needs = np.full((*self.misses.shape, more.misses.shape[1]), -np.inf)
        for row in range(len(more.space)):
            rows = left[right == row]
            lines = (self.space[rows] + self.scratch[rows]).max(axis=0)[..., None]
            scratch = more.scratch[row][:, None]
            if scratch.any():
                lines = np.where(scratch, self.space[rows].max(axis=0)[..., None] + 1, lines)
            np.maximum(needs, lines + more.space[row][:, None], out=needs)
        return needs

    def select_best(self, limit: int) -> ParetoChoices:
        """Select the Pareto-optimal choices in lines and misses, evenly spread if they exceed `limit`.

        Choices with scratch lines are selected separately, as a scratch line can be shared.
        """
        needs = (self.space + self.scratch).max(axis=0)
        keys = _ComparisonKeys(needs, self.misses, self._total_lines, self._residency_counts, self._uses_scratch)
        best, valid = keys.select_best(limit)
        rows = np.arange(len(best))[:, None]
        misses = np.where(valid, self.misses[rows, best], np.inf)
        return ParetoChoices(
            self.space[:, rows, best], self.scratch[:, rows, best], misses, self.units[rows, best], self.regions
        )

    def fill_greedily(
        self, sample: int, owners: Sequence[object], first: Sequence[bool], capacities: Sequence[int]
    ) -> Iterator[list[int]]:
        """Yield, for each capacity in lines, residency numbers that a greedy search selects at a sample.

        Each choice belongs to an owner in `owners`, for which exactly one is selected: at first the one marked
        in `first`, then repeatedly the alternative that fits and saves most misses.
        """
        numbers = {owner: number for number, owner in enumerate(dict.fromkeys(owners))}
        owner = np.array([numbers[key] for key in owners], dtype=np.intp)
        start = np.zeros(len(numbers), dtype=np.intp)
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
                for begin in range(0, len(order), MAX_TESTED_CHOICES):
                    tried = order[begin : begin + MAX_TESTED_CHOICES]
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


def concatenate_choices(parts: Sequence[ParetoChoices]) -> ParetoChoices:
    """Concatenate several sets of choices into one, as alternatives."""
    max_units = max(part.units.shape[2] for part in parts)
    padding = [((0, 0), (0, 0), (0, max_units - part.units.shape[2])) for part in parts]
    units = [np.pad(part.units, widths, constant_values=-1) for part, widths in zip(parts, padding, strict=True)]
    shared = _SharedRegions.of([part.regions for part in parts])
    return ParetoChoices(
        np.concatenate([part.space[rows] for part, rows in zip(parts, shared.rows, strict=True)], axis=2),
        np.concatenate([part.scratch[rows] for part, rows in zip(parts, shared.rows, strict=True)], axis=2),
        np.concatenate([part.misses for part in parts], axis=1),
        np.concatenate(units, axis=1),
        shared.regions,
    )


@record(eq=False)
class _SharedRegions:
    """A common numbering of regions for several sets of choices, which store regions with equal values as one row.

    `regions` maps each region to its row in the common numbering, and `rows` has, for each set, the set's row of
    each common row.
    """

    rows: NDArray[np.intp]
    regions: NDArray[np.intp]

    @classmethod
    def of(cls, several: Sequence[NDArray[np.intp]]) -> _SharedRegions:
        """Merge the region maps of several sets of choices."""
        if len(several) == 1:
            return cls(np.arange(several[0].max(initial=-1) + 1)[None], several[0])
        joint, *others = several
        for regions in others:
            joint = np.unique(joint * (regions.max(initial=-1) + 1) + regions, return_inverse=True)[1].reshape(-1)
        _, examples = np.unique(joint, return_index=True)
        return cls(np.stack([regions[examples] for regions in several]), joint)


@record(eq=False)
class _ComparisonKeys:
    """Sort keys of choices: `needs` (peak lines), `misses`, `lines` (sum over regions), `counts` (of residencies).

    Choices marked in `sharing` use the shared scratch line, which is fetched at every access.
    """

    needs: NDArray[np.float64]
    misses: NDArray[np.float64]
    lines: NDArray[np.float64]
    counts: NDArray[np.intp]
    sharing: NDArray[np.bool_]

    def select_best(self, limit: int) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return, for each sample, the indices of the Pareto-optimal choices, and a mask of the valid indices."""
        order = np.lexsort((self.counts, self.lines, self.misses, self.needs), axis=-1)
        rows = np.arange(len(order))[:, None]
        sharing = self.sharing[rows, order]
        by_sharing = np.where(np.stack([~sharing, sharing]), self.misses[rows, order], np.inf)
        before = np.full_like(by_sharing, np.inf)
        np.minimum.accumulate(by_sharing[..., :-1], axis=2, out=before[..., 1:])
        chosen = np.concatenate(_select_evenly_spaced(by_sharing < before, limit), axis=1)
        selected = np.argsort(~chosen, axis=1, kind="stable")[:, : chosen.sum(axis=1).max(initial=0)]
        return order[rows, selected % order.shape[1]], chosen[rows, selected]


def _select_evenly_spaced(marked: NDArray[np.bool_], limit: int) -> NDArray[np.bool_]:
    """Keep at most `limit` of n marked choices, evenly spaced: numbers i*(n - 1) // (limit - 1)."""
    count = marked.sum(axis=2, keepdims=True)
    if count.max(initial=0) <= limit:
        return marked
    number, last = marked.cumsum(axis=2) - 1, np.maximum(count - 1, 1)
    nearest = -(-number * (limit - 1) // last)
    chosen: NDArray[np.bool_] = (count <= limit) | (nearest * last // (limit - 1) == number)
    return marked & chosen
