"""Derived costs as Markdown: a table for a README or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from archline.report import lower_bounds
from archline.report.numbers import point_text, readable
from archline.report.view import CostView, Row


def costs(view: CostView) -> str:
    """The costs of an algorithm as a heading and a table."""
    at = [f"at {point_text(view.at)}"] if view.at is not None else []
    head = ["metric", "status", "lower", "upper", *at]
    lines = [f"### `{view.algorithm}`", ""]
    if view.doc:
        lines += [_cell(view.doc), ""]
    lines += [_line(head), _line(["---"] * len(head))]
    lines += [_line(cells) for row in view.rows for cells in _rows(view, row)]
    notes = [f"- {_cell(each)}" for each in lower_bounds.sentences(view)]
    notes += [f"- assuming `{each}`" for each in view.assumptions]
    notes += [f"- {each.outcome}: `{each.text}`" for each in view.contracts]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def _rows(view: CostView, row: Row) -> Iterator[list[str]]:
    """A metric, and beneath it what bounds it where conditions hold."""
    several = row.regimes or row.alternatives
    bounds = _bounds(view, row)
    if several and row.upper is not None:
        bounds = ["", ""] if row.regimes else [bounds[0], ""]
    yield [row.metric, row.status, *bounds, *_value(view, row)]
    for each in several if row.upper is not None else ():
        lower = f"`{view.text(each.lower)}`" if row.regimes else ""
        where = each.when if each.when == "otherwise" else f"where `{_cell(each.when)}`"
        yield ["", where, lower, f"`{view.text(each.upper)}`", *([""] if view.at is not None else [])]


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _bounds(view: CostView, row: Row) -> list[str]:
    if row.lower is None or row.upper is None:
        return [_cell(row.reason or "unknown"), ""]
    return [f"`{view.text(row.lower)}`", f"`{view.text(row.upper)}`"]


def _value(view: CostView, row: Row) -> list[str]:
    if view.at is None:
        return []
    if row.values is None:
        return ["unknown"]
    lower, upper = readable(row.values.lower), readable(row.values.upper)
    return [lower if lower == upper else f"{lower} to {upper}"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
