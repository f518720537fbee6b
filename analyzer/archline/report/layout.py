"""Break an expression at its outermost operators, and align the columns of a table of plain text."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from archline.records import record

MIN_WIDTH = 60
MAX_WIDTH = 160
GAP = 2
MIN_COLUMN = 24


def terminal_width() -> int:
    """The width to fill: the terminal's (or COLUMNS), within reason."""
    return max(MIN_WIDTH, min(MAX_WIDTH, shutil.get_terminal_size((100, 24)).columns))


def wrap(text: str, width: int, indent: str = "  ") -> list[str]:
    """Break a long expression or sentence at spaces; lines after the first are indented.

    A term stays whole, and its sign with it, where that fits a line. One that does not is broken inside its brackets,
    or behind `*`, `/` or `,`; what has no such place stands whole on a longer line.
    """
    if len(text) <= width:
        return [text]
    lines: list[str] = []
    line = ""
    for piece in _pieces(text, max(8, width - len(indent))):
        joined = f"{line} {piece}" if line else piece
        if line and len(joined) > width:
            lines.append(line)
            joined = indent + piece
        line = joined
    return [*lines, line]


def _pieces(text: str, width: int, depth: int = 0) -> Iterator[str]:
    """The words of a text, no longer than `width` where that can be had, each sign with the word behind it."""
    sign = ""
    for word in split_outside(text, depth):
        if word in ("+", "-"):
            sign = f"{word} "
            continue
        piece, sign = sign + word, ""
        if len(piece) <= width:
            yield piece
        elif " " in word:
            yield from _pieces(piece, width, depth + 1)
        else:
            yield from _broken(piece, width)


def split_outside(text: str, depth: int = 0) -> list[str]:
    """The words of a text, cut at spaces inside at most `depth` brackets."""
    words = [""]
    level = 0
    for character in text:
        level += (character in "([") - (character in ")]")
        if character == " " and level <= depth:
            words.append("")
        else:
            words[-1] += character
    return [word for word in words if word]


def _broken(piece: str, width: int) -> Iterator[str]:
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


def table(rows: Sequence[Sequence[str]], width: int, *, right: frozenset[int] = frozenset()) -> list[str]:
    """Columns in aligned columns; the widest columns are wrapped to fit. `right` numbers those aligned right.

    Where even narrow columns do not fit, the table is wider.
    """
    widths = _widths(rows, width)
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


def _widths(rows: Sequence[Sequence[str]], width: int) -> list[int]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    room = width - GAP * (len(widths) - 1)
    while sum(widths) > room:
        widest = max(range(len(widths)), key=lambda index: widths[index])
        # Level the widest column with the next one at most, so that several wide ones share the shortage.
        second = max((each for each in widths if each < widths[widest]), default=MIN_COLUMN)
        target = max(MIN_COLUMN, room - (sum(widths) - widths[widest]), second)
        if target >= widths[widest]:
            break
        widths[widest] = target
    return widths


def indented(lines: Sequence[str], by: int = 2) -> list[str]:
    """The lines moved right."""
    return [" " * by + line if line else line for line in lines]


@record
class Columns:
    """Rows of a page in aligned columns; `right` numbers those aligned right."""

    rows: Sequence[Sequence[str]]
    right: Iterable[int] = ()


@record
class Indented:
    """Parts of a page that are moved right."""

    parts: Iterable[Part]


Part: TypeAlias = "str | Columns | Indented | Sequence[str]"
"""A sentence, rows, what is moved right, or lines that fit."""


def page(width: int, head: str | Iterable[Part], *blocks: Iterable[Part]) -> str:
    """A head, and blocks below it, each behind an empty line and moved right; empty ones are left out."""
    lines = block_lines([head] if isinstance(head, str) else head, width)
    for shown in filter(None, (block_lines(each, width - 2) for each in blocks)):
        lines += ["", *indented(shown)]
    return "\n".join(lines) + "\n"


def block_lines(parts: Iterable[Part], width: int) -> list[str]:
    """The lines of a block: its parts below each other."""
    lines: list[str] = []
    for each in parts:
        match each:
            case str():
                lines += wrap(each, width)
            case Columns(rows=rows):
                lines += table(rows, width, right=frozenset(each.right)) if rows else []
            case Indented(parts=inside):
                lines += indented(block_lines(inside, width - 2))
            case _:
                lines += each
    return lines
