"""Print the changes between two versions of programs: the verdict and tables, in the formats of `archline diff`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from archline.changes import results as r
from archline.changes.results import CostChange, VersionDifferences
from archline.language.diagnostics import ERROR, format_count
from archline.records import replace
from archline.report import json
from archline.report.checks.github import format_command
from archline.report.documents import CodeText, format_markdown_row
from archline.report.findings import CheckFinding, convert_diagnostic
from archline.report.html.document import make_document, make_sentence, make_table
from archline.report.layout import COLUMN_GAP, align_table, indent_lines, wrap
from archline.report.view import SourcePlace, make_path_relative

MAX_EXPRESSION_WIDTH, CONTEXT_WIDTH = 60, 20
"""The maximum width of an expression in a table, and of its text before a difference; JSON has it in full."""
_UPPER_SEPARATOR = ", at most "
"""The text between the bounds of a cost; if the lower bound is unchanged, only the upper one is shown."""
_VERDICT_WORDS = {
    r.GREW: ("grew", "grew"),
    r.BECAME_UNKNOWN: ("became unknown", "became unknown"),
    r.NOT_DECIDED: ("is not decided", "are not decided"),
    r.DIFFERS: ("is more at some sizes and less at others", "are more at some sizes and less at others"),
    r.ROSE: ("has a bound that rose", "have bounds that rose"),
    r.BOUNDS_DIFFER: (
        "has bounds that rose at some sizes and fell at others",
        "have bounds that rose at some sizes and fell at others",
    ),
    r.SHRANK: ("shrank", "shrank"),
    r.FELL: ("has a bound that fell", "have bounds that fell"),
    r.BECAME_KNOWN: ("became known", "became known"),
    r.NEW_METRIC: ("is new", "are new"),
    r.REMOVED: ("was removed", "were removed"),
    r.IGNORED: ("is ignored", "are ignored"),
    r.EQUAL: ("is the same", "are the same"),
    r.NOW_TAKES: ("algorithm has more sizes", "algorithms have more sizes"),
    r.NO_LONGER_TAKES: ("algorithm has fewer sizes", "algorithms have fewer sizes"),
    r.NOW_REQUIRES: ("algorithm requires more of its sizes", "algorithms require more of their sizes"),
    r.NO_LONGER_REQUIRES: ("algorithm requires less of its sizes", "algorithms require less of their sizes"),
    r.OTHER_BOUNDS: (
        "has different bounds but no known difference",
        "have different bounds but no known difference",
    ),
    r.UNKNOWN: ("is unknown in both versions", "are unknown in both versions"),
}
"""The words of each verdict, for one cost and for several."""


def format_verdict(differences: VersionDifferences) -> str:
    """Return the number of costs of each verdict: `2 costs grew, 1 became unknown, 143 are the same`."""
    counts = dict(differences.summary)
    counts[r.EQUAL] = counts.get(r.EQUAL, 0) + counts.pop(r.OTHER_FORM, 0)
    keys = {(change.algorithm, change.metric, change.verdict, change.tolerance) for change in differences.changes}
    whole = r.merge_cost_verdicts(differences.changes)
    within = [key for key in keys if key[3] is not None and (*key[:3], None) not in keys and whole[key[:2]] == key[2]]
    tolerated = Counter(name for _, _, name, _ in within)
    tolerance = f" within the tolerance of {within[0][3]}" if within else ""
    parts: list[str] = []
    is_cost_named = False
    for name, words in _VERDICT_WORDS.items():
        for count, more in ((counts.get(name, 0) - tolerated[name], ""), (tolerated[name], tolerance)):
            if count:
                text = words[count > 1]
                # The first verdict about costs names them.
                is_first = not is_cost_named and not text.startswith("algorithm")
                noun = "" if not is_first else "cost " if count == 1 else "costs "
                is_cost_named |= is_first
                parts.append(f"{count} {noun}{text}{more}")
    # A file that moved leaves the names of its algorithms as they were.
    moved = sum(old.rpartition("::")[2] == new.rpartition("::")[2] for old, new in differences.renames)
    for count, change in ((len(differences.renames) - moved, "renamed"), (moved, "moved")):
        parts += [f"{format_count(count, 'algorithm')} {'were' if count > 1 else 'was'} {change}"] if count else []
    return ", ".join(parts) or ("nothing is compared" if differences.problems else "there is nothing to compare")


def list_uncompared_files(differences: VersionDifferences) -> list[str]:
    """Return a line with the files that are left out; empty if all are compared."""
    files = sorted({convert_diagnostic(problem).path for problem in differences.problems})
    return [f"{format_count(len(files), 'file')} cannot be compared: {', '.join(files)}"] if files else []


def list_assumptions(differences: VersionDifferences) -> list[str]:
    """Return the assumptions of the verdicts, one a line, below a line about them; empty if there are none."""
    head = "assuming that loops of the same text have as many iterations as before:"
    return [head, *differences.assumptions] if differences.assumptions else []


def make_change_row(change: CostChange, longest: int = MAX_EXPRESSION_WIDTH) -> list[str]:
    """Return the cells of a change: algorithm, metric, verdict, cost before and after, and further facts."""
    extent = "" if change.extent == r.AT_SHOWN_SIZES else change.extent
    outcome = " ".join(filter(None, (change.verdict, extent, change.when and f"where {change.when}")))
    unmoved = change.asked is not None and change.asked["old"] == change.asked["new"]
    more = [*filter(None, (change.evidence_asked, change.evidence)[:: -1 if unmoved else 1])]
    old, new = change.growth["old"], change.growth["new"]
    if old and new and change.order != r.EQUAL:
        more.append(f"growth {old} -> {new}")
    if change.tolerance is not None:
        more.append(f"within the tolerance of {change.tolerance} at all sizes")
    if change.moved_from is not None:
        more.append(f"moved from {change.moved_from}")
    if change.ignored:
        more.append("ignored by a comment")
    if change.reason:
        more.append(f"{change.place}: {change.reason}" if change.place else change.reason)
    before, after = change.old or "", change.new or ""
    low = f"{before.partition(_UPPER_SEPARATOR)[0]}{_UPPER_SEPARATOR}"
    if before == after:
        before = after = ""
    elif before.startswith(low) and after.startswith(low):
        before, after = (text.removeprefix(low.removesuffix(_UPPER_SEPARATOR[2:])) for text in (before, after))
    return [change.algorithm, change.metric, outcome, *_shorten_forms(before, after, longest), "; ".join(more)]


def _shorten_forms(old: str, new: str, longest: int) -> Iterator[str]:
    """Yield `old` and `new`, cut to about `longest` characters around the first difference."""
    shared = next((at for at, pair in enumerate(zip_longest(old, new)) if pair[0] != pair[1]), 0)
    near = max(old.rfind(" ", 0, shared - CONTEXT_WIDTH) + 1, shared - 2 * CONTEXT_WIDTH)
    start = near if shared > longest - CONTEXT_WIDTH else 0
    for expression in (old, new):
        first, *rest = wrap(expression[start:], longest)
        yield expression if len(expression) <= longest else ("... " if start else "") + first + (" ..." if rest else "")


MAX_EXPRESSION_LINES = 2
"""The maximum number of lines of an expression; JSON has it in full."""
INDENT, ARROW = 8, " -> "


def as_text(differences: VersionDifferences, width: int) -> str:
    """Return the verdict, the files left out, the renames, and the changes as text; `width` limits its lines."""
    lines, groups = (
        [*wrap(format_verdict(differences), width), *list_uncompared_files(differences)],
        dict[str, list[CostChange]](),
    )
    lines += ["", *(f"{old} -> {new}" for old, new in differences.renames)] if differences.renames else []
    for change in differences.shown:
        groups.setdefault(change.algorithm, []).append(change)
    for algorithm, changes in groups.items():
        lines += ["", algorithm, *indent_lines(list(_iterate_change_lines(changes, width - 2)))]
    if assumed := list_assumptions(differences):
        lines += ["", assumed[0], *indent_lines([line for text in assumed[1:] for line in wrap(text, width - 2)])]
    return "\n".join(lines) + "\n"


def _iterate_change_lines(changes: Sequence[CostChange], width: int) -> Iterator[str]:
    """Yield the changes of an algorithm as a table if it fits, else each with condition and formulas below it."""
    whole = [cells[1:] for cells in map(make_change_row, changes)]
    rows = [[metric, outcome, ARROW.join(filter(None, (old, new))), more] for metric, outcome, old, new, more in whole]
    if sum(max(map(len, column)) + COLUMN_GAP for column in zip(*rows, strict=True)) - COLUMN_GAP <= width:
        yield from align_table(rows, width)
        return
    indent = max(INDENT, *(len(change.metric) + 1 for change in changes))
    room = width - indent
    for change in changes:
        _, metric, outcome, old, new, more = make_change_row(
            replace(change, when=None), MAX_EXPRESSION_LINES * (room - len(ARROW))
        )
        both = [f"{old}{ARROW}{new}"] if len(old + ARROW + new) <= room else [old, f"{ARROW[1:]}{new}"]
        alone = [] if old and new else [old or new] * bool(old or new)
        texts = [": ".join(filter(None, (" ".join([outcome, *alone]), more)))]
        texts += [f"where {change.when}"] * bool(change.when) + (both if old and new else [])
        first, *rest = (line for text in texts for line in wrap(text, room))
        yield f"{metric:{indent - 1}} {first}"
        yield from indent_lines(rest, indent)


MAX_COMMENT_LENGTH = 60_000
"""The maximum length of the Markdown in characters: a comment on GitHub may have 65,536."""
COLUMN_HEADS = ("algorithm", "cost", "change", "before", "after", "")
MARKDOWN_HEADER = "| algorithm | cost | change | before | after | |\n|---|---|---|---|---|---|"
CODE_COLUMNS = ("algorithm", "before", "after")
"""The columns of algorithms and expressions."""


def as_markdown(differences: VersionDifferences, width: int) -> str:
    """Return verdict, files left out, table and renames in Markdown; `width` has no effect."""
    rows = [
        f"{format_markdown_row(map(_format_cell, COLUMN_HEADS, make_change_row(change)))}\n"
        for change in differences.shown
    ]
    names = [f"- `{old}` -> `{new}`\n" for old, new in differences.renames]
    rows[:1] = [f"\n{MARKDOWN_HEADER}\n{row}" for row in rows[:1]]
    names[:1] = [f"\n{name}" for name in names[:1]]
    whole = f"**{format_verdict(differences)}**\n" if rows else f"{format_verdict(differences)}\n"
    notes = [*list_uncompared_files(differences), " ".join(list_assumptions(differences))]
    whole += "".join(f"\n{line}\n" for line in notes if line)[: MAX_COMMENT_LENGTH // 2]
    for number, row in enumerate([*rows, *names]):
        if len(whole) + len(row) > MAX_COMMENT_LENGTH - 100:
            return f"{whole}\nand {len(rows) + len(names) - number} more, which `archline diff` prints\n"
        whole += row
    return whole


def as_html(differences: VersionDifferences, width: int) -> str:
    """Return verdict, files left out, changes and renames as one HTML file; `width` has no effect."""
    tone = "bad" if differences.findings else "good"
    notes = [*list_uncompared_files(differences), *list_assumptions(differences)]
    blocks = [make_sentence(format_verdict(differences), tone), *map(make_sentence, notes)]
    if rows := list(map(make_change_row, differences.shown)):
        blocks.append(make_table((*COLUMN_HEADS[:-1], "note"), rows))
    if differences.renames:
        blocks.append(make_table(("renamed", "to"), differences.renames))
    return make_document("archline diff", "archline diff --format html", blocks)


def _format_cell(column: str, cell: str) -> str:
    return CodeText(cell) if column in CODE_COLUMNS else cell


def as_github(differences: VersionDifferences, width: int) -> str:
    """Return the commands of GitHub Actions, the verdict and the files left out; `width` has no effect."""
    findings = [*map(convert_diagnostic, differences.problems), *map(_make_finding, differences.findings)]
    lines = [
        *(format_command(finding, Path.cwd()) for finding in findings),
        format_verdict(differences),
        *list_uncompared_files(differences),
        *list_assumptions(differences),
    ]
    return "".join(f"{line}\n" for line in lines)


def _make_finding(change: CostChange) -> CheckFinding:
    algorithm, metric, outcome, old, new, more = make_change_row(change)
    texts = f"{algorithm}: {metric} {outcome}", f"{old} -> {new}", more, change.assumption
    message = "\n".join(filter(None, texts))
    rule = change.rule
    return CheckFinding(
        rule.code,
        ERROR,
        rule.title,
        message,
        SourcePlace(make_path_relative(change.file), change.line),
        key=f"{algorithm} {metric}",
    )


def as_json(differences: VersionDifferences, width: int) -> str:
    """Return the changes as a JSON document; `width` has no effect."""
    return json.render(make_json_document(differences))


def make_json_document(differences: VersionDifferences) -> dict[str, Any]:
    """Return the number of costs of each verdict, the changes, the renames, and the files that cannot be compared."""
    problems = map(convert_diagnostic, differences.problems)
    return {
        "version": json.COSTS_VERSION,
        "summary": differences.summary,
        "changes": [_make_change_document(change) for change in differences.changes],
        "assumptions": list(differences.assumptions),
        "renames": [{"old": old, "new": new} for old, new in differences.renames],
        "problems": [json.pick(problem, "code", "message", "path", "line") for problem in problems],
    }


def _make_change_document(change: CostChange) -> dict[str, Any]:
    loops = [
        {**json.make_iterations_document(loop.counted, loop.name), "version": loop.program}
        for loop in change.iterations
    ]
    document = {"algorithm": change.algorithm, **asdict(replace(change, iterations=(), counted=()))}
    del document["counted"]
    return {**document, "iterations": loops, "assumptions": list(change.assumptions)}
