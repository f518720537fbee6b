"""The first page as HTML, for notebooks."""

from __future__ import annotations

from html import escape

from archline.report.costs.page import Line
from archline.report.costs.page import page as page_of
from archline.report.view import CostView


def first_page(view: CostView, metric: str | None = None) -> str:
    """A table of metrics and of the regimes of io, and sentences below it."""
    page = page_of(view, metric)
    rows = "".join(map(_row, (*page.metrics, *page.regimes)))
    head = "<tr><th>metric</th><th>cost</th><th>status</th><th>growth</th></tr>"
    below = "".join(f"<p>{escape(each)}</p>" for each in (*page.bound, *page.notes))
    return f"<table><caption>{escape(page.title)}</caption>{head}{rows}</table>{below}"


def _row(line: Line) -> str:
    cells = (escape(line.label), f"<code>{escape(line.form)}</code>", escape(line.status), escape(line.growth))
    return f"<tr>{''.join(f'<td>{each}</td>' for each in cells)}</tr>"
