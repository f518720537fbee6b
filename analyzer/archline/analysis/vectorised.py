"""Evaluate bounds at many points in numpy arrays: exactly, by the best regime that holds at each point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from archline.algebra.evaluate.vectors import Column, Integers, Marks, TermCache, Vectors, measure_column
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from archline.language import syntax as s
from archline.language.metrics import WHOLE_METRICS

CHUNK = 2**14
"""The number of points that are evaluated together; their values fit in a processor's cache."""


class NoBoundError(EvaluationError):
    """The point with this index (`place`) has no bound."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(reason)
        self.place = place


def evaluate_upper_at_points(
    cost: Cost, points: Mapping[str, Integers], length: int, missing: Marks | None = None
) -> Integers:
    """Evaluate the upper bound at points, given by an array for each name: the minimum of the regimes that hold.

    Bounds on counts are rounded down, others up. The result is int64 if all bounds fit, else integers of Python. Points
    without a bound are marked as `missing`; without such marks they raise NoBoundError.
    """
    return _evaluate_in_chunks(cost, points, length, missing, _evaluate_upper_bound)


def evaluate_lower_at_points(
    cost: Cost, points: Mapping[str, Integers], length: int, missing: Marks | None = None
) -> Integers:
    """Evaluate the lower bound at points; bounds on counts are rounded up, others down.

    The remaining arguments are those of `evaluate_upper_at_points`.
    """
    return _evaluate_in_chunks(cost, points, length, missing, _evaluate_lower_bound)


def _evaluate_in_chunks(
    cost: Cost, points: Mapping[str, Integers], length: int, missing: Marks | None, end: Callable[..., Integers]
) -> Integers:
    """Evaluate a bound of a cost at points, CHUNK at a time; `end` evaluates the upper or lower bound of a chunk."""
    # Points of one magnitude stay together, so that few chunks need integers above 64 bits.
    order = _order_points_by_magnitude(points, length)
    parts, sums = [], TermCache()
    for start in range(0, length, CHUNK):
        chosen = order[start : start + CHUNK]
        vectors = Vectors({name: values[chosen] for name, values in points.items()}, len(chosen), sums)
        marks = None if missing is None else np.zeros(len(chosen), bool)
        try:
            parts.append(end(cost, vectors, len(chosen), marks))
        except NoBoundError as problem:
            raise NoBoundError(str(problem), int(chosen[problem.place])) from None
        if missing is not None and marks is not None:
            missing[chosen] |= marks
    kind = np.int64 if all(part.dtype == np.int64 for part in parts) else object
    result = np.zeros(length, kind)
    if parts:
        result[order] = np.concatenate(parts)
    return result


def _order_points_by_magnitude(points: Mapping[str, Integers], length: int) -> Integers:
    """Return the indices of the points by total bit length of their values, in rising order."""
    digits = np.zeros(length, np.uint16)
    for name, values in points.items():
        # Z occurs in comparisons alone, not in products that would need more bits.
        if name != "Z":
            digits += _bit_lengths(values)
    return np.argsort(digits, kind="stable")


def _bit_lengths(values: Integers) -> NDArray[np.uint16]:
    if values.dtype == object:
        lengths = (min(1000, int(value).bit_length()) for value in values)
        return np.fromiter(lengths, np.uint16, len(values))
    return np.frexp(values.astype(np.float64))[1].astype(np.uint16)


def _evaluate_upper_bound(cost: Cost, vectors: Vectors, length: int, missing: Marks | None) -> Integers:
    if not cost.plans:
        return _evaluate_related_upper(cost, vectors, length, missing)
    best = np.zeros(length, np.int64)
    has_bound = np.zeros(length, bool)
    rooms: dict[Poly, Marks] = {}
    for plan in (plan for plan in cost.plans if plan.shown != "growth"):
        fits = np.ones(length, bool)
        for need in plan.where.needs:
            if need not in rooms:
                rooms[need] = _require_values(vectors.evaluate_floor(need), np.ones(length, bool), missing) >= 0
            fits &= rooms[need]
        if fits.any():
            bound = _require_values(vectors.evaluate_floor(plan.value), fits, missing)
            better = fits & (~has_bound | (bound < best)) if has_bound.any() else fits
            if better.any():
                best = np.where(better, bound, best)
            has_bound |= fits
    if not has_bound.all():
        _mark_missing(~has_bound, "no regime holds", missing)
    return measure_column(best).values


def _evaluate_related_upper(cost: Cost, vectors: Vectors, length: int, missing: Marks | None = None) -> Integers:
    """Evaluate the minimum of the upper bounds of a cost and of the costs that it never exceeds."""
    assert cost.upper is not None
    best = _evaluate_rounded(cost.upper, not _is_bounded_count(cost), vectors, length, missing)
    for limit in cost.at_most:
        if limit.upper is not None and vectors.has_values_for(limit.upper):
            # The other cost may lack a value at one of the points.
            with suppress(EvaluationError):
                best = np.minimum(best, _evaluate_related_upper(limit, vectors, length))
    return best


def _evaluate_lower_bound(cost: Cost, vectors: Vectors, length: int, missing: Marks | None = None) -> Integers:
    """Evaluate the maximum of the lower bounds of a cost and of the costs that never exceed it."""
    assert cost.lower is not None
    best = _evaluate_rounded(cost.lower, _is_bounded_count(cost), vectors, length, missing)
    for limit in cost.at_least:
        if limit.lower is not None and vectors.has_values_for(limit.lower):
            with suppress(EvaluationError):
                best = np.maximum(best, _evaluate_lower_bound(limit, vectors, length))
    return best


def _is_bounded_count(cost: Cost) -> bool:
    """Test whether a cost is an integer count between bounds, which may be fractions."""
    return cost.metric in WHOLE_METRICS and cost.status == "bounded"


def _evaluate_rounded(bound: Poly, up: bool, vectors: Vectors, length: int, missing: Marks | None) -> Integers:
    values = _require_values(vectors.evaluate_floor(-bound if up else bound), np.ones(length, bool), missing)
    return -values if up else values


def find_false_fact(facts: Iterable[s.Fact], points: Mapping[str, Integers], length: int) -> tuple[s.Fact, int] | None:
    """Find the first fact that is false at a point, and the index of that point; None if all hold."""
    for fact in facts:
        names = s.find_names(fact)
        if not names <= points.keys() or not length:
            continue
        wrong = mark_false_points(fact, {name: points[name] for name in names}, length)
        if wrong.any():
            return fact, int(np.argmax(wrong))
    return None


def mark_false_points(fact: s.Fact, points: Mapping[str, Integers], length: int) -> Marks:
    """Mark the points at which a fact is false; `points` must have exactly the names in the fact."""
    match fact:
        case s.Binary(op=op, left=first, right=second) if op in _SIGN_TESTS:
            left, right = _convert_to_polynomial(first), _convert_to_polynomial(second)
            if left is not None and right is not None:
                return ~_SIGN_TESTS[op](Vectors(points, length).evaluate_floor(left - right).values)
        case s.Divides(divisor=first, value=second):
            left, right = _convert_to_polynomial(first), _convert_to_polynomial(second)
            if left is not None and right is not None:
                vectors = Vectors(points, length)
                by = vectors.evaluate_floor(left).values
                return np.asarray((by == 0) | (vectors.evaluate_floor(right).values % np.where(by == 0, 1, by) != 0))
        case _:
            # Other facts are decided point by point.
            pass
    rows = list(zip(*(values.tolist() for values in points.values()), strict=True)) or [()] * length
    false = {row for row in set(rows) if evaluate_fact(fact, dict(zip(points, row, strict=True))) is False}
    return np.fromiter((row in false for row in rows), bool, length)


_SIGN_TESTS: Mapping[str, Callable[[Integers], Marks]] = {
    "==": lambda difference: difference == 0,
    "!=": lambda difference: difference != 0,
    "<": lambda difference: difference < 0,
    "<=": lambda difference: difference <= 0,
    ">": lambda difference: difference > 0,
    ">=": lambda difference: difference >= 0,
}


def _convert_to_polynomial(expr: s.Expr) -> Poly | None:
    """Convert an expression to a sum of products of names and integers; None for any other operation."""
    match expr:
        case s.Integer(value=value):
            return Poly.constant(value)
        case s.Name(id=name):
            return Poly.symbol(name)
        case s.Binary(op="^", left=left, right=s.Integer(value=power)) if 0 < power < 10:
            base = _convert_to_polynomial(left)
            return None if base is None else base**power
        case s.Binary(op="+" | "-" | "*" as op, left=left, right=right):
            first, second = _convert_to_polynomial(left), _convert_to_polynomial(right)
            if first is None or second is None:
                return None
            return first * second if op == "*" else first + second if op == "+" else first - second
        case _:
            return None


def _require_values(values: Column, needed: Marks, missing: Marks | None = None) -> Integers:
    """Return the values; needed ones that do not exist are marked as `missing`, or raise NoBoundError without marks."""
    if values.missing is not None and (values.missing & needed).any():
        _mark_missing(values.missing & needed, "the bound has no exact value", missing)
    return values.values


def _mark_missing(marks: Marks, reason: str, missing: Marks | None) -> None:
    if missing is None:
        raise NoBoundError(reason, int(np.argmax(marks)))
    missing |= marks
