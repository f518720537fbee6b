"""Results for programs: JSON, stable and versioned. Expressions are in the language's syntax, numbers exact."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from archline.report.numbers import exact
from archline.report.view import CacheView, CheckView, Contract, CostView, EnergyView, Number, Row, RunView, Values

VERSION = 1


def render(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """A JSON document."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def costs(view: CostView) -> dict[str, Any]:
    """`archline cost`."""
    document: dict[str, Any] = {
        "version": VERSION,
        "algorithm": view.algorithm,
        "parameters": list(view.parameters),
        "symbols": list(view.symbols),
        "assumptions": list(view.assumptions),
    }
    if view.at is not None:
        document["at"] = _point(view.at)
    document["costs"] = {row.metric: _cost(view, row) for row in view.rows}
    document["flops_by_kind"] = {row.metric: _cost(view, row) for row in view.kinds}
    document["ensures"] = [_contract(contract) for contract in view.contracts]
    return document


def _cost(view: CostView, row: Row) -> dict[str, Any]:
    cost: dict[str, Any] = {
        "status": row.status,
        "lower": None if row.lower is None else view.text(row.lower),
        "upper": None if row.upper is None else view.text(row.upper),
        "growth": row.growth,
        "regimes": [
            {"when": each.when, "lower": view.text(each.lower), "upper": view.text(each.upper)}
            for each in (*row.regimes, *row.alternatives)
        ],
        "lowers": [{"by": looked, "lower": view.text(lower)} for looked, lower in row.lowers],
        "reason": row.reason,
        "place": row.place,
        "declared": list(row.declared),
    }
    if view.at is not None:
        cost["value"] = None if row.values is None else _values(row.values)
    return cost


def _values(values: Values) -> dict[str, str]:
    return {"lower": exact(values.lower), "upper": exact(values.upper)}


def _point(point: Mapping[str, Number]) -> dict[str, str]:
    return {name: exact(value) for name, value in point.items()}


def _contract(contract: Contract) -> dict[str, Any]:
    return {
        "text": contract.text,
        "outcome": contract.outcome,
        "reason": contract.reason,
        "at": None if contract.point is None else _point(contract.point),
        "place": contract.place,
    }


def run(view: RunView) -> dict[str, Any]:
    """`archline run`. `checked` tells whether every derived metric was held against its bounds and lies within."""
    counts = view.counts
    document: dict[str, Any] = {
        "version": VERSION,
        "algorithm": view.algorithm,
        "at": _point(view.at),
        "counts": {metric: _count(count) for metric, count in counts.executed.items()},
        "flops_by_kind": {kind: _count(count) for kind, count in counts.kinds.items()},
        "derived": {metric: _values(values) for metric, values in counts.derived.items()},
        "checked": not view.unchecked and not counts.outside,
        "outside": list(counts.outside),
        "unchecked": dict(view.unchecked),
        "cache": None if view.cache is None else _cache(view.cache),
        "data": view.data,
    }
    if view.matrix is not None:
        document["matrix"] = vars(view.matrix).copy()
    if view.processor_io:
        document["processor_io"] = list(view.processor_io)
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
    }


def energy(view: EnergyView) -> dict[str, Any]:
    """`archline energy`: amounts in base units (joules), exact."""
    estimate = view.estimate
    document: dict[str, Any] = {
        "version": VERSION,
        "algorithm": view.algorithm,
        "at": _point(view.at),
        "model": estimate.model,
        "machine": estimate.machine,
        "amounts": {name: _values(values) for name, values in view.amounts.items()},
        "origins": dict(view.origins),
        "energy": {
            part.name: {
                "unit": part.unit,
                "lower": exact(part.amount.lower),
                "upper": exact(part.amount.upper),
                "formula": part.formula,
            }
            for part in (*estimate.parts, estimate.total)
        },
        "verdict": estimate.verdict,
        "reason": estimate.reason,
        "convention": estimate.convention,
        "cache": _cache(view.cache),
        "data": view.data,
    }
    if view.matrix is not None:
        document["matrix"] = vars(view.matrix).copy()
    return document


def check(views: Sequence[CheckView]) -> dict[str, Any]:
    """`archline check`: every `ensures` of every algorithm, and every claim."""
    return {
        "version": VERSION,
        "targets": [
            {
                "target": view.target,
                "algorithms": [
                    {"algorithm": name, "ensures": [_contract(contract) for contract in found]}
                    for name, found in view.algorithms
                ],
                "claims": [_contract(claim) for claim in view.claims],
            }
            for view in views
        ],
    }
