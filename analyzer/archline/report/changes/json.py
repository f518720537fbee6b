"""Changes of costs for programs: JSON, stable and versioned."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from archline.changes.results import Differences
from archline.report import json


def render(found: Differences, width: int) -> str:
    """The document."""
    return json.render(document(found))


def document(found: Differences) -> dict[str, Any]:
    """How many costs there are of each verdict, and the changes."""
    renames = [{"old": old, "new": new} for old, new in found.renames]
    changes = [{"algorithm": each.algorithm, **asdict(each)} for each in found.changes]
    return {"version": json.VERSION, "summary": dict(found.summary), "changes": changes, "renames": renames}
