"""Findings as SARIF 2.1.0 (OASIS), which code hosts and editors read."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from archline.report import json
from archline.report.findings import Finding, findings
from archline.report.view import CheckReport

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: CheckReport, width: int) -> str:
    """One run, with the rules of its findings."""
    found = list(findings(report))
    rules = dict(sorted((each.rule, {"id": each.rule, "shortDescription": {"text": each.title}}) for each in found))
    driver = {"name": "archline", "version": version("archline"), "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, list(rules)) for each in found],
    }
    return json.render({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: Finding, rules: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": rules.index(finding.rule),
        "level": finding.level,
        "message": {"text": finding.message},
    }
    if finding.path:
        where: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.path)}}
        if (region := _region(finding)) is not None:
            where["region"] = region
        result["locations"] = [{"physicalLocation": where}]
    return result


def _uri(path: str) -> str:
    return Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())


def _region(finding: Finding) -> dict[str, int] | None:
    place = finding.place
    if place is None:
        return None if finding.line is None else {"startLine": finding.line}
    # Without an end, a region goes to the end of its line.
    end = {"endColumn": place.end_column} if place.end_line == place.line else {}
    return {"startLine": place.line, "startColumn": place.column, **end}
