"""Upper bounds at many points at once: the least of the regimes that hold at each, exact, in numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.evaluate.vectors import Column, Integers, Marks, Sums, Vectors, column
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost
from archline.language import syntax as s
from archline.language.evaluate import holds

CHUNK = 2**14
"""So many points at a time keep what is computed in a processor's own cache."""


class NoBoundError(EvaluationError):
    """There is no bound at a point, the one at `place`."""

    def __init__(self, reason: str, place: int) -> None:
        super().__init__(reason)
        self.place = place


def upper_at(cost: Cost, points: Mapping[str, Integers], length: int) -> Integers:
    """The upper bound at points, given by an array for each name: the least of those whose conditions hold.

    Those of io, which counts, are rounded down, others up. int64 where that holds all of them, else integers of
    Python. Raises NoBoundError.
    """
    assert cost.upper is not None
    # Points of one magnitude stay together, so that few chunks need numbers of any length.
    order = _by_magnitude(points, length)
    parts, sums = [], Sums()
    for start in range(0, length, CHUNK):
        chosen = order[start : start + CHUNK]
        vectors = Vectors({name: values[chosen] for name, values in points.items()}, len(chosen), sums)
        try:
            parts.append(_least(cost, vectors, len(chosen)))
        except NoBoundError as problem:
            raise NoBoundError(str(problem), int(chosen[problem.place])) from None
    kind = np.int64 if all(part.dtype == np.int64 for part in parts) else object
    found = np.zeros(length, kind)
    if parts:
        found[order] = np.concatenate(parts)
    return found


def _by_magnitude(points: Mapping[str, Integers], length: int) -> Integers:
    """The places of the points, those with small numbers first."""
    digits = np.zeros(length, np.uint16)
    for name, values in points.items():
        # Conditions compare with Z, which multiplies nothing.
        if name != "Z":
            digits += _digits(values)
    return np.argsort(digits, kind="stable")


def _digits(values: Integers) -> NDArray[np.uint16]:
    if values.dtype == object:
        lengths = (min(1000, int(value).bit_length()) for value in values)
        return np.fromiter(lengths, np.uint16, len(values))
    return np.frexp(values.astype(np.float64))[1].astype(np.uint16)


def _least(cost: Cost, vectors: Vectors, length: int) -> Integers:
    if not cost.alternatives:
        return _least_of_related(cost, vectors, length)
    best = np.zeros(length, np.int64)
    found = np.zeros(length, bool)
    rooms: dict[Poly, Marks] = {}
    for each in (each for each in cost.alternatives if not each.lean):
        fits = np.ones(length, bool)
        for need in each.needs:
            if need not in rooms:
                rooms[need] = _known(vectors.floor(need), np.ones(length, bool)) >= 0
            fits &= rooms[need]
        if fits.any():
            bound = _known(vectors.floor(each.upper), fits)
            better = fits & (~found | (bound < best)) if found.any() else fits
            if better.any():
                best = np.where(better, bound, best)
            found |= fits
    if not found.all():
        raise NoBoundError("no regime holds", int(np.argmin(found)))
    return column(best).values


def _least_of_related(cost: Cost, vectors: Vectors, length: int) -> Integers:
    """The upper bound, or the least of the costs that it never exceeds where that is smaller."""
    assert cost.upper is not None
    best = -_known(vectors.floor(-cost.upper), np.ones(length, bool))
    for other in cost.at_most:
        if other.upper is not None and vectors.gives(other.upper):
            # It may have no value at one of the points.
            with suppress(EvaluationError):
                best = np.minimum(best, _least_of_related(other, vectors, length))
    return best


def broken(facts: Iterable[s.Fact], points: Mapping[str, Integers], length: int) -> tuple[s.Fact, int] | None:
    """A fact that is false at a point, and the place of that point."""
    for fact in facts:
        names = s.names(fact)
        if not names <= points.keys() or not length:
            continue
        wrong = _wrong(fact, {name: points[name] for name in names}, length)
        if wrong.any():
            return fact, int(np.argmax(wrong))
    return None


def _wrong(fact: s.Fact, points: Mapping[str, Integers], length: int) -> Marks:
    """Where a fact is false."""
    if isinstance(fact, s.Binary) and fact.op in _SIGNS:
        left, right = _polynomial(fact.left), _polynomial(fact.right)
        if left is not None and right is not None:
            return ~_SIGNS[fact.op](Vectors(points, length).floor(left - right).values)
    rows = list(zip(*(values.tolist() for values in points.values()), strict=True)) or [()] * length
    false = {row for row in set(rows) if holds(fact, dict(zip(points, row, strict=True))) is False}
    return np.fromiter((row in false for row in rows), bool, length)


_SIGNS: Mapping[str, Callable[[Integers], Marks]] = {
    "==": lambda difference: difference == 0,
    "!=": lambda difference: difference != 0,
    "<": lambda difference: difference < 0,
    "<=": lambda difference: difference <= 0,
    ">": lambda difference: difference > 0,
    ">=": lambda difference: difference >= 0,
}


def _polynomial(expr: s.Expr) -> Poly | None:
    """A sum of products of names and integers; None for what is more than that."""
    match expr:
        case s.Integer(value=value):
            return Poly.constant(value)
        case s.Name(id=name):
            return Poly.symbol(name)
        case s.Binary(op="+" | "-" | "*" as op, left=left, right=right):
            first, second = _polynomial(left), _polynomial(right)
            if first is None or second is None:
                return None
            return first * second if op == "*" else first + second if op == "+" else first - second
        case _:
            return None


def _known(values: Column, wanted: Marks) -> Integers:
    """The values. Raises NoBoundError where one that is wanted is missing."""
    if values.missing is not None and (values.missing & wanted).any():
        raise NoBoundError("the bound has no exact value", int(np.argmax(values.missing & wanted)))
    return values.values
