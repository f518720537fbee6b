"""The costs of an algorithm as JSON: expressions in the language's syntax, numbers exact."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from archline.algebra.polynomial import ZERO
from archline.analysis.cost import FEW_LINES, InFull, Reached
from archline.claims.optimality import Attained
from archline.claims.published import Published
from archline.report.communication import document as bounds_document
from archline.report.cost_view import CostView, Row
from archline.report.json import VERSION, contract, ends, plain, point
from archline.report.lru import document as lru_document
from archline.report.numbers import exact
from archline.report.view import Number


def cost_document(view: CostView) -> dict[str, Any]:
    """`archline cost`."""
    document: dict[str, Any] = {
        "version": VERSION,
        "algorithm": view.algorithm,
        "parameters": view.parameters,
        "symbols": view.symbols,
        "assumptions": view.assumptions,
    }
    if view.at is not None:
        document["at"] = point(view.at)
        document["cache_assumed"] = view.cache_assumed
    if view.on_grid:
        document["replicated_input"] = None if view.replicated is None else point(view.replicated)
    if view.communication is not None:
        document["communication_bounds"] = bounds_document(view.communication)
    document["costs"] = {row.metric: _cost(view, row) for row in view.rows}
    document["flops_by_kind"] = {row.metric: _cost(view, row) for row in view.kinds}
    document["ensures"] = list(map(contract, view.contracts))
    if view.schedules:
        document["schedules"] = [
            {"schedule": each.name, "bound": each.bound, "source": each.source} for each in view.schedules
        ]
    if view.lru is not None:
        document["lru"] = lru_document(view, view.lru)
    found: dict[str, Any] = plain(document, view.text)
    return found


def _cost(view: CostView, row: Row) -> dict[str, Any]:
    cost: dict[str, Any] = {
        "status": row.status,
        "lower": row.lower,
        "upper": row.upper,
        "growth": row.growth,
        "regimes": [
            *({"when": each.when, "lower": each.lower, "upper": each.upper} for each in row.regimes),
            *({"when": each.when, "lower": row.lower or ZERO, "upper": each.upper} for each in row.alternatives),
        ],
        "lowers": [{"by": looked, "lower": lower} for looked, lower in row.lowers],
        "reason": row.why,
        "place": row.place,
        "declared": row.declared,
    }
    if view.at is not None:
        cost["value"] = None if row.values is None else ends(row.values)
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


def _in_full(view: CostView, found: InFull) -> dict[str, Any]:
    """What each call touches in full, half open."""
    box = [{"from": low, "to": high + 1} for low, high in found.box]
    sides = {half: found.half == half for half in ("lower", "upper")}
    return {"array": found.array, "box": box, "when": view.large(found), **sides}


def _reached(found: Reached) -> dict[str, Any]:
    """What calls by indices work on, half open, and their io at most where few lines fit."""
    arrays = {array: [{"from": low, "to": high + 1} for low, high in box] for array, box in found.parts}
    return {"algorithm": found.algorithm, "arrays": arrays, "lines": FEW_LINES, "upper": found.most}


def _published(found: Published) -> dict[str, Any]:
    """Lower bounds of the literature, for lines of one word."""
    bounds = [
        {"by": each.by, "source": each.source, "bound": each.text, "growth": each.relation, "times": each.times}
        for each in found.bounds
    ]
    return {"kernel": found.kernel, "bounds": bounds, "because": found.because}


def _any_order(row: Row, attained: Attained) -> dict[str, Any]:
    """How near the bounds are to what any order fetches, and to each other."""
    found: dict[str, Any] = {
        "omega": attained.floors,
        "under": attained.under,
        "regimes": [{"when": each.when, "factor": each.factor, "reason": each.reason} for each in attained.regimes],
    }
    if row.any_order is not None and row.values is not None:
        found["value"] = exact(row.any_order)
        found["factor"] = _ratio(row.values.upper, row.any_order)
        found["factor_between_bounds"] = _ratio(row.values.upper, row.values.lower)
    return found


def _ratio(upper: Number, lower: Number) -> str | None:
    return exact(Fraction(upper) / Fraction(lower)) if lower else None
