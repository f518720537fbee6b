"""Races that are certain from the text: two iterations of a parallel loop touch one element, and one writes it.

Runs of small sizes are followed iteration by iteration, under the bounds, steps and conditions that sizes decide. What
the data guards inside a parallel loop is left out, since two iterations need not both come to it; a loop that the data
guards is followed as if it were reached. The executor finds the rest on data.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice, product

from archline.analysis.checks.following import (
    Extents,
    Follower,
    Frame,
    Sizes,
    StoppedError,
    at,
    shape_of,
    small,
)
from archline.analysis.checks.following import extents as extents_of
from archline.language import syntax as s
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.evaluate import holds
from archline.language.model import Module

RACE = Rule(
    "AL301",
    "race between iterations of a parallel loop",
    """
    Two iterations of a `parallel for` touch the same element (or register) and at least one writes it, so the result
    depends on their order. The message names two such iterations, and the sizes of a run in which both come to it
    whatever the data.

    ```
    parallel for i in 0..n:
        total[0] += x[i]         # every iteration writes total[0]
    ```

    Make the update `atomic`, give each iteration an element of its own and combine them afterwards, or drop
    `parallel`. Races that depend on the data are found when the program runs.
    """,
)
FIRST, MAX_STATEMENTS, MAX_PROCESSORS = 8, 1_000, 8
"""So many iterations of a loop are followed before the last, so much of all runs, so many processors of each."""
INDICES = (0, 1, 2, 5, 100)
"""Values of `index` parameters; a race is certain if there is one with each: callers may restrict them as they like."""


@dataclass(frozen=True)
class _Access:
    """An access in an iteration: its number, and the value of the variable where that is known."""

    iteration: tuple[int, int | None]
    node: s.Name | s.Element
    writes: bool
    atomic: bool


@dataclass
class _Running:
    """A parallel loop that runs, and which elements its iterations have touched."""

    loop: s.Loop
    iteration: tuple[int, int | None] = (0, None)
    touched: dict[tuple[str, Extents], list[_Access]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Race:
    """Two accesses of one element by iterations of the last of some nested loops."""

    loops: tuple[s.Loop, ...]
    name: str
    place: Extents
    accesses: tuple[_Access, _Access]
    sizes: Sizes

    @property
    def diagnostic(self) -> Diagnostic:
        """The race as it is reported, at an access that writes: the later one if both do."""
        other, this = sorted(self.accesses, key=lambda each: each.writes)
        element = f"{self.name}[{', '.join(map(str, self.place))}]" if self.place else self.name
        variable = self.loops[-1].variable
        one, two = (f"{variable} = {each.iteration[1]}" for each in (this, other))
        if this.iteration[1] is None:
            one, two = "one", "another"
        if other.node is this.node:
            what = f"{two} and {one} write it"
        else:
            what = f"{one} writes it, {two} {'writes' if other.writes else 'reads'} it on line {other.node.span.line}"
        what += f", at {at(self.sizes)}" if self.sizes else ""
        message = f"iterations of `parallel for {variable}` race on `{element}`: {what}"
        hint = "make the update atomic, or let each iteration write an element of its own"
        return Diagnostic(RACE, message, this.node.span, hint=hint)


Races = dict[s.Loop, _Race]


def certain_races(module: Module, algorithm: s.Algorithm) -> tuple[Diagnostic, ...]:
    """A diagnostic for each parallel loop of the algorithm whose iterations certainly race."""
    loops = _parallel(algorithm.body)
    races: Races = {}
    if loops:
        runs = _Runs(module, algorithm)
        for point in small(module, algorithm):
            races |= {loop: race for loop, race in runs.certain(point).items() if loop not in races}
            if len(races) == len(loops):
                break
    # Those around a loop are reported for all in it.
    outermost = (race for loop in loops if (race := races.get(loop)) and not races.keys() & {*race.loops[:-1]})
    return tuple(each.diagnostic for each in outermost)


def _parallel(part: object) -> tuple[s.Loop, ...]:
    return tuple(each for each in s.nodes(part) if isinstance(each, s.Loop) and each.parallel)


class _Runs(Follower):
    """Runs of an algorithm on one processor at several sizes."""

    def __init__(self, module: Module, algorithm: s.Algorithm) -> None:
        super().__init__(module, MAX_STATEMENTS, FIRST)
        self._algorithm = algorithm
        loops = _parallel(algorithm.body)
        inside = [each for each in s.nodes(tuple(loop.body for loop in loops)) if isinstance(each, s.Simple)]
        self._written = {_name(target) for each in inside for target in each.writes}
        self._around = {each for each in s.nodes(algorithm.body) if not isinstance(each, s.Simple) and _parallel(each)}
        self._sizes: Sizes = {}
        self._races: Races = {}
        self._active: list[_Running] = []
        self._depth: dict[str, int] = {}
        self._start = 0
        self._crowded: set[str] = set()
        self._now: s.Stmt | None = None

    def certain(self, sizes: Sizes) -> Races:
        """The races of runs at sizes, on any processor and whatever an `index` is."""
        self._sizes = sizes
        indices = self.module.signatures[self._algorithm].indices
        tried: list[Races] = []
        for value in INDICES if indices else INDICES[:1]:
            point = {**sizes, **dict.fromkeys(indices, value)}
            if any(holds(fact, point) is False for fact in self._algorithm.where):
                continue
            self._races, stopped = {}, True
            for place in islice(product(*map(range, extents_of(self._algorithm, point))), MAX_PROCESSORS):
                axes = (axis.name for axis in self._algorithm.grid)
                stopped &= self._stopped({**point, **dict(zip(axes, place, strict=True))})
            if self._races or not stopped:
                tried.append(self._races)
        return {loop: race for loop, race in tried[0].items() if all(loop in each for each in tried)} if tried else {}

    def _stopped(self, values: Sizes) -> bool:
        """Whether the run of a processor fails, after what races it has by then."""
        self._active, self._depth, self._start = [], {}, 0
        frame = Frame(dict(values))
        try:
            frame.extents = {each.name: frame.all(shape_of(each)) for each in self._algorithm.parameters}
            self._crowded = {each.name for each in self._algorithm.parameters if _is_crowded(each.type, frame)}
            self.block(self._algorithm.body, frame)
        except StoppedError:
            return True
        return False

    def statement(self, statement: s.Stmt, frame: Frame) -> None:
        self._now = statement
        if isinstance(statement, s.Let | s.Local):
            self._depth[statement.name] = len(self._active)
        if isinstance(statement, s.Simple | s.Split) or self._active or statement in self._around:
            super().statement(statement, frame)
        else:
            frame.forget(statement)

    def loop(self, loop: s.Loop, frame: Frame) -> None:
        self._active += [_Running(loop)] * loop.parallel
        super().loop(loop, frame)
        del self._active[len(self._active) - loop.parallel :]

    def iteration(self, loop: s.Loop, value: int, frame: Frame) -> None:
        if loop.parallel:
            self._active[-1].iteration = value, value
        super().iteration(loop, value, frame)

    def unbounded(self, loop: s.Loop, frame: Frame) -> None:
        frame.forget(loop)
        several = all(isinstance(each, s.Element) and each.array in self._crowded for each in (loop.lo, loop.hi))
        self._guarded((loop.body,) * (1 + (loop.parallel and several)), frame, loop.parallel)

    def undecided(self, bodies: tuple[tuple[s.Stmt, ...], ...], frame: Frame) -> None:
        self._guarded(bodies, frame, False)

    def _guarded(self, bodies: tuple[tuple[s.Stmt, ...], ...], frame: Frame, iterations: bool) -> None:
        """Follow blocks as if they were reached; they may be `iterations` of the innermost loop."""
        frame.forget(bodies)
        outer, active = self._start, len(self._active)
        self._start = active - iterations
        for number, body in enumerate(bodies):
            if iterations:
                self._active[-1].iteration = number, None
            if iterations or _parallel(body):
                with suppress(StoppedError):
                    self.block(body, frame)
                del self._active[active:]
                frame.forget(bodies)
        self._start = outer

    def accessed(self, access: s.Name | s.Element, place: Extents) -> None:
        name = _name(access)
        if name not in self._written or None in place or self.module.is_view(access):
            return
        writes = isinstance(self._now, s.Simple) and access in self._now.writes
        atomic = writes and isinstance(self._now, s.Assign) and self._now.atomic
        first = max(self._start, self._depth.get(name, 0))
        for running in self._active[first:]:
            this = _Access(running.iteration, access, writes, atomic)
            earlier = running.touched.setdefault((name, place), [])
            for other in earlier:
                if other.iteration != this.iteration and (writes or other.writes) and not (atomic and other.atomic):
                    loops = tuple(each.loop for each in self._active[: self._active.index(running) + 1])
                    self._races.setdefault(running.loop, _Race(loops, name, place, (other, this), self._sizes))
                    break
            else:
                earlier.append(this)


def _name(access: s.Name | s.Element) -> str:
    return access.id if isinstance(access, s.Name) else access.array


def _is_crowded(kind: s.Type, frame: Frame) -> bool:
    """Whether offsets have more entries than segments, so that some segment has two."""
    return isinstance(kind, s.OffsetsType) and (frame.value(kind.into) or 0) > (frame.value(kind.count) or 0)
