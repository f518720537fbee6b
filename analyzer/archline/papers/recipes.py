"""The recipes by name: each a function that derives a row, the inputs that it needs, and those that it may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from archline.language.diagnostics import ArchlineError
from archline.papers import equations, tables, words
from archline.papers.findings import RowVerdict
from archline.papers.rows import PrintedRow

_OPTIMUM = ("minimise", "maximise", "equation", "root", "value", "coefficient", "leading")
_OF_TABLES = ("inputs", "machines", "without", "by_machine")
_RECIPES: dict[str, tuple[Callable[[PrintedRow], RowVerdict], tuple[str, ...], tuple[str, ...]]] = {
    "model": (equations.model, ("printed", "model", "of"), ("with",)),
    "limit": (equations.limit, ("printed",), ("of", "with", "names", "without")),
    "optimum": (equations.optimum, ("printed", "over"), _OPTIMUM),
    "cell": (tables.cell, ("rule",), ("quantity", *_OF_TABLES)),
    "units": (tables.units, ("printed", "rule"), ("units",)),
    "crossing": (tables.crossing, ("printed", "left", "right", "over", "between"), _OF_TABLES),
    "claim": (words.claim, ("printed",), ("where", "cases", *_OF_TABLES)),
    "growth": (words.growth, ("printed",), ("form", "use", "cost", "relation", "where")),
    "run": (words.run, ("printed", "runs"), ("program", "cases", *_OF_TABLES)),
}
INPUTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {name: (needs, takes) for name, (_, needs, takes) in _RECIPES.items()}
)


def derive(row: PrintedRow) -> RowVerdict:
    """What the recipe of a row finds. Raises ArchlineError for what it cannot read, with the place in the file."""
    try:
        return _RECIPES[row.kind][0](row)
    except ArchlineError as problem:
        first = problem.diagnostics[0]
        if first.span is not None and first.span.source is row.paper.places.source:
            raise
        raise row.wrong(first.rule, first.message, "printed", first.hint) from None
