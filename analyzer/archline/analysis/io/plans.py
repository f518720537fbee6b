"""Which references keep lines, and how long: the choices that fetch least for some capacity at some sizes.

Every choice bounds io wherever its lines fit; which are listed is found by comparing all of them at a few sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from archline.algebra.compiled import Compiler, Compute, Environment
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError, budget
from archline.analysis.io.accesses import Loop
from archline.analysis.io.choices import Choices, together
from archline.analysis.io.clusters import Cluster, by_array, clusterings
from archline.analysis.io.footprint import Reference
from archline.analysis.io.growing import Growing, growing
from archline.analysis.io.product import UnboundedError
from archline.analysis.io.splitting import Splits
from archline.analysis.io.units import Unit, alone
from archline.analysis.io.ways import Mixture, Parting, Plan, Staying, Way

MAX_STATES, MAX_OPTIONS = 32, 12
MAX_MIXING = 100_000
"""Term products for the mixtures of one plan."""
FEW, LARGE = (1, 2, 3, 4), 3
"""So few lines are shared out one by one, at so many of the largest samples."""
LITTLE = 50
"""What saves no more than this part of all saves little."""
Numbers = Mapping[Unit, tuple[int, int]]
"""Lines and misses of units at a sample."""
Region = frozenset[int]
"""The loops around some accesses, by identity."""


@dataclass(eq=False)
class Planner:
    """Finds plans for references; `points` are the samples."""

    references: Sequence[Reference]
    facts: Facts
    points: Sequence[Mapping[str, int]]
    _numbers: list[dict[Unit, tuple[int, int]]] = field(default_factory=list)
    _clusters: list[list[Cluster]] = field(default_factory=list)
    _alone: dict[Reference, tuple[Unit, ...]] = field(default_factory=dict)
    _taken: dict[Unit, tuple[list[bool], list[bool]]] = field(default_factory=dict)
    _held: dict[tuple[Unit, ...], Poly] = field(default_factory=dict)
    _mixed: dict[tuple[Cluster, tuple[Unit, ...]], tuple[Way, ...]] = field(default_factory=dict)
    _splits: dict[int, Splits] = field(default_factory=dict)

    def plans(self) -> list[Plan]:
        """The plans worth telling, from those that need few lines to those that need many."""
        self._alone = {each: tuple(alone(each)) for each in self.references}
        own = {each: _apart(units) for each, units in self._alone.items()}
        arrays = [list(clusterings(each, own)) for each in by_array(self.references)]
        self._clusters = [
            list(dict.fromkeys(part for clusters in ways for each in clusters for part in each.all_parts))
            for ways in arrays
        ]
        self._evaluate(unit for each in chain.from_iterable(self._clusters) for unit in each.units)
        found: dict[frozenset[Unit], Plan] = {}
        nothing = tuple(unit for each in self.references for unit in self._alone[each] if unit.scratch)
        of_all = len(nothing) == len(self.references)
        if of_all:
            found[frozenset()] = self._plan(nothing)
        for place in range(len(self.points)):
            for units in self._frontier(arrays, place).units:
                key = frozenset(units)
                if key not in found:
                    found[key] = self._plan(units)
        for numbers in self._numbers[-LARGE:] if of_all else ():
            for few in FEW if all(unit in numbers for unit in nothing) else ():
                units = self._narrow(nothing, few, numbers)
                key = frozenset(units)
                if key not in found:
                    found[key] = self._plan(units)
        return list(found.values())

    def told(self, plans: Sequence[Plan]) -> list[Plan]:
        """The plans that are best for some capacity at large sizes, from few lines to many."""
        environments, known = self._compiled({value for plan in plans for value in (*plan.needs, plan.misses)})
        for environment in reversed(environments([each for each in self.points if each["L"] > 1])):
            try:
                lines = {plan: max(known[each](environment) for each in plan.needs) for plan in plans}
                misses = {plan: known[plan.misses](environment) for plan in plans}
            except EvaluationError:
                continue
            best: list[Plan] = []
            for plan in sorted(plans, key=lambda each: (lines[each], misses[each])):
                if not best or misses[plan] < misses[best[-1]]:
                    best.append(plan)
            return best
        return list(plans[:1])

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

    def _by_lines(self, unit: Unit, least: int, numbers: Numbers) -> tuple[Unit, ...]:
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
    def _evaluate(self, units: Iterable[Unit]) -> None:
        """Lines and misses of all units at every sample."""
        units = list(dict.fromkeys(units))
        environments, functions = self._compiled({value for unit in units for value in (unit.space, unit.misses)})
        self._numbers = []
        for environment in environments(self.points):
            known = {}
            for unit in units:
                try:
                    numbers = functions[unit.space](environment), functions[unit.misses](environment)
                except EvaluationError:
                    continue
                known[unit] = round(numbers[0]), round(numbers[1])
            self._numbers.append(known)

    def _compiled(
        self, values: Iterable[Poly]
    ) -> tuple[Callable[[Sequence[Mapping[str, int]]], list[Environment]], dict[Poly, Compute]]:
        """Environments at points, and values as functions of one."""
        restored = {value: self.facts.restore(value) for value in values}
        names = sorted({name for value in restored.values() for name in value.names})
        compiler = Compiler(names)
        functions = {value: compiler.of(each) for value, each in restored.items()}

        def environments(points: Sequence[Mapping[str, int]]) -> list[Environment]:
            return [compiler.environment([point.get(name, 0) for name in names]) for point in points]

        return environments, functions

    @cached_property
    def _regions(self) -> list[Region]:
        """The loops around each reference; inner ones come first."""
        # In the order of the text where they are as deep, so that reports are the same in every run.
        found = dict.fromkeys(frozenset(map(id, each.chain)) for each in self.references)
        return sorted(found, key=len, reverse=True)

    # The best at a sample
    def _frontier(self, arrays: Sequence[Sequence[Sequence[Cluster]]], place: int) -> Choices:
        """The choices that fetch least for some number of lines."""
        numbers = self._numbers[place]
        known: dict[Cluster, Choices] = {}
        states = self._nothing
        for ways in arrays:
            options = []
            for clusters in ways:
                held = self._nothing
                for cluster in clusters:
                    if cluster not in known:
                        known[cluster] = self._choices(cluster, numbers)
                    held = held.beside(known[cluster], MAX_OPTIONS)
                options.append(held)
            states = states.beside(together(options).best(MAX_OPTIONS), MAX_STATES)
        return states

    def _narrow(self, nothing: Sequence[Unit], capacity: int, numbers: Numbers) -> tuple[Unit, ...]:
        """For a few lines: to the reference that saves most by a unit that fits beside the others, again and again.

        The best of all choices may miss this, as it compares by the region that takes most.
        """
        units = [unit for first in nothing for unit in _apart(self._alone[first.references[0]]) if unit in numbers]
        owners = [unit.references[0] for unit in units]
        return self._measured(units, numbers).filled(owners, [unit.scratch for unit in units], capacity)

    @property
    def _nothing(self) -> Choices:
        return Choices.nothing(len(self._regions))

    def _choices(self, cluster: Cluster, numbers: Numbers) -> Choices:
        whole = self._measured(cluster.units, numbers)
        if not cluster.parts:
            return whole
        apart = self._nothing
        for part in cluster.parts:
            apart = apart.beside(self._choices(part, numbers), MAX_OPTIONS)
        return together([apart, whole])

    def _measured(self, units: Sequence[Unit], numbers: Numbers) -> Choices:
        """Each unit as a choice, but for those that have no numbers."""
        known = [unit for unit in units if unit in numbers]
        masks = [self._masks(unit) for unit in known]
        wide = len(known), len(self._regions)
        lines = np.array([numbers[unit][0] for unit in known], dtype=float).reshape(-1, 1)
        return Choices(
            np.array([active for active, _ in masks], dtype=float).reshape(wide) * lines,
            np.array([anew for _, anew in masks], dtype=bool).reshape(wide),
            np.array([numbers[unit][1] for unit in known], dtype=float),
            tuple((unit,) for unit in known),
        )

    def _masks(self, unit: Unit) -> tuple[list[bool], list[bool]]:
        """In which regions a unit holds its lines, and in which it fetches at every access."""
        if unit not in self._taken:
            active = [_active(unit, region) for region in self._regions]
            self._taken[unit] = active, [_fetches_anew(unit, region) for region in self._regions]
        return self._taken[unit]

    def _plan(self, units: tuple[Unit, ...]) -> Plan:
        masks = list(map(self._masks, units))
        needs: list[Poly] = []
        for place in range(len(self._regions)):
            held = tuple([unit for unit, (active, _) in zip(units, masks, strict=True) if active[place]])
            # Plans differ in few units, so that most regions hold what they hold in another plan.
            if held not in self._held:
                self._held[held] = sum((unit.space for unit in held), ZERO)
            needs.append(self._held[held] + int(any(anew[place] for _, anew in masks)))
        misses = sum((unit.misses for unit in units), ZERO)
        return Plan(units, tuple(needs), misses, lambda: self._within_budget(units))

    def smooth(self, plan: Plan) -> tuple[list[list[Poly]], Poly]:
        """What a plan needs, in two ways, and fetches, or more, without rounding to whole lines.

        Raises UnboundedError.
        """
        needs: list[list[Poly]] = [[], []]
        for region in self._regions:
            held = [unit.smooth[0] for unit in plan.units if _active(unit, region)]
            more = int(any(_fetches_anew(unit, region) for unit in plan.units))
            needs[0].append(sum((each.value for each in held), ZERO) + more)
            needs[1].append(sum((each.uncapped for each in held), ZERO) + more)
        return needs, sum((unit.smooth[1].value for unit in plan.units), ZERO)

    def _regions_of(self, loop: Loop | None) -> tuple[int, ...]:
        """The regions in which what is held through a loop takes room."""
        return tuple(place for place, region in enumerate(self._regions) if _holds(loop, region))

    def _within_budget(self, units: tuple[Unit, ...]) -> tuple[tuple[Way, ...], ...]:
        """The mixtures of a plan, none where they are too large to find: the plan's own bound holds without them."""
        try:
            with budget(MAX_MIXING, own=True):
                return tuple(self._mixtures(units))
        except (TooComplexError, UnboundedError):
            return ()

    def _mixtures(self, units: tuple[Unit, ...]) -> Iterator[tuple[Way, ...]]:
        """For each array what spare lines could do."""
        owner = {id(reference): unit for unit in units for reference in unit.references}
        for clusters in self._clusters:
            found: list[Way] = []
            for cluster in clusters:
                fine = tuple(dict.fromkeys(owner[id(reference)] for reference in cluster.references))
                if sum(len(unit.references) for unit in fine) > len(cluster.references):
                    continue
                if (cluster, fine) not in self._mixed:
                    self._mixed[cluster, fine] = tuple(self._beside(cluster, fine))
                found += self._mixed[cluster, fine]
            for held in self._growing[id(clusters[0].references[0].array)]:
                # A unit of several references fetches what they share once.
                fetching = {
                    frozenset(owner[id(each)] for each in group)
                    for group in held.groups
                    if all(_begins_anew(owner[id(each)], each, held.loop) for each in group)
                }
                if fetching:
                    owners = dict.fromkeys(chain.from_iterable(fetching))
                    saving = tuple(chain.from_iterable(unit.references for unit in owners))
                    found.append(Staying(saving, held, len(fetching), self._regions_of(held.loop)))
            yield tuple(found)

    def _fetches_less(self, unit: Unit, others: Sequence[Unit]) -> bool:
        """Whether a unit fetches less than others, by a tenth at least, at some sample."""
        return any(
            numbers[unit][1] * 10 <= sum(numbers[each][1] for each in others) * 9
            for numbers in self._numbers
            if all(each in numbers for each in (unit, *others))
        )

    @cached_property
    def _growing(self) -> dict[int, list[Growing]]:
        """What may stay of each array."""
        return {id(each[0].array): list(growing(each)) for each in by_array(self.references)}

    def _beside(self, cluster: Cluster, fine: tuple[Unit, ...]) -> Iterator[Way]:
        """What spare lines could do for a cluster that these units hold."""
        fetched = sum((unit.misses for unit in fine), ZERO)
        splits = self._splits.setdefault(id(cluster.references[0].array), Splits())
        for unit in cluster.units:
            if unit not in fine and not unit.scratch:
                regions = self._regions_of(unit.loop)
                yield from (
                    Mixture(cluster.references, fetched, unit.misses, *classes, regions) for classes in unit.classes
                )
                for split in splits.of(unit, fine) if self._fetches_less(unit, fine) else ():
                    yield Parting(split, tuple(self._regions_of(half.loop) for half in split.halves))
        for pin in cluster.pins:
            kept = pin.lines * pin.windows
            yield Mixture(cluster.references, fetched, kept, ONE, ZERO, pin.lines, self._regions_of(pin.loop))


def _holds(loop: Loop | None, region: Region) -> bool:
    """Whether a loop is among those of a region; None is around all."""
    return loop is None or id(loop) in region


def _active(unit: Unit, region: Region) -> bool:
    """Whether a unit holds its lines while accesses of a region are made."""
    return not unit.scratch and _holds(unit.loop, region)


def _fetches_anew(unit: Unit, region: Region) -> bool:
    """Whether accesses of the region use the line that is fetched each time."""
    return unit.scratch and frozenset(map(id, unit.references[0].chain)) == region


def _begins_anew(unit: Unit, reference: Reference, loop: Loop) -> bool:
    """Whether a unit keeps nothing of a reference from one iteration of a loop to the next."""
    return unit.scratch or unit.loop in reference.chain[reference.chain.index(loop) + 1 :]


def _apart(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Of units that take and fetch the same the last: it holds its lines no longer than the others."""
    return tuple({(unit.space, unit.misses, unit.scratch): unit for unit in units}.values())
