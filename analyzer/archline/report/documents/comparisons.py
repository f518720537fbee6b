"""A comparison: its points, or the growth of costs."""

from __future__ import annotations

from collections.abc import Mapping

from archline.compare.growth import Relation
from archline.compare.results import Comparison, Pair
from archline.report.comparisons import text
from archline.report.documents.model import Document, Phrase, Table, cells, with_growths

MOST = 12
"""So many points are shown, from the smallest sizes to the largest."""


def document(found: Comparison) -> Document:
    """A table of points, or of how costs grow where there are none, and notes."""
    if found.points:
        step = -(-len(found.points) // MOST)
        rows = tuple(cells(*text.row(found, each)) for each in found.points[::step])
        tables = [Table(tuple(text.head(found)), rows)]
        notes = list(text.notes(found))
        notes += [text.growth_line(pair, relations) for pair, relations in found.growth.items()]
        if step > 1:
            notes.insert(0, f"one point in {step} is shown")
    else:
        tables = [_growth(pair, relations) for pair, relations in found.growth.items()]
        notes = []
    if found.assumptions:
        notes.append("assuming " + ", ".join(found.assumptions))
    return Document(text.heading(found), "", "", tuple(tables), tuple((each,) for each in notes))


def _growth(pair: Pair, relations: Mapping[str, Relation]) -> Table:
    rows: list[tuple[Phrase, ...]] = []
    for name, each in relations.items():
        label, relation, first, second = text.growth_row(name, each)
        rows.append(((label,), (relation,), with_growths(first), with_growths(second)))
    return Table(("growth", "relation", *pair), tuple(rows))
