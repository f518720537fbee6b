"""An optimum as JSON; numbers are in base units, rounded as floating-point numbers are."""

from __future__ import annotations

from typing import Any

from archline.energy.optimise.problem import Number, Optimisation, Span
from archline.report import json


def render(answer: Optimisation, width: int) -> str:
    """The answer as a document."""
    del width
    problem, found = answer.problem, answer.found
    document: dict[str, Any] = {
        "version": 1,
        "status": found.status,
        "target": answer.target,
        "machine": answer.machine,
        "model": answer.model,
        "minimised": problem.minimise,
        "end": "upper" if problem.upper else "lower",
        "objective": {"value": found.value, "lower": found.lower, "unit": problem.unit},
        "bound": found.bound,
        "gap": found.gap,
        "variables": {name: _value(value) for name, value in found.variables.items()},
        "at": dict(found.at),
        "ranges": {name: _value(value) for name, value in found.ranges.items()},
        "binding": list(found.binding),
        "conflict": list(found.conflict),
        "attainable": list(found.attainable),
        "closed_form": dict(found.closed_form) or None,
        "method": found.method,
        "points": found.points,
        "notes": list(found.notes),
        "assumptions": list(answer.assumptions),
    }
    return json.render(document)


def _value(value: Number | Span) -> Any:
    return {"from": value[0], "to": value[1]} if isinstance(value, tuple) else value
