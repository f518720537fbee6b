"""Comparisons as LaTeX: all points, crossovers, and growth."""

from __future__ import annotations

from archline.compare.results import Comparison
from archline.report.documents import latex
from archline.report.documents.comparisons import document


def render(found: Comparison, width: int, *, certificates: bool = False, growth: bool = False) -> str:
    """Arrays and sentences, for a paper."""
    return latex.render(document(found, short=False, growth=growth))
