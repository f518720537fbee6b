"""More sizes than can be evaluated: branch and bound over boxes of sizes, down to few points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from archline.algebra.effort import late
from archline.algebra.evaluate.boxes import Array, Boxes, OverBoxes
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost
from archline.energy.formulas import fold, names_in, value_of
from archline.energy.optimise.lattice import FROM, LIMIT, TO, Points, TooManyError, free, lattice, size
from archline.energy.optimise.points import CLOSE, Candidates
from archline.energy.optimise.problem import NEAR, EnergyOptimum, EnergyProblem, Variable
from archline.expr.values import ARITHMETIC
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.metrics import WHOLE
from archline.records import record, replace

MOST = 1_000_000
"""So many boxes and points are looked at, within the time that a command has."""
DIVES = 4
"""Of so many boxes points in the middle are evaluated at each step, until boxes are small."""
RARELY = 8
"""Variables of which facts give few values in small boxes are cut only where they are so many times as wide."""
BATCH = 1024
CHUNK = 2**14
"""So many at a time keep their numbers in memory."""
FEW = 256
"""Boxes of so many points are evaluated point by point."""
TIGHT = 1e-6
"""A box is left whose points are not better by a larger share."""
KEPT = 100_000
"""At most this many of the best points are kept: the ranges of an answer are over these."""


@record(eq=False)
class Space:
    """Boxes of variables, with the facts of their points; `held` are numbers, or ranges of real variables.

    `named` gives the values that names of formulas have over boxes.
    """

    variables: tuple[Variable, ...]
    facts: Sequence[s.Fact]
    least: Mapping[str, int]
    held: Mapping[str, tuple[Any, Any]]
    named: Callable[[Boxes], Mapping[str, OverBoxes]]
    sharp: bool

    def bounds(self, problem: EnergyProblem, rows: Points) -> tuple[Array, Any]:
        """What the objective is at least in each box, and which constraints some point of it may satisfy."""
        starts = range(0, size(rows), CHUNK)
        parts = [self._bounds(problem, _some(rows, slice(start, start + CHUNK))) for start in starts]
        return np.concatenate([low for low, _ in parts]), np.concatenate([fits for _, fits in parts], axis=1)

    def _bounds(self, problem: EnergyProblem, rows: Points) -> tuple[Array, Any]:
        wide = [each.name for each in self.variables if each.name + FROM in rows]
        wide += [name for name, (low, high) in self.held.items() if low != high]
        boxes = self._boxes(rows, wide)
        objective, sides = problem.necessary(self.sharp)
        low, _ = boxes.ends(lambda each: _over(objective, each, self.named(each)))
        fits = np.ones((len(sides), size(rows)), bool)
        for index, (left, right) in enumerate(sides):

            def above(each: Boxes, left: s.Expr = left, right: s.Expr = right) -> OverBoxes:
                names = self.named(each)
                return _over(left, each, names) - _over(right, each, names)

            over, most = boxes.ends(above)
            fits[index] = over <= CLOSE * np.abs(most)
        return low, fits

    def possible(self, rows: Points) -> Any:
        """The boxes in which no fact is false at all points."""
        found, boxes = np.ones(size(rows), bool), self._boxes(rows, ())
        known = {*self.held, *(name.removesuffix(FROM) for name in rows)}
        with np.errstate(all="ignore"):
            for fact in self.facts:
                found &= _possible(fact, boxes, known)
        return found

    def _boxes(self, rows: Points, moving: Sequence[str]) -> Boxes:
        ends: list[dict[str, Any]] = [{name: pair[side] for name, pair in self.held.items()} for side in (0, 1)]
        for values, suffix in zip(ends, (FROM, TO), strict=True):
            own = {name.removesuffix(suffix): each for name, each in rows.items()}
            values |= {name: each for name, each in own.items() if " " not in name}
        return Boxes(ends[0], ends[1], moving)


def ends_over(cost: Cost, boxes: Boxes, lower: bool, words: Mapping[str, int]) -> OverBoxes:
    """The derived bounds of a cost over boxes, with what counts are rounded by; `words` set the Z and L of a level."""
    end = cost.lower if lower else cost.upper
    assert end is not None
    found = boxes.of(end.substitute({name: Poly.constant(size) for name, size in words.items()}) if words else end)
    if cost.status == "bounded" and cost.metric in WHOLE:
        found += boxes.number(*((0, 1) if lower else (-1, 0)))
    return found.at_least(boxes.number(0))


def _possible(fact: s.Fact, boxes: Boxes, known: Any) -> Any:
    match fact:
        case s.Binary(op="<=" | "<" | ">=" | ">" | "==" as op, left=left, right=right):
            pass
        case s.Divides(divisor=left, value=right):
            op = "<="
        case _:
            return True
    if not s.names(fact) <= known:
        return True
    try:
        names = {name: boxes.name(name) for name in s.names(fact)}
        one, other = (_over(each, boxes, names) for each in (left, right))
    except ArchlineError:
        return True
    less, more = one.low <= other.high, one.high >= other.low
    if isinstance(fact, s.Divides):
        return less | (other.low <= 0)
    return less & more if op == "==" else less if op in ("<", "<=") else more


def _over(expr: s.Expr, boxes: Boxes, names: Mapping[str, OverBoxes]) -> OverBoxes:
    """A formula over boxes."""
    return fold(expr, _OfBoxes(boxes, names))


@record
class _OfBoxes:
    """Formulas over boxes."""

    boxes: Boxes
    names: Mapping[str, OverBoxes]

    def number(self, value: int | Fraction, expr: s.Expr) -> OverBoxes:
        return self.boxes.number(float(value))

    def name(self, name: s.Name) -> OverBoxes:
        return self.names[name.id]

    def negated(self, value: OverBoxes, expr: s.Unary) -> OverBoxes:
        return -value

    def binary(self, op: str, left: OverBoxes, right: OverBoxes, expr: s.Binary) -> OverBoxes:
        if op != "^":
            found: OverBoxes = ARITHMETIC[op](left, right)
            return found
        exponent = None if names_in(expr.right) else value_of(expr.right, {})
        if exponent is not None and exponent.lower == exponent.upper == Fraction(float(exponent.lower)):
            return left.power(float(exponent.lower))
        return (right * left.logarithm()).exponential(2.0)

    def call(self, function: str, values: Sequence[OverBoxes], expr: s.Call) -> OverBoxes:
        match function:
            case "max":
                return reduce(OverBoxes.at_least, values)
            case "min":
                return reduce(OverBoxes.at_most, values)
            case "sqrt":
                return values[0].root()
            case "log2":
                return values[0].logarithm()
            case "floor":
                return self.boxes.floor(values[0], expr)
            case _:
                return -self.boxes.floor(-values[0], expr)


@dataclass
class BoxSearch:
    """The best points of boxes: the most promising boxes are halved again and again, small ones evaluated."""

    space: Space
    problem: EnergyProblem
    at: Callable[[EnergyProblem, Points], Candidates | None]
    best: float = np.inf
    least: float = np.inf
    count: int = 0
    found: list[tuple[Points, Array, Any]] = field(default_factory=list)

    exhausted: bool = False

    def run(self, start: Points) -> None:
        """Search the boxes: no point is below `least`; where they are `exhausted`, none but those found is better."""
        names = {each.name for each in self.space.variables}
        wide = [each for each in self.space.variables if each.name + FROM in start]
        self._wide = [each.name for each in wide]
        self._free = free(wide, self.space.facts, [*(names - {*self._wide}), *self.space.held])
        rows, bounds = self._bounded(start)
        while size(rows) and self.count < MOST and not late():
            keep = bounds < self._within(-TIGHT)
            self.least = min(self.least, bounds[~keep].min(initial=np.inf))
            order = np.argsort(bounds[keep], kind="stable")
            rows, bounds = _some(rows, keep), bounds[keep][order]
            rows = _some(rows, order)
            chosen, rows, bounds = _some(rows, slice(BATCH)), _some(rows, slice(BATCH, None)), bounds[BATCH:]
            if not size(chosen):
                break
            few = reduce(np.multiply, (self._width(chosen, name) for name in self._free), np.ones(size(chosen))) <= FEW
            self._evaluate(
                _some(chosen, few)
                if few.any()
                else self._inside(_some(chosen, slice(None, None, -(-size(chosen) // DIVES))))
            )
            more, their = self._bounded(self._halves(_some(chosen, ~few)))
            rows, bounds = _joined([rows, more]), np.concatenate([bounds, their])
        self.exhausted = not size(rows)
        self.least = min(self.least, self.best, bounds.min(initial=np.inf))

    def optimum(self) -> EnergyOptimum:
        """The best of the points found."""
        found = self.at(self.problem, self._near()[0])
        assert found is not None
        return replace(found.best(self.least), points=self.count)

    def _within(self, share: float) -> float:
        """What is above the best value by a share of it, or below."""
        return self.best + share * abs(self.best) if self.best < np.inf else np.inf

    def _near(self) -> tuple[Points, Array, Any]:
        """Of the points found the best ones, so far as they are near the best: bounds, and which are feasible."""
        points = _joined([each for each, _, _ in self.found])
        keys, feasible = (np.concatenate([each[place] for each in self.found]) for place in (1, 2))
        order = np.lexsort((keys, ~feasible))[:KEPT]
        order = order[keys[order] <= self._within(NEAR)]
        return _some(points, order), keys[order], feasible[order]

    def _bounded(self, rows: Points) -> tuple[Points, Array]:
        """The boxes that may have feasible points, with bounds on the objective."""
        rows = _some(rows, self.space.possible(rows))
        if not size(rows):
            return rows, np.zeros(0)
        self.count += size(rows)
        bounds, fits = self.space.bounds(self.problem, rows)
        keep = fits.all(axis=0) & (bounds < np.inf)
        return _some(rows, keep), bounds[keep]

    def _width(self, rows: Points, name: str) -> Array:
        return (rows[name + TO] - rows[name + FROM] + 1).astype(float)

    def _halves(self, rows: Points) -> Points:
        """Both halves of each box, which is cut where it is widest by the ratio of its ends."""
        if not size(rows):
            return rows
        ratios = [(self._width(rows, name) - 1) / np.maximum(rows[name + FROM], 1) for name in self._wide]
        ratios = [each / (1 if name in self._free else RARELY) for name, each in zip(self._wide, ratios, strict=True)]
        widest, parts = np.argmax(ratios, axis=0), list[Points]()
        for index, name in enumerate(self._wide):
            own = _some(rows, widest == index)
            low, high = own[name + FROM], own[name + TO]
            mean = np.sqrt(np.maximum(low, 1).astype(float) * high).astype(np.int64)
            middle = np.clip(np.where(high > 4 * low, mean, (low + high) // 2), low, np.maximum(low, high - 1))
            parts += [{**own, name + TO: middle}, {**own, name + FROM: middle + 1}]
        return _joined(parts)

    def _inside(self, rows: Points) -> Points:
        """A part of each box in its middle that has few points."""
        side = max(1, int(FEW ** (1 / max(1, len(self._free)))))
        found = dict(rows)
        for name in self._free:
            low, high = rows[name + FROM], rows[name + TO]
            found[name + FROM] = np.maximum(low, (low + high - side) // 2)
            found[name + TO] = np.minimum(high, found[name + FROM] + side - 1)
        return found

    def _evaluate(self, rows: Points) -> None:
        """Evaluate all points of boxes."""
        wide = [each for each in self.space.variables if each.name in self._wide]
        try:
            points = lattice(rows, wide, self.space.facts, self.space.least)
        except TooManyError:
            half = size(rows) // 2
            parts = [_some(rows, slice(half)), _some(rows, slice(half, None))] if half else [self._halves(rows)]
            for part in parts:
                self._evaluate(part)
            return
        self.count += size(points)
        at = self.at(self.problem, points) if size(points) else None
        if at is None:
            return
        self.best = at.incumbent(self.best)
        # Points that break one constraint show whether it binds.
        near = at.nearly_feasible & (at.key <= self._within(NEAR))
        if near.any():
            self.found.append((_some(at.points, near), at.key[near], at.feasible[near]))
        if sum(len(keys) for _, keys, _ in self.found) > LIMIT:
            self.found = [self._near()]


def _some(rows: Points, which: Any) -> Points:
    return {name: values[which] for name, values in rows.items()}


def _joined(parts: Sequence[Points]) -> Points:
    return {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
