"""Run a program on bound arguments as plain Python or compiled; compiled runs start again if buffers were too small."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.binding import BoundArguments
from archline.execution.cache import streamed
from archline.execution.codegen.program import GeneratedProgram
from archline.execution.codegen.scope import list_names
from archline.execution.codegen.writer import EXTERN, ITERATIONS, READS, WORK, WRITES, Options
from archline.execution.engine import Engine, get_engine, make_stop_error
from archline.execution.jit import are_kernels_compiled
from archline.execution.memory import (
    Memory,
    Room,
    available_bytes,
    find_nonfinite,
    format_bytes,
    make_compiled_memory,
    make_plain_memory,
    require_free_memory,
)
from archline.execution.progress import limit_endless_loops, run_in_large_stack, show_progress
from archline.execution.results import Cache, NonfiniteOutput, RunCounts
from archline.execution.slots import (
    EVENTS,
    FIRST_VALUE,
    LINE,
    MAX_DEPTH,
    MEM_DECLARED,
    MEM_EVENTS,
    MEM_TRACE,
    NO_INT,
    PEAK,
    SHADOW,
    SITE,
    SITE_FUEL,
    SITE_FULL,
    SITE_RANGE,
    SPAN,
    TRACE,
)
from archline.execution.stops import StoppedError
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.diagnostics import error
from archline.language.iterations import list_iterations, qualified_name
from archline.language.metrics import CALL, CONTROL_EVENTS, DECLARED, METRICS, SEPARATE_METRICS
from archline.language.model import BoundBy, Module
from archline.records import record, replace

Result = TypeVar("Result")
PLAIN_STEPS = 300_000
"""Iterations and calls that plain Python may execute before a run is compiled instead."""
PLAIN_WORDS = 1_000_000
SPARE_WORDS = 1 << 22
MAX_DECLARED = 2**40 - 1


@record(slots=True)
class RunPlan:
    """The parameters of a run."""

    module: Module
    algorithm: s.Algorithm
    bound: BoundArguments
    line: int
    cache: Cache | None
    options: Options
    progress: bool | None
    prices: tuple[Fraction, ...] = ()
    seconds: float = 0.0
    """The time that loops without a bound may take; 0 for no limit."""
    traced: str | None = None
    """On a grid, the metric (or "time") whose longest path is recorded; None for no recording."""


@record(slots=True)
class FinishedRun:
    """A run that reached its end; `amounts` are the declared costs of externs, as `fill_state` returns them."""

    program: GeneratedProgram
    memory: Memory
    value: Any
    amounts: dict[str, int]
    seconds: float
    compile_seconds: float


def launch_run(plan: RunPlan, compiled: bool | None, steps: int | None = None) -> FinishedRun:
    """Run to the end, or raise ArchlineError.

    The run is compiled from the start if `compiled` is true, never if it is false (then `steps` limits it), and once it
    proves long if it is None.
    """

    def attempt(plan: RunPlan, room: Room | None, fuel: int | None) -> FinishedRun | Room | None:
        return _try_plain(plan, fuel) if room is None else _try_compiled(plan, room)

    fuel = PLAIN_STEPS if plan.bound.words <= PLAIN_WORDS else None
    return launch_attempts(plan, compiled, attempt, Room(2 * plan.bound.words + SPARE_WORDS), fuel, steps)


def launch_attempts(
    plan: RunPlan,
    compiled: bool | None,
    attempt: Callable[[RunPlan, Room | None, int | None], Result | Room | None],
    room: Room,
    fuel: int | None,
    steps: int | None = None,
) -> Result:
    """Run to the end, or raise ArchlineError: as plain Python, or compiled with as much room as needed.

    `attempt(plan, room, fuel)` runs once: compiled, or as plain Python if `room` is None. It returns a larger room if
    `room` was too small, None if the steps in `fuel` were used up or a compiled int left 64 bits. Plain Python is tried
    first if `fuel` is given; `steps` limits a run that is not compiled at all.
    """
    if are_kernels_compiled() and compiled is not False:
        if compiled is None and fuel is not None:
            outcome = attempt(plan, None, fuel)
            if outcome is not None and not isinstance(outcome, Room):
                return outcome
        with_room = replace(plan, options=replace(plan.options, compiled=True))
        outcome = room
        while isinstance(outcome, Room):
            outcome = attempt(with_room, outcome, None)
            if isinstance(outcome, Room):
                # A new room has eight times what was too little, so at least an eighth of it is used.
                word = 8 + (4 * SHADOW if plan.options.races else 0)
                require_free_memory(
                    outcome.words * word // 8 + 5 * outcome.tasks // 8 + 3 * outcome.events, available_bytes()
                )
        if outcome is not None:
            return outcome
    outcome = attempt(plan, None, steps)
    if outcome is None or isinstance(outcome, Room):
        raise error(rules.INTERRUPTED, "the run was interrupted")
    return outcome


@contextmanager
def allow_deep_recursion() -> Iterator[None]:
    """Raise Python's recursion limit above that of runs. Raises ArchlineError (AL519) if memory runs out."""
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(limit + 2 * MAX_DEPTH)
        yield
    except MemoryError:
        raise error(rules.NO_MEMORY, "the run used up the memory") from None
    finally:
        sys.setrecursionlimit(limit)


def _try_plain(plan: RunPlan, fuel: int | None) -> FinishedRun | None:
    """Run as plain Python; None if the fuel did not suffice."""
    forms, values = list_entry_arguments(plan)
    built = get_engine(plan.module, plan.algorithm, forms, plan.options)
    memory = make_plain_memory(plan.algorithm, plan.bound, built.program, fuel)
    amounts = fill_state(plan, built, memory)
    arguments = _prepare_call_arguments(plan, memory, values)
    started = time.perf_counter()
    try:
        with (
            allow_deep_recursion(),
            limit_endless_loops([memory.state], plan.seconds),
            show_progress(plan.algorithm.name, memory.state, plan.progress),
        ):
            value = built.call(arguments)
    except StoppedError:
        if memory.state[SITE] == SITE_FUEL:
            return None
        if memory.state[SITE] == SITE_FULL:
            raise _make_memory_error(int(memory.state[FIRST_VALUE + 1])) from None
        raise make_stop_error(built.program, memory.state) from None
    return FinishedRun(built.program, memory, value, amounts, time.perf_counter() - started, 0.0)


def _make_memory_error(words: int) -> Exception:
    free = format_bytes(available_bytes())
    message = f"the run's arrays grow beyond {words:,} words, but only {free} of memory is free"
    return error(rules.NO_MEMORY, message)


def _try_compiled(plan: RunPlan, room: Room) -> FinishedRun | Room | None:
    """Run compiled. Return a larger room if `room` was too small, None if integers left the range of compiled code."""
    forms, values = list_entry_arguments(plan)
    built = get_engine(plan.module, plan.algorithm, forms, plan.options)
    memory = make_compiled_memory(plan.algorithm, plan.bound, built.program, room)
    if built.program.options.streams and plan.cache is not None:
        memory = streamed.with_lru_state(memory, plan.cache)
    amounts = fill_state(plan, built, memory)
    arguments = _prepare_call_arguments(plan, memory, values)
    if any(isinstance(value, int) and abs(value) >= 2**63 for value in arguments):
        return None
    compile_seconds = _compile_engine(built, arguments)
    if compile_seconds is None:
        return None
    started = time.perf_counter()
    recursive = bool(built.program.layout.measures)
    try:
        with (
            limit_endless_loops([memory.state], plan.seconds),
            show_progress(plan.algorithm.name, memory.state, plan.progress),
        ):
            value = run_in_large_stack(lambda: built.call(arguments), memory.state, recursive)
    except StoppedError:
        state = memory.state
        if state[SITE] == SITE_RANGE:
            return None
        if state[SITE] == SITE_FULL:
            return room.enlarge(tasks=state[FIRST_VALUE] == 1)
        if state[SITE] == SITE_FUEL:
            raise error(rules.INTERRUPTED, "the run was interrupted") from None
        raise make_stop_error(built.program, state) from None
    if 3 * memory.state[EVENTS] > len(memory.arrays[MEM_EVENTS]):
        return replace(room, events=int(memory.state[EVENTS]))
    _check_trace_fits(memory)
    return FinishedRun(built.program, memory, value, amounts, time.perf_counter() - started, compile_seconds)


def _compile_engine(built: Engine, arguments: tuple[Any, ...]) -> float | None:
    """Return the seconds that compiling took; None if a registered extern cannot be compiled."""
    from numba.core.errors import NumbaError

    try:
        return built.compile(arguments)
    except NumbaError:
        if any(function is not None for function in built.externs.values()):
            return None
        raise


def _check_trace_fits(memory: Memory) -> None:
    trace = memory.arrays[MEM_TRACE]
    count = int(memory.state[TRACE])
    if count > len(trace):
        needed, free = count * trace.itemsize, available_bytes()
        message = f"the trace of {count:,} accesses needs {format_bytes(needed)}, but only {format_bytes(free)} is free"
        raise error(rules.NO_MEMORY, message, hint="choose smaller sizes, or run without a cache")


def list_entry_arguments(plan: RunPlan) -> tuple[tuple[str, ...], list[Any]]:
    """Return the forms of the entry's arrays and operators, and the arguments of its generated function."""
    forms: list[str] = []
    values: list[Any] = []
    for parameter in plan.algorithm.parameters:
        name = parameter.name
        if isinstance(parameter.type, s.OperatorType):
            forms.append(str(plan.bound.scalars[name]))
            continue
        if name in plan.bound.scalars:
            values.append(plan.bound.scalars[name])
            continue
        placement = plan.bound.placements[name]
        generic = isinstance(parameter.type, s.ArrayType) and parameter.type.element == "any"
        forms.append(f"R:{placement.form}" if generic else placement.form)
        values += [*placement.list_call_arguments(), *plan.bound.facts.get(name, ())]
    return tuple(forms), values


def _prepare_call_arguments(plan: RunPlan, memory: Memory, values: list[Any]) -> tuple[Any, ...]:
    alive = sum(placement.elements for placement in plan.bound.placements.values())
    memory.state[PEAK] = alive
    task = [0] if plan.options.races else []
    return (memory.arrays, plan.bound.words, alive, *task, *values)


def collect_sizes(plan: RunPlan) -> dict[str, int]:
    """Return the sizes and indices of the run, by name."""
    signature = plan.module.signatures[plan.algorithm]
    sizes: dict[str, int] = {}
    for binding in signature.sizes:
        name = plan.algorithm.parameters[binding.parameter].name
        match binding.by:
            case BoundBy.VALUE:
                sizes[binding.name] = int(plan.bound.scalars[name])
            case BoundBy.EXTENT:
                sizes[binding.name] = plan.bound.placements[name].shape[binding.dimension] - binding.offset
            case BoundBy.COUNT:
                sizes[binding.name] = plan.bound.placements[name].shape[0] - 1
            case BoundBy.TOTAL | BoundBy.LONGEST:
                sizes[binding.name] = plan.bound.facts[name][binding.by is BoundBy.LONGEST]
    for name in signature.indices:
        sizes[name] = int(plan.bound.scalars[name])
    return sizes


def fill_state(plan: RunPlan, built: Engine, memory: Memory) -> dict[str, int]:
    """Set the line size, the symbols of declared costs, and the amount that each extern adds to the span.

    Returns the declared amount of each extern in each metric, under the key `extern metric`.
    """
    memory.state[LINE] = plan.line
    layout = built.program.layout
    point: dict[str, Any] = {"L": plan.line, **({"Z": plan.cache.Z} if plan.cache else {}), **plan.bound.symbols}
    for name in layout.used_symbols:
        memory.state[layout.symbols[name]] = int(_require_value(point, name))
    amounts: dict[str, int] = {}
    for name, extern in layout.used_externs.items():
        span = 0
        for amount, metric in extern.costs:
            value = _evaluate_amount(extern, amount, metric, point)
            amounts[f"{name} {metric}"] = amounts.get(f"{name} {metric}", 0) + value
            span += value if "span" in (metric, *METRICS[metric].within) else 0
        memory.state[layout.externs[name]] = span
    return amounts


def _require_value(point: dict[str, Any], name: str) -> Any:
    if name not in point:
        hint = "give a cache" if name == "Z" else f"give it a value, such as {name}=1"
        raise error(rules.MISSING_ARGUMENT, f"declared costs depend on `{name}`, which has no value", hint=hint)
    return point[name]


def _evaluate_amount(extern: s.Extern, amount: s.Expr, metric: str, point: dict[str, Any]) -> int:
    for name in list_names(amount):
        _require_value(point, name)
    try:
        value = evaluate(amount, point)
    except EvaluationError as problem:
        raise error(rules.COST_AMOUNT, str(problem), span=amount.span) from None
    if not isinstance(value, int | Fraction) or value != int(value) or not 0 <= value <= MAX_DECLARED:
        message = f"`{extern.name}` declares {value} {metric}, which is not a whole number from 0 to 2^40 - 1"
        raise error(rules.COST_AMOUNT, message, span=amount.span)
    return int(value)


def compute_block_costs(cost: Counter[str], amounts: Mapping[str, int]) -> tuple[int, int]:
    """Return the flops and the work of one execution of a block; `amounts` are the declared ones as in `fill_state`."""
    work = cost[WORK]
    flops = 0
    for kind, times in cost.items():
        if kind.startswith(f"{EXTERN} "):
            owner = kind.removeprefix(f"{EXTERN} ")
            declared = {key.split(" ")[1]: amount for key, amount in amounts.items() if key.split(" ")[0] == owner}
            flops += times * declared.get("flops", 0)
            work += times * sum(declared.get(metric, 0) for metric in ("work", *_METRICS_WITHIN_WORK))
        elif kind not in _KINDS_WITHOUT_FLOPS and not kind.startswith(f"{ITERATIONS} "):
            flops += times
    return flops, work


_METRICS_WITHIN_WORK = tuple(name for name, metric in METRICS.items() if "work" in metric.within)
_KINDS_WITHOUT_FLOPS = frozenset((WORK, READS, WRITES, *(step.kind for step in CONTROL_EVENTS)))


def _sum_blocks(finished: FinishedRun) -> Counter[str]:
    """Return the counts of a run by kind: operations, steps, accesses, and iterations of loops without a bound."""
    state, program = finished.memory.state, finished.program
    totals: Counter[str] = Counter()
    for number, cost in enumerate(program.tables.blocks):
        times = int(state[program.layout.first_counter + number])
        for kind, amount in cost.items():
            totals[kind] += amount * times
    return totals


def split_results(algorithm: s.Algorithm, value: Any) -> tuple[int | float | None, dict[str, NDArray[Any]]]:
    """Return the result of an algorithm, and its outputs by name as arrays without dimensions."""
    result, returned = _split_returned(algorithm, value)
    numbers = {}
    for output in algorithm.outputs:
        number = returned[output.parameter.name]
        real = isinstance(output.parameter.type, s.ScalarType) and output.parameter.type.element == "real"
        unset = math.nan if real else NO_INT
        numbers[output.parameter.name] = np.array(unset if number is None else number, np.float64 if real else np.int64)
    return result, numbers


def _split_returned(algorithm: s.Algorithm, value: Any) -> tuple[int | float | None, dict[str, int | float | None]]:
    """Return the result of an algorithm, and the values of its scalar outputs by name, None for an unset output."""
    if not algorithm.outputs:
        return value, {}
    values = iter(value)
    result = None if algorithm.result is None else next(values)
    numbers = {output.parameter.name: (next(values), next(values)) for output in algorithm.outputs}
    return result, {name: number if is_set else None for name, (number, is_set) in numbers.items()}


def list_nonfinite(plan: RunPlan, memory: Memory, *returned: Any) -> tuple[NonfiniteOutput, ...]:
    """List outputs that are NaN or infinite although all inputs are finite: arrays in a memory, values `returned`.

    Infinities count only in a program that has no `inf`. An unset output is not listed.
    """
    inputs = [
        plan.bound.arrays.get(parameter.name, plan.bound.scalars.get(parameter.name))
        for parameter in plan.algorithm.parameters
        if parameter.mode != "out"
    ]
    if not all(np.isfinite(data).all() for data in inputs if data is not None and not isinstance(data, str)):
        return ()
    reached = (plan.algorithm, *find_reachable(plan.module, plan.algorithm))
    infinite = not any(number.text == "inf" for number in s.find_nodes(tuple(a.body for a in reached), s.Real))
    arrays = [
        find_nonfinite(plan.bound, parameter.name, memory, infinite)
        for parameter in plan.algorithm.parameters
        if parameter.mode != "in" and not parameter.local
    ]
    wrong = [array for array in arrays if array is not None]
    for value in returned:
        result, numbers = _split_returned(plan.algorithm, value)
        for name, number in [(None, result), *((name, number) for name, number in numbers.items())]:
            if isinstance(number, float) and (math.isnan(number) or (infinite and math.isinf(number))):
                wrong.append(NonfiniteOutput(name, number))
    return tuple(wrong)


def count_iterations(plan: RunPlan, finished: FinishedRun) -> dict[str, int]:
    """Return the iterations of each loop without a bound that the run may reach, by the names of its sizes."""
    totals = _sum_blocks(finished)
    return {
        counted.name: totals[f"{ITERATIONS} {qualified_name(counted.algorithm, counted.loop)}"]
        for counted in list_iterations(plan.module, plan.algorithm)
    }


def compute_counts(finished: FinishedRun) -> RunCounts:
    """Return the counts of a run that reached its end."""
    state, program = finished.memory.state, finished.program
    totals = _sum_blocks(finished)
    for kind in [kind for kind in totals if kind.startswith(f"{ITERATIONS} ")]:
        del totals[kind]
    # The outermost call counts as one unit of work.
    work = totals.pop(WORK, 0) + 1
    steps = {step.kind: totals.pop(step.kind, 0) for step in CONTROL_EVENTS}
    steps[CALL.kind] += 1
    reads, writes = totals.pop(READS, 0), totals.pop(WRITES, 0)
    declared = dict.fromkeys(SEPARATE_METRICS, 0.0)
    for index, metric in enumerate(SEPARATE_METRICS):
        declared[metric] += float(finished.memory.arrays[MEM_DECLARED][index])
    for name in program.layout.used_externs:
        calls = totals.pop(f"{EXTERN} {name}", 0)
        for key, amount in finished.amounts.items():
            owner, metric = key.split(" ")
            if owner != name:
                continue
            if METRICS[metric].by_kind:
                totals[DECLARED] += calls * amount
            if "work" in (metric, *METRICS[metric].within):
                work += calls * amount
            elif metric in declared:
                declared[metric] += calls * amount
    kinds = {kind: total for kind, total in sorted(totals.items()) if total}
    return RunCounts(
        flops=sum(kinds.values()),
        flops_by_kind=kinds,
        work=work,
        span=int(state[SPAN]) + 1,
        accesses=reads + writes,
        reads=reads,
        writes=writes,
        memory=int(state[PEAK]),
        steps=steps,
        declared={metric: amount for metric, amount in declared.items() if amount},
    )
