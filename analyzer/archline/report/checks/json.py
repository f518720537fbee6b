"""Verdicts as JSON."""

from __future__ import annotations

from typing import Any

from archline.report import json
from archline.report.view import CheckReport, Contract, Stop


def render(report: CheckReport, width: int) -> str:
    """The document: every `ensures` of every algorithm, and every claim."""
    if report.problems and not report.targets:
        return ""

    def found(contract: Contract) -> dict[str, Any]:
        more = {"certificates": list(contract.certificates)} if report.certificates else {}
        return {**json.contract(contract), **more}

    targets = [
        {
            "target": view.target,
            "algorithms": [
                {
                    "algorithm": each.name,
                    "ensures": list(map(found, each.contracts)),
                    "assumptions": list(each.assumptions),
                    **_stop(each.stop),
                    **({"messages": each.messages} if each.messages else {}),
                }
                for each in view.algorithms
            ],
            "claims": list(map(found, view.claims)),
        }
        for view in report.targets
    ]
    return json.render({"version": json.VERSION, "targets": targets})


def _stop(stop: Stop | None) -> dict[str, Any]:
    """A run that a fault of the program stops, where one is known."""
    if stop is None:
        return {}
    return {"stops": {"at": json.point(stop.at), "code": stop.code, "message": stop.message, "place": str(stop.place)}}
