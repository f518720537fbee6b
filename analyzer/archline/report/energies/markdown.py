"""Energies as Markdown: tables for a README or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from archline.energy.results import EnergyResult
from archline.report.documents import markdown
from archline.report.documents.energies import document


def render(results: Sequence[EnergyResult], width: int) -> str:
    """A heading, a table and its notes for each result."""
    return "\n".join(markdown.render(document(each)) for each in results)
