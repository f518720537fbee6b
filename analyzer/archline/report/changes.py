"""What changed between two versions of programs: the verdict in one line, then the costs that changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from archline.changes import results as r
from archline.changes.results import CostChange, Differences
from archline.language.diagnostics import counted
from archline.report import json as documents
from archline.report.checks.github import command
from archline.report.findings import ERROR, Finding, of_diagnostic
from archline.report.layout import indented, table
from archline.report.view import Place, relative

LONGEST, BEFORE = 60, 20
"""Characters of an expression that are shown, and of those before a difference; JSON has it whole."""
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
    r.IGNORED: ("is ignored", "are ignored"),
    r.EQUAL: ("is the same", "are the same"),
    r.UNKNOWN: ("is unknown in both versions", "are unknown in both versions"),
}
"""What is said of one cost, and of several."""


def verdict(found: Differences) -> str:
    """The answer in one line: `2 costs grew, 1 became unknown, 143 are the same`."""
    counts = dict(found.summary)
    counts[r.EQUAL] = counts.get(r.EQUAL, 0) + counts.pop(r.OTHER_FORM, 0)
    said = {(each.algorithm, each.metric, each.verdict, each.tolerance) for each in found.changes}
    within = [each for each in said if each[3] is not None and (*each[:3], None) not in said]
    tolerated = Counter(name for _, _, name, _ in within)
    tolerance = f" within the tolerance of {within[0][3]}" if within else ""
    parts: list[str] = []
    for name, words in _SAID.items():
        for count, more in ((counts.get(name, 0) - tolerated[name], ""), (tolerated[name], tolerance)):
            if count:
                noun = "" if parts else "cost " if count == 1 else "costs "
                parts.append(f"{count} {noun}{words[count > 1]}{more}")
    if found.renames:
        parts.append(f"{len(found.renames)} algorithm{'s have' if len(found.renames) > 1 else ' has'} another name")
    return ", ".join(parts) or "there is nothing to compare"


def _refused(found: Differences) -> list[str]:
    """A line with the files that are left out; none where all are compared."""
    files = sorted({of_diagnostic(each).path for each in found.problems})
    return [f"{counted(len(files), 'file')} cannot be compared: {', '.join(files)}"] if files else []


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
    if change.ignored:
        more.append("ignored by a comment")
    if change.reason:
        more.append(f"{change.place}: {change.reason}" if change.place else change.reason)
    return [change.algorithm, change.metric, said, *_shortened(change.old or "", change.new or ""), "; ".join(more)]


def _shortened(old: str, new: str) -> Iterator[str]:
    """Texts, the long ones cut so that they show where they begin to differ."""
    shared = next((at for at, both in enumerate(zip_longest(old, new)) if both[0] != both[1]), 0)
    near = max(old.rfind(" ", 0, shared - BEFORE) + 1, shared - 2 * BEFORE)
    start = near if shared > LONGEST - BEFORE else 0
    for each in (old, new):
        ends = "... " if start else "", " ..." if len(each) > start + LONGEST else ""
        yield each if len(each) <= LONGEST else each[start : start + LONGEST].join(ends)


def text(found: Differences, width: int) -> str:
    """For people: a table for each algorithm, its costs that fail first."""
    lines, groups = [verdict(found), *_refused(found)], dict[str, list[list[str]]]()
    lines += ["", *(f"{old} -> {new}" for old, new in found.renames)] if found.renames else []
    for algorithm, metric, said, old, new, more in map(cells, found.shown):
        groups.setdefault(algorithm, []).append([metric, said, " -> ".join(filter(None, (old, new))), more])
    for algorithm, rows in groups.items():
        lines += ["", algorithm, *indented(table(rows, width - 2))]
    return "\n".join(lines) + "\n"


def markdown(found: Differences, width: int) -> str:
    """For a comment on a pull request: one table, then other names, as much as there is room for."""
    rows = [_row(cells(each)) for each in found.shown]
    names = [f"- `{old}` -> `{new}`\n" for old, new in found.renames]
    rows[:1] = [f"\n{HEADER}\n{each}" for each in rows[:1]]
    names[:1] = [f"\n{each}" for each in names[:1]]
    whole = f"**{verdict(found)}**\n" if rows else f"{verdict(found)}\n"
    whole += "".join(f"\n{each}\n" for each in _refused(found))[: MOST // 2]
    for number, row in enumerate([*rows, *names]):
        if len(whole) + len(row) > MOST - 100:
            return f"{whole}\nand {len(rows) + len(names) - number} more, which `archline diff` prints\n"
        whole += row
    return whole


def _row(texts: list[str]) -> str:
    plain = [" ".join(each.replace("|", "\\|").split()) for each in texts]
    return f"| {' | '.join(f'`{each}`' if each and at in CODE else each for at, each in enumerate(plain))} |\n"


def github(found: Differences, width: int) -> str:
    """For GitHub Actions: a command for each change that fails the build, at the header of its algorithm."""
    lines = [command(of_diagnostic(each), Path.cwd()) for each in found.problems]
    for each in found.findings:
        algorithm, metric, said, old, new, more = cells(each)
        message = "\n".join(filter(None, (f"{algorithm}: {metric} {said}", f"{old} -> {new}", more)))
        finding = Finding(each.rule.code, ERROR, each.rule.title, message, Place(relative(each.file), each.line))
        lines.append(command(finding, Path.cwd()))
    return "".join(f"{line}\n" for line in (*lines, verdict(found), *_refused(found)))


def document(found: Differences) -> dict[str, Any]:
    """For programs: how many costs there are of each verdict, the changes, and what could not be compared."""
    renames = [{"old": old, "new": new} for old, new in found.renames]
    changes = [{"algorithm": each.algorithm, **asdict(each)} for each in found.changes]
    refused = map(of_diagnostic, found.problems)
    problems = [{name: getattr(each, name) for name in ("code", "message", "path", "line")} for each in refused]
    several = {"changes": changes, "renames": renames, "problems": problems}
    return {"version": documents.VERSION, "summary": dict(found.summary), **several}


def json(found: Differences, width: int) -> str:
    """The document as text."""
    return documents.render(document(found))


FORMATS = {"text": text, "json": json, "markdown": markdown, "github": github}
