"""A run: its counts between the derived bounds."""

from __future__ import annotations

from archline.report import text
from archline.report.documents.model import Document, Table, cells
from archline.report.view import RunView


def document(view: RunView) -> Document:
    """A table of counts, and what they are of."""
    head, *rows = text.counted(view)
    alarm = [text.alarm(view.counts.outside)] if view.counts.outside else []
    sentences = [(each,) for each in (*alarm, *text.notes(view))]
    return Document(
        text.run_heading(view), "", "", (Table(tuple(head), tuple(cells(*row) for row in rows)),), tuple(sentences)
    )
