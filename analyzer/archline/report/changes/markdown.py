"""Changes of costs as Markdown, for a comment on a pull request: the verdict, then a table of what changed."""

from __future__ import annotations

from archline.changes.results import Differences
from archline.report.changes import cells, verdict

MOST = 60_000
"""Characters: a comment on GitHub may have 65,536."""
HEADER = "| algorithm | cost | change | before | after | |\n|---|---|---|---|---|---|"
CODE = (0, 3, 4)
"""The columns that hold names and expressions."""


def render(found: Differences, width: int) -> str:
    """The verdict, then the table, with as many rows as there is room for."""
    if not found.shown:
        return f"{verdict(found)}\n"
    text, rows = f"**{verdict(found)}**\n\n{HEADER}\n", [_row(cells(each)) for each in found.shown]
    for number, row in enumerate(rows):
        if len(text) + len(row) > MOST - 100:
            return f"{text}\nand {len(rows) - number} more, which `archline diff` prints\n"
        text += row
    return text


def _row(texts: list[str]) -> str:
    plain = [" ".join(each.replace("|", "\\|").split()) for each in texts]
    return f"| {' | '.join(f'`{each}`' if each and at in CODE else each for at, each in enumerate(plain))} |\n"
