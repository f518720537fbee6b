"""Run an algorithm on the processors of a grid and collect its costs: simulate all processors, or run one (`mpi`)."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.codegen.messages import map_calls
from archline.execution.codegen.program import GeneratedProgram
from archline.execution.data import make_processors_error
from archline.execution.engine import Engine, get_engine
from archline.execution.grid import Processor, ProcessorGroup
from archline.execution.launch import (
    PLAIN_STEPS,
    FinishedRun,
    Result,
    RunPlan,
    allow_deep_recursion,
    collect_sizes,
    compute_block_costs,
    compute_counts,
    count_iterations,
    fill_state,
    launch_attempts,
    list_entry_arguments,
    list_nonfinite,
    split_results,
)
from archline.execution.memory import Memory, Room, fetch_array, make_compiled_memory, make_plain_memory
from archline.execution.paths import METRICS, NO_UNIT_TIMES, CriticalPath, Links, UnitTimes
from archline.execution.progress import limit_endless_loops, run_in_large_stack
from archline.execution.results import Run, RunCounts
from archline.execution.simulated import Locations, RunningProcessor, Stop, simulate
from archline.execution.slots import PEAK, SITE_FULL
from archline.execution.traced_paths import PathPiece, TracedPath, list_pieces
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_expression
from archline.expr.values import evaluate_static
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.records import record, replace

INITIAL_WORDS = 1 << 16
"""The words of memory with which a processor of a compiled run starts."""


@record(eq=False, slots=True)
class ProcessorResult:
    """The result of one processor: its counts, its critical path, its return value, and its `local` arrays and outputs.

    `iterations` are those of its loops without a bound, by the names of their sizes.
    """

    counts: RunCounts
    path: CriticalPath
    value: Any
    outputs: Mapping[str, NDArray[Any]]
    iterations: Mapping[str, int]


def compute_grid_shape(algorithm: s.Algorithm, sizes: Mapping[str, int], processors: Any) -> tuple[int, ...]:
    """Return the extents of a grid's axes. Raises ArchlineError (AL530) if P is missing, or not their product."""
    point = dict(sizes)
    if processors is not None:
        point["P"] = processors
    elif any("P" in s.find_names(axis.extent) for axis in algorithm.grid):
        raise make_processors_error(algorithm)
    shape = []
    for axis in algorithm.grid:
        try:
            extent = evaluate_static(axis.extent, point)
        except EvaluationError as problem:
            raise error(rules.GRID, f"the axis `{axis.name}`: {problem}", span=axis.span) from None
        if extent < 1:
            message = f"the axis `{axis.name}` has {extent} processors, since `{format_expression(axis.extent)}` is"
            raise error(rules.GRID, message, span=axis.span)
        shape.append(extent)
    if processors is not None and math.prod(shape) != processors:
        axes = " x ".join(map(str, shape))
        message = f"the grid has {axes} = {math.prod(shape)} processors, but P is {processors}"
        raise error(rules.GRID, message, span=algorithm.name_span)
    return tuple(shape)


@record(eq=False, slots=True)
class PreparedGrid:
    """The processors that this process runs, ready to start, and the global arrays that they share.

    `written` and `readers` are as in `grid.Processor`; `links` and `places` cover the whole grid.
    """

    shared: Memory
    written: NDArray[np.int64]
    readers: NDArray[np.int64]
    running: tuple[RunningProcessor, ...]
    links: Links
    places: Locations


def launch_on_grid(
    plan: RunPlan,
    shape: tuple[int, ...],
    compiled: bool | None,
    attempt: Callable[[RunPlan, Room | None, int | None], Run | Room | None],
    steps: int | None = None,
) -> Run:
    """Run on a grid by `launch_attempts`; at first as plain Python with a limit of steps for each processor.

    The run is compiled from the start if `compiled` is true, never if it is false.
    """
    fuel = max(PLAIN_STEPS // math.prod(shape), 1000)
    return launch_attempts(plan, compiled, attempt, Room(INITIAL_WORDS), fuel, steps)


def make_simulated_attempt(shape: tuple[int, ...]) -> Callable[[RunPlan, Room | None, int | None], Run | Room | None]:
    """Return a function that attempts a run on simulated processors."""

    def attempt(plan: RunPlan, room: Room | None, fuel: int | None) -> Run | Room | None:
        ready = prepare_processors(plan, shape, room, fuel, range(math.prod(shape)))
        started = time.perf_counter()
        stops = run_with_large_stack(plan, ready, lambda: simulate(ready.running, ready.links, ready.places))
        if stops:
            return plan_restart(stops, room)
        seconds = time.perf_counter() - started
        processors = [collect_processor_result(plan, running) for running in ready.running]
        paths, calls = [running.path for running in ready.running], map_calls(plan.algorithm)
        traced = () if plan.traced is None else list_pieces(paths, plan.traced, ready.places, calls)
        return make_grid_result(plan, ready, processors, bool((ready.readers == -2).any()), seconds, traced)

    return attempt


def collect_processor_result(plan: RunPlan, running: RunningProcessor) -> ProcessorResult:
    """Return the result of a processor that has ended."""
    names = [parameter.name for parameter in plan.algorithm.parameters if parameter.local and parameter.mode != "in"]
    value, numbers = split_results(plan.algorithm, running.value)
    outputs = {name: fetch_array(plan.bound, name, running.memory) for name in names} | numbers
    finished = FinishedRun(running.code, running.memory, running.value, running.amounts, 0.0, 0.0)
    iterations = count_iterations(plan, finished)
    return ProcessorResult(compute_counts(finished), running.path, value, outputs, iterations)


def make_grid_result(
    plan: RunPlan,
    ready: PreparedGrid,
    processors: Sequence[ProcessorResult],
    replicated: bool,
    seconds: float,
    traced: tuple[PathPiece, ...] = (),
) -> Run:
    """Return the result of a run, on simulated or real processors: each metric along its longest path.

    `replicated` tells whether several processors read one element of the input.
    """
    two_levels = any(axis.within is not None for axis in plan.algorithm.grid)
    shown = {name: index for index, name in enumerate(METRICS) if two_levels or not name.startswith("node_")}
    counts, paths = [processor.counts for processor in processors], [processor.path for processor in processors]
    longest = {name: max(path.values[index] for path in paths) for name, index in shown.items()}
    outputs = {
        parameter.name: np.stack([processor.outputs[parameter.name] for processor in processors])
        if parameter.local
        else fetch_array(plan.bound, parameter.name, ready.shared)
        for parameter in plan.algorithm.parameters
        if parameter.mode != "in"
    }
    for output in plan.algorithm.outputs:
        name = output.parameter.name
        outputs[name] = np.stack([processor.outputs[name] for processor in processors])
    return Run(
        RunCounts(
            flops=longest["flops"],
            flops_by_kind={},
            work=longest["work"],
            span=longest["work"],
            accesses=max(count.accesses for count in counts),
            reads=max(count.reads for count in counts),
            writes=max(count.writes for count in counts),
            memory=max(count.memory for count in counts),
            communication={name: longest[name] for name in longest if name not in ("flops", "work")},
            node_memory=_compute_peak_node_memory(ready.links.nodes, counts) if two_levels else None,
            own={name: max(path.own[index] for path in paths) for name, index in shown.items()},
            total={name: sum(path.own[index] for path in paths) for name, index in shown.items()},
            time=_compute_longest_times(paths),
        ),
        outputs,
        processors[0].value,
        {**collect_sizes(plan), "P": len(processors)},
        None,
        None,
        plan.options.compiled,
        seconds,
        0.0,
        0.0,
        replicated,
        traced,
        nonfinite=list_nonfinite(plan, ready.shared),
        iterations={
            name: max(processor.iterations[name] for processor in processors) for name in processors[0].iterations
        },
    )


def _compute_peak_node_memory(nodes: Sequence[int], counts: Sequence[RunCounts]) -> int:
    """Return the maximum over nodes of the sum of peak words of the node's processors."""
    amounts: Counter[int] = Counter()
    for node, count in zip(nodes, counts, strict=True):
        amounts[node] += count.memory
    return max(amounts.values())


def _compute_longest_times(paths: Sequence[CriticalPath]) -> tuple[Fraction, Fraction] | None:
    """Return the time of the slowest path, and the sum of the times of each metric's longest path.

    None if prices are missing.
    """
    prices = paths[0].prices
    if not prices.ticks:
        return None
    longest = [max(values) for values in zip(*(path.values for path in paths), strict=True)]
    return Fraction(longest[-1], prices.scale), prices.compute_seconds(longest[:-1])


def prepare_processors(
    plan: RunPlan, shape: tuple[int, ...], room: Room | None, fuel: int | None, here: Iterable[int]
) -> PreparedGrid:
    """Prepare the processors of ranks `here` with their memories. Raises ArchlineError (AL519) if these do not fit."""
    links = Links(_number_nodes(plan.algorithm, shape), _get_largest_message(plan))
    prices = _convert_unit_times(plan, links)
    forms, values = list_entry_arguments(plan)
    built = get_engine(plan.module, plan.algorithm, forms, plan.options)
    shared = _make_memory(plan, built, room, fuel, None)
    ranks = np.arange(math.prod(shape)).reshape(shape)
    written = np.zeros(plan.bound.words, np.int64)
    readers = np.full(plan.bound.words, -1, np.int64)
    weights = _compute_block_weights(built.program, fill_state(plan, built, shared))
    running: list[RunningProcessor] = []
    for rank in here:
        memory = _make_memory(plan, built, room, fuel, rank)
        amounts = fill_state(plan, built, memory)
        own_words = sum(plan.bound.placements[name].elements for name in plan.bound.local)
        memory.state[PEAK] = own_words
        processor = Processor(rank, memory.arrays, memory.state, shared.arrays, written, readers, room is not None)
        group = ProcessorGroup(processor, ranks, _compute_coordinates(rank, shape), 0)
        task = [0] if plan.options.races else []
        program = built.call((memory.arrays, plan.bound.own_words, own_words, *task, group, *values))
        path = CriticalPath(prices) if plan.traced is None else TracedPath(prices, rank, plan.traced)
        running.append(RunningProcessor(processor, program, built.program, memory, amounts, weights, path))
    calls = map_calls(plan.algorithm)
    places = Locations(
        lambda site: built.program.get_site(site).span,
        lambda rank: _compute_coordinates(rank, shape),
        plan.algorithm,
        calls,
    )
    return PreparedGrid(shared, written, readers, tuple(running), links, places)


def _convert_unit_times(plan: RunPlan, links: Links) -> UnitTimes:
    """Return the price of each metric on a critical path; cores share their node's link, so its price is multiplied."""
    if not plan.prices:
        return NO_UNIT_TIMES
    cores = Fraction(len(links.nodes), len(set(links.nodes)))
    shared = [cores if name in ("words", "messages") else 1 for name in METRICS]
    return UnitTimes.from_seconds([price * factor for price, factor in zip(plan.prices, shared, strict=True)])


def _compute_coordinates(rank: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(coordinate) for coordinate in np.unravel_index(rank, shape))


def _make_memory(plan: RunPlan, built: Engine, room: Room | None, fuel: int | None, rank: int | None) -> Memory:
    if room is None:
        return make_plain_memory(plan.algorithm, plan.bound, built.program, fuel, rank)
    words = plan.bound.words if rank is None else max(room.words, 2 * plan.bound.own_words)
    return make_compiled_memory(plan.algorithm, plan.bound, built.program, replace(room, words=words), rank)


def run_with_large_stack(plan: RunPlan, ready: PreparedGrid, work: Callable[[], Result]) -> Result:
    """Run `work` with a stack for deep recursion. Raises ArchlineError (AL519) if memory runs out."""
    states = [running.memory.state for running in ready.running]
    with allow_deep_recursion(), limit_endless_loops(states, plan.seconds):
        first = ready.running[0]
        return run_in_large_stack(work, first.memory.state, recursive=bool(first.code.layout.measures))


def plan_restart(stops: Sequence[Stop], room: Room | None) -> Room | None:
    """Return the room for a new attempt: more if memory was full, None if it was another limit.

    Raises the first failure if all stops are failures.
    """
    failures = [stop for stop in stops if isinstance(stop, Exception)]
    if len(failures) == len(stops):
        raise failures[0]
    full = all(stop == SITE_FULL for stop in stops if not isinstance(stop, Exception))
    return room.enlarge(tasks=False) if full and room is not None else None


def _get_largest_message(plan: RunPlan) -> int | None:
    largest = plan.bound.symbols.get("K")
    return None if largest is None else int(largest)


def _number_nodes(algorithm: s.Algorithm, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the node of each processor: processors that differ only on axes within a node share one."""
    nodes = [extent if axis.within is None else 1 for axis, extent in zip(algorithm.grid, shape, strict=True)]
    numbers = np.arange(math.prod(nodes)).reshape(nodes)
    return tuple(int(node) for node in np.broadcast_to(numbers, shape).ravel())


def _compute_block_weights(program: GeneratedProgram, amounts: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the flops and the work of one execution of each block."""
    rows = [compute_block_costs(cost, amounts) for cost in program.tables.blocks]
    return np.array(rows, np.int64).reshape(-1, 2)
