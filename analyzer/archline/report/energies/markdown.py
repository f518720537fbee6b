"""Energies as Markdown: tables for a README or a pull request."""

from __future__ import annotations

from collections.abc import Sequence

from archline.energy.results import EnergyResult
from archline.report.documents.energies import document
from archline.report.documents.writers import markdown


def render(results: Sequence[EnergyResult], width: int) -> str:
    """A heading, a table and its notes for each result."""
    return "\n".join(markdown(document(each)) for each in results)
