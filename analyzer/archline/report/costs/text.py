"""The first page as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from archline.report import lru
from archline.report.cost_view import CostView
from archline.report.costs.page import Page, PageRow
from archline.report.costs.page import page as page_of
from archline.report.documents import plain
from archline.report.layout import GAP, Columns, Inside, page, wrap

NARROW = 90
"""Below this width a growth and a least Z stand in lines of their own."""


def first_page(view: CostView, width: int, metrics: Sequence[str] | None = None) -> str:
    """The title, the metrics, or some of them, the regimes of io, what is known of the bounds, and how to see more."""
    found, narrow = page_of(view, metrics), width < NARROW
    metrics_ = [cells for each in found.metrics for cells in _cells(each, narrow, len("unknown"))]
    regimes = [cells for each in found.regimes for cells in _regime(each, narrow)]
    least = [cells for each in found.least for cells in _cells(each, narrow, inf)]
    schedules = Inside([Inside(map(plain, found.schedules))])
    return page(
        width,
        [_head(found, width)],
        [Columns(metrics_), Inside([Columns(regimes), *map(plain, found.bound)])],
        [plain(found.least_heading), Inside([Columns(least), *map(plain, found.least_notes)])] if least else [],
        ["io on several processors, up to constants", schedules] if found.schedules else [],
        [] if view.lru is None else [lru.text(view, view.lru, width - 2)],
        [*map(plain, found.notes), f"more: --all, --explain{'' if view.at is not None else ', --at'}"],
    )


def _head(page: Page, width: int) -> list[str]:
    """The title and what the algorithm does, and at the right where it is, on the first line or on one of its own."""
    if not page.place:
        return wrap(page.title, width)
    title = f"{page.title.ljust(14)}  " if page.doc else page.title
    room = width - GAP - len(page.place)
    own = room < width // 2 or len(title) > width // 2
    first, *rest = wrap(title.replace(" ", "\0") + page.doc, width if own else room)
    first = first.replace("\0", " ")
    return [first, *rest, page.place.rjust(width)] if own else [f"{first.ljust(room)}{' ' * GAP}{page.place}", *rest]


def _cells(line: PageRow, narrow: bool, most: float) -> Iterator[list[str]]:
    """A row of a metric or of a lower bound; on a narrow page the growth, and a status above `most` letters, below."""
    form, status, growth = map(plain, (line.form, line.status, line.growth))
    if not narrow:
        yield [line.label, form, status, growth]
        return
    short = len(status) <= most
    yield [line.label, form, status if short else ""]
    yield from (["", each, ""] for each in ("" if short else status, growth) if each)


def _regime(line: PageRow, narrow: bool) -> Iterator[list[str]]:
    form, status = plain(line.form), plain(line.status)
    yield from ([line.label, form], ["", f"where {status}"]) if narrow else ([line.label, form, status],)
