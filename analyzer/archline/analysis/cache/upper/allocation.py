"""Which references keep lines, and how long: the choices that fetch least for some capacity at some sizes.

Every choice bounds io wherever its lines fit; which are listed is found by comparing all of them at a few sizes.

References to one array form clusters, each kept as one or part by part, and each with the units that may keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from itertools import chain
from math import inf

import numpy as np
from numpy.typing import NDArray

from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.compiled import Compiler, Number
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, total
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.residency.base import Resident
from archline.analysis.cache.residency.group import (
    by_turns,
    interleaved_residency,
    pinned_windows,
    row_and_next_element,
)
from archline.analysis.cache.residency.row_split import RowSplitSearch
from archline.analysis.cache.residency.single import (
    in_windows,
    monotone_walk_residency,
    reloaded_residencies,
    single_reference_residencies,
    walk_key,
)
from archline.analysis.cache.residency.stencil import row_with_pinned_entries, stencil_residencies, up_to
from archline.analysis.cache.upper.evaluate import AllocationPlan, RetainClasses, RetainRows, Retention
from archline.analysis.cache.upper.pareto import ParetoChoices, combine_choices
from archline.expr.intervals import EvaluationError
from archline.ir.factored import UnboundedError
from archline.ir.layout import LINE, WORDS
from archline.ir.tree import Array, Chain, Loop, contiguous_dimension
from archline.records import memoised, record


@record(eq=False)
class ReferenceCluster:
    """References to one array: kept as one, by any of `units`, or part by part; one alone has no parts."""

    references: tuple[Reference, ...]
    units: tuple[Resident, ...]
    parts: tuple[ReferenceCluster, ...] = ()

    @cached_property
    def pins(self) -> tuple[tuple[Loop | None, Poly, Poly], ...]:
        """The windows in which lines may be pinned."""
        return tuple(pinned_windows(self.references))

    @property
    def all_parts(self) -> Iterator[ReferenceCluster]:
        """Itself, its parts, and theirs."""
        yield self
        for part in self.parts:
            yield from part.all_parts


def enumerate_clusterings(
    references: Sequence[Reference], own: Mapping[Reference, tuple[Resident, ...]]
) -> Iterator[list[ReferenceCluster]]:
    """The ways to split references to one array into clusters; `own` are the units of each by itself."""
    known: dict[frozenset[Reference], ReferenceCluster] = {}
    seen: set[frozenset[frozenset[Reference]]] = set()
    for parts in partition_references(references):
        key = frozenset(map(frozenset, parts))
        if key not in seen:
            seen.add(key)
            yield [_cluster(part, own, known) for part in parts]


def _cluster(
    references: Sequence[Reference],
    own: Mapping[Reference, tuple[Resident, ...]],
    known: dict[frozenset[Reference], ReferenceCluster],
) -> ReferenceCluster:
    """References as one cluster; those that access the same place are one part of it."""
    key = frozenset(references)
    if key not in known:
        if len(references) == 1:
            known[key] = ReferenceCluster(tuple(references), own[references[0]])
        else:
            alike = _group_by_key((each.place, each) for each in references)
            parts = alike if len(alike) > 1 else [[each] for each in references]
            clusters = tuple(_cluster(part, own, known) for part in parts)
            known[key] = ReferenceCluster(
                tuple(references), tuple(filter(None, joint_residencies(references))), clusters
            )
    return known[key]


def joint_residencies(references: Sequence[Reference]) -> Iterator[Resident | None]:
    """The ways to keep references to one array as one."""
    if len(references) > 1:
        yield from in_windows(tuple(references))
        yield from stencil_residencies(references)
        for way in (
            row_and_next_element,
            monotone_walk_residency,
            interleaved_residency,
            by_turns,
            row_with_pinned_entries,
            up_to,
        ):
            yield way(references)


def by_array(references: Sequence[Reference]) -> list[list[Reference]]:
    """The references to each array."""
    found: dict[int, list[Reference]] = {}
    for reference in references:
        found.setdefault(id(reference.array), []).append(reference)
    return list(found.values())


def partition_references(references: Sequence[Reference]) -> Iterator[list[list[Reference]]]:
    """References to one array each by itself, all as one, and at each depth those whose rows move alike as one."""
    yield [[each] for each in references]
    if len(references) == 1:
        return
    yield [list(references)]
    yield _group_by_key((walk_key(each), each) for each in references)
    for depth in range(max(len(each.chain) for each in references) + 1):
        # In one iteration of a loop too: a row that is left and the element behind it move alike in the loop around.
        for like, inner in (
            (_moving_dimensions, depth),
            (_row_position, depth),
            (_moving_dimensions, max(0, depth - 1)),
        ):
            yield _group_by_key(
                ((*map(id, each.chain[:depth]), *like(each, inner)) if len(each.chain) >= depth else id(each), each)
                for each in references
            )


def _group_by_key(keyed: Iterable[tuple[object, Reference]]) -> list[list[Reference]]:
    """Those with one key together."""
    parts: dict[object, list[Reference]] = {}
    for key, reference in keyed:
        parts.setdefault(key, []).append(reference)
    return list(parts.values())


def _moving_dimensions(reference: Reference, depth: int) -> tuple[object, ...]:
    """For each dimension whether loops inside a depth move along it."""
    inner = {loop.variable for loop in reference.chain[depth:]}
    return tuple(interval is None or bool(inner & interval[0].names) for interval in reference.place)


def _row_position(reference: Reference, depth: int) -> tuple[object, ...]:
    """For each dimension of rows whether loops inside a depth move along it, else where it is."""
    along = contiguous_dimension(reference.array)
    pairs = zip(reference.place, _moving_dimensions(reference, depth), strict=True)
    return tuple(
        moving or (interval[0] if interval else None) for each, (interval, moving) in enumerate(pairs) if each != along
    )


MAX_STATES, MAX_OPTIONS = 32, 12
MAX_RETENTIONS = 100_000
"""Term products for what spare lines of one plan could do."""
SMALL_CAPACITIES, LARGE_SAMPLE_COUNT = (1, 2, 3, 4), 3
"""So few lines are shared out one by one, at so many of the largest samples."""
MIN_SAVING_SHARE = 50
"""What saves no more than this part of all saves little."""
MAX_FLOAT_VALUE = 10**300
"""Numbers at samples are compared as floats up to here."""
Numbers = Mapping[Resident, tuple[int, int]]
"""Lines and misses of units at a sample."""
Region = frozenset[int]
"""The loops around some accesses, by identity."""


@dataclass(eq=False)
class AllocationPlanner:
    """Finds plans for references; `points` are the samples."""

    references: Sequence[Reference]
    facts: Facts
    points: Sequence[Mapping[str, int]]
    _exact: list[dict[Resident, tuple[Number, Number]]] = field(default_factory=list)
    _units: dict[Resident, int] = field(default_factory=dict)
    _clusters: list[list[ReferenceCluster]] = field(default_factory=list)
    _alone: dict[Reference, tuple[Resident, ...]] = field(default_factory=dict)

    def plans(self) -> list[AllocationPlan]:
        """The plans worth listing, from those that need few lines to those that need many."""
        for each in self.references:
            units = tuple(single_reference_residencies(each))
            self._alone[each] = (*units, *filter(None, reloaded_residencies(each, units, self.references)))
        own = {each: _without_equivalent(units) for each, units in self._alone.items()}
        arrays = [list(enumerate_clusterings(each, own)) for each in by_array(self.references)]
        self._clusters = [
            list(dict.fromkeys(part for clusters in ways for each in clusters for part in each.all_parts))
            for ways in arrays
        ]
        self._evaluate(unit for each in chain.from_iterable(self._clusters) for unit in each.units)
        found: dict[frozenset[Resident], AllocationPlan] = {}
        nothing = tuple(unit for each in self.references for unit in self._alone[each] if unit.scratch)
        of_all = len(nothing) == len(self.references)
        if of_all:
            found[frozenset()] = self._plan(nothing)
        narrow = self._greedy_small_capacity(nothing) if of_all else ()
        for numbered in chain(self._frontier(arrays), narrow):
            units = tuple([self._by_number[each] for each in numbered])
            key = frozenset(units)
            if key not in found:
                found[key] = self._plan(units)
        return list(found.values())

    def at_sample(self, plan: AllocationPlan, sample: int) -> tuple[Number, Number] | None:
        """The lines that a plan needs at a sample, and its misses; None where some unit has no numbers there."""
        exact = self._exact[sample]
        if not all(unit in exact for unit in plan.units):
            return None
        held: list[Number] = [int(anew) for anew in self._uncached_regions(plan.units)]
        for unit in plan.units:
            for place in self._places(unit)[0]:
                held[place] += exact[unit][0]
        return max(held), sum(exact[unit][1] for unit in plan.units)

    def with_few_lines(self, plans: Iterable[AllocationPlan]) -> Iterator[AllocationPlan]:
        """Plans with a line or none for each reference in place of units that save little at a large sample.

        The best for a number of lines fill what others leave free, which at another L may be too much.
        """
        large = [numbers for each, numbers in zip(self.points, self._numbers, strict=True) if each["L"] > 1]
        if not large:
            return
        numbers = large[-1]
        for plan in plans:
            if all(unit in numbers for unit in plan.units):
                least = sum(numbers[unit][1] for unit in plan.units) // MIN_SAVING_SHARE
                units = tuple(chain.from_iterable(self._by_lines(unit, least, numbers) for unit in plan.units))
                if units != plan.units:
                    yield self._plan(units)

    def _by_lines(self, unit: Resident, least: int, numbers: Numbers) -> tuple[Resident, ...]:
        """A line for each reference of a unit, or none, as far as what it keeps more does not save so much."""
        if unit.scratch:
            return (unit,)
        found = []
        for each in unit.references:
            small = [own for own in self._alone[each] if own in numbers and (own.scratch or numbers[own][0] <= 1)]
            few = min((numbers[own][1] for own in small), default=0) + least
            fitting = [own for own in small if numbers[own][1] <= few]
            if not fitting:
                return (unit,)
            found.append(next((own for own in fitting if own.scratch), fitting[0]))
        return tuple(found) if sum(numbers[own][1] for own in found) <= numbers[unit][1] + least else (unit,)

    # Numbers
    def _evaluate(self, units: Iterable[Resident]) -> None:
        """Lines and misses of all units at every sample."""
        self._units = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
        units = self._by_number
        restored = {value: self.facts.restore(value) for unit in units for value in (unit.space, unit.misses)}
        names = sorted({name for value in restored.values() for name in value.names})
        compiler = Compiler(names)
        functions = {value: compiler.of(each) for value, each in restored.items()}
        ready = [(unit, functions[unit.space], functions[unit.misses]) for unit in units]
        self._exact = []
        for point in self.points:
            environment = compiler.environment([point.get(name, 0) for name in names])
            known: dict[Resident, tuple[Number, Number]] = {}
            for unit, space, misses in ready:
                with suppress(EvaluationError):
                    known[unit] = space(environment), misses(environment)
            self._exact.append(known)

    @cached_property
    def _numbers(self) -> list[Numbers]:
        """The same as whole numbers, no larger than floats may be."""
        return [
            {unit: (min(round(x), MAX_FLOAT_VALUE), min(round(y), MAX_FLOAT_VALUE)) for unit, (x, y) in each.items()}
            for each in self._exact
        ]

    @cached_property
    def _regions(self) -> list[Region]:
        """The loops around each reference; inner ones come first."""
        # In the order of the text where they are as deep, so that reports are the same in every run.
        found = dict.fromkeys(frozenset(map(id, each.chain)) for each in self.references)
        return sorted(found, key=len, reverse=True)

    # The best at samples
    def _frontier(self, arrays: Sequence[Sequence[Sequence[ReferenceCluster]]]) -> Iterator[tuple[int, ...]]:
        """For each sample the choices that fetch least for some number of lines: the numbers of their units."""
        ways = ([self._together(clusters) for clusters in each] for each in arrays)
        options = (combine_choices(each).best(MAX_OPTIONS) for each in ways)
        states = reduce(lambda one, other: one.combine(other, MAX_STATES), options)
        return chain.from_iterable(map(states.at, range(len(self.points))))

    def _together(self, clusters: Sequence[ReferenceCluster]) -> ParetoChoices:
        """The best choices of some clusters."""
        first, *others = map(self._choices, clusters)
        return reduce(lambda one, other: one.combine(other, MAX_OPTIONS), others, first.best(MAX_OPTIONS))

    def _greedy_small_capacity(self, nothing: Sequence[Resident]) -> Iterator[Sequence[int]]:
        """For a few lines: to the reference that saves most by a unit that fits beside the others, again and again.

        The best of all choices may miss this, as it compares by the region that takes most.
        """
        units = [unit for first in nothing for unit in _without_equivalent(self._alone[first.references[0]])]
        owners, first = [unit.references[0] for unit in units], [unit.scratch for unit in units]
        known = self._measured(units)
        every = range(len(self.points))
        # Whether it pays to give lines up depends on how long segments are, which differs from sample to sample.
        for sample in every if any(unit.given_up for unit in units) else every[-LARGE_SAMPLE_COUNT:]:
            if all(unit in self._numbers[sample] for unit in nothing):
                yield from known.greedy_fill(sample, owners, first, SMALL_CAPACITIES)

    @memoised
    def _choices(self, cluster: ReferenceCluster) -> ParetoChoices:
        """Those of a cluster: ways to split references have some in common."""
        whole = self._measured(cluster.units)
        return combine_choices([self._together(cluster.parts), whole]) if cluster.parts else whole

    def _measured(self, units: Sequence[Resident]) -> ParetoChoices:
        """Each unit as a choice, where it has numbers."""
        numbers = [self._units[unit] for unit in units]
        held, fetching = self._regions_by_number
        alike, regions = np.unique(
            np.concatenate([held[:, numbers], fetching[:, numbers]], axis=1), axis=0, return_inverse=True
        )
        active, anew = np.split(alike, 2, axis=1)
        lines, misses = self._arrays
        return ParetoChoices(
            lines[:, numbers] * active[:, None],
            np.broadcast_to(anew[:, None], (len(anew), len(lines), len(numbers))),
            misses[:, numbers],
            np.broadcast_to(np.array(numbers, dtype=np.intp)[:, None], (len(lines), len(numbers), 1)),
            regions.reshape(-1),
        )

    @cached_property
    def _by_number(self) -> list[Resident]:
        return list(self._units)

    @cached_property
    def _arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Lines and misses by sample and number of the unit; a unit without numbers fetches without end."""
        nothing = 0, inf
        found = [[numbers.get(unit, nothing) for unit in self._by_number] for numbers in self._numbers]
        both = np.array(found, dtype=float).reshape(len(found), len(self._units), 2)
        return both[:, :, 0], both[:, :, 1]

    @cached_property
    def _regions_by_number(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """By region and number of the unit: where units hold their lines, and where they fetch at every access."""
        active = np.zeros((len(self._regions), len(self._units)), dtype=bool)
        anew = np.zeros_like(active)
        for number, unit in enumerate(self._by_number):
            held, own = self._places(unit)
            active[list(held), number] = True
            if own is not None:
                anew[own, number] = True
        return active, anew

    @memoised
    def _places(self, unit: Resident) -> tuple[tuple[int, ...], int | None]:
        """The regions in which a unit holds its lines, and the one in which it fetches at every access."""
        if unit.scratch:
            return (), self._regions.index(frozenset(map(id, unit.references[0].chain)))
        return self._regions_of(unit.loop, unit.given_up), None

    def _uncached_regions(self, units: Sequence[Resident]) -> list[bool]:
        """In which regions some of the units fetch at every access."""
        found = {self._places(unit)[1] for unit in units}
        return [place in found for place in range(len(self._regions))]

    def _plan(self, units: tuple[Resident, ...]) -> AllocationPlan:
        held: list[list[Resident]] = [[] for _ in self._regions]
        for unit in units:
            for place in self._places(unit)[0]:
                held[place].append(unit)
        needs = tuple(map(self._region_need, map(tuple, held), self._uncached_regions(units)))
        return AllocationPlan(units, needs, total(unit.misses for unit in units), partial(self._retentions, units))

    @memoised
    def _region_need(self, held: tuple[Resident, ...], anew: bool) -> Poly:
        """The lines of a region: plans differ in few units, and most of their regions hold the same."""
        return total(unit.space for unit in held) + int(anew)

    @memoised
    def room(self, lines: Poly) -> Poly:
        """The words that some lines leave free, in terms of sizes: plans have most needs in common."""
        return self.facts.restore(WORDS - LINE * lines)

    def unrounded_needs(self, plan: AllocationPlan) -> tuple[list[list[Poly]], Poly]:
        """What a plan needs, in two ways, and fetches, or more, without rounding to whole lines.

        Raises UnboundedError.
        """
        needs: list[list[Poly]] = [[], []]
        for place, anew in enumerate(self._uncached_regions(plan.units)):
            held = [unit.smooth[0] for unit in plan.units if place in self._places(unit)[0]]
            needs[0].append(sum((each.value for each in held), ZERO) + int(anew))
            needs[1].append(sum((each.uncapped for each in held), ZERO) + int(anew))
        return needs, sum((unit.smooth[1].value for unit in plan.units), ZERO)

    def smooth_misses(self, plans: Iterable[AllocationPlan], facts: Facts) -> list[Poly]:
        """What those plans fetch, without rounding, that fit wherever facts hold."""
        found = []
        for plan in plans:
            with suppress(UnboundedError, TooComplexError):
                needs, misses = self.unrounded_needs(plan)
                if any(all(facts.nonnegative(WORDS - LINE * each) for each in way) for way in needs):
                    found.append(misses)
        return found

    def _regions_of(self, loop: Loop | None, given_up: Chain = ()) -> tuple[int, ...]:
        """The regions in which what is held through a loop, but for some inside, takes room; None is around all."""
        around = ((place, region) for place, region in enumerate(self._regions) if loop is None or id(loop) in region)
        return tuple(place for place, region in around if not any(id(each) in region for each in given_up))

    def _retentions(self, units: tuple[Resident, ...]) -> tuple[tuple[Retention, ...], ...]:
        """For each array what spare lines could do; nothing where that takes too long to find."""
        owner = {id(reference): unit for unit in units for reference in unit.references}
        try:
            with budget(MAX_RETENTIONS, own=True):
                return tuple(tuple(self._of_array(clusters, owner)) for clusters in self._clusters)
        except (TooComplexError, UnboundedError):
            return ()

    def _of_array(self, clusters: Iterable[ReferenceCluster], owner: Mapping[int, Resident]) -> Iterator[Retention]:
        """For clusters of one array, where the units of the plan that hold them hold nothing else."""
        for cluster in clusters:
            units = tuple(dict.fromkeys(owner[id(reference)] for reference in cluster.references))
            if sum(len(unit.references) for unit in units) == len(cluster.references):
                yield from self._in_place_of(units, cluster)

    @memoised
    def _splits(self, _: Array) -> RowSplitSearch:
        return RowSplitSearch(self._alone)

    @memoised
    def _in_place_of(self, units: tuple[Resident, ...], cluster: ReferenceCluster) -> tuple[Retention, ...]:
        """What other units of a cluster, and windows that keep lines, could hold in part."""
        return tuple(self._retention_options(units, cluster))

    def _retention_options(self, units: tuple[Resident, ...], cluster: ReferenceCluster) -> Iterator[Retention]:
        references = frozenset(cluster.references)
        fetched, held = (total(values) for values in zip(*((unit.misses, unit.space) for unit in units), strict=True))
        splits = self._splits(cluster.references[0].array)
        for unit in cluster.units:
            if unit in units or unit.scratch:
                continue
            for classes in unit.classes:
                yield RetainClasses(
                    references, (fetched, unit.misses, *classes), self._regions_of(unit.loop, unit.given_up)
                )
            for side in splits.sides(unit, units) if not unit.given_up else ():
                find = partial(splits.split, unit, units, side)
                yield RetainRows(
                    references, (fetched, unit.misses, held, unit.space), unit.loop, find, self._regions_of
                )
        for loop, lines, windows in cluster.pins:
            moved = lines * windows * max(each.moves for each in cluster.references)
            yield RetainClasses(references, (fetched, moved, ONE, ZERO, lines), self._regions_of(loop))


def pareto_plans(
    planners: Mapping[AllocationPlan, AllocationPlanner], points: Sequence[Mapping[str, int]]
) -> list[AllocationPlan]:
    """The plans that are best for some capacity at large sizes, from few lines to many."""
    for sample in reversed([number for number, point in enumerate(points) if point["L"] > 1]):
        numbers = {plan: found for plan, planner in planners.items() if (found := planner.at_sample(plan, sample))}
        if len(numbers) == len(planners):
            best: list[AllocationPlan] = []
            for plan in sorted(numbers, key=numbers.__getitem__):
                if not best or numbers[plan][1] < numbers[best[-1]][1]:
                    best.append(plan)
            return best
    return [next(iter(planners))]


def _without_equivalent(units: Iterable[Resident]) -> tuple[Resident, ...]:
    """Of units that take and fetch the same the last: it holds its lines no longer than the others."""
    return tuple({(unit.space, unit.misses, unit.scratch): unit for unit in units}.values())
