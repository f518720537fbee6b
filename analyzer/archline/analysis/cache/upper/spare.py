"""What spare lines save at a point: ways to use them as functions of sizes, each compiled when it is first tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, inf
from operator import itemgetter

from archline.algebra.evaluate.compiled import Compiler, Compute, Environment, Number
from archline.algebra.polynomial import Poly
from archline.analysis.cache.footprint.upper import Reference
from archline.analysis.cache.upper.retained import TURN
from archline.records import record

STEPS = 24
"""At so many iterations, evenly spread, is it tried to keep what they touch."""
Restore = Callable[[Poly], Poly]
"""An expression in terms of the program's own sizes."""
Functions = tuple[Compute, ...]
Taken = tuple[tuple[Number, tuple[int, ...]], ...]
"""Lines, each with the regions in which they are used."""


@record(eq=False)
class Machine:
    """Compiles expressions in sizes of some names, and in `TURN`, each once."""

    names: tuple[str, ...]
    restore: Restore
    _functions: dict[Poly, Compute] = field(default_factory=dict, repr=False)

    @cached_property
    def compiler(self) -> Compiler:
        """What all expressions have in common is computed once at a point."""
        return Compiler((*self.names, TURN))

    def of(self, values: Iterable[Poly]) -> Functions:
        """Expressions as functions."""
        return tuple(map(self._function, values))

    def _function(self, value: Poly) -> Compute:
        if value not in self._functions:
            self._functions[value] = self.compiler.of(self.restore(value))
        return self._functions[value]


@record
class Saving:
    """Lines that are used in some regions, and the fetches that they save."""

    taken: Taken
    saved: Fraction

    @property
    def lines(self) -> Number:
        """The most lines that are used, and 1 at least."""
        return max([1, *(lines for lines, _ in self.taken)])


def left_of(spare: Sequence[Number], taken: Taken) -> list[Number]:
    """What is left of spare lines."""
    left = list(spare)
    for lines, regions in taken:
        for region in regions:
            left[region] -= lines
    return left


def fit(taken: Taken, spare: Sequence[Number]) -> bool:
    """Whether so many spare lines are enough."""
    return min(left_of(spare, taken), default=0) >= 0


NOTHING = Saving((), Fraction(0))


@dataclass(eq=False)
class Here:
    """A point, and what was found there."""

    machine: Machine
    point: Mapping[str, int]
    caps: dict[Used, float] = field(default_factory=dict)
    mixed: dict[Mixed, _Known] = field(default_factory=dict)
    stays: dict[Stays, list[tuple[int, Fraction]]] = field(default_factory=dict)
    taken: dict[tuple[Parted, Number], Taken] = field(default_factory=dict)
    parted: dict[tuple[Parted, tuple[Number, ...]], Saving] = field(default_factory=dict)
    _environments: dict[Number, Environment] = field(default_factory=dict)

    def at(self, functions: Functions, turn: Number = 0) -> list[Number]:
        """Numbers at the point. Raises EvaluationError."""
        compiler = self.machine.compiler
        if turn not in self._environments:
            numbers = [self.point[name] for name in self.machine.names]
            self._environments[turn] = compiler.environment([*numbers, turn])
        environment = self._environments[turn]
        compiler.extend(environment)
        return [compute(environment) for compute in functions]


@record
class _Known:
    """What a class of lines saves at a point, the lines that it and all take, and how many classes there are."""

    gain: Fraction
    each: Number
    once: Number
    classes: Number
    about: float


@record(eq=False)
class Mixed:
    """Spare lines of a plan keep some classes of lines as another unit does, the others stay with units of the plan.

    `values`: what the plan fetches and the other unit does, the lines of each class and beside all, and how many
    classes there are. Of f classes, those that gain most, the share of what both fetch is f of all classes at least.
    """

    references: frozenset[Reference]
    values: Functions
    regions: tuple[int, ...]

    def cap(self, here: Here) -> float:
        """About what it saves with any number of lines."""
        known = self._known(here)
        return max(0.0, known.about * about(known.classes))

    def estimate(self, here: Here, spare: Sequence[Number]) -> float:
        """About what it saves."""
        known = self._known(here)
        return known.about * about(self._used(known, spare)) if known.about > 0 else 0.0

    def saving(self, here: Here, spare: Sequence[Number]) -> Saving:
        """As many classes as fit."""
        known = self._known(here)
        used = self._used(known, spare)
        lines = used * known.each + known.once if used else 0
        return Saving(((lines, self.regions),), known.gain * used)

    def _known(self, here: Here) -> _Known:
        if self not in here.mixed:
            fine, coarse, each, once, classes = here.at(self.values)
            gain = Fraction(fine - coarse) / classes if classes > 0 else Fraction(0)
            here.mixed[self] = _Known(gain, each, once, classes, about(gain))
        return here.mixed[self]

    def _used(self, known: _Known, spare: Sequence[Number]) -> Number:
        room = min(spare[region] for region in self.regions) - known.once
        if not known.each:
            return known.classes if room >= 0 else 0
        return max(0, min(known.classes, room // known.each))


@record(eq=False)
class Stays:
    """Spare lines hold what stays from each iteration of a loop to the next: so many units need not fetch it.

    `references` are all that those units hold. `values`: between which iterations `TURN` is, the lines that stay, and
    what they save.
    """

    references: frozenset[Reference]
    values: Functions
    times: int
    regions: tuple[int, ...]

    def estimate(self, here: Here, spare: Sequence[Number]) -> float:
        """About what it saves."""
        return about(self.saving(here, spare).saved)

    def cap(self, here: Here) -> float:
        """About what it saves with any number of lines."""
        return about(max((saved for _, saved in self._all(here)), default=0))

    def saving(self, here: Here, spare: Sequence[Number]) -> Saving:
        """The best of those that fit."""
        room = min(spare[region] for region in self.regions)
        fitting = (each for each in self._all(here) if each[0] <= room)
        lines, saved = max(fitting, key=itemgetter(1), default=(0, Fraction(0)))
        return Saving(((lines, self.regions),), saved)

    def _all(self, here: Here) -> list[tuple[int, Fraction]]:
        if self not in here.stays:
            here.stays[self] = list(self._tried(here))
        return here.stays[self]

    def _tried(self, here: Here) -> Iterator[tuple[int, Fraction]]:
        """Lines and what they save, for some iterations."""
        first, last = map(ceil, here.at(self.values[:2]))
        steps = min(STEPS, last - first)
        for step in range(steps + 1) if steps > 0 else ():
            lines, saved = here.at(self.values[2:], first + (last - first) * step // steps)
            if lines > 0 and saved > 0:
                yield ceil(lines), Fraction(saved * self.times)


@record(eq=False)
class Parted:
    """Some rows are kept by another unit than the others: `values` are those of the split.

    `regions`: where each half takes room. `before`: whether the other unit keeps those before `TURN`.
    """

    references: frozenset[Reference]
    values: Functions
    regions: tuple[tuple[int, ...], ...]
    before: bool

    @property
    def _misses(self) -> Functions:
        """What was fetched of all rows, then what each half fetches."""
        return self.values[2::3]

    def estimate(self, here: Here, spare: Sequence[Number]) -> float:
        """About what it saves."""
        return about(self.saving(here, spare).saved)

    def cap(self, here: Here) -> float:
        """About what it saves with any number of lines: no more than is fetched."""
        return about(max(0, *here.at(self._misses[:1])))

    def saving(self, here: Here, spare: Sequence[Number]) -> Saving:
        """With as many rows as fit into spare lines."""
        key = self, tuple(spare[region] for regions in self.regions for region in regions)
        if key not in here.parted:
            here.parted[key] = self._most_rows(here, spare)
        return here.parted[key]

    def _most_rows(self, here: Here, spare: Sequence[Number]) -> Saving:
        step, last = here.at(self.values[:2])
        most = ceil(last / Fraction(step))

        def turn(rows: int) -> Number:
            return min(last, (rows if self.before else most - rows) * step)

        rows = _greatest(most, lambda each: fit(self._taken(here, turn(each)), spare))
        if not rows or not fit(taken := self._taken(here, turn(rows)), spare):
            return NOTHING
        # What is fetched is asked for once, what is held at each step of the search.
        fetched, *halves = here.at(self._misses, turn(rows))
        saved = Fraction(fetched - sum(max(0, misses) for misses in halves))
        return Saving(taken, saved) if saved > 0 else NOTHING

    def _taken(self, here: Here, turn: Number) -> Taken:
        """The lines that are used with rows parted at a place."""
        key = self, turn
        if key not in here.taken:
            # Where no row is left on a side nothing is held or fetched there, whatever the closed forms say.
            held, instead = here.at(self.values[3::3], turn), here.at(self.values[4::3], turn)
            lines = [max(0, ceil(each)) - before for each, before in zip(held, instead, strict=True)]
            here.taken[key] = tuple(zip(lines, self.regions, strict=True))
        return here.taken[key]


def _greatest(most: int, holds: Callable[[int], bool]) -> int:
    """The greatest number, at most `most`, of which something holds that holds of all below it; 0 where of none."""
    least = 0
    while least < most:
        middle = (least + most + 1) // 2
        least, most = (middle, most) if holds(middle) else (least, middle - 1)
    return least


Used = Mixed | Stays | Parted
"""A way to use spare lines, as a function of sizes."""


def about(value: Number) -> float:
    """A number as a float."""
    try:
        return float(value)
    except OverflowError:
        return inf


Ranked = tuple[float, int, Used]
"""About the most that a way may save, negated, its place among others, and the way."""


def ranked(ways: Iterable[Used], here: Here) -> list[Ranked]:
    """The ways that may save something, those that may save most first."""
    for way in (ways := list(ways)):
        if way not in here.caps:
            here.caps[way] = way.cap(here)
    return sorted((-here.caps[way], place, way) for place, way in enumerate(ways) if here.caps[way])


def best(ways: Sequence[Ranked], here: Here, spare: Sequence[Number]) -> tuple[Used, Saving] | None:
    """The first way of those that save most, about, with all spare lines."""
    most, first, found = 0.0, 0, None
    for cap, place, way in ways:
        if -cap < most:
            # Neither this one nor those behind it ever save as much.
            break
        estimate = way.estimate(here, spare)
        if estimate > most or (found is not None and estimate == most and place < first):
            most, first, found = estimate, place, way
    if found is None:
        return None
    saving = found.saving(here, spare)
    return (found, saving) if saving.saved > 0 else None
