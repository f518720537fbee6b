"""Comparisons as JSON: numbers are exact strings; ratios are those of the first over the second of a pair."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from archline.compare.growth import Relation
from archline.compare.results import ComparedPoint, Comparison
from archline.report.comparisons.text import beyond_peak
from archline.report.energies.json import cache, ends
from archline.report.numbers import exact

VERSION = 1


def render(found: Comparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """The document."""
    pairs = [
        {"algorithms": list(pair), "growth": {name: _relation(each, certificates) for name, each in relations.items()}}
        for pair, relations in found.growth.items()
    ]
    used = list(dict.fromkeys(found.caches.values()))
    document = {
        "version": VERSION,
        "algorithms": list(found.algorithms),
        "model": found.model.name,
        "by": found.by,
        "growth": pairs[0]["growth"],
        "pairs": pairs,
        "points": [_point(found, each) for each in found.points],
        "crossovers": [
            {
                "variable": each.variable, "from": each.start, "to": each.end, "machine": each.machine,
                "pair": list(each.pair), "less_before": each.before, "less_after": each.after,
            }
            for each in found.crossovers
        ],
        "cache": cache(used[0] if len(used) == 1 else None),
        "caches": {name: cache(each) for name, each in found.caches.items()},
        "assumptions": list(found.assumptions),
        "growth_when": list(found.when),
        "convention": found.model.convention,
        "stated_error": found.model.error,
        "notes": [*filter(None, [found.without]), *beyond_peak(found)],
        "data": found.data,
    }  # fmt: skip
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _relation(relation: Relation, certificates: bool) -> Mapping[str, Any]:
    document: dict[str, Any] = {
        "relation": relation.relation,
        "ratio": relation.ratio,
        "bound": relation.bound or None,
        "first": relation.first,
        "second": relation.second,
        "facts": list(relation.facts),
    }
    if certificates:
        document["certificates"] = [each.certificate for each in relation.proofs]
    return document


def _point(found: Comparison, point: ComparedPoint) -> Mapping[str, Any]:
    verdict = point.verdict
    values = point.amounts(found.by)
    return {
        "at": {name: exact(value) for name, value in point.at.items()},
        "processors": [exact(each) for each in point.processors],
        "machine": point.machine.name,
        "model": found.model.name,
        "pair": list(point.pair),
        "ratio": None if verdict.ratio is None else ends(verdict.ratio),
        "less": verdict.less,
        "verdict": verdict.verdict,
        "decides": verdict.decides,
        "reason": verdict.reason,
        "values": [None if each is None else ends(each) for each in values],
        "executions": [{"data": each.data, "ratio": ends(each.ratio)} for each in verdict.executions],
    }
