"""Find the best of finitely many points: by bounds on all, then by exact values in the order of the bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.algebra.effort import is_out_of_time
from archline.energy.estimates import Estimate
from archline.energy.formulas import bound_value
from archline.energy.optimise.problem import (
    BRACKETED,
    BRANCHING,
    INFEASIBLE,
    LATTICE,
    NEAR_OPTIMUM_SHARE,
    OPTIMAL,
    EnergyOptimum,
    EnergyProblem,
    Span,
    Variable,
)
from archline.expr.arrays import compile_formulas
from archline.expr.intervals import EvaluationError, Interval
from archline.records import record, replace

MAX_EXACT = 2_000
"""At most this many points are evaluated exactly if the bounds at arrays of points are not sharp."""
ROUNDING_TOLERANCE = 1e-12
"""Numbers that differ by a smaller share are equal but for rounding."""
SEARCH_TOLERANCE = 1e-6
"""Optima over real numbers, and over boxes, are exact up to this share."""
MAX_TRIED = 200
"""At most this many points are evaluated exactly for each constraint that may bind, and in each step of a search."""
PARTIAL_RANGES_NOTE = "ranges cover only the points evaluated: others may be within 1 % of the optimum too"
SIZE_RANGES_NOTE = "ranges of quantities are those at the best sizes"
Marks = NDArray[np.bool_]
Array = NDArray[np.float64]


@record
class ExactValues:
    """Exact values of all names at a point, and the model's answer there; `real` is the optimum of real variables."""

    values: Mapping[str, Interval]
    estimate: Estimate
    real: EnergyOptimum | None = None


Exact = Callable[[Mapping[str, int], EnergyProblem], "ExactValues | None"]
"""The exact values of a problem at a point; None if the algorithm has no run there, or no real variables suit."""


@record
class _PointValue:
    place: int
    ends: Interval
    known: ExactValues


def bound_at_points_from_below(
    problem: EnergyProblem, columns: Mapping[str, Any], length: int, sharp: bool
) -> tuple[Array, Marks]:
    """Return lower bounds of the objective at points, and for each constraint a row that marks where it may hold.

    With `sharp`, for which the values of names must be exact, upper bounds of costs are used if `problem.upper`.
    """
    objective, sides = problem.select_necessary_ends(sharp)
    formulas = {"objective": objective}
    for index, (left, right) in enumerate(sides):
        formulas |= {f"left {index}": left, f"right {index}": right}
    with np.errstate(all="ignore"):
        values = {
            name: np.broadcast_to(column, (length,)) for name, column in compile_formulas(formulas)(columns).items()
        }
        pairs = [(values[f"left {index}"], values[f"right {index}"]) for index in range(len(sides))]
        rows = [left <= right + ROUNDING_TOLERANCE * np.abs(right) for left, right in pairs]
    return values["objective"], np.array(rows, bool).reshape(len(rows), length)


class Candidates:
    """The candidate points of a problem: the `key` has lower bounds on the objective, `fit` where constraints may hold.

    If `sharp`, the lower bounds are exact values.
    """

    def __init__(
        self,
        problem: EnergyProblem,
        points: Mapping[str, NDArray[Any]],
        key: Array,
        fit: Marks,
        sharp: bool,
        exact: Exact,
    ) -> None:
        self._problem, self.points, self._sharp, self._exact = problem, points, sharp, exact
        self.key, self._fit = np.where(np.isnan(key), np.inf, key), fit
        self._length = len(key)
        self._every = tuple(range(len(problem.constraints)))
        self._found: dict[tuple[int, tuple[int, ...]], _PointValue | None] = {}

    @property
    def feasible(self) -> Marks:
        """The points at which all constraints may hold."""
        return np.asarray(self._fit.all(axis=0))

    @property
    def nearly_feasible(self) -> Marks:
        """The points at which at most one constraint fails."""
        return np.asarray((~self._fit).sum(axis=0) <= 1)

    def _evaluate_point(self, place: int, indices: tuple[int, ...] | None = None) -> _PointValue | None:
        """Return the exact objective at a point; None if it has no value, or a constraint among `indices` fails."""
        indices = self._every if indices is None else indices
        if (place, indices) not in self._found:
            self._found[place, indices] = self._evaluate_uncached(place, indices)
        return self._found[place, indices]

    def _evaluate_uncached(self, place: int, indices: tuple[int, ...]) -> _PointValue | None:
        problem = self._problem.with_constraints(indices)
        exact = self._exact({name: int(values[place]) for name, values in self.points.items()}, problem)
        if exact is None:
            return None
        slack = 0 if exact.real is None else Fraction(SEARCH_TOLERANCE)
        try:
            for item in problem.constraints:
                left, right = (bound_value(side, exact.values, shared=False) for side in (item.left, item.right))
                low, high = (left.upper, right.lower) if problem.upper else (left.lower, right.upper)
                if low > high + slack * abs(high):
                    return None
            return _PointValue(place, bound_value(problem.objective, exact.values, shared=False), exact)
        except EvaluationError:
            return None

    def improve_best(self, best: float) -> float:
        """Return the minimum of `best` and the exact values at the most promising points."""
        for count, place in enumerate(self._order_points(self.feasible & (self.key < best))):
            if self.key[place] >= best or count == MAX_TRIED:
                break
            evaluated = self._evaluate_point(place)
            if evaluated is not None:
                best = min(best, self._select_end(evaluated))
                if self._sharp:
                    break
        return best

    def _select_end(self, value: _PointValue) -> float:
        return float(value.ends.upper if self._problem.upper else value.ends.lower)

    def _order_points(self, marks: Marks) -> Iterator[int]:
        places = np.flatnonzero(marks & (self.key < np.inf))
        yield from (int(position) for position in places[np.argsort(self.key[places], kind="stable")])

    def find_best(self, outside: float = np.inf) -> EnergyOptimum:
        """Evaluate points in increasing order of lower bounds until none can be better; return the optimum.

        At points that are not candidates the objective is at least `outside`.
        """
        best, bound, tried, cut = None, None, 0, False
        for place in self._order_points(self.feasible):
            bound = float(self.key[place])
            if best is not None:
                share = 0 if self._sharp or best.known.real is not None else NEAR_OPTIMUM_SHARE
                if bound > (number := self._select_end(best)) + share * abs(number):
                    break
            cut = tried == MAX_EXACT or (best is not None and is_out_of_time())
            if cut:
                break
            tried += 1
            evaluated = self._evaluate_point(place)
            if evaluated is not None and (best is None or self._select_end(evaluated) < self._select_end(best)):
                best = evaluated
            if self._sharp and best is not None:
                break
        else:
            bound = None
        if best is None:
            if tried == MAX_EXACT or outside < np.inf:
                return EnergyOptimum(BRACKETED, LATTICE, points=self._length)
            return EnergyOptimum(INFEASIBLE, LATTICE, conflict=self._find_conflict(), points=self._length)
        value, real = self._select_end(best), best.known.real
        lowest = value if bound is None or bound >= value - ROUNDING_TOLERANCE * abs(value) else bound
        lowest = min(lowest, outside)
        gap = (value - lowest) / abs(value) if value else 0.0
        if real is not None and real.gap is not None:
            # Nothing is below the bound that the search for real variables has at the best point.
            lowest, gap = min(lowest, value - real.gap * abs(value)), max(gap, real.gap)
        near, feasible = self._make_near_selector(value), np.flatnonzero(self.feasible)
        whole = [variable.name for variable in self._problem.variables if variable.name in self.points]
        alone = {name: self._select_points_along(name, best.place, near(ROUNDING_TOLERANCE)) for name in whole}
        spans = {name: self._compute_span(name, places) for name, places in alone.items()}
        # Of boxes only the best points are stored, and any whole number may lie between these.
        allowed = {
            name: None if outside < np.inf else self._select_points_along(name, best.place, feasible) for name in whole
        }
        listed = {name: self._list_gapped_values(name, places, allowed[name]) for name, places in alone.items()}
        pool = None if outside < np.inf else feasible
        some_near = {name: self._list_gapped_values(name, near(NEAR_OPTIMUM_SHARE), pool) for name in whole}
        optimum = EnergyOptimum(
            OPTIMAL
            if gap <= (ROUNDING_TOLERANCE if real is None and outside == np.inf else SEARCH_TOLERANCE)
            else BRACKETED,
            LATTICE if outside == np.inf else BRANCHING,
            value=float(best.ends.upper),
            lower=float(best.ends.lower),
            bound=lowest,
            gap=gap,
            variables={name: low if low == high else (low, high) for name, (low, high) in spans.items()},
            at={name: int(self.points[name][best.place]) for name in whole},
            ranges={name: self._compute_span(name, near(NEAR_OPTIMUM_SHARE)) for name in whole},
            some={name: values for name, values in listed.items() if values},
            some_near={name: values for name, values in some_near.items() if values},
            binding=tuple(dict.fromkeys(self._iterate_binding_constraints(value, best))),
            points=self._length,
            estimate=best.known.estimate,
            notes=(PARTIAL_RANGES_NOTE,) if cut or outside < np.inf else (),
        )
        if real is None:
            return optimum
        return replace(
            optimum,
            variables={**optimum.variables, **real.variables},
            at={**optimum.at, **real.at},
            ranges={**optimum.ranges, **real.ranges},
            notes=(*optimum.notes, SIZE_RANGES_NOTE),
        )

    def _make_near_selector(self, value: float) -> Callable[[float], NDArray[np.int64]]:
        """Return a function that selects the feasible points whose objective is within a share of the optimum."""

        def near(share: float) -> NDArray[np.int64]:
            if self._sharp:
                return np.flatnonzero(self.feasible & (self.key <= value + share * abs(value)))
            pool = (item for (_, indices), item in self._found.items() if item is not None and indices == self._every)
            return np.array([item.place for item in pool if self._select_end(item) <= value + share * abs(value)])

        return near

    def _compute_span(self, name: str, places: NDArray[np.int64]) -> Span:
        values = self.points[name][places]
        return int(values.min()), int(values.max())

    def _select_points_along(self, name: str, place: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Select, among `places`, the points that differ from the one at `place` at most in the variable `name`."""
        for variable in self._problem.variables:
            if variable.name != name and variable.name in self.points:
                values = self.points[variable.name]
                places = places[values[places] == values[place]]
        return places

    def _list_gapped_values(
        self, name: str, places: NDArray[np.int64], around: NDArray[np.int64] | None
    ) -> tuple[int, ...]:
        """List a variable's values at `places` if other values, at points `around` or any integers, lie between."""
        values = np.unique(self.points[name][places])
        between = values[-1] - values[0] + 1
        if around is not None:
            allowed = np.unique(self.points[name][around])
            between = np.count_nonzero((allowed >= values[0]) & (allowed <= values[-1]))
        return () if between == len(values) else tuple(values.tolist())

    def _iterate_binding_constraints(self, value: float, best: _PointValue) -> Iterator[str]:
        """Yield the constraints without which some point is better, and limits of ranges that the optimum attains."""
        wrong, share = (~self._fit).sum(axis=0), ROUNDING_TOLERANCE if best.known.real is None else SEARCH_TOLERANCE
        for index, constraint in enumerate(self._problem.constraints):
            marks: Any = np.asarray((wrong == 0) | ((wrong == 1) & ~self._fit[index]))
            kept = tuple(position for position in self._every if position != index)
            for count, better in enumerate(self._order_points(marks)):
                if self.key[better] >= value - ROUNDING_TOLERANCE * abs(value) or count == MAX_TRIED:
                    break
                evaluated = self._evaluate_point(better, kept)
                if evaluated is not None and self._select_end(evaluated) < value - share * abs(value):
                    yield constraint.text
                    break
        for variable in self._problem.variables:
            if variable.name in self.points:
                chosen = int(self.points[variable.name][best.place])
                yield from (
                    f"{variable.name} {op} {chosen}" for op, end in _iterate_range_ends(variable) if end == chosen
                )
        yield from best.known.real.binding if best.known.real is not None else ()

    def _find_conflict(self) -> tuple[str, ...]:
        """Return a minimal set of constraints that exclude each other."""

        def is_possible(indices: Sequence[int]) -> bool:
            marks: Any = self._fit[list(indices)].all(axis=0)
            if self._sharp:
                return bool(marks.any())
            tried = islice(self._order_points(marks), MAX_TRIED)
            return any(self._evaluate_point(place, tuple(indices)) is not None for place in tried)

        left = find_minimal_conflict(self._every, is_possible)
        return tuple(dict.fromkeys(self._problem.constraints[index].text for index in left))


def _iterate_range_ends(variable: Variable) -> Iterator[tuple[str, Fraction]]:
    if variable.low is not None:
        yield ">=", variable.low
    if variable.high is not None:
        yield "<=", variable.high


def find_minimal_conflict(items: Sequence[Any], feasible: Callable[[Sequence[Any]], bool]) -> list[Any]:
    """Return a minimal infeasible selection of items: it is feasible without any one item."""
    left = list(items)
    for item in items:
        rest = [candidate for candidate in left if candidate != item]
        if not feasible(rest):
            left = rest
    return left
