"""Pages as Markdown, for a README or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from archline.report.documents.model import Document, Formula, Phrase, Table

_MEANT = re.compile(r"([\\`*<>\[\]|#]|(?<!\w)_|_(?!\w))")
"""What Markdown gives a meaning; an underscore inside a word has none."""


def render(found: Document) -> str:
    """A heading, the tables, and the sentences as a list."""
    lines = [f"### {escaped(found.title)}", ""]
    about = [escaped(found.doc), f"`{found.place}`" if found.place else ""]
    if any(about):
        lines += [" ".join(filter(None, about)), ""]
    for table in found.tables:
        lines += [*_table(table), ""]
    lines += [f"- {_phrase(each)}" for each in found.sentences]
    return "\n".join(lines).rstrip() + "\n"


def _table(found: Table) -> Iterator[str]:
    yield _row([escaped(each) for each in found.head])
    yield _row(["---"] * len(found.head))
    yield from (_row([_phrase(cell) for cell in row]) for row in found.rows)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _phrase(found: Phrase) -> str:
    return "".join(_code(each) if isinstance(each, Formula) else escaped(each) for each in found)


def _code(formula: str) -> str:
    # In a table a bar ends a cell, in code too.
    return f"`{formula.replace('|', chr(92) + '|')}`"


def escaped(text: str) -> str:
    """Plain text on a line, without a meaning to Markdown."""
    return _MEANT.sub(r"\\\1", re.sub(r"\s+", " ", text))
