"""Energies as JSON, version 2: numbers are exact strings in base units; without sizes they are expressions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from archline.energy.intervals import Interval
from archline.energy.levels import Level, by_level
from archline.energy.results import CacheUsed, Ends, EnergyFloor, EnergyResult, Input, Symbolic
from archline.report.energies import shown
from archline.report.numbers import exact

VERSION = 2


def render(results: Sequence[EnergyResult], width: int) -> str:
    """The document."""
    document = {"version": VERSION, "results": [one(each) for each in results]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def one(result: EnergyResult) -> dict[str, Any]:
    """One result."""
    answer = _numbers(result) if result.symbolic is None else _symbols(result, result.symbolic)
    return {
        "algorithm": result.algorithm,
        "machine": result.machine.name,
        "model": result.model.name,
        "at": None if result.at is None else {name: exact(value) for name, value in result.at.items()},
        **answer,
        "expression": result.model.expression,
        "converted": dict(result.converted),
        "cache": cache(result.cache),
        "processors": result.processors,
        "inputs": {name: input_(each) for name, each in result.inputs.items()},
        "convention": result.model.convention,
        "stated_error": result.model.error,
        "leaves_out": list(result.model.leaves_out),
        "notes": shown.notes(result),
        "data": result.data,
    }


def input_(given: Input) -> dict[str, str]:
    """An input; `from` is derived, executed or declared, or given for Z and L."""
    return {"lower": exact(given.amount.lower), "upper": exact(given.amount.upper), "from": given.origin}


def cache(used: CacheUsed | None) -> dict[str, Any] | None:
    """The cache that io is of."""
    if used is None:
        return None
    return {"Z": used.words, "L": used.line, "policy": used.policy, "assumed": used.origin == "assumed"}


def _numbers(result: EnergyResult) -> dict[str, Any]:
    estimate = result.estimate
    assert estimate is not None
    found = shown.answers(estimate)
    document: dict[str, Any] = {}
    for name, unit in shown.ANSWERS:
        amount = found[name]
        document[name] = None if amount is None else {**ends(amount), "unit": unit}
    if document["energy"] is not None:
        document["energy"]["terms"] = {
            name: {"formula": result.model.energy[name], **ends(each)} for name, each in estimate.terms.items()
        }
    figures = {
        name: {"formula": result.model.figures[name].formula, **ends(each), "unit": result.model.figures[name].unit}
        for name, each in estimate.figures.items()
    }
    return {
        **document,
        "binds": estimate.binds,
        "margin": None if estimate.margin is None else ends(estimate.margin),
        "figures": figures,
        "elasticities": {name: f"{value:.6g}" for name, value in result.elasticities.items()},
        "reasons": dict(estimate.reasons),
        **({"levels": [_level(each) for each in by_level(estimate)]} if estimate.model.levels else {}),
        **({} if result.floor is None else {"lower_bound": floor_document(result.floor)}),
    }


def _level(level: Level) -> dict[str, Any]:
    """What a level serves, fetches and takes; null of slow memory, or where the machine does not say it."""
    sizes = {"capacity": level.capacity, "line": level.line, "share": level.share}
    amounts = {name: getattr(level, name) for name in ("served", "misses", "bytes", "time", "energy")}
    return {
        "level": level.name,
        **{name: None if each is None else exact(each) for name, each in sizes.items()},
        **{name: None if each is None else ends(each) for name, each in amounts.items()},
    }


def floor_document(floor: EnergyFloor) -> dict[str, Any]:
    """What any algorithm of the same problem takes at least, in base units."""
    found = {name: floor.estimate.by(name) for name in ("energy", "time")}
    return {
        "any": floor.any,
        **{name: None if each is None else exact(each.lower) for name, each in found.items()},
        "inputs": {name: exact(each.lower) for name, each in floor.estimate.amounts.items()},
        "assumptions": list(floor.assumptions),
    }


def ends(amount: Interval) -> dict[str, str]:
    """Both ends of an interval."""
    return {"lower": exact(amount.lower), "upper": exact(amount.upper)}


def _symbols(result: EnergyResult, symbolic: Symbolic) -> dict[str, Any]:
    terms = {name: {"formula": result.model.energy[name], **_texts(each)} for name, each in symbolic.terms.items()}
    total = None
    if len(terms) == len(result.model.energy):
        low, high = (" + ".join(getattr(each, end) for each in symbolic.terms.values()) for end in ("lower", "upper"))
        total = {"lower": low, "upper": high, "unit": "J", "terms": terms}
    return {
        "time": None if symbolic.time is None else {**_texts(symbolic.time), "unit": "s"},
        "energy": total,
        "power": None,
        "flops_per_joule": None,
        "energy_delay": None,
        "binds": None,
        "metrics": {
            each.name: {
                "status": each.status,
                **({"lower": None, "upper": None} if each.bounds is None else _texts(each.bounds)),
                "regimes": [{"when": when, "upper": upper} for when, upper in each.regimes],
                "growth": each.growth,
            }
            for each in symbolic.metrics
        },
        "growth": dict(symbolic.growth),
    }


def _texts(found: Ends) -> Mapping[str, str]:
    return {"lower": found.lower, "upper": found.upper}
