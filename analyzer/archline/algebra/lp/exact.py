"""Solves linear programs over the rationals exactly: the maximum of c.x where A x <= b.

    maximise([1, 1], [[1, 2], [3, 1]], [4, 6])     # x >= 0: Optimum(14/5 at (8/5, 6/5), multipliers (2/5, 1/5))

Variables are nonnegative, except those numbered in `free`. The answer proves itself:

- `Optimum`: `point` is feasible, and `multipliers`, one for each row and nonnegative, prove that no point is better:
  the rows times their multipliers add up to at least the objective in each nonnegative variable, to exactly the
  objective in each free one, and the limits times the multipliers to `value`.
- `Unbounded`: `point` is feasible, and stays so along `ray`, on which the objective grows.
- `Infeasible`: the rows times the `multipliers` add up to at least 0 in each nonnegative variable, to exactly 0 in
  each free one, and the limits times the multipliers to less than 0.

Tableaux are small and dense; Bland's rule guarantees termination.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from archline.numbers import fmpq
from archline.records import record

ZERO, ONE = fmpq(0), fmpq(1)
Vector = tuple[fmpq, ...]


@record
class Optimum:
    """The maximum, the point where it is taken, and a multiplier for each row that proves it."""

    value: fmpq
    point: Vector
    multipliers: Vector


@record
class Unbounded:
    """A feasible point, and a direction in which the objective grows without bound."""

    point: Vector
    ray: Vector


@record
class Infeasible:
    """Nonnegative multipliers of the rows that prove that no point satisfies all rows."""

    multipliers: Vector


Solution = Optimum | Unbounded | Infeasible


def maximise(
    objective: Sequence[fmpq | int],
    rows: Sequence[Sequence[fmpq | int]],
    limits: Sequence[fmpq | int],
    free: Collection[int] = (),
) -> Solution:
    """Maximise objective.x where each row times x is at most its limit. Numbers are fmpq or int."""
    split = sorted(free)
    table = _Tableau([_split_free_variables(row, split) for row in rows], limits, len(objective) + len(split))
    if any(limit < 0 for limit in limits):
        refutation = table.make_feasible()
        if refutation is not None:
            return Infeasible(refutation)
    table.set_objective(_split_free_variables(objective, split))
    ray = table.find_optimum()
    point = _join_free_variables(table.read_point(), len(objective), split)
    if ray is not None:
        return Unbounded(point, _join_free_variables(ray, len(objective), split))
    return Optimum(table.goal[-1], point, table.read_multipliers())


def _split_free_variables(row: Sequence[fmpq | int], split: Sequence[int]) -> list[fmpq]:
    """Write each free variable as a difference of two nonnegative ones; the second ones are appended."""
    wide = [fmpq(number) for number in row]
    return [*wide, *(-wide[index] for index in split)]


def _join_free_variables(values: list[fmpq], count: int, split: Sequence[int]) -> Vector:
    narrow = values[:count]
    for offset, index in enumerate(split):
        narrow[index] -= values[count + offset]
    return tuple(narrow)


class _Tableau:
    """The tableau: every basic variable as its limit minus multiples of the nonbasic ones; the objective is in `goal`.

    Variables are numbered: those of the problem, then a slack for each row.
    """

    def __init__(self, rows: list[list[fmpq]], limits: Sequence[fmpq | int], width: int) -> None:
        self.width = width
        self.rows = [[*row, fmpq(limit)] for row, limit in zip(rows, limits, strict=True)]
        self.columns = list(range(width))
        self.basis = list(range(width, width + len(rows)))
        self.goal: list[fmpq] = []

    def set_objective(self, objective: Sequence[fmpq]) -> None:
        """Express the objective in the variables that are nonbasic now."""
        self.goal = [*(-objective[variable] if variable < self.width else ZERO for variable in self.columns), ZERO]
        for row, variable in zip(self.rows, self.basis, strict=True):
            if variable < self.width and objective[variable]:
                factor = objective[variable]
                self.goal = [old + factor * entry for old, entry in zip(self.goal, row, strict=True)]

    def find_optimum(self) -> list[fmpq] | None:
        """Pivot to an optimal basis and return None; if there is none, return the direction of unbounded growth."""
        while True:
            rising = [(variable, index) for index, variable in enumerate(self.columns) if self.goal[index].p < 0]
            if not rising:
                return None
            entering = min(rising)[1]
            leaving = self._find_leaving_row(entering)
            if leaving is None:
                return self._find_ray(entering)
            self._pivot_tableau(leaving, entering)

    def make_feasible(self) -> Vector | None:
        """Pivot to a feasible basis and return None; if there is none, return the multipliers of a contradiction."""
        helper = self.width + len(self.rows)
        self.columns.append(helper)
        for row in self.rows:
            row.insert(-1, -ONE)
        self.goal = [*([ZERO] * (len(self.columns) - 1)), ONE, ZERO]
        worst = min(range(len(self.rows)), key=lambda index: self.rows[index][-1])
        self._pivot_tableau(worst, len(self.columns) - 1)
        self.find_optimum()
        if self.goal[-1] < 0:
            return self.read_multipliers()
        if helper in self.basis:
            # Its value is 0, so any nonbasic variable of its row may replace it in the basis.
            index = self.basis.index(helper)
            self._pivot_tableau(index, next(place for place, entry in enumerate(self.rows[index][:-1]) if entry))
        place = self.columns.index(helper)
        del self.columns[place]
        for row in self.rows:
            del row[place]
        return None

    def read_point(self) -> list[fmpq]:
        values = [ZERO] * self.width
        for row, variable in zip(self.rows, self.basis, strict=True):
            if variable < self.width:
                values[variable] = row[-1]
        return values

    def read_multipliers(self) -> Vector:
        """Return the reduced costs of the slacks."""
        costs = dict(zip(self.columns, self.goal, strict=False))
        return tuple(costs.get(self.width + index, ZERO) for index in range(len(self.rows)))

    def _find_leaving_row(self, column: int) -> int | None:
        best: tuple[fmpq, int] | None = None
        chosen = None
        for index, row in enumerate(self.rows):
            if row[column].p > 0:
                candidate = (row[-1] / row[column], self.basis[index])
                if best is None or candidate < best:
                    best, chosen = candidate, index
        return chosen

    def _find_ray(self, column: int) -> list[fmpq]:
        ray = [ZERO] * self.width
        if self.columns[column] < self.width:
            ray[self.columns[column]] = ONE
        for row, variable in zip(self.rows, self.basis, strict=True):
            if variable < self.width:
                ray[variable] = -row[column]
        return ray

    def _pivot_tableau(self, index: int, column: int) -> None:
        row = self.rows[index]
        inverse = 1 / row[column]
        row = [entry * inverse if entry else entry for entry in row]
        row[column] = inverse
        self.rows[index] = row
        for place, equation in enumerate(self.rows):
            if place != index and equation[column]:
                self.rows[place] = _eliminate_column(equation, row, column)
        if self.goal[column]:
            self.goal = _eliminate_column(self.goal, row, column)
        self.basis[index], self.columns[column] = self.columns[column], self.basis[index]


def _eliminate_column(other: list[fmpq], row: list[fmpq], column: int) -> list[fmpq]:
    factor = other[column]
    result = [old - factor * entry if entry else old for old, entry in zip(other, row, strict=True)]
    result[column] = -factor * row[column]
    return result
