"""The costs of an algorithm in full, with all regimes and lower bounds: a page, and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from archline.algebra.polynomial import ZERO
from archline.analysis.cost import FEW_LINES, ReachedRegion, TouchedRegion
from archline.claims.optimality import OptimalityResult
from archline.claims.published import Published
from archline.costs.communication import replication_note
from archline.expr.text import join_phrases, join_with_mark
from archline.numbers import exact, point_text, readable
from archline.report import communication, derivation, lru
from archline.report.communication import document as bounds_document
from archline.report.cost_view import CostRow, CostView, relations
from archline.report.costs.page import on_several, warning_notes
from archline.report.documents import Document, Section, Table
from archline.report.findings import contracts
from archline.report.json import VERSION, contract, pick, point, to_json_value
from archline.report.lru import document as lru_document
from archline.report.view import Number, ValueRange


def document(view: CostView) -> Document:
    """The table of an algorithm's derived costs, its values at the point, its assumptions and contracts."""
    known, trusted = view.communication, sorted({name for row in view.rows for name in row.declared})
    assumed = ", the default cache" if view.cache_assumed else ""
    near = [factor for row in view.rows for factor in derivation.gap_lines(row)]
    claims = Table(("outcome", "claim"), tuple(map(tuple, contracts(view.contracts))), headed=False)
    return Document(
        view.algorithm,
        view.doc or "",
        "",
        (
            (Table(("metric", "status", "", "cost"), tuple(_costs(view))),),
            () if view.at is None else (f"at {point_text(view.at)}{assumed}", _values(view), *near),
            tuple(communication.items(known)) if known is not None and known.bounds else (),
            () if view.replicated is None else (replication_note(view.replicated, known is not None),),
            on_several(view),
            tuple(warning_notes(view)),
            () if view.lru is None else tuple(lru.items(view, view.lru)),
            (Section("assuming", view.assumptions),) if view.assumptions else (),
            (f"uses declared costs: {', '.join(trusted)}",) if trusted else (),
            (Section("ensures", (claims,)),) if view.contracts else (),
        ),
    )


def _costs(view: CostView) -> Iterator[tuple[str, ...]]:
    for row in view.rows:
        yield from _bounds(view, row, row.metric)
        if row.growth is not None:
            yield "", "growth", "", join_with_mark(filter(None, (row.growth, row.open)), ", ")
        if row.attained is not None:
            yield from (("", name, "", factor) for name, factor in derivation.attained(row.attained))
        # The kinds say nothing new of a total that is nothing, unknown, or all of one kind.
        if row.metric == "flops" and len(view.kinds) > 1 and row.lower is not None:
            for kind in view.kinds:
                yield from _bounds(view, kind, f"  {kind.metric}")


def _bounds(view: CostView, row: CostRow, name: str) -> Iterator[tuple[str, ...]]:
    if row.lower is None or row.upper is None:
        place = f" ({row.place})" if row.place else ""
        yield name, row.status, "?", f"{row.why}{place}"
    status: str = row.status
    for where, lower, upper in row.cases:
        if where.when:
            yield name, row.status if lower is not None else "", "", join_phrases(where.label, ":")
            name = status = ""
        for relation, value in relations(lower, upper):
            yield name, status, relation, view.restrict_to(where).text(value)
            name = status = ""
        for bound in row.by_loop if upper is None else ():
            yield "", "", "", f"by {bound.by}:"
            yield "", "", ">=", view.text(bound.value)


def _values(view: CostView) -> Table:
    single = all(row.values is None or row.values.lower == row.values.upper for row in view.rows)
    rows = []
    for row in view.rows:
        shown = _value_cells(row.values, row.why)
        rows.append((row.metric, *(shown[:1] if single else shown)))
    right = (1, 2) if all(row.values is not None for row in view.rows) else ()
    return Table(("metric", "value") if single else ("metric", "lower", "upper"), tuple(rows), right=right)


def _value_cells(values: ValueRange | None, reason: str | None) -> tuple[str, str]:
    if values is None:
        return reason or "unknown", ""
    return readable(values.lower), readable(values.upper)


def as_document(view: CostView) -> dict[str, Any]:
    """`archline cost`."""
    document = {"version": VERSION, **pick(view, "algorithm", "parameters", "symbols", "assumptions")}
    if view.warnings:
        document["warnings"] = [pick(warning, "code", "message", "path", "line") for warning in view.warnings]
    if view.at is not None:
        document["at"] = point(view.at)
        document["cache_assumed"] = view.cache_assumed
    if view.on_grid:
        document["replicated_input"] = point(view.replicated)
    if view.communication is not None:
        document["communication_bounds"] = bounds_document(view.communication)
    document["costs"] = {row.metric: _cost(view, row) for row in view.rows}
    document["flops_by_kind"] = {row.metric: _cost(view, row) for row in view.kinds}
    document["ensures"] = list(map(contract, view.contracts))
    if view.schedules:
        document["schedules"] = [pick(each, "schedule=name", "bound", "source") for each in view.schedules]
    if view.lru is not None:
        document["lru"] = lru_document(view, view.lru)
    found: dict[str, Any] = to_json_value(document, view.text)
    return found


def _cost(view: CostView, row: CostRow) -> dict[str, Any]:
    cost = {
        **pick(row, "status", "lower", "upper", "growth"),
        "regimes": [
            *(to_json_value(pick(x, "when", "lower", "upper"), view.restrict_to(x.where).text) for x in row.by_case),
            *({"when": x.where.when, "lower": row.lower or ZERO, "upper": x.value} for x in row.by_cache),
        ],
        "lowers": [{"by": bound.by, "lower": bound.value} for bound in row.by_loop],
        **pick(row, "reason=why", "place", "declared"),
    }
    if view.at is not None:
        cost["value"] = row.values
    if row.attained is not None:
        cost["any_order"] = _any_order(row, row.attained)
    if row.published is not None:
        cost["published"] = _published(row.published)
    reached = () if row.reached is None else row.reached()
    if reached:
        cost["reached"] = [_reached(each) for each in reached]
    if row.touched:
        cost["touched"] = [_in_full(view, each) for each in row.touched]
    return cost


def _in_full(view: CostView, found: TouchedRegion) -> dict[str, Any]:
    """What each call touches in full, half open."""
    box = [{"from": low, "to": high + 1} for low, high in found.box]
    sides = {half: found.half == half for half in ("lower", "upper")}
    return {"array": found.array, "box": box, "when": view.large(found), **sides}


def _reached(found: ReachedRegion) -> dict[str, Any]:
    """What calls by indices work on, half open, and their io at most where few lines fit."""
    arrays = {array: [{"from": low, "to": high + 1} for low, high in box] for array, box in found.parts}
    return {"algorithm": found.algorithm, "arrays": arrays, "lines": FEW_LINES, "upper": found.most}


def _published(found: Published) -> dict[str, Any]:
    """Lower bounds of the literature, for lines of one word."""
    bounds = [pick(each, "by", "source", "bound=text", "growth=relation", "times") for each in found.bounds]
    return {"kernel": found.kernel, "bounds": bounds, "because": found.because}


def _any_order(row: CostRow, attained: OptimalityResult) -> dict[str, Any]:
    """How close the bounds are to the lower bound over all schedules, and to each other."""
    regimes = [pick(each, "when", "factor", "reason") for each in attained.regimes]
    found = {**pick(attained, "omega=floors", "under"), "regimes": regimes}
    if row.any_order is not None and row.values is not None:
        found["value"] = exact(row.any_order)
        found["factor"] = _ratio(row.values.upper, row.any_order)
        found["factor_between_bounds"] = _ratio(row.values.upper, row.values.lower)
    return found


def _ratio(upper: Number, lower: Number) -> str | None:
    return exact(Fraction(upper) / Fraction(lower)) if lower else None
