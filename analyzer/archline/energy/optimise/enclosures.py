"""Comparisons of sums of products of powers, in logarithms: values, derivatives, and planes below them over boxes.

There a product is a plane, and a sum log-sum-exp, which is convex: above its tangents, and below its secant along the
difference of two parts. So what is composed of sums has a plane below and one above it over each box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archline.energy.optimise.signomials import Sum
from archline.records import record, replace

Vector = NDArray[np.float64]
Derivatives = tuple[Vector, Vector, Vector]
"""Values, gradients and second derivatives of several functions."""


@record(eq=False)
class Terms:
    """A sum: a product of powers of all columns (`base`) times what is left (`rest`), a row for each term."""

    base: Vector
    rest: Vector
    logs: Vector

    @staticmethod
    def of(terms: Sum, columns: int) -> Terms:
        """The sum, of positive terms."""
        powers = np.zeros((len(terms), columns))
        for row, monomial in enumerate(terms):
            for variable, power in monomial:
                powers[row, variable] = power
        return Terms(powers[0], powers - powers[0], np.log(np.fromiter(terms.values(), float)))


@record(eq=False)
class Boxes:
    """Boxes, a row each, and a point of each: what is near to a function there is near it around that point."""

    low: Vector
    high: Vector
    at: Vector

    def least(self, planes: Vector) -> Vector:
        """The least values of planes, each of them slopes and a constant."""
        slopes = planes[..., :-1]
        return np.asarray(np.minimum(slopes * self.low, slopes * self.high).sum(axis=-1) + planes[..., -1])


@record(eq=False)
class _Planes:
    """Planes below and above a function over boxes, and its values at their points."""

    low: Vector
    high: Vector
    at: Vector


@record(eq=False)
class Comparisons:
    """Pairs of sums, the first of which is to be no larger: functions, the logarithms of quotients, to be at most 0.

    `count` variables have the first columns; `sums` have those after, and hold columns before theirs.
    """

    count: int
    sums: tuple[Terms, ...]
    pairs: tuple[tuple[Terms, Terms], ...]

    @staticmethod
    def of(count: int, sums: Sequence[Sum], pairs: Sequence[tuple[Sum, Sum]]) -> Comparisons:
        """The comparisons; no sum is empty."""
        held = tuple(Terms.of(each, count + len(sums)) for each in sums)
        return Comparisons(count, held, ()).with_pairs(pairs)

    def with_pairs(self, pairs: Sequence[tuple[Sum, Sum]], after: int = 0) -> Comparisons:
        """These pairs, followed by the present ones without the first few."""
        columns = self.count + len(self.sums)
        more = ((Terms.of(left, columns), Terms.of(right, columns)) for left, right in pairs)
        return replace(self, pairs=(*more, *self.pairs[after:]))

    @property
    def convex(self) -> bool:
        """Whether all are convex functions: no larger side is a sum, and no sum is a divisor."""
        own = slice(self.count, None)
        return not any((each.base + each.rest)[:, own].min(initial=0) < 0 for each in self.sums) and all(
            len(right.logs) == 1 and (left.base + left.rest - right.base)[:, own].min(initial=0) >= 0
            for left, right in self.pairs
        )

    def uses(self, index: int) -> frozenset[int]:
        """The variables on which a comparison depends."""
        left, right = self.pairs[index]
        held = np.abs(left.base - right.base) + np.abs(left.rest).max(axis=0) + np.abs(right.rest).max(axis=0)
        for column in range(self.count + len(self.sums) - 1, self.count - 1, -1):
            each = self.sums[column - self.count]
            held = held + (held[column] > 0) * (np.abs(each.base) + np.abs(each.rest).max(axis=0))
        return frozenset(int(each) for each in np.flatnonzero(held[: self.count]))

    # At points
    def at(self, y: Vector) -> Derivatives:
        """All functions at a point."""
        columns, count = self.count + len(self.sums), self.count
        values = np.concatenate([y, np.zeros(len(self.sums))])
        gradients, seconds = np.eye(columns, count), np.zeros((columns, count, count))

        def sum_at(terms: Terms) -> tuple[float, Vector, Vector]:
            z = terms.rest @ values + terms.logs
            weights = np.exp(z - z.max())
            total = weights.sum()
            weights /= total
            mean = weights @ terms.rest
            slopes, spread = terms.base + mean, (terms.rest.T * weights) @ terms.rest - np.outer(mean, mean)
            second = gradients.T @ spread @ gradients + np.tensordot(slopes, seconds, 1)
            return float(terms.base @ values + z.max() + np.log(total)), slopes @ gradients, second

        for column, terms in enumerate(self.sums, count):
            values[column], gradients[column], seconds[column] = sum_at(terms)
        both = [(sum_at(left), sum_at(right)) for left, right in self.pairs]
        value, gradient, second = (np.array([left[k] - right[k] for left, right in both]) for k in range(3))
        return value, gradient, second

    # Over boxes
    def below(self, boxes: Boxes) -> tuple[Vector, Vector]:
        """Planes below all functions (a row of one for each box); how much of their error each variable's width adds.

        All functions are at least as large as their planes in the box.
        """
        length, columns = len(boxes.low), self.count + len(self.sums)
        shape = columns, length, self.count + 1
        known = _Planes(np.zeros(shape), np.zeros(shape), np.zeros(shape[:2]))
        for column in range(self.count):
            known.low[column, :, column] = known.high[column, :, column] = 1.0
        known.at[: self.count] = boxes.at.T
        errors = np.zeros(boxes.low.shape)
        for column, terms in enumerate(self.sums, self.count):
            parts = _sum_over(terms, known, boxes, errors), _product_over(terms.base, 0.0, known)
            known.low[column], known.high[column] = (sum(each.low for each in parts), sum(each.high for each in parts))
            known.at[column] = sum(each.at for each in parts)
        found = []
        for left, right in self.pairs:
            first, second = (_sum_over(each, known, boxes, errors) for each in (left, right))
            found.append(first.low - second.high + _product_over(left.base - right.base, 0.0, known).low)
        return np.stack(found), errors


def _product_over(powers: Vector, log: float, known: _Planes) -> _Planes:
    up, down = np.maximum(powers, 0.0), np.minimum(powers, 0.0)
    low = np.tensordot(up, known.low, 1) + np.tensordot(down, known.high, 1)
    high = np.tensordot(up, known.high, 1) + np.tensordot(down, known.low, 1)
    low[:, -1] += log
    high[:, -1] += log
    return _Planes(low, high, powers @ known.at + log)


def _sum_over(terms: Terms, known: _Planes, boxes: Boxes, errors: Vector) -> _Planes:
    """What is left of a sum, term by term: log(e^z + e^u) = u + softplus(z - u), which rises with both."""
    sum_of = _product_over(terms.rest[0], float(terms.logs[0]), known)
    for powers, log in zip(terms.rest[1:], terms.logs[1:], strict=True):
        term = _product_over(powers, float(log), known)
        difference = term.high - sum_of.low
        last, first = -boxes.least(-difference), boxes.least(term.low - sum_of.high)
        wide = np.maximum(last - first, 1e-9)
        start = _softplus(first)
        secant = np.clip((_softplus(first + wide) - start) / wide, 0.0, 1.0)
        at = np.logaddexp(term.at, sum_of.at)
        weight = np.exp(term.at - at)
        low = weight[:, None] * term.low + (1 - weight)[:, None] * sum_of.low
        low[:, -1] += at - weight * term.at - (1 - weight) * sum_of.at
        high = secant[:, None] * term.high + (1 - secant)[:, None] * sum_of.high
        high[:, -1] += start - secant * first
        shares = np.abs(difference[:, :-1]) * (boxes.high - boxes.low)
        error = start + secant * wide / 2 - _softplus(first + wide / 2)
        errors += shares * (error / np.maximum(shares.sum(axis=1), 1e-300))[:, None]
        sum_of = _Planes(low, high, at)
    return sum_of


def _softplus(value: Vector) -> Vector:
    return np.asarray(np.logaddexp(0.0, value))
