"""A row of the first page."""

from __future__ import annotations

from archline.records import record
from archline.report.documents.model import Phrase


@record
class Line:
    """A row: what it is of, its form or value, its status (or the least Z of a regime), its growth."""

    label: str
    form: Phrase
    status: Phrase = ()
    growth: Phrase = ()
