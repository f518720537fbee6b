"""Define the log of a serial execution, whose events give the series-parallel structure of its access trace."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from archline.records import record


class TraceEvent(IntEnum):
    """An event between two accesses of the serial execution.

    The value of PARALLEL is the trip count, that of ALLOCATE and RELEASE a number of lines; other events have none (0).
    """

    SPAWN = 0
    """A spawned call begins; it ends at its SPAWN_END."""
    SPAWN_END = 1
    """The spawned call ends after the calls that it spawned are joined."""
    SYNC = 2
    """The calls spawned in this frame before it are joined."""
    PARALLEL = 3
    """A parallel loop begins; as many ITERATION events of this loop follow as its trip count says."""
    ITERATION = 4
    """The next iteration begins; the iteration before it ends after its spawned calls are joined."""
    PARALLEL_END = 5
    """The loop ends: its iterations are joined, but no other spawned calls."""
    CALL = 6
    """A serial call begins, with a frame for its spawns and syncs; not needed if the callee has none."""
    RETURN = 7
    """The serial call ends after the calls that it spawned are joined."""
    ALLOCATE = 8
    """A local array of some lines is put on top of the stack of lines."""
    RELEASE = 9
    """The spawned calls of the frame are joined, and the topmost local array, of that many lines, is released."""


_CLOSED_BY = {
    TraceEvent.SPAWN: TraceEvent.SPAWN_END,
    TraceEvent.PARALLEL: TraceEvent.PARALLEL_END,
    TraceEvent.CALL: TraceEvent.RETURN,
    TraceEvent.ALLOCATE: TraceEvent.RELEASE,
}
_OPENED_BY = {end: begin for begin, end in _CLOSED_BY.items()}


@record(eq=False, slots=True)
class StrandLog:
    """The events of one serial execution, in its order.

    Event e is of kind `kinds[e]` (a `TraceEvent`), is before access `positions[e]` of the trace (the index of the next
    access, so nondecreasing, and the trace's length for events after the last one), and has the value `values[e]`.
    Local arrays are on one stack of lines: lines `stack_base` and above are the stack, in the order of its depth, lines
    below are all other arrays.
    """

    kinds: NDArray[np.uint8]
    positions: NDArray[np.int64]
    values: NDArray[np.int64]
    stack_base: int


@record(slots=True)
class Structure:
    """A log with its events matched, in lists. The last event is a RETURN that closes the whole execution.

    `partner[e]` is the closing event of an opening one and the opening one of a closing one (0 for the last);
    `allocation[e]` is, for ALLOCATE and RELEASE, the number of the allocation in the log (from 0), else -1;
    `iterations[e]` are the ITERATION events of the parallel loop that begins at e.
    """

    kinds: list[TraceEvent]
    positions: list[int]
    values: list[int]
    partner: list[int]
    allocation: list[int]
    iterations: dict[int, list[int]]
    allocations: int


def match_events(log: StrandLog, accesses: int) -> Structure:
    """Check the log of a trace of `accesses` accesses, and match its events.

    ValueError if events do not nest, positions decrease or leave the trace, the number of a loop's iterations differs
    from its trip count, or an array is released with another size.
    """
    positions = [*log.positions.tolist(), accesses]
    _require_rule(len(log.kinds) == len(log.positions) == len(log.values), "each event has one position and one value")
    _require_rule(
        all(a <= b for a, b in zip([0, *positions], positions, strict=False)),
        "positions do not decrease and lie within the trace",
    )
    kinds = [TraceEvent(kind) for kind in log.kinds.tolist()]
    values = log.values.tolist()
    partner = [0] * len(positions)
    allocation = [-1] * len(positions)
    iterations: dict[int, list[int]] = {}
    allocations = 0
    opened: list[int] = []
    for event, kind in enumerate(kinds):
        if kind in _CLOSED_BY:
            opened.append(event)
        elif kind in _OPENED_BY:
            _require_rule(
                bool(opened) and kinds[opened[-1]] is _OPENED_BY[kind], f"{kind.name} closes the innermost open event"
            )
            begin = opened.pop()
            partner[event], partner[begin] = begin, event
        if kind is TraceEvent.PARALLEL:
            iterations[event] = []
        elif kind is TraceEvent.ITERATION:
            _require_rule(
                bool(opened) and kinds[opened[-1]] is TraceEvent.PARALLEL, "each ITERATION is directly in its loop"
            )
            iterations[opened[-1]].append(event)
        elif kind is TraceEvent.PARALLEL_END:
            _require_rule(len(iterations[begin]) == values[begin], "a loop has as many iterations as its trip count")
        elif kind is TraceEvent.ALLOCATE:
            allocation[event] = allocations
            allocations += 1
        elif kind is TraceEvent.RELEASE:
            _require_rule(
                values[event] == values[begin], "an array is released with the size with which it was allocated"
            )
            allocation[event] = allocation[begin]
    _require_rule(not opened, "every opened event is closed")
    return Structure([*kinds, TraceEvent.RETURN], positions, [*values, 0], partner, allocation, iterations, allocations)


def _require_rule(holds: bool, rule: str) -> None:
    if not holds:
        raise ValueError(f"malformed strand log: {rule}")


class Stacks:
    """The stacks of lines of all processors; `owners` and `starts` are the processor and depth of each allocation.

    An array may be released by another processor than its owner, and below the top: a thief may finish a block of the
    owner. Space above the last array that is not released is free.
    """

    def __init__(self, processors: int, allocations: int) -> None:
        self.owners = [0] * allocations
        self.starts = [0] * allocations
        self._held: list[list[tuple[int, int]]] = [[] for _ in range(processors)]
        self._released = [False] * allocations

    def allocate(self, processor: int, allocation: int, lines: int) -> None:
        """Put an array of `lines` lines on top of the processor's stack."""
        held = self._held[processor]
        start = held[-1][1] if held else 0
        held.append((allocation, start + lines))
        self.owners[allocation] = processor
        self.starts[allocation] = start

    def release(self, allocation: int) -> None:
        """Release an array; its lines are free when all arrays above it on its stack are released too."""
        self._released[allocation] = True
        held = self._held[self.owners[allocation]]
        while held and self._released[held[-1][0]]:
            held.pop()


@record(slots=True)
class Assignment:
    """The accesses of each processor, in its order of execution, as half-open ranges.

    `owners[a]` and `starts[a]` are the processor and the depth of allocation a on its stack of lines.
    """

    ranges: list[list[tuple[int, int]]]
    owners: list[int]
    starts: list[int]


def add_range(ranges: list[tuple[int, int]], begin: int, end: int) -> None:
    """Append accesses `begin..end` to the ranges of a processor; extend the last range if it ends at `begin`."""
    if begin == end:
        return
    if ranges and ranges[-1][1] == begin:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((begin, end))
