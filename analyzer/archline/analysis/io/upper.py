"""Upper bounds on io under optimal replacement: the least of what plans fetch whose lines fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor

from archline.algebra.compiled import Compiler, Compute, Environment, Number
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.analysis.io.footprint import Reference
from archline.analysis.io.plans import Plan, partitions
from archline.analysis.io.product import Product, UnboundedError
from archline.analysis.io.units import Unit, all_lines, shared


@dataclass(frozen=True, eq=False)
class Pin:
    """What spare lines do for the units of an array: of `lines` touched in each of `windows`, some stay for all of it.

    With f of them, those that are fetched most, the units fetch at most misses*(1 - f/lines) + f*windows.
    """

    lines: Poly
    windows: Poly


@dataclass(frozen=True, eq=False)
class Upper:
    """io <= the misses of every plan whose needs are at most Z // L lines."""

    plans: Sequence[Plan]
    facts: Facts

    @cached_property
    def _compiled(self) -> tuple[tuple[str, ...], Compiler, list[_Ready]]:
        known: dict[frozenset[int], list[Pin]] = {}
        kept = []
        for plan in self.plans:
            groups = []
            for sets in _groups(plan.units):
                ways = []
                for units in sets:
                    references = [each for unit in units for each in unit.references]
                    key = frozenset(map(id, references))
                    if key not in known:
                        known[key] = list(pins(references))
                    ways.append((sum((unit.misses for unit in units), ZERO), known[key]))
                groups.append(ways)
            kept.append(groups)
        restore = self.facts.restore
        values = [value for plan in self.plans for value in (plan.needs, plan.misses)]
        values += [value for each in known.values() for pin in each for value in (pin.lines, pin.windows)]
        names = tuple(sorted({name for value in values for name in restore(value).names} | {"L"}))
        compiler = Compiler(names)

        def of(value: Poly) -> Compute:
            return compiler.of(restore(value))

        ready = [
            _Ready(
                of(plan.needs),
                of(plan.misses),
                [
                    [(of(misses), of(pin.lines), of(pin.windows)) for misses, ways in sets for pin in ways]
                    for sets in groups
                ],
            )
            for plan, groups in zip(self.plans, kept, strict=True)
        ]
        return names, compiler, ready

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
            raise EvaluationError("Z holds no line of L words")
        return floor(min(found))


@dataclass(frozen=True, eq=False)
class _Ready:
    """A plan as functions of an environment."""

    needs: Compute
    misses: Compute
    pins: list[list[tuple[Compute, Compute, Compute]]]

    def at(self, environment: Environment, capacity: int) -> Number | None:
        """The bound where the plan fits into so many lines, spare ones used too."""
        spare = capacity - self.needs(environment)
        if spare < 0:
            return None
        bound = self.misses(environment)
        # Lines go where each saves most.
        for saved, most in sorted(self._savings(environment), key=lambda each: -each[0]):
            used = min(spare, most)
            bound -= used * saved
            spare -= used
        return bound

    def _savings(self, environment: Environment) -> Iterator[tuple[Number, Number]]:
        for ways in self.pins:
            best: tuple[Number, Number] = (0, 0)
            for misses, lines, windows in ways:
                held = lines(environment)
                if held > 0:
                    best = max(best, (Fraction(misses(environment)) / held - windows(environment), held))
            if best[0] > 0:
                yield best


def _groups(units: Sequence[Unit]) -> Iterator[list[tuple[Unit, ...]]]:
    """For each array the sets of its units that may share pinned lines."""
    found: dict[int, list[Unit]] = {}
    for unit in units:
        found.setdefault(id(unit.references[0].array), []).append(unit)
    for each in found.values():
        owner = {id(reference): unit for unit in each for reference in unit.references}
        references = [reference for unit in each for reference in unit.references]
        sets = {
            frozenset(owner[id(reference)] for reference in part)
            for parts in partitions(references)
            for part in parts
        }
        yield [tuple(unit for unit in each if unit in part) for part in sets]


def pins(references: Sequence[Reference]) -> Iterator[Pin]:
    """The windows around all references to an array in which lines of it may be pinned."""
    chain = shared(references)
    for depth in range(len(chain) + 1):
        try:
            lines = all_lines(references, depth).at_most(chain[:depth]).value
            windows = Product((ONE,)).over(chain[:depth]).value
        except UnboundedError:
            continue
        yield Pin(lines, windows)
