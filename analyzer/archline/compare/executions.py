"""Execute two algorithms on the same data, which is random, and for vectors also sorted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil
from typing import Any

import numpy as np

from archline.analysis.cost import enclose_cost
from archline.costs import rules
from archline.costs.sizes import Given, Point
from archline.energy.caches import Settings, select_cache_at_point
from archline.energy.running import ExecutedRun, refuse_counted_sizes, run_on_arguments, split_arguments
from archline.energy.subjects import AlgorithmSubject
from archline.execution.data import generate_arguments
from archline.execution.jit import are_kernels_compiled
from archline.expr.intervals import EvaluationError
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.records import record, replace

MAX_WORK, MAX_PLAIN_WORK = 10**8, 10**6
"""Runs of more work are refused: compiled ones, and those of plain Python."""
SEEDS = 2


@record
class PairedRun:
    """The runs of two algorithms on the same data."""

    data: str
    first: ExecutedRun
    second: ExecutedRun


def iterate_paired_runs(
    left: AlgorithmSubject, right: AlgorithmSubject, at_one: Given, at_other: Given, settings: Settings
) -> Iterator[PairedRun]:
    """Run both algorithms on each kind of data, and yield the runs; arrays with the same name and shape get equal data.

    `at_one` and `at_other` are their sizes. Raises ArchlineError (AL411) if a run would take too long, and for errors
    of runs.
    """
    points = [_check_run_point(subject, at, settings) for subject, at in ((left, at_one), (right, at_other))]
    vectors = _has_vectors(left) or _has_vectors(right)
    orders: dict[str, Callable[[Any], Any]] = {"random": lambda values: values}
    if vectors:
        orders |= {"rising": np.sort, "falling": lambda values: np.sort(values)[::-1].copy()}
    for name, order in orders.items():
        for seed in range(settings.seed, settings.seed + (SEEDS if name == "random" else 1)):
            first = _make_arguments(left, points[0], seed, order)
            second = _share_data(_make_arguments(right, points[1], seed, order), first)
            data = f"random data (seed {seed})" if name == "random" else f"{name} data"
            runs = [
                _run_algorithm(subject, point, values, settings)
                for subject, point, values in ((left, points[0], first), (right, points[1], second))
            ]
            yield PairedRun(data, *runs)


def _check_run_point(chosen: AlgorithmSubject, at: Given, settings: Settings) -> Point:
    """Check the sizes of a run, and return its point. Raises ArchlineError (AL411) if it would take too long."""
    report = chosen.report
    refuse_counted_sizes(report, at)
    point = report.point(at, report.names.data_names, settings.option)
    limit = MAX_WORK if settings.compiled is not False and are_kernels_compiled() else MAX_PLAIN_WORK
    cost = report.costs["work"]
    try:
        work = (
            None
            if cost.upper is None
            else enclose_cost(cost, {**dict.fromkeys(report.names.counted_iterations, 0), **point}).upper
        )
    except EvaluationError:
        work = None
    if work is None or work > limit:
        amount = "an unknown amount of" if work is None else f"up to {ceil(work)}"
        raise error(rules.OPTIONS_CLASH, f"`{chosen.name}` takes {amount} work; at most {limit} is executed")
    return point


def _has_vectors(chosen: AlgorithmSubject) -> bool:
    """Test whether some parameter that is read is a vector: an array with one dimension."""
    return any(_is_vector(parameter) for parameter in chosen.algorithm.node.parameters)


def _is_vector(parameter: s.Parameter) -> bool:
    return isinstance(parameter.type, s.ArrayType) and len(parameter.type.shape) == 1 and parameter.mode != "out"


def _make_arguments(chosen: AlgorithmSubject, point: Point, seed: int, order: Callable[[Any], Any]) -> dict[str, Any]:
    sizes, symbols = split_arguments(chosen.algorithm, point)
    values = generate_arguments(*chosen.algorithm.executed, sizes, seed)
    for parameter in chosen.algorithm.node.parameters:
        if _is_vector(parameter):
            values[parameter.name] = order(values[parameter.name])
    return {**values, **symbols}


def _share_data(values: dict[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Replace arrays in `values` by those of the other algorithm with the same name, shape and type."""

    def is_same_array(name: str) -> bool:
        mine, theirs = values[name], others.get(name)
        if not isinstance(mine, np.ndarray) or not isinstance(theirs, np.ndarray):
            return False
        return bool(mine.shape == theirs.shape and mine.dtype == theirs.dtype)

    return {name: others[name] if is_same_array(name) else value for name, value in values.items()}


def _run_algorithm(
    chosen: AlgorithmSubject, point: Point, values: Mapping[str, Any], settings: Settings
) -> ExecutedRun:
    cache, picked = select_cache_at_point(point, settings.cache, settings.chosen_cache)
    names = {name: value for name, value in values.items() if name not in ("Z", "L")}
    used = replace(settings, chosen_cache=picked)
    return run_on_arguments(
        ExecutedRun, chosen.algorithm, names, cache, used, "the data was given", report=chosen.report
    )
