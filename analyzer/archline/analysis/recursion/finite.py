"""Proofs by trying every value, where the facts leave only a few."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import prod

from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.proofs import never_negative
from archline.analysis.recursion.binades import holds_in_binades

MAX_POINTS = 5_000


def holds_everywhere(value: Poly, facts: Facts) -> bool:
    """Whether the value is proved to be at least 0: by algebra, or at each of a few sizes that the facts allow."""
    value = facts.simplify(value)
    ranges = _ranges(value, facts)
    if ranges is not None and prod(map(len, ranges.values())) <= 1:
        return _at_all(value, ranges)
    if holds_in_binades(value, facts) or never_negative(value, facts):
        return True
    return ranges is not None and _at_all(value, ranges)


def _ranges(value: Poly, facts: Facts) -> dict[str, range] | None:
    """The values of every symbol between constant bounds; None where one has no such bounds or there are too many."""
    found: dict[str, range] = {}
    for name in sorted(value.names):
        known = facts.bounds.get(name)
        low = [each.constant_term for each in known.lower if each.is_constant] if known else []
        high = [each.constant_term for each in known.upper if each.is_constant] if known else []
        if not low or not high:
            return None
        found[name] = range(int(max(low).ceil()), int(min(high).floor()) + 1)
        if prod(map(len, found.values())) > MAX_POINTS:
            return None
    return found


def counterexamples(value: Poly, facts: Facts) -> Iterator[dict[str, int]]:
    """The sizes at which the value is below 0, where the facts leave only a few."""
    value = facts.simplify(value)
    ranges = _ranges(value, facts)
    if ranges is not None:
        yield from (point for point in _points(ranges) if evaluate(value, point) < 0)


def _at_all(value: Poly, ranges: dict[str, range]) -> bool:
    try:
        return all(evaluate(value, point) >= 0 for point in _points(ranges))
    except EvaluationError:
        return False


def _points(ranges: dict[str, range]) -> Iterator[dict[str, int]]:
    for values in product(*ranges.values()):
        yield dict(zip(ranges, values, strict=True))
