"""The first page of costs."""

from __future__ import annotations

from collections.abc import Sequence

from archline.report.cost_view import CostView
from archline.report.costs.page import page as page_of
from archline.report.documents.model import Document, Formula, Phrase, Table


def document(view: CostView, metrics: Sequence[str] | None = None) -> Document:
    """A table of metrics, one of the regimes of io, and what is known of the bounds below them."""
    page = page_of(view, metrics)
    rows: list[tuple[Phrase, ...]] = [((each.label,), each.form, each.status, each.growth) for each in page.metrics]
    tables = [Table(("metric", "cost", "status", "growth"), tuple(rows))]
    if page.regimes:
        regimes: list[tuple[Phrase, ...]] = [((each.label,), each.form, each.status) for each in page.regimes]
        tables.append(Table(("in the cache", "io at most", "where"), tuple(regimes)))
    if page.least:
        least: list[tuple[Phrase, ...]] = [((each.label,), each.form, each.status, each.growth) for each in page.least]
        tables.append(Table(("lower bound on", "at least", "kind", "derived"), tuple(least)))
    schedules = [("io on several processors, up to constants, ", *each) for each in page.schedules]
    heading = (page.least_heading, *page.least_notes) if page.least else ()
    lru = () if view.lru is None else (("misses of LRU caches: see ", Formula("--format json")),)
    return Document(
        page.title, page.doc, page.place, tuple(tables), (*page.bound, *heading, *schedules, *lru, *page.notes)
    )
