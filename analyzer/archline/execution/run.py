"""Running an algorithm on data: its results, and its counts by the cost rules of docs/reference/cost-rules.md."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.execution import run_rules as rules
from archline.execution.binding import bind
from archline.execution.cache import StrandLog, lru, optimal
from archline.execution.codegen.layout import cost_symbols
from archline.execution.codegen.program import has_parallelism
from archline.execution.codegen.sites import EXTERN, READS, WORK, WRITES
from archline.execution.codegen.writer import Options
from archline.execution.launch import Finished, Plan, launch
from archline.execution.placement import store_words
from archline.execution.results import Cache, Counts, Run, Trace
from archline.execution.slots import EVENTS, MEM_DECLARED, MEM_EVENTS, MEM_INTS, MEM_REALS, MEM_TRACE, PEAK, SPAN, TRACE
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.metrics import CALL, DECLARED, METRICS, SET_APART, STEPS
from archline.language.model import BoundBy, Module

MACHINE = frozenset(("P", "Z", "L", "K"))


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
) -> Run:
    """Run an algorithm on arguments, given by parameter name as numpy arrays (or nested lists) and numbers.

    The arrays given are not changed; cost symbols of externs are given among the arguments too. `line` is the
    number of words in a line, that of the cache where one is given. `trace` keeps the access trace, `events` the
    log of strands beside it; `races` looks for determinacy races where the program has parallel loops or spawns.
    `compiled` forces or forbids compilation by numba; None starts as plain Python and compiles what turns out to
    be long. `progress` forces or forbids messages on standard error.

    Raises ArchlineError: for bad arguments (AL520 to AL525), for what goes wrong in the run (AL501 to AL516), for
    what cannot be run (AL517 to AL519).
    """
    line = _check_cache(cache, line)
    symbols = frozenset(cost_symbols(module.externs.values())) | MACHINE
    bound = bind(module, algorithm, arguments, symbols, line)
    tracing = trace or events or cache is not None
    racing = races and has_parallelism(module, algorithm)
    options = Options(False, tracing, racing, events)
    plan = Plan(module, algorithm, bound, line, cache, options, progress)
    return _result(plan, launch(plan, compiled), trace)


def _check_cache(cache: Cache | None, line: int) -> int:
    words = {"L": line} if cache is None else {"L": cache.L, "Z": cache.Z}
    for name, value in words.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
            raise error(rules.BAD_CACHE, f"{name} is {value!r}, and must be a whole number of words, 1 at least")
    if cache is None:
        return int(line)
    if cache.lines < 1:
        raise error(rules.BAD_CACHE, f"a cache of Z = {cache.Z} words holds no line of L = {cache.L} words")
    if cache.policy not in ("optimal", "lru"):
        raise error(rules.BAD_CACHE, f'there is no policy "{cache.policy}"; there are "optimal" and "lru"')
    return int(cache.L)


def _result(plan: Plan, finished: Finished, keep_trace: bool) -> Run:
    traced = _trace(finished, plan.line) if plan.options.trace else None
    counts = _counts(finished)
    cache_seconds = 0.0
    if plan.cache is not None and traced is not None:
        started = time.perf_counter()
        simulate = optimal if plan.cache.policy == "optimal" else lru
        outcome = simulate(traced.lines, plan.cache.lines, traced.writes)
        counts = replace(counts, io=outcome.io, writebacks=outcome.writebacks)
        cache_seconds = time.perf_counter() - started
    return Run(
        counts,
        _outputs(plan, finished),
        finished.value,
        bound_sizes(plan),
        traced if keep_trace or plan.options.events else None,
        _events(finished, plan) if plan.options.events else None,
        finished.program.options.compiled,
        finished.seconds,
        finished.compile_seconds,
        cache_seconds,
    )


def _counts(finished: Finished) -> Counts:
    state, program = finished.memory.state, finished.program
    totals: Counter[str] = Counter()
    for number, cost in enumerate(program.tables.blocks):
        times = int(state[program.layout.first_counter + number])
        for kind, amount in cost.items():
            totals[kind] += amount * times
    # The outermost call counts one.
    work = totals.pop(WORK, 0) + 1
    steps = {each.kind: totals.pop(each.kind, 0) for each in STEPS}
    steps[CALL.kind] += 1
    reads, writes = totals.pop(READS, 0), totals.pop(WRITES, 0)
    declared = dict.fromkeys(SET_APART, 0.0)
    for place, metric in enumerate(SET_APART):
        declared[metric] += float(finished.memory.arrays[MEM_DECLARED][place])
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
    return Counts(
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


def _outputs(plan: Plan, finished: Finished) -> dict[str, NDArray[Any]]:
    reals, ints = finished.memory.arrays[MEM_REALS], finished.memory.arrays[MEM_INTS]
    outputs = {}
    for parameter in plan.algorithm.parameters:
        if parameter.mode != "in":
            real = plan.bound.arrays[parameter.name].dtype == np.float64
            placement = plan.bound.placements[parameter.name]
            outputs[parameter.name] = store_words(reals if real else ints, placement, real)
    return outputs


def bound_sizes(plan: Plan) -> dict[str, int]:
    """The sizes and indices of the run, by name."""
    signature = plan.module.signatures[plan.algorithm]
    sizes: dict[str, int] = {}
    for binding in signature.sizes:
        name = plan.algorithm.parameters[binding.parameter].name
        match binding.by:
            case BoundBy.VALUE:
                sizes[binding.name] = int(plan.bound.scalars[name])
            case BoundBy.EXTENT:
                sizes[binding.name] = plan.bound.arrays[name].shape[binding.dimension]
            case BoundBy.COUNT:
                sizes[binding.name] = len(plan.bound.arrays[name]) - 1
            case BoundBy.TOTAL | BoundBy.LONGEST:
                sizes[binding.name] = plan.bound.facts[name][binding.by is BoundBy.LONGEST]
    for name in signature.indices:
        sizes[name] = int(plan.bound.scalars[name])
    return sizes


def _trace(finished: Finished, line: int) -> Trace:
    entries = finished.memory.arrays[MEM_TRACE]
    kept = len(entries) if isinstance(entries, list) else int(finished.memory.state[TRACE])
    packed: NDArray[Any] = np.asarray(entries[:kept], None if len(entries) else np.int64)
    writes = (packed & 1).astype(np.uint8)
    # An entry is 2 * address + 1 for a write, so its line is the entry divided by 2 * line.
    if line & (line - 1) == 0:
        return Trace(packed >> line.bit_length(), writes)
    return Trace(packed // (2 * line), writes)


def _events(finished: Finished, plan: Plan) -> StrandLog:
    log = finished.memory.arrays[MEM_EVENTS]
    if not isinstance(log, list):
        log = log[: 3 * int(finished.memory.state[EVENTS])]
    rows = np.array(log, np.int64).reshape(-1, 3)
    return StrandLog(rows[:, 0].astype(np.uint8), rows[:, 1].copy(), rows[:, 2].copy(), plan.bound.words // plan.line)
