"""What fits into the cache in a regime, in words: `B fits`, `a column of B`, `a row of A`, `a few lines`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TypeAlias

from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.evaluate.exact import evaluate as value_of
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Kept
from archline.language import syntax as s
from archline.language.evaluate import EvaluationError as UndefinedError
from archline.language.evaluate import evaluate
from archline.report.view import AlternativeRow, Row

Shape: TypeAlias = Sequence[s.Expr]
LINE = 8
FEW = "a few lines"
PART = "more lines"
"""Regimes without a name of their own."""
COMPULSORY = "compulsory"
"""No line is fetched twice."""


def extent_of(regime: AlternativeRow, row: Row, shapes: Mapping[str, Shape]) -> str:
    """The largest part of an array whose lines stay in the cache for reuse, by its size."""
    if any(need == Poly.symbol("Z") - Poly.symbol("L") * regime.upper for need in regime.needs):
        return "all fits"
    named = _largest(regime, shapes)
    return COMPULSORY if named in (PART, FEW) and regime.upper == row.lower else named


def _largest(regime: AlternativeRow, shapes: Mapping[str, Shape]) -> str:
    sizes = sorted({name for shape in shapes.values() for each in shape for name in s.names((each,))})
    point = {name: 1000 + 96 * index for index, name in enumerate(sizes)} | {"L": LINE, "Z": 10**9}
    held = [(lines, each) for each in regime.kept if (lines := _lines(each, point)) is not None]
    most, largest = max(held, key=lambda pair: pair[0], default=(0, None))
    if largest is None or largest.held.is_constant or most < 8:
        return FEW
    shape = _extents(shapes.get(largest.array, ()), point)
    if shape:
        lines = -(-shape[-1] // LINE)
        whole = prod(shape[:-1]) * lines
        if abs(most - whole) <= 0.03 * whole:
            return f"{largest.array} fits"
        if len(shape) == 2 and abs(most - lines) <= 2:
            return f"a row of {largest.array}"
        if len(shape) == 2 and abs(most - shape[0]) <= 4:
            return f"a column of {largest.array}"
        if len(shape) == 2 and abs(most - 2 * lines) <= 4:
            return f"two rows of {largest.array}"
        if len(shape) == 3 and abs(most - lines * shape[1]) <= 0.03 * lines * shape[1]:
            return f"a plane of {largest.array}"
    return PART


def _lines(kept: Kept, point: Mapping[str, int]) -> float | None:
    try:
        return float(value_of(kept.held, point))
    except EvaluationError:
        return None


def _extents(shape: Shape, point: Mapping[str, int]) -> list[int]:
    """The extents at a point; empty where one has no value there."""
    found = []
    for each in shape:
        try:
            value = evaluate(each, point)
        except UndefinedError:
            return []
        if not isinstance(value, int):
            return []
        found.append(value)
    return found
