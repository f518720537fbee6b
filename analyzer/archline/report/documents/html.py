"""Pages as HTML, for notebooks."""

from __future__ import annotations

from html import escape

from archline.report.documents.model import Document, Formula, Phrase, Table


def render(found: Document) -> str:
    """The title, the tables, and a paragraph a sentence."""
    place = f" <small><code>{escape(found.place)}</code></small>" if found.place else ""
    head = f"<p><strong>{escape(found.title)}</strong>{' ' * bool(found.doc)}{escape(found.doc)}{place}</p>"
    below = "".join(f"<p>{_phrase(each)}</p>" for each in found.sentences)
    return f"<div>{head}{''.join(map(_table, found.tables))}{below}</div>"


def _table(found: Table) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in found.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_phrase(cell)}</td>' for cell in row)}</tr>" for row in found.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _phrase(found: Phrase) -> str:
    return "".join(f"<code>{escape(each)}</code>" if isinstance(each, Formula) else escape(each) for each in found)
