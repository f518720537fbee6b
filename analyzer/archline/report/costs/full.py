"""Render the costs of an algorithm in full, with all regimes and lower bounds, as a page and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from archline.algebra.polynomial import ZERO
from archline.analysis.bounds import Bound
from archline.analysis.cost import FEW_LINES, ReachedRegion, TouchedRegion
from archline.claims.optimality import OptimalityResult
from archline.claims.published import PublishedComparison
from archline.costs.communication import describe_replication
from archline.expr.intervals import Number
from archline.expr.text import join_phrases, join_with_mark
from archline.ir.amounts import Amount, UnknownAmount
from archline.numbers import format_exact, format_point, format_readable
from archline.report import communication, derivation, lru
from archline.report.communication import make_json_document as bounds_document
from archline.report.cost_view import CostRow, CostView, iterate_bound_relations
from archline.report.costs.page import iterate_warning_notes, list_schedule_sections
from archline.report.documents import Document, Section, Table
from archline.report.findings import list_contract_rows
from archline.report.json import (
    COSTS_VERSION,
    make_contract_document,
    make_iterations_document,
    make_point_document,
    pick,
    to_json_value,
)
from archline.report.lru import make_json_document as lru_document
from archline.report.view import ValueRange


def make_page(view: CostView) -> Document:
    """Return the page of all costs in full, with values at the point, lower bounds, assumptions and contracts."""
    lower_bounds, trusted = view.communication, sorted({name for row in view.rows for name in row.declared})
    assumed = ", the default cache" if view.cache_assumed else ""
    near = [factor for row in view.rows for factor in derivation.iterate_gap_sentences(row)]
    claims = Table(("outcome", "claim"), tuple(map(tuple, list_contract_rows(view.contracts))), headed=False)
    return Document(
        view.algorithm,
        view.doc or "",
        "",
        (
            (Table(("metric", "status", "", "cost"), tuple(_iterate_cost_rows(view))),),
            () if view.at is None else (f"at {format_point(view.at)}{assumed}", _make_value_table(view), *near),
            tuple(communication.iterate_page_items(lower_bounds))
            if lower_bounds is not None and lower_bounds.bounds
            else (),
            () if view.replicated is None else (describe_replication(view.replicated, lower_bounds is not None),),
            list_schedule_sections(view),
            tuple(iterate_warning_notes(view)),
            () if view.lru is None else tuple(lru.iterate_page_items(view, view.lru)),
            tuple(f"{counted.name}: {counted.explained}" for counted in view.iterations),
            view.meanings,
            (Section("assuming", view.assumptions),) if view.assumptions else (),
            (f"uses declared costs: {', '.join(trusted)}",) if trusted else (),
            (Section("ensures", (claims,)),) if view.contracts else (),
        ),
    )


def _iterate_cost_rows(view: CostView) -> Iterator[tuple[str, ...]]:
    for row in view.rows:
        yield from _iterate_bound_rows(view, row, row.metric)
        if row.growth is not None:
            yield "", "growth", "", join_with_mark(filter(None, (row.growth, row.no_theta_reason)), ", ")
        if row.attained is not None:
            yield from (("", name, "", factor) for name, factor in derivation.iterate_optimality_rows(row.attained))
        # The kinds add nothing to a total that is 0, unknown, or all of one kind.
        if row.metric == "flops" and len(view.kinds) > 1 and row.lower is not None:
            for kind in view.kinds:
                yield from _iterate_bound_rows(view, kind, f"  {kind.metric}")


def _iterate_bound_rows(view: CostView, row: CostRow, name: str) -> Iterator[tuple[str, ...]]:
    if row.lower is None or row.upper is None:
        place = f" ({row.place})" if row.place else ""
        yield name, row.status, "?", f"{row.why}{place}"
    status: str = row.status
    for where, lower, upper in row.cases:
        if where.when:
            yield name, row.status if lower is not None else "", "", join_phrases(where.label, ":")
            name = status = ""
        for relation, value in iterate_bound_relations(lower, upper):
            yield name, status, relation, view.restrict_to(where).text(value)
            name = status = ""
        for bound in row.by_loop if upper is None else ():
            yield "", "", "", f"by {bound.by}:"
            yield "", "", ">=", view.text(bound.value)


def _make_value_table(view: CostView) -> Table:
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
    return format_readable(values.lower), format_readable(values.upper)


def make_json_document(view: CostView, explained: bool = False) -> dict[str, Any]:
    """Return the JSON document of `archline cost`, with the costs of each statement if it is `explained`."""
    document = {"version": COSTS_VERSION, **pick(view, "algorithm", "parameters", "symbols", "assumptions")}
    if view.warnings:
        document["warnings"] = [pick(warning, "code", "message", "path", "line") for warning in view.warnings]
    if view.iterations:
        document["iterations"] = [make_iterations_document(counted) for counted in view.iterations]
    if view.at is not None:
        document["at"] = make_point_document(view.at)
        document["cache_assumed"] = view.cache_assumed
    if view.on_grid:
        document["replicated_input"] = make_point_document(view.replicated)
    if view.communication is not None:
        document["communication_bounds"] = bounds_document(view.communication)
    document["costs"] = {row.metric: _make_cost_document(view, row) for row in view.rows}
    document["flops_by_kind"] = {row.metric: _make_cost_document(view, row) for row in view.kinds}
    if explained:
        document["statements"] = make_statement_documents(view)
        document["derivation"] = _make_step_documents(view)
    document["ensures"] = list(map(make_contract_document, view.contracts))
    if view.schedules:
        document["schedules"] = [pick(schedule, "schedule=name", "bound", "source") for schedule in view.schedules]
    if view.lru is not None:
        document["lru"] = lru_document(view, view.lru)
    result: dict[str, Any] = to_json_value(document, view.text)
    return result


def _make_cost_document(view: CostView, row: CostRow) -> dict[str, Any]:
    cost = {
        **pick(row, "status", "lower", "upper", "growth"),
        "regimes": [
            *(to_json_value(pick(p, "when", "lower", "upper"), view.restrict_to(p.where).text) for p in row.by_case),
            *(
                {"when": bound.where.when, "lower": row.lower or ZERO, "upper": bound.value, "kept": list_kept(bound)}
                for bound in row.by_cache
            ),
        ],
        "lowers": [{"by": bound.by, "lower": bound.value} for bound in row.by_loop],
        **pick(row, "reason=why", "place", "declared"),
    }
    if view.at is not None:
        cost["value"] = row.values
    if row.attained is not None:
        cost["any_order"] = _make_any_schedule_document(row, row.attained)
    if row.published is not None:
        cost["published"] = _make_published_document(row.published)
    reached = () if row.reached is None else row.reached()
    if reached:
        cost["reached"] = [_make_reached_document(region) for region in reached]
    if row.touched:
        cost["touched"] = [_make_touched_document(view, region) for region in row.touched]
    return cost


def list_kept(bound: Bound) -> list[dict[str, Any]]:
    """List the arrays with lines in the cache where a bound on io holds, and the program lines of their references.

    The lines are held over the iterations of a loop (None: all through the run). References on several program lines
    share the lines that they hold and fetch.
    """
    return [pick(residency, "array", "lines=places", "loop", "held", "fetched") for residency in bound.residencies]


def make_statement_documents(view: CostView) -> list[dict[str, Any]]:
    """List the statements of an algorithm, each with what its executions in one call cost in all."""
    return [
        {
            "line": place.line,
            "column": place.column,
            **{metric: pick(cost, "status", "lower", "upper", "reason") for metric, cost in costs.items()},
        }
        for place, costs in view.statements().items()
    ]


def _make_step_documents(view: CostView) -> list[dict[str, Any]]:
    """List the steps of the derivation in the order of the text, each with what one execution of it costs."""
    return [
        {
            **pick(step.span.head, "line", "column"),
            "depth": depth,
            "rule": step.rule,
            **{
                metric: _make_amount_document(derivation.compute_step_amount(step, metric, counters))
                for metric in ("flops", "work", "span")
            },
        }
        for step, depth, counters in derivation.iterate_steps(view.derivation)
    ]


def _make_amount_document(amount: Amount) -> dict[str, Any]:
    if isinstance(amount, UnknownAmount):
        return {"lower": None, "upper": None, "reason": amount.reason}
    return pick(amount, "lower", "upper")


def _make_touched_document(view: CostView, region: TouchedRegion) -> dict[str, Any]:
    """Describe a region that each call touches in full, as half-open intervals."""
    box = [{"from": low, "to": high + 1} for low, high in region.box]
    sides = {half: region.half == half for half in ("lower", "upper")}
    return {"array": region.array, "box": box, "when": view.list_minimum_extents(region), **sides}


def _make_reached_document(region: ReachedRegion) -> dict[str, Any]:
    """Describe the boxes that calls by indices may access, as half-open intervals, and the io where few lines fit."""
    arrays = {array: [{"from": low, "to": high + 1} for low, high in box] for array, box in region.parts}
    return {"algorithm": region.algorithm, "arrays": arrays, "lines": FEW_LINES, "upper": region.most}


def _make_published_document(published: PublishedComparison) -> dict[str, Any]:
    """Describe lower bounds of the literature, for lines of one word."""
    bounds = [pick(bound, "by", "source", "bound=text", "growth=relation", "times") for bound in published.bounds]
    return {"kernel": published.kernel, "bounds": bounds, "because": published.because}


def _make_any_schedule_document(row: CostRow, attained: OptimalityResult) -> dict[str, Any]:
    """Compare the bounds with the lower bound over all schedules, and with each other."""
    regimes = [pick(regime, "when", "factor", "reason") for regime in attained.regimes]
    result = {**pick(attained, "omega=hbl_terms", "under"), "regimes": regimes}
    if row.any_order is not None and row.values is not None:
        result["value"] = format_exact(row.any_order)
        result["factor"] = _format_ratio(row.values.upper, row.any_order)
        result["factor_between_bounds"] = _format_ratio(row.values.upper, row.values.lower)
    return result


def _format_ratio(upper: Number, lower: Number) -> str | None:
    return format_exact(Fraction(upper) / Fraction(lower)) if lower else None
