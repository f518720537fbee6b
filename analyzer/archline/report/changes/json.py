"""What changed as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from archline.changes.results import Differences
from archline.report import json
from archline.report.findings import of_diagnostic


def render(found: Differences, width: int) -> str:
    """The document as text."""
    return json.render(document(found))


def document(found: Differences) -> dict[str, Any]:
    """How many costs there are of each verdict, the changes, other names, and what could not be compared."""
    problems = map(of_diagnostic, found.problems)
    return {
        "version": json.VERSION,
        "summary": dict(found.summary),
        "changes": [{"algorithm": each.algorithm, **asdict(each)} for each in found.changes],
        "renames": [{"old": old, "new": new} for old, new in found.renames],
        "problems": [{name: getattr(each, name) for name in ("code", "message", "path", "line")} for each in problems],
    }
