"""What changed as Markdown, for a comment on a pull request: one table and other names, as far as there is room."""

from __future__ import annotations

from archline.changes.results import Differences
from archline.report.changed_costs import cells, refused, verdict

MOST = 60_000
"""Characters: a comment on GitHub may have 65,536."""
HEADER = "| algorithm | cost | change | before | after | |\n|---|---|---|---|---|---|"
CODE = (0, 3, 4)
"""The columns of algorithms and expressions."""


def render(found: Differences, width: int) -> str:
    """The verdict, what is left out, the table and other names."""
    rows = [_row(cells(each)) for each in found.shown]
    names = [f"- `{old}` -> `{new}`\n" for old, new in found.renames]
    rows[:1] = [f"\n{HEADER}\n{each}" for each in rows[:1]]
    names[:1] = [f"\n{each}" for each in names[:1]]
    whole = f"**{verdict(found)}**\n" if rows else f"{verdict(found)}\n"
    whole += "".join(f"\n{each}\n" for each in refused(found))[: MOST // 2]
    for number, row in enumerate([*rows, *names]):
        if len(whole) + len(row) > MOST - 100:
            return f"{whole}\nand {len(rows) + len(names) - number} more, which `archline diff` prints\n"
        whole += row
    return whole


def _row(texts: list[str]) -> str:
    plain = [" ".join(each.replace("|", "\\|").split()) for each in texts]
    return f"| {' | '.join(f'`{each}`' if each and at in CODE else each for at, each in enumerate(plain))} |\n"
