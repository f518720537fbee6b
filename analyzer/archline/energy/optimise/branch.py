"""Branch and bound over boxes: whole variables, and constraints of which the larger side is a sum too.

In logarithms a sum is convex: over a box it lies below the plane through its values at the corners, raised until it is
above all of them. With such products in place of sums a box is a geometric program, whose bound holds for the box; with
tangents, which lie below, what is feasible is so for the sums themselves, and that gives points.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count as counted
from itertools import product
from math import ceil, exp, floor, log

import numpy as np

from archline.algebra.effort import late
from archline.energy.optimise.geometric import FAR, TIGHT, GeometricProgram, Posynomial, Solution, Vector, solve, span
from archline.energy.optimise.signomials import Sum
from archline.records import record, replace

CLOSED = 5e-7
"""Boxes are closed whose bound is so near to the best point, in logarithms."""
MOST_NODES = 2_000
STEPS = 30
"""So many tangents are taken at most, one after the other."""


@record(eq=False)
class Model:
    """A sum of positive terms to minimise over a box of logarithms, with a side of each constraint below the other."""

    objective: Sum
    constraints: tuple[tuple[Sum, Sum], ...]
    low: Vector
    high: Vector
    whole: frozenset[int] = frozenset()

    @property
    def convex(self) -> bool:
        """Whether it is one geometric program."""
        return not self.whole and all(len(right) <= 1 for _, right in self.constraints)


@record(eq=False)
class Outcome:
    """The best point, what no point is below (infinite: there is none), and how many boxes were looked at.

    `program` is the geometric program that has the same optimum, with tangents of sums.
    """

    best: Solution | None
    bound: float
    nodes: int
    program: GeometricProgram | None


class _Search:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.size = len(model.low)
        self.objective = Posynomial.of(model.objective, self.size)
        self.sides = [
            (Posynomial.of(left, self.size), Posynomial.of(right, self.size) if right else None)
            for left, right in model.constraints
            if left
        ]
        self.bent = sorted({variable for _, right in self.sides for variable in _bent(right)})

    def program(self, low: Vector, high: Vector, at: Vector | None = None) -> GeometricProgram:
        """The program with sums on larger sides replaced: by their tangents `at` a point, else by what is above."""
        found = []
        for left, right in self.sides:
            if right is None:
                # Nothing positive is at most 0.
                found.append(Posynomial(np.zeros((1, self.size)), np.ones(1)))
            elif len(right.logs) == 1:
                found.append(left.over(right))
            else:
                found.append(left.over(product_above(right, low, high) if at is None else tangent(right, at)))
        return GeometricProgram(self.objective, tuple(found), low, high)

    def point(self, low: Vector, high: Vector, y: Vector, known: float) -> tuple[Solution, GeometricProgram] | None:
        """A feasible point from tangents at one after the other, the first at y, if below what is known."""
        best: tuple[Solution, GeometricProgram] | None = None
        for _ in range(STEPS if self.bent else 1):
            program = self.program(low, high, y)
            found = solve(program, y)
            if not found.feasible or found.value > (known if best is None else best[0].value - 1e-13):
                return best
            best = found, program
            if np.abs(found.y - y).max() < 1e-10:
                return best
            y = found.y
        return best

    def rounded(self, low: Vector, high: Vector, y: Vector) -> Iterator[tuple[Vector, Vector]]:
        """The box with whole variables at the numbers next to those of a point."""
        whole = sorted(self.model.whole)
        choices = []
        for index in whole:
            number = exp(y[index])
            near = {max(1, floor(number + TIGHT)), ceil(number - TIGHT)}
            choices.append([each for each in near if low[index] - TIGHT <= log(each) <= high[index] + TIGHT])
        for values in product(*choices):
            first, last = low.copy(), high.copy()
            for index, value in zip(whole, values, strict=True):
                first[index] = last[index] = log(value)
            yield first, last

    def tightened(self, low: Vector, high: Vector, best: Solution | None) -> tuple[Vector, Vector]:
        """The box without parts in which no point is feasible and better."""
        for _ in range(2):
            program = self.program(low, high)
            if best is not None:
                limit = Posynomial(self.objective.powers, self.objective.logs - best.value - CLOSED)
                program = replace(program, constraints=(*program.constraints, limit))
            start = solve(program, None if best is None else best.y)
            if not start.feasible:
                return low, high
            for index in self.bent:
                first, last = span(program, index, start.y)
                margin = 1e-6
                low[index] = max(low[index], log(first) - margin) if first > 0 else low[index]
                high[index] = min(high[index], log(last) + margin) if last < float("inf") else high[index]
        return low, high


def minimise(model: Model) -> Outcome:
    """The optimum, or what is known of it when the time is up or after MOST_NODES boxes."""
    search = _Search(model)
    best: tuple[Solution, GeometricProgram] | None = None
    low, high = model.low.copy(), model.high.copy()
    if model.convex:
        program = search.program(low, high)
        found = solve(program)
        return Outcome(found if found.feasible else None, found.bound, 1, program)
    order = counted()
    first = solve(search.program(low, high))
    if first.bound == float("inf"):
        return Outcome(None, first.bound, 1, None)

    def improve(low: Vector, high: Vector, y: Vector) -> None:
        nonlocal best
        for one, other in search.rounded(low, high, y):
            known = float("inf") if best is None else best[0].value
            best = search.point(one, other, np.clip(y, one, other), known) or best

    improve(low, high, first.y)
    if search.bent:
        low, high = search.tightened(low, high, None if best is None else best[0])
    queue = [(first.bound, next(order), low, high)]
    nodes, bound = 0, first.bound
    while queue:
        bound, _, low, high = heapq.heappop(queue)
        if best is not None and bound >= best[0].value - CLOSED:
            break
        if nodes >= MOST_NODES or late():
            return Outcome(None if best is None else best[0], bound, nodes, None if best is None else best[1])
        nodes += 1
        found = solve(search.program(low, high))
        if found.bound == float("inf") or (best is not None and found.bound >= best[0].value - CLOSED):
            continue
        improve(low, high, found.y)
        for one, other in _parts(search, low, high, found.y):
            heapq.heappush(queue, (max(bound, found.bound), next(order), one, other))
    else:
        bound = float("inf") if best is None else best[0].value - CLOSED
    if best is None:
        return Outcome(None, bound, nodes, None)
    return Outcome(best[0], min(bound, best[0].value), nodes, best[1])


def _parts(search: _Search, low: Vector, high: Vector, y: Vector) -> Iterator[tuple[Vector, Vector]]:
    """A box in two: around a value that has to be whole, else across the widest variable in which a sum is curved."""
    off = {index: abs(exp(y[index]) - round(exp(y[index]))) for index in search.model.whole}
    worst = max(off, key=lambda index: off[index], default=None)
    if worst is not None and off[worst] > 1e-6:
        below, above = log(max(1, floor(exp(y[worst])))), log(ceil(exp(y[worst])))
    else:
        wide = [*search.bent, *(each for each in search.model.whole if each not in search.bent)]
        worst = max(wide, key=lambda index: high[index] - low[index])
        if high[worst] - low[worst] < 1e-9:
            return
        share = (y[worst] - low[worst]) / (high[worst] - low[worst])
        below = above = low[worst] + (high[worst] - low[worst]) * (share if 0.2 <= share <= 0.8 else 0.5)
        if worst in search.model.whole:
            below, above = log(max(1, floor(exp(below) + TIGHT))), log(floor(exp(below) + TIGHT) + 1)
    if below >= low[worst]:
        last = high.copy()
        last[worst] = below
        yield low, last
    if above <= high[worst]:
        first = low.copy()
        first[worst] = above
        yield first, high


def _bent(side: Posynomial | None) -> Iterator[int]:
    """The variables along which the logarithm of a sum is no plane."""
    if side is not None and len(side.logs) > 1:
        yield from (int(each) for each in np.flatnonzero(np.ptp(side.powers, axis=0) > 0))


def tangent(side: Posynomial, y: Vector) -> Posynomial:
    """A product that is no larger than the sum, and equal to it at a point."""
    value, gradient, _ = side.at(y)
    return Posynomial(gradient[None, :], np.array([value - gradient @ y]))


def product_above(side: Posynomial, low: Vector, high: Vector) -> Posynomial:
    """A product that is no smaller than the sum in all of a box."""
    bent = list(_bent(side))
    slopes = side.powers[0].copy()
    rest = side.powers - slopes
    corners = np.array(list(product(*((low[index], high[index]) for index in bent))))
    values = np.logaddexp.reduce(corners @ rest[:, bent].T + side.logs, axis=1)
    centred = corners - corners.mean(axis=0)
    slope = np.linalg.lstsq(centred, values - values.mean(), rcond=None)[0]
    constant = float((values - corners @ slope).max())
    slopes[bent] += slope
    return Posynomial(slopes[None, :], np.array([constant]))


def box(low: float | None, high: float | None) -> tuple[float, float]:
    """The logarithms of a range."""
    return (
        -FAR if low is None or low <= 0 else log(low),
        FAR if high is None else log(high) if high > 0 else -FAR,
    )
