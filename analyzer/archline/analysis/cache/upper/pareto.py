"""Compares choices of residencies by their lines and misses, at each sample."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from math import inf
from operator import add, and_, or_, sub
from typing import TypeVar

from archline.analysis.cache.residency.base import Resident
from archline.records import record

T = TypeVar("T")


@record(eq=False, slots=True)
class ResidencyChoice:
    """Residencies that are held together, with their misses at a sample.

    By region, `lines` are the lines that they need, and `scratch` tells whether a residency fetches at every access,
    which takes one line. `total` sums the lines over all regions, without those for `scratch`. Numbers are
    floats, as they only compare choices and are in no bound.
    """

    units: tuple[Resident, ...]
    misses: float
    total: float
    lines: tuple[float, ...]
    scratch: tuple[bool, ...]
    shares: bool
    """Whether `scratch` has a region: a scratch line can be shared with other residencies."""

    def add_lines(self, added: ResidencyChoice) -> Iterable[float]:
        """Return the lines by region that both need."""
        lines = map(add, self.lines, added.lines)
        return map(sub, lines, map(and_, self.scratch, added.scratch)) if self.shares and added.shares else lines

    def combine(self, added: ResidencyChoice) -> ResidencyChoice:
        """Return the choice of the residencies of both."""
        scratch = tuple(map(or_, self.scratch, added.scratch))
        return ResidencyChoice(
            self.units + added.units,
            self.misses + added.misses,
            self.total + added.total,
            tuple(self.add_lines(added)),
            scratch,
            self.shares or added.shares,
        )


@record(eq=False)
class ParetoChoices:
    """Choices of residencies by sample."""

    samples: tuple[list[ResidencyChoice], ...]

    def combine(self, more: ParetoChoices, limit: int) -> ParetoChoices:
        """Pair each choice with each of another set, and select the best pairs, at most `limit` at each sample."""
        both = zip(self.samples, more.samples, strict=True)
        return ParetoChoices(tuple([_combine_at_sample(one, other, limit) for one, other in both]))

    def select_best(self, limit: int) -> ParetoChoices:
        """Select the Pareto-optimal choices in lines and misses, evenly spread if they exceed `limit`.

        Choices with scratch lines are selected separately, as a scratch line can be shared.
        """
        return ParetoChoices(tuple([_select_at_sample(choices, limit) for choices in self.samples]))

    def fill_greedily(self, sample: int, capacities: Sequence[int]) -> Iterator[tuple[Resident, ...]]:
        """Yield for each capacity the residencies of one choice for each reference; each choice has one residency.

        It begins with the choices that fetch at every access, and repeatedly changes to the choice that saves most
        misses and fits.
        """
        owners = {choice: choice.units[0].references[0] for choice in self.samples[sample]}
        start = {owner: choice for choice, owner in owners.items() if choice.shares}
        for capacity in capacities:
            chosen = dict(start)
            lines = [sum(needed) for needed in zip(*(choice.lines for choice in start.values()), strict=True)]
            fetching = [sum(marked) for marked in zip(*(choice.scratch for choice in start.values()), strict=True)]
            while True:
                saved = {choice: chosen[owner].misses - choice.misses for choice, owner in owners.items()}
                saving = [choice for choice in owners if saved[choice] > 0]
                for best in sorted(saving, key=saved.__getitem__, reverse=True):
                    now = chosen[owners[best]]
                    lines_then = list(map(sub, map(add, lines, best.lines), now.lines))
                    fetching_then = list(map(sub, map(add, fetching, best.scratch), now.scratch))
                    # All that fetch at every access share one line.
                    if all(
                        needed - max(0, count - 1) <= capacity
                        for needed, count in zip(lines_then, fetching_then, strict=True)
                    ):
                        break
                else:
                    break
                chosen[owners[best]], lines, fetching = best, lines_then, fetching_then
            yield tuple([choice.units[0] for choice in chosen.values()])


def concatenate_choices(parts: Sequence[ParetoChoices]) -> ParetoChoices:
    """Concatenate several sets of choices into one, as alternatives."""
    by_sample = zip(*(part.samples for part in parts), strict=True)
    return ParetoChoices(tuple([list(chain.from_iterable(choices)) for choices in by_sample]))


def _combine_at_sample(
    one: Sequence[ResidencyChoice], other: Sequence[ResidencyChoice], limit: int
) -> list[ResidencyChoice]:
    pairs = [(left, right) for left in one for right in other]
    keys = [
        (max(x.add_lines(y)), x.misses + y.misses, x.total + y.total, len(x.units) + len(y.units)) for x, y in pairs
    ]
    selected = _select_best(pairs, keys, [x.shares or y.shares for x, y in pairs], limit)
    return [left.combine(right) for left, right in selected]


def _select_at_sample(choices: Sequence[ResidencyChoice], limit: int) -> list[ResidencyChoice]:
    keys = [(max(choice.lines), choice.misses, choice.total, len(choice.units)) for choice in choices]
    return _select_best(choices, keys, [choice.shares for choice in choices], limit)


def _select_best(
    items: Sequence[T], keys: Sequence[tuple[float, float, float, int]], sharing: Sequence[bool], limit: int
) -> list[T]:
    """Select those with fewer misses than all before them in the order of `keys`: lines, misses, lines of all regions
    and number of residencies; at most `limit` that share and `limit` that do not, evenly spaced.
    """
    order = sorted(range(len(items)), key=keys.__getitem__)
    selected: list[T] = []
    for kind in (False, True):
        chosen, least = [], inf
        for number in order:
            misses = keys[number][1]
            if misses < least and sharing[number] is kind:
                chosen.append(items[number])
                least = misses
        last = len(chosen) - 1
        selected += chosen if last < limit else [chosen[number * last // (limit - 1)] for number in range(limit)]
    return selected
