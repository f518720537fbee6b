"""The best of finitely many points: bounds on all of them at once, then exact values in the order of the bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from archline.algebra.effort import late
from archline.energy.arrays import compiled
from archline.energy.formulas import value_of
from archline.energy.intervals import Interval, UndefinedError
from archline.energy.model import Estimate
from archline.energy.optimise.problem import (
    BRACKETED,
    INFEASIBLE,
    LATTICE,
    NEAR,
    OPTIMAL,
    Number,
    Optimum,
    Problem,
    Span,
    Variable,
)
from archline.language import syntax as s
from archline.records import record

MOST_EXACT = 2_000
"""So many points are evaluated exactly at most, where bounds at arrays of points are not those at single ones."""
CLOSE = 1e-12
"""Numbers that differ by rounding alone."""
Marks = NDArray[np.bool_]
Array = NDArray[np.float64]


@record
class ExactValues:
    """Exact values of all names at a point, and the model's answer there."""

    values: Mapping[str, Interval]
    estimate: Estimate


Exact = Callable[[Mapping[str, int]], "ExactValues | None"]
"""What is known at a point; None where the algorithm has no run there."""


@record
class _Value:
    place: int
    ends: Interval
    known: ExactValues


class Points:
    """A problem at points: arrays for all names of its formulas, which are `sharp` where they equal exact values."""

    def __init__(
        self,
        problem: Problem,
        points: Mapping[str, NDArray[Any]],
        columns: Mapping[str, Any],
        sharp: bool,
        exact: Exact,
    ) -> None:
        self._problem, self._points, self._sharp, self._exact = problem, points, sharp, exact
        self._length = len(next(iter(points.values())))
        self._found: dict[int, _Value | None] = {}
        formulas: dict[str, s.Expr] = {}
        for name, each in problem.bounds.items():
            formulas |= {f"{name} low": each.lower, f"{name} high": each.upper}
        with np.errstate(all="ignore"):
            found = compiled(formulas)(columns)
        self._columns = {name: np.broadcast_to(each, (self._length,)) for name, each in found.items()}

    @cached_property
    def _key(self) -> Array:
        """No point's objective, at the end that counts, is below this."""
        end = "high" if self._sharp and self._problem.upper else "low"
        return np.where(np.isnan(self._columns[f"objective {end}"]), np.inf, self._columns[f"objective {end}"])

    def _fits(self, index: int, upper: bool) -> Marks:
        """Where a constraint holds up to rounding: surely, or by the lower ends."""
        left, right = ("high", "low") if upper else ("low", "high")
        one, other = self._columns[f"left {index} {left}"], self._columns[f"right {index} {right}"]
        return np.asarray(one <= other + CLOSE * np.abs(other))

    @cached_property
    def _fit(self) -> NDArray[np.bool_]:
        """A row for each constraint."""
        upper = self._problem.upper and self._sharp
        rows = [self._fits(index, upper) for index in range(len(self._problem.constraints))]
        return np.array(rows, bool).reshape(len(rows), self._length)

    @property
    def _feasible(self) -> Marks:
        return np.asarray(self._fit.all(axis=0))

    def _at(self, place: int) -> _Value | None:
        """The exact value of a point; None where it has none, or a constraint fails."""
        if place not in self._found:
            self._found[place] = self._evaluated(place)
        return self._found[place]

    def _evaluated(self, place: int, left_out: int = -1) -> _Value | None:
        known = self._exact({name: int(values[place]) for name, values in self._points.items()})
        if known is None:
            return None
        try:
            for index, each in enumerate(self._problem.constraints):
                left, right = (value_of(side, known.values) for side in (each.left, each.right))
                holds = left.upper <= right.lower if self._problem.upper else left.lower <= right.upper
                if index != left_out and not holds:
                    return None
            return _Value(place, value_of(self._problem.objective, known.values), known)
        except UndefinedError:
            return None

    def _number(self, value: _Value) -> float:
        return float(value.ends.upper if self._problem.upper else value.ends.lower)

    def _in_order(self, marks: Marks) -> Iterator[int]:
        """The points that are marked, those with the least bounds first."""
        places = np.flatnonzero(marks & np.isfinite(self._key))
        yield from (int(each) for each in places[np.argsort(self._key[places], kind="stable")])

    def best(self) -> Optimum:
        """The best point: the first in the order of bounds whose exact value is no larger than the next bound."""
        best, bound, tried = None, None, 0
        for place in self._in_order(self._feasible):
            bound = float(self._key[place])
            if best is not None and bound > self._number(best) * (1 + (0 if self._sharp else NEAR)):
                break
            if tried == MOST_EXACT or (best is not None and late()):
                break
            tried += 1
            found = self._at(place)
            if found is not None and (best is None or self._number(found) < self._number(best)):
                best = found
            if self._sharp and best is not None:
                break
        else:
            bound = None
        if best is None:
            status = BRACKETED if tried == MOST_EXACT else INFEASIBLE
            return Optimum(status, LATTICE, conflict=self._conflict(), points=self._length)
        value = self._number(best)
        least = value if bound is None or bound >= value * (1 - CLOSE) else bound
        gap = (value - least) / abs(value) if value else 0.0
        near = self._near(value)
        return Optimum(
            OPTIMAL if gap <= CLOSE else BRACKETED,
            LATTICE,
            value=float(best.ends.upper),
            lower=float(best.ends.lower),
            bound=least,
            gap=gap,
            variables={each.name: self._free(each, best.place, near(CLOSE)) for each in self._problem.variables},
            at={each.name: int(self._points[each.name][best.place]) for each in self._problem.variables},
            ranges={each.name: self._span(each.name, near(NEAR)) for each in self._problem.variables},
            binding=tuple(self._binding(value, best.place)),
            points=self._length,
            estimate=best.known.estimate,
        )

    def _near(self, value: float) -> Callable[[float], NDArray[np.int64]]:
        """The feasible points whose objective is within a share of the optimum."""

        def near(share: float) -> NDArray[np.int64]:
            if self._sharp:
                return np.flatnonzero(self._feasible & (self._key <= value + share * abs(value)))
            found = (each for each in self._found.values() if each is not None)
            return np.array([each.place for each in found if self._number(each) <= value + share * abs(value)])

        return near

    def _span(self, name: str, places: NDArray[np.int64]) -> Span:
        values = self._points[name][places]
        return int(values.min()), int(values.max())

    def _free(self, variable: Variable, place: int, equal: NDArray[np.int64]) -> Number | Span:
        """The value, or the range of those that change nothing while the other variables stay."""
        for other in self._problem.variables:
            if other is not variable:
                values = self._points[other.name]
                equal = equal[values[equal] == values[place]]
        low, high = self._span(variable.name, equal)
        return (low, high) if low < high else low

    def _binding(self, value: float, place: int) -> Iterator[str]:
        """The constraints without which some point is better, and the ends of ranges at which the optimum is."""
        wrong = (~self._fit).sum(axis=0)
        for index, each in enumerate(self._problem.constraints):
            only = (wrong == 0) | ((wrong == 1) & ~self._fit[index])
            for count, better in enumerate(self._in_order(only)):
                if self._key[better] >= value * (1 - CLOSE) or count == MOST_EXACT:
                    break
                found = self._evaluated(better, left_out=index)
                if found is not None and self._number(found) < value * (1 - CLOSE):
                    yield each.text
                    break
        for variable in self._problem.variables:
            chosen = int(self._points[variable.name][place])
            yield from (f"{variable.name} {op} {chosen}" for op, end in _ends(variable) if end == chosen)

    def _conflict(self) -> tuple[str, ...]:
        """Constraints that no point satisfies together, though all but any one of them."""
        count = len(self._problem.constraints)
        fits = np.array([self._fits(index, self._problem.upper) for index in range(count)], bool)
        left = minimal(range(count), lambda kept: bool(fits[list(kept)].all(axis=0).any()))
        return tuple(dict.fromkeys(self._problem.constraints[index].text for index in left))


def _ends(variable: Variable) -> Iterator[tuple[str, Fraction]]:
    """The ends of its range, each with the relation to it."""
    if variable.low is not None:
        yield ">=", variable.low
    if variable.high is not None:
        yield "<=", variable.high


def minimal(items: Sequence[Any], feasible: Callable[[Sequence[Any]], bool]) -> list[Any]:
    """Of constraints that exclude each other some that do, and no longer if any one of them is left out."""
    left = list(items)
    for each in items:
        rest = [other for other in left if other != each]
        if not feasible(rest):
            left = rest
    return left
