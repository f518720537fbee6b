"""Comparisons as Markdown: all points, crossovers, and growth."""

from __future__ import annotations

from archline.compare.results import Comparison
from archline.report.documents.comparisons import document
from archline.report.documents.writers import markdown


def render(found: Comparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Tables and notes, for a README or a pull request."""
    return markdown(document(found, short=False, growth=growth))
