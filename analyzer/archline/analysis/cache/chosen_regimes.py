"""Select the few cache regimes that a page shows, by the misses that they save for the lines that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.bounds import Bound
from archline.expr.intervals import EvaluationError
from archline.growth.leading_terms import CACHE

MAX_REGIMES = 4
"""The maximum number of regimes to select."""
SIMILARITY_TOLERANCE = 0.02
"""Regimes whose cache sizes, or misses, differ by at most this share are considered equal."""
LINE = 8
"""The words of a line at which regimes are compared."""
LARGE_ARRAY_EXTENTS, FREE_SIZE_VALUES = (12000, 1512), (520, 40)
"""Sizes at which regimes are compared, for extents of arrays and for other sizes: the first value, and the step."""


def select_regimes(regimes: Sequence[Bound]) -> Sequence[Bound]:
    """Select at most `MAX_REGIMES` bounds to show; `regimes` are ordered by the lines that they need.

    The last bound with a constant number of lines and the last bound of all are kept, and between them the bounds
    that save most. Of bounds that need about the same lines the last is kept, and of bounds with about the same
    misses the first.
    """
    point = comparison_point(regimes)
    shown: list[Bound] = []
    for regime in regimes:
        if (
            shown
            and is_constant(shown[-1]) == is_constant(regime)
            and (
                is_constant(regime)
                or words_needed(regime, point) <= (1 + SIMILARITY_TOLERANCE) * words_needed(shown[-1], point)
            )
        ):
            shown.pop()
        if not shown or miss_bound(regime, point) < (1 - SIMILARITY_TOLERANCE) * miss_bound(shown[-1], point):
            shown.append(regime)
    values = [miss_bound(regime, point) for regime in shown]
    while len(shown) > MAX_REGIMES:
        # The regime that saves the least over its predecessor is left out.
        worst = min(range(1, len(shown) - 1), key=lambda index: values[index - 1] / (values[index] or 1))
        del shown[worst], values[worst]
    return shown


def is_constant(regime: Bound) -> bool:
    """Test whether the number of lines that a bound needs is independent of the sizes."""
    return all(need.names <= CACHE for need in regime.where.needs)


def comparison_point(regimes: Iterable[Bound]) -> dict[str, int]:
    """Choose sizes at which regimes are compared: extents of arrays are large, other sizes smaller, all distinct."""
    values = [value for regime in regimes for value in (regime.value, *regime.where.needs)]
    extents = {name for regime in regimes for kept in regime.kept for extent in kept.extents for name in extent.names}
    names = sorted({name for value in values for name in value.names} - CACHE)
    scales = (
        (name, number, LARGE_ARRAY_EXTENTS if name in extents else FREE_SIZE_VALUES)
        for number, name in enumerate(names)
    )
    point = {name: first + step * number for name, number, (first, step) in scales}
    return {**point, "L": LINE, "Z": 0}


def words_needed(regime: Bound, point: Mapping[str, int]) -> float:
    """Evaluate the number of words that a bound needs of the cache."""
    return max(-value_at(need, point) for need in regime.where.needs)


def miss_bound(regime: Bound, point: Mapping[str, int]) -> float:
    """Evaluate the upper bound on misses."""
    return value_at(regime.value, point)


def value_at(value: Poly, point: Mapping[str, int]) -> float:
    """Evaluate an expression; infinity if it has no value, or one that floats cannot represent."""
    try:
        return float(evaluate(value, point))
    except (EvaluationError, OverflowError):
        return inf
