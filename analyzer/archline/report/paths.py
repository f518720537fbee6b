"""Render the longest paths on a grid: executed, piece by piece, and derived, with the share of each statement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.communication.path_steps import PathStep
from archline.energy.units import format_si
from archline.execution import traced_paths
from archline.expr.intervals import EvaluationError
from archline.growth.short_forms import shorten_form
from archline.ir.amounts import Amount, KnownAmount
from archline.numbers import format_exact, format_point, format_readable
from archline.records import record
from archline.report.cost_view import CostRow, CostView
from archline.report.json import pick
from archline.report.layout import align_table, wrap
from archline.report.view import SourcePlace

if TYPE_CHECKING:
    from archline.execution.traced_paths import PathPiece

MAX_LISTED_PIECES = 20
"""The maximum number of rows of pieces that are listed."""


@record(slots=True)
class ExecutedPath:
    """The longest path of a run in a metric, or in the time."""

    metric: str
    pieces: tuple[PathPiece, ...]

    @property
    def total(self) -> int | Fraction:
        """The sum of the pieces: the count of the run."""
        return sum(piece.amount for piece in self.pieces)


def list_path_lines(path: ExecutedPath, width: int) -> list[str]:
    """Return a table of the share of each statement, and one of the pieces in order, equal successive ones in a row."""
    total = path.total
    if not total:
        return [f"critical path of the {path.metric}: nothing"]
    count = f"{len(path.pieces)} step{'s' * (len(path.pieces) != 1)}"
    lines = wrap(f"critical path of the {path.metric}: {_format_amount(path, total)} in {count}", width)
    lines += [
        "",
        *align_table(
            [["line", "statement", "steps", path.metric, "share"], *_iterate_share_rows(path)],
            width,
            right=RIGHT_COLUMNS,
        ),
    ]
    rows = list(_iterate_step_rows(path))
    head = ["processor", "", "line", "statement", path.metric, ""]
    lines += ["", *align_table([head, *rows[:MAX_LISTED_PIECES]], width, right=frozenset((2, 4)))]
    if len(rows) > MAX_LISTED_PIECES:
        lines.append(f"and {len(rows) - MAX_LISTED_PIECES} more rows: --format json has all")
    if any(piece.called for piece in path.pieces):
        lines += ["", *wrap(INSIDE_NOTE, width)]
    return lines


INSIDE_NOTE = "steps inside a call or a collective operation are listed at its line; --format json has their own"
RIGHT_COLUMNS = frozenset((0, 2, 3, 4))


def _iterate_share_rows(path: ExecutedPath) -> Iterator[list[str]]:
    """Yield a row for each statement, with its steps, sum and share of the path, largest first."""
    by_statement: dict[tuple[str, str], list[PathPiece]] = {}
    for piece in path.pieces:
        by_statement.setdefault(_describe_statement(piece), []).append(piece)
    sums = {key: sum(piece.amount for piece in pieces) for key, pieces in by_statement.items()}
    for key in sorted(by_statement, key=lambda key: -sums[key]):
        share = f"{float(Fraction(sums[key]) / Fraction(path.total)):.1%}"
        yield [*key, str(len(by_statement[key])), _format_amount(path, sums[key]), share]


def _iterate_step_rows(path: ExecutedPath) -> Iterator[list[str]]:
    """Yield a row for each piece of a path in order; equal successive pieces share a row."""
    for (at, partners, statement, amount), equal in groupby(
        path.pieces, lambda piece: (piece.coordinates, _name_partners(piece), _describe_statement(piece), piece.amount)
    ):
        times = len(list(equal))
        yield [
            _format_coordinates(at),
            partners,
            *statement,
            _format_amount(path, amount),
            f"x {times}" if times > 1 else "",
        ]


def _name_partners(piece: PathPiece) -> str:
    """Return `from (0, 1) to (1, 1)`: the processors that a step receives its words from and sends them to."""
    source = [] if piece.source is None else [f"from {_format_coordinates(piece.source)}"]
    return " ".join([*source, *([] if piece.to is None else [f"to {_format_coordinates(piece.to)}"])])


def _format_coordinates(coordinates: Sequence[int]) -> str:
    return f"({', '.join(map(str, coordinates))})" if len(coordinates) > 1 else str(coordinates[0])


def _describe_statement(piece: PathPiece) -> tuple[str, str]:
    """Return the line and the text of the statement that a piece belongs to, in the algorithm that ran."""
    span = piece.called or piece.span
    if span is None:
        return "", "computing, after the last step"
    source = span.source.written_lines[span.line - 1].strip()
    before = "in or before" if piece.called else "before"
    return str(span.line), f"computing, {before} {source}" if piece.computed else source


def _format_amount(path: ExecutedPath, amount: int | Fraction) -> str:
    return format_si(Fraction(amount), "s") if path.metric == traced_paths.TIME_METRIC else format_exact(amount)


def make_json_document(path: ExecutedPath) -> dict[str, Any]:
    """Return the JSON document of a path, with every piece."""
    return {**pick(path, "metric", "total"), "pieces": list(map(_make_piece_document, path.pieces))}


def _make_piece_document(piece: PathPiece) -> dict[str, Any]:
    places = pick(piece, "place=span", "called")
    return {
        "processor": piece.coordinates,
        **{name: None if span is None else SourcePlace.of(span) for name, span in places.items()},
        **pick(piece, "computed", "from=source", "to", "amount"),
    }


MAX_FORM_WIDTH = 34
"""The maximum width of a form that is shown with all its terms."""
JOINT_BOUND_LABEL = "from bounding them together"
CONTROL_LABEL = "iterations, tests and calls"


@record
class PathTable:
    """The steps of the critical paths of an algorithm; `case` is the condition under which they hold, if any."""

    view: CostView
    steps: tuple[PathStep, ...]
    case: str = ""


def format_path_tables(steps: PathTable, metrics: Sequence[str], width: int, full: bool = False) -> str:
    """Return a table for each of some metrics; with `full` the steps inside callees, and long forms in full."""
    rows = {row.metric: row for row in steps.view.rows}
    return "\n".join(
        "\n".join(_iterate_table_lines(steps, rows[name], width, full)) + "\n" for name in metrics if name in rows
    )


def subtract_step_bounds(steps: Sequence[PathStep], row: CostRow) -> Poly:
    """Return the upper bound of a metric less the sum of its bounds in the steps, which may be less sharp."""
    assert row.upper is not None
    return row.upper - sum((step.upper(row.metric) for step in steps), ZERO)


def _iterate_table_lines(path_table: PathTable, row: CostRow, width: int, full: bool) -> Iterator[str]:
    view = path_table.view
    if row.upper is None:
        yield from wrap(f"the {row.metric} of {view.algorithm} is unknown: {row.why} ({row.place})", width)
        return
    sizes = {name: value for name, value in (view.at or {}).items() if name not in ("Z", "L")}
    at = f" at {format_point(sizes)}" if sizes else ""
    if row.metric == "memory":
        yield from wrap(
            f"the memory of {view.algorithm} is the most that is alive at once, not a sum over a path", width
        )
        return
    if row.metric == "span":
        yield from wrap(
            f"the span of {view.algorithm} is its work, as a processor runs one thread: --metric work", width
        )
        return
    where = f", where {path_table.case}" if path_table.case else ""
    yield from wrap(f"{row.metric} of {view.algorithm}{at}, on its critical path{where}", width)
    yield ""
    cells = [["line", "statement", "times", "each", "in all"]]
    for step in path_table.steps:
        cells.extend(_iterate_step_cells(view, step, row.metric, 0, full))
    rest = subtract_step_bounds(path_table.steps, row)
    branches = view.at is None and not full and any(step.branch is not None for step in path_table.steps)
    # Costs of branches add up with the weights of their conditions, which --all shows.
    if rest != ZERO and not branches:
        cells.append(
            ["", CONTROL_LABEL if row.metric == "work" else JOINT_BOUND_LABEL, "", "", _format_form(view, rest, full)]
        )
    cells.append(
        ["", "together" if row.exact else "together, at most", "", "", _format_total(view, row, row.upper, full)]
    )
    yield from ("  " + line for line in align_table(cells, width - 2, right=frozenset((0,))))
    if any(cell.startswith("~") for line in cells for cell in line):
        yield from ("", *("  " + line for line in wrap(LEADING_TERMS_NOTE, width - 2)))


LEADING_TERMS_NOTE = (
    "~: leading terms as all sizes grow; --all shows all terms, and the statements of collective operations"
)


def _format_total(view: CostView, row: CostRow, upper: Poly, full: bool) -> str:
    """Return the upper bound that the steps add up to, with all of its terms if `full`.

    At sizes, a bound that is not an integer is followed by the integer below it, which no count exceeds.
    """
    form = _format_form(view, upper, full)
    below = None if row.values is None else format_readable(row.values.upper)
    return form if below in (None, form) else f"{form}, rounded down {below}"


def _iterate_step_cells(view: CostView, step: PathStep, metric: str, depth: int, full: bool) -> Iterator[list[str]]:
    if metric not in step.amounts:
        return
    named = not step.callee or step.callee == "shift_direct" or step.callee.partition("_")[2] in step.source
    shown = step.source if named else f"{step.source} ({step.callee})"
    branch = step.branch if view.at is None and not full else None
    often, whole = (step.times, step.amounts) if branch is None else (branch.times, branch.amounts)
    forms = [
        _format_form(view, _require_upper_bound(value), full) for value in (often, step.once[metric], whole[metric])
    ]
    runs = forms[0] if branch is None else branch.text if forms[0] == "1" else f"{forms[0]}, {branch.text}"
    yield [_format_line(view, step), "| " * depth + shown, runs, "" if forms[0] == "1" else forms[1], forms[2]]
    if full:
        for inner in step.inside:
            yield from _iterate_step_cells(view, inner, metric, depth + 1, full)


def _require_upper_bound(amount: Amount) -> Poly:
    assert isinstance(amount, KnownAmount)
    return amount.upper


def _format_line(view: CostView, step: PathStep) -> str:
    """Return the line number of a step, after the name of its file if that is not the algorithm's file."""
    path = str(step.span.source.path)
    is_in_algorithm_file = path == view.place.rpartition(":")[0]
    return str(step.span.line) if is_in_algorithm_file else f"{PurePath(path).stem}:{step.span.line}"


def _format_form(view: CostView, value: Poly, full: bool) -> str:
    """Return the value of a form at the view's point if there is one; else its leading terms, or all if `full`."""
    if view.at is not None and value.names <= view.at.keys():
        try:
            return format_readable(evaluate(value, view.at))
        except EvaluationError:
            pass
    return view.text(value) if full else shorten_form(value, view.text, MAX_FORM_WIDTH)
