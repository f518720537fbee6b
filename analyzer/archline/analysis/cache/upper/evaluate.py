"""Upper bounds on io under optimal replacement: the least of what plans fetch whose lines fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from math import floor
from operator import itemgetter

from archline.algebra.effort import late
from archline.algebra.evaluate.compiled import Number
from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.row_split import CUT
from archline.analysis.cache.upper.retention import ByRow, Compiled, Point, Retention, best, left_of
from archline.records import field, record

NEAREST = 8
"""So many plans are tried with some rows held by other units."""


@record(eq=False)
class Plan:
    """Units that hold every reference: where the cache has the lines that each region needs, io is at most `misses`.

    A region is the loops around some references: lines that are held there take room from each other. `find` has, for
    each array, what spare lines could do, which only values at sizes need.
    """

    units: tuple[Resident, ...]
    needs: tuple[Poly, ...]
    misses: Poly
    find: Callable[[], tuple[tuple[Retention, ...], ...]] = tuple

    @property
    def values(self) -> tuple[Poly, ...]:
        """What it fetches, and needs."""
        return self.misses, *self.needs

    @cached_property
    def retentions(self) -> tuple[tuple[Retention, ...], ...]:
        """For each array what spare lines could do."""
        return self.find()


@record(eq=False)
class Upper:
    """io <= the misses of every plan whose needs are at most Z // L lines."""

    plans: Sequence[Plan]
    facts: Facts
    _compiled: dict[frozenset[str], Compiled] = field(default_factory=dict, repr=False)

    def at(self, sizes: Mapping[str, int], spare: bool = True) -> int:
        """The bound at sizes, Z and L, with `spare` lines used or not; Z >= L. Raises EvaluationError."""
        point = self.point(sizes)
        fitting = list(self.fitting(point))
        if not fitting:
            raise EvaluationError("no bound was found for so few lines")
        if not spare:
            return floor(min(bound for _, bound, _ in fitting))
        known = sorted(((with_spare(point, *each, rows=False), each) for each in fitting), key=itemgetter(0))
        least = known[0][0]
        # Rows are split in plans that are near the best without: it takes far longer.
        for _, each in known[:NEAREST]:
            if not late():
                least = min(least, with_spare(point, *each, rows=True))
        return floor(least)

    def point(self, sizes: Mapping[str, int]) -> Point:
        """Where expressions are evaluated; those of the same symbols are compiled once."""
        names = frozenset(sizes)
        if names not in self._compiled:
            self._compiled[names] = Compiled(tuple(sorted(names)), self.facts.restore)
        return Point(self._compiled[names], sizes)

    def fitting(self, point: Point) -> Iterator[tuple[Plan, Number, list[Number]]]:
        """The plans that fit, what they fetch, and the lines that each region has to spare."""
        capacity = point.sizes["Z"] // point.sizes["L"]
        for plan in self.plans:
            spare = [capacity - need for need in point.at(plan.needs)]
            if min(spare, default=0) >= 0:
                yield plan, point.at((plan.misses,))[0], spare

    @cached_property
    def names(self) -> frozenset[str]:
        """The symbols on which the bound depends, beside Z."""
        values = {value for plan in self.plans for value in plan.values}
        values |= {value for plan in self.plans for group in plan.retentions for each in group for value in each.values}
        return frozenset({"L"}.union(*(self.facts.restore(value).names for value in values)) - {CUT})


def with_spare(point: Point, plan: Plan, bound: Number, spare: list[Number], rows: bool) -> Number:
    """The bound of a plan with spare lines used, for some `rows` too or not."""
    if not any(spare):
        return bound
    # Lines go where each saves most; what is left goes to the next array, or to others of its references.
    groups = [point.ranked(each for each in group if rows or not isinstance(each, ByRow)) for group in plan.retentions]
    while groups:
        first = [(best(ranked, point, spare), ranked) for ranked in groups]
        known = [(found[1].saved / found[1].lines, ranked) for found, ranked in first if found is not None]
        groups = []
        for _, ranked in sorted(known, key=lambda each: -each[0]):
            found = best(ranked, point, spare)
            if found is not None:
                chosen, saving = found
                bound -= saving.saved
                spare = left_of(spare, saving.taken)
                groups.append([each for each in ranked if not each[2].references & chosen.references])
    return bound
