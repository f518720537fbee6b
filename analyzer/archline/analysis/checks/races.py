"""Find races that are certain from the text: two iterations of a parallel loop access one element, and one writes
it.

Runs of small sizes are followed iteration by iteration, by the bounds, steps and conditions that depend on sizes alone.
Inside a parallel loop, code under a condition on data is left out, since two iterations need not both reach it; a loop
under such a condition is followed as if it were reached. Other races are found when a program runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice, product
from typing import Any

from archline.analysis.checks.runs import FollowedRuns, RunBlock, StopError, TrackedArray
from archline.analysis.sampling import list_short_run_sizes
from archline.expr.solutions import Point
from archline.expr.text import format_expression
from archline.expr.values import evaluate_fact
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.diagnostics import Diagnostic, Related, Rule
from archline.language.model import Module
from archline.language.proposals import propose_own_register, propose_reduction, propose_serial_loop
from archline.numbers import format_point
from archline.records import record

RACE = Rule(
    "AL301",
    "race between iterations of a parallel loop",
    """
    Two iterations of a `parallel for` access the same element (or register) and at least one writes it, so the result
    depends on their order. The access may be in the loop, through a view of the array, or in an algorithm that is
    called. The message names two such iterations, and the sizes of a run in which both access it for any data.

    ```
    parallel for i in 0..n:
        total[0] += x[i]         # every iteration writes total[0]
    ```

    Combine the values of iterations in a register, `parallel for i in 0..n with + on s:`, make the update of an element
    `atomic`, give each iteration an element of its own and combine them afterwards, or drop
    `parallel`. Races that depend on the data are found when the program runs.
    """,
)
TINY_SIZE = 3
"""The largest size of the runs that are tried first."""
MAX_STATEMENTS, MAX_SPAWN_STATEMENTS, MAX_PROCESSORS = 1_000, 300, 8
INDEX_VALUES = (0, 1, 2, 5, 100)
"""Values of `index` parameters; a race is reported only if it occurs with each value that the `where` allows."""


AccessKey = tuple[TrackedArray, int, bool, bool]


@record(eq=False)
class _Access:
    """An access to an element of an array, at a position `place` in row-major order.

    `iteration` has a number that identifies the iteration, and the value of the loop variable if it is known.
    """

    array: TrackedArray
    place: int
    node: s.Node
    writes: bool
    atomic: bool
    iteration: tuple[int, int | None] = (0, None)

    @property
    def key(self) -> AccessKey:
        """A key that is the same for accesses that conflict with the same accesses; only the first one is stored."""
        return self.array, self.place, self.writes, self.atomic

    def iterate_conflicts(self, earlier: Mapping[AccessKey, _Access]) -> Iterator[_Access]:
        """Yield the earlier accesses to the element that race with this one if they run in parallel."""
        for writes, atomic in product((True, False), repeat=2):
            access = earlier.get((self.array, self.place, writes, atomic))
            if access is not None and (self.writes or writes) and not (self.atomic and atomic):
                yield access


@dataclass
class _RunningLoop:
    """A parallel loop that is being followed, with its call depth and the first accesses of its iterations by key."""

    loop: s.Loop
    depth: int
    iteration: tuple[int, int | None] = (0, None)
    touched: dict[AccessKey, _Access] = field(default_factory=dict)


@record
class _Race:
    """Two accesses to one element by iterations of the last one of nested `loops`.

    If they are made in a call, `inside` names the algorithm whose run was followed.
    """

    loops: tuple[s.Loop, ...]
    accesses: tuple[_Access, _Access]
    sizes: Point
    inside: str = ""

    def build_diagnostic(self, algorithms: Iterable[s.Algorithm]) -> Diagnostic:
        """Return the diagnostic of the race, at the access that writes, or at the later one if both write.

        One of `algorithms` contains the loop.
        """
        prior, writer = sorted(self.accesses, key=lambda access: access.writes)
        element = writer.array.format_element(writer.place)
        variable = self.loops[-1].variable
        first, last = (f"{variable} = {access.iteration[1]}" for access in (writer, prior))
        if writer.iteration[1] is None:
            first, last = "one", "another"
        if prior.node is writer.node and prior.writes:
            what = f"{last} and {first} write it"
        else:
            what = (
                f"{first} writes it, {last} {'writes' if prior.writes else 'reads'} it on line {prior.node.span.line}"
            )
        what += f", in a run of `{self.inside}`" if self.inside else ""
        what += f"{' ' if self.inside else ', '}at {format_point(self.sizes)}" if self.sizes else ""
        message = f"iterations of `parallel for {variable}` race on `{element}`: {what}"
        related = () if prior.node is writer.node else (Related(prior.node.span, "the other access"),)
        hint = self._suggest_fix(writer, prior, algorithms)
        return Diagnostic(RACE, message, writer.node.span, hint=hint, related=related)

    def _suggest_fix(self, writer: _Access, prior: _Access, algorithms: Iterable[s.Algorithm]) -> str:
        loop, name = self.loops[-1], writer.array.name
        if not writer.array.extents and isinstance(writer.node, s.Name) and writer.node.id == name:
            algorithm = next(part for part in algorithms if loop in set(s.find_nodes(part.body, s.Loop)))
            meant = propose_reduction(algorithm, loop, name) or propose_own_register(algorithm, loop, name)
            if meant is not None:
                return meant
            return propose_serial_loop(loop, f"the iterations share `{name}`: make the loop sequential, `{{}}`")
        if not prior.writes:
            hint = "one iteration reads what another writes: write to another array"
        else:
            hint = "make the update atomic, or let each iteration write an element of its own"
        return propose_serial_loop(loop, f"{hint}, or make the loop sequential: `{{}}`")


@record
class _CopyRace:
    """A copy, in a call, between parts of one array: it reads an element, at a `place`, that it also sets."""

    copy: s.Assign
    call: s.Call
    array: TrackedArray
    place: int
    sizes: Point
    loops: tuple[s.Loop, ...] = ()

    def build_diagnostic(self, _: Iterable[s.Algorithm]) -> Diagnostic:
        """Return the diagnostic of the race, at the call."""
        element, line = self.array.format_element(self.place), self.copy.span.line
        message = f"the copy in line {line} sets and reads `{element}`, as arguments overlap"
        message += f", at {format_point(self.sizes)}" if self.sizes else ""
        hint = "copy within an array by a statement, such as `x[1:] = x[:-1]`, or pass a copy"
        return Diagnostic(RACE, message, self.call.span, hint=hint, related=(Related(self.copy.span, "the copy"),))


Races = dict[s.Loop | s.Assign, _Race | _CopyRace]


def find_certain_races(module: Module, algorithm: s.Algorithm) -> tuple[Diagnostic, ...]:
    """Report each parallel loop of an algorithm and its callees whose iterations race for any data.

    Copies race in callees alone, whose arguments may overlap.
    """
    followed = dict.fromkeys((algorithm, *find_reachable(module, algorithm)))
    loops = _list_parallel_loops(tuple(part.body for part in followed))
    copies = _list_copies(module, tuple(part.body for part in followed if part is not algorithm))
    places: tuple[s.Loop | s.Assign, ...] = (*loops, *copies)
    races: Races = {}
    if places:
        runs = _RaceSearch(module, algorithm, places)
        # Runs at the smallest sizes come first: those at larger ones may take all statements that may be followed.
        for point in sorted(
            list_short_run_sizes(module, algorithm), key=lambda point: max(point.values(), default=0) > TINY_SIZE
        ):
            races |= {place: race for place, race in runs.find_races(point).items() if place not in races}
            if len(races) == len(places) or runs.left < 0:
                break
    # An outer loop is reported instead of the loops inside it.
    outermost = (race for place in places if (race := races.get(place)) and not races.keys() & {*race.loops[:-1]})
    return tuple(race.build_diagnostic(followed) for race in outermost)


def _list_parallel_loops(part: object) -> tuple[s.Loop, ...]:
    return tuple(loop for loop in s.find_nodes(part, s.Loop) if loop.parallel)


def _list_copies(module: Module, part: object) -> tuple[s.Assign, ...]:
    return tuple(
        store
        for store in s.find_nodes(part, s.Assign)
        if store.op == "=" and module.is_view(store.target) and module.is_view(store.value)
    )


class _RaceSearch(FollowedRuns):
    """Follows runs at several sizes to find races of parallel loops and copies, the `places`.

    Outside of the loops, statements and calls are followed only if they contain such a place.
    """

    def __init__(self, module: Module, algorithm: s.Algorithm, places: Iterable[s.Loop | s.Assign]) -> None:
        super().__init__(module, algorithm, every=True)
        self.left = MAX_STATEMENTS
        algorithms = {algorithm, *find_reachable(module, algorithm)}
        within = {
            algo
            for algo in algorithms
            if any(
                _list_parallel_loops(part.body) or _list_copies(module, part.body)
                for part in (algo, *find_reachable(module, algo))
            )
        }
        self._around: set[s.Node] = {call for call, target in module.targets.items() if target in within}
        self._around.update(places)
        for part in algorithms:
            blocks = (node for node in s.iterate_nodes(part.body) if isinstance(node, s.Statement))
            self._around.update(node for node in blocks if not self._around.isdisjoint(s.iterate_nodes(node)))
            self._around.update(s.find_nodes(part.body, s.Split))
        self._races: Races = {}
        self._running: list[_RunningLoop] = []
        self._calls: list[s.Call] = []
        self._start = 0

    def find_races(self, sizes: Point) -> Races:
        """Return the races, by loop or copy, that occur in runs at the given sizes for all tried values of indices."""
        indices = self.module.signatures[self.outermost].indices
        tried: list[Races] = []
        for value in INDEX_VALUES if indices else INDEX_VALUES[:1]:
            point = {**sizes, **dict.fromkeys(indices, value)}
            if any(evaluate_fact(fact, point) is False for fact in self.outermost.where):
                continue
            self._races = {}
            # A run that fails before a race does not show one.
            if self.follow_run(point).ends or self._races:
                tried.append(self._races)
        return {loop: race for loop, race in tried[0].items() if all(loop in races for races in tried)} if tried else {}

    def begin(self, algorithm: s.Algorithm, block: RunBlock) -> None:
        self._running, self._calls, self._start = [], [], 0
        super().begin(algorithm, block)

    def choose_processors(self, extents: Sequence[int]) -> Iterable[tuple[int, ...]]:
        return islice(product(*map(range, extents)), MAX_PROCESSORS)

    def follow_call(self, call: s.Call, callee: s.Algorithm, inner: RunBlock, block: RunBlock) -> None:
        if not self._running and call not in self._around:
            self.forget(call, block)
            return
        self._calls.append(call)
        super().follow_call(call, callee, inner, block)
        self._calls.pop()

    def statement(self, statement: s.Stmt, block: RunBlock) -> None:
        if isinstance(statement, s.Simple) or self._running or statement in self._around:
            super().statement(statement, block)
        else:
            self.forget_blocks(((statement,),), block)

    def enter_iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: RunBlock) -> Iterable[RunBlock]:
        outer = len(self._running)
        self._running += [_RunningLoop(loop, len(self._calls))] * loop.parallel
        if lo is None or hi is None or step is None:
            block.define(loop.variable, None)
            # If there are more entries than segments, some segment has two iterations.
            several = all(
                isinstance(end, s.Element) and self._has_long_segment(end.array, block) for end in (loop.lo, loop.hi)
            )
            self._follow_guarded((loop.body,) * (1 + (loop.parallel and several)), block, loop.parallel)
        else:
            for inner in super().enter_iterations(loop, lo, hi, step, block):
                if loop.parallel:
                    self._running[-1].iteration = (inner.values[loop.variable],) * 2
                yield inner
        del self._running[outer:]

    def _has_long_segment(self, array: str, block: RunBlock) -> bool:
        kind = next((parameter.type for parameter in self.outermost.parameters if parameter.name == array), None)
        return isinstance(kind, s.OffsetsType) and (self.evaluate_integer(kind.into, block) or 0) > (
            self.evaluate_integer(kind.count, block) or 0
        )

    def handle_uncertain_blocks(self, bodies: Iterable[tuple[s.Stmt, ...]], block: RunBlock) -> None:
        self._follow_guarded(tuple(bodies), block, False)

    def _follow_guarded(self, bodies: Sequence[tuple[s.Stmt, ...]], block: RunBlock, iterations: bool) -> None:
        """Follow blocks under conditions on data as if they were reached; with `iterations` each is one iteration.

        Accesses inside the blocks are compared only with each other.
        """
        self.forget_blocks(bodies, block)
        if self._calls:
            # In a call, the arguments may be such that the guarded block is never reached.
            return
        outer, active = self._start, len(self._running)
        self._start = active - iterations
        for number, body in enumerate(bodies):
            if iterations:
                self._running[-1].iteration = number, None
            if iterations or not self._around.isdisjoint(body):
                stack = list(self._active)
                with suppress(StopError):
                    self.follow_block(body, block)
                self._active = stack
                del self._running[active:], self._calls[:]
                self.forget_blocks(bodies, block)
        self._start = outer

    def assign(self, assign: s.Assign, block: RunBlock) -> None:
        super().assign(assign, block)
        if not self._calls or assign.op != "=" or not self.module.is_view(assign.value):
            return
        target, source = (self.locate_elements(view, block) for view in (assign.target, assign.value))
        if target is None or source is None or target[0] is not source[0]:
            return
        places = list(zip(target[1], source[1], strict=False))
        written = {place for place, _ in places}
        shared = next((read for place, read in places if read != place and read in written), None)
        if shared is not None:
            race = _CopyRace(assign, self._calls[0], target[0], shared, self.sizes)
            self._races.setdefault(assign, race)

    def read(self, expr: s.Expr, block: RunBlock) -> None:
        # An update such as `+=` is recorded by its write.
        if not (isinstance(self._now, s.Simple) and expr in self._now.updates):
            self._record_access(expr, False, block)
        super().read(expr, block)

    def write(self, target: s.Expr, block: RunBlock) -> None:
        self._record_access(target, True, block)
        super().write(target, block)

    def _record_access(self, access: s.Expr, writes: bool, block: RunBlock) -> None:
        array, places = (self._running[self._start :] and self.locate_elements(access, block)) or (None, ())
        atomic = writes and isinstance(self._now, s.Assign) and self._now.atomic
        for place, running in product(places, self._running[self._start :]):
            assert array is not None
            # Accesses of a call are reported at the call in the loop.
            node: s.Node = self._calls[running.depth] if running.depth < len(self._calls) else access
            combined = running.loop.reduction
            if combined is not None and isinstance(node, s.Name) and node.id == combined.register.id:
                # Iterations that combine their values in a register do not race on it.
                continue
            later = _Access(array, place, node, writes, atomic, running.iteration)
            earlier = (
                prior for prior in later.iterate_conflicts(running.touched) if prior.iteration != later.iteration
            )
            racing = next(earlier, None)
            running.touched.setdefault(later.key, later)
            if racing is not None and running.loop not in self._races:
                loops = tuple(outer.loop for outer in self._running[: self._running.index(running) + 1])
                inside = self.outermost.name if running.depth else ""
                self._races[running.loop] = _Race(loops, (racing, later), self.sizes, inside)


SPAWN_RACE = Rule(
    "AL304",
    "race between spawned calls",
    """
    A spawned call and the statements after it, up to the `sync`, access the same element and at least one writes it, so
    the result depends on their order. The message names both accesses, and the sizes of a run in which both occur for
    any data.

    ```
    spawn g(x, b)
    g(x, b)                  # both write b; write: sync before it
    ```

    Put a `sync` between them, or give each call an array of its own. Races that depend on the data are found when the
    program runs.
    """,
)


class _SpawnRaceSearch(FollowedRuns):
    """Follows an algorithm with its calls, to find conflicting accesses without a `sync` between them.

    Each active call records the accesses of its spawned calls since its last `sync`: until the next `sync`, they run in
    parallel with the accesses of the call itself and of the calls that it makes.
    """

    def __init__(self, module: Module, algorithm: s.Algorithm) -> None:
        super().__init__(module, algorithm, every=True)
        self.left = MAX_SPAWN_STATEMENTS
        self._unordered: list[list[tuple[s.Invoke, dict[AccessKey, _Access]]]] = []
        self._strands: list[dict[AccessKey, _Access]] = []
        self._spawned: dict[s.Call, s.Invoke] = {}

    def find_race(self, sizes: Point) -> Diagnostic | None:
        """Return the first race of the run at sizes; None if there is none."""
        self._unordered, self._strands = [[]], []
        try:
            self.follow_run(sizes)
        except _RaceError as race:
            return race.diagnostic
        return None

    def handle_uncertain_blocks(self, bodies: Iterable[tuple[s.Stmt, ...]], block: RunBlock) -> None:
        self.forget_blocks(bodies, block)

    def invoke(self, invoke: s.Invoke, block: RunBlock) -> None:
        if invoke.spawned:
            self._spawned[invoke.call] = invoke
        super().invoke(invoke, block)

    def follow_call(self, call: s.Call, callee: s.Algorithm, inner: RunBlock, block: RunBlock) -> None:
        spawn = self._spawned.get(call)
        self._strands += [{}] * (spawn is not None)
        self._unordered.append([])
        super().follow_call(call, callee, inner, block)
        self._unordered.pop()
        if spawn is not None:
            self._unordered[-1].append((spawn, self._strands.pop()))

    def statement(self, statement: s.Stmt, block: RunBlock) -> None:
        if isinstance(statement, s.Sync):
            self._unordered[-1].clear()
        super().statement(statement, block)

    def follow_block(self, body: tuple[s.Stmt, ...], block: RunBlock) -> None:
        super().follow_block(body, block)
        if any(statement.array is not None for statement in body):
            # A block with a local array ends with a `sync`.
            self._unordered[-1].clear()

    def enter_iterations(self, loop: s.Loop, lo: Any, hi: Any, step: Any, block: RunBlock) -> Iterable[RunBlock]:
        for inner in super().enter_iterations(loop, lo, hi, step, block):
            yield inner
            if loop.parallel:
                # An iteration of a parallel loop ends with a `sync` as well.
                self._unordered[-1].clear()

    def read(self, expr: s.Expr, block: RunBlock) -> None:
        # An update such as `+=` is recorded by its write.
        if not (isinstance(self._now, s.Simple) and expr in self._now.updates):
            self._record_access(expr, False, block)
        super().read(expr, block)

    def write(self, target: s.Expr, block: RunBlock) -> None:
        self._record_access(target, True, block)
        super().write(target, block)

    def _record_access(self, access: s.Expr, writes: bool, block: RunBlock) -> None:
        located = self.locate_elements(access, block) if self._strands or any(self._unordered) else None
        if located is None:
            return
        atomic = writes and isinstance(self._now, s.Assign) and self._now.atomic
        for place in located[1]:
            later = _Access(located[0], place, access, writes, atomic)
            for spawn, touched in chain.from_iterable(self._unordered):
                for earlier in later.iterate_conflicts(touched):
                    raise _RaceError(self._build_diagnostic(spawn, earlier, later))
            for strand in self._strands:
                strand.setdefault(later.key, later)

    def _build_diagnostic(self, spawn: s.Invoke, prior: _Access, this: _Access) -> Diagnostic:
        call = format_expression(spawn.call)
        first, second = ("writes" if access.writes else "reads" for access in (prior, this))
        element = this.array.format_element(this.place)
        what = f"it {first} `{element}` on line {prior.node.span.line}, and line {this.node.span.line} "
        what += f"{second} the same element before the `sync`"
        what += f", at {format_point(self.sizes)}" if self.sizes else ""
        hint = "put a `sync` between them, or give each call an array of its own"
        message = f"`spawn {call}` races with what follows it: {what}"
        related = Related(prior.node.span, f"the call {first} it"), Related(this.node.span, f"this {second} it")
        return Diagnostic(SPAWN_RACE, message, spawn.span, hint=hint, related=related)


class _RaceError(Exception):
    """Raised at the first race that is found, with its diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__()
        self.diagnostic = diagnostic


def find_certain_spawn_race(module: Module, algorithm: s.Algorithm) -> tuple[Diagnostic, Point] | None:
    """Find a race of spawned calls that occurs for any data, with the first sizes at which it does, or None."""
    bodies = tuple(part.body for part in (algorithm, *find_reachable(module, algorithm)))
    # With indices no race is certain, as callers may restrict their values.
    followed = not algorithm.grid and not module.signatures[algorithm].indices
    if not followed or not any(invoke.spawned for invoke in s.find_nodes(bodies, s.Invoke)):
        return None
    runs = _SpawnRaceSearch(module, algorithm)
    for point in list_short_run_sizes(module, algorithm):
        diagnostic = runs.find_race(point)
        if diagnostic is not None:
            return diagnostic, point
        if runs.left < 0:
            break
    return None
