"""What changed as plain text: a table for each algorithm, its costs that fail first."""

from __future__ import annotations

from archline.changes.results import Differences
from archline.report.changed_costs import cells, refused, verdict
from archline.report.layout import indented, table


def render(found: Differences, width: int) -> str:
    """The verdict, what is left out, other names, and the tables."""
    lines, groups = [verdict(found), *refused(found)], dict[str, list[list[str]]]()
    lines += ["", *(f"{old} -> {new}" for old, new in found.renames)] if found.renames else []
    for algorithm, metric, said, old, new, more in map(cells, found.shown):
        groups.setdefault(algorithm, []).append([metric, said, " -> ".join(filter(None, (old, new))), more])
    for algorithm, rows in groups.items():
        lines += ["", algorithm, *indented(table(rows, width - 2))]
    return "\n".join(lines) + "\n"
