"""Render runs as text, as a document and as JSON: counts between the derived bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from archline.costs.communication import describe_replication
from archline.energy.running import ExecutedRun
from archline.energy.units import format_si
from archline.expr.intervals import Number
from archline.language.iterations import list_iterations
from archline.numbers import format_exact, format_point, format_readable
from archline.report import paths
from archline.report.communication import describe_run_bounds
from archline.report.communication import make_json_document as bounds_document
from archline.report.documents import Document, Table
from archline.report.json import COSTS_VERSION, make_iterations_document, make_point_document, pick
from archline.report.layout import Columns, render_page, wrap
from archline.report.view import RunView, ValueRange

if TYPE_CHECKING:
    from archline.execution.results import Cache, MatrixView


def render_run(view: RunView, width: int) -> str:
    """Return the page of a run: its counts between the derived bounds, and the notes."""
    path = [] if view.path is None else [paths.list_path_lines(view.path, width - 2)]
    shares = ["io by processor: " + ", ".join(map(str, counts))] if (counts := processor_io(view.run)) else []
    whole = render_page(
        width, format_heading(view), [Columns(make_count_rows(view), (1, 2, 3, 5, 6))], shares, path, list_notes(view)
    )
    return whole + ("\n".join(["", *wrap(format_alarm(view.counts.outside), width), ""]) if view.counts.outside else "")


def format_heading(view: RunView) -> str:
    """Return the algorithm, and the sizes of the run."""
    name, at = view.run.algorithm.name, view.run.at
    return f"{name} at {format_point(at)}" if at else name


def processor_io(run: ExecutedRun) -> list[int]:
    """List the lines fetched into the private cache of each processor; empty if caches are not private."""
    return [] if run.private is None else [cache.io for cache in run.private.caches]


def make_count_rows(view: RunView) -> list[list[str]]:
    """Return rows of counts between derived bounds, the head first."""
    counts = view.counts
    more = ["one processor", "all"] if counts.own else []
    rows = [["metric", "derived lower", "executed", "derived upper", "", *more]]
    for metric, count in counts.executed.items():
        further = [
            format_readable(amounts[metric]) if metric in amounts else "" for amounts in (counts.own, counts.total)
        ]
        row = _make_count_row(metric, counts.derived.get(metric), count, _get_count_status(view, metric))
        rows.append([*row, *further] if more else row)
        if metric == "flops" and len(counts.kinds) > 1:
            rows.extend(
                _make_count_row(
                    f"  {kind}", counts.derived_kinds.get(kind), flops, _get_count_status(view, f"flops ({kind})")
                )
                for kind, flops in counts.kinds.items()
            )
    return rows


def list_notes(view: RunView) -> list[str]:
    """Return the notes on a run: matrix, iterations, outputs, cache, time, lower bounds, data, unchecked counts."""
    matrix = [] if view.run.matrix is None else [describe_matrix(view.run.matrix)]
    costs = [PATHS_NOTE] if view.counts.own else [describe_cache(view.run)]
    timed = [] if view.timing is None else [describe_time(*view.timing)]
    least = [] if view.communication is None else list(describe_run_bounds(view.communication))
    if view.run.execution.replicated:
        least.append(describe_replication({}, view.communication is not None))
    return [
        *matrix,
        *list_iteration_notes(view.run),
        *list_output_notes(view.run),
        *list_nonfinite_notes(view.run),
        *costs,
        *timed,
        *least,
        view.data,
        *list_unchecked_notes(view),
    ]


def list_iteration_notes(run: ExecutedRun) -> list[str]:
    """State the iterations of each loop without a bound: `T1 = 9 (iterations of the while in line 4)`."""
    counts = run.execution.iterations
    return [
        f"{counted.name} = {format_readable(counts[counted.name])} ({counted.described})"
        for counted in list_iterations(*run.algorithm.executed)
        if counted.name in counts and counted.name in run.algorithm.cost().parameters
    ]


_UNSET_INT = -(2**63)
"""What a run gives for an `out` number of integers that it has not set; for reals it is not a number."""


def list_output_notes(run: ExecutedRun) -> list[str]:
    """State the numbers returned in `out` parameters: `hits = 3`, on a grid the number of each processor."""
    values = run.execution.outputs
    names = [output.parameter.name for output in run.algorithm.node.outputs if output.parameter.name in values]
    # They are among the notes on results that are not finite.
    names = [name for name in names if name not in {output.name for output in run.execution.nonfinite}]
    shown = [_describe_numbers(name, np.atleast_1d(values[name]).tolist()) for name in names]
    return [", ".join(shown)] if shown else []


def list_nonfinite_notes(run: ExecutedRun) -> list[str]:
    """State the outputs that are not finite although all inputs are, and what may be the reason."""
    outputs = ", ".join(map(str, run.execution.nonfinite))
    if run.generated:
        return [f"{outputs}: the generated data may not suit the algorithm; pass data from Python"] if outputs else []
    return [f"{outputs}, and all inputs are finite"] if outputs else []


def _describe_numbers(name: str, numbers: list[float]) -> str:
    """State the value of an `out` parameter, on a grid the values of the first processors."""
    texts = ["unset" if number != number or number == _UNSET_INT else str(number) for number in numbers]
    if len(set(texts)) == 1:
        return f"{name} is not set" if texts[0] == "unset" else f"{name} = {texts[0]}"
    more = ", ..." if len(texts) > _MAX_PROCESSORS else ""
    return f"{name} = {', '.join(texts[:_MAX_PROCESSORS])}{more} by processor"


_MAX_PROCESSORS = 8
"""The number of processors whose numbers are shown."""


def list_unchecked_notes(view: RunView) -> list[str]:
    """Return the reasons that metrics are not compared with derived bounds, each reason once."""
    reasons = dict.fromkeys(view.unchecked.values())
    return [f"{', '.join(m for m, why in view.unchecked.items() if why == reason)}: {reason}" for reason in reasons]


def describe_time(machine: str, time: Fraction, apart: Fraction) -> str:
    """State the time of the critical path, and its ratio to `apart`, the time if F, W and S take separate paths."""
    path = "the critical path of gamma*F + beta*W + alpha*S"
    part = f"; {float(time / apart):.4g} times that of F, W and S each on its own path" if apart else ""
    return f"time on {machine}: {format_si(time, 's')} on {path}{part}"


PATHS_NOTE = (
    "executed: on the critical path of each metric; one processor: the largest count of any one processor; all: the "
    "total of all processors"
)


def _make_count_row(name: str, values: ValueRange | None, count: Number, verdict: str) -> list[str]:
    lower, upper = ("", "") if values is None else (format_readable(values.lower), format_readable(values.upper))
    return [name, lower, format_readable(count), upper, verdict]


def _get_count_status(view: RunView, metric: str) -> str:
    if metric in view.counts.outside:
        return "OUTSIDE"
    return view.counts.statuses.get(metric, "")


def format_alarm(outside: Sequence[str]) -> str:
    """Report counts outside their derived bounds, which are a defect of archline."""
    return (
        f"AL999: the executed {' and '.join(outside)} lies outside the derived bounds. This is a defect in archline: "
        "please report the program and the command."
    )


def describe_matrix(matrix: MatrixView) -> str:
    """Return the path and the sizes of a matrix: `matrix west0479.mtx: n = 479, ...`."""
    block = f", in blocks of {matrix.block} x {matrix.block}" if matrix.block is not None else ""
    sizes = f"n = {matrix.n}, m = {matrix.m}, nz = {matrix.nz}, nr = {matrix.nr}, nc = {matrix.nc}"
    return f"matrix {matrix.path}: {sizes}{block}"


def describe_cache(run: ExecutedRun) -> str:
    """Describe the cache that io is counted for, and whether it was chosen."""
    cache, several = run.cache, run.settings.processors
    if cache is None:
        return "io is not counted, as no cache is given"
    policy = {"optimal": "optimal replacement", "lru": "LRU replacement"}[cache.policy]
    size = f"Z = {cache.Z} words, L = {cache.L} words a line ({cache.lines} lines)"
    caches_of = f"{several.count} caches of " if several is not None and several.count > 1 else ""
    schedule = f", {several.described} schedule" if several is not None else ""
    origin = "" if run.settings.chosen_cache else "; the default, as --cache is not given"
    levels = "".join(f"; {name} has Z = {geometry.Z}, L = {geometry.L}" for name, (geometry, _) in run.levels.items())
    return f"io is counted for {caches_of}{size}, {policy}{schedule}{origin}{levels}"


def make_page(view: RunView) -> Document:
    """Return the page of a run: a table of counts, with notes."""
    head, *rows = make_count_rows(view)
    outside = format_alarm(view.counts.outside) if view.counts.outside else ""
    table = Table(tuple(head), tuple(map(tuple, rows)), right=(1, 2, 3, 5, 6))
    return Document(format_heading(view), "", "", ((table,), tuple(filter(None, (outside, *list_notes(view))))))


def make_json_document(view: RunView) -> dict[str, Any]:
    """Return the document of `archline run`. `checked`: every count was compared and lies within derived bounds."""
    counts, done = view.counts, view.run
    document: dict[str, Any] = {
        "version": COSTS_VERSION,
        "algorithm": done.algorithm.name,
        "at": make_point_document(done.at),
        "counts": _convert_counts(counts.executed),
        "flops_by_kind": _convert_counts(counts.kinds),
        "derived": counts.derived,
        "checked": not view.unchecked and not counts.outside,
        "outside": counts.outside,
        "unchecked": view.unchecked,
        "cache": None if done.cache is None else _make_cache_document(done, done.cache),
        "data": view.data,
    }
    if done.execution.nonfinite:
        document["nonfinite"] = [
            {"name": output.name, "value": str(output.value), "first": list(output.place)}
            for output in done.execution.nonfinite
        ]
    if counts_of_loops := done.execution.iterations:
        document["iterations"] = [
            make_iterations_document(counted, count=counts_of_loops[counted.name])
            for counted in list_iterations(*done.algorithm.executed)
            if counted.name in counts_of_loops
        ]
    document |= {name: _convert_counts(amounts) for name, amounts in pick(counts, "own", "total").items() if amounts}
    if view.timing is not None:
        machine, time, apart = view.timing
        document["time"] = {
            "machine": machine,
            "seconds": format_exact(time),
            "each_along_its_own_path": format_exact(apart),
        }
    if view.path is not None:
        document["path"] = paths.make_json_document(view.path)
    if done.matrix is not None:
        document["matrix"] = done.matrix
    if counts.own:
        document["replicated_input"] = done.execution.replicated
    if view.communication is not None:
        document["communication_bounds"] = bounds_document(view.communication)
    if by_processor := processor_io(done):
        document["processor_io"] = by_processor
    return document


def _convert_counts(counts: Mapping[str, Number]) -> dict[str, int | str]:
    return {name: int(count) if count == int(count) else format_exact(count) for name, count in counts.items()}


def _make_cache_document(done: ExecutedRun, cache: Cache) -> dict[str, Any]:
    several = done.settings.processors
    levels = {name: pick(geometry, "Z", "L") for name, (geometry, _) in done.levels.items()}
    return {
        **pick(cache, "Z", "L", "policy"),
        "default": not done.settings.chosen_cache,
        "processors": 1 if several is None else several.count,
        "schedule": None if several is None else several.described,
        **({"levels": levels} if levels else {}),
    }
