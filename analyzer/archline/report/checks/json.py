"""Verdicts as JSON."""

from __future__ import annotations

from typing import Any

from archline.report import json
from archline.report.findings import Finding, found
from archline.report.view import CheckReport, Contract, Stop


def render(report: CheckReport, width: int) -> str:
    """The document: every `ensures` of every algorithm, and every claim."""
    if report.problems and not report.targets:
        return ""

    every = found(report)

    def shown(contract: Contract) -> dict[str, Any]:
        code, ignored = every.of(contract)
        more: dict[str, Any] = {"code": code, "ignored": ignored} if code else {}
        if report.certificates:
            more["certificates"] = list(contract.certificates)
        return {**json.contract(contract), **more}

    targets = [
        {
            "target": view.target,
            "algorithms": [
                {
                    "algorithm": each.name,
                    "ensures": list(map(shown, each.contracts)),
                    "assumptions": list(each.assumptions),
                    **_stop(each.stop),
                    **({"messages": each.messages} if each.messages else {}),
                }
                for each in view.algorithms
            ],
            "claims": list(map(shown, view.claims)),
        }
        for view in report.targets
    ]
    return json.render({"version": json.VERSION, "targets": targets, "findings": list(map(_finding, every.findings))})


def _finding(each: Finding) -> dict[str, Any]:
    """What counts, also what is about no claim."""
    return {
        "code": each.code,
        "level": each.level,
        "message": each.message,
        "path": each.path,
        "line": each.line,
        "algorithm": each.algorithm,
    }


def _stop(stop: Stop | None) -> dict[str, Any]:
    """A run that a fault of the program stops, where one is known."""
    if stop is None:
        return {}
    return {"stops": {"at": json.point(stop.at), "code": stop.code, "message": stop.message, "place": str(stop.place)}}
