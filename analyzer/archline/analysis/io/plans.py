"""Which references keep lines, and how long: the choices that fetch least for some capacity at some sizes.

Every choice bounds io wherever its lines fit; which are listed is found by comparing all of them at a few sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from archline.algebra.compiled import Compiler
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.maximum import largest
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.io.footprint import Reference
from archline.analysis.io.units import Unit, alone, shared, together

MAX_STATES, MAX_OPTIONS = 32, 12
Region = frozenset[int]
"""The loops around some accesses, by identity."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Units that hold every reference: where the cache has `needs` lines, io is at most `misses`."""

    units: tuple[Unit, ...]
    needs: Poly
    misses: Poly


@dataclass(frozen=True)
class _Choice:
    """Units, the lines that they take in each region, those in which they fetch at every access, and all misses."""

    space: tuple[int, ...]
    scratch: tuple[bool, ...]
    misses: int
    units: tuple[Unit, ...] = ()

    @cached_property
    def most(self) -> int:
        return max(map(sum, zip(self.space, self.scratch, strict=True)), default=1)

    def beside(self, other: _Choice) -> _Choice:
        space = tuple(map(sum, zip(self.space, other.space, strict=True)))
        scratch = tuple(map(any, zip(self.scratch, other.scratch, strict=True)))
        return _Choice(space, scratch, self.misses + other.misses, (*self.units, *other.units))


@dataclass(frozen=True, eq=False)
class Cluster:
    """References to one array: kept as one, by any of `joint`, or each by itself, by one of its own."""

    joint: tuple[Unit, ...]
    singles: tuple[tuple[Unit, ...], ...]


@dataclass(eq=False)
class Planner:
    """Finds plans for references; `points` are the samples."""

    references: Sequence[Reference]
    facts: Facts
    points: Sequence[Mapping[str, int]]
    _numbers: list[dict[Unit, tuple[int, int]]] = field(default_factory=list)

    def plans(self) -> list[Plan]:
        """The plans worth telling, from those that need few lines to those that need many."""
        arrays = [list(self._partitions(each)) for each in by_array(self.references)]
        clusters = {cluster for ways in arrays for clusters in ways for cluster in clusters}
        self._evaluate(unit for each in clusters for unit in (*each.joint, *chain.from_iterable(each.singles)))
        found: dict[frozenset[Unit], Plan] = {}
        nothing = tuple(unit for each in self.references for unit in alone(each) if unit.scratch)
        if len(nothing) == len(self.references):
            found[frozenset()] = self._plan(nothing)
        for place in range(len(self.points)):
            for choice in self._frontier(arrays, place):
                key = frozenset(choice.units)
                if key not in found:
                    found[key] = self._plan(choice.units)
        return list(found.values())

    # The options
    def _partitions(self, references: Sequence[Reference]) -> Iterator[list[Cluster]]:
        """The ways to split references to one array into clusters."""
        singles = {id(each): _apart(alone(each)) for each in references}
        known: dict[frozenset[int], Cluster] = {}
        seen: set[frozenset[frozenset[int]]] = set()
        for parts in partitions(references):
            key = frozenset(frozenset(map(id, part)) for part in parts)
            if key in seen:
                continue
            seen.add(key)
            clusters = []
            for part in parts:
                members = frozenset(map(id, part))
                if members not in known:
                    known[members] = Cluster(tuple(joint(part)), tuple(singles[id(each)] for each in part))
                clusters.append(known[members])
            yield clusters

    # Numbers
    def _evaluate(self, units: Iterable[Unit]) -> None:
        """Lines and misses of all units at every sample."""
        units = list(dict.fromkeys(units))
        names = sorted({name for unit in units for name in unit.space.names | unit.misses.names})
        compiler = Compiler(names)
        functions = [
            (unit, compiler.of(self.facts.restore(unit.space)), compiler.of(self.facts.restore(unit.misses)))
            for unit in units
        ]
        self._numbers = []
        for point in self.points:
            environment = compiler.environment([point.get(name, 0) for name in names])
            known = {}
            for unit, space, misses in functions:
                try:
                    known[unit] = round(space(environment)), round(misses(environment))
                except EvaluationError:
                    continue
            self._numbers.append(known)

    @cached_property
    def _regions(self) -> list[Region]:
        """The loops around each reference; inner ones come first."""
        return sorted({frozenset(map(id, each.chain)) for each in self.references}, key=len, reverse=True)

    # The best at a sample
    def _frontier(self, arrays: Sequence[Sequence[Sequence[Cluster]]], place: int) -> list[_Choice]:
        """The choices that fetch least for some number of lines."""
        numbers = self._numbers[place]
        known: dict[Cluster, list[_Choice]] = {}
        states = [self._nothing]
        for ways in arrays:
            options: list[_Choice] = []
            for clusters in ways:
                held = [self._nothing]
                for cluster in clusters:
                    if cluster not in known:
                        known[cluster] = self._choices(cluster, numbers)
                    held = _combined(held, known[cluster], MAX_OPTIONS)
                options += held
            states = _combined(states, _best(options, MAX_OPTIONS), MAX_STATES)
        return states

    @property
    def _nothing(self) -> _Choice:
        return _Choice((0,) * len(self._regions), (False,) * len(self._regions), 0)

    def _choices(self, cluster: Cluster, numbers: Mapping[Unit, tuple[int, int]]) -> list[_Choice]:
        apart = [self._nothing]
        for units in cluster.singles:
            choices = [self._choice(unit, numbers) for unit in units if unit in numbers]
            apart = _combined(apart, choices, MAX_OPTIONS)
        return apart + [self._choice(unit, numbers) for unit in cluster.joint if unit in numbers]

    def _choice(self, unit: Unit, numbers: Mapping[Unit, tuple[int, int]]) -> _Choice:
        space, misses = numbers[unit]
        held = tuple(space if _active(unit, region) else 0 for region in self._regions)
        return _Choice(held, tuple(_fetches_anew(unit, region) for region in self._regions), misses, (unit,))

    def _plan(self, units: tuple[Unit, ...]) -> Plan:
        needs: list[Poly] = []
        for region in self._regions:
            lines = sum((unit.space for unit in units if _active(unit, region)), ZERO)
            needs.append(lines + int(any(_fetches_anew(unit, region) for unit in units)))
        return Plan(units, largest(needs or [ONE], self.facts), sum((unit.misses for unit in units), ZERO))


def _active(unit: Unit, region: Region) -> bool:
    """Whether a unit holds its lines while accesses of a region are made."""
    return not unit.scratch and (unit.loop is None or id(unit.loop) in region)


def _fetches_anew(unit: Unit, region: Region) -> bool:
    """Whether accesses of the region use the line that is fetched each time."""
    return unit.scratch and frozenset(map(id, unit.references[0].chain)) == region


def _combined(held: Sequence[_Choice], more: Sequence[_Choice], limit: int) -> list[_Choice]:
    return _best([each.beside(choice) for each in held for choice in more], limit)


def _best(choices: Iterable[_Choice], limit: int) -> list[_Choice]:
    """Those that no other one beats in lines and misses both; where they are many, evenly spread.

    Apart where some accesses share a line that is fetched each time, as others may share it too.
    """
    ranked = sorted(choices, key=lambda each: (each.most, each.misses, sum(each.space), len(each.units)))
    found: list[_Choice] = []
    for sharing in (False, True):
        kept: list[_Choice] = []
        for choice in ranked:
            if any(choice.scratch) == sharing and (not kept or choice.misses < kept[-1].misses):
                kept.append(choice)
        if len(kept) > limit:
            kept = [kept[index * (len(kept) - 1) // (limit - 1)] for index in range(limit)]
        found += kept
    return found


def _apart(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Of units that take and fetch the same the last: it holds its lines no longer than the others."""
    return tuple({(unit.space, unit.misses, unit.scratch): unit for unit in units}.values())


def joint(references: Sequence[Reference]) -> Iterator[Unit]:
    """The ways to keep references to one array as one."""
    if len(references) > 1:
        for depth in range(len(shared(references)) + 1):
            unit = together(references, depth)
            if unit is not None:
                yield unit


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
    for depth in range(max(len(each.chain) for each in references) + 1):
        parts: dict[object, list[Reference]] = {}
        for place, reference in enumerate(references):
            key: object = place
            if len(reference.chain) >= depth:
                key = (*map(id, reference.chain[:depth]), *_moving(reference, depth))
            parts.setdefault(key, []).append(reference)
        yield list(parts.values())


def _moving(reference: Reference, depth: int) -> tuple[bool, ...]:
    """For each dimension whether loops inside a depth move along it."""
    inner = {loop.variable for loop in reference.chain[depth:]}
    return tuple(interval is None or bool(inner & interval[0].names) for interval in reference.place)
