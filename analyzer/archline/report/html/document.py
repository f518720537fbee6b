"""Make reports of sentences and tables as HTML files: of checks and of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from archline.report.html.page import make_head, make_page

Block = Mapping[str, Any]
"""A heading, a sentence, a table, or text whose line ends count."""


def make_document(title: str, command: str, blocks: Iterable[Block], verdicts: Mapping[str, int] | None = None) -> str:
    """Return a page of blocks, with the number of claims of each outcome if there are claims."""
    return make_page({**make_head("document", title, command), "verdicts": verdicts, "blocks": list(blocks)})


def make_heading(text: str) -> Block:
    """Return a heading."""
    return {"type": "heading", "text": text}


def make_sentence(text: str, tone: str | None = None) -> Block:
    """Return a sentence, whose tone is "good", "bad", "warn" or None."""
    return {"type": "text", "text": text, "tone": tone}


def make_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Block:
    """Return a table."""
    return {"type": "table", "title": None, "head": list(head), "rows": list(map(list, rows)), "right": []}
