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
from archline.analysis.cache.residency.group import by_turns, continued, interleaved, pins
from archline.analysis.cache.residency.row_split import Splits
from archline.analysis.cache.residency.single import alone, course, in_windows, resumed, walking
from archline.analysis.cache.residency.stencil import beside, sweeping, up_to
from archline.analysis.cache.upper.evaluate import ByClass, ByRow, Plan, Retention
from archline.analysis.cache.upper.pareto import Choices, together
from archline.expr.intervals import EvaluationError
from archline.ir.factored import UnboundedError
from archline.ir.layout import LINE, WORDS
from archline.ir.tree import Array, Chain, Loop, contiguous_dimension
from archline.records import memoised, record


@record(eq=False)
class Cluster:
    """References to one array: kept as one, by any of `units`, or part by part; one alone has no parts."""

    references: tuple[Reference, ...]
    units: tuple[Resident, ...]
    parts: tuple[Cluster, ...] = ()

    @cached_property
    def pins(self) -> tuple[tuple[Loop | None, Poly, Poly], ...]:
        """The windows in which lines may be pinned."""
        return tuple(pins(self.references))

    @property
    def all_parts(self) -> Iterator[Cluster]:
        """Itself, its parts, and theirs."""
        yield self
        for part in self.parts:
            yield from part.all_parts


def clusterings(
    references: Sequence[Reference], own: Mapping[Reference, tuple[Resident, ...]]
) -> Iterator[list[Cluster]]:
    """The ways to split references to one array into clusters; `own` are the units of each by itself."""
    known: dict[frozenset[Reference], Cluster] = {}
    seen: set[frozenset[frozenset[Reference]]] = set()
    for parts in partitions(references):
        key = frozenset(map(frozenset, parts))
        if key not in seen:
            seen.add(key)
            yield [_cluster(part, own, known) for part in parts]


def _cluster(
    references: Sequence[Reference],
    own: Mapping[Reference, tuple[Resident, ...]],
    known: dict[frozenset[Reference], Cluster],
) -> Cluster:
    """References as one cluster; those that access the same place are one part of it."""
    key = frozenset(references)
    if key not in known:
        if len(references) == 1:
            known[key] = Cluster(tuple(references), own[references[0]])
        else:
            alike = _grouped((each.place, each) for each in references)
            parts = alike if len(alike) > 1 else [[each] for each in references]
            clusters = tuple(_cluster(part, own, known) for part in parts)
            known[key] = Cluster(tuple(references), tuple(filter(None, joint(references))), clusters)
    return known[key]


def joint(references: Sequence[Reference]) -> Iterator[Resident | None]:
    """The ways to keep references to one array as one."""
    if len(references) > 1:
        yield from in_windows(tuple(references))
        yield from sweeping(references)
        for way in (continued, walking, interleaved, by_turns, beside, up_to):
            yield way(references)


def by_array(references: Sequence[Reference]) -> list[list[Reference]]:
    """The references to each array."""
    found: dict[int, list[Reference]] = {}
    for reference in references:
        found.setdefault(id(reference.array), []).append(reference)
    return list(found.values())


def partitions(references: Sequence[Reference]) -> Iterator[list[list[Reference]]]:
    """References to one array each by itself, all as one, and at each depth those whose rows move alike as one."""
    yield [[each] for each in references]
    if len(references) == 1:
        return
    yield [list(references)]
    yield _grouped((course(each), each) for each in references)
    for depth in range(max(len(each.chain) for each in references) + 1):
        # In one iteration of a loop too: a row that is left and the element behind it move alike in the loop around.
        for like, inner in ((_moving, depth), (_row, depth), (_moving, max(0, depth - 1))):
            yield _grouped(
                ((*map(id, each.chain[:depth]), *like(each, inner)) if len(each.chain) >= depth else id(each), each)
                for each in references
            )


def _grouped(keyed: Iterable[tuple[object, Reference]]) -> list[list[Reference]]:
    """Those with one key together."""
    parts: dict[object, list[Reference]] = {}
    for key, reference in keyed:
        parts.setdefault(key, []).append(reference)
    return list(parts.values())


def _moving(reference: Reference, depth: int) -> tuple[object, ...]:
    """For each dimension whether loops inside a depth move along it."""
    inner = {loop.variable for loop in reference.chain[depth:]}
    return tuple(interval is None or bool(inner & interval[0].names) for interval in reference.place)


def _row(reference: Reference, depth: int) -> tuple[object, ...]:
    """For each dimension of rows whether loops inside a depth move along it, else where it is."""
    along = contiguous_dimension(reference.array)
    pairs = zip(reference.place, _moving(reference, depth), strict=True)
    return tuple(
        moving or (interval[0] if interval else None) for each, (interval, moving) in enumerate(pairs) if each != along
    )


MAX_STATES, MAX_OPTIONS = 32, 12
MAX_RETENTIONS = 100_000
"""Term products for what spare lines of one plan could do."""
FEW, LARGE = (1, 2, 3, 4), 3
"""So few lines are shared out one by one, at so many of the largest samples."""
LITTLE = 50
"""What saves no more than this part of all saves little."""
MOST = 10**300
"""Numbers at samples are compared as floats up to here."""
Numbers = Mapping[Resident, tuple[int, int]]
"""Lines and misses of units at a sample."""
Region = frozenset[int]
"""The loops around some accesses, by identity."""


@dataclass(eq=False)
class Planner:
    """Finds plans for references; `points` are the samples."""

    references: Sequence[Reference]
    facts: Facts
    points: Sequence[Mapping[str, int]]
    _exact: list[dict[Resident, tuple[Number, Number]]] = field(default_factory=list)
    _units: dict[Resident, int] = field(default_factory=dict)
    _clusters: list[list[Cluster]] = field(default_factory=list)
    _alone: dict[Reference, tuple[Resident, ...]] = field(default_factory=dict)

    def plans(self) -> list[Plan]:
        """The plans worth listing, from those that need few lines to those that need many."""
        for each in self.references:
            units = tuple(alone(each))
            self._alone[each] = (*units, *filter(None, resumed(each, units, self.references)))
        own = {each: _apart(units) for each, units in self._alone.items()}
        arrays = [list(clusterings(each, own)) for each in by_array(self.references)]
        self._clusters = [
            list(dict.fromkeys(part for clusters in ways for each in clusters for part in each.all_parts))
            for ways in arrays
        ]
        self._evaluate(unit for each in chain.from_iterable(self._clusters) for unit in each.units)
        found: dict[frozenset[Resident], Plan] = {}
        nothing = tuple(unit for each in self.references for unit in self._alone[each] if unit.scratch)
        of_all = len(nothing) == len(self.references)
        if of_all:
            found[frozenset()] = self._plan(nothing)
        narrow = self._narrow(nothing) if of_all else ()
        for numbered in chain(self._frontier(arrays), narrow):
            units = tuple([self._by_number[each] for each in numbered])
            key = frozenset(units)
            if key not in found:
                found[key] = self._plan(units)
        return list(found.values())

    def at_sample(self, plan: Plan, sample: int) -> tuple[Number, Number] | None:
        """The lines that a plan needs at a sample, and its misses; None where some unit has no numbers there."""
        exact = self._exact[sample]
        if not all(unit in exact for unit in plan.units):
            return None
        held: list[Number] = [int(anew) for anew in self._anew(plan.units)]
        for unit in plan.units:
            for place in self._places(unit)[0]:
                held[place] += exact[unit][0]
        return max(held), sum(exact[unit][1] for unit in plan.units)

    def lean(self, plans: Iterable[Plan]) -> Iterator[Plan]:
        """Plans with a line or none for each reference in place of units that save little at a large sample.

        The best for a number of lines fill what others leave free, which at another L may be too much.
        """
        large = [numbers for each, numbers in zip(self.points, self._numbers, strict=True) if each["L"] > 1]
        if not large:
            return
        numbers = large[-1]
        for plan in plans:
            if all(unit in numbers for unit in plan.units):
                least = sum(numbers[unit][1] for unit in plan.units) // LITTLE
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
            {unit: (min(round(x), MOST), min(round(y), MOST)) for unit, (x, y) in each.items()} for each in self._exact
        ]

    @cached_property
    def _regions(self) -> list[Region]:
        """The loops around each reference; inner ones come first."""
        # In the order of the text where they are as deep, so that reports are the same in every run.
        found = dict.fromkeys(frozenset(map(id, each.chain)) for each in self.references)
        return sorted(found, key=len, reverse=True)

    # The best at samples
    def _frontier(self, arrays: Sequence[Sequence[Sequence[Cluster]]]) -> Iterator[tuple[int, ...]]:
        """For each sample the choices that fetch least for some number of lines: the numbers of their units."""
        ways = ([self._together(clusters) for clusters in each] for each in arrays)
        options = (together(each).best(MAX_OPTIONS) for each in ways)
        states = reduce(lambda one, other: one.beside(other, MAX_STATES), options)
        return chain.from_iterable(map(states.at, range(len(self.points))))

    def _together(self, clusters: Sequence[Cluster]) -> Choices:
        """The best choices of some clusters."""
        first, *others = map(self._choices, clusters)
        return reduce(lambda one, other: one.beside(other, MAX_OPTIONS), others, first.best(MAX_OPTIONS))

    def _narrow(self, nothing: Sequence[Resident]) -> Iterator[Sequence[int]]:
        """For a few lines: to the reference that saves most by a unit that fits beside the others, again and again.

        The best of all choices may miss this, as it compares by the region that takes most.
        """
        units = [unit for first in nothing for unit in _apart(self._alone[first.references[0]])]
        owners, first = [unit.references[0] for unit in units], [unit.scratch for unit in units]
        known = self._measured(units)
        every = range(len(self.points))
        # Whether it pays to give lines up depends on how long segments are, which differs from sample to sample.
        for sample in every if any(unit.given_up for unit in units) else every[-LARGE:]:
            if all(unit in self._numbers[sample] for unit in nothing):
                yield from known.filled(sample, owners, first, FEW)

    @memoised
    def _choices(self, cluster: Cluster) -> Choices:
        """Those of a cluster: ways to split references have some in common."""
        whole = self._measured(cluster.units)
        return together([self._together(cluster.parts), whole]) if cluster.parts else whole

    def _measured(self, units: Sequence[Resident]) -> Choices:
        """Each unit as a choice, where it has numbers."""
        numbers = [self._units[unit] for unit in units]
        held, fetching = self._regions_by_number
        alike, regions = np.unique(
            np.concatenate([held[:, numbers], fetching[:, numbers]], axis=1), axis=0, return_inverse=True
        )
        active, anew = np.split(alike, 2, axis=1)
        lines, misses = self._arrays
        return Choices(
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

    def _anew(self, units: Sequence[Resident]) -> list[bool]:
        """In which regions some of the units fetch at every access."""
        found = {self._places(unit)[1] for unit in units}
        return [place in found for place in range(len(self._regions))]

    def _plan(self, units: tuple[Resident, ...]) -> Plan:
        held: list[list[Resident]] = [[] for _ in self._regions]
        for unit in units:
            for place in self._places(unit)[0]:
                held[place].append(unit)
        needs = tuple(map(self._need, map(tuple, held), self._anew(units)))
        return Plan(units, needs, total(unit.misses for unit in units), partial(self._retentions, units))

    @memoised
    def _need(self, held: tuple[Resident, ...], anew: bool) -> Poly:
        """The lines of a region: plans differ in few units, and most of their regions hold the same."""
        return total(unit.space for unit in held) + int(anew)

    @memoised
    def room(self, lines: Poly) -> Poly:
        """The words that some lines leave free, in terms of sizes: plans have most needs in common."""
        return self.facts.restore(WORDS - LINE * lines)

    def smooth(self, plan: Plan) -> tuple[list[list[Poly]], Poly]:
        """What a plan needs, in two ways, and fetches, or more, without rounding to whole lines.

        Raises UnboundedError.
        """
        needs: list[list[Poly]] = [[], []]
        for place, anew in enumerate(self._anew(plan.units)):
            held = [unit.smooth[0] for unit in plan.units if place in self._places(unit)[0]]
            needs[0].append(sum((each.value for each in held), ZERO) + int(anew))
            needs[1].append(sum((each.uncapped for each in held), ZERO) + int(anew))
        return needs, sum((unit.smooth[1].value for unit in plan.units), ZERO)

    def smooth_misses(self, plans: Iterable[Plan], facts: Facts) -> list[Poly]:
        """What those plans fetch, without rounding, that fit wherever facts hold."""
        found = []
        for plan in plans:
            with suppress(UnboundedError, TooComplexError):
                needs, misses = self.smooth(plan)
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

    def _of_array(self, clusters: Iterable[Cluster], owner: Mapping[int, Resident]) -> Iterator[Retention]:
        """For clusters of one array, where the units of the plan that hold them hold nothing else."""
        for cluster in clusters:
            units = tuple(dict.fromkeys(owner[id(reference)] for reference in cluster.references))
            if sum(len(unit.references) for unit in units) == len(cluster.references):
                yield from self._in_place_of(units, cluster)

    @memoised
    def _splits(self, _: Array) -> Splits:
        return Splits(self._alone)

    @memoised
    def _in_place_of(self, units: tuple[Resident, ...], cluster: Cluster) -> tuple[Retention, ...]:
        """What other units of a cluster, and windows that keep lines, could hold in part."""
        return tuple(self._instead(units, cluster))

    def _instead(self, units: tuple[Resident, ...], cluster: Cluster) -> Iterator[Retention]:
        references = frozenset(cluster.references)
        fetched, held = (total(values) for values in zip(*((unit.misses, unit.space) for unit in units), strict=True))
        splits = self._splits(cluster.references[0].array)
        for unit in cluster.units:
            if unit in units or unit.scratch:
                continue
            for classes in unit.classes:
                yield ByClass(references, (fetched, unit.misses, *classes), self._regions_of(unit.loop, unit.given_up))
            for side in splits.sides(unit, units) if not unit.given_up else ():
                find = partial(splits.split, unit, units, side)
                yield ByRow(references, (fetched, unit.misses, held, unit.space), unit.loop, find, self._regions_of)
        for loop, lines, windows in cluster.pins:
            moved = lines * windows * max(each.moves for each in cluster.references)
            yield ByClass(references, (fetched, moved, ONE, ZERO, lines), self._regions_of(loop))


def shown(planners: Mapping[Plan, Planner], points: Sequence[Mapping[str, int]]) -> list[Plan]:
    """The plans that are best for some capacity at large sizes, from few lines to many."""
    for sample in reversed([number for number, point in enumerate(points) if point["L"] > 1]):
        numbers = {plan: found for plan, planner in planners.items() if (found := planner.at_sample(plan, sample))}
        if len(numbers) == len(planners):
            best: list[Plan] = []
            for plan in sorted(numbers, key=numbers.__getitem__):
                if not best or numbers[plan][1] < numbers[best[-1]][1]:
                    best.append(plan)
            return best
    return [next(iter(planners))]


def _apart(units: Iterable[Resident]) -> tuple[Resident, ...]:
    """Of units that take and fetch the same the last: it holds its lines no longer than the others."""
    return tuple({(unit.space, unit.misses, unit.scratch): unit for unit in units}.values())
