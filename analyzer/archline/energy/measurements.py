"""Measurements from CSV: a header with the names of the columns, a run a row, numbers in SI units."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

import numpy as np

from archline.energy import rules
from archline.energy.fitting import COLUMNS, Measurements
from archline.language.diagnostics import ArchlineError, Diagnostic, closest, error
from archline.language.source import Source, Span

PRECISION = "precision"
PRECISIONS = ("single", "double", "half")
ABOVE_ZERO = ("seconds", "joules", "work", "span")
MAX_PROBLEMS = 5


def read_measurements(path: Path, model: str) -> Measurements:
    """The measurements of a file. Raises ArchlineError (AL467), with the place of each mistake."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise error(rules.MEASUREMENTS, f"`{path}` cannot be read: {reason}", path=str(path)) from None
    source = Source(str(path), text.replace("\r\n", "\n"))
    rows = [
        (number, [each.strip() for each in next(csv.reader([line]))])
        for number, line in enumerate(source.lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if len(rows) < 2:
        raise error(rules.MEASUREMENTS, f"`{path}` has no measurements", path=str(path), hint=_form(model))
    line, header = rows[0]
    names = [each.lower() for each in header]
    missing = [each for each in COLUMNS[model] if each not in names]
    twice = next((each for each in (*COLUMNS[model], PRECISION) if names.count(each) > 1), None)
    if twice is not None:
        span = Span(source, line, 1, line, len(source.lines[line - 1]) + 1)
        raise error(rules.MEASUREMENTS, f"there are several columns `{twice}`", span=span)
    if missing:
        near = closest(missing[0], [each for each in names if each not in COLUMNS[model]])
        hint = f"is `{near}` it? rename it" if near else _form(model)
        if len(names) == 1 and re.search(r"[;\t|]", names[0]):
            hint = "separate the entries with commas"
        span = Span(source, line, 1, line, len(source.lines[line - 1]) + 1)
        raise error(rules.MEASUREMENTS, f"there is no column `{missing[0]}`", span=span, hint=hint)
    problems: list[Diagnostic] = []
    values: dict[str, list[float]] = {each: [] for each in COLUMNS[model]}
    precision: list[str] = []
    for line, cells in rows[1:]:
        if len(cells) != len(names):
            message = f"{len(cells)} entries where the header has {len(names)}"
            problems.append(Diagnostic(rules.MEASUREMENTS, message, Span(source, line, 1, line, 2)))
            continue
        for name, cell in zip(names, cells, strict=True):
            message = ""
            if name in values:
                number = _number(cell)
                message = number if isinstance(number, str) else _wrong(name, number)
                values[name].append(0.0 if isinstance(number, str) else number)
            elif name == PRECISION and cell not in PRECISIONS:
                message = f"`{cell[:40]}` is no precision: {', '.join(PRECISIONS)}"
            if message:
                problems.append(Diagnostic(rules.MEASUREMENTS, message, _cell(source, line, cell)))
        if PRECISION in names:
            precision.append(cells[names.index(PRECISION)])
    if problems:
        raise ArchlineError(problems[:MAX_PROBLEMS])
    return Measurements({name: np.array(each) for name, each in values.items()}, tuple(precision), path.name)


def measured(columns: Mapping[str, Sequence[float] | Sequence[str]], model: str) -> Measurements:
    """Measurements from Python: a sequence a column. Raises ArchlineError (AL467)."""
    missing = [each for each in COLUMNS[model] if each not in columns]
    if missing:
        raise error(rules.MEASUREMENTS, f"there is no column `{missing[0]}`", hint=_form(model))
    arrays = {name: np.asarray(columns[name], dtype=np.float64) for name in COLUMNS[model]}
    precision = tuple(map(str, columns.get(PRECISION, ())))
    lengths = {len(each) for each in arrays.values()} | ({len(precision)} if precision else set())
    if len(lengths) > 1:
        raise error(rules.MEASUREMENTS, "the columns differ in length")
    for name, column in arrays.items():
        for number in column:
            if message := _wrong(name, float(number)):
                raise error(rules.MEASUREMENTS, message)
    return Measurements(arrays, precision, "measurements")


def _form(model: str) -> str:
    return f"the columns are {', '.join(COLUMNS[model])}" + (
        ", and if you like precision" if model == "roofline" else ""
    )


def _number(cell: str) -> float | str:
    try:
        return float(cell)
    except ValueError:
        return f"`{cell[:40]}` is not a number"


def _wrong(name: str, number: float) -> str:
    """What is wrong with a value of a column; empty for nothing."""
    if not isfinite(number):
        return f"`{name}` is not finite"
    if number < 0 or (number == 0 and name in ABOVE_ZERO):
        return f"`{name}` is {number:g}, which no run has"
    return ""


def _cell(source: Source, line: int, cell: str) -> Span:
    column = max(source.lines[line - 1].find(cell), 0) + 1
    return Span(source, line, column, line, column + max(len(cell), 1))
