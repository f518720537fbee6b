"""A comparison: its points, or the growth of costs."""

from __future__ import annotations

from collections.abc import Mapping

from archline.compare.growth import Relation
from archline.compare.results import Comparison, Pair
from archline.report.comparisons import text
from archline.report.costs.forms import CUT
from archline.report.documents.model import Document, Phrase, Table, cells, with_growths

MOST = 12
"""So many points are shown on a short page, from the smallest sizes to the largest."""


def document(found: Comparison, *, short: bool = True, growth: bool = False) -> Document:
    """A table of points, notes, and tables of how costs grow where they are asked for or there are no points."""
    tables: list[Table] = []
    notes: list[str] = []
    if found.points:
        step = -(-len(found.points) // MOST) if short else 1
        rows = tuple(cells(*text.row(found, each)) for each in found.points[::step])
        tables.append(Table(tuple(text.head(found)), rows))
        if step > 1:
            notes.append(f"one point in {step} is shown")
        notes += text.notes(found)
    if growth or not found.points:
        tables += [_growth(found, pair, relations) for pair, relations in found.growth.items()]
    else:
        notes += [text.growth_line(found, pair, relations) for pair, relations in found.growth.items()]
    notes += text.case_note(found)
    if found.assumptions:
        notes.append("assuming " + ", ".join(found.assumptions))
    return Document(text.heading(found), "", "", tuple(tables), tuple((each,) for each in notes))


def _growth(found: Comparison, pair: Pair, relations: Mapping[str, Relation]) -> Table:
    rows: list[tuple[Phrase, ...]] = []
    for name, each in relations.items():
        label, relation, first, second = text.growth_row(found, name, each)
        rows.append(((label,), (relation,), _marked(first), _marked(second)))
    return Table(("growth", "relation", *pair), tuple(rows))


def _marked(growth: str) -> Phrase:
    return (growth,) if growth.endswith(CUT) else with_growths(growth)
