"""Render exact counts of LRU misses: the distribution of stack distances, or misses at sizes by number of lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archline.algebra.polynomial import Poly
from archline.analysis.cache.lru.distribution import Condition, CountPiece, LruCounts, PiecewiseCount
from archline.expr import build as b
from archline.expr.text import Formula, join_phrases, join_with_mark
from archline.report.cost_view import CostView, LruView
from archline.report.documents import Item, Table


def iterate_page_items(view: CostView, lru: LruView) -> Iterator[Item]:
    """Yield the misses by number of lines if the view has a point, else the accesses by reuse distance."""
    if lru.counts is None:
        place = f" ({lru.place})" if lru.place else ""
        yield f"LRU in {_format_line_length(lru.line)} is unknown: {lru.reason}{place}"
    elif lru.misses is None:
        yield from _iterate_distribution_items(view, lru.counts)
    else:
        yield f"LRU in {_format_line_length(lru.line)}: {lru.accesses} accesses"
        rows = tuple((str(lines), str(misses)) for lines, misses in lru.misses)
        yield Table(("lines", "misses"), rows, right=(0, 1))
        if lru.bound is not None:
            yield f"so {describe_bound_origin(lru)}"


def _format_line_length(line: int) -> str:
    return f"lines of {line} word{'' if line == 1 else 's'}"


def describe_bound_origin(lru: LruView) -> str:
    """Return the bound on io that follows from the misses of LRU, and its source."""
    assert lru.bound is not None
    bound = lru.bound
    return f"io >= {bound.bound}, as LRU fetches {bound.misses} into {bound.lines} lines (Sleator and Tarjan, 1985)"


def _iterate_distribution_items(view: CostView, counts: LruCounts) -> Iterator[Item]:
    yield (
        f"LRU in {_format_line_length(counts.line)}: accesses by reuse distance, the number of distinct lines since "
        "the last access to the line, inclusive; an access misses if its distance exceeds the cache's number of lines"
    )
    rows: list[tuple[str, ...]] = []
    for distance, pieces in _iterate_distances(view, counts):
        for piece in pieces:
            when = format_condition(view, piece)
            rows.append((distance, join_phrases(view.text(piece.value), *((" where ", when) if when else ()))))
            distance = ""
    yield Table(("distance", "accesses"), tuple(rows))


def _iterate_distances(view: CostView, counts: LruCounts) -> Iterator[tuple[str, PiecewiseCount]]:
    yield "all", counts.accesses
    yield "first", counts.first
    for row in sorted(counts.settled, key=lambda row: _order_key(view, row.distance)):
        yield view.text(row.distance), row.count
    for range_ in counts.ranged:
        reach = "T" if range_.scale == 1 else f"T/{range_.scale}"
        yield f">= {view.text(range_.least)} + {reach}", range_.count
    for row in counts.open:
        yield f"by iteration: {view.text(row.distance)}", row.count


def _order_key(view: CostView, value: Poly) -> tuple[int, str]:
    """Return the key by which distances are sorted: constants below 2 first, then by the number of terms."""
    return (0, "") if value.is_constant and value.constant_term < 2 else (len(value.terms), view.text(value))


def format_condition(view: CostView, piece: CountPiece) -> str:
    """Return the condition of a piece; "" for everywhere."""
    if not all(piece.cases):
        return ""
    return join_with_mark(
        (join_with_mark((_make_relation(view, relation) for relation in case), " and ") for case in piece.cases), " or "
    )


def _make_relation(view: CostView, comparison: Condition) -> Formula:
    """Return the condition value >= 0, or = 0, as a formula with negative terms on the other side."""
    right = Poly({monomial: -factor for monomial, factor in comparison.value.terms.items() if factor < 0})
    left = comparison.value + right
    if not left or (left.is_constant and not right.is_constant):
        return Formula(b.binary("=" if comparison.equal else "<=", view.tree(right), view.tree(left)))
    return Formula(b.binary("=" if comparison.equal else ">=", view.tree(left), view.tree(right)))


def make_json_document(view: CostView, lru: LruView) -> dict[str, Any]:
    """Return the JSON document of the counts."""
    result: dict[str, Any] = {"line": lru.line}
    if lru.counts is None:
        return {**result, "status": "unknown", "reason": lru.reason, "place": lru.place}
    result["status"] = "exact"
    if lru.misses is None:
        result["distances"] = [
            {
                "distance": distance,
                "accesses": [
                    {"when": format_condition(view, piece), "count": view.text(piece.value)} for piece in pieces
                ],
            }
            for distance, pieces in _iterate_distances(view, lru.counts)
        ]
        return result
    result["accesses"] = str(lru.accesses)
    result["misses"] = [{"lines": str(lines), "misses": str(misses)} for lines, misses in lru.misses]
    if lru.bound is not None:
        result["bound"] = {"io": str(lru.bound.bound), "lines": str(lru.bound.lines), "misses": str(lru.bound.misses)}
    return result
