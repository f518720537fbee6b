"""Find a local optimum of smooth functions over a box, with the multipliers of constraints."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from archline.energy.optimise.enclosures import Derivatives, Vector
from archline.records import record, replace

FEASIBILITY_TOLERANCE = 1e-9
"""Constraints hold up to this tolerance, in logarithms."""
ACTIVE_TOLERANCE = 1e-6
"""Constraints this close to equality may have multipliers."""
MAX_DESCENT_STEPS, NEWTON_STEPS = 60, 8
Functions = Callable[[Vector], Derivatives]
"""The objective, followed by the functions that have to be at most 0."""


@record(eq=False)
class LocalOptimum:
    """A candidate optimum: a point, multipliers of all functions (1 for the objective), slopes of the weighted sum.

    At an optimum the slopes are 0, except at ends of the box; `error` measures the violation of this condition.
    """

    y: Vector
    value: float
    feasible: bool
    weights: Vector
    slopes: Vector
    error: float
    derivatives: Derivatives


def find_local_optimum(functions: Functions, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
    """Return the local optimum reached from a point; not `feasible` if the search finds no feasible point.

    An infeasible result is the point that minimises the largest constraint, with the weights of that problem.
    """
    first = _polish_point(functions, y, low, high)
    if first.feasible and first.error <= FEASIBILITY_TOLERANCE:
        return first

    def evaluate_lifted(point: Vector) -> Derivatives:
        """Evaluate the problem with one more variable, which is minimised and bounds all constraints from above."""
        values, gradients, seconds = functions(point[:-1])
        gradients, seconds = np.pad(gradients, ((0, 0), (0, 1))), np.pad(seconds, ((0, 0), (0, 1), (0, 1)))
        values = np.append(point[-1], values[1:] - point[-1])
        gradients[:, -1], gradients[0], seconds[0] = -1.0, np.eye(len(point))[-1], 0.0
        return values, gradients, seconds

    violation = float(functions(first.y)[0][1:].max(initial=0.0))
    nearest = _polish_point(
        evaluate_lifted,
        *(np.append(part, end) for part, end in ((first.y, violation), (low, -1), (high, violation + 1))),
    )
    if nearest.value > FEASIBILITY_TOLERANCE:
        weights = np.append(0.0, nearest.weights[1:])
        return replace(nearest, y=nearest.y[:-1], feasible=False, weights=weights)
    second = _polish_point(functions, nearest.y[:-1], low, high)
    return min(first, second, key=lambda candidate: (not candidate.feasible, candidate.value))


def _polish_point(functions: Functions, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
    """Return the point that descent reaches, refined by Newton steps while these reduce the optimality error."""
    best = _assess_optimum(functions, _run_descent(functions, y, low, high), low, high)
    for _ in range(NEWTON_STEPS):
        stepped = _take_newton_step(best, low, high)
        after = _assess_optimum(functions, stepped, low, high)
        if (not after.feasible, after.error) >= (not best.feasible, best.error):
            break
        best = after
    return best


def _run_descent(functions: Functions, y: Vector, low: Vector, high: Vector) -> Vector:
    """Return the point that sequential quadratic programming reaches, even if it reports a failure."""
    cached = lru_cache(maxsize=1)(lambda point: functions(np.frombuffer(point)))

    def all_at(point: Vector) -> Derivatives:
        return cached(point.tobytes())

    limits = {"type": "ineq", "fun": lambda x: -all_at(x)[0][1:], "jac": lambda x: -all_at(x)[1][1:]}
    with np.errstate(all="ignore"):
        solution = minimize(
            lambda x: all_at(x)[0][0],
            y,
            jac=lambda x: all_at(x)[1][0],
            bounds=list(zip(low, high, strict=True)),
            constraints=limits if len(functions(y)[0]) > 1 else (),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": MAX_DESCENT_STEPS},
        )
    return np.asarray(np.clip(np.nan_to_num(solution.x), low, high))


def _assess_optimum(functions: Functions, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
    """Return a point with its multipliers and optimality error; coordinates near an end of the box are moved to it."""
    y = np.where(y - low <= FEASIBILITY_TOLERANCE, low, np.where(high - y <= FEASIBILITY_TOLERANCE, high, y))
    values, gradients, seconds = functions(y)
    active = [index for index, value in enumerate(values) if index and value >= -ACTIVE_TOLERANCE]
    identity, weights = np.eye(len(y)), np.eye(len(values))[0]
    columns = [*gradients[active], *-identity[y - low <= ACTIVE_TOLERANCE], *identity[high - y <= ACTIVE_TOLERANCE]]
    if columns:
        weights[active] = nnls(np.array(columns).T, -gradients[0])[0][: len(active)]
    slopes = weights @ gradients
    error = np.abs([*slopes[_mark_movable(y, slopes, low, high)], *(weights * values)[1:]]).max(initial=0.0)
    feasible = bool((values[1:] <= FEASIBILITY_TOLERANCE).all())
    return LocalOptimum(y, float(values[0]), feasible, weights, slopes, float(error), (values, gradients, seconds))


def _mark_movable(y: Vector, slopes: Vector, low: Vector, high: Vector) -> NDArray[np.bool_]:
    """Mark the variables that are not at an end of the box beyond which the objective decreases."""
    return ~(((y <= low) & (slopes >= 0)) | ((y >= high) & (slopes <= 0)))


def _take_newton_step(point: LocalOptimum, low: Vector, high: Vector) -> Vector:
    """Return the point after a Newton step on the optimality conditions, with active constraints as equations."""
    values, gradients, seconds = point.derivatives
    movable = _mark_movable(point.y, point.slopes, low, high)
    weighted = [index for index, weight in enumerate(point.weights) if index and weight > FEASIBILITY_TOLERANCE]
    second = np.tensordot(point.weights, seconds, 1)[np.ix_(movable, movable)]
    across = gradients[weighted][:, movable]
    matrix = np.block([[second, across.T], [across, np.zeros((len(weighted), len(weighted)))]])
    right = -np.concatenate([point.slopes[movable], values[weighted]])
    # Variables of little influence have small derivatives; below 1e-16 of the largest these are rounding errors.
    sizes = np.abs(matrix).max(axis=1, initial=0.0)
    scale = 1 / np.sqrt(np.maximum(sizes, 1e-8 * sizes.max(initial=0.0) + 1e-280))
    step = np.linalg.lstsq(matrix * scale[:, None] * scale, right * scale, rcond=1e-8)[0] * scale
    result = point.y.copy()
    result[movable] += np.clip(np.nan_to_num(step[: int(movable.sum())]), -1, 1)
    return np.asarray(np.clip(result, low, high))
