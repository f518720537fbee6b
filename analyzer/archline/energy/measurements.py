"""Read the measurements of a fit: columns given in Python, or a CSV file with a header and one row per run."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from archline.energy import rules
from archline.energy.fitting import COLUMNS, Measurements
from archline.expr.tree import Source, Span
from archline.language.diagnostics import ArchlineError, Diagnostic, error, find_closest

PRECISION = "precision"
PRECISIONS = ("single", "double", "half")
ABOVE_ZERO = ("seconds", "joules", "work", "span")
LARGEST = 1e30
"""The maximum of a number, so that sums of squares do not overflow; a number above 0 is at least its reciprocal."""
NUMBERS = "write numbers as 1.5e9, without units, thousands separators and decimal commas"
MAX_PROBLEMS = 5
HEADER = -1
"""The index of the header among runs."""


def read_measurements(path: Path, model: str) -> Measurements:
    """Return the measurements of a file. Raises ArchlineError (AL467), with the place of each mistake."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise error(rules.MEASUREMENTS, f"`{path}` cannot be read: {reason}", path=str(path)) from None
    source = Source(str(path), text)
    numbered = enumerate(source.lines, 1)
    lines = [(number, line) for number, line in numbered if line.strip() and not line.lstrip().startswith("#")]
    if len(lines) < 2:
        raise error(rules.MEASUREMENTS, f"`{path}` has no measurements", path=str(path), hint=_describe_columns(model))
    separator = max(",;\t", key=lines[0][1].count)
    header, *rows = ([cell.strip() for cell in next(csv.reader([line], delimiter=separator))] for _, line in lines)
    names = [name.lower() if name.lower() in (*COLUMNS[model], PRECISION) else name for name in header]

    def place(run: int, name: str = "") -> Span:
        number, line = lines[run + 1]
        start = after = 0
        for cell in rows[run][: names.index(name) + 1] if name else ():
            start = max(line.find(cell, after), after)
            after = start + len(cell) + 1
        return Span(source, number, start + 1, number, after or len(line) + 1)

    if twice := [name for name in (*COLUMNS[model], PRECISION) if names.count(name) > 1]:
        raise error(rules.MEASUREMENTS, f"there are several columns `{twice[0]}`", span=place(HEADER))
    _report_problems(
        (f"{len(cells)} entries where the header has {len(names)}", place(run), "")
        for run, cells in enumerate(rows)
        if len(cells) != len(names)
    )
    return collect_measurements(dict(zip(names, zip(*rows, strict=True), strict=True)), model, path.name, place)


def collect_measurements(
    columns: Mapping[str, Sequence[Any]],
    model: str,
    source: str = "measurements",
    place: Callable[..., Span | None] = lambda run, name="": None,
) -> Measurements:
    """Return the measurements in columns, each a sequence of numbers or of their texts. Raises ArchlineError (AL467).

    Of equal runs only one is kept, since copies would make the errors look smaller than they are. `place` gives the
    span of a run, or of an entry of it, in the file.
    """
    for name in (column for column in COLUMNS[model] if column not in columns):
        similar = find_closest(name, [column for column in columns if column not in COLUMNS[model]])
        hint = (
            f"if it is `{similar}`, rename that column, with its numbers in SI units"
            if similar
            else _describe_columns(model)
        )
        raise error(rules.MEASUREMENTS, f"there is no column `{name}`", span=place(HEADER), hint=hint)
    names = [*COLUMNS[model], *([PRECISION] if model == "roofline" and PRECISION in columns else [])]
    if len({len(columns[name]) for name in names}) > 1:
        raise error(rules.MEASUREMENTS, "the columns differ in length")
    rows = list(zip(*(columns[name] for name in names), strict=True))
    _report_problems(
        (mistake, place(run, name), f"{name}[{run}]")
        for run, cells in enumerate(rows)
        for name, cell in zip(names, cells, strict=True)
        if (mistake := _describe_mistake(name, cell))
    )
    if not rows:
        raise error(rules.MEASUREMENTS, f"`{source}` has no measurements", hint=_describe_columns(model))
    distinct = dict.fromkeys((*map(float, row[:4]), *(str(cell).lower() for cell in row[4:])) for row in rows)
    values = list(zip(*distinct, strict=True))
    arrays = {name: np.array(column) for name, column in zip(COLUMNS[model], values, strict=False)}
    return Measurements(arrays, values[4] if len(values) > 4 else (), source, len(rows) - len(distinct))


def _describe_columns(model: str) -> str:
    optional = ", and optionally precision" if model == "roofline" else ""
    return f"the columns are {', '.join(COLUMNS[model])}{optional}, in SI units"


def _report_problems(problems: Iterable[tuple[str, Span | None, str]]) -> None:
    """Raise ArchlineError (AL467) with the first problems, each a message with its place, if there are any."""
    diagnostics = [Diagnostic(rules.MEASUREMENTS, *problem, hint=NUMBERS) for problem in islice(problems, MAX_PROBLEMS)]
    if diagnostics:
        raise ArchlineError(diagnostics)


def _describe_mistake(name: str, cell: Any) -> str:
    """Describe the mistake in an entry of a column; empty if there is none."""
    if name == PRECISION:
        valid = str(cell).lower() in PRECISIONS
        return "" if valid else f"`{str(cell)[:40]}` is not a precision: {', '.join(PRECISIONS)}"
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return f"`{str(cell)[:40]}` is not a number" if cell != "" else f"`{name}` is empty"
    if not isfinite(number):
        return f"`{name}` is not finite"
    possible = 1 / LARGEST <= number <= LARGEST or (number == 0 and name not in ABOVE_ZERO)
    return "" if possible else f"`{name}` is {number:g}, which no run has"
