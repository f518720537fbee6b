"""Solves linear programs in floating point with HiGHS, and large ones by column generation.

HiGHS (J. Hall, Q. Huangfu, Parallelizing the dual revised simplex method, 2018) restarts from its last corner if only
bounds of variables changed. Solutions are proposals; proofs decide on them.

In programs of many columns few are in use at the optimum, so the others are added when they pay: a column improves the
optimum only if its reduced cost is negative (P. Gilmore, R. Gomory, A linear programming approach to the cutting-stock
problem, 1961). Until enough columns are present to solve the equations, expensive artificial columns with a single
entry make the program feasible.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import numpy.typing as npt

from archline.algebra.evaluate.vectors import Array, as_float
from archline.algebra.lp import failures
from archline.algebra.polynomial import Monomial, Poly
from archline.numbers import fmpq, fmpq_mat
from archline.records import record

Places = npt.NDArray[np.int32]
MAX_ITERATIONS = 20_000
"""More indicate numbers of too different magnitude, with which the solver does not end."""
NO_OPTIMUM_STATUSES = (
    "kInfeasible",
    "kUnbounded",
    "kUnboundedOrInfeasible",
    "kIterationLimit",
    "kUnknown",
    "kModelEmpty",
)
"""Statuses of a working solver that has no optimum.

`kUnknown`: magnitudes are too different to decide; `kModelEmpty`: the program was refused, as numbers are too large.
"""
VariableBounds = tuple[float, float]
FREE, NONNEGATIVE = (-np.inf, np.inf), (0.0, np.inf)


@record
class Matrix:
    """The nonzero entries of a matrix, each once: entry k is numbers[k] in row rows[k] and column columns[k]."""

    rows: Places
    columns: Places
    numbers: Array
    shape: tuple[int, int]

    def with_rows(self, lower: Matrix) -> Matrix:
        """Return this matrix with the rows of another one appended."""
        height, width = self.shape
        return Matrix(
            np.concatenate([self.rows, lower.rows + height]),
            np.concatenate([self.columns, lower.columns]),
            np.concatenate([self.numbers, lower.numbers]),
            (height + lower.shape[0], width),
        )

    def to_columns(self) -> tuple[Places, Places, Array]:
        """Return where each column starts, and the rows and numbers of its entries."""
        order = np.argsort(self.columns, kind="stable")
        starts = np.searchsorted(self.columns[order], np.arange(self.shape[1]))
        return starts.astype(np.int32), self.rows[order], self.numbers[order]


def embed_dense(matrix: Array, width: int) -> Matrix:
    """Return a dense matrix as the first columns of a sparse one of `width` columns."""
    rows, columns = np.nonzero(matrix)
    return Matrix(rows.astype(np.int32), columns.astype(np.int32), matrix[rows, columns], (len(matrix), width))


class SolverError(Exception):
    """The solver is not installed, or does not work."""


class _SolverState:
    """Whether the solver has worked in this process: then its failure on a program concerns that program only."""

    works = False


def _record_failure(problem: Exception) -> None:
    """Record how the solver failed, unless it has worked before."""
    if _SolverState.works:
        return
    try:
        release = f"highspy {version('highspy')}"
    except PackageNotFoundError:
        release = "highspy"
    failures[f"the solver of linear programs, {release}, failed: {str(problem) or type(problem).__name__}"] = None


@cache
def _import_solver() -> Any:
    """Import the solver when first needed, as that is slow, and suppress what its first instance prints."""
    import highspy

    # From 1.16 on that is a banner on standard output, where JSON may be expected.
    with suppress(OSError):  # The process may have no output.
        saved, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        try:
            highspy.Highs()  # type: ignore[no-untyped-call]
        finally:
            os.dup2(saved, 1)
            os.close(saved)
            os.close(nowhere)
    return highspy


class LinearProgram:
    """Minimises aim.x where low <= matrix*x <= high and every variable is within its `ends`. Raises SolverError."""

    def __init__(self, aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[VariableBounds]) -> None:
        try:
            self._load(_import_solver(), aim, matrix, low, high, ends)
        except Exception as problem:
            _record_failure(problem)
            raise SolverError from problem

    def _load(
        self, highspy: Any, aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[VariableBounds]
    ) -> None:
        self._solver = highspy.Highs()
        # Presolve would hardly reduce these programs.
        for option, value in (
            ("output_flag", False), ("simplex_iteration_limit", MAX_ITERATIONS), ("threads", 1), ("presolve", "off"),
        ):  # fmt: skip
            self._solver.setOptionValue(option, value)
        height, width = matrix.shape
        # Contiguous, since releases before 1.8 misread other arrays.
        lower, upper = np.array(ends).T.copy()
        starts, rows, numbers = matrix.to_columns()
        form, sense = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize)
        self._solver.passModel(
            width, height, len(numbers), form, sense, 0.0, aim, lower, upper, low, high, starts, rows, numbers,
            np.zeros(width, dtype=np.int32),
        )  # fmt: skip

    def solve(self) -> Array | None:
        """Return the optimal x, or None if no optimum is found."""
        try:
            self._solver.run()
            status = self._solver.getModelStatus().name
            if status in ("kOptimal", *NO_OPTIMUM_STATUSES):
                _SolverState.works = True
                failures.clear()
            if status == "kOptimal":
                return np.array(self._solver.getSolution().col_value)
            if status not in NO_OPTIMUM_STATUSES:
                raise RuntimeError(f"its status is {status}")
        except Exception as problem:
            _record_failure(problem)
        return None

    def set_objective(self, aim: Array) -> None:
        """Minimise another objective; the solver restarts from its last corner."""
        columns = np.arange(len(aim), dtype=np.int32)
        self._solver.changeColsCost(len(aim), columns, aim)

    def read_row_duals(self) -> Array:
        """Return the prices of the rows at the optimum, as many as it has."""
        return np.array(self._solver.getSolution().row_dual)

    def set_variable_bounds(self, column: int, ends: VariableBounds) -> None:
        self._solver.changeColBounds(column, *ends)

    def save_basis(self) -> None:
        """Remember the current basis of the solver."""
        self._marked = self._solver.getBasis()

    def restore_basis(self) -> None:
        """Restore the basis that `save_basis` remembered, from which nearby optima are found quickly."""
        self._solver.setBasis(self._marked)

    def set_right_side(self, values: Array) -> None:
        """Require matrix*x to equal other values."""
        for row, value in enumerate(values):
            self._solver.changeRowBounds(row, value, value)


class Entries:
    """The entries of a sparse matrix of coefficients: a row for each monomial and a column for each polynomial."""

    def __init__(self, places: Mapping[Monomial, int] | None = None) -> None:
        """Start from `places`, rows that some terms have already."""
        self.places: dict[Monomial, int] = dict(places or {})
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.numbers: list[float] = []

    def get_row_index(self, monomial: Monomial) -> int:
        return self.places.setdefault(monomial, len(self.places))

    def add_column(self, column: int, value: Poly) -> None:
        """Add the coefficients of `value` as a column. Raises OverflowError for numbers beyond floating point."""
        for monomial, number in value.terms.items():
            self.rows.append(self.get_row_index(monomial))
            self.columns.append(column)
            self.numbers.append(as_float(number))

    def build_matrix(self, width: int) -> Matrix:
        """Return the matrix of `width` columns. Raises OverflowError for numbers beyond floating point."""
        numbers = np.array(self.numbers, dtype=float)
        return Matrix(index_array(self.rows), index_array(self.columns), numbers, (len(self.places), width))


def index_array(numbers: Sequence[int], first: int = 0) -> Places:
    """Return indices of rows or columns as an array, with `first` added to each."""
    return np.array(numbers, dtype=np.int32) + np.int32(first)


def solve_equations(rows: list[list[fmpq]], count: int) -> tuple[fmpq, ...] | None:
    """Solve linear equations (coefficients, then the right side); free unknowns are 0. None if inconsistent.

    `count` is the number of unknowns.
    """
    reduced, rank = fmpq_mat(rows).rref()
    unknowns = [fmpq(0)] * count
    lead = -1
    for row in range(rank):
        # The leading columns of rows increase.
        lead = next(column for column in range(lead + 1, count + 1) if reduced[row, column])
        if lead == count:
            return None
        unknowns[lead] = reduced[row, count]
    return tuple(unknowns)


INITIAL_COLUMNS, ADDED_COLUMNS = 600, 200
"""The number of initial columns, those with the fewest entries, and of columns added at a time."""
MAX_ROUNDS = 100
ARTIFICIAL_COST = 1e4
PRICING_TOLERANCE, ZERO_TOLERANCE = 1e-7, 1e-6
DUAL, PRIMAL = 1, 4


def make_program(
    aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[VariableBounds], free: int = 0
) -> LinearProgram:
    """Return a program whose columns are >= 0 except the first `free`, with column generation if it is large."""
    if matrix.shape[1] <= free + INITIAL_COLUMNS + ADDED_COLUMNS:
        return LinearProgram(aim, matrix, low, high, ends)
    return ColumnGenerationProgram(aim, matrix, low, high, ends, free)


class ColumnGenerationProgram(LinearProgram):
    """A program that adds columns while their reduced costs are negative; all but the first `free` columns are >= 0."""

    def __init__(
        self, aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[VariableBounds], free: int
    ) -> None:
        self._aim, self._matrix = aim, matrix
        width = matrix.shape[1]
        entries = np.bincount(matrix.columns, minlength=width)
        self._length = np.sqrt(np.bincount(matrix.columns, matrix.numbers**2, width)) + PRICING_TOLERANCE
        sparse = free + np.argsort(entries[free:], kind="stable")[:INITIAL_COLUMNS]
        self._columns = np.concatenate([np.arange(free), sparse]).astype(np.int32)
        """The columns of the matrix in the program; artificial columns come after the initial ones."""
        equal = np.flatnonzero(low == high).astype(np.int32)
        self._own, self._standing = free + len(sparse), 2 * len(equal)
        first = _with_artificial_columns(_select_columns(matrix, self._columns), equal)
        standing = np.full(self._standing, ARTIFICIAL_COST)
        bounds = [*(ends[column] for column in self._columns), *[NONNEGATIVE] * self._standing]
        super().__init__(np.concatenate([aim[self._columns], standing]), first, low, high, bounds)
        import highspy

        self._least = highspy.HighsBasisStatus.kLower

    def solve(self) -> Array | None:
        self._solver.setOptionValue("simplex_strategy", DUAL)
        for _ in range(MAX_ROUNDS):
            point = super().solve()
            if point is None:
                return None
            better = self._price_columns()
            if not len(better):
                return self._expand_solution(point)
            self._add_columns(better)
            # The basis stays feasible, but is no longer optimal.
            self._solver.setOptionValue("simplex_strategy", PRIMAL)
        return None

    def save_basis(self) -> None:
        self._width = self._solver.getNumCol()
        super().save_basis()

    def restore_basis(self) -> None:
        added = self._solver.getNumCol() - self._width
        if added:
            # Columns added since the mark are at 0. Reading all states is as slow as solving again.
            basis = self._marked
            basis.col_status = [*basis.col_status, *[self._least] * added]
            self._width += added
        super().restore_basis()

    def _price_columns(self) -> Places:
        """Return the columns outside the program with the lowest reduced costs, if these are negative."""
        matrix, prices = self._matrix, self.read_row_duals()
        worth = np.bincount(matrix.columns, matrix.numbers * prices[matrix.rows], matrix.shape[1])
        reduced = (self._aim - worth) / self._length
        reduced[self._columns] = 0.0
        cheapest = np.argsort(reduced, kind="stable")[:ADDED_COLUMNS]
        return cheapest[reduced[cheapest] < -PRICING_TOLERANCE].astype(np.int32)

    def _add_columns(self, columns: Places) -> None:
        starts, rows, numbers = _select_columns(self._matrix, columns).to_columns()
        count, ends = len(columns), np.zeros(len(columns))
        self._solver.addCols(count, self._aim[columns], ends, ends + np.inf, len(rows), starts, rows, numbers)
        self._columns = np.concatenate([self._columns, columns])

    def _expand_solution(self, point: Array) -> Array | None:
        """Return the values of all columns; None if an artificial column is in use."""
        initial, standing = self._own, self._own + self._standing
        if point[initial:standing].max(initial=0.0) > ZERO_TOLERANCE:
            return None
        values = np.zeros(self._matrix.shape[1])
        values[self._columns] = np.concatenate([point[:initial], point[standing:]])
        return values


def _select_columns(matrix: Matrix, columns: Places) -> Matrix:
    """Return some columns of a matrix, in the order given."""
    place = np.full(matrix.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    selected = place[matrix.columns] >= 0
    width = matrix.shape[0], len(columns)
    return Matrix(matrix.rows[selected], place[matrix.columns[selected]], matrix.numbers[selected], width)


def _with_artificial_columns(matrix: Matrix, rows: Places) -> Matrix:
    """Append columns with a 1 or a -1 in each of some rows to a matrix."""
    height, width = matrix.shape
    count = len(rows)
    signs = np.repeat([1.0, -1.0], count)
    columns = np.arange(width, width + 2 * count, dtype=np.int32)
    return Matrix(
        np.concatenate([matrix.rows, rows, rows]),
        np.concatenate([matrix.columns, columns]),
        np.concatenate([matrix.numbers, signs]),
        (height, width + 2 * count),
    )
