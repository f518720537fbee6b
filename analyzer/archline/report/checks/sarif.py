"""Findings as SARIF 2.1.0 (OASIS), which code hosts and editors read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from archline.report import json
from archline.report.findings import Finding, found
from archline.report.view import CheckReport, from_root

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: CheckReport, width: int) -> str:
    """One run, with the rules of its findings."""
    results = found(report).findings
    rules = dict(sorted((each.code, {"id": each.code, "shortDescription": {"text": each.title}}) for each in results))
    driver = {"name": "archline", "version": version("archline"), "rules": list(rules.values())}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": _results(results, list(rules), report.root),
    }
    return json.render({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _results(findings: Sequence[Finding], rules: list[str], root: Path) -> list[dict[str, Any]]:
    """Each with a fingerprint that stays the same when lines are added above; equal claims are numbered."""
    seen: Counter[tuple[str, ...]] = Counter()
    results = []
    for each in findings:
        path = from_root(each.path, root)
        what = (each.code, path, each.algorithm, each.claim or each.message)
        seen[what] += 1
        mark = sha256("\0".join((*what, str(seen[what]))).encode()).hexdigest()[:32]
        results.append({**_result(each, rules, path), "partialFingerprints": {"archlineFinding/v1": mark}})
    return results


def _result(finding: Finding, rules: list[str], path: str) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.code),
        "level": finding.level,
        "message": {"text": finding.message},
    }
    if path:
        base = {} if Path(path).is_absolute() else {"uriBaseId": "%SRCROOT%"}
        where: dict[str, Any] = {"artifactLocation": {"uri": _uri(path), **base}}
        if (region := _region(finding)) is not None:
            where["region"] = region
        result["locations"] = [{"physicalLocation": where}]
    return result


def _uri(path: str) -> str:
    return Path(path).as_uri() if Path(path).is_absolute() else quote(path)


def _region(finding: Finding) -> dict[str, int] | None:
    place = finding.place
    if place is None:
        return None if finding.line is None else {"startLine": finding.line}
    # Without an end, a region goes to the end of its line.
    end = {"endColumn": place.end_column} if place.end_line == place.line else {}
    return {"startLine": place.line, "startColumn": place.column, **end}
