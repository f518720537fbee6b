"""The first page as plain text."""

from __future__ import annotations

from archline.report.costs.page import page as page_of
from archline.report.layout import indented, table, wrap
from archline.report.view import CostView


def first_page(view: CostView, width: int, metric: str | None = None) -> str:
    """The title, the metrics, or one of them, the regimes of io, what is known of the bounds, and how to see more."""
    page = page_of(view, metric)
    head = f"{page.title.ljust(14)}  {page.doc}" if page.doc and view.at is None else page.title
    cells = [[each.label, each.form, each.status, each.growth] for each in page.metrics]
    lines = [*wrap(head, width), "", *indented(table(cells, width - 2))]
    lines += indented(table([[each.label, each.form, each.status] for each in page.regimes], width - 4), 4)
    for each in page.bound:
        lines += indented(wrap(each, width - 4), 4)
    notes = [*page.notes, "more: --all, --explain" if view.at is not None else "more: --all, --explain, --at"]
    if any("~" in each.form + each.status for each in (*page.metrics, *page.regimes)):
        notes.append("~: leading terms as all sizes grow, for L >= 2")
    return "\n".join([*lines, "", *indented([line for each in notes for line in wrap(each, width - 2)])]) + "\n"
