"""Render the verdicts of a check as JSON."""

from __future__ import annotations

from typing import Any

from archline.report import json
from archline.report.findings import CheckReport
from archline.report.view import Contract, StoppedRun


def render(report: CheckReport, width: int) -> str:
    """The document: every `ensures` of every algorithm, and every claim."""
    if report.problems and not report.targets:
        return ""

    def shown(contract: Contract) -> dict[str, Any]:
        code, ignored = report.of(contract)
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
                    "assumptions": each.assumptions,
                    **({} if each.stop is None else {"stops": _stop(each.stop)}),
                    **({"messages": each.messages} if each.messages else {}),
                }
                for each in view.algorithms
            ],
            "claims": list(map(shown, view.claims)),
        }
        for view in report.targets
    ]
    findings = [json.pick(each, "code", "level", "message", "path", "line", "algorithm") for each in report.findings]
    return json.render({"version": json.VERSION, "targets": targets, "findings": findings})


def _stop(stop: StoppedRun) -> dict[str, Any]:
    """A run that a fault of the program stops."""
    return {"at": json.point(stop.at), **json.pick(stop, "code", "message", "place")}
