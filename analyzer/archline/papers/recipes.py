"""The recipes by name, with the inputs that each needs and may have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from archline.papers import equations, tables, words
from archline.papers.findings import Finding
from archline.papers.rows import PrintedRow
from archline.records import record


@record
class Recipe:
    """A function that derives a row, the inputs that it needs, and those that it may have."""

    derive: Callable[[PrintedRow], Finding]
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()


RECIPES: Mapping[str, Recipe] = MappingProxyType(
    {
        "model": Recipe(equations.model, ("printed", "model", "of"), ("with",)),
        "limit": Recipe(equations.limit, ("printed", "of"), ("with",)),
        "optimum": Recipe(
            equations.optimum,
            ("printed", "over"),
            ("minimise", "maximise", "equation", "root", "value", "coefficient", "leading"),
        ),
        "cell": Recipe(tables.cell, ("rule",), ("inputs", "machines", "without", "quantity", "by_machine")),
        "units": Recipe(tables.units, ("printed", "rule"), ("units", "inputs", "machines", "quantity", "gives")),
        "crossing": Recipe(tables.crossing, ("printed", "left", "right", "over", "between"), ("inputs", "machines")),
        "claim": Recipe(words.claim, ("printed",), ("where", "machines", "without", "inputs", "by_machine")),
        "growth": Recipe(words.growth, ("printed",), ("form", "use", "cost", "relation", "order", "where")),
        "run": Recipe(words.run, ("printed", "runs"), ("cases", "machines", "without")),
    }
)
KEYS = {name: (each.needs, each.takes) for name, each in RECIPES.items()}
