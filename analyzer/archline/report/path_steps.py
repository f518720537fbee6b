"""What each statement adds to the bound of a longest path: a table a metric, and the bound that they add up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

from archline.algebra.evaluate.exact import EvaluationError, evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.communication.path_steps import PathStep
from archline.ir.amounts import Amount, Known
from archline.records import record
from archline.report.cost_view import CostView, Row
from archline.report.costs.forms import short_form
from archline.report.layout import table, wrap
from archline.report.numbers import point_text, readable

SHORT = 34
"""Characters of a form that are shown in full."""
TOGETHER = "from bounding them together"
CONTROL = "iterations, tests and calls"


@record
class PathTable:
    """The steps of the paths of an algorithm; `case` says where they hold, if not at all sizes."""

    view: CostView
    steps: tuple[PathStep, ...]
    case: str = ""


def text(found: PathTable, metrics: Sequence[str], width: int, full: bool = False) -> str:
    """The tables of some metrics; in full those of callees, and of long forms, too."""
    rows = {row.metric: row for row in found.view.rows}
    return "\n".join("\n".join(_table(found, rows[each], width, full)) + "\n" for each in metrics if each in rows)


def rest_of(steps: Sequence[PathStep], row: Row) -> Poly:
    """The bound of a metric that is known, less the sum of those of the steps: the bound of a whole may be sharper."""
    assert row.upper is not None
    return row.upper - sum((each.upper(row.metric) for each in steps), ZERO)


def _table(found: PathTable, row: Row, width: int, full: bool) -> Iterator[str]:
    view = found.view
    if row.upper is None:
        yield from wrap(f"the {row.metric} of {view.algorithm} is unknown: {row.why} ({row.place})", width)
        return
    sizes = {name: value for name, value in (view.at or {}).items() if name not in ("Z", "L")}
    at = f" at {point_text(sizes)}" if sizes else ""
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
    where = f", where {found.case}" if found.case else ""
    yield from wrap(f"{row.metric} of {view.algorithm}{at}, on its critical path{where}", width)
    yield ""
    cells = [["line", "statement", "times", "each", "in all"]]
    for step in found.steps:
        cells.extend(_cells(view, step, row.metric, 0, full))
    rest = rest_of(found.steps, row)
    branches = view.at is None and not full and any(step.branch is not None for step in found.steps)
    # What branches cost adds up as their conditions weigh it, which --all shows.
    if rest != ZERO and not branches:
        cells.append(["", CONTROL if row.metric == "work" else TOGETHER, "", "", _form(view, rest, full)])
    cells.append(["", "together" if row.exact else "together, at most", "", "", _total(view, row, row.upper, full)])
    yield from ("  " + line for line in table(cells, width - 2, right=frozenset((0,))))
    if any(cell.startswith("~") for line in cells for cell in line):
        yield from ("", *("  " + line for line in wrap(LEADING, width - 2)))


LEADING = "~: leading terms as all sizes grow; --all shows all terms, and the statements of collective operations"


def _total(view: CostView, row: Row, upper: Poly, full: bool) -> str:
    """The bound that the steps add up to; what counts whole things is at most the whole number below."""
    form = _form(view, upper, full)
    below = None if row.values is None else readable(row.values.upper)
    return form if below in (None, form) else f"{form}, rounded down {below}"


def _cells(view: CostView, step: PathStep, metric: str, depth: int, full: bool) -> Iterator[list[str]]:
    if metric not in step.amounts:
        return
    named = not step.callee or step.callee == "shift_direct" or step.callee.partition("_")[2] in step.source
    shown = step.source if named else f"{step.source} ({step.callee})"
    branch = step.branch if view.at is None and not full else None
    often, whole = (step.times, step.amounts) if branch is None else (branch.times, branch.amounts)
    forms = [_form(view, _upper(value), full) for value in (often, step.once[metric], whole[metric])]
    runs = forms[0] if branch is None else branch.text if forms[0] == "1" else f"{forms[0]}, {branch.text}"
    yield [_line(view, step), "| " * depth + shown, runs, "" if forms[0] == "1" else forms[1], forms[2]]
    if full:
        for inner in step.inside:
            yield from _cells(view, inner, metric, depth + 1, full)


def _upper(amount: Amount) -> Poly:
    assert isinstance(amount, Known)
    return amount.upper


def _line(view: CostView, step: PathStep) -> str:
    """The line, with the name of the file where that is another than the algorithm's."""
    path = str(step.span.source.path)
    own = path == view.place.rpartition(":")[0]
    return str(step.span.line) if own else f"{PurePath(path).stem}:{step.span.line}"


def _form(view: CostView, value: Poly, full: bool) -> str:
    """A form in full where it is short, else its leading terms; its value at the point where there is one."""
    if view.at is not None and value.names <= view.at.keys():
        try:
            return readable(evaluate(value, view.at))
        except EvaluationError:
            pass
    return view.text(value) if full else short_form(value, view.text, SHORT)
