"""Simulate the private caches of P processors, under a schedule of one recorded execution.

The trace is that of the serial execution; a schedule determines which processor executes which part of it, and in what
order. Each processor's accesses go through its own cache; caches start empty, and neither invalidation nor false
sharing between them is modelled. Local arrays are on the stack of lines of the processor that allocates them.

`Q_P <= P * Q_1` (Tran and Ha, ICPADS 2016, Lemma 2.1) is true for the lines fetched under optimal replacement if every
processor runs a subsequence of the serial order (`StaticSchedule`, `Chunked`), because dropping accesses from a trace
never increases the optimum. Q_1 must be that of a trace in which every local array has lines of its own: the serial
stack reuses lines for arrays that are on the stacks of different processors here. The lemma is false under LRU, and
under `WorkStealing`, where a processor may run strands out of the serial order.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from archline.execution.cache.replacement import CacheResult, lru, optimal
from archline.execution.cache.schedules import Chunked, StaticSchedule, deal_iterations
from archline.execution.cache.stealing import WorkStealing, simulate_stealing
from archline.execution.cache.strands import Assignment, StrandLog, TraceEvent, match_events
from archline.execution.cache.trace import Lines, Writes, check_trace
from archline.execution.jit import Buffer, kernel, make_buffer, to_array, to_buffer
from archline.records import record

Schedule: TypeAlias = StaticSchedule | Chunked | WorkStealing
Policy: TypeAlias = Literal["optimal", "lru"]
Element = TypeVar("Element", bound=np.generic)


@record(slots=True)
class PrivateCaches:
    """The number of accesses and the cache result of each processor, by rank."""

    accesses: tuple[int, ...]
    caches: tuple[CacheResult, ...]

    @property
    def io(self) -> int:
        """Q_P: the lines fetched by all caches together."""
        return sum(cache.io for cache in self.caches)

    @property
    def writebacks(self) -> int:
        """The dirty lines written back by all caches together."""
        return sum(cache.writebacks for cache in self.caches)


def private_caches(
    lines: Lines,
    log: StrandLog,
    schedule: Schedule,
    processors: int,
    capacity: int,
    policy: Policy = "optimal",
    writes: Writes | None = None,
) -> PrivateCaches:
    """Run the serial trace `lines` on `processors` processors with a cache of `capacity` lines each.

    With one processor every schedule is the serial execution. ValueError if a count is below 1, or the trace (see
    `compact`) or the log (see `strands`) is malformed.
    """
    if processors < 1:
        raise ValueError(f"an execution needs at least one processor, not {processors}")
    check_trace(lines, writes)
    shape = match_events(log, len(lines))
    match schedule:
        case WorkStealing():
            assignment = simulate_stealing(schedule, shape, processors)
        case StaticSchedule() | Chunked():
            assignment = deal_iterations(schedule, shape, processors)
    placed = _relocate_arrays(lines, log, assignment, processors) if shape.allocations else lines
    flags = None if writes is None else writes.view(np.uint8)
    simulate = {"optimal": optimal, "lru": lru}[policy]
    counts, caches = [], []
    for ranges in assignment.ranges:
        processor_lines = _gather_ranges(placed, ranges)
        counts.append(len(processor_lines))
        caches.append(simulate(processor_lines, capacity, None if flags is None else _gather_ranges(flags, ranges)))
    return PrivateCaches(tuple(counts), tuple(caches))


def _gather_ranges(trace: NDArray[Element], ranges: list[tuple[int, int]]) -> NDArray[Element]:
    return np.concatenate([trace[:0], *(trace[begin:end] for begin, end in ranges)])


def _relocate_arrays(lines: Lines, log: StrandLog, assignment: Assignment, processors: int) -> Lines:
    """Move the lines of each local array in a trace to the stack of its processor.

    The stacks are interleaved above the base, depth d of processor q at base + d*P + q, so none can meet another.
    """
    allocates = log.kinds == TraceEvent.ALLOCATE
    moves = (allocates | (log.kinds == TraceEvent.RELEASE)) & (log.values > 0)
    sizes = np.where(allocates, log.values, -log.values)[moves]
    bounds = np.append(log.positions[moves], len(lines))
    bottoms = np.array(assignment.starts, np.int64) * processors + np.array(assignment.owners, np.int64)
    bottoms = bottoms[log.values[allocates] > 0]
    table = make_buffer(int(np.cumsum(sizes).max(initial=0)), 0, np.int64)
    placed = make_buffer(len(lines), 0, np.int64)
    wrong_access = _relocate_lines(
        to_buffer(lines),
        to_buffer(bounds),
        to_buffer(sizes),
        to_buffer(bottoms),
        (log.stack_base, processors),
        table,
        placed,
    )
    if wrong_access >= 0:
        raise ValueError(
            f"access {wrong_access} is to line {lines[wrong_access]}, above the stack of local arrays there"
        )
    return to_array(placed, np.int64)


@kernel
def _relocate_lines(
    lines: Buffer,
    bounds: Buffer,
    sizes: Buffer,
    place: Buffer,
    stacks: tuple[int, int],
    table: Buffer,
    placed: Buffer,
) -> int:
    """Fill `placed` with the relocated lines; return the first access above the stack, or -1.

    `table` has the line that stands for each depth of the serial stack now. `sizes[k]` lines are put on the stack (> 0)
    or taken off (< 0) before access `bounds[k]`; `place[a]` is the position of the first line of the a-th array, from
    the base.
    """
    base, processors = stacks
    depth = 0
    allocation = 0
    access = 0
    for move in range(len(bounds)):
        while access < bounds[move]:
            line = lines[access]
            if line >= base:
                if line - base >= depth:
                    return access
                line = table[line - base]
            placed[access] = line
            access += 1
        if move < len(sizes):
            for level in range(sizes[move]):
                table[depth + level] = base + place[allocation] + level * processors
            depth += sizes[move]
            if sizes[move] > 0:
                allocation += 1
    return -1
