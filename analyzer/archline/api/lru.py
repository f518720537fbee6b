"""Exact counts of LRU misses, as reports show them and as Python asks for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archline.analysis.cache.lru.client import SECONDS, MissingExtraError, Uncounted, lru_counts
from archline.analysis.cache.lru.distribution import LruCounts, bound
from archline.analysis.cache.lru.wire import value_at
from archline.api import rules
from archline.api.settings import Point
from archline.language import model
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.report.cost_view import CostView, LruView

MISSING = "exact LRU counts need the extra `isl`"


def counted(
    module: model.Module, node: s.Algorithm, line: int, point: Mapping[str, int], seconds: float = SECONDS
) -> LruCounts | Uncounted:
    """The stack distances of a call; sizes that the point lacks stay symbols. Raises ArchlineError (AL417)."""
    try:
        return lru_counts(module, node, {**point, "L": line}, seconds)
    except MissingExtraError:
        raise error(rules.NEEDS_EXTRA, MISSING, hint="pip install 'archline[isl]'") from None


def lru_view(module: model.Module, node: s.Algorithm, line: int, at: Point | None, seconds: float = SECONDS) -> LruView:
    """What a report shows: in sizes, or at a point. Raises ArchlineError (AL411, AL417)."""
    point = {name: int(value) for name, value in (at or {}).items() if value == int(value)}
    if point.get("L", line) != line:
        raise error(rules.OPTIONS_CLASH, f"`--lru {line}` is another L than {point['L']}")
    found = counted(module, node, line, point, seconds)
    if isinstance(found, Uncounted):
        place = None if found.span is None else f"{found.span.source.path}:{found.span.line}"
        return LruView(line, reason=found.reason, place=place)
    if at is None:
        return LruView(line, found)
    return _at(LruView(line, found, accesses=value_at(found.accesses, point)), found, point)


def _at(view: LruView, found: LruCounts, point: Mapping[str, int]) -> LruView:
    """The misses of 1, 2, 4 lines and so on, up to where all fit, and what they tell of the cache that is given."""
    distinct = value_at(found.first, point)
    lines = {1 << step for step in range(distinct.bit_length())} | {max(1, distinct)}
    capacity = point["Z"] // point["L"] if "Z" in point and "L" in point else None
    if capacity is not None:
        lines |= {capacity}
    misses = [(each, found.misses(each, point)) for each in sorted(lines)]
    known = tuple((each, count) for each, count in misses if count is not None)
    if found.misses(0, point) != view.accesses:
        return LruView(view.line, reason="the counts of isl do not add up to the number of accesses")
    if len(known) < len(misses):
        return LruView(view.line, reason="some distances are no polynomials that can be followed")
    return replace(view, misses=known, bound=None if capacity is None else bound(found, capacity, point))


def with_lru(view: CostView, lru: LruView) -> CostView:
    """A report with exact counts; the lower bound on io is the larger of both."""
    least = 0 if lru.bound is None else lru.bound.bound
    rows = tuple(replace(row, least=least) if row.metric == "io" else row for row in view.rows)
    return replace(view, rows=rows, lru=lru)
