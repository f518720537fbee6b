"""Run an algorithm on data, which gives its results and its counts by the rules of docs/reference/cost-rules.md."""

from __future__ import annotations

import math
import pickle
import signal
import time
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.binding import bind_arguments
from archline.execution.cache import StrandLog, lru, optimal, streamed
from archline.execution.codegen.scope import list_cost_symbols
from archline.execution.codegen.writer import Options
from archline.execution.data import generate_arguments
from archline.execution.distributed import compute_grid_shape, launch_on_grid, make_simulated_attempt
from archline.execution.externs import register_extern
from archline.execution.launch import (
    FinishedRun,
    RunPlan,
    collect_sizes,
    compute_counts,
    count_iterations,
    launch_run,
    list_nonfinite,
    split_results,
)
from archline.execution.memory import fetch_array
from archline.execution.mpi import make_rank_attempt, make_sendable
from archline.execution.mpiexec import JOB_FILE, OUTCOME_FILE, read_rank, run_on_ranks
from archline.execution.progress import read_time_limit
from archline.execution.results import TIMEOUT, Cache, Run, Trace
from archline.execution.slots import EVENTS, MEM_EVENTS, MEM_TRACE, TRACE
from archline.language import syntax as s
from archline.language.call_graph import has_parallelism
from archline.language.diagnostics import ArchlineError, Diagnostic, error
from archline.language.model import Module

MACHINE_SYMBOLS = frozenset(("P", "Z", "L", "K"))


def execute(
    module: Module,
    algorithm: s.Algorithm,
    arguments: Mapping[str, Any],
    *,
    cache: Cache | None = None,
    line: int = 1,
    trace: bool = False,
    events: bool = False,
    races: bool = True,
    compiled: bool | None = None,
    progress: bool | None = None,
    engine: str = "simulated",
    timeout: float = TIMEOUT,
    steps: int | None = None,
    prices: tuple[Fraction, ...] = (),
    path: str | None = None,
    seconds: float | None = None,
) -> Run:
    """Run an algorithm on arguments, given by parameter name as numpy arrays (or nested lists) and numbers.

    The given arrays are not changed; cost symbols of externs are given among the arguments too. `line` is the number of
    words in a line, that of the cache if one is given. `trace` keeps the access trace, `events` also the log of
    strands; `races` detects determinacy races if the program has parallel loops or spawns. `compiled` forces or forbids
    compilation by numba; None starts as plain Python and compiles a run that turns out to be long. `progress` forces or
    forbids messages on standard error.

    On a grid `engine` is "simulated" or "mpi": a rank of MPI for each processor. Under `mpiexec` all ranks call this
    with the same arguments, and all get the same result; else the ranks are started here. A rank that has waited for
    `timeout` seconds checks whether all ranks wait. A run as plain Python, on one processor or simulated ones, stops
    (AL528) after `steps` steps of a processor.

    `prices` are the seconds for a unit of each metric in `paths.METRICS`; with them the time of the slowest path on a
    grid is computed. `path` is such a metric, or "time" (with prices), whose longest path is returned, on
    simulated processors. Loops without a bound are stopped (AL508) after `seconds`, 0 for never; None takes those of
    the variable ARCHLINE_TIME_LIMIT, or 10.

    Raises ArchlineError: for bad arguments (AL520 to AL525), for failures in the run (AL501 to AL516, AL530 to AL535),
    for programs that cannot be run (AL517 to AL519, AL536 to AL539).
    """
    line = _check_cache(cache, line)
    _check_engine(algorithm, engine)
    symbols = frozenset(list_cost_symbols(module.externs.values())) | MACHINE_SYMBOLS
    bound = bind_arguments(module, algorithm, arguments, symbols, line)
    tracing = trace or events or cache is not None
    racing = races and has_parallelism(module, algorithm)
    streams = cache is not None and cache.policy == "lru" and not (trace or events)
    options = Options(False, tracing, racing, events, streamed.choose_line_operator(line) if streams else "")
    _check_path(algorithm, engine, path)
    plan = RunPlan(
        module,
        algorithm,
        bound,
        line,
        cache,
        options,
        progress,
        prices,
        read_time_limit() if seconds is None else seconds,
        path,
    )
    if not algorithm.grid:
        return _make_result(plan, launch_run(plan, compiled, steps), trace)
    if tracing:
        message = f"`{algorithm.name}` runs on a grid of processors, whose io is not counted"
        raise error(
            rules.BAD_CACHE,
            message,
            span=algorithm.name_span,
            hint="run an algorithm that its processors call with a cache",
        )
    shape = compute_grid_shape(algorithm, collect_sizes(plan), bound.symbols.get("P"))
    _check_local_arrays(plan, math.prod(shape))
    if engine == "simulated":
        return launch_on_grid(plan, shape, compiled, make_simulated_attempt(shape), steps)
    if read_rank() is not None:
        return launch_on_grid(plan, shape, compiled, make_rank_attempt(shape, timeout))
    rank_options = {
        "line": line,
        "races": races,
        "compiled": compiled,
        "timeout": timeout,
        "prices": prices,
        "seconds": plan.seconds,
    }
    return run_on_ranks(math.prod(shape), module, algorithm, arguments, rank_options)


MAX_TRIAL_STEPS = 1_000_000
"""The number of steps after which a trial run stops: a loop may have 2^31 iterations before an error."""


def try_run(
    module: Module, algorithm: s.Algorithm, sizes: Mapping[str, int], steps: int = MAX_TRIAL_STEPS
) -> Run | Diagnostic | None:
    """Run as plain Python on generated data; return the result, or the error that stopped it.

    None if no data of such sizes can be generated. Indices without a value are 0, and cost symbols 1. The run stops
    after `steps` steps.
    """
    values = {**dict.fromkeys(module.signatures[algorithm].indices, 0), **sizes}
    try:
        data = generate_arguments(module, algorithm, values)
    except ArchlineError:
        return None
    data |= dict.fromkeys(list_cost_symbols(module.externs.values()), 1)
    try:
        return execute(module, algorithm, data, compiled=False, progress=False, steps=steps, seconds=0)
    except ArchlineError as stopped:
        return stopped.diagnostics[0]


def _check_engine(algorithm: s.Algorithm, engine: str) -> None:
    if engine not in ("simulated", "mpi"):
        raise error(rules.ENGINE, f'there is no engine "{engine}"; choose "simulated" or "mpi"')
    if engine == "mpi" and not algorithm.grid:
        message = f"`{algorithm.name}` runs on one processor"
        hint = "the engine `mpi` is for algorithms `on grid(...)`"
        raise error(rules.ENGINE, message, span=algorithm.name_span, hint=hint)


def _check_path(algorithm: s.Algorithm, engine: str, path: str | None) -> None:
    if path is None:
        return
    if not algorithm.grid:
        message = f"`{algorithm.name}` runs on one processor, so no path leads through several"
        raise error(rules.ENGINE, message, span=algorithm.name_span)
    if engine != "simulated":
        message = "the critical path is recorded on simulated processors only"
        raise error(rules.ENGINE, message, hint="its costs are the same as on ranks of MPI: leave out `engine`")


def _check_local_arrays(plan: RunPlan, processors: int) -> None:
    for parameter in plan.algorithm.parameters:
        if parameter.local and len(plan.bound.arrays[parameter.name]) != processors:
            parts = len(plan.bound.arrays[parameter.name])
            message = f"the first axis of `{parameter.name}` has length {parts}, but there are {processors} processors"
            raise error(rules.ARGUMENT_SHAPE, message, span=parameter.span)


def _check_cache(cache: Cache | None, line: int) -> int:
    words = {"L": line} if cache is None else {"L": cache.L, "Z": cache.Z}
    for name, value in words.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise error(rules.BAD_CACHE, f"{name} is {value!r}, but must be a whole number of words, at least 1")
    if cache is None:
        return int(line)
    if cache.lines < 1:
        raise error(rules.BAD_CACHE, f"a cache of Z = {cache.Z} words holds no line of L = {cache.L} words")
    if cache.policy not in ("optimal", "lru"):
        raise error(rules.BAD_CACHE, f'there is no policy "{cache.policy}"; choose "optimal" or "lru"')
    return int(cache.L)


def _make_result(plan: RunPlan, finished: FinishedRun, keep_trace: bool) -> Run:
    streams = finished.program.options.streams
    traced = _decode_trace(finished, plan.line) if plan.options.trace and not streams else None
    written = [parameter for parameter in plan.algorithm.parameters if parameter.mode != "in"]
    counts = compute_counts(finished)
    cache_seconds = 0.0
    if streams:
        simulated_cache = streamed.make_result(finished.memory)
        counts = counts.with_cache(simulated_cache.io, simulated_cache.writebacks, plan.line)
    if plan.cache is not None and traced is not None:
        started = time.perf_counter()
        simulate = optimal if plan.cache.policy == "optimal" else lru
        outcome = simulate(traced.lines, plan.cache.lines, traced.writes)
        counts = counts.with_cache(outcome.io, outcome.writebacks, plan.line)
        cache_seconds = time.perf_counter() - started
    outputs = {parameter.name: fetch_array(plan.bound, parameter.name, finished.memory) for parameter in written}
    value, numbers = split_results(plan.algorithm, finished.value)
    return Run(
        counts,
        outputs | numbers,
        value,
        collect_sizes(plan),
        traced if keep_trace or plan.options.events else None,
        _make_log(finished, plan) if plan.options.events else None,
        finished.program.options.compiled,
        finished.seconds,
        finished.compile_seconds,
        cache_seconds,
        iterations=count_iterations(plan, finished),
        nonfinite=list_nonfinite(plan, finished.memory, finished.value),
    )


def _decode_trace(finished: FinishedRun, line: int) -> Trace:
    entries = finished.memory.arrays[MEM_TRACE]
    count = len(entries) if isinstance(entries, list) else int(finished.memory.state[TRACE])
    packed: NDArray[Any] = np.asarray(entries[:count], None if len(entries) else np.int64)
    writes = (packed & 1).astype(np.uint8)
    # An entry is 2 * address, plus 1 for a write, so that the entry divided by 2 * line is the line of the access.
    if line & (line - 1) == 0:
        return Trace(packed >> line.bit_length(), writes)
    return Trace(packed // (2 * line), writes)


def _make_log(finished: FinishedRun, plan: RunPlan) -> StrandLog:
    log = finished.memory.arrays[MEM_EVENTS]
    if not isinstance(log, list):
        log = log[: 3 * int(finished.memory.state[EVENTS])]
    rows = np.array(log, np.int64).reshape(-1, 3)
    return StrandLog(rows[:, 0].astype(np.uint8), rows[:, 1].copy(), rows[:, 2].copy(), plan.bound.words // plan.line)


def run_rank(folder: str) -> None:
    """Run one rank from the job in a folder; rank 0 writes the outcome to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    module, algorithm, arguments, options, externs = pickle.loads(Path(folder, JOB_FILE).read_bytes())
    for name, function in externs.items():
        register_extern(name, function)
    outcome: Run | Exception
    try:
        outcome = execute(module, algorithm, arguments, engine="mpi", **options)
    except Exception as problem:
        outcome = make_sendable(problem)
    if read_rank() in (0, None):
        Path(folder, OUTCOME_FILE).write_bytes(pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL))
