"""What changed as plain text: for each algorithm its costs that fail first, in a table if that fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.changes.results import CostChange, Differences
from archline.records import replace
from archline.report.changed_costs import cells, refused, verdict
from archline.report.layout import GAP, indented, table, wrap

LINES = 2
"""So many lines of an expression are shown; JSON has it whole."""
INDENT, TO = 8, " -> "


def render(found: Differences, width: int) -> str:
    """The verdict, what is left out, other names, and the changes."""
    lines, groups = [*wrap(verdict(found), width), *refused(found)], dict[str, list[CostChange]]()
    lines += ["", *(f"{old} -> {new}" for old, new in found.renames)] if found.renames else []
    for each in found.shown:
        groups.setdefault(each.algorithm, []).append(each)
    for algorithm, changes in groups.items():
        lines += ["", algorithm, *indented(list(_told(changes, width - 2)))]
    return "\n".join(lines) + "\n"


def _told(changes: Sequence[CostChange], width: int) -> Iterator[str]:
    """The changes of an algorithm: in a table, or each with its condition and its formulas below what became of it."""
    whole = [each[1:] for each in map(cells, changes)]
    rows = [[metric, said, TO.join(filter(None, (old, new))), more] for metric, said, old, new, more in whole]
    if sum(max(map(len, column)) + GAP for column in zip(*rows, strict=True)) - GAP <= width:
        yield from table(rows, width)
        return
    room = width - INDENT
    for each in changes:
        _, metric, said, old, new, more = cells(replace(each, when=None), LINES * (room - len(TO)))
        both = [f"{old}{TO}{new}"] if len(old + TO + new) <= room else [old, f"{TO[1:]}{new}"]
        alone = [] if old and new else [old or new] * bool(old or new)
        texts = [": ".join(filter(None, (" ".join([said, *alone]), more)))]
        texts += [f"where {each.when}"] * bool(each.when) + (both if old and new else [])
        first, *rest = (line for text in texts for line in wrap(text, room))
        yield f"{metric:{INDENT - 1}} {first}"
        yield from indented(rest, INDENT)
