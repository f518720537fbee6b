"""Races that are certain from the text: two iterations of a parallel loop touch one element, and one writes it.

Runs of small sizes are followed iteration by iteration, under the bounds, steps and conditions that sizes decide. What
the data guards inside a parallel loop is left out, since two iterations need not both come to it; a loop that the data
guards is followed as if it were reached. The executor finds the rest on data.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice, product
from math import prod
from typing import Any

from archline.analysis.checks.runs import Locals, Runs, StopError
from archline.analysis.checks.sizes import Sizes, small
from archline.expr.text import format_expression
from archline.expr.values import holds
from archline.language import syntax as s
from archline.language.call_graph import reachable
from archline.language.diagnostics import Diagnostic, Rule
from archline.language.model import Module
from archline.numbers import point_text
from archline.records import record

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
MAX_STATEMENTS, MAX_SPAWNING, MAX_PROCESSORS, MAX_PLACES = 1_000, 300, 8, 1_000
Place = tuple[int | None, ...]
INDICES = (0, 1, 2, 5, 100)
"""Values of `index` parameters; a race is certain if there is one with each: callers may restrict them as they like."""


@record
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
    touched: dict[tuple[str, Place], list[_Access]] = field(default_factory=dict)


@record
class _Race:
    """Two accesses of one element by iterations of the last of some nested loops."""

    loops: tuple[s.Loop, ...]
    name: str
    place: Place
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
        what += f", at {point_text(self.sizes)}" if self.sizes else ""
        message = f"iterations of `parallel for {variable}` race on `{element}`: {what}"
        hint = "make the update atomic, or let each iteration write an element of its own"
        if not other.writes:
            hint = f"an iteration needs what another one writes: make the loop sequential, `for {variable} in ...`, or "
            hint += "write into another array"
        return Diagnostic(RACE, message, this.node.span, hint=hint)


Races = dict[s.Loop, _Race]


def certain_races(module: Module, algorithm: s.Algorithm) -> tuple[Diagnostic, ...]:
    """A diagnostic for each parallel loop of the algorithm whose iterations certainly race."""
    loops = _parallel(algorithm.body)
    races: Races = {}
    if loops:
        runs = _Racing(module, algorithm)
        for point in small(module, algorithm):
            races |= {loop: race for loop, race in runs.certain(point).items() if loop not in races}
            if len(races) == len(loops) or runs.left < 0:
                break
    # Those around a loop are reported for all in it.
    outermost = (race for loop in loops if (race := races.get(loop)) and not races.keys() & {*race.loops[:-1]})
    return tuple(each.diagnostic for each in outermost)


def _parallel(part: object) -> tuple[s.Loop, ...]:
    return tuple(each for each in s.find(part, s.Loop) if each.parallel)


class _Racing(Runs):
    """Runs of an algorithm on one processor at several sizes; calls are not followed."""

    def __init__(self, module: Module, algorithm: s.Algorithm) -> None:
        super().__init__(module, algorithm, every=True)
        self.left = MAX_STATEMENTS
        loops = _parallel(algorithm.body)
        inside = s.find(tuple(loop.body for loop in loops), s.Simple)
        self._written = {_name(target) for each in inside for target in each.writes}
        self._around = {each for each in s.nodes(algorithm.body) if not isinstance(each, s.Simple) and _parallel(each)}
        self._around.update(s.find(algorithm.body, s.Split))
        self._races: Races = {}
        self._running: list[_Running] = []
        self._depth: dict[str, int] = {}
        self._start = 0

    def certain(self, sizes: Sizes) -> Races:
        """The races of runs at sizes, on any processor that is followed, and whatever an `index` is."""
        indices = self.module.signatures[self.outermost].indices
        tried: list[Races] = []
        for value in INDICES if indices else INDICES[:1]:
            point = {**sizes, **dict.fromkeys(indices, value)}
            if any(holds(fact, point) is False for fact in self.outermost.where):
                continue
            self._races = {}
            # A run that fails before it races is no run.
            if self.at(point).ends or self._races:
                tried.append(self._races)
        return {loop: race for loop, race in tried[0].items() if all(loop in each for each in tried)} if tried else {}

    def begin(self, algorithm: s.Algorithm, block: Locals) -> None:
        self._running, self._depth, self._start = [], {}, 0
        super().begin(algorithm, block)

    def processors(self, extents: Sequence[int]) -> Iterable[tuple[int, ...]]:
        return islice(product(*map(range, extents)), MAX_PROCESSORS)

    def follow(self, call: s.Call, callee: s.Algorithm, inner: Locals, block: Locals) -> None:
        """What it accesses is not followed."""

    def statement(self, statement: s.Stmt, block: Locals) -> None:
        if isinstance(statement, s.Simple):
            self._depth |= dict.fromkeys(statement.defines, len(self._running))
        if isinstance(statement, s.Simple) or self._running or statement in self._around:
            super().statement(statement, block)
        else:
            super().perhaps(((statement,),), block)

    def loop(self, loop: s.Loop, block: Locals) -> None:
        self._running += [_Running(loop)] * loop.parallel
        super().loop(loop, block)
        del self._running[len(self._running) - loop.parallel :]

    def iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: Locals) -> Iterable[Locals]:
        if lo is None or hi is None or step is None:
            block.define(loop.variable, None)
            # Where there are more entries than segments, some segment has two iterations.
            several = all(
                isinstance(each, s.Element) and self._is_crowded(each.array, block) for each in (loop.lo, loop.hi)
            )
            self._guarded((loop.body,) * (1 + (loop.parallel and several)), block, loop.parallel)
            return
        for inner in super().iterations(loop, lo, hi, step, block):
            if loop.parallel:
                self._running[-1].iteration = (inner.values[loop.variable],) * 2
            yield inner

    def _is_crowded(self, array: str, block: Locals) -> bool:
        kind = next((each.type for each in self.outermost.parameters if each.name == array), None)
        return isinstance(kind, s.OffsetsType) and (self.value(kind.into, block) or 0) > (
            self.value(kind.count, block) or 0
        )

    def perhaps(self, bodies: Iterable[tuple[s.Stmt, ...]], block: Locals) -> None:
        self._guarded(tuple(bodies), block, False)

    def _guarded(self, bodies: Sequence[tuple[s.Stmt, ...]], block: Locals, iterations: bool) -> None:
        """Follow blocks as if they were reached; they may be `iterations` of the innermost loop."""
        super().perhaps(bodies, block)
        outer, active = self._start, len(self._running)
        self._start = active - iterations
        for number, body in enumerate(bodies):
            if iterations:
                self._running[-1].iteration = number, None
            if iterations or _parallel(body):
                with suppress(StopError):
                    self.follow_block(body, block)
                del self._running[active:]
                super().perhaps(bodies, block)
        self._start = outer

    def read(self, expr: s.Expr, block: Locals) -> None:
        # The write of an update follows at once.
        if not (isinstance(self._now, s.Simple) and expr in self._now.updates):
            self._access(expr, False, block)
        super().read(expr, block)

    def write(self, target: s.Expr, block: Locals) -> None:
        self._access(target, True, block)
        super().write(target, block)

    def _access(self, access: s.Expr, writes: bool, block: Locals) -> None:
        if (
            not isinstance(access, s.Name | s.Element)
            or _name(access) not in self._written
            or self.module.is_view(access)
        ):
            return
        name = _name(access)
        subscripts = access.subscripts if isinstance(access, s.Element) else ()
        place = tuple(self.value(each, block) for each in subscripts if not isinstance(each, s.Slice))
        if None in place:
            return
        atomic = writes and isinstance(self._now, s.Assign) and self._now.atomic
        for running in self._running[max(self._start, self._depth.get(name, 0)) :]:
            this = _Access(running.iteration, access, writes, atomic)
            earlier = running.touched.setdefault((name, place), [])
            for other in earlier:
                if other.iteration != this.iteration and (writes or other.writes) and not (atomic and other.atomic):
                    loops = tuple(each.loop for each in self._running[: self._running.index(running) + 1])
                    self._races.setdefault(running.loop, _Race(loops, name, place, (other, this), self.sizes))
                    break
            else:
                earlier.append(this)


def _name(access: s.Name | s.Element) -> str:
    return access.id if isinstance(access, s.Name) else access.array


SPAWN_RACE = Rule(
    "AL304",
    "race between spawned calls",
    """
    A spawned call and what follows it up to the `sync` touch the same element and at least one writes it, so the
    result depends on their order. The message names both accesses, and the sizes of a run in which both come to it
    whatever the data.

    ```
    spawn g(x, b)
    g(x, b)                  # both write b; write: sync before it
    ```

    Put a `sync` between them, or give each call an array of its own. Races that depend on the data are found when the
    program runs.
    """,
)


@record(eq=False)
class _Touch:
    """An access to a place of an array, whose `elements` live on with it."""

    elements: list[Any]
    place: Place
    node: s.Name | s.Element
    writes: bool
    atomic: bool


Touched = dict[tuple[int, Place, bool, bool], _Touch]


class _Spawning(Runs):
    """Runs of an algorithm with its calls, which look for accesses that no `sync` orders.

    Each active call holds what its spawned calls have touched since its last `sync`: all of that runs in parallel with
    what it does, and what it calls, from there to the next.
    """

    def __init__(self, module: Module, algorithm: s.Algorithm) -> None:
        super().__init__(module, algorithm, every=True)
        self.left = MAX_SPAWNING
        self._unordered: list[list[tuple[s.Invoke, Touched]]] = []
        self._strands: list[Touched] = []
        self._spawned: dict[s.Call, s.Invoke] = {}

    def race(self, sizes: Sizes) -> Diagnostic | None:
        """A race of runs at sizes."""
        self._unordered, self._strands = [[]], []
        try:
            self.at(sizes)
        except _RaceError as found:
            return found.diagnostic
        return None

    def begin(self, algorithm: s.Algorithm, block: Locals) -> None:
        super().begin(algorithm, block)
        for name, extents in block.extents.items():
            if extents and None not in extents and prod(extents) <= MAX_PLACES:
                # What is passed is set.
                self._track(name, len(extents), block)
                block.views[name].elements[0] = set(product(*map(range, extents)))

    def invoke(self, invoke: s.Invoke, block: Locals) -> None:
        if invoke.spawned:
            self._spawned[invoke.call] = invoke
        super().invoke(invoke, block)

    def follow(self, call: s.Call, callee: s.Algorithm, inner: Locals, block: Locals) -> None:
        spawn = self._spawned.get(call)
        self._strands += [{}] * (spawn is not None)
        self._unordered.append([])
        super().follow(call, callee, inner, block)
        self._unordered.pop()
        if spawn is not None:
            self._unordered[-1].append((spawn, self._strands.pop()))

    def statement(self, statement: s.Stmt, block: Locals) -> None:
        if isinstance(statement, s.Sync):
            self._unordered[-1].clear()
        super().statement(statement, block)

    def follow_block(self, body: tuple[s.Stmt, ...], block: Locals) -> None:
        super().follow_block(body, block)
        if any(each.array is not None for each in body):
            # A block with a local array ends with a `sync`.
            self._unordered[-1].clear()

    def iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: Locals) -> Iterable[Locals]:
        for inner in super().iterations(loop, lo, hi, step, block):
            yield inner
            if loop.parallel:
                # So does an iteration.
                self._unordered[-1].clear()

    def read(self, expr: s.Expr, block: Locals) -> None:
        # The write of an update follows at once.
        if not (isinstance(self._now, s.Simple) and expr in self._now.updates):
            self._touch(expr, False, block)
        super().read(expr, block)

    def write(self, target: s.Expr, block: Locals) -> None:
        self._touch(target, True, block)
        super().write(target, block)

    def _touch(self, access: s.Expr, writes: bool, block: Locals) -> None:
        if not isinstance(access, s.Name | s.Element) or not (self._strands or any(self._unordered)):
            return
        found = self._places(access, block)
        if found is None:
            return
        elements, places = found
        atomic = writes and isinstance(self._now, s.Assign) and self._now.atomic
        for place in places:
            this = _Touch(elements, place, access, writes, atomic)
            for spawn, touched in chain.from_iterable(self._unordered):
                for other_writes, other_atomic in product((True, False), repeat=2):
                    other = touched.get((id(elements), place, other_writes, other_atomic))
                    if other is not None and (writes or other_writes) and not (atomic and other_atomic):
                        raise _RaceError(self._diagnostic(spawn, other, this))
            for strand in self._strands:
                strand.setdefault((id(elements), place, writes, atomic), this)

    def _diagnostic(self, spawn: s.Invoke, other: _Touch, this: _Touch) -> Diagnostic:
        call = format_expression(spawn.call)
        one, two = ("writes" if each.writes else "reads" for each in (other, this))
        subscripts = f"[{', '.join(map(str, this.place))}]" if this.place else ""
        what = f"it {one} `{_name(other.node)}{subscripts}` on line {other.node.span.line}, and before the `sync` "
        what += f"line {this.node.span.line} {two} the same element"
        what += f" as `{_name(this.node)}`" if _name(this.node) != _name(other.node) else ""
        what += f", at {point_text(self.sizes)}" if self.sizes else ""
        hint = "put a `sync` between them, or give each call an array of its own"
        return Diagnostic(SPAWN_RACE, f"`spawn {call}` races with what follows it: {what}", spawn.span, hint=hint)


class _RaceError(Exception):
    """A race is found."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__()
        self.diagnostic = diagnostic


def certain_spawn_race(module: Module, algorithm: s.Algorithm) -> tuple[Diagnostic, Sizes] | None:
    """A race of spawned calls whatever the data, with the first sizes that have one."""
    bodies = tuple(each.body for each in (algorithm, *reachable(module, algorithm)))
    # What indices are is restricted by callers, as they like.
    followed = not algorithm.grid and not module.signatures[algorithm].indices
    if not followed or not any(each.spawned for each in s.find(bodies, s.Invoke)):
        return None
    runs = _Spawning(module, algorithm)
    for point in small(module, algorithm):
        found = runs.race(point)
        if found is not None:
            return found, point
        if runs.left < 0:
            break
    return None
