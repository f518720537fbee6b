"""Define the schedules that keep the serial order on every processor: static blocks, and chunks dealt in turn."""

from __future__ import annotations

from archline.execution.cache.strands import Assignment, Stacks, Structure, TraceEvent, add_range
from archline.records import record


@record(slots=True)
class StaticSchedule:
    """The schedule that gives each processor one block of the iterations of each outermost parallel loop.

    Iteration k of t is executed by processor k*P // t. Nested parallel loops and spawned calls run, serially, on the
    processor that reaches them; code outside of parallel loops runs on processor 0.
    """


@record(slots=True)
class Chunked:
    """The schedule that deals iterations in chunks of `size`: iteration k to processor (k // size) mod P.

    Nested loops, calls and other code are as in `StaticSchedule`. ValueError if `size` < 1.
    """

    size: int

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"a chunk holds at least one iteration, not {self.size}")


def deal_iterations(schedule: StaticSchedule | Chunked, structure: Structure, processors: int) -> Assignment:
    """Assign the accesses and local arrays of an execution to `processors` processors."""
    ranges: list[list[tuple[int, int]]] = [[] for _ in range(processors)]
    stacks = Stacks(processors, structure.allocations)
    processor = 0
    nesting = 0
    trips = 0
    iteration = 0
    position = 0
    for event, kind in enumerate(structure.kinds):
        add_range(ranges[processor], position, structure.positions[event])
        position = structure.positions[event]
        match kind:
            case TraceEvent.PARALLEL:
                nesting += 1
                if nesting == 1:
                    trips = structure.values[event]
                    iteration = 0
            case TraceEvent.ITERATION if nesting == 1:
                processor = _select_processor(schedule, iteration, trips, processors)
                iteration += 1
            case TraceEvent.PARALLEL_END:
                nesting -= 1
                if nesting == 0:
                    processor = 0
            case TraceEvent.ALLOCATE:
                stacks.allocate(processor, structure.allocation[event], structure.values[event])
            case TraceEvent.RELEASE:
                stacks.release(structure.allocation[event])
            case _:
                pass
    return Assignment(ranges, stacks.owners, stacks.starts)


def _select_processor(schedule: StaticSchedule | Chunked, iteration: int, trips: int, processors: int) -> int:
    match schedule:
        case StaticSchedule():
            return iteration * processors // trips
        case Chunked(size):
            return iteration // size % processors
