"""Private caches under schedules: who executes what, where local arrays lie, when Q_P <= P * Q_1 holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.execution.cache import (
    Chunked,
    Schedule,
    StaticSchedule,
    StrandLog,
    TraceEvent,
    WorkStealing,
    lru,
    optimal,
    private_caches,
)
from archline.execution.cache.schedules import deal_iterations
from archline.execution.cache.stealing import simulate_stealing
from archline.execution.cache.strands import Assignment, Structure, match_events

# The first example of a test may compile a kernel.
untimed = settings(deadline=None)

STACK = 100


@dataclass(frozen=True)
class Run:
    """Accesses, one after another; a negative line -k is line k - 1 of the innermost local array, if any."""

    lines: tuple[int, ...]


@dataclass(frozen=True)
class Sync:
    pass


@dataclass(frozen=True)
class Spawn:
    body: Body


@dataclass(frozen=True)
class Call:
    body: Body


@dataclass(frozen=True)
class Loop:
    bodies: tuple[Body, ...]


@dataclass(frozen=True)
class Local:
    size: int
    body: Body


Body: TypeAlias = tuple[Run | Sync | Spawn | Call | Loop | Local, ...]


@dataclass
class Recorder:
    """The serial execution of a program: its trace, its log, the trace with fresh lines for every array."""

    lines: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)
    events: list[tuple[TraceEvent, int, int]] = field(default_factory=list)
    frames: list[list[Item]] = field(default_factory=lambda: [[]])
    arrays: list[tuple[int, int, int]] = field(default_factory=list)
    depth: int = 0
    used: int = 0

    def event(self, kind: TraceEvent, value: int = 0) -> None:
        self.events.append((kind, len(self.lines), value))

    def body(self, body: Body) -> None:
        for node in body:
            match node:
                case Run(lines):
                    for line in lines:
                        self.access(line)
                case Sync():
                    self.event(TraceEvent.SYNC)
                    self.frames[-1].append("sync")
                case Spawn(inner):
                    self.nested(inner, TraceEvent.SPAWN, TraceEvent.SPAWN_END, spawned=True)
                case Call(inner):
                    self.nested(inner, TraceEvent.CALL, TraceEvent.RETURN, spawned=False)
                case Loop(bodies):
                    self.loop(bodies)
                case Local(size, inner):
                    self.local(size, inner)

    def access(self, line: int) -> None:
        if line < 0 and self.arrays:
            depth, fresh, size = self.arrays[-1]
            line, unique = STACK + depth + (-line - 1) % size, STACK + fresh + (-line - 1) % size
        else:
            line = unique = abs(line)
        self.frames[-1].append(len(self.lines))
        self.lines.append(line)
        self.fresh.append(unique)

    def nested(self, body: Body, begin: TraceEvent, end: TraceEvent, *, spawned: bool) -> None:
        self.event(begin)
        self.frames.append([])
        self.body(body)
        frame = Frame(tuple(self.frames.pop()), spawned)
        self.frames[-1].append(frame)
        self.event(end)

    def loop(self, bodies: tuple[Body, ...]) -> None:
        self.event(TraceEvent.PARALLEL, len(bodies))
        iterations = []
        for body in bodies:
            self.event(TraceEvent.ITERATION)
            self.frames.append([])
            self.body(body)
            iterations.append(Frame(tuple(self.frames.pop()), spawned=True))
        self.frames[-1].append(Frame(tuple(iterations), spawned=False))
        self.event(TraceEvent.PARALLEL_END)

    def local(self, size: int, body: Body) -> None:
        self.event(TraceEvent.ALLOCATE, size)
        self.arrays.append((self.depth, self.used, size))
        self.depth += size
        self.used += size
        self.body(body)
        self.depth -= size
        self.arrays.pop()
        self.event(TraceEvent.RELEASE, size)
        self.frames[-1].append("sync")


@dataclass(frozen=True)
class Frame:
    items: tuple[Item, ...]
    spawned: bool


Item: TypeAlias = int | str | Frame


@dataclass(frozen=True)
class Recorded:
    lines: np.ndarray
    fresh: np.ndarray
    log: StrandLog
    frame: Frame

    @property
    def structure(self) -> Structure:
        return match_events(self.log, len(self.lines))


def record(program: Body) -> Recorded:
    recorder = Recorder()
    recorder.body(program)
    kinds, positions, values = zip(*recorder.events, strict=True) if recorder.events else ((), (), ())
    log = StrandLog(np.array(kinds, np.uint8), np.array(positions, np.int64), np.array(values, np.int64), STACK)
    lines, fresh = np.array(recorder.lines, np.int64), np.array(recorder.fresh, np.int64)
    return Recorded(lines, fresh, log, Frame(tuple(recorder.frames[0]), spawned=False))


def latest_first(items: tuple[Item, ...]) -> list[int]:
    """The accesses of a frame with every spawned child put after all that runs beside it.

    One access precedes another, whatever the schedule, iff it comes first in this order and in the serial one
    (Nudler and Rudolph, Tools for the efficient development of efficient parallel programs, 1986).
    """
    order: list[int] = []
    held_back: list[Frame] = []
    for item in (*items, "sync"):
        match item:
            case int():
                order.append(item)
            case Frame(_, spawned=True):
                held_back.append(item)
            case Frame(inner, _):
                order += latest_first(inner)
            case _:
                while held_back:
                    order += latest_first(held_back.pop().items)
    return order


def programs(*, local: bool) -> st.SearchStrategy[Body]:
    runs = st.builds(Run, st.lists(st.integers(-3 if local else 0, 6), max_size=6).map(tuple))
    leaves = st.one_of(runs, st.just(Sync())).map(lambda node: (node,))

    def grow(bodies: st.SearchStrategy[Body]) -> st.SearchStrategy[Body]:
        nodes = [
            runs,
            st.just(Sync()),
            st.builds(Spawn, bodies),
            st.builds(Call, bodies),
            st.builds(Loop, st.lists(bodies, max_size=5).map(tuple)),
        ]
        if local:
            nodes.append(st.builds(Local, st.integers(1, 3), bodies))
        return st.lists(st.one_of(nodes), max_size=4).map(tuple)

    return st.recursive(leaves, grow, max_leaves=25)


serial_orders = st.one_of(st.just(StaticSchedule()), st.builds(Chunked, st.integers(1, 3)))
schedules = st.one_of(serial_orders, st.builds(WorkStealing, st.integers(0, 99)))


def assign(schedule: Schedule, shape: Structure, processors: int) -> Assignment:
    if isinstance(schedule, WorkStealing):
        return simulate_stealing(schedule, shape, processors)
    return deal_iterations(schedule, shape, processors)


def executed(assignment: Assignment) -> list[list[int]]:
    return [[access for range_ in own for access in range(*range_)] for own in assignment.ranges]


@untimed
@given(program=programs(local=True), schedule=schedules, processors=st.integers(1, 4))
def test_every_access_is_executed_once_and_behind_what_precedes_it(
    program: Body, schedule: Schedule, processors: int
) -> None:
    recorded = record(program)
    orders = executed(assign(schedule, recorded.structure, processors))
    assert sorted(chain.from_iterable(orders)) == list(range(len(recorded.lines)))
    rank = {access: place for place, access in enumerate(latest_first(recorded.frame.items))}
    for order in orders:
        for earlier, later in combinations(order, 2):
            assert not (later < earlier and rank[later] < rank[earlier])
        if not isinstance(schedule, WorkStealing):
            assert order == sorted(order)


@untimed
@given(program=programs(local=True), schedule=schedules, capacity=st.integers(1, 5), data=st.data())
def test_one_processor_is_the_serial_execution(
    program: Body, schedule: Schedule, capacity: int, data: st.DataObject
) -> None:
    recorded = record(program)
    size = len(recorded.lines)
    writes = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), bool)
    for policy, simulate in (("optimal", optimal), ("lru", lru)):
        run = private_caches(recorded.lines, recorded.log, schedule, 1, capacity, policy, writes)
        assert run.caches == (simulate(recorded.lines, capacity, writes),)
        assert run.accesses == (size,)


@untimed
@given(program=programs(local=False), schedule=serial_orders, processors=st.integers(1, 4), capacity=st.integers(1, 5))
def test_lemma_2_1_of_ice_where_every_processor_keeps_the_serial_order(
    program: Body, schedule: Schedule, processors: int, capacity: int
) -> None:
    recorded = record(program)
    run = private_caches(recorded.lines, recorded.log, schedule, processors, capacity)
    assert run.io <= processors * optimal(recorded.lines, capacity).io


@untimed
@given(program=programs(local=True), schedule=serial_orders, processors=st.integers(1, 4), capacity=st.integers(1, 5))
def test_lemma_2_1_with_local_arrays_needs_fresh_lines_on_the_serial_side(
    program: Body, schedule: Schedule, processors: int, capacity: int
) -> None:
    recorded = record(program)
    run = private_caches(recorded.lines, recorded.log, schedule, processors, capacity)
    assert run.io <= processors * optimal(recorded.fresh, capacity).io


@untimed
@given(program=programs(local=True), schedule=schedules, processors=st.integers(1, 4))
def test_arrays_alive_together_do_not_overlap(program: Body, schedule: Schedule, processors: int) -> None:
    recorded = record(program)
    shape = recorded.structure
    assignment = assign(schedule, shape, processors)
    begun = [event for event, kind in enumerate(shape.kinds) if kind is TraceEvent.ALLOCATE]
    for outer, inner in combinations(range(shape.allocations), 2):
        nested = begun[inner] < shape.partner[begun[outer]]
        if nested and assignment.owners[outer] == assignment.owners[inner]:
            assert assignment.starts[inner] >= assignment.starts[outer] + shape.values[begun[outer]]


def nest(trips: int, *lines: int) -> Loop:
    return Loop(tuple((Run(lines),) for _ in range(trips)))


def test_static_gives_contiguous_blocks_of_the_outermost_loop() -> None:
    program = (Run((1,)), Loop(tuple((nest(2, k), Spawn((Run((k,)),))) for k in range(5))), Run((2,)))
    recorded = record(program)
    assignment = deal_iterations(StaticSchedule(), recorded.structure, 2)
    # Iterations 0, 1, 2 of 5 on processor 0 (k * 2 // 5 == 0), 3 and 4 on processor 1; three accesses each.
    assert executed(assignment) == [[0, *range(1, 10), 16], list(range(10, 16))]


def test_chunks_are_dealt_in_turn() -> None:
    recorded = record((nest(7, 5),))
    assignment = deal_iterations(Chunked(2), recorded.structure, 3)
    assert executed(assignment) == [[0, 1, 6], [2, 3], [4, 5]]


def test_a_lemma_2_1_counterexample_under_lru() -> None:
    """The serial order keeps line 1 recent for iteration 2; on its own, processor 0 loses it to 2 and 3."""
    recorded = record((Loop(((Run((1, 2)),), (Run((2, 1, 3, 1)),), (Run((3, 1)),))),))
    assert lru(recorded.lines, 2).io == 3
    run = private_caches(recorded.lines, recorded.log, Chunked(1), 2, 2, "lru")
    assert [cache.io for cache in run.caches] == [4, 3]
    assert private_caches(recorded.lines, recorded.log, Chunked(1), 2, 2).io <= 2 * 3


@pytest.mark.parametrize("seed", range(8))
def test_a_lemma_2_1_counterexample_under_work_stealing(seed: int) -> None:
    """Two branches, each a sequence of small loops over a line of its own, and a third worker that helps both.

    In serial order the helper would change lines once; in its own it changes at about every other steal.
    """
    branches = [(nest(2, line, line, line),) * 20 for line in (1, 2)]
    recorded = record((Spawn(branches[0]), *branches[1]))
    assert optimal(recorded.lines, 1).io == 2
    assert private_caches(recorded.lines, recorded.log, WorkStealing(seed), 3, 1).io > 3 * 2
    assert private_caches(recorded.lines, recorded.log, StaticSchedule(), 3, 1).io <= 3 * 2


def test_thieves_take_the_oldest_continuation_and_loops_halve() -> None:
    recorded = record((nest(4, *range(100)),))
    for seed in range(5):
        halves = [list(range(200)), list(range(200, 400))]
        assert executed(simulate_stealing(WorkStealing(seed), recorded.structure, 2)) == halves


def test_a_release_waits_for_the_spawned_readers_of_the_array() -> None:
    block = Local(1, (Spawn((Run((-1,) * 50),)), Run((2,) * 5)))
    recorded = record((block, Run((3,) * 7)))
    orders = executed(simulate_stealing(WorkStealing(0), recorded.structure, 2))
    assert orders == [[*range(50), *range(55, 62)], list(range(50, 55))]


def test_the_last_child_goes_on_behind_the_sync() -> None:
    """The continuation is stolen and short; its thief waits at the sync, and the child's worker passes it."""
    recorded = record((Spawn((Run((1,) * 50),)), Run((2,) * 5), Sync(), Run((3,) * 7)))
    assignment = simulate_stealing(WorkStealing(0), recorded.structure, 2)
    assert executed(assignment) == [[*range(50), *range(55, 62)], list(range(50, 55))]


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([(TraceEvent.SPAWN, 0, 0)], "every opened event is closed"),
        ([(TraceEvent.SPAWN_END, 0, 0)], "closes the innermost open event"),
        ([(TraceEvent.SPAWN, 0, 0), (TraceEvent.RETURN, 0, 0)], "closes the innermost open event"),
        ([(TraceEvent.ITERATION, 0, 0)], "directly in its loop"),
        ([(TraceEvent.PARALLEL, 0, 1), (TraceEvent.PARALLEL_END, 0, 0)], "trip count"),
        ([(TraceEvent.SYNC, 1, 0), (TraceEvent.SYNC, 0, 0)], "positions do not decrease and lie within the trace"),
        ([(TraceEvent.SYNC, 3, 0)], "positions do not decrease and lie within the trace"),
        ([(TraceEvent.ALLOCATE, 0, 2), (TraceEvent.RELEASE, 0, 1)], "size with which it was allocated"),
        ([(TraceEvent.ALLOCATE, 0, 1), (TraceEvent.RELEASE, 1, 1)], "above the stack"),
    ],
)
def test_malformed_logs_are_refused(events: list[tuple[TraceEvent, int, int]], message: str) -> None:
    kinds, positions, values = (np.array(column, np.int64) for column in zip(*events, strict=True))
    log = StrandLog(kinds.astype(np.uint8), positions, values, STACK)
    with pytest.raises(ValueError, match=message):
        private_caches(np.array([STACK, STACK]), log, StaticSchedule(), 2, 1)


def test_counts_below_one_are_refused() -> None:
    recorded = record((Run((1,)),))
    with pytest.raises(ValueError, match="at least one processor"):
        private_caches(recorded.lines, recorded.log, StaticSchedule(), 0, 1)
    with pytest.raises(ValueError, match="at least one iteration"):
        Chunked(0)
