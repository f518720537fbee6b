"""Upper bounds on io under optimal replacement: the least of what plans fetch whose lines fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import floor
from operator import itemgetter

from archline.algebra.effort import late
from archline.algebra.evaluate.compiled import Number
from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.facts import Facts
from archline.analysis.cache.upper.plan import Plan, Spending
from archline.analysis.cache.upper.retained import TURN
from archline.analysis.cache.upper.spare import Functions, Here, Machine, Used, best, left_of, ranked
from archline.records import field, record

NEAREST = 8
"""So many plans are tried with rows that are parted."""


@record(eq=False)
class Upper:
    """io <= the misses of every plan whose needs are at most Z // L lines."""

    plans: Sequence[Plan]
    facts: Facts
    _programs: dict[frozenset[str], _Program] = field(default_factory=dict, repr=False)

    def at(self, point: Mapping[str, int], spare: bool = True) -> int:
        """The bound at sizes, Z and L, with `spare` lines used or not; Z >= L. Raises EvaluationError."""
        names = frozenset(point)
        if names not in self._programs:
            self._programs[names] = _Program(self.plans, Machine(tuple(sorted(names)), self.facts.restore))
        return self._programs[names].at(point, spare)

    @cached_property
    def names(self) -> frozenset[str]:
        """The symbols on which the bound depends, beside Z."""
        values = {value for plan in self.plans for value in plan.values}
        values |= {value for plan in self.plans for group in plan.ways(True) for way in group for value in way.values}
        return frozenset({"L"}.union(*(self.facts.restore(value).names for value in values)) - {TURN})


@record(eq=False)
class _Program:
    """Plans as functions of some sizes."""

    plans: Sequence[Plan]
    machine: Machine
    _used: dict[Spending, Used] = field(default_factory=dict, repr=False)

    @cached_property
    def _ready(self) -> list[tuple[Plan, Functions]]:
        return [(plan, self.machine.of(plan.values)) for plan in self.plans]

    def at(self, point: Mapping[str, int], spare: bool) -> int:
        ready = self._ready
        here = Here(self.machine, point)
        fitting = [fits for plan, functions in ready if (fits := _fitting(plan, functions, here)) is not None]
        if not fitting:
            raise EvaluationError("no bound was found for so few lines")
        if not spare:
            return floor(min(each.bound for each in fitting))
        known = [(self._spent(each, here, False), each) for each in fitting]
        # Rows are parted in those that are near the best without: it takes far longer.
        nearest = sorted(known, key=itemgetter(0))[:NEAREST]
        parted = (self._spent(each, here, True) for _, each in nearest if not late() and any(each.plan.partings))
        return floor(min([nearest[0][0], *parted]))

    def _function(self, way: Spending) -> Used:
        if way not in self._used:
            self._used[way] = way.used(self.machine)
        return self._used[way]

    def _spent(self, fitting: _Fitting, here: Here, parted: bool) -> Number:
        """The bound of a plan with spare lines used, for parts of rows or not."""
        bound, spare = fitting.bound, fitting.spare
        if not any(spare):
            return bound
        # Lines go where each saves most; what is left goes to the next array, or to others of its references.
        groups = [ranked(map(self._function, ways), here) for ways in fitting.plan.ways(parted)]
        while groups:
            first = [(best(ways, here, spare), ways) for ways in groups]
            known = [(found[1].saved / found[1].lines, ways) for found, ways in first if found is not None]
            groups = []
            for _, ways in sorted(known, key=lambda each: -each[0]):
                found = best(ways, here, spare)
                if found is not None:
                    chosen, saving = found
                    bound -= saving.saved
                    spare = left_of(spare, saving.taken)
                    groups.append([each for each in ways if not each[2].references & chosen.references])
        return bound


@record(eq=False)
class _Fitting:
    """A plan that fits at a point: what it fetches, and the lines that each region has to spare."""

    plan: Plan
    bound: Number
    spare: Sequence[Number]


def _fitting(plan: Plan, functions: Functions, here: Here) -> _Fitting | None:
    """What is fetched where a plan fits."""
    misses, *needs = functions
    capacity = here.point["Z"] // here.point["L"]
    spare = [capacity - need for need in here.at(tuple(needs))]
    if min(spare, default=0) < 0:
        return None
    (bound,) = here.at((misses,))
    return _Fitting(plan, bound, spare)
