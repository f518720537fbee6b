"""Compare sums of products of powers, in logarithms: values, derivatives, and planes below them over boxes.

There a product is a plane, and a sum log-sum-exp, which is convex: above its tangents, and below its secant along the
difference of two parts. So a composition of sums has a plane below and one above it over each box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from archline.energy.optimise.signomials import Sum

Vector = NDArray[np.float64]
Derivatives = tuple[Vector, Vector, Vector]
"""Values, gradients and second derivatives of several functions."""
Pair = tuple[Sum, Sum]


def minimise_planes(planes: Vector, low: Vector, high: Vector) -> Vector:
    """Return the minimum of planes over boxes; the last axis of `planes` has the slopes, then the constant."""
    slopes = planes[..., :-1]
    return np.asarray(np.minimum(slopes * low, slopes * high).sum(axis=-1) + planes[..., -1])


class _FactoredSum:
    """A sum of positive monomials: powers of the first one, the other powers relative to it, and log coefficients."""

    def __init__(self, terms: Sum, columns: int) -> None:
        powers = np.zeros((len(terms), columns))
        for row, monomial in enumerate(terms):
            for variable, power in monomial:
                powers[row, variable] = power
        self.base, self.rest, self.logs = powers[0], powers - powers[0], np.log(np.fromiter(terms.values(), float))


class Comparisons:
    """Constraints first <= second on pairs of sums, as functions log(first/second) that must be at most 0.

    The `count` variables have the first columns; `sums` have the next ones, and depend on earlier columns. No sum is
    empty.
    """

    def __init__(self, count: int, sums: Sequence[Sum], pairs: Sequence[Pair]) -> None:
        self._count, self._columns = count, count + len(sums)
        self._sums = [_FactoredSum(terms, self._columns) for terms in sums]
        self._pairs = [(_FactoredSum(left, self._columns), _FactoredSum(right, self._columns)) for left, right in pairs]

    @property
    def convex(self) -> bool:
        """Whether all functions are convex: no larger side is a sum, and no sum is a divisor."""
        powers = [terms.base + terms.rest for terms in self._sums]
        powers += [left.base + left.rest - right.base for left, right in self._pairs]
        return all(len(right.logs) == 1 for _, right in self._pairs) and all(
            rows[:, self._count :].min(initial=0) >= 0 for rows in powers
        )

    def evaluate_derivatives(self, y: Vector) -> Derivatives:
        """Return values, gradients and second derivatives of all functions at logarithms `y` of the variables."""
        values = np.concatenate([y, np.zeros(len(self._sums))])
        gradients, seconds = np.eye(self._columns, self._count), np.zeros((self._columns, self._count, self._count))

        def sum_at(terms: _FactoredSum) -> tuple[float, Vector, Vector]:
            z = terms.rest @ values + terms.logs
            weights = np.exp(z - z.max())
            total = weights.sum()
            weights /= total
            mean = weights @ terms.rest
            slopes, spread = terms.base + mean, (terms.rest.T * weights) @ terms.rest - np.outer(mean, mean)
            second = gradients.T @ spread @ gradients + np.tensordot(slopes, seconds, 1)
            return float(terms.base @ values + z.max() + np.log(total)), slopes @ gradients, second

        for column, terms in enumerate(self._sums, self._count):
            values[column], gradients[column], seconds[column] = sum_at(terms)
        both = [(sum_at(left), sum_at(right)) for left, right in self._pairs]
        value, gradient, second = (np.array([left[k] - right[k] for left, right in both]) for k in range(3))
        return value, gradient, second

    def find_planes_below(self, low: Vector, high: Vector, at: Vector) -> tuple[Vector, Vector]:
        """Return linear lower bounds on all functions over boxes, close to the functions at one point `at` of each box.

        The axes are functions, boxes, and slopes with the constant. The second result is the amount by which the width
        of each variable weakens these bounds, with axes boxes and variables.
        """
        length, width = len(low), high - low
        # Index 0 is below, 1 above; the last slope is the constant.
        planes, values = np.zeros((self._columns, 2, length, self._count + 1)), np.zeros((self._columns, length))
        for column in range(self._count):
            planes[column, :, :, column], values[column] = 1.0, at[:, column]
        errors = np.zeros(low.shape)

        def bound_product(powers: Vector, log: float = 0.0) -> tuple[Vector, Vector]:
            bounds = np.tensordot(np.maximum(powers, 0), planes, 1) + np.tensordot(
                np.minimum(powers, 0), planes[:, ::-1], 1
            )
            bounds[..., -1] += log
            return bounds, powers @ values + log

        def bound_sum(terms: _FactoredSum) -> tuple[Vector, Vector]:
            """Bound the rest of a sum, term by term: log(e^z + e^u) = u + softplus(z - u), which rises with both."""
            nonlocal errors
            total, value = bound_product(terms.rest[0], terms.logs[0])
            for powers, log in zip(terms.rest[1:], terms.logs[1:], strict=True):
                term, log_term = bound_product(powers, log)
                difference = term[1] - total[0]
                first, last = minimise_planes(term[0] - total[1], low, high), -minimise_planes(-difference, low, high)
                wide = np.maximum(last - first, 1e-9)
                start = np.logaddexp(0, first)
                secant = np.clip((np.logaddexp(0, first + wide) - start) / wide, 0, 1)
                both = np.logaddexp(log_term, value)
                tangent = np.exp(log_term - both)
                shares = np.array([tangent, secant])[..., None]
                total = shares * term + (1 - shares) * total
                total[0, :, -1] += both - tangent * log_term - (1 - tangent) * value
                total[1, :, -1] += start - secant * first
                value = both
                changes = np.abs(difference[:, :-1]) * width
                error = start + secant * wide / 2 - np.logaddexp(0, first + wide / 2)
                errors += changes * (error / np.maximum(changes.sum(axis=1), 1e-300))[:, None]
            return total, value

        for column, terms in enumerate(self._sums, self._count):
            (factor, factor_value), (rest, rest_value) = bound_product(terms.base), bound_sum(terms)
            planes[column], values[column] = factor + rest, factor_value + rest_value
        differences = [
            bound_product(left.base - right.base)[0][0] + bound_sum(left)[0][0] - bound_sum(right)[0][1]
            for left, right in self._pairs
        ]
        return np.stack(differences), errors
