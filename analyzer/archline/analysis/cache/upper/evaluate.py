"""Upper bounds on io under optimal replacement: the least of what plans fetch whose lines fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from math import floor, inf, isfinite
from operator import attrgetter

from archline.algebra.effort import late
from archline.algebra.evaluate.compiled import Number
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.row_split import CUT
from archline.analysis.cache.upper.retention import ByClass, Compiled, Point, Ranked, Retention, about, best, left_of
from archline.expr.intervals import EvaluationError
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
        least = min(bound for _, bound, _ in fitting)
        if not spare:
            return floor(least)
        tried = [WithSpare.of(point, *each) for each in fitting]
        known: dict[WithSpare, Number] = {}
        for each in sorted(tried, key=attrgetter("hope")):
            if each.hope < least:
                known[each] = each.at(point, rows=False)
                least = min(least, known[each])
        # Rows are split in plans that are near the best without: it takes far longer.
        for each in sorted((each for each in tried if each in known), key=known.__getitem__)[:NEAREST]:
            if each.hope < least and not late():
                least = min(least, each.at(point, rows=True))
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
            spare = [capacity - need for need in point.at(plan, plan.needs)]
            if min(spare, default=0) >= 0:
                yield plan, point.at((plan, "misses"), (plan.misses,))[0], spare

    @cached_property
    def names(self) -> frozenset[str]:
        """The symbols on which the bound depends, beside Z."""
        values = {value for plan in self.plans for value in plan.values}
        values |= {value for plan in self.plans for group in plan.retentions for each in group for value in each.values}
        return frozenset({"L"}.union(*(self.facts.restore(value).names for value in values)) - {CUT})


@record(eq=False)
class WithSpare:
    """A plan that fits at a point: what it fetches, spare lines by region, and what these could do for each array.

    `hope` is about the least that it fetches with them.
    """

    bound: Number
    spare: list[Number]
    groups: Sequence[Sequence[Ranked]]
    hope: float

    @classmethod
    def of(cls, point: Point, plan: Plan, bound: Number, spare: list[Number]) -> WithSpare:
        """A plan with its spare lines."""
        groups = [point.ranked(each, spare) for each in plan.retentions] if any(spare) else []
        # Each takes the same share of what it saves of each of its references.
        shares: dict[Reference, float] = {}
        for negated, _, each in chain.from_iterable(groups):
            for reference in each.references:
                shares[reference] = max(shares.get(reference, 0.0), -negated / len(each.references))
        hope = about(bound) - sum(shares.values())
        return cls(bound, spare, groups, hope if isfinite(hope) else -inf)

    def at(self, point: Point, rows: bool) -> Number:
        """The bound with spare lines used, for some `rows` too or not."""
        bound, spare = self.bound, self.spare
        groups = [[each for each in ranked if rows or isinstance(each[2], ByClass)] for ranked in self.groups]
        # Lines go where each saves most; what is left goes to the next array, or to others of its references.
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
