"""Draw the figures of papers again: from the forms of rows, derived and executed costs, and the printed marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from archline.api import pictures
from archline.api.algorithms import algorithm
from archline.api.energies import energy
from archline.energy.formulas import bound_value, names_in
from archline.energy.machines import Machine
from archline.execution.results import Cache
from archline.expr.arrays import Array, compile_formulas
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.tree import substitute_names
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.papers import forms, rules
from archline.papers.recipes import RECIPE_INPUTS
from archline.papers.rows import PrintedRow, expand_each, map_sides, read_paper, read_row
from archline.report.pictures import Cell, PictureView
from archline.report.pictures.lines import Mark, Marked, RedrawnFigure, Series

LINE_POINTS, PLANE_POINTS = 121, 481
"""The number of points of a line, and of values along each axis of a plane, where a line may be steep."""
_ROW_INPUTS = ("rows", "machines")
KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        "lines": (("title", "over", "between", "axes"), (*_ROW_INPUTS, "lines", "regions", "inside", "within", "log")),
        "ratios": (("title", "axes", "ratio", "cases", "algorithms"), (*_ROW_INPUTS, "executed")),
        "roofline": (("machines",), ("rows",)),
        "balance": (("machines",), ("rows",)),
    }
)
"""The kinds of figures: the inputs that each needs, and its optional ones; `number` and `marks` belong to all."""


def figure(paper: str, number: str) -> pictures.Picture:
    """Draw a figure of a paper by its number, `figure("scaling", "7")`. Raises ArchlineError (AL610 to AL614)."""
    read = read_paper(paper, RECIPE_INPUTS)
    keys = {kind: (("number", *needs), ("marks", *takes)) for kind, (needs, takes) in KINDS.items()}
    numbers: list[str] = []
    for place, table in enumerate(read.figures):
        for figure_table in expand_each(table):
            row = read_row(read, figure_table, ("figure", str(place)), keys)
            if number in row.texts("number"):
                return pictures.Picture(_draw_figure(row))
            numbers += row.texts("number")
    hint = f"its figures are {', '.join(numbers)}" if numbers else "it has none"
    raise error(rules.NO_ROW, f"paper `{read.name}` has no figure `{number}`", hint=hint)


def _draw_figure(row: PrintedRow) -> PictureView:
    match row.kind:
        case "lines":
            view: PictureView = _draw_lines(row)
        case "ratios":
            view = _draw_ratios(row)
        case kind:
            view = getattr(pictures, kind)(_get_only_machine(row)).view
    marks = tuple(_read_marks(row))
    source = f"{row.place} of {row.paper.citation or row.paper.title}."
    marked = [f"Marked: {'; '.join(mark.label for mark in marks)}."] if marks else []
    return Marked(view.title, (source, *view.notes, *row.assumes, *marked), view.columns, view.rows, view, marks)


def _draw_lines(row: PrintedRow) -> RedrawnFigure:
    """Draw forms over a name; in the plane of two names also regions, from their minimum to their maximum."""
    over, plane, (axis, *panels), log = *_read_names(row), _read_axes(row), row.texts("log")
    x = _space_points(row, "between", PLANE_POINTS if plane else LINE_POINTS, "x" in log)
    y = _space_points(row, "inside", PLANE_POINTS, "y" in log) if plane else None
    series = []
    for entry in row.read_entries("lines"):
        form = _build_form(row, entry.text("value"), entry.table("with"))
        panel = _read_panel(entry, 0, len(panels) - 1)
        series.append(Series(entry.text("label"), _evaluate_arrays(row, form, {over: x}) + 0 * x, None, panel))
    for entry in row.read_entries("regions"):
        if y is None:
            raise row.make_error(rules.ROW_FORM, "`regions` need two names in `over`", "over")
        inside = np.ones((PLANE_POINTS, len(x)), dtype=bool)
        for text in (entry.text("holds"), *row.texts("within")):
            inside &= _evaluate_relation(row, text, {over: x, plane: y[:, None]})
        low, high = (np.where(inside, y[:, None], value) for value in (np.inf, -np.inf))
        low, high = (np.where(inside.any(axis=0), ends, np.nan) for ends in (low.min(axis=0), high.max(axis=0)))
        line = np.where(low > y[0], low, np.nan)
        drawn = (line, None) if entry.inputs.get("edge") else (low, high)
        series.append(Series(entry.text("label"), drawn[0], drawn[1], _read_panel(entry, 0, len(panels) - 1)))
    columns = {over: x, **{name: values for line_series in series for name, values in line_series.columns.items()}}
    limits = None if y is None else (float(y[0]), float(y[-1]))
    return RedrawnFigure(
        row.text("title"), (), tuple(columns), _make_table(columns.values()), axis, panels, series, log, limits
    )


def _read_names(row: PrintedRow) -> tuple[str, str]:
    """Return the name over which lines are drawn, and that of the other axis of a plane, or an empty text."""
    match row.texts("over"):
        case [over]:
            return over, ""
        case [over, plane]:
            return over, plane
        case _:
            raise row.make_error(rules.ROW_FORM, "`over` takes one name, or two for a plane", "over")


def _read_axes(row: PrintedRow) -> list[str]:
    """Return the title of the common axis and those of the panels. Raises ArchlineError (AL612)."""
    titles = row.texts("axes")
    if len(titles) < 2:
        raise row.make_error(rules.ROW_FORM, "`axes` takes the title of the x axis and one for each panel", "axes")
    return titles


def _read_panel(entry: PrintedRow, first: int, last: int) -> int | None:
    """Return the number of the panel of an entry (-1: the last); None if it has none. Raises ArchlineError (AL612)."""
    panel = entry.inputs.get("panel")
    if panel is None or (isinstance(panel, int) and first <= panel <= last):
        return panel
    raise entry.make_error(rules.ROW_FORM, f"`panel` is not a number from {first} to {last}", "panel")


def _get_only_machine(row: PrintedRow) -> Machine:
    """Return the only machine of a figure. Raises ArchlineError (AL612)."""
    machines = row.machines()
    if len(machines) != 1:
        raise row.make_error(rules.ROW_FORM, "a figure needs one machine", "machines")
    return machines[0]


def _draw_ratios(row: PrintedRow) -> RedrawnFigure:
    """Draw a ratio of two energies in each case: by the printed form, as derived, and as executed for some cases."""
    executed_cases, (axis, *panels), machine = row.table("executed"), _read_axes(row), _get_only_machine(row)
    cases = {
        name: {**_collect_numbers(row), **_read_amounts(row, case)}
        for name, case in {**row.cases(), **executed_cases}.items()
    }
    pair = [
        (algorithm(entry.text("algorithm")), entry.table("at"))
        for entry in row.read_named_entries("algorithms").values()
    ]
    if len(pair) != 2:
        raise row.make_error(rules.ROW_FORM, "`algorithms` takes two tables", "algorithms")

    def find_ratio(at: Mapping[str, Fraction], measured: bool) -> Interval:
        energies = []
        for target, sizes in pair:
            point = {name: int(_evaluate_form(row, size, at)) for name, size in sizes.items()}
            cache = Cache(int(_evaluate_form(row, "Z", at)), int(_evaluate_form(row, "B", at)))
            result = energy(target, machine=machine, at=point, cache=cache, measured=measured).result
            if result.estimate is None or result.estimate.energy is None or result.estimate.energy.lower <= 0:
                raise row.make_error(rules.ROW_FORM, f"machine `{machine.name}` gives no energy", "machines")
            energies.append(result.estimate.energy)
        return Interval(energies[0].lower / energies[1].upper, energies[0].upper / energies[1].lower)

    derived = [find_ratio(at, False) for at in cases.values()]
    executed = [find_ratio(at, True).middle if name in executed_cases else np.nan for name, at in cases.items()]
    series = (
        Series("as printed", _make_array(_evaluate_form(row, row.text("ratio"), at) for at in cases.values())),
        Series("as derived", _make_array(end.lower for end in derived), _make_array(end.upper for end in derived)),
        Series("as executed", _make_array(executed)),
    )
    columns = {name: values for column_series in series for name, values in column_series.columns.items()}
    rows = tuple((name, *values) for name, values in zip(cases, _make_table(columns.values()), strict=True))
    return RedrawnFigure(row.text("title"), (), ("case", *columns), rows, axis, panels, series, ("y",))


def _read_marks(row: PrintedRow) -> Iterator[Mark]:
    """Yield the marks of the paper; in their forms `printed` is the number that the `row` of the mark prints."""
    last = max(0, len(row.texts("axes")) - 2)
    for entry in row.read_entries("marks"):
        printed = {"printed": _find_row(row, entry.text("row")).amount.value} if entry.has("row") else {}
        numbers = {**_collect_numbers(row), **printed}
        x, y = (float(_evaluate_form(row, entry.text(key), numbers)) if entry.has(key) else None for key in "xy")
        yield Mark(entry.text("label"), x, y, _read_panel(entry, -1, last) or 0)


def _collect_numbers(row: PrintedRow) -> dict[str, Fraction]:
    """Return the paper's numbers, those of the figure's machine, and those of the figure."""
    machines = {name: value for machine in row.machines() for name, value in machine.values.items()}
    return {**row.paper.numbers, **machines, **_read_amounts(row, row.table("at"))}


def _read_amounts(row: PrintedRow, texts: Mapping[str, Any]) -> dict[str, Fraction]:
    if not isinstance(texts, dict):
        raise row.make_error(rules.ROW_FORM, f"`{texts}` is not a table of numbers", "cases")
    return {name: amount.value for name, amount in row.read_amounts(texts, "at").items()}


def _find_row(row: PrintedRow, text: str) -> PrintedRow:
    """Return the first row of the paper with `text` as its name, subject or place. Raises ArchlineError (AL612)."""
    for candidate in row.paper.rows:
        if text in (candidate.inputs.get("name"), candidate.subject, candidate.place):
            return candidate
    raise row.make_error(rules.ROW_FORM, f"no row is called `{text}`", "rows")


def _build_form(row: PrintedRow, text: str, given: Mapping[str, str]) -> s.Expr:
    """Build a form, or a relation, of the figure from the printed forms of rows; of claims from their left sides."""
    rows = {name: _find_row(row, str(row_name)) for name, row_name in row.table("rows").items()}
    printed = {
        name: relation.left
        if source.kind == "claim" and isinstance(relation := source.relation, s.Binary)
        else source.expr
        for name, source in rows.items()
    }
    substitutions = {name: row.parse_form(given_text, "lines") for name, given_text in given.items()}
    return map_sides(
        row.parse_form(text, "lines"),
        lambda side: substitute_names(forms.substitute_definitions(side, printed), substitutions),
    )


def _evaluate_form(row: PrintedRow, text: str, at: Mapping[str, Fraction]) -> Fraction:
    form, values = _build_form(row, text, {}), {name: Interval.of(number) for name, number in at.items()}
    try:
        return bound_value(form, values).middle
    except (ArchlineError, EvaluationError) as problem:
        reason = problem.diagnostics[0].message if isinstance(problem, ArchlineError) else str(problem)
        raise row.make_error(rules.ROW_FORM, f"`{text}` has no value: {reason}", "at") from None


def _evaluate_arrays(row: PrintedRow, form: s.Expr, over: Mapping[str, Array]) -> Array:
    values = {**{name: float(number) for name, number in _collect_numbers(row).items()}, **over}
    if lacking := sorted(names_in(form) - set(values)):
        raise row.make_error(rules.ROW_FORM, f"`{lacking[0]}` has no value", "lines")
    return compile_formulas({"": form})(values)[""]


def _evaluate_relation(row: PrintedRow, text: str, over: Mapping[str, Array]) -> Any:
    """Return a mark for each point: whether a relation, LEFT <= RIGHT or LEFT >= RIGHT, holds there."""
    relation = _build_form(row, text, {})
    if not isinstance(relation, s.Binary) or relation.op not in ("<=", ">="):
        raise row.make_error(rules.ROW_FORM, f"`{text}` is not a relation LEFT <= RIGHT or LEFT >= RIGHT", "regions")
    left, right = (_evaluate_arrays(row, side, over) for side in (relation.left, relation.right))
    return left <= right if relation.op == "<=" else left >= right


def _space_points(row: PrintedRow, key: str, count: int, log: bool) -> Array:
    low, high = map(float, row.read_range(key))
    if log and low <= 0:
        raise row.make_error(rules.ROW_FORM, f"`{key}` begins at {low:g}, but its axis is logarithmic", key)
    return np.geomspace(low, high, count) if log else np.linspace(low, high, count)


def _make_array(values: Iterable[Fraction | float]) -> Array:
    return np.array([float(value) for value in values])


def _make_table(columns: Iterable[Array]) -> tuple[tuple[Cell, ...], ...]:
    rows = zip(*columns, strict=True)
    return tuple(tuple(None if np.isnan(value) else float(value) for value in row) for row in rows)
