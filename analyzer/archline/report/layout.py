"""Break an expression at its outermost operators, and align the columns of a table of plain text."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from archline.records import record

MIN_WIDTH = 60
MAX_WIDTH = 160
COLUMN_GAP = 2
MIN_COLUMN_WIDTH = 24


def terminal_width() -> int:
    """Return the width to fill: the terminal's (or COLUMNS), between MIN_WIDTH and MAX_WIDTH."""
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size((100, 24)).columns))


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a long expression or sentence at spaces; lines after the first are indented.

    A term stays on one line together with its sign if it fits. A longer one is broken inside its brackets, or after
    `*`, `/` or `,`; without such a place it makes a longer line.
    """
    if len(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for piece in _split_to_width(text, max(8, width - len(indent))):
        joined = f"{line} {piece}" if line else piece
        if line and len(joined) > width:
            lines.append(line)
            joined = indent + piece
        line = joined
    return [*lines, line]


def _split_to_width(text: str, width: int, depth: int = 0) -> Iterator[str]:
    """Yield the words of a text, no longer than `width` if possible, each sign with the word after it."""
    sign = ""
    for word in split_outside_brackets(text, depth):
        if word in ("+", "-"):
            sign = f"{word} "
            continue
        piece, sign = sign + word, ""
        if len(piece) <= width:
            yield piece
        elif " " in word:
            yield from _split_to_width(piece, width, depth + 1)
        else:
            yield from _break_piece(piece, width)


def split_outside_brackets(text: str, depth: int = 0) -> list[str]:
    """Split a text into words, at spaces inside at most `depth` brackets."""
    words = [""]
    level = 0
    for character in text:
        level += (character in "([") - (character in ")]")
        if character == " " and level <= depth:
            words.append("")
        else:
            words[-1] += character
    return [word for word in words if word]


def _break_piece(piece: str, width: int) -> Iterator[str]:
    while len(piece) > width:
        level, places = 0, []
        for at, character in enumerate(piece[:width]):
            level += (character in "([") - (character in ")]")
            if at and character in "*/,":
                # Outside brackets if possible, and not within a fraction.
                places.append((-level, character != "/", at))
        if not places:
            break
        cut = max(places)[2] + 1
        yield piece[:cut]
        piece = piece[cut:]
    yield piece


def align_table(rows: Sequence[Sequence[str]], width: int, *, right: frozenset[int] = frozenset()) -> list[str]:
    """Lay out rows in aligned columns; the widest columns are wrapped to fit. `right` numbers those aligned right.

    A table whose columns have reached the minimum width may be wider.
    """
    widths = _fit_widths(rows, width)
    lines: list[str] = []
    for row in rows:
        cells = [wrap(cell, column_width) for cell, column_width in zip(row, widths, strict=True)]
        for number in range(max(len(cell) for cell in cells)):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            placed = [
                part.rjust(column_width) if index in right else part.ljust(column_width)
                for index, (part, column_width) in enumerate(zip(parts, widths, strict=True))
            ]
            lines.append((" " * COLUMN_GAP).join(placed).rstrip())
    return lines


def _fit_widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = width - COLUMN_GAP * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda index: widths[index])
        # Narrow the widest column to the next one at most, so that several wide columns share the shortage.
        second = max((column for column in widths if column < widths[widest]), default=MIN_COLUMN_WIDTH)
        target = max(MIN_COLUMN_WIDTH, room - (sum(widths) - widths[widest]), second)
        if target >= widths[widest]:
            break
        widths[widest] = target
    return widths


def indent_lines(lines: Sequence[str], by: int = 2) -> list[str]:
    """Indent the lines by some spaces."""
    return [" " * by + line if line else line for line in lines]


@record
class Columns:
    """Rows of a page in aligned columns; `right` numbers those aligned right."""

    rows: Sequence[Sequence[str]]
    right: Iterable[int] = ()


@record
class Indented:
    """Parts of a page that are indented."""

    parts: Iterable[Part]


Part: TypeAlias = "str | Columns | Indented | Sequence[str]"
"""A sentence, rows, indented parts, or lines that fit."""


def render_page(width: int, head: str | Iterable[Part], *blocks: Iterable[Part]) -> str:
    """Return a head, and the indented blocks below it, each after an empty line; empty blocks are left out."""
    lines = render_block([head] if isinstance(head, str) else head, width)
    for shown in filter(None, (render_block(block, width - 2) for block in blocks)):
        lines += ["", *indent_lines(shown)]
    return "\n".join(lines) + "\n"


def render_block(parts: Iterable[Part], width: int) -> list[str]:
    """Return the lines of a block: its parts in sequence."""
    lines: list[str] = []
    for part in parts:
        match part:
            case str():
                lines += wrap(part, width)
            case Columns(rows=rows):
                lines += align_table(rows, width, right=frozenset(part.right)) if rows else []
            case Indented(parts=inside):
                lines += indent_lines(render_block(inside, width - 2))
            case _:
                lines += part
    return lines
