"""Results for people, as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from archline.energy.units import format_si
from archline.report import io, lower_bounds, lru, paths
from archline.report.communication import replicated
from archline.report.contracts import contracts
from archline.report.layout import indented, table, wrap
from archline.report.numbers import point_text, readable
from archline.report.view import CacheView, CostView, MatrixView, Number, Row, RunView, Values


def costs(view: CostView, width: int) -> str:
    """The table of an algorithm's derived costs, its values at the point, its assumptions and contracts."""
    blocks = [_heading(view, width), _cost_table(view, width)]
    if view.at is not None:
        near = [line for row in view.rows for told in io.factors(row) for line in wrap(told, width - 2)]
        assumed = ", the default cache" if view.cache_assumed else ""
        blocks.append([f"at {point_text(view.at)}{assumed}", *_value_table(view, width), *near])
    if view.communication is not None and view.communication.bounds:
        blocks.append(lower_bounds.block(view.communication, width - 2))
    if view.replicated is not None:
        blocks.append(wrap(replicated(view.replicated, view.communication is not None), width - 2))
    if view.schedules:
        blocks.append(["io on several processors, up to constants", *io.schedules(view.schedules, width - 4)])
    if view.lru is not None:
        blocks.append(lru.text(view, view.lru, width - 2))
    if view.assumptions:
        blocks.append(["assuming", *indented([line for each in view.assumptions for line in wrap(each, width - 4)])])
    trusted = sorted({name for row in view.rows for name in row.declared})
    if trusted:
        blocks.append(wrap("uses declared costs: " + ", ".join(trusted), width - 2))
    if view.contracts:
        blocks.append(["ensures", *indented(contracts(view.contracts, width - 4))])
    head, *rest = blocks
    return "\n".join([*head, *(line for block in rest for line in ["", *indented(block)])]) + "\n"


def _heading(view: CostView, width: int) -> list[str]:
    return wrap(f"{view.algorithm}: {view.doc}" if view.doc else view.algorithm, width)


def _cost_table(view: CostView, width: int) -> list[str]:
    rows = [["metric", "status", "", "cost"]]
    for row in view.rows:
        rows.extend(_bounds(view, row, row.metric))
        if row.growth is not None:
            rows.append(["", "growth", "", ", ".join(filter(None, (row.growth, row.open)))])
        if row.attained is not None:
            rows.extend(["", name, "", told] for name, told in io.attained(row.attained))
        # The kinds say nothing new of a total that is nothing, unknown, or all of one kind.
        if row.metric == "flops" and len(view.kinds) > 1 and row.lower is not None:
            for kind in view.kinds:
                rows.extend(_bounds(view, kind, f"  {kind.metric}"))
    return table(rows, width - 2)


def _bounds(view: CostView, row: Row, name: str) -> Iterator[list[str]]:
    if row.lower is None or row.upper is None:
        place = f" ({row.place})" if row.place else ""
        yield [name, row.status, "?", f"{row.reason}{place}"]
    elif row.alternatives:
        yield [name, row.status, ">=", view.text(row.lower)]
        for looked, lower in row.lowers:
            yield ["", "", "", f"by {looked}:"]
            yield ["", "", ">=", view.text(lower)]
        for other in row.alternatives:
            yield ["", "", "", f"where {other.when}:"]
            yield ["", "", "<=", view.text(other.upper)]
    elif row.regimes:
        for each in row.regimes:
            exact = each.lower == each.upper
            yield [name, row.status, "", f"{each.when}:" if each.when == "otherwise" else f"where {each.when}:"]
            yield ["", "", "=" if exact else ">=", view.text(each.lower)]
            if not exact:
                yield ["", "", "<=", view.text(each.upper)]
            name = ""
    elif row.exact:
        yield [name, row.status, "=", view.text(row.lower)]
    else:
        yield [name, row.status, ">=", view.text(row.lower)]
        yield ["", "", "<=", view.text(row.upper)]


def _value_table(view: CostView, width: int) -> list[str]:
    single = all(row.values is None or row.values.lower == row.values.upper for row in view.rows)
    rows = [["metric", "value"] if single else ["metric", "lower", "upper"]]
    for row in view.rows:
        shown = _value_cells(row.values, row.reason)
        rows.append([row.metric, *(shown[:1] if single else shown)])
    return table(rows, width - 2, right=frozenset((1, 2)) if _plain(view) else frozenset())


def _plain(view: CostView) -> bool:
    return all(row.values is not None for row in view.rows)


def _value_cells(values: Values | None, reason: str | None) -> list[str]:
    if values is None:
        return [reason or "unknown", ""]
    return [readable(values.lower), readable(values.upper)]


def run(view: RunView, width: int) -> str:
    """Counts of an execution between the derived bounds."""
    blocks = [table(counted(view), width - 2, right=frozenset((1, 2, 3, 5, 6)))]
    if view.processor_io:
        blocks.append(wrap("io by processor: " + ", ".join(map(str, view.processor_io)), width - 2))
    if view.path is not None:
        blocks.append(paths.text(view.path, width - 2))
    blocks.append([line for note in notes(view) for line in wrap(note, width - 2)])
    lines = [*wrap(run_heading(view), width), *(line for block in blocks for line in ["", *indented(block)])]
    if view.counts.outside:
        lines += ["", *wrap(alarm(view.counts.outside), width)]
    return "\n".join(lines) + "\n"


def run_heading(view: RunView) -> str:
    """The algorithm, and the sizes of the run."""
    return f"{view.algorithm} at {point_text(view.at)}" if view.at else view.algorithm


def counted(view: RunView) -> list[list[str]]:
    """Rows of counts between derived bounds, below a head."""
    counts = view.counts
    more = ["one processor", "all"] if counts.own else []
    rows = [["metric", "derived lower", "executed", "derived upper", "", *more]]
    for metric, count in counts.executed.items():
        beside = [readable(each[metric]) if metric in each else "" for each in (counts.own, counts.total)]
        row = _count(metric, counts.derived.get(metric), count, _verdict(view, metric))
        rows.append([*row, *beside] if more else row)
        if metric == "flops" and len(counts.kinds) > 1:
            rows.extend(
                _count(f"  {kind}", counts.derived_kinds.get(kind), each, _verdict(view, f"flops ({kind})"))
                for kind, each in counts.kinds.items()
            )
    return rows


def notes(view: RunView) -> list[str]:
    """The cache and the data of a run, and why some counts are not checked."""
    matrix = [] if view.matrix is None else [matrix_note(view.matrix)]
    costs = [ON_PATHS] if view.counts.own else [cache_note(view.cache)]
    timed = [] if view.timed is None else [timed_note(*view.timed)]
    least = [] if view.communication is None else list(lower_bounds.of_run(view.communication))
    if view.replicated:
        least.append(replicated({}, view.communication is not None))
    return [*matrix, *costs, *timed, *least, view.data, *(f"{m}: {why}" for m, why in view.unchecked.items())]


def timed_note(machine: str, time: Fraction, apart: Fraction) -> str:
    """The time of the longest path, and its ratio to that of flops, words and messages each on its own."""
    path = "the critical path of gamma*F + beta*W + alpha*S"
    part = f"; {float(time / apart):.4g} times that of F, W and S each on its own path" if apart else ""
    return f"time on {machine}: {format_si(time, 's')} on {path}{part}"


ON_PATHS = (
    "executed: on the critical path of each metric; one processor: the largest count of any one processor; all: the "
    "total of all processors"
)


def _count(name: str, values: Values | None, count: Number, verdict: str) -> list[str]:
    lower, upper = ("", "") if values is None else (readable(values.lower), readable(values.upper))
    return [name, lower, readable(count), upper, verdict]


def _verdict(view: RunView, metric: str) -> str:
    if metric in view.counts.outside:
        return "OUTSIDE"
    return view.counts.statuses.get(metric, "")


def alarm(outside: Sequence[str]) -> str:
    """What counts outside their bounds mean."""
    return (
        f"AL999: the executed {' and '.join(outside)} lies outside the derived bounds. This is a defect in archline: "
        "please report the program and the command."
    )


def matrix_note(matrix: MatrixView) -> str:
    """`west0479.mtx: n = 479, ...`."""
    block = f", in blocks of {matrix.block} x {matrix.block}" if matrix.block is not None else ""
    sizes = f"n = {matrix.n}, m = {matrix.m}, nz = {matrix.nz}, nr = {matrix.nr}, nc = {matrix.nc}"
    return f"matrix {matrix.path}: {sizes}{block}"


def cache_note(cache: CacheView | None) -> str:
    """Which cache io is counted for, and whether anybody asked for it."""
    if cache is None:
        return "io is not counted, as no cache is given"
    policy = {"optimal": "optimal replacement", "lru": "LRU replacement"}[cache.policy]
    size = f"Z = {cache.words} words, L = {cache.line} words a line ({cache.words // cache.line} lines)"
    own = f"{cache.processors} caches of " if cache.processors > 1 else ""
    schedule = f", {cache.schedule} schedule" if cache.schedule is not None else ""
    origin = "" if cache.chosen else "; the default, as --cache is not given"
    levels = "".join(f"; {name} has Z = {words}, L = {line}" for name, words, line in cache.levels)
    return f"io is counted for {own}{size}, {policy}{schedule}{origin}{levels}"
