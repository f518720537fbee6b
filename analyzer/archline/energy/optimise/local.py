"""Local optima of smooth functions over a box, with the multipliers of constraints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from archline.energy.optimise.enclosures import Derivatives, Vector
from archline.records import record

TIGHT = 1e-9
"""Constraints hold up to this, in logarithms."""
ACTIVE = 1e-6
"""Constraints and ends so near to equality may have multipliers."""
Functions = Callable[[Vector], Derivatives]
"""What is to be least, and after it what is to be at most 0."""


@record(eq=False)
class Local:
    """A point; the weights of all functions there (1 of what is least), and the slopes of their sum.

    The slopes are 0 but at the ends of the box where it is an optimum.
    """

    y: Vector
    value: float
    feasible: bool
    weights: Vector
    slopes: Vector
    error: float
    """By how much the conditions of an optimum fail."""


def optimum(functions: Functions, y: Vector, low: Vector, high: Vector) -> Local:
    """The local optimum that is found from a point; not `feasible` where none is.

    What is not is the point whose largest constraint is least, and so are the weights.
    """
    found = _polished(functions, _descended(functions, y, low, high), low, high)
    if found.feasible and found.error <= TIGHT:
        return found
    begun = _least_violated(functions, found.y, low, high)
    if begun.value > TIGHT:
        return begun
    again = _polished(functions, _descended(functions, begun.y, low, high), low, high)
    return min(found, again, key=lambda each: (not each.feasible, each.value))


def _least_violated(functions: Functions, y: Vector, low: Vector, high: Vector) -> Local:
    """The point at which the largest constraint is least: that is one more variable, above all of them."""
    count = len(y)

    def lifted(point: Vector) -> Derivatives:
        values, gradients, seconds = functions(point[:count])
        gradients = np.column_stack([gradients, np.full(len(values), -1.0)])
        gradients[0] = np.eye(count + 1)[count]
        seconds = np.pad(seconds, ((0, 0), (0, 1), (0, 1)))
        seconds[0] = 0.0
        return np.concatenate([[point[count]], values[1:] - point[count]]), gradients, seconds

    worst = float(functions(y)[0][1:].max(initial=0.0))
    start, first, last = (np.append(each, end) for each, end in ((y, worst + 1e-3), (low, -1.0), (high, worst + 1.0)))
    found = _polished(lifted, _descended(lifted, start, first, last), first, last)
    weights = np.append(0.0, found.weights[1:])
    return Local(found.y[:count], found.value, False, weights, found.slopes[:count], found.error)


def _descended(functions: Functions, y: Vector, low: Vector, high: Vector) -> Vector:
    """The point that sequential quadratic programming goes to; what it says of it is not relied on."""
    free = low < high
    if not free.any():
        return y
    known: dict[bytes, Derivatives] = {}

    def full(part: Vector) -> Vector:
        point = y.copy()
        point[free] = part
        return point

    def at(part: Vector) -> Derivatives:
        if (key := part.tobytes()) not in known:
            known.clear()
            known[key] = functions(full(part))
        return known[key]

    constraints: Any = {
        "type": "ineq",
        "fun": lambda part: -at(part)[0][1:],
        "jac": lambda part: -at(part)[1][1:, free],
    }
    with np.errstate(all="ignore"):
        found = minimize(
            lambda part: at(part)[0][0],
            y[free],
            jac=lambda part: at(part)[1][0, free],
            bounds=list(zip(low[free], high[free], strict=True)),
            constraints=constraints if len(functions(y)[0]) > 1 else (),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 60},
        )
    return np.clip(np.nan_to_num(full(found.x)), low, high)


def _polished(functions: Functions, y: Vector, low: Vector, high: Vector) -> Local:
    """The point after Newton steps on the conditions of an optimum, while these bring it nearer."""
    best, derivatives = _judged(functions, y, low, high)
    for _ in range(8):
        moved = _newton(derivatives, best, low, high)
        if moved is None:
            break
        after, derivatives = _judged(functions, moved, low, high)
        if (not after.feasible, after.error) >= (not best.feasible, best.error):
            break
        best = after
    return best


def _judged(functions: Functions, y: Vector, low: Vector, high: Vector) -> tuple[Local, Derivatives]:
    values, gradients, seconds = functions(y)
    active = [index for index, each in enumerate(values) if index and each >= -ACTIVE]
    identity = np.eye(len(y))
    ends = [*-identity[y - low <= ACTIVE / 10], *identity[high - y <= ACTIVE / 10]]
    columns = [*gradients[active], *ends]
    weights = np.eye(len(values))[0]
    if columns:
        found, _ = nnls(np.array(columns).T, -gradients[0])
        weights[active] = found[: len(active)]
    slopes = weights @ gradients
    inside = ~_held(y, slopes, low, high)
    error = np.abs([*slopes[inside], *(weights * values)[1:]]).max(initial=0.0)
    feasible = bool((values[1:] <= TIGHT).all())
    return Local(y, float(values[0]), feasible, weights, slopes, float(error)), (values, gradients, seconds)


def _held(y: Vector, slopes: Vector, low: Vector, high: Vector) -> NDArray[np.bool_]:
    """The variables at an end of the box that want to go on."""
    return ((y <= low) & (slopes >= 0)) | ((y >= high) & (slopes <= 0))


def _newton(derivatives: Derivatives, found: Local, low: Vector, high: Vector) -> Vector | None:
    """A step to where gradients cancel and the constraints with multipliers are 0; None where there is none."""
    values, gradients, seconds = derivatives
    inside = ~_held(found.y, found.slopes, low, high)
    held = [index for index, each in enumerate(found.weights) if index and each > TIGHT]
    second = np.tensordot(found.weights, seconds, 1)[np.ix_(inside, inside)]
    across = gradients[held][:, inside]
    matrix = np.block([[second, across.T], [across, np.zeros((len(held), len(held)))]])
    right = -np.concatenate([found.slopes[inside], values[held]])
    if not len(right):
        return None
    # Variables on which the value depends little have small derivatives; those below 1e-16 of the largest are rounding.
    sizes = np.abs(matrix).max(axis=1)
    scale = 1 / np.sqrt(np.maximum(sizes, 1e-8 * sizes.max() + 1e-280))
    step = np.linalg.lstsq(matrix * scale[:, None] * scale, right * scale, rcond=1e-8)[0] * scale
    step = step[: int(inside.sum())]
    if not np.isfinite(step).all() or np.abs(step).max(initial=0.0) > 1:
        return None
    moved = found.y.copy()
    moved[inside] += step
    return np.clip(moved, low, high)
