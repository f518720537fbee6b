"""Derived costs as Markdown: a table for a README or a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from archline.algebra.polynomial import Poly
from archline.report import communication
from archline.report.cost_view import CostView, Row
from archline.report.numbers import point_text, readable


def costs(view: CostView) -> str:
    """The costs of an algorithm as a heading and a table."""
    at = [f"at {point_text(view.at)}"] if view.at is not None else []
    head = ["metric", "status", "lower", "upper", *at]
    lines = [f"### `{view.algorithm}`", ""]
    if view.doc:
        lines += [_cell(view.doc), ""]
    lines += [_line(head), _line(["---"] * len(head))]
    lines += [_line(cells) for row in view.rows for cells in _rows(view, row)]
    notes = [f"- {_cell(each)}" for each in communication.sentences(view)]
    notes += [f"- assuming `{each}`" for each in view.assumptions]
    notes += [f"- {each.outcome}: `{each.text}`" for each in view.contracts]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def _rows(view: CostView, row: Row) -> Iterator[list[str]]:
    """A metric, and beneath it what bounds it where conditions hold."""
    cases = list(row.cases)
    bounds = [_cell(row.why or "unknown"), ""]
    if cases:
        when, *ends = cases[0]
        bounds = ["", ""] if when else [_form(view, each) for each in ends]
    yield [row.metric, row.status, *bounds, *_value(view, row)]
    for when, *ends in (case for case in cases if case[0]):
        where = when if when == "otherwise" else f"where `{_cell(when)}`"
        yield ["", where, *(_form(view, each) for each in ends), *([""] if view.at is not None else [])]


def _form(view: CostView, bound: Poly | None) -> str:
    return "" if bound is None else f"`{view.text(bound)}`"


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _value(view: CostView, row: Row) -> list[str]:
    if view.at is None:
        return []
    if row.values is None:
        return ["unknown"]
    lower, upper = readable(row.values.lower), readable(row.values.upper)
    return [lower if lower == upper else f"{lower} to {upper}"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
