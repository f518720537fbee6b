"""Results for programs: JSON, stable and versioned. Expressions are in the language's syntax, numbers exact."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from archline.algebra.polynomial import ZERO, Poly
from archline.report.cost_view import CostView, Row
from archline.report.numbers import exact
from archline.report.view import CacheView, Contract, Number, RunView, Values

if TYPE_CHECKING:
    from archline.analysis.cost import InFull, Reached
    from archline.claims.optimality import Attained
    from archline.claims.published import Published

VERSION = 1


def render(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """A JSON document."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False) + "\n"


def plain(value: Any, write: Callable[[Poly], str] = str) -> Any:
    """What JSON has values for: expressions and fractions as text, records by their fields."""
    match value:
        case None | str() | int() | float():
            return value
        case Mapping():
            return {name: plain(each, write) for name, each in value.items()}
        case list() | tuple():
            return [plain(each, write) for each in value]
        case Fraction():
            return exact(value)
        case Poly():
            return write(value)
        case _:
            return {each.name: plain(getattr(value, each.name), write) for each in fields(value)}


def costs(view: CostView) -> dict[str, Any]:
    """`archline cost`."""
    from archline.report import communication, lru

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
        document["communication_bounds"] = communication.document(view.communication)
    document["costs"] = {row.metric: _cost(view, row) for row in view.rows}
    document["flops_by_kind"] = {row.metric: _cost(view, row) for row in view.kinds}
    document["ensures"] = list(map(contract, view.contracts))
    if view.schedules:
        document["schedules"] = [
            {"schedule": each.name, "bound": each.bound, "source": each.source} for each in view.schedules
        ]
    if view.lru is not None:
        document["lru"] = lru.document(view, view.lru)
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
        cost["value"] = None if row.values is None else _values(row.values)
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
    from archline.analysis.cost import FEW_LINES

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


def _values(values: Values) -> dict[str, str]:
    return {"lower": exact(values.lower), "upper": exact(values.upper)}


def point(point: Mapping[str, Number]) -> dict[str, str]:
    """Sizes with their values."""
    return {name: exact(value) for name, value in point.items()}


def contract(contract: Contract) -> dict[str, Any]:
    """One `ensures` or claim."""
    found: dict[str, Any] = {
        "text": contract.text,
        "outcome": contract.outcome,
        "reason": contract.reason,
        "at": None if contract.point is None else point(contract.point),
        "place": str(contract.place),
    }
    more: dict[str, Any] = {"derived": contract.derived, "fails_where": contract.fails_where}
    more |= {"suggestion": contract.suggestion, "assumptions": list(contract.assumptions)}
    return found | {key: value for key, value in more.items() if value}


def run(view: RunView) -> dict[str, Any]:
    """`archline run`. `checked` tells whether every derived metric was held against its bounds and lies within."""
    from archline.report import communication, paths

    counts = view.counts
    document: dict[str, Any] = {
        "version": VERSION,
        "algorithm": view.algorithm,
        "at": point(view.at),
        "counts": {metric: _count(count) for metric, count in counts.executed.items()},
        "flops_by_kind": {kind: _count(count) for kind, count in counts.kinds.items()},
        "derived": {metric: _values(values) for metric, values in counts.derived.items()},
        "checked": not view.unchecked and not counts.outside,
        "outside": counts.outside,
        "unchecked": view.unchecked,
        "cache": None if view.cache is None else _cache(view.cache),
        "data": view.data,
    }
    for name, values in (("own", counts.own), ("total", counts.total)):
        if values:
            document[name] = {metric: _count(count) for metric, count in values.items()}
    if view.timed is not None:
        machine, time, apart = view.timed
        document["time"] = {"machine": machine, "seconds": exact(time), "each_along_its_own_path": exact(apart)}
    if view.path is not None:
        document["path"] = paths.document(view.path)
    if view.matrix is not None:
        document["matrix"] = view.matrix
    if counts.own:
        document["replicated_input"] = view.replicated
    if view.communication is not None:
        document["communication_bounds"] = communication.document(view.communication)
    if view.processor_io:
        document["processor_io"] = view.processor_io
    return document


def _count(count: Number) -> int | str:
    return int(count) if count == int(count) else exact(count)


def _cache(cache: CacheView) -> dict[str, Any]:
    return {
        "Z": cache.words,
        "L": cache.line,
        "policy": cache.policy,
        "default": not cache.chosen,
        "processors": cache.processors,
        "schedule": cache.schedule,
        **({"levels": {name: {"Z": words, "L": line} for name, words, line in cache.levels}} if cache.levels else {}),
    }
