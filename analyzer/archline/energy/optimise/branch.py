"""Branch and bound: boxes are left out in which constraints, or sums of them with the objective, are above 0.

The objective enters as a comparison with a level just below the best value that is known: what is above 0 in a box for
all levels of points that are better proves that no such point is there. With the weights of a local optimum the sum of
the objective and its constraints is flat around it, so that boxes there need not be small; where all is convex, one box
is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, copysign, exp, floor, inf, log
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from archline.algebra.effort import late
from archline.energy.optimise.enclosures import Boxes, Comparisons, Vector
from archline.energy.optimise.local import TIGHT, Local, optimum
from archline.energy.optimise.signomials import Sum, plus, positive
from archline.records import record, replace

CLOSED = 1e-8
"""The search ends where no point can be better by more than this share of the best value."""
ROUNDING = 1e-11
"""Differences are known up to this share of what is subtracted."""
ZERO, FLAT = 1e-12, 1e-9
"""What is above the one is above 0, without rounding; slopes below the other may be rounding."""
MOST_BOXES, TOGETHER = 400_000, 2_048
EAGER, NARROW = 8, 1e-11
"""So many rounds, and each so-many-th later, look for better points; boxes so small are not halved."""
MOST_ROWS, LEVELS = 12, 30
LEAST: Sum = {(): 1e-300}
"""What stands for 0 where a logarithm is taken."""
FAR = 80.0
"""The logarithms of variables without a range go this far."""


@record(eq=False)
class Model:
    """A sum, not below 0, to minimise over a box of logarithms, with the first of each pair of sums at most the second.

    `sums` have numbers after those of the variables; to the objective a `constant` is added; `whole` variables are
    whole numbers.
    """

    objective: Sum
    constant: float
    sums: tuple[Sum, ...]
    pairs: tuple[tuple[Sum, Sum], ...]
    low: Vector
    high: Vector
    whole: frozenset[int] = frozenset()

    def level(self, value: float) -> tuple[Sum, Sum]:
        """A pair that compares the objective, without its constant, with a value."""
        left, right = positive(self.objective), positive(self.objective, -1)
        left, right = (left, plus(right, {(): value})) if value > 0 else (plus(left, {(): -value}), right)
        return left or LEAST, right or LEAST

    @property
    def comparisons(self) -> Comparisons:
        """The objective, in comparison with 1, and the constraints."""
        return Comparisons.of(len(self.low), self.sums, (self.level(1.0), *self.pairs))

    @property
    def convex(self) -> bool:
        """Whether it is a geometric program."""
        return not self.whole and self.comparisons.convex

    def value(self, y: Vector) -> float:
        """The objective at a point, without its constant."""
        values = [*y]
        for terms in self.sums:
            values.append(log(_total(terms, values)))
        return _total(self.objective, values)


def _total(terms: Sum, logs: list[float]) -> float:
    return sum(copysign(exponential(log(abs(c)) + sum(logs[i] * a for i, a in key)), c) for key, c in terms.items())


def exponential(value: float) -> float:
    """The number of a logarithm."""
    return exp(value) if value < 700 else inf


_Left: TypeAlias = tuple[Vector, Vector, Vector, Vector]


@record(eq=False)
class Outcome:
    """The best point, its value, a bound on all values (infinite if no point is feasible), and the number of boxes."""

    best: Local | None
    value: float
    bound: float
    boxes: int


class _Search:
    def __init__(self, model: Model) -> None:
        self.model, self.comparisons = model, model.comparisons
        self.best: Local | None = None
        self.value = self.level = inf
        self.bound = inf
        self.rows: list[Vector] = []
        self.signed = min(model.objective.values()) < 0

    def improve(self, low: Vector, high: Vector, start: Vector) -> None:
        """Look for a better point in a box."""
        found = self._climbed(start, low, high)
        if self.model.whole and found.feasible:
            for one, other in self._rounded(low, high, found.y):
                self._climbed(np.clip(found.y, one, other), one, other)

    def _climbed(self, y: Vector, low: Vector, high: Vector) -> Local:
        """The local optimum: that of comparisons with its own value, which is the best one where it is a sum."""
        value, found = 1.0, None
        for _ in range(LEVELS if self.signed else 1):
            if self.signed:
                value = self.model.value(y)
            self.comparisons = self.comparisons.with_pairs([self.model.level(value)], after=1)
            found = optimum(self.comparisons.at, y, low, high)
            y = found.y
            if not found.feasible or abs(self.model.value(y) - value) <= 1e-14 * abs(value):
                break
        assert found is not None
        if not any(np.allclose(each, found.weights, rtol=1e-9, atol=1e-12) for each in self.rows):
            self.rows = [*self.rows, found.weights][-MOST_ROWS:]
        fits = all(abs(exp(y[index]) - round(exp(y[index]))) <= TIGHT * exp(y[index]) for index in self.model.whole)
        if found.feasible and fits and (value := self.model.value(y)) < self.value:
            self.best, self.value = found, value
            size = positive(self.model.objective) if self.signed else {}
            rounding = ROUNDING * replace(self.model, objective=size).value(y) if size else 0.0
            self.level = value - max(CLOSED * abs(value + self.model.constant), rounding)
        return found

    def _rounded(self, low: Vector, high: Vector, y: Vector) -> Iterator[tuple[Vector, Vector]]:
        """The box with whole variables at the numbers next to those of a point."""
        whole = sorted(self.model.whole)
        near = [{max(1, floor(exp(y[index]) + TIGHT)), ceil(exp(y[index]) - TIGHT)} for index in whole]
        for values in product(*near):
            first, last = low.copy(), high.copy()
            first[whole] = last[whole] = [log(each) for each in values]
            if (first >= low - TIGHT).all() and (last <= high + TIGHT).all():
                yield first, last

    def reduced(self, low: Vector, high: Vector) -> _Left:
        """Boxes without those in which no point is feasible and better, and without such parts of the others.

        Also a number for each that is small where better points are likely, and how much each variable's width matters.
        """
        known = self.best is not None
        comparisons = self.comparisons.with_pairs([self.model.level(self.level)] if known else [], after=1)
        at = (low + high) / 2
        if self.best is not None:
            inside = ((low <= self.best.y) & (self.best.y <= high)).all(axis=1)
            at[inside] = self.best.y
        boxes = Boxes(low, high, at)
        planes, errors = comparisons.below(boxes)
        rows = [each if known else each[1:] for each in self.rows if known or not each[0]]
        planes = np.tensordot(np.array([*np.eye(len(planes)), *rows]).reshape(-1, len(planes)), planes, 1)
        least = boxes.least(planes)
        ours = np.array([True, *[False] * (len(comparisons.pairs) - 1), *(each[0] > 0 for each in rows)]) & known
        out = (least > ZERO).any(axis=0)
        if known and out.any():
            # Where a constraint alone fails, there is no point at all.
            beyond = np.where((least[~ours] > ZERO).any(axis=0), inf, least[ours].max(axis=0))[out]
            self._prove(float(beyond.min()))
        if known and not out.all():
            self._prove(0.0)
        low, high, planes, least = low[~out], high[~out], planes[:, ~out], least[:, ~out]
        # A plane is to be at most 0, so that no slope may add more than what the others leave.
        slopes = planes[..., :-1]
        with np.errstate(all="ignore"):
            limit = (ZERO - least[..., None] + np.minimum(slopes * low, slopes * high)) / slopes
        up, down = slopes > FLAT, slopes < -FLAT
        high = np.minimum(high, np.where(up, limit, inf).min(axis=0, initial=inf))
        low = np.maximum(low, np.where(down, limit, -inf).max(axis=0, initial=-inf))
        for index in self.model.whole:
            low[:, index] = np.log(np.maximum(1.0, np.ceil(np.exp(low[:, index]) * (1 - TIGHT))))
            high[:, index] = np.log(np.maximum(1.0, np.floor(np.exp(high[:, index]) * (1 + TIGHT))))
        left = (low <= high).all(axis=1)
        order = (least[ours] if known else least).max(axis=0, initial=-inf)
        return low[left], high[left], order[left], errors[~out][left]

    def _prove(self, beyond: float) -> None:
        """Note that no point is below the level, by the logarithm of a factor."""
        proved = self.level * exponential(beyond) if self.level > 0 and beyond else self.level
        self.bound = min(self.bound, proved)

    def bracket(self, low: Vector, high: Vector) -> None:
        """Prove a level for boxes that are left: the first, of lower and lower ones, that leaves out all of them."""
        for _ in range(LEVELS if self.best is not None else 1):
            if self.best is not None:
                self.level = self.value - 4 * (self.value - self.level)
                if self.level + self.model.constant <= 0:
                    break
            parts = [self.reduced(*each)[:2] for each in _together(low, high)]
            low, high = (np.concatenate(each) for each in zip(*parts, strict=True))
            if not len(low):
                return
        self.bound = -self.model.constant


def _together(*arrays: Vector) -> Iterator[list[Vector]]:
    for start in range(0, len(arrays[0]), TOGETHER):
        yield [each[start : start + TOGETHER] for each in arrays]


def minimise(model: Model) -> Outcome:
    """The optimum, or what is known of it when the time is up or after MOST_BOXES boxes."""
    search, boxes, rounds = _Search(model), 0, 0
    low, high, order = model.low[None], model.high[None], np.zeros(1)
    if model.pairs:
        low, high, order, _ = search.reduced(low, high)
    for first, last in zip(low, high, strict=True):
        middle = np.where(last - first >= FAR, np.clip(0.0, first, last), (first + last) / 2)
        search.improve(model.low, model.high, middle)
    narrow: list[tuple[Vector, Vector]] = []
    while len(low) and boxes < MOST_BOXES and not late():
        places = np.argsort(order, kind="stable")
        first, rest = places[:TOGETHER], places[TOGETHER:]
        boxes, rounds = boxes + len(first), rounds + 1
        low, high, order, waiting = low[rest], high[rest], order[rest], (low[first], high[first])
        found = search.reduced(*waiting)
        if len(found[0]) and (rounds <= EAGER or rounds % EAGER == 0):
            best, value = int(np.argmin(found[2])), search.value
            search.improve(found[0][best], found[1][best], (found[0][best] + found[1][best]) / 2)
            if search.best is not None and search.value < value:
                search.improve(model.low, model.high, search.best.y)
        done = (found[1] - found[0]).max(axis=1, initial=0.0) < NARROW
        narrow.append((found[0][done], found[1][done]))
        parts = _halves(found, ~done, model.whole)
        low, high, order = (np.concatenate(each) for each in zip((low, high, order), *parts, strict=True))
    low, high = (np.concatenate(each) for each in zip((low, high), *narrow, strict=True))
    if len(low):
        search.bracket(low, high)
    bound = min(search.bound, search.value)
    return Outcome(search.best, max(0.0, model.constant + search.value), max(0.0, model.constant + bound), boxes)


def _halves(boxes: _Left, kept: NDArray[np.bool_], whole: frozenset[int]) -> Iterator[tuple[Vector, Vector, Vector]]:
    """Boxes in two, each across the variable that adds most to the errors of planes."""
    low, high, order, errors = (each[kept] for each in boxes)
    width = high - low
    number = np.isin(np.arange(low.shape[1]), [*whole])
    across = np.argmax(errors + width * np.where(number, 1e-2, 1e-9), axis=1)
    rows = np.arange(len(low))
    middle = (low + high)[rows, across] / 2
    below = np.where(number[across], np.log(np.maximum(1.0, np.floor(np.exp(np.minimum(middle, FAR))))), middle)
    above = np.where(number[across], np.log(np.floor(np.exp(np.minimum(middle, FAR))) + 1), middle)
    last, first = high.copy(), low.copy()
    last[rows, across], first[rows, across] = below, above
    yield low, last, order
    yield first, high, order


def box(low: float | None, high: float | None) -> tuple[float, float]:
    """The logarithms of a range."""
    return (
        -FAR if low is None or low <= 0 else log(low),
        FAR if high is None else log(high) if high > 0 else -FAR,
    )
