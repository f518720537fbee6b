"""Render the findings as SARIF 2.1.0 (OASIS), which code hosts and editors read."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from archline.report import json
from archline.report.findings import CheckFinding, CheckReport
from archline.report.view import SourcePlace, from_root

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: CheckReport, width: int) -> str:
    """One run, with the rules of its findings; equal findings are numbered."""
    titles = dict(sorted({each.code: each.title for each in report.findings}.items()))
    rules = [{"id": code, "shortDescription": {"text": title}} for code, title in titles.items()]
    driver = {"name": "archline", "version": version("archline"), "rules": rules}
    codes, seen = list(titles), Counter[tuple[str, ...]]()
    results = [_result(each, codes.index(each.code), report.root, seen) for each in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.render({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(finding: CheckFinding, rule: int, root: Path, seen: Counter[tuple[str, ...]]) -> dict[str, Any]:
    """Give a finding a fingerprint that stays the same when lines are added above and messages are reworded."""
    path = from_root(finding.path, root)
    subject = (finding.code, path, finding.algorithm)
    fingerprints = {
        # Alerts that code hosts opened by the message are found by it once more; it goes with the next release.
        "archlineFinding/v1": (*subject, finding.claim or finding.message),
        "archlineFinding/v2": (*subject, finding.key or finding.claim),
    }
    seen.update((name, *parts) for name, parts in fingerprints.items())
    marks = {name: _digest((*parts, str(seen[name, *parts]))) for name, parts in fingerprints.items()}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": finding.message},
        "partialFingerprints": marks,
    }
    if path:
        absolute = Path(path).is_absolute()
        uri = {"uri": Path(path).as_uri()} if absolute else {"uri": quote(path), "uriBaseId": "%SRCROOT%"}
        where = {"artifactLocation": uri, **({"region": _region(finding.place)} if finding.line else {})}
        result["locations"] = [{"physicalLocation": where}]
    return result


def _digest(parts: tuple[str, ...]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def _region(place: SourcePlace) -> dict[str, int]:
    """Without columns a region is its whole line, without an end it goes to the end of the line."""
    start = {"startColumn": place.column} if place.column else {}
    end = {"endColumn": place.end_column} if start and place.end_line == place.line else {}
    return {"startLine": place.line, **start, **end}
