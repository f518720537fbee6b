"""Branch and bound: a box is dropped if a constraint, or a weighted sum of some and the objective, is above 0 in it.

The objective enters as a comparison with a level just below the best value so far: a sum above 0 in a box
proves that no better point is there. With the weights of a local optimum such a sum is flat around it, so that boxes
need not be small there; if all functions are convex, one box is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, exp, floor, inf

import numpy as np

from archline.algebra.effort import is_out_of_time
from archline.energy.optimise.enclosures import Comparisons, Pair, Vector, minimise_planes
from archline.energy.optimise.local import FEASIBILITY_TOLERANCE, LocalOptimum, find_local_optimum
from archline.energy.optimise.signomials import ONE, Sum, add_sums, split_by_sign
from archline.records import record

GAP_TOLERANCE = 1e-8
"""The search ends where no point can be better by more than this share of the best value."""
ROUNDING_SHARE, ZERO_TOLERANCE, SLOPE_TOLERANCE = 1e-11, 1e-12, 1e-9
"""Differences are exact up to this share of the subtracted values; a value is above 0, and a slope nonzero, if larger.
"""
MAX_BOXES, MAX_ITERATIONS, BATCH_SIZE = 200_000, 400, 2_048
"""The search ends after this many boxes or iterations; `BATCH_SIZE` boxes are examined at a time."""
EAGER_ITERATIONS, MAX_ROWS, MAX_LEVELS = 8, 12, 30
"""Better points are sought in the first EAGER_ITERATIONS iterations, then in each multiple of these. At most MAX_ROWS
weighted sums are tested in each box; at most MAX_LEVELS searches find one local optimum."""
MAX_LOGARITHM, MAX_OBJECTIVE = 80.0, 1e300
"""Limits of the absolute logarithms of variables without a range, and of objectives."""
TINY_SUM: Sum = {(): 1 / MAX_OBJECTIVE}
"""The sum that replaces 0 where a logarithm is taken."""
Boxes = tuple[Vector, Vector, Vector]
"""The lower and the upper ends of boxes, and for each box a number that is small if better points are likely."""


@record(eq=False)
class SignomialProgram:
    """A signomial program: minimise a sum of monomials over a box in logarithms, with first <= second in `pairs`.

    `sums` occur as variables too, and are numbered after these; a `constant` is added to the objective; variables in
    `whole` are integers. `origins` has the index of the constraint from which each pair is derived.
    """

    objective: Sum
    constant: float
    sums: tuple[Sum, ...]
    pairs: tuple[Pair, ...]
    origins: tuple[int, ...]
    low: Vector
    high: Vector
    whole: list[int]

    def build_comparisons(self, *first: Pair) -> Comparisons:
        """Return the functions that compare the sums of the `first` pairs and of the constraints."""
        return Comparisons(len(self.low), self.sums, (*first, *self.pairs))

    def compare_objective(self, value: float) -> Pair:
        """Return the comparison `objective <= value` as a pair of sums, for the objective without its constant."""
        left, right = split_by_sign(add_sums(self.objective, {(): value}, -1))
        return left or TINY_SUM, right or TINY_SUM

    @property
    def convex(self) -> bool:
        return not self.whole and self.build_comparisons(self.compare_objective(1.0)).convex

    def evaluate_objective(self, y: Vector) -> tuple[float, float]:
        """Return the objective without its constant, at logarithms `y`, and the sum of its positive terms.

        The second result is 0 if the objective has no negative term.
        """
        sides = [(part or TINY_SUM, ONE) for part in split_by_sign(self.objective)]
        up, down = np.exp(np.minimum(Comparisons(len(y), self.sums, sides).evaluate_derivatives(y)[0], 690))
        return float(up - down), float(up) if min(self.objective.values()) < 0 else 0.0


class BranchAndBound:
    """A finished search: the `best` point, its `value`, a lower `bound` (infinite if infeasible), number of `boxes`."""

    def __init__(self, model: SignomialProgram) -> None:
        self.best: LocalOptimum | None = None
        self.value = self.bound = inf
        self.boxes = 0
        self._model, self._level = model, MAX_OBJECTIVE
        self._rows = [np.eye(len(model.pairs) + 1)[0]]
        self._run()
        self.value, self.bound = (max(0.0, end + model.constant) for end in (self.value, min(self.bound, self.value)))

    def _run(self) -> None:
        model, iterations = self._model, 0
        (low, high, order), _ = self._prune_boxes(model.low[None], model.high[None])
        if len(low):
            middle = np.where(high - low >= MAX_LOGARITHM, np.clip(0, low, high), (low + high) / 2)[0]
            self._improve_best(model.low, model.high, middle)
        while len(low) and self.boxes < MAX_BOXES and iterations < MAX_ITERATIONS and not is_out_of_time():
            if self.value + model.constant <= 0:
                break
            ordered, iterations = np.argsort(order, kind="stable"), iterations + 1
            first, rest = ordered[:BATCH_SIZE], ordered[BATCH_SIZE:]
            boxes, errors = self._prune_boxes(low[first], high[first])
            if len(boxes[0]) and (iterations <= EAGER_ITERATIONS or iterations % EAGER_ITERATIONS == 0):
                candidate, value = int(np.argmin(boxes[2])), self.value
                box_low, box_high = boxes[0][candidate], boxes[1][candidate]
                self._improve_best(box_low, box_high, (box_low + box_high) / 2)
                if self.best is not None and self.value < value:
                    self._improve_best(model.low, model.high, self.best.y)
            halves = _split_boxes(boxes, errors, model.whole)
            waiting = low[rest], high[rest], order[rest]
            low, high, order = (np.concatenate(pieces) for pieces in zip(waiting, *halves, strict=True))
        if len(low):
            self._prove_lower_bound(low, high)
        elif self.best is None:
            self.bound = inf

    def _prove_lower_bound(self, low: Vector, high: Vector) -> None:
        """Prove a lower bound on the objective over the remaining boxes: lower its level until all can be pruned."""
        scale = max(abs(self.value), abs(self._model.constant))
        while len(low) and self.best is not None and self._level + self._model.constant > 0 and not is_out_of_time():
            self._level = self.value - max(4 * (self.value - self._level), GAP_TOLERANCE * scale)
            starts = range(0, len(low), BATCH_SIZE)
            pieces = [self._prune_boxes(low[k : k + BATCH_SIZE], high[k : k + BATCH_SIZE])[0] for k in starts]
            low, high, _ = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        if len(low):
            self.bound = -self._model.constant

    def _improve_best(self, low: Vector, high: Vector, start: Vector) -> None:
        """Search a better point in a box; round whole variables to the integers next to the best point."""
        optimal, integers = self._search_from_point(start, low, high), self._model.whole
        near = [
            {floor(exp(y) * (1 + FEASIBILITY_TOLERANCE)), ceil(exp(y) * (1 - FEASIBILITY_TOLERANCE))}
            for y in optimal.y[integers]
        ]
        for values in product(*near) if optimal.feasible and integers else ():
            first, last = low.copy(), high.copy()
            first[integers] = last[integers] = np.log(np.maximum(values, 1))
            if (low <= first).all() and (last <= high).all():
                self._search_from_point(np.clip(optimal.y, first, last), first, last)

    def _search_from_point(self, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
        """Return a local optimum reached from `y` in a box; repeat from it if the objective has negative terms."""
        model, value, scale = self._model, *self._model.evaluate_objective(y)
        for _ in range(MAX_LEVELS):
            optimal = find_local_optimum(
                model.build_comparisons(model.compare_objective(value if scale else 1.0)).evaluate_derivatives,
                y,
                low,
                high,
            )
            y, before, (value, scale) = optimal.y, value, model.evaluate_objective(optimal.y)
            if not optimal.feasible or not scale or abs(value - before) <= 1e-14 * abs(value):
                break
        if not any(np.allclose(row, optimal.weights, rtol=1e-9, atol=ZERO_TOLERANCE) for row in self._rows):
            self._rows = [*self._rows, optimal.weights][-MAX_ROWS:]
        if abs(value + model.constant) <= ZERO_TOLERANCE * scale:
            # Terms that cancel leave a rounding error, which differs between processors.
            value = -model.constant
        numbers = np.exp(y[model.whole])
        if (
            optimal.feasible
            and (abs(numbers - np.round(numbers)) <= FEASIBILITY_TOLERANCE * numbers).all()
            and value < self.value
        ):
            self.best, self.value = optimal, value
            self._level = value - max(GAP_TOLERANCE * abs(value + model.constant), ROUNDING_SHARE * scale)
        return optimal

    def _prune_boxes(self, low: Vector, high: Vector) -> tuple[Boxes, Vector]:
        """Drop boxes in which no point is feasible and better, and shrink the rest.

        Return the boxes that remain, and the amount by which the width of each variable weakens the planes.
        """
        self.boxes += len(low)
        at = (low + high) / 2
        if self.best is not None:
            at[((low <= self.best.y) & (self.best.y <= high)).all(axis=1)] = self.best.y
        planes, errors = self._model.build_comparisons(self._model.compare_objective(self._level)).find_planes_below(
            low, high, at
        )
        rows = np.array([*np.eye(len(planes)), *self._rows])
        planes = np.tensordot(rows, planes, 1)
        values, with_objective = minimise_planes(planes, low, high), rows[:, 0] > 0
        # Boxes in which a sum of constraints only is above 0 have no feasible point.
        excluded = (values > ZERO_TOLERANCE).any(axis=0)
        beyond = np.where(
            (values[~with_objective] > ZERO_TOLERANCE).any(axis=0),
            1.0,
            np.where(excluded, values[with_objective].max(axis=0), 0.0),
        )
        self.bound = min(self.bound, self._level * exp(min(1.0, beyond.min())) if self._level > 0 else self._level)
        low, high, planes, values = low[~excluded], high[~excluded], planes[:, ~excluded], values[:, ~excluded]
        # A plane must be at most 0, so that no slope may add more than the rest of the plane leaves.
        slopes = planes[..., :-1]
        with np.errstate(all="ignore"):
            limit = (ZERO_TOLERANCE - values[..., None] + np.minimum(slopes * low, slopes * high)) / slopes
        high = np.minimum(high, np.where(slopes > SLOPE_TOLERANCE, limit, inf).min(axis=0))
        low = np.maximum(low, np.where(slopes < -SLOPE_TOLERANCE, limit, -inf).max(axis=0))
        for index in self._model.whole:
            low[:, index] = np.log(np.maximum(1, np.ceil(np.exp(low[:, index]) * (1 - FEASIBILITY_TOLERANCE))))
            high[:, index] = np.log(np.maximum(1, np.floor(np.exp(high[:, index]) * (1 + FEASIBILITY_TOLERANCE))))
        left = (low <= high).all(axis=1)
        return (low[left], high[left], values[with_objective][:, left].max(axis=0)), errors[~excluded][left]


def _split_boxes(boxes: Boxes, errors: Vector, whole: list[int]) -> Iterator[Boxes]:
    """Halve boxes, each along the variable that adds most to the errors of planes."""
    low, high, order = boxes
    is_integer = np.isin(np.arange(low.shape[1]), whole)
    across = np.argmax(errors + (high - low) * np.where(is_integer, 1e-2, 1e-9), axis=1)
    rows = np.arange(len(low))
    middle = (low + high)[rows, across] / 2
    largest = np.maximum(1, np.floor(np.exp(np.minimum(middle, MAX_LOGARITHM))))
    last, first = high.copy(), low.copy()
    last[rows, across] = np.where(is_integer[across], np.log(largest), middle)
    first[rows, across] = np.where(is_integer[across], np.log(largest + 1), middle)
    yield from ((low, last, order), (first, high, order))
