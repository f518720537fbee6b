"""Render the verdicts of a check as JSON."""

from __future__ import annotations

from typing import Any

from archline.report import json
from archline.report.findings import CheckReport
from archline.report.view import Contract, SourcePlace, StoppedRun


def render(report: CheckReport, width: int) -> str:
    """Return the JSON document of the verdicts on each `ensures` and claim. `width` has no effect."""
    if report.problems and not report.targets and not any(problem.edits for problem in report.problems):
        return ""

    def make_claim_document(contract: Contract) -> dict[str, Any]:
        code, ignored = report.find_code(contract)
        more: dict[str, Any] = {"code": code, "ignored": ignored} if code else {}
        if report.certificates:
            more["certificates"] = list(contract.certificates)
        return {**json.make_contract_document(contract), **more}

    targets = [
        {
            "target": view.target,
            "algorithms": [
                {
                    "algorithm": group.name,
                    "ensures": list(map(make_claim_document, group.contracts)),
                    "assumptions": group.assumptions,
                    **({} if group.stop is None else {"stops": _make_stop_document(group.stop)}),
                    **({"messages": group.messages} if group.messages else {}),
                    **({"iterations": group.iterations} if group.iterations else {}),
                }
                for group in view.algorithms
            ],
            "claims": list(map(make_claim_document, view.claims)),
        }
        for view in report.targets
    ]
    findings = [
        {
            **json.pick(finding, "code", "level=severity", "message", "path", "line", "algorithm", "url"),
            **(
                {
                    "related": [
                        _make_place_document(related.place, message=related.message) for related in finding.related
                    ]
                }
                if finding.related
                else {}
            ),
            **(
                {
                    "edits": [_make_place_document(edit.place, text=edit.text) for edit in finding.edits],
                    "safe": finding.safe,
                }
                if finding.edits
                else {}
            ),
        }
        for finding in report.findings
    ]
    return json.render({"version": json.COSTS_VERSION, "targets": targets, "findings": findings})


def _make_place_document(place: SourcePlace, **more: str) -> dict[str, Any]:
    """Return the JSON document of a place, and `more`: lines and columns count from 1, the end is exclusive."""
    return {**json.pick(place, "path", "line", "column", "end_line", "end_column"), **more}


def _make_stop_document(stop: StoppedRun) -> dict[str, Any]:
    """Return the JSON document of a run that a fault of the program stops."""
    return {"at": json.make_point_document(stop.at), **json.pick(stop, "code", "message", "place")}
