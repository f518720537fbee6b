"""Select the few cache regimes that a page shows, by the misses that they save for the lines that they need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.bounds import Bound
from archline.expr.intervals import EvaluationError
from archline.growth.leading_terms import CACHE_PARAMETERS

MAX_REGIMES = 4
"""The maximum number of regimes to select."""
SIMILARITY_TOLERANCE = 0.02
"""Regimes whose cache sizes, or misses, differ by at most this share are considered equal."""
SAMPLE_LINE_WORDS = 8
"""The words of a line at which regimes are compared."""
LARGE_ARRAY_EXTENTS, FREE_SIZE_VALUES = (12000, 1512), (520, 40)
"""Sizes at which regimes are compared, for extents of arrays and for other sizes: the first value, and the step."""


def select_regimes(regimes: Sequence[Bound]) -> Sequence[Bound]:
    """Select at most `MAX_REGIMES` upper bounds on misses to show; `regimes` are ordered by the lines that they need.

    The last bound with a constant number of lines and the last bound of all are kept, and between them the bounds
    that save most. Of bounds that need about the same lines the last is kept, and of bounds with about the same
    misses the first.
    """
    point = choose_comparison_point(regimes)
    shown: list[Bound] = []
    for regime in regimes:
        if (
            shown
            and needs_constant_lines(shown[-1]) == needs_constant_lines(regime)
            and (
                needs_constant_lines(regime)
                or evaluate_needed_words(regime, point)
                <= (1 + SIMILARITY_TOLERANCE) * evaluate_needed_words(shown[-1], point)
            )
        ):
            shown.pop()
        if not shown or evaluate_miss_bound(regime, point) < (1 - SIMILARITY_TOLERANCE) * evaluate_miss_bound(
            shown[-1], point
        ):
            shown.append(regime)
    values = [evaluate_miss_bound(regime, point) for regime in shown]
    while len(shown) > MAX_REGIMES:
        # The regime that saves the least over its predecessor is left out.
        worst = min(range(1, len(shown) - 1), key=lambda index: values[index - 1] / (values[index] or 1))
        del shown[worst], values[worst]
    return shown


def needs_constant_lines(regime: Bound) -> bool:
    """Test whether the number of lines that a bound needs is independent of the sizes."""
    return all(need.names <= CACHE_PARAMETERS for need in regime.where.needs)


def choose_comparison_point(regimes: Iterable[Bound]) -> dict[str, int]:
    """Choose sizes at which regimes are compared: extents of arrays are large, other sizes smaller, all distinct."""
    values = [value for regime in regimes for value in (regime.value, *regime.where.needs)]
    extents = {
        name
        for regime in regimes
        for residency in regime.residencies
        for extent in residency.extents
        for name in extent.names
    }
    names = sorted({name for value in values for name in value.names} - CACHE_PARAMETERS)
    scales = (
        (name, number, LARGE_ARRAY_EXTENTS if name in extents else FREE_SIZE_VALUES)
        for number, name in enumerate(names)
    )
    point = {name: first + step * number for name, number, (first, step) in scales}
    return {**point, "L": SAMPLE_LINE_WORDS, "Z": 0}


def evaluate_needed_words(regime: Bound, point: Mapping[str, int]) -> float:
    """Evaluate the number of words of cache that a bound requires."""
    return max(-evaluate_or_infinity(need, point) for need in regime.where.needs)


def evaluate_miss_bound(regime: Bound, point: Mapping[str, int]) -> float:
    """Evaluate the upper bound on misses."""
    return evaluate_or_infinity(regime.value, point)


def evaluate_or_infinity(value: Poly, point: Mapping[str, int]) -> float:
    """Evaluate an expression; infinity if it has no value, or one that floats cannot represent."""
    try:
        return float(evaluate(value, point))
    except (EvaluationError, OverflowError):
        return inf
