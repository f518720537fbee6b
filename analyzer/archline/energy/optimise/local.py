"""Local optima of smooth functions over a box, with the multipliers of constraints."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from archline.energy.optimise.enclosures import Derivatives, Vector
from archline.records import record, replace

TIGHT = 1e-9
"""Constraints hold up to this, in logarithms."""
ACTIVE = 1e-6
"""Constraints so near to equality may have multipliers."""
STEPS, NEWTON_STEPS = 60, 8
Functions = Callable[[Vector], Derivatives]
"""What is to be least, and after it what is to be at most 0."""


@record(eq=False)
class LocalOptimum:
    """A point; the weights of all functions there (1 of what is least), and the slopes of their weighted sum.

    At an optimum slopes are 0, but at ends of the box; `error` is by how much that fails.
    """

    y: Vector
    value: float
    feasible: bool
    weights: Vector
    slopes: Vector
    error: float
    derivatives: Derivatives


def optimum(functions: Functions, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
    """The local optimum that is found from a point; not `feasible` where none is.

    Then it is the point whose largest constraint is least, with the weights of that.
    """
    found = _polished(functions, y, low, high)
    if found.feasible and found.error <= TIGHT:
        return found

    def lifted(point: Vector) -> Derivatives:
        """One more variable is to be least, and constraints at most that."""
        values, gradients, seconds = functions(point[:-1])
        gradients, seconds = np.pad(gradients, ((0, 0), (0, 1))), np.pad(seconds, ((0, 0), (0, 1), (0, 1)))
        values = np.append(point[-1], values[1:] - point[-1])
        gradients[:, -1], gradients[0], seconds[0] = -1.0, np.eye(len(point))[-1], 0.0
        return values, gradients, seconds

    worst = float(functions(found.y)[0][1:].max(initial=0.0))
    begun = _polished(lifted, *(np.append(each, end) for each, end in ((found.y, worst), (low, -1), (high, worst + 1))))
    if begun.value > TIGHT:
        weights = np.append(0.0, begun.weights[1:])
        return replace(begun, y=begun.y[:-1], feasible=False, weights=weights)
    again = _polished(functions, begun.y[:-1], low, high)
    return min(found, again, key=lambda each: (not each.feasible, each.value))


def _polished(functions: Functions, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
    """The point that descent reaches, refined by Newton steps as long as these reduce the optimality error."""
    best = _judged(functions, _descended(functions, y, low, high), low, high)
    for _ in range(NEWTON_STEPS):
        moved = _newton(best, low, high)
        after = _judged(functions, moved, low, high)
        if (not after.feasible, after.error) >= (not best.feasible, best.error):
            break
        best = after
    return best


def _descended(functions: Functions, y: Vector, low: Vector, high: Vector) -> Vector:
    """The point that sequential quadratic programming goes to; what it says of it is not relied on."""
    known = lru_cache(maxsize=1)(lambda point: functions(np.frombuffer(point)))

    def all_at(point: Vector) -> Derivatives:
        return known(point.tobytes())

    limits = {"type": "ineq", "fun": lambda x: -all_at(x)[0][1:], "jac": lambda x: -all_at(x)[1][1:]}
    with np.errstate(all="ignore"):
        found = minimize(
            lambda x: all_at(x)[0][0],
            y,
            jac=lambda x: all_at(x)[1][0],
            bounds=list(zip(low, high, strict=True)),
            constraints=limits if len(functions(y)[0]) > 1 else (),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": STEPS},
        )
    return np.asarray(np.clip(np.nan_to_num(found.x), low, high))


def _judged(functions: Functions, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
    y = np.where(y - low <= TIGHT, low, np.where(high - y <= TIGHT, high, y))
    values, gradients, seconds = functions(y)
    active = [index for index, each in enumerate(values) if index and each >= -ACTIVE]
    identity, weights = np.eye(len(y)), np.eye(len(values))[0]
    columns = [*gradients[active], *-identity[y - low <= ACTIVE], *identity[high - y <= ACTIVE]]
    if columns:
        weights[active] = nnls(np.array(columns).T, -gradients[0])[0][: len(active)]
    slopes = weights @ gradients
    error = np.abs([*slopes[_inside(y, slopes, low, high)], *(weights * values)[1:]]).max(initial=0.0)
    feasible = bool((values[1:] <= TIGHT).all())
    return LocalOptimum(y, float(values[0]), feasible, weights, slopes, float(error), (values, gradients, seconds))


def _inside(y: Vector, slopes: Vector, low: Vector, high: Vector) -> NDArray[np.bool_]:
    """The variables but those at an end of the box that want to go on."""
    return ~(((y <= low) & (slopes >= 0)) | ((y >= high) & (slopes <= 0)))


def _newton(found: LocalOptimum, low: Vector, high: Vector) -> Vector:
    """The point after a step to where gradients cancel and the constraints with multipliers are 0."""
    values, gradients, seconds = found.derivatives
    inside = _inside(found.y, found.slopes, low, high)
    held = [index for index, each in enumerate(found.weights) if index and each > TIGHT]
    second = np.tensordot(found.weights, seconds, 1)[np.ix_(inside, inside)]
    across = gradients[held][:, inside]
    matrix = np.block([[second, across.T], [across, np.zeros((len(held), len(held)))]])
    right = -np.concatenate([found.slopes[inside], values[held]])
    # Variables on which the value depends little have small derivatives; those below 1e-16 of the largest are rounding.
    sizes = np.abs(matrix).max(axis=1, initial=0.0)
    scale = 1 / np.sqrt(np.maximum(sizes, 1e-8 * sizes.max(initial=0.0) + 1e-280))
    step = np.linalg.lstsq(matrix * scale[:, None] * scale, right * scale, rcond=1e-8)[0] * scale
    moved = found.y.copy()
    moved[inside] += np.clip(np.nan_to_num(step[: int(inside.sum())]), -1, 1)
    return np.asarray(np.clip(moved, low, high))
