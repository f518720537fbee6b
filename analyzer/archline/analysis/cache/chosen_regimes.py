"""The few regimes of a cache that a page shows: those that save most cache misses for the lines that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.cost import ConditionalBound
from archline.expr.intervals import EvaluationError
from archline.growth.leading_terms import CACHE

REGIMES = 4
"""So many are chosen at most."""
ALIKE = 0.02
"""Regimes whose cache size, or cache misses, differ by at most this share are one."""
LINE = 8
LARGE_ARRAY_EXTENTS, FREE_SIZE_VALUES = (12000, 1512), (520, 40)
"""Where regimes are compared: the first extent of arrays and how far others are apart, and sizes that no array has."""


def select_regimes(found: Sequence[ConditionalBound]) -> Sequence[ConditionalBound]:
    """The last whose number of lines is the same for all sizes, the last of all, and those that save most between.

    Of those that need about the same the last, of those that fetch about the same the first.
    """
    point = point_of(found)
    shown: list[ConditionalBound] = []
    for each in found:
        if (
            shown
            and is_constant(shown[-1]) == is_constant(each)
            and (is_constant(each) or words_needed(each, point) <= (1 + ALIKE) * words_needed(shown[-1], point))
        ):
            shown.pop()
        if not shown or miss_bound(each, point) < (1 - ALIKE) * miss_bound(shown[-1], point):
            shown.append(each)
    values = [miss_bound(each, point) for each in shown]
    while len(shown) > REGIMES:
        # The step from the one before that saves the least is left out.
        least = min(range(1, len(shown) - 1), key=lambda index: values[index - 1] / (values[index] or 1))
        del shown[least], values[least]
    return shown


def is_constant(regime: ConditionalBound) -> bool:
    """Whether so many lines are needed at all sizes."""
    return all(need.names <= CACHE for need in regime.needs)


def point_of(regimes: Iterable[ConditionalBound]) -> dict[str, int]:
    """Sizes at which regimes are compared: arrays are large, blocks smaller, no two alike."""
    values = [value for each in regimes for value in (each.upper, *each.needs)]
    extents = {name for each in regimes for kept in each.kept for extent in kept.extents for name in extent.names}
    names = sorted({name for value in values for name in value.names} - CACHE)
    scales = (
        (name, place, LARGE_ARRAY_EXTENTS if name in extents else FREE_SIZE_VALUES) for place, name in enumerate(names)
    )
    point = {name: first + apart * place for name, place, (first, apart) in scales}
    return {**point, "L": LINE, "Z": 0}


def words_needed(regime: ConditionalBound, point: Mapping[str, int]) -> float:
    """The words that it needs at sizes."""
    return max(-value_at(need, point) for need in regime.needs)


def miss_bound(regime: ConditionalBound, point: Mapping[str, int]) -> float:
    """What it fetches at most there."""
    return value_at(regime.upper, point)


def value_at(value: Poly, point: Mapping[str, int]) -> float:
    """An expression at sizes; infinite where it has no value, or too large a one."""
    try:
        return float(evaluate(value, point))
    except (EvaluationError, OverflowError):
        return inf
