"""Plain text in columns: expressions broken at their operators, tables with aligned columns."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

MIN_WIDTH = 60
MAX_WIDTH = 160
GAP = 2
MIN_COLUMN = 24


def terminal_width() -> int:
    """The width to fill: the terminal's (or COLUMNS), within reason."""
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size((100, 24)).columns))


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a long expression or sentence at spaces, before `+` and `-`; lines after the first are indented.

    A single piece that is too long alone is broken behind `*`, `/` or `,`, and where there is none it stands whole.
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces(text, max(8, width - len(indent))):
        lead = indent if lines else ""
        joined = f"{line} {piece}" if line else f"{lead}{piece}"
        if line and len(joined) > width:
            lines.append(line)
            joined = f"{indent}{piece}"
        line = joined
    return [*lines, line]


def _pieces(text: str, width: int) -> list[str]:
    """Words, a sign and the term that follows it together; no piece longer than `width` where that can be had."""
    pieces: list[str] = []
    sign = ""
    for word in text.split(" "):
        if word in ("+", "-"):
            sign = f"{word} "
            continue
        pieces.extend(_broken(sign + word, width))
        sign = ""
    return pieces


def _broken(piece: str, width: int) -> list[str]:
    parts = []
    while len(piece) > width:
        cut = max(piece.rfind(mark, 0, width) for mark in "*/,")
        if cut <= 0:
            break
        parts.append(piece[: cut + 1])
        piece = piece[cut + 1 :]
    return [*parts, piece]


def table(rows: Sequence[Sequence[str]], width: int, *, right: frozenset[int] = frozenset()) -> list[str]:
    """Rows in aligned columns, the first row being the header; the widest columns are wrapped to fit.

    `right` numbers the columns that are aligned right. Where even narrow columns do not fit, the table is wider.
    """
    columns = list(zip(*rows, strict=True))
    widths = [max(len(cell) for cell in column) for column in columns]
    room = width - GAP * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda index: widths[index])
        second = max((each for index, each in enumerate(widths) if index != widest), default=0)
        others = sum(widths) - widths[widest]
        target = max(MIN_COLUMN, room - others, second if second < widths[widest] else widths[widest] - 1)
        if target >= widths[widest]:
            break
        widths[widest] = target
    lines: list[str] = []
    for row in rows:
        cells = [wrap(cell, each) for cell, each in zip(row, widths, strict=True)]
        for number in range(max(len(cell) for cell in cells)):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            placed = [
                part.rjust(each) if index in right else part.ljust(each)
                for index, (part, each) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append((" " * GAP).join(placed).rstrip())
    return lines


def indented(lines: Sequence[str], by: int = 2) -> list[str]:
    """The lines moved right."""
    return [" " * by + line if line else line for line in lines]
