"""Simulate the randomised work stealing of Cilk: a deque for each worker, which runs children before continuations.

The scheduler is that of Cilk (Blumofe and Leiserson, Journal of the ACM 46(5), 1999; Frigo, Leiserson and Randall, PLDI
1998). At a spawn the worker puts the continuation at the bottom of its deque and runs the child. At the child's end it
takes the continuation back from the bottom. If that was stolen, it continues after the parent's sync if the child is
the last for which that waits, and otherwise becomes a thief. At a sync with children that run, it leaves the frame to
the last child and becomes a thief. A thief takes the oldest continuation of a random other worker. A parallel loop is a
tree of spawns: the first half of a range of iterations is spawned, the second is the continuation.

A strand takes as many units of time as it has accesses, at least 1; an attempt to steal takes 1. While all deques are
empty, thieves wait, which avoids attempts that cannot succeed.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from dataclasses import dataclass
from enum import Enum

from archline.execution.cache.strands import Assignment, LineStacks, MatchedLog, TraceEvent, add_range
from archline.records import record


@record(slots=True)
class WorkStealing:
    """Randomised work stealing; `seed` makes a run repeatable."""

    seed: int


class _FrameKind(Enum):
    CALLED = "a serial call, or the whole execution"
    SPAWNED = "a spawned call"
    LOOP = "the range of all iterations of a parallel loop"
    HALF = "a spawned range of iterations"
    ITERATION = "one iteration"


@dataclass(eq=False, slots=True)
class _Frame:
    """A frame of calls and iterations, whose children a sync joins; `children` counts the children that still run.

    `loop` is the PARALLEL event of the loop of a range or an iteration; `waiting` is the task that waits for children.
    """

    kind: _FrameKind
    parent: _Frame | None
    loop: int = -1
    children: int = 0
    waiting: _Task | None = None


@dataclass(eq=False, slots=True)
class _Task:
    """The continuation of a frame: the accesses from `position` up to the event `event`, then that event.

    For a range of iterations `low`..`high` the event is the PARALLEL of the loop.
    """

    frame: _Frame
    event: int
    position: int
    low: int = 0
    high: int = 0


_WITHIN_STRAND = frozenset({TraceEvent.CALL, TraceEvent.RETURN, TraceEvent.ALLOCATE, TraceEvent.RELEASE})


def simulate_stealing(schedule: WorkStealing, structure: MatchedLog, processors: int) -> Assignment:
    """Assign the accesses and local arrays of an execution to `processors` workers; worker 0 begins it."""
    return _StealingSimulation(schedule, structure, processors).run()


class _StealingSimulation:
    def __init__(self, schedule: WorkStealing, structure: MatchedLog, processors: int) -> None:
        self._structure = structure
        self._random = random.Random(schedule.seed)
        self._stacks = LineStacks(processors, structure.allocations)
        self._ranges: list[list[tuple[int, int]]] = [[] for _ in range(processors)]
        self._deques: list[deque[_Task]] = [deque() for _ in range(processors)]
        self._current: list[_Task | None] = [None] * processors
        self._agenda: list[tuple[int, int]] = []
        self._thieves_waiting = list(range(1, processors))
        self._finished = False

    def run(self) -> Assignment:
        self._begin_task(0, 0, _Task(_Frame(_FrameKind.CALLED, None), 0, 0))
        while not self._finished:
            now, worker = heapq.heappop(self._agenda)
            task = self._current[worker]
            task = self._steal_task(worker) if task is None else self._execute_event(worker, task)
            if task is not None:
                self._begin_task(worker, now, task)
            elif any(self._deques):
                self._idle_until(worker, now + 1)
            else:
                self._current[worker] = None
                self._thieves_waiting.append(worker)
            if self._thieves_waiting and any(self._deques):
                for thief in self._thieves_waiting:
                    self._idle_until(thief, now + 1)
                self._thieves_waiting.clear()
        return Assignment(self._ranges, self._stacks.owners, self._stacks.starts)

    def _begin_task(self, worker: int, now: int, task: _Task) -> None:
        end = self._structure.positions[task.event]
        add_range(self._ranges[worker], task.position, end)
        minimum = 0 if self._structure.kinds[task.event] in _WITHIN_STRAND else 1
        self._current[worker] = task
        heapq.heappush(self._agenda, (now + max(end - task.position, minimum), worker))

    def _idle_until(self, worker: int, until: int) -> None:
        self._current[worker] = None
        heapq.heappush(self._agenda, (until, worker))

    def _steal_task(self, thief: int) -> _Task | None:
        victim = self._random.randrange(len(self._deques) - 1)
        victim += victim >= thief
        return self._deques[victim].popleft() if self._deques[victim] else None

    def _execute_event(self, worker: int, task: _Task) -> _Task | None:
        """Execute the event that a task has reached; return the next task of the worker, None if it becomes a thief."""
        frame, event = task.frame, task.event
        structure = self._structure
        match structure.kinds[event]:
            case TraceEvent.SPAWN:
                continuation = self._make_continuation(frame, structure.partner[event] + 1)
                return self._fork_child(
                    worker, continuation, self._make_continuation(_Frame(_FrameKind.SPAWNED, frame), event + 1)
                )
            case TraceEvent.PARALLEL:
                return self._execute_range(worker, task)
            case TraceEvent.CALL:
                return self._make_continuation(_Frame(_FrameKind.CALLED, frame), event + 1)
            case TraceEvent.SYNC if not self._wait_for_children(task):
                return self._make_continuation(frame, event + 1)
            case TraceEvent.SPAWN_END | TraceEvent.RETURN | TraceEvent.ITERATION | TraceEvent.PARALLEL_END if (
                not self._wait_for_children(task)
            ):
                return self._leave_frame(worker, task)
            case TraceEvent.ALLOCATE:
                self._stacks.allocate(worker, structure.allocation[event], structure.values[event])
                return self._make_continuation(frame, event + 1)
            case TraceEvent.RELEASE if not self._wait_for_children(task):
                self._stacks.release(structure.allocation[event])
                return self._make_continuation(frame, event + 1)
            case _:
                return None

    def _make_continuation(self, frame: _Frame, event: int) -> _Task:
        """Return the continuation of a frame after the event before `event`."""
        return _Task(frame, event, self._structure.positions[event - 1])

    def _fork_child(self, worker: int, continuation: _Task, child: _Task) -> _Task:
        continuation.frame.children += 1
        self._deques[worker].append(continuation)
        return child

    def _wait_for_children(self, task: _Task) -> bool:
        """Return whether the frame has to wait for children; then the task is left in it for the last child."""
        if not task.frame.children:
            return False
        task.position = self._structure.positions[task.event]
        task.frame.waiting = task
        return True

    def _execute_range(self, worker: int, task: _Task) -> _Task:
        frame, loop, position = task.frame, task.event, self._structure.positions[task.event]
        match task.high - task.low:
            case 0 if not self._structure.values[loop]:
                return self._make_continuation(frame, self._structure.partner[loop] + 1)
            case 0:
                loop_frame = _Frame(_FrameKind.LOOP, frame, loop)
                return _Task(loop_frame, loop, position, 0, self._structure.values[loop])
            case 1:
                iteration = self._structure.iterations[loop][task.low]
                return self._make_continuation(_Frame(_FrameKind.ITERATION, frame, loop), iteration + 1)
            case _:
                middle = (task.low + task.high) // 2
                half = _Frame(_FrameKind.HALF, frame, loop)
                first = _Task(half, loop, position, task.low, middle)
                return self._fork_child(worker, _Task(frame, loop, position, middle, task.high), first)

    def _leave_frame(self, worker: int, task: _Task) -> _Task | None:
        """End a frame without running children; return the next task of the worker, None if it becomes a thief."""
        parent = task.frame.parent
        if parent is None:
            self._finished = True
            return None
        match task.frame.kind:
            case _FrameKind.CALLED | _FrameKind.LOOP:
                return self._make_continuation(parent, task.event + 1)
            case _FrameKind.ITERATION:
                end = self._structure.partner[task.frame.loop]
                return _Task(parent, end, self._structure.positions[end])
            case _FrameKind.SPAWNED | _FrameKind.HALF:
                return self._end_child(worker, parent)

    def _end_child(self, worker: int, parent: _Frame) -> _Task | None:
        """End a spawned child of `parent`; return the next task of the worker, None if it becomes a thief."""
        parent.children -= 1
        if self._deques[worker]:
            return self._deques[worker].pop()
        if parent.waiting is not None and not parent.children:
            task, parent.waiting = parent.waiting, None
            return task
        return None
