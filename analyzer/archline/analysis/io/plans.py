"""Which references keep lines, and how long: the choices that fetch least for some capacity at some sizes.

Every choice bounds io wherever its lines fit; which are listed is found by comparing all of them at a few sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from archline.algebra.compiled import Compiler
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.io.footprint import Reference
from archline.analysis.io.units import Unit, alone, together

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
    """Units with the lines that they take in each region and those that they fetch, at a sample."""

    space: tuple[int, ...]
    misses: int
    units: tuple[Unit, ...]

    @property
    def most(self) -> int:
        return max(self.space)

    def beside(self, other: _Choice) -> _Choice:
        space = tuple(x + y for x, y in zip(self.space, other.space, strict=True))
        return _Choice(space, self.misses + other.misses, (*self.units, *other.units))


@dataclass(eq=False)
class Planner:
    """Finds plans for references; `points` are the samples."""

    references: Sequence[Reference]
    facts: Facts
    points: Sequence[Mapping[str, int]]
    _numbers: list[dict[Unit, tuple[int, int]]] = field(default_factory=list)

    def plans(self) -> list[Plan]:
        """The plans worth telling, from those that need few lines to those that need many."""
        arrays = list(self._arrays())
        self._evaluate(unit for ways in arrays for slots in ways for slot in slots for unit in slot)
        found: dict[frozenset[Unit], Plan] = {}
        for place in range(len(self.points)):
            for choice in self._frontier(arrays, place):
                key = frozenset(choice.units)
                if key not in found:
                    found[key] = self._plan(choice.units)
        return list(found.values())

    # The options
    def _arrays(self) -> Iterator[list[list[list[Unit]]]]:
        """For each array the ways to hold it: slots with the units that each can be."""
        by_array: dict[int, list[Reference]] = {}
        for reference in self.references:
            by_array.setdefault(id(reference.array), []).append(reference)
        for references in by_array.values():
            singles = {id(each): _apart(alone(each)) for each in references}
            ways = [[singles[id(each)] for each in references]]
            for members, depth in _common(references):
                unit = together(members, depth)
                if unit is not None:
                    ways.append([[unit], *(singles[id(each)] for each in references if each not in members)])
            yield ways

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

    # The best at a sample
    def _frontier(self, arrays: Sequence[Sequence[tuple[Unit, ...]]], place: int) -> list[_Choice]:
        """The choices that fetch least for some number of lines."""
        regions = list({frozenset(map(id, each.chain)) for each in self.references})
        numbers = self._numbers[place]
        states = [_Choice((0,) * len(regions), 0, ())]
        for ways in arrays:
            options: list[_Choice] = []
            for slots in ways:
                held = [_Choice((0,) * len(regions), 0, ())]
                for slot in slots:
                    choices = [_choice(unit, numbers, regions) for unit in slot if unit in numbers]
                    held = _best([each.beside(choice) for each in held for choice in choices], MAX_OPTIONS)
                options += held
            best = _best(options, MAX_OPTIONS)
            states = _best([state.beside(option) for state in states for option in best], MAX_STATES)
        return states

    def _plan(self, units: tuple[Unit, ...]) -> Plan:
        regions = {frozenset(map(id, each.chain)) for each in self.references}
        spare = ONE if any(unit.scratch for unit in units) else ZERO
        needs = ZERO
        for region in sorted(regions, key=len, reverse=True):
            lines = sum((unit.space for unit in units if _active(unit, region)), spare)
            needs = self.facts.maximum(needs, lines) if needs else lines
        return Plan(units, needs or ONE, sum((unit.misses for unit in units), ZERO))


def _active(unit: Unit, region: Region) -> bool:
    """Whether a unit holds its lines while accesses of a region are made."""
    return unit.loop is None or id(unit.loop) in region


def _choice(unit: Unit, numbers: Mapping[Unit, tuple[int, int]], regions: Sequence[Region]) -> _Choice:
    space, misses = numbers[unit]
    return _Choice(tuple(space if _active(unit, region) else 0 for region in regions), misses, (unit,))


def _best(choices: Iterable[_Choice], limit: int) -> list[_Choice]:
    """Those that no other one beats in lines and misses both; where they are many, evenly spread."""
    kept: list[_Choice] = []
    for choice in sorted(choices, key=lambda each: (each.most, each.misses, sum(each.space), len(each.units))):
        if not kept or choice.misses < kept[-1].misses:
            kept.append(choice)
    if len(kept) <= limit:
        return kept
    return [kept[index * (len(kept) - 1) // (limit - 1)] for index in range(limit)]


def _apart(units: Iterable[Unit]) -> list[Unit]:
    """Of units that take and fetch the same the last: it holds its lines no longer than the others."""
    return list({(unit.space, unit.misses): unit for unit in units}.values())


def _common(references: Sequence[Reference]) -> Iterator[tuple[list[Reference], int]]:
    """The loops around two references or more, and those inside each."""
    if len(references) < 2:
        return
    yield list(references), 0
    seen: set[int] = set()
    for reference in references:
        for depth, loop in enumerate(reference.chain, 1):
            members = [each for each in references if loop in each.chain]
            if len(members) > 1 and id(loop) not in seen:
                seen.add(id(loop))
                yield members, depth

