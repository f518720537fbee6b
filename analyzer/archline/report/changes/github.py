"""Changes of costs as workflow commands of GitHub Actions, which annotate the headers of the algorithms."""

from __future__ import annotations

from pathlib import Path

from archline.changes import results as r
from archline.changes.results import CostChange, Differences
from archline.claims import rules
from archline.report.changes import cells, verdict
from archline.report.checks.github import command
from archline.report.findings import ERROR, Finding
from archline.report.view import relative


def render(found: Differences, width: int) -> str:
    """A command for each change that fails the build; then the verdict."""
    commands = (command(_finding(each), Path.cwd()) for each in found.findings)
    return "".join(f"{each}\n" for each in (*commands, verdict(found)))


def _finding(change: CostChange) -> Finding:
    algorithm, metric, said, old, new, more = cells(change)
    rule = rules.BECAME_UNKNOWN if change.verdict == r.BECAME_UNKNOWN else rules.GREW
    message = "\n".join(filter(None, (f"{algorithm}: {metric} {said}", " -> ".join(filter(None, (old, new))), more)))
    return Finding(rule.code, ERROR, rule.title, message, relative(change.file), None, change.line, algorithm)
