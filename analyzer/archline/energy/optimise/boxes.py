"""Branch and bound over boxes of sizes, for more sizes than can be evaluated, reduces them to a few points."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from archline.algebra.effort import is_out_of_time
from archline.algebra.evaluate.boxes import Array, BoundsOverBoxes, Boxes
from archline.algebra.polynomial import Poly
from archline.analysis.cost import Cost
from archline.energy.formulas import bound_value, fold, names_in
from archline.energy.optimise.lattice import (
    FROM,
    LIMIT,
    TO,
    Points,
    TooManyError,
    count_points,
    enumerate_points,
    find_free_variables,
)
from archline.energy.optimise.points import ROUNDING_TOLERANCE, Candidates
from archline.energy.optimise.problem import NEAR_OPTIMUM_SHARE, EnergyOptimum, EnergyProblem, Variable
from archline.expr.values import ARITHMETIC
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.metrics import WHOLE_METRICS
from archline.records import record, replace

MAX_EXAMINED = 1_000_000
"""The search ends after this many boxes and points, which fit in the time of a command."""
MIDDLE_BOXES = 4
"""While boxes are large, points in the middle of this many boxes are evaluated in each step."""
DEPENDENT_DISCOUNT = 8
"""Variables to which facts leave few values are halved only if they are this many times as wide as free ones."""
BATCH = 1024
CHUNK = 2**14
"""Bounds are computed for this many boxes at a time, which limits the memory they take."""
MAX_EVALUATED = 256
"""Boxes of at most this many points are evaluated point by point."""
MIN_IMPROVEMENT = 1e-6
"""A box is dropped unless its points may improve on the best value by more than this share."""
MAX_BEST_POINTS = 100_000
"""At most this many of the best points are stored; the ranges of an answer are over these."""


@record(eq=False)
class BoxSpace:
    """The space that boxes divide: integer variables, and the facts that their points satisfy.

    `held` has both ends of each fixed number and real variable, `least` the minimum of each variable. `named` returns
    the values over boxes of the names in formulas; they are exact at points if `sharp`.
    """

    variables: tuple[Variable, ...]
    facts: Sequence[s.Fact]
    least: Mapping[str, int]
    held: Mapping[str, tuple[Any, Any]]
    named: Callable[[Boxes], Mapping[str, BoundsOverBoxes]]
    sharp: bool

    def bound_boxes_from_below(self, problem: EnergyProblem, rows: Points) -> tuple[Array, Any]:
        """Return a lower bound on the objective in each box, and which constraints may hold at some point of it."""
        starts = range(0, count_points(rows), CHUNK)
        parts = [
            self._bound_chunk_from_below(problem, _select_rows(rows, slice(start, start + CHUNK))) for start in starts
        ]
        return np.concatenate([low for low, _ in parts]), np.concatenate([fits for _, fits in parts], axis=1)

    def _bound_chunk_from_below(self, problem: EnergyProblem, rows: Points) -> tuple[Array, Any]:
        wide = [variable.name for variable in self.variables if variable.name + FROM in rows]
        wide += [name for name, (low, high) in self.held.items() if low != high]
        boxes = self._make_boxes(rows, wide)
        objective, sides = problem.select_necessary_ends(self.sharp)
        low, _ = boxes.bound_formula(lambda part: _enclose_formula(objective, part, self.named(part)))
        fits = np.ones((len(sides), count_points(rows)), bool)
        for index, (left, right) in enumerate(sides):

            def bound_difference(part: Boxes, left: s.Expr = left, right: s.Expr = right) -> BoundsOverBoxes:
                names = self.named(part)
                return _enclose_formula(left, part, names) - _enclose_formula(right, part, names)

            smallest, largest = boxes.bound_formula(bound_difference)
            fits[index] = smallest <= ROUNDING_TOLERANCE * np.abs(largest)
        return low, fits

    def mark_possible(self, rows: Points) -> Any:
        """Return a boolean for each box: False if some fact is false at every point of the box."""
        marks, boxes = np.ones(count_points(rows), bool), self._make_boxes(rows, ())
        names = {*self.held, *(name.removesuffix(FROM) for name in rows)}
        with np.errstate(all="ignore"):
            for fact in self.facts:
                marks &= _mark_possible_boxes(fact, boxes, names)
        return marks

    def _make_boxes(self, rows: Points, moving: Sequence[str]) -> Boxes:
        ends: list[dict[str, Any]] = [{name: pair[side] for name, pair in self.held.items()} for side in (0, 1)]
        for values, suffix in zip(ends, (FROM, TO), strict=True):
            ends_of_side = {name.removesuffix(suffix): row for name, row in rows.items()}
            values |= {name: bound for name, bound in ends_of_side.items() if " " not in name}
        return Boxes(ends[0], ends[1], moving)


def enclose_cost(cost: Cost, boxes: Boxes, lower: bool, words: Mapping[str, int]) -> BoundsOverBoxes:
    """Enclose the `lower` or the upper bound of a cost over boxes; for a count, include its rounding to an integer.

    `words` are the Z and L of a level of caches, for costs of that level.
    """
    end = cost.lower if lower else cost.upper
    assert end is not None
    enclosure = boxes.bound_expression(
        end.substitute({name: Poly.constant(size) for name, size in words.items()}) if words else end
    )
    if cost.status == "bounded" and cost.metric in WHOLE_METRICS:
        enclosure += boxes.number(*((0, 1) if lower else (-1, 0)))
    return enclosure.take_maximum(boxes.number(0))


def _mark_possible_boxes(fact: s.Fact, boxes: Boxes, known: Any) -> Any:
    match fact:
        case s.Binary(op="<=" | "<" | ">=" | ">" | "==" as op, left=left, right=right):
            pass
        case s.Divides(divisor=left, value=right):
            op = "<="
        case _:
            return True
    if not s.find_names(fact) <= known:
        return True
    try:
        names = {name: boxes.name(name) for name in s.find_names(fact)}
        low_side, high_side = (_enclose_formula(side, boxes, names) for side in (left, right))
    except ArchlineError:
        return True
    may_be_below, may_be_above = low_side.low <= high_side.high, low_side.high >= high_side.low
    if isinstance(fact, s.Divides):
        return may_be_below | (high_side.low <= 0)
    return may_be_below & may_be_above if op == "==" else may_be_below if op in ("<", "<=") else may_be_above


def _enclose_formula(expr: s.Expr, boxes: Boxes, names: Mapping[str, BoundsOverBoxes]) -> BoundsOverBoxes:
    return fold(expr, _BoxEvaluator(boxes, names))


@record
class _BoxEvaluator:
    """Evaluates formulas over boxes."""

    boxes: Boxes
    names: Mapping[str, BoundsOverBoxes]

    def number(self, value: int | Fraction, expr: s.Expr) -> BoundsOverBoxes:
        return self.boxes.number(float(value))

    def name(self, name: s.Name) -> BoundsOverBoxes:
        return self.names[name.id]

    def negated(self, value: BoundsOverBoxes, expr: s.Unary) -> BoundsOverBoxes:
        return -value

    def binary(self, op: str, left: BoundsOverBoxes, right: BoundsOverBoxes, expr: s.Binary) -> BoundsOverBoxes:
        if op != "^":
            result: BoundsOverBoxes = ARITHMETIC[op](left, right)
            return result
        exponent = None if names_in(expr.right) else bound_value(expr.right, {})
        if exponent is not None and exponent.lower == exponent.upper == Fraction(float(exponent.lower)):
            return left.power(float(exponent.lower))
        return (right * left.logarithm()).exponential(2.0)

    def call(self, function: str, values: Sequence[BoundsOverBoxes], expr: s.Call) -> BoundsOverBoxes:
        match function:
            case "max":
                return reduce(BoundsOverBoxes.take_maximum, values)
            case "min":
                return reduce(BoundsOverBoxes.take_minimum, values)
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
    """A search for the best points of boxes: the most promising boxes are halved repeatedly, small ones evaluated."""

    space: BoxSpace
    problem: EnergyProblem
    at: Callable[[EnergyProblem, Points], Candidates | None]
    best: float = np.inf
    least: float = np.inf
    count: int = 0
    found: list[tuple[Points, Array, Any]] = field(default_factory=list)

    exhausted: bool = False

    def run(self, start: Points) -> None:
        """Search the boxes `start`; `least` then bounds the objective, and the best point is optimal if `exhausted`."""
        names = {variable.name for variable in self.space.variables}
        wide = [variable for variable in self.space.variables if variable.name + FROM in start]
        self._wide = [variable.name for variable in wide]
        self._free = find_free_variables(wide, self.space.facts, [*(names - {*self._wide}), *self.space.held])
        rows, bounds = self._prune_boxes(start)
        while count_points(rows) and self.count < MAX_EXAMINED and not is_out_of_time():
            keep = bounds < self._compute_threshold(-MIN_IMPROVEMENT)
            self.least = min(self.least, bounds[~keep].min(initial=np.inf))
            order = np.argsort(bounds[keep], kind="stable")
            rows, bounds = _select_rows(rows, keep), bounds[keep][order]
            rows = _select_rows(rows, order)
            chosen, rows, bounds = (
                _select_rows(rows, slice(BATCH)),
                _select_rows(rows, slice(BATCH, None)),
                bounds[BATCH:],
            )
            if not count_points(chosen):
                break
            is_small = (
                reduce(
                    np.multiply,
                    (self._compute_width(chosen, name) for name in self._free),
                    np.ones(count_points(chosen)),
                )
                <= MAX_EVALUATED
            )
            self._evaluate_points(
                _select_rows(chosen, is_small)
                if is_small.any()
                else self._shrink_boxes(
                    _select_rows(chosen, slice(None, None, -(-count_points(chosen) // MIDDLE_BOXES)))
                )
            )
            halves, half_bounds = self._prune_boxes(self._split_boxes(_select_rows(chosen, ~is_small)))
            rows, bounds = _join_rows([rows, halves]), np.concatenate([bounds, half_bounds])
        self.exhausted = not count_points(rows)
        self.least = min(self.least, self.best, bounds.min(initial=np.inf))

    def optimum(self) -> EnergyOptimum:
        candidates = self.at(self.problem, self._select_near_points()[0])
        assert candidates is not None
        return replace(candidates.find_best(self.least), points=self.count)

    def _compute_threshold(self, share: float) -> float:
        """Return the value that is a share above the best value, or below it if the share is negative."""
        return self.best + share * abs(self.best) if self.best < np.inf else np.inf

    def _select_near_points(self) -> tuple[Points, Array, Any]:
        """Return the best evaluated points near the optimum, with bounds and whether they are feasible."""
        points = _join_rows([part for part, _, _ in self.found])
        keys, feasible = (np.concatenate([part[place] for part in self.found]) for place in (1, 2))
        order = np.lexsort((keys, ~feasible))[:MAX_BEST_POINTS]
        order = order[keys[order] <= self._compute_threshold(NEAR_OPTIMUM_SHARE)]
        return _select_rows(points, order), keys[order], feasible[order]

    def _prune_boxes(self, rows: Points) -> tuple[Points, Array]:
        """Return the boxes that may have feasible points, with bounds on the objective."""
        rows = _select_rows(rows, self.space.mark_possible(rows))
        if not count_points(rows):
            return rows, np.zeros(0)
        self.count += count_points(rows)
        bounds, fits = self.space.bound_boxes_from_below(self.problem, rows)
        keep = fits.all(axis=0) & (bounds < np.inf)
        return _select_rows(rows, keep), bounds[keep]

    def _compute_width(self, rows: Points, name: str) -> Array:
        return (rows[name + TO] - rows[name + FROM] + 1).astype(float)

    def _split_boxes(self, rows: Points) -> Points:
        """Halve each box along the variable whose range has the largest ratio of width to lower end."""
        if not count_points(rows):
            return rows
        ratios = [(self._compute_width(rows, name) - 1) / np.maximum(rows[name + FROM], 1) for name in self._wide]
        ratios = [
            ratio / (1 if name in self._free else DEPENDENT_DISCOUNT)
            for name, ratio in zip(self._wide, ratios, strict=True)
        ]
        widest, parts = np.argmax(ratios, axis=0), list[Points]()
        for index, name in enumerate(self._wide):
            rows_of_name = _select_rows(rows, widest == index)
            low, high = rows_of_name[name + FROM], rows_of_name[name + TO]
            mean = np.sqrt(np.maximum(low, 1).astype(float) * high).astype(np.int64)
            middle = np.clip(np.where(high > 4 * low, mean, (low + high) // 2), low, np.maximum(low, high - 1))
            parts += [{**rows_of_name, name + TO: middle}, {**rows_of_name, name + FROM: middle + 1}]
        return _join_rows(parts)

    def _shrink_boxes(self, rows: Points) -> Points:
        """Return for each box a part in its middle that has few points."""
        side = max(1, int(MAX_EVALUATED ** (1 / max(1, len(self._free)))))
        shrunk = dict(rows)
        for name in self._free:
            low, high = rows[name + FROM], rows[name + TO]
            shrunk[name + FROM] = np.maximum(low, (low + high - side) // 2)
            shrunk[name + TO] = np.minimum(high, shrunk[name + FROM] + side - 1)
        return shrunk

    def _evaluate_points(self, rows: Points) -> None:
        wide = [variable for variable in self.space.variables if variable.name in self._wide]
        try:
            points = enumerate_points(rows, wide, self.space.facts, self.space.least)
        except TooManyError:
            half = count_points(rows) // 2
            parts = (
                [_select_rows(rows, slice(half)), _select_rows(rows, slice(half, None))]
                if half
                else [self._split_boxes(rows)]
            )
            for part in parts:
                self._evaluate_points(part)
            return
        self.count += count_points(points)
        at = self.at(self.problem, points) if count_points(points) else None
        if at is None:
            return
        self.best = at.improve_best(self.best)
        # Points that break one constraint show whether it binds.
        near = at.nearly_feasible & (at.key <= self._compute_threshold(NEAR_OPTIMUM_SHARE))
        if near.any():
            self.found.append((_select_rows(at.points, near), at.key[near], at.feasible[near]))
        if sum(len(keys) for _, keys, _ in self.found) > LIMIT:
            self.found = [self._select_near_points()]


def _select_rows(rows: Points, which: Any) -> Points:
    return {name: values[which] for name, values in rows.items()}


def _join_rows(parts: Sequence[Points]) -> Points:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
