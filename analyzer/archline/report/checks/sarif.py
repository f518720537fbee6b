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
from archline.report.view import SourcePlace, make_path_relative_to_root

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def render(report: CheckReport, width: int) -> str:
    """Return a SARIF log of one run, with the rules and results of all findings. `width` has no effect."""
    by_code = dict(sorted({finding.code: finding for finding in report.findings}.items()))
    rules = [
        {"id": code, "shortDescription": {"text": finding.title}, "helpUri": finding.url}
        for code, finding in by_code.items()
    ]
    driver = {"name": "archline", "version": version("archline"), "rules": rules}
    codes, counts = list(by_code), Counter[tuple[str, ...]]()
    results = [_make_result(finding, codes.index(finding.code), report.root, counts) for finding in report.findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.render({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _make_result(finding: CheckFinding, rule: int, root: Path, counts: Counter[tuple[str, ...]]) -> dict[str, Any]:
    """Describe a finding, with fingerprints that stay the same when lines are added above or messages are reworded."""
    path = make_path_relative_to_root(finding.path, root)
    subject = (finding.code, path, finding.algorithm)
    fingerprints = {
        # Alerts that code hosts opened by the message (v1) are still matched by it; it is dropped in the next release.
        "archlineFinding/v1": (*subject, finding.claim or finding.message),
        "archlineFinding/v2": (*subject, finding.key or finding.claim),
    }
    counts.update((name, *parts) for name, parts in fingerprints.items())
    marks = {name: _hash_parts((*parts, str(counts[name, *parts]))) for name, parts in fingerprints.items()}
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": finding.message},
        "partialFingerprints": marks,
    }
    if path:
        result["locations"] = [_make_location(finding.place, root)]
    if finding.related:
        result["relatedLocations"] = [
            {**_make_location(related.place, root), "message": {"text": related.message}} for related in finding.related
        ]
    if finding.edits:
        result["fixes"] = [_make_fix(finding, root)]
    return result


def _make_location(place: SourcePlace, root: Path) -> dict[str, Any]:
    region = {"region": _make_region(place)} if place.line else {}
    path = make_path_relative_to_root(place.path, root)
    return {"physicalLocation": {"artifactLocation": _make_artifact_location(path), **region}}


def _make_artifact_location(path: str) -> dict[str, str]:
    absolute = Path(path).is_absolute()
    return {"uri": Path(path).as_uri()} if absolute else {"uri": quote(path), "uriBaseId": "%SRCROOT%"}


def _make_fix(finding: CheckFinding, root: Path) -> dict[str, Any]:
    """Describe the edits of a finding as a fix of SARIF; of alternative edits of a region, the first."""
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in finding.edits:
        region = {
            "startLine": edit.place.line,
            "startColumn": edit.place.column,
            "endLine": edit.place.end_line,
            "endColumn": edit.place.end_column,
        }
        path = make_path_relative_to_root(edit.place.path, root)
        if all(change["deletedRegion"] != region for change in changes.get(path, ())):
            changes.setdefault(path, []).append({"deletedRegion": region, "insertedContent": {"text": edit.text}})
    described = [
        {"artifactLocation": _make_artifact_location(path), "replacements": replacements}
        for path, replacements in changes.items()
    ]
    return {"description": {"text": finding.message.rpartition("hint: ")[2]}, "artifactChanges": described}


def _hash_parts(parts: tuple[str, ...]) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:32]


def _make_region(place: SourcePlace) -> dict[str, int]:
    """Return the SARIF region of a place: the whole line if columns are unknown, or up to the line's end."""
    start = {"startColumn": place.column} if place.column else {}
    end = {"endColumn": place.end_column} if start and place.end_line == place.line else {}
    return {"startLine": place.line, **start, **end}
