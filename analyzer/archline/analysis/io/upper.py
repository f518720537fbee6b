"""Upper bounds on io under optimal replacement: the least of what plans fetch whose lines fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

from archline.algebra.compiled import Compiler, Compute, Environment, Number
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.analysis.io.plans import Plan

_Way = tuple[Compute, Compute, Compute, Compute, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Upper:
    """io <= the misses of every plan whose needs are at most Z // L lines."""

    plans: Sequence[Plan]
    facts: Facts

    @cached_property
    def _compiled(self) -> tuple[tuple[str, ...], Compiler, list[_Ready]]:
        restore = self.facts.restore
        values = {value for plan in self.plans for value in (*plan.needs, plan.misses)}
        mixtures = [mixture for plan in self.plans for each in plan.mixtures for mixture in each]
        values |= {value for each in mixtures for value in (each.fine, each.coarse, each.each, each.classes)}
        restored = {value: restore(value) for value in values}
        names = tuple(sorted({name for value in restored.values() for name in value.names} | {"L"}))
        compiler = Compiler(names)
        known = {value: compiler.of(each) for value, each in restored.items()}
        ready = [
            _Ready(
                [known[each] for each in plan.needs],
                known[plan.misses],
                [
                    [(known[x.fine], known[x.coarse], known[x.each], known[x.classes], x.regions) for x in each]
                    for each in plan.mixtures
                ],
            )
            for plan in self.plans
        ]
        return names, compiler, ready

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols on which the bound depends, beside Z."""
        return self._compiled[0]

    def at(self, point: Mapping[str, int]) -> int:
        """The bound at sizes, Z and L; Z >= L. Raises EvaluationError."""
        names, compiler, ready = self._compiled
        missing = [name for name in names if name not in point]
        if missing:
            raise EvaluationError(f"`{missing[0]}` has no value")
        lines = point["Z"] // point["L"]
        environment = compiler.environment([point[name] for name in names])
        found = [bound for each in ready if (bound := each.at(environment, lines)) is not None]
        if not found:
            raise EvaluationError("no bound was found for so few lines")
        return floor(min(found))


@dataclass(frozen=True, eq=False)
class _Ready:
    """A plan as functions of an environment."""

    needs: list[Compute]
    misses: Compute
    mixtures: list[list[_Way]]

    def at(self, environment: Environment, capacity: int) -> Number | None:
        """The bound where the plan fits into so many lines, spare ones used too."""
        spare = [capacity - each(environment) for each in self.needs]
        if min(spare, default=0) < 0:
            return None
        bound = self.misses(environment)
        # Lines go where each saves most; what is left goes to the next array.
        ways = [way for each in self.mixtures if (way := self._best(each, environment, spare)) is not None]
        for way in sorted(ways, key=lambda way: -way.gain / max(1, way.each)):
            used = way.used(spare)
            bound -= used * way.gain
            for region in way.regions:
                spare[region] -= used * way.each
        return bound

    def _best(self, ways: list[_Way], environment: Environment, spare: list[Number]) -> _Saving | None:
        """The way that saves most with all spare lines."""
        best, most = None, Fraction(0)
        for *parts, regions in ways:
            fine, coarse, each, classes = (part(environment) for part in parts)
            if fine <= coarse or classes <= 0:
                continue
            way = _Saving(Fraction(fine - coarse) / classes, each, classes, regions)
            saved = way.gain * way.used(spare)
            if saved > most:
                best, most = way, saved
        return best


@dataclass(frozen=True)
class _Saving:
    """What a class of lines saves, the lines that it takes in some regions, and how many classes there are."""

    gain: Fraction
    each: Number
    classes: Number
    regions: tuple[int, ...]

    def used(self, spare: list[Number]) -> Number:
        """How many classes fit into the lines that are left."""
        if not self.each:
            return self.classes
        return max(0, min(self.classes, *(spare[region] // self.each for region in self.regions)))
