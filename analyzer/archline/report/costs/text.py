"""The first page as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.report import lru
from archline.report.cost_view import CostView
from archline.report.costs.page import Line, Page
from archline.report.costs.page import page as page_of
from archline.report.documents import Phrase, plain
from archline.report.layout import GAP, indented, table, wrap

NARROW = 90
"""Below this width a growth and a least Z stand in lines of their own."""


def first_page(view: CostView, width: int, metrics: Sequence[str] | None = None) -> str:
    """The title, the metrics, or some of them, the regimes of io, what is known of the bounds, and how to see more."""
    page = page_of(view, metrics)
    blocks = [_head(page, width), _costs(page, width)]
    if page.least:
        blocks.append(_least(page, width))
    if page.schedules:
        blocks.append(["  io on several processors, up to constants", *_sentences(page.schedules, width - 2, 6)])
    if view.lru is not None:
        blocks.append(indented(lru.text(view, view.lru, width - 2)))
    more: Phrase = ("more: --all, --explain" if view.at is not None else "more: --all, --explain, --at",)
    blocks.append(_sentences([*page.notes, more], width - 2))
    return "\n".join("\n".join(block) + "\n" for block in blocks)


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


def _costs(page: Page, width: int) -> list[str]:
    """The table of metrics, that of the regimes, and how near the bounds are."""
    narrow = width < NARROW
    lines = indented(table([cells for each in page.metrics for cells in _metric(each, narrow)], width - 2))
    lines += indented(table([cells for each in page.regimes for cells in _regime(each, narrow)], width - 4), 4)
    return [*lines, *_sentences(page.bound, width - 4, 4)]


def _least(page: Page, width: int) -> list[str]:
    """The lower bounds below their heading."""
    cells = [row for each in page.least for row in _least_row(each, width < NARROW)]
    return [
        *_sentences([page.least_heading], width - 2),
        *indented(table(cells, width - 4), 4),
        *_sentences(page.least_notes, width - 4, 4),
    ]


def _least_row(line: Line, narrow: bool) -> Iterator[list[str]]:
    form, kind, near = map(plain, (line.form, line.status, line.growth))
    if not narrow:
        yield [line.label, form, kind, near]
        return
    yield [line.label, form, kind]
    if near:
        yield ["", near, ""]


def _sentences(found: Sequence[Phrase], width: int, by: int = 2) -> list[str]:
    return indented([line for each in found for line in wrap(plain(each), width)], by)


def _metric(line: Line, narrow: bool) -> Iterator[list[str]]:
    form, status, growth = map(plain, (line.form, line.status, line.growth))
    if not narrow:
        yield [line.label, form, status, growth]
        return
    short = len(status) <= len("unknown")
    yield [line.label, form, status if short else ""]
    yield from (["", each, ""] for each in ("" if short else status, growth) if each)


def _regime(line: Line, narrow: bool) -> Iterator[list[str]]:
    form, status = map(plain, (line.form, line.status))
    if not narrow:
        yield [line.label, form, status]
        return
    yield [line.label, form]
    yield ["", f"where {status}"]
