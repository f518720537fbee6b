"""What changed as workflow commands of GitHub Actions: one for each change that fails the build, at its algorithm."""

from __future__ import annotations

from pathlib import Path

from archline.changes.results import CostChange, Differences
from archline.report.changed_costs import cells, refused, verdict
from archline.report.checks.github import command
from archline.report.findings import ERROR, Finding, of_diagnostic
from archline.report.view import Place, relative


def render(found: Differences, width: int) -> str:
    """The commands, then the verdict and what is left out."""
    findings = [*map(of_diagnostic, found.problems), *map(_finding, found.findings)]
    lines = [*(command(each, Path.cwd()) for each in findings), verdict(found), *refused(found)]
    return "".join(f"{line}\n" for line in lines)


def _finding(change: CostChange) -> Finding:
    algorithm, metric, said, old, new, more = cells(change)
    message = "\n".join(filter(None, (f"{algorithm}: {metric} {said}", f"{old} -> {new}", more)))
    rule = change.rule
    return Finding(rule.code, ERROR, rule.title, message, Place(relative(change.file), change.line))
