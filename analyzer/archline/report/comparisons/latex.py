"""Comparisons as LaTeX: all points, crossovers, and growth."""

from __future__ import annotations

from archline.compare.results import Comparison
from archline.report.documents.comparisons import document
from archline.report.documents.writers import latex


def render(found: Comparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Arrays and sentences, for a paper."""
    return latex(document(found, short=False, growth=growth))
