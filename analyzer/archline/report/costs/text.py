"""The first page as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from archline.report import io, lru
from archline.report.costs.page import Line
from archline.report.costs.page import page as page_of
from archline.report.layout import indented, table, wrap
from archline.report.view import CostView

NARROW = 90
"""Below this width a growth and a least Z stand in lines of their own."""


def first_page(view: CostView, width: int, metric: str | None = None) -> str:
    """The title, the metrics, or one of them, the regimes of io, what is known of the bounds, and how to see more."""
    page = page_of(view, metric)
    head = f"{page.title.ljust(14)}  {page.doc}" if page.doc and view.at is None else page.title
    blocks = [wrap(head, width), _costs(page.metrics, page.regimes, page.bound, width)]
    if view.schedules:
        blocks.append(["  io on several processors, up to constants", *io.schedules(view.schedules, width - 2)])
    if view.lru is not None:
        blocks.append(indented(lru.text(view, view.lru, width - 2)))
    notes = [*page.notes, "more: --all, --explain" if view.at is not None else "more: --all, --explain, --at"]
    if any("~" in each.form + each.status for each in (*page.metrics, *page.regimes)):
        notes.append("~: leading terms as all sizes grow, for L >= 2")
    blocks.append(indented([line for each in notes for line in wrap(each, width - 2)]))
    return "\n".join("\n".join(block) + "\n" for block in blocks)


def _costs(metrics: tuple[Line, ...], regimes: tuple[Line, ...], bound: tuple[str, ...], width: int) -> list[str]:
    """The table of metrics, that of the regimes, and how near the bounds are."""
    narrow = width < NARROW
    lines = indented(table([cells for each in metrics for cells in _metric(each, narrow)], width - 2))
    lines += indented(table([cells for each in regimes for cells in _regime(each, narrow)], width - 4), 4)
    return [*lines, *indented([line for each in bound for line in wrap(each, width - 4)], 4)]


def _metric(line: Line, narrow: bool) -> Iterator[list[str]]:
    if not narrow:
        yield [line.label, line.form, line.status, line.growth]
        return
    short = len(line.status) <= len("unknown")
    yield [line.label, line.form, line.status if short else ""]
    yield from (["", each, ""] for each in ("" if short else line.status, line.growth) if each)


def _regime(line: Line, narrow: bool) -> Iterator[list[str]]:
    if not narrow:
        yield [line.label, line.form, line.status]
        return
    yield [line.label, line.form]
    yield ["", f"where {line.status}"]
