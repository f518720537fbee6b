"""Changes of costs for people: the verdict, then the costs that changed, algorithm by algorithm."""

from __future__ import annotations

from archline.changes.results import Differences
from archline.report.changes import cells, verdict
from archline.report.layout import indented, table


def render(found: Differences, width: int) -> str:
    """The verdict; then for each algorithm a table, its costs that fail first."""
    lines, groups = [verdict(found)], dict[str, list[list[str]]]()
    for change in found.shown:
        algorithm, metric, said, old, new, more = cells(change)
        groups.setdefault(algorithm, []).append([metric, said, " -> ".join(filter(None, (old, new))), more])
    for algorithm, rows in groups.items():
        lines += ["", algorithm, *indented(table(rows, width - 2))]
    return "\n".join(lines) + "\n"
