"""Upper bounds on io under optimal replacement: the least of what plans fetch whose lines fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import ceil, floor, inf
from operator import itemgetter

from archline.algebra.compiled import Compiler, Compute, Environment, Number
from archline.algebra.evaluation import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.io.footprint import Reference
from archline.analysis.io.growing import TURN
from archline.analysis.io.ways import Mixture, Parting, Plan, Staying, Way

STEPS = 24
"""At so many iterations, evenly spread, is it tried to keep what they touch."""
NEAREST = 8
"""So many plans are tried with rows that are parted."""


@dataclass(frozen=True, eq=False)
class Upper:
    """io <= the misses of every plan whose needs are at most Z // L lines."""

    plans: Sequence[Plan]
    facts: Facts

    @cached_property
    def _compiled(self) -> tuple[tuple[str, ...], Compiler, list[_Ready]]:
        restore = self.facts.restore
        restored = {value: restore(value) for plan in self.plans for value in _values(plan)}
        names = tuple(sorted({name for value in restored.values() for name in value.names} - {TURN} | {"L"}))
        compiler = Compiler((*names, TURN))
        known = {value: compiler.of(each) for value, each in restored.items()}
        ways: dict[Way, _Way] = {}
        for plan in self.plans:
            for each in chain.from_iterable(plan.mixtures):
                if each not in ways:
                    ways[each] = _way(each, known)
        ready = [
            _Ready(
                [known[each] for each in plan.needs],
                known[plan.misses],
                [[ways[way] for way in each] for each in plan.mixtures],
            )
            for plan in self.plans
        ]
        return names, compiler, ready

    @property
    def names(self) -> tuple[str, ...]:
        """The symbols on which the bound depends, beside Z."""
        return self._compiled[0]

    def at(self, point: Mapping[str, int], spare: bool = True) -> int:
        """The bound at sizes, Z and L, with `spare` lines used or not; Z >= L. Raises EvaluationError."""
        names, compiler, ready = self._compiled
        missing = [name for name in names if name not in point]
        if missing:
            raise EvaluationError(f"`{missing[0]}` has no value")
        here, capacity = _Here(compiler, [point[name] for name in names], point["L"]), point["Z"] // point["L"]
        known = [(bound, each) for each in ready if (bound := each.at(here, capacity, spare)) is not None]
        if not known:
            raise EvaluationError("no bound was found for so few lines")
        if not spare:
            return floor(min(bound for bound, _ in known))
        # Rows are parted in those that are near the best without: it takes far longer.
        nearest = sorted(known, key=itemgetter(0))[:NEAREST]
        parted = (each.at(here, capacity, parted=True) for _, each in nearest if each.parting)
        return floor(min([nearest[0][0], *(bound for bound in parted if bound is not None)]))


def _values(plan: Plan) -> Iterator[Poly]:
    """All expressions of a plan."""
    yield from (*plan.needs, plan.misses)
    for each in chain.from_iterable(plan.mixtures):
        match each:
            case Mixture(fine=fine, coarse=coarse, each=lines, once=once, classes=classes):
                yield from (fine, coarse, lines, once, classes)
            case Staying(growing=held):
                yield from (held.lines, held.saved, held.first, held.last)
            case Parting(split=split):
                yield from (split.fetched, split.last, split.step)
                for half in split.halves:
                    yield from (half.lines, half.instead, half.misses)


@dataclass(eq=False)
class _Here:
    """A point: its environment, and what stays at it by the iteration whose lines do."""

    compiler: Compiler
    numbers: list[int]
    line: int
    _stays: dict[_Stay, list[tuple[int, Fraction]]] = field(default_factory=dict)
    _mixed: dict[_Mix, _Mixed] = field(default_factory=dict)
    _parted: dict[tuple[_Part, Number], _Saving] = field(default_factory=dict)
    _parting: dict[tuple[_Part, tuple[Number, ...]], _Saving] = field(default_factory=dict)

    @cached_property
    def environment(self) -> Environment:
        return self.compiler.environment([*self.numbers, 0])

    def mixed(self, way: _Mix) -> _Mixed:
        """What a class of lines saves."""
        if way not in self._mixed:
            numbers = (part(self.environment) for part in (way.fine, way.coarse, way.each, way.once, way.classes))
            fine, coarse, each, once, classes = numbers
            gain = Fraction(fine - coarse) / classes if classes > 0 else Fraction(0)
            self._mixed[way] = _Mixed(gain, each, once, classes, _about(gain))
        return self._mixed[way]

    def stays(self, way: _Stay) -> list[tuple[int, Fraction]]:
        """Lines and what they save, for some iterations."""
        if way not in self._stays:
            self._stays[way] = list(self._tried(way))
        return self._stays[way]

    def parted(self, way: _Part, spare: tuple[Number, ...]) -> _Saving:
        """What is saved with as many rows as fit into spare lines."""
        if (way, spare) not in self._parting:
            step, last = way.step(self.environment), way.last(self.environment)
            most = ceil(last / Fraction(step))

            def kept(rows: int) -> _Saving:
                return self._turned(way, min(last, (rows if way.before else most - rows) * step))

            rows = bisect_left(range(most), True, key=lambda more: not kept(more + 1).fits(spare))
            found = kept(rows) if rows else NOTHING
            self._parting[way, spare] = found if found.saved > 0 and found.fits(spare) else NOTHING
        return self._parting[way, spare]

    def _turned(self, way: _Part, turn: Number) -> _Saving:
        """What is saved with rows parted at a place."""
        if (way, turn) not in self._parted:
            self._parted[way, turn] = way.at(self.compiler.environment([*self.numbers, turn]))
        return self._parted[way, turn]

    def _tried(self, way: _Stay) -> Iterator[tuple[int, Fraction]]:
        first, last = (ceil(end(self.environment)) for end in way.ends)
        steps = min(STEPS, last - first)
        for step in range(steps + 1) if steps > 0 else ():
            turn = first + (last - first) * step // steps
            environment = self.compiler.environment([*self.numbers, turn])
            lines, saved = way.lines(environment), way.saved(environment)
            if lines > 0 and saved > 0:
                yield ceil(lines), Fraction(saved * way.times)


@dataclass(frozen=True)
class _Saving:
    """Lines that are used in some regions, and the fetches that they save."""

    taken: tuple[tuple[Number, tuple[int, ...]], ...]
    saved: Fraction

    @property
    def lines(self) -> Number:
        """The most lines that are used, and 1 at least."""
        return max([1, *(lines for lines, _ in self.taken)])

    def fits(self, spare: Sequence[Number]) -> bool:
        """Whether so many spare lines are enough."""
        return min(self.left(spare), default=0) >= 0

    def left(self, spare: Sequence[Number]) -> list[Number]:
        """What is left of spare lines."""
        left = list(spare)
        for lines, regions in self.taken:
            for region in regions:
                left[region] -= lines
        return left


NOTHING = _Saving((), Fraction(0))


@dataclass(frozen=True, eq=False)
class _Mix:
    """Some classes of lines are kept otherwise: `fine` is fetched without that, `coarse` with it, for all of them."""

    references: frozenset[Reference]
    fine: Compute
    coarse: Compute
    each: Compute
    once: Compute
    classes: Compute
    regions: tuple[int, ...]

    def estimate(self, here: _Here, spare: Sequence[Number]) -> float:
        """About what it saves."""
        known = here.mixed(self)
        return known.about * _about(self._used(known, spare)) if known.about > 0 else 0.0

    def saving(self, here: _Here, spare: Sequence[Number]) -> _Saving:
        """As many classes as fit."""
        known = here.mixed(self)
        used = self._used(known, spare)
        lines = used * known.each + known.once if used else 0
        return _Saving(((lines, self.regions),), known.gain * used)

    def _used(self, known: _Mixed, spare: Sequence[Number]) -> Number:
        room = min(spare[region] for region in self.regions) - known.once
        if not known.each:
            return known.classes if room >= 0 else 0
        return max(0, min(known.classes, room // known.each))


@dataclass(frozen=True)
class _Mixed:
    """What a class of lines saves at a point, the lines that it and all take, and how many classes there are."""

    gain: Fraction
    each: Number
    once: Number
    classes: Number
    about: float


@dataclass(frozen=True, eq=False)
class _Stay:
    """What stays from one iteration of a loop to the next."""

    references: frozenset[Reference]
    lines: Compute
    saved: Compute
    ends: tuple[Compute, Compute]
    times: int
    regions: tuple[int, ...]

    def estimate(self, here: _Here, spare: Sequence[Number]) -> float:
        """About what it saves."""
        return _about(self.saving(here, spare).saved)

    def saving(self, here: _Here, spare: Sequence[Number]) -> _Saving:
        """The best of those that fit."""
        room = min(spare[region] for region in self.regions)
        fitting = (each for each in here.stays(self) if each[0] <= room)
        lines, saved = max(fitting, key=itemgetter(1), default=(0, Fraction(0)))
        return _Saving(((lines, self.regions),), saved)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows are kept by another unit: of each half what it holds, held and fetches, and where."""

    references: frozenset[Reference]
    halves: tuple[tuple[Compute, Compute, Compute, tuple[int, ...]], ...]
    fetched: Compute
    last: Compute
    step: Compute
    before: bool

    def estimate(self, here: _Here, spare: Sequence[Number]) -> float:
        """About what it saves."""
        return _about(self.saving(here, spare).saved)

    def saving(self, here: _Here, spare: Sequence[Number]) -> _Saving:
        """With as many rows as fit."""
        return here.parted(self, tuple(spare))

    def at(self, environment: Environment) -> _Saving:
        """What it saves with a turn."""
        # Where no row is left on a side nothing is held or fetched there, whatever the closed forms say.
        held = [
            (max(0, ceil(lines(environment))) - instead(environment), regions)
            for lines, instead, _, regions in self.halves
        ]
        fetched = sum(max(0, misses(environment)) for _, _, misses, _ in self.halves)
        return _Saving(tuple(held), Fraction(self.fetched(environment) - fetched))


_Way = _Mix | _Stay | _Part


def _way(each: Way, known: Mapping[Poly, Compute]) -> _Way:
    references = frozenset(each.references)
    match each:
        case Mixture():
            fine, coarse, lines, once = (known[part] for part in (each.fine, each.coarse, each.each, each.once))
            return _Mix(references, fine, coarse, lines, once, known[each.classes], each.regions)
        case Staying(growing=held, times=times):
            ends = known[held.first], known[held.last]
            return _Stay(references, known[held.lines], known[held.saved], ends, times, each.regions)
        case Parting(split=split):
            halves = tuple(
                (known[half.lines], known[half.instead], known[half.misses], regions)
                for half, regions in zip(split.halves, each.regions, strict=True)
            )
            return _Part(references, halves, known[split.fetched], known[split.last], known[split.step], split.before)


@dataclass(frozen=True, eq=False)
class _Ready:
    """A plan as functions of an environment."""

    needs: list[Compute]
    misses: Compute
    mixtures: list[list[_Way]]

    @cached_property
    def parting(self) -> bool:
        """Whether some rows may be kept otherwise than the others."""
        return any(isinstance(way, _Part) for ways in self.mixtures for way in ways)

    @cached_property
    def _plain(self) -> list[list[_Way]]:
        """What spare lines could do for all rows."""
        return [[way for way in ways if not isinstance(way, _Part)] for ways in self.mixtures]

    def at(self, here: _Here, capacity: int, used: bool = True, parted: bool = False) -> Number | None:
        """The bound where the plan fits into so many lines, with spare ones used or not, and parts of rows or not."""
        spare = [capacity - each(here.environment) for each in self.needs]
        if min(spare, default=0) < 0:
            return None
        bound = self.misses(here.environment)
        if not used or not any(spare):
            return bound
        # Lines go where each saves most; what is left goes to the next array, or to others of its references.
        groups = self.mixtures if parted else self._plain
        while groups:
            first = [(_best(ways, here, spare), ways) for ways in groups]
            known = [(best[1].saved / best[1].lines, ways) for best, ways in first if best is not None]
            groups = []
            for _, ways in sorted(known, key=lambda each: -each[0]):
                best = _best(ways, here, spare)
                if best is not None:
                    chosen, saving = best
                    bound -= saving.saved
                    spare = saving.left(spare)
                    groups.append([way for way in ways if not way.references & chosen.references])
        return bound


def _about(value: Number) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf


def _best(ways: Sequence[_Way], here: _Here, spare: Sequence[Number]) -> tuple[_Way, _Saving] | None:
    """The way that saves most, about, with all spare lines."""
    most, found = 0.0, None
    for way in ways:
        about = way.estimate(here, spare)
        if about > most:
            most, found = about, way
    if found is None:
        return None
    saving = found.saving(here, spare)
    return (found, saving) if saving.saved > 0 else None
