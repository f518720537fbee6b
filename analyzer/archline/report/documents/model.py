"""A page whatever its format: a title, tables, and sentences in which formulas are marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from archline.records import record


class Formula(str):
    """A formula in the language's syntax, a growth or a relation, which each format typesets."""

    __slots__ = ()


Phrase: TypeAlias = tuple[str, ...]
"""A sentence or a cell, in pieces: text as it is, and formulas."""
_GROWTH = re.compile(r"\b(?:Theta|Omega|O)\(")
_RELATION = re.compile(r".+ (?:>=|<=|==|!=|<|>|is|divides) .+")


@record
class Table:
    """Columns below a head; all have as many cells as the head."""

    head: tuple[str, ...]
    rows: tuple[tuple[Phrase, ...], ...]


@record
class Document:
    """A page. `place` is where its subject is declared, empty for one without a place."""

    title: str
    doc: str
    place: str
    tables: tuple[Table, ...]
    sentences: tuple[Phrase, ...]


def plain(phrase: Phrase) -> str:
    """The sentence as plain text."""
    return "".join(phrase)


def cells(*texts: str) -> tuple[Phrase, ...]:
    """A row of texts and formulas."""
    return tuple((each,) if each else () for each in texts)


def with_growths(text: str) -> Phrase:
    """A sentence with its `Theta(...)`, `O(...)` and `Omega(...)` marked as formulas."""
    return tuple(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    while (found := _GROWTH.search(text)) is not None:
        end = _closing(text, found.end())
        yield from filter(None, (text[: found.start()], Formula(text[found.start() : end])))
        text = text[end:]
    if text:
        yield text


def _closing(text: str, start: int) -> int:
    """Behind the bracket that closes the one before `start`."""
    depth = 1
    for index in range(start, len(text)):
        depth += (text[index] in "([") - (text[index] in ")]")
        if not depth:
            return index + 1
    return len(text)


def conditions(text: str) -> Phrase:
    """`n >= 2 and m >= 1` with each relation marked as a formula."""
    return joined([Formula(each) if _RELATION.fullmatch(each) else each for each in text.split(" and ")], " and ")


def joined(parts: Sequence[str], mark: str) -> Phrase:
    """The parts with a mark between them."""
    return tuple(piece for each in parts for piece in (mark, each))[1:]
