"""Geometric programs: a sum of products of powers is minimised under bounds on such sums.

In logarithms of the variables these are convex functions, log-sum-exp. A local optimum is the optimum, and multipliers
of the constraints prove how near it is: the Lagrangian is convex, so that its tangent at any point is below it, and so
below the objective at all feasible points, within the box of the variables.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from archline.energy.optimise.signomials import Sum
from archline.records import record, replace

FAR = 80.0
"""The logarithms of variables without a range go this far."""
TIGHT = 1e-9
"""Constraints hold up to this, in logarithms."""
Vector = NDArray[np.float64]


@record(eq=False)
class Posynomial:
    """A sum of c*x^a in logarithms y of x: its value at y is the logarithm."""

    powers: Vector
    logs: Vector

    @staticmethod
    def of(terms: Sum, count: int) -> Posynomial:
        """The sum, of `count` variables; its coefficients are above 0."""
        powers = np.zeros((len(terms), count))
        for row, monomial in enumerate(terms):
            for variable, power in monomial:
                powers[row, variable] = power
        return Posynomial(powers, np.log(np.fromiter(terms.values(), float)))

    def at(self, y: Vector) -> tuple[float, Vector, Vector]:
        """Value, gradient, and the weight of each term."""
        z = self.powers @ y + self.logs
        high = z.max()
        weights = np.exp(z - high)
        total = weights.sum()
        weights /= total
        return float(high + log(total)), weights @ self.powers, weights

    def hessian(self, y: Vector) -> Vector:
        """The second derivatives."""
        _, gradient, weights = self.at(y)
        return np.asarray((self.powers.T * weights) @ self.powers - np.outer(gradient, gradient))

    def over(self, monomial: Posynomial) -> Posynomial:
        """The quotient by a single term."""
        return Posynomial(self.powers - monomial.powers, self.logs - monomial.logs)


@record(eq=False)
class GeometricProgram:
    """`objective` is minimised over a box of logarithms, with all `constraints` at most 0."""

    objective: Posynomial
    constraints: tuple[Posynomial, ...]
    low: Vector
    high: Vector


@record(eq=False)
class Solution:
    """A point, its value, what no feasible point is below, and the multipliers of constraints and of both box ends.

    All in logarithms. `feasible` says whether the constraints hold there.
    """

    y: Vector
    value: float
    bound: float
    multipliers: Vector
    ends: Vector
    feasible: bool


def solve(program: GeometricProgram, start: Vector | None = None) -> Solution:
    """The optimum; not `feasible` where none is found, and then `bound` is infinite if it is proved that none is."""
    free = program.low < program.high
    y = np.clip(_middle(program) if start is None else start, program.low, program.high)
    found = _polished(program, _descended(program, y, free))
    if not found.feasible or found.value - found.bound > TIGHT:
        begun, worst = _phase_one(program, found.y)
        if worst > TIGHT:
            return replace(found, feasible=False, bound=float("inf"))
        again = _polished(program, _descended(program, begun, free))
        if (again.feasible, -again.value + again.bound) > (found.feasible, -found.value + found.bound):
            found = again
    return found


def _middle(program: GeometricProgram) -> Vector:
    """A point inside: 0 where nothing is known of a variable."""
    middle = (program.low + program.high) / 2
    return np.asarray(np.where(program.high - program.low >= FAR, np.clip(0, program.low, program.high), middle))


def _descended(program: GeometricProgram, y: Vector, free: NDArray[np.bool_]) -> Vector:
    """The point that sequential quadratic programming goes to; what it says of it is not relied on."""
    if not free.any():
        return y
    whole = y.copy()

    def full(part: Vector) -> Vector:
        whole[free] = part
        return whole

    def all_at(part: Vector, what: int) -> Vector:
        point = full(part)
        return -np.array([each.at(point)[what] for each in program.constraints])

    constraints: Any = {
        "type": "ineq",
        "fun": lambda part: all_at(part, 0),
        "jac": lambda part: all_at(part, 1)[:, free],
    }
    with np.errstate(all="ignore"):
        found = minimize(
            lambda part: program.objective.at(full(part))[0],
            y[free],
            jac=lambda part: program.objective.at(full(part))[1][free],
            bounds=list(zip(program.low[free], program.high[free], strict=True)),
            constraints=constraints if program.constraints else (),
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 200},
        )
    return np.clip(np.nan_to_num(full(found.x)), program.low, program.high)


def _phase_one(program: GeometricProgram, y: Vector) -> tuple[Vector, float]:
    """A point at which the largest constraint is least, and what that is at least: above 0 if none is feasible."""
    if not program.constraints:
        return y, -np.inf
    count = len(y)

    def padded(each: Posynomial, last: float) -> Posynomial:
        return Posynomial(np.column_stack([each.powers, np.full(len(each.logs), last)]), each.logs)

    worst = max(each.at(y)[0] for each in program.constraints)
    spread = 2 * FAR + abs(worst)
    one = GeometricProgram(
        Posynomial(np.eye(1, count + 1, count), np.zeros(1)),
        tuple(padded(each, -1.0) for each in program.constraints),
        np.append(program.low, -spread),
        np.append(program.high, spread),
    )
    start = np.append(y, worst + 1e-3)
    found = _polished(one, _descended(one, start, one.low < one.high))
    return found.y[:count], found.bound


def _polished(program: GeometricProgram, y: Vector) -> Solution:
    """The point after Newton steps on the conditions of optimality, with multipliers and the bound they prove."""
    best = _bounded(program, y)
    for _ in range(8):
        moved = _newton(program, best)
        if moved is None:
            break
        after = _bounded(program, moved)
        if (after.feasible, after.bound - after.value) <= (best.feasible, best.bound - best.value):
            break
        best = after
    return best


def _bounded(program: GeometricProgram, y: Vector) -> Solution:
    value, gradient, _ = program.objective.at(y)
    known = [each.at(y) for each in program.constraints]
    near = 1e-7
    active = [index for index, each in enumerate(known) if each[0] >= -near * 10]
    lower, upper = y - program.low <= near, program.high - y <= near
    columns = [known[index][1] for index in active]
    identity = np.eye(len(y))
    columns += [-identity[index] for index in np.flatnonzero(lower)]
    columns += [identity[index] for index in np.flatnonzero(upper)]
    multipliers = np.zeros(len(known))
    if columns:
        found, _ = nnls(np.array(columns).T, -gradient)
        multipliers[active] = found[: len(active)]
    slope = gradient + sum((multipliers[index] * known[index][1] for index in active), np.zeros(len(y)))
    bound = value + sum(multipliers[index] * known[index][0] for index in active)
    bound += float(np.minimum(slope * (program.low - y), slope * (program.high - y)).sum())
    feasible = all(each[0] <= TIGHT for each in known)
    return Solution(y, value, min(bound, value) if feasible else bound, multipliers, slope, feasible)


def _newton(program: GeometricProgram, found: Solution) -> Vector | None:
    """A step to where gradients cancel and the constraints with multipliers are 0; None where there is none."""
    y = found.y
    inside = ~((y <= program.low) & (found.ends >= 0) | (y >= program.high) & (found.ends <= 0))
    held = [index for index, each in enumerate(found.multipliers) if each > 1e-9]
    gradients = [program.constraints[index].at(y) for index in held]
    hessian = program.objective.hessian(y)
    for index in held:
        hessian = hessian + found.multipliers[index] * program.constraints[index].hessian(y)
    across = np.array([each[1] for each in gradients]).reshape(len(held), len(y))[:, inside]
    top = np.column_stack([hessian[np.ix_(inside, inside)], across.T])
    matrix = np.vstack([top, np.column_stack([across, np.zeros((len(held), len(held)))])])
    right = -np.concatenate([found.ends[inside], [each[0] for each in gradients]])
    if not len(right):
        return None
    step = np.linalg.lstsq(matrix, right, rcond=1e-13)[0][: int(inside.sum())]
    if not np.isfinite(step).all() or np.abs(step).max(initial=0.0) > 1:
        return None
    moved = y.copy()
    moved[inside] += step
    return np.clip(moved, program.low, program.high)


def exponential(value: float) -> float:
    """The number of a logarithm."""
    return exp(value) if value < 700 else float("inf")


def substituted(powers: Mapping[int, float], count: int) -> Posynomial:
    """A single product of powers."""
    row = np.zeros((1, count))
    for variable, power in powers.items():
        row[0, variable] = power
    return Posynomial(row, np.zeros(1))


def span(program: GeometricProgram, variable: int, start: Vector) -> tuple[float, float]:
    """The least and the largest value of a variable where the constraints hold, from a point where they do."""
    ends = []
    for sign in (1.0, -1.0):
        found = solve(replace(program, objective=substituted({variable: sign}, len(start))), start)
        ends.append(found.y[variable] if found.feasible else start[variable])
    return exponential(min(ends[0], start[variable])), exponential(max(ends[1], start[variable]))
