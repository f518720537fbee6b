"""Branch and bound: boxes are left out in which a constraint, or a sum of some with the objective, is above 0.

The objective enters as a comparison with a level just below the best value that is known: what is above 0 in a box
proves that no better point is there. With the weights of a local optimum such a sum is flat around it, so that boxes
there need not be small; where all is convex, one box is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, exp, floor, inf

import numpy as np

from archline.algebra.effort import late
from archline.energy.optimise.enclosures import Comparisons, Pair, Vector, least
from archline.energy.optimise.local import TIGHT, LocalOptimum, optimum
from archline.energy.optimise.signomials import ONE, Sum, parts, plus
from archline.records import record

CLOSED = 1e-8
"""The search ends where no point can be better by more than this share of the best value."""
ROUNDING, ZERO, FLAT = 1e-11, 1e-12, 1e-9
"""Differences are known up to this share of what is subtracted; larger values are above 0, larger slopes are slopes."""
MOST_BOXES, MOST_ROUNDS, TOGETHER = 200_000, 400, 2_048
"""The search ends after so many boxes, so many at a time."""
EAGER, MOST_ROWS, LEVELS = 8, 12, 30
"""So many rounds, and each so-many-th later, look for better points."""
FAR, TOP = 80.0, 1e300
"""The logarithms of variables without a range go this far; all values are below the other."""
LEAST: Sum = {(): 1 / TOP}
"""What stands for 0 where a logarithm is taken."""
Boxes = tuple[Vector, Vector, Vector]
"""Lower and upper ends of boxes, and a number for each that is small where better points are likely."""


@record(eq=False)
class SignomialProgram:
    """A sum, not below 0, to minimise over a box of logarithms, with the first of each pair of sums at most the second.

    `sums` have numbers after those of the variables; to the objective a `constant` is added; `whole` variables are
    whole numbers. `origins` say where pairs come from.
    """

    objective: Sum
    constant: float
    sums: tuple[Sum, ...]
    pairs: tuple[Pair, ...]
    origins: tuple[int, ...]
    low: Vector
    high: Vector
    whole: list[int]

    def compared(self, *first: Pair) -> Comparisons:
        """Pairs, and then the constraints."""
        return Comparisons(len(self.low), self.sums, (*first, *self.pairs))

    def level(self, value: float) -> Pair:
        """The objective, without its constant, in comparison with a value."""
        left, right = parts(plus(self.objective, {(): value}, -1))
        return left or LEAST, right or LEAST

    @property
    def convex(self) -> bool:
        """Whether it is a geometric program."""
        return not self.whole and self.compared(self.level(1.0)).convex

    def value(self, y: Vector) -> tuple[float, float]:
        """The objective at a point, without its constant, and what is added up for it where parts are subtracted."""
        sides = [(each or LEAST, ONE) for each in parts(self.objective)]
        up, down = np.exp(np.minimum(Comparisons(len(y), self.sums, sides).at(y)[0], 690))
        return float(up - down), float(up) if min(self.objective.values()) < 0 else 0.0


class Branching:
    """The `best` point, its `value`, a `bound` on all (infinite if no point is feasible), and the number of `boxes`."""

    def __init__(self, model: SignomialProgram) -> None:
        self.best: LocalOptimum | None = None
        self.value = self.bound = inf
        self.boxes = 0
        self._model, self._level = model, TOP
        self._rows = [np.eye(len(model.pairs) + 1)[0]]
        self._run()
        self.value, self.bound = (max(0.0, each + model.constant) for each in (self.value, min(self.bound, self.value)))

    def _run(self) -> None:
        model, rounds = self._model, 0
        (low, high, order), _ = self._reduced(model.low[None], model.high[None])
        if len(low):
            middle = np.where(high - low >= FAR, np.clip(0, low, high), (low + high) / 2)[0]
            self._improve(model.low, model.high, middle)
        while len(low) and self.boxes < MOST_BOXES and rounds < MOST_ROUNDS and not late():
            if self.value + model.constant <= 0:
                break
            places, rounds = np.argsort(order, kind="stable"), rounds + 1
            first, rest = places[:TOGETHER], places[TOGETHER:]
            found, errors = self._reduced(low[first], high[first])
            if len(found[0]) and (rounds <= EAGER or rounds % EAGER == 0):
                likely, value = int(np.argmin(found[2])), self.value
                one, other = found[0][likely], found[1][likely]
                self._improve(one, other, (one + other) / 2)
                if self.best is not None and self.value < value:
                    self._improve(model.low, model.high, self.best.y)
            halves = _halves(found, errors, model.whole)
            waiting = low[rest], high[rest], order[rest]
            low, high, order = (np.concatenate(each) for each in zip(waiting, *halves, strict=True))
        if len(low):
            self._bracket(low, high)
        elif self.best is None:
            self.bound = inf

    def _bracket(self, low: Vector, high: Vector) -> None:
        """Prove a level for boxes that are left: the first, of lower and lower ones, that leaves out all of them."""
        scale = max(abs(self.value), abs(self._model.constant))
        while len(low) and self.best is not None and self._level + self._model.constant > 0 and not late():
            self._level = self.value - max(4 * (self.value - self._level), CLOSED * scale)
            starts = range(0, len(low), TOGETHER)
            pieces = [self._reduced(low[k : k + TOGETHER], high[k : k + TOGETHER])[0] for k in starts]
            low, high, _ = (np.concatenate(each) for each in zip(*pieces, strict=True))
        if len(low):
            self.bound = -self._model.constant

    def _improve(self, low: Vector, high: Vector, start: Vector) -> None:
        """Look for a better point in a box; of whole variables at the numbers next to those of the best point."""
        found, whole = self._climbed(start, low, high), self._model.whole
        near = [{floor(exp(y) * (1 + TIGHT)), ceil(exp(y) * (1 - TIGHT))} for y in found.y[whole]]
        for values in product(*near) if found.feasible and whole else ():
            first, last = low.copy(), high.copy()
            first[whole] = last[whole] = np.log(np.maximum(values, 1))
            if (low <= first).all() and (last <= high).all():
                self._climbed(np.clip(found.y, first, last), first, last)

    def _climbed(self, y: Vector, low: Vector, high: Vector) -> LocalOptimum:
        """A local optimum: that of comparisons with its own value, which is the best one where parts are below 0."""
        model, value, known = self._model, *self._model.value(y)
        for _ in range(LEVELS):
            found = optimum(model.compared(model.level(value if known else 1.0)).at, y, low, high)
            y, before, (value, known) = found.y, value, model.value(found.y)
            if not found.feasible or not known or abs(value - before) <= 1e-14 * abs(value):
                break
        if not any(np.allclose(each, found.weights, rtol=1e-9, atol=ZERO) for each in self._rows):
            self._rows = [*self._rows, found.weights][-MOST_ROWS:]
        if abs(value + model.constant) <= ZERO * known:
            # What rounding leaves of terms that cancel differs between processors.
            value = -model.constant
        numbers = np.exp(y[model.whole])
        if found.feasible and (abs(numbers - np.round(numbers)) <= TIGHT * numbers).all() and value < self.value:
            self.best, self.value = found, value
            self._level = value - max(CLOSED * abs(value + model.constant), ROUNDING * known)
        return found

    def _reduced(self, low: Vector, high: Vector) -> tuple[Boxes, Vector]:
        """Boxes without those in which no point is feasible and better, and without such parts of the others.

        Also by how much each variable's width makes planes worse.
        """
        self.boxes += len(low)
        at = (low + high) / 2
        if self.best is not None:
            at[((low <= self.best.y) & (self.best.y <= high)).all(axis=1)] = self.best.y
        planes, errors = self._model.compared(self._model.level(self._level)).below(low, high, at)
        rows = np.array([*np.eye(len(planes)), *self._rows])
        planes = np.tensordot(rows, planes, 1)
        values, ours = least(planes, low, high), rows[:, 0] > 0
        # Where constraints alone are above 0 there is no point at all.
        out = (values > ZERO).any(axis=0)
        beyond = np.where((values[~ours] > ZERO).any(axis=0), 1.0, np.where(out, values[ours].max(axis=0), 0.0))
        self.bound = min(self.bound, self._level * exp(min(1.0, beyond.min())) if self._level > 0 else self._level)
        low, high, planes, values = low[~out], high[~out], planes[:, ~out], values[:, ~out]
        # A plane is to be at most 0, so that no slope may add more than what the others leave.
        slopes = planes[..., :-1]
        with np.errstate(all="ignore"):
            limit = (ZERO - values[..., None] + np.minimum(slopes * low, slopes * high)) / slopes
        high = np.minimum(high, np.where(slopes > FLAT, limit, inf).min(axis=0))
        low = np.maximum(low, np.where(slopes < -FLAT, limit, -inf).max(axis=0))
        for index in self._model.whole:
            low[:, index] = np.log(np.maximum(1, np.ceil(np.exp(low[:, index]) * (1 - TIGHT))))
            high[:, index] = np.log(np.maximum(1, np.floor(np.exp(high[:, index]) * (1 + TIGHT))))
        left = (low <= high).all(axis=1)
        return (low[left], high[left], values[ours][:, left].max(axis=0)), errors[~out][left]


def _halves(boxes: Boxes, errors: Vector, whole: list[int]) -> Iterator[Boxes]:
    """Boxes in two, each across the variable that adds most to the errors of planes."""
    low, high, order = boxes
    number = np.isin(np.arange(low.shape[1]), whole)
    across = np.argmax(errors + (high - low) * np.where(number, 1e-2, 1e-9), axis=1)
    rows = np.arange(len(low))
    middle = (low + high)[rows, across] / 2
    counted = np.maximum(1, np.floor(np.exp(np.minimum(middle, FAR))))
    last, first = high.copy(), low.copy()
    last[rows, across] = np.where(number[across], np.log(counted), middle)
    first[rows, across] = np.where(number[across], np.log(counted + 1), middle)
    yield from ((low, last, order), (first, high, order))
