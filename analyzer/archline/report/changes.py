"""What changed between two versions of programs: the verdict in one line, then the costs that changed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from archline.changes import results as r
from archline.changes.results import CostChange, Differences
from archline.claims import rules
from archline.report import json as documents
from archline.report.checks.github import command
from archline.report.findings import ERROR, Finding
from archline.report.layout import indented, table
from archline.report.view import relative

LONGEST = 60
"""Characters of an expression that are shown; JSON has it whole."""
MOST = 60_000
"""Characters of Markdown: a comment on GitHub may have 65,536."""
HEADER = "| algorithm | cost | change | before | after | |\n|---|---|---|---|---|---|"
CODE = (0, 3, 4)
"""The columns of algorithms and expressions."""
_SAID = {
    r.GREW: ("grew", "grew"),
    r.BECAME_UNKNOWN: ("became unknown", "became unknown"),
    r.ROSE: ("has a higher bound", "have a higher bound"),
    r.SHRANK: ("shrank", "shrank"),
    r.FELL: ("has a lower bound", "have a lower bound"),
    r.BECAME_KNOWN: ("became known", "became known"),
    r.NEW: ("is new", "are new"),
    r.REMOVED: ("was removed", "were removed"),
    r.EQUAL: ("is the same", "are the same"),
    r.UNKNOWN: ("is unknown in both versions", "are unknown in both versions"),
}
"""What is said of one cost, and of several."""


def verdict(found: Differences) -> str:
    """The answer in one line: `2 costs grew, 1 became unknown, 143 are the same`."""
    counts = dict(found.summary)
    counts[r.EQUAL] = counts.get(r.EQUAL, 0) + counts.pop(r.OTHER_FORM, 0)
    parts: list[str] = []
    for name, said in _SAID.items():
        if count := counts.get(name):
            noun = "" if parts else "cost " if count == 1 else "costs "
            parts.append(f"{count} {noun}{said[count > 1]}")
    if found.renames:
        parts.append(f"{len(found.renames)} algorithm{'s have' if len(found.renames) > 1 else ' has'} another name")
    return ", ".join(parts) or "there is nothing to compare"


def cells(change: CostChange) -> list[str]:
    """A row of a table: the algorithm, its cost, the verdict, the cost before and after, and what else is known."""
    extent = "" if change.extent == r.SHOWN else change.extent
    said = " ".join(filter(None, (change.verdict, extent, change.when and f"where {change.when}")))
    more: list[str] = []
    if change.values is not None and change.at is not None:
        sizes = ",".join(f"{name}={value}" for name, value in change.at.items())
        more.append(f"{change.values['old']} -> {change.values['new']}" + (f" at {sizes}" if sizes else ""))
    old, new = change.growth["old"], change.growth["new"]
    if old and new and not change.grows_as_before:
        more.append(f"growth {old} -> {new}")
    if change.tolerance is not None:
        more.append(f"within the tolerance of {change.tolerance} at all sizes")
    if change.reason:
        more.append(f"{change.place}: {change.reason}" if change.place else change.reason)
    return [change.algorithm, change.metric, said, *map(_shortened, (change.old, change.new)), "; ".join(more)]


def _shortened(text: str | None) -> str:
    return text if text is not None and len(text) <= LONGEST else f"{text[:LONGEST]} ..." if text else ""


def text(found: Differences, width: int) -> str:
    """For people: a table for each algorithm, its costs that fail first."""
    lines, groups = [verdict(found)], dict[str, list[list[str]]]()
    for algorithm, metric, said, old, new, more in map(cells, found.shown):
        groups.setdefault(algorithm, []).append([metric, said, " -> ".join(filter(None, (old, new))), more])
    for algorithm, rows in groups.items():
        lines += ["", algorithm, *indented(table(rows, width - 2))]
    return "\n".join(lines) + "\n"


def markdown(found: Differences, width: int) -> str:
    """For a comment on a pull request: one table, with as many rows as there is room for."""
    if not found.shown:
        return f"{verdict(found)}\n"
    whole, rows = f"**{verdict(found)}**\n\n{HEADER}\n", [_row(cells(each)) for each in found.shown]
    for number, row in enumerate(rows):
        if len(whole) + len(row) > MOST - 100:
            return f"{whole}\nand {len(rows) - number} more, which `archline diff` prints\n"
        whole += row
    return whole


def _row(texts: list[str]) -> str:
    plain = [" ".join(each.replace("|", "\\|").split()) for each in texts]
    return f"| {' | '.join(f'`{each}`' if each and at in CODE else each for at, each in enumerate(plain))} |\n"


def github(found: Differences, width: int) -> str:
    """For GitHub Actions: a command for each change that fails the build, at the header of its algorithm."""
    lines: list[str] = []
    for each in found.findings:
        algorithm, metric, said, old, new, more = cells(each)
        rule = rules.BECAME_UNKNOWN if each.verdict == r.BECAME_UNKNOWN else rules.GREW
        message = "\n".join(filter(None, (f"{algorithm}: {metric} {said}", f"{old} -> {new}", more)))
        finding = Finding(rule.code, ERROR, rule.title, message, relative(each.file), None, each.line, algorithm)
        lines.append(command(finding, Path.cwd()))
    return "".join(f"{line}\n" for line in (*lines, verdict(found)))


def document(found: Differences) -> dict[str, Any]:
    """For programs: how many costs there are of each verdict, and the changes."""
    renames = [{"old": old, "new": new} for old, new in found.renames]
    changes = [{"algorithm": each.algorithm, **asdict(each)} for each in found.changes]
    return {"version": documents.VERSION, "summary": dict(found.summary), "changes": changes, "renames": renames}


def json(found: Differences, width: int) -> str:
    """The document as text."""
    return documents.render(document(found))


FORMATS = {"text": text, "json": json, "markdown": markdown, "github": github}
