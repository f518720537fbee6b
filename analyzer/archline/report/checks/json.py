"""Verdicts as JSON."""

from __future__ import annotations

from typing import Any

from archline.report import json
from archline.report.view import CheckReport, Contract


def render(report: CheckReport, width: int) -> str:
    """The document: every `ensures` of every algorithm, and every claim."""
    if report.problems and not report.targets:
        return ""

    def found(contract: Contract) -> dict[str, Any]:
        more = {"certificates": [proof.certificate for proof in contract.proofs]} if report.certificates else {}
        return {**json.contract(contract), **more}

    targets = [
        {
            "target": view.target,
            "algorithms": [
                {"algorithm": name, "ensures": list(map(found, contracts))} for name, contracts in view.algorithms
            ],
            "claims": list(map(found, view.claims)),
        }
        for view in report.targets
    ]
    return json.render({"version": json.VERSION, "targets": targets})
