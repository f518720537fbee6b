"""Linear programs in floating point, solved by HiGHS (J. Hall, Q. Huangfu, Parallelizing the dual revised simplex
method, 2018), which goes on from its last corner where only bounds of variables have changed.

What they find is a proposal; proofs decide on it.

Linear programs of many columns, few of which are in use at the best corner: the others wait until they pay. A column
that the program does not have yet is worth having where its reduced cost is below 0 (P. Gilmore, R. Gomory, A linear
programming approach to the cutting-stock problem, 1961). Until there are enough of them to solve the equations, dear
columns with a single entry stand in.
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
"""More are a sign of numbers too far apart, with which the solver does not end."""
NOTHING_FOUND = ("kInfeasible", "kUnbounded", "kUnboundedOrInfeasible", "kIterationLimit", "kUnknown", "kModelEmpty")
"""How the solver ends where it works and has no best point.

`kUnknown`: numbers are too far apart to decide; `kModelEmpty`: the program was refused, as numbers are too large.
"""
Ends = tuple[float, float]
FREE, POSITIVE = (-np.inf, np.inf), (0.0, np.inf)


@record
class Matrix:
    """What is not 0 in a matrix: entry k is numbers[k] in row rows[k] and column columns[k]; none is there twice."""

    rows: Places
    columns: Places
    numbers: Array
    shape: tuple[int, int]

    def above(self, other: Matrix) -> Matrix:
        """The rows of both, with those of the other behind."""
        height, width = self.shape
        return Matrix(
            np.concatenate([self.rows, other.rows + height]),
            np.concatenate([self.columns, other.columns]),
            np.concatenate([self.numbers, other.numbers]),
            (height + other.shape[0], width),
        )

    def by_columns(self) -> tuple[Places, Places, Array]:
        """Where each column starts, and the rows and numbers of its entries."""
        order = np.argsort(self.columns, kind="stable")
        starts = np.searchsorted(self.columns[order], np.arange(self.shape[1]))
        return starts.astype(np.int32), self.rows[order], self.numbers[order]


def dense(matrix: Array, width: int) -> Matrix:
    """A matrix of few columns, as the first ones of `width`."""
    rows, columns = np.nonzero(matrix)
    return Matrix(rows.astype(np.int32), columns.astype(np.int32), matrix[rows, columns], (len(matrix), width))


class SolverError(Exception):
    """The solver is not there, or does not work."""


class _Solver:
    """Whether the solver has worked in this process: then a program that it fails on is one that it cannot solve."""

    works = False


def _failed(problem: Exception) -> None:
    """Remember how the solver failed, if it never works."""
    if _Solver.works:
        return
    try:
        release = f"highspy {version('highspy')}"
    except PackageNotFoundError:
        release = "highspy"
    failures[f"the solver of linear programs, {release}, failed: {str(problem) or type(problem).__name__}"] = None


@cache
def _library() -> Any:
    """The module, which takes long to import and few programs need, after what its first solver prints."""
    import highspy

    # From 1.16 on that is a banner on the standard output of the process, where JSON may be expected.
    with suppress(OSError):  # Without an output there is nothing to keep it from.
        kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        try:
            highspy.Highs()  # type: ignore[no-untyped-call]
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            os.close(nowhere)
    return highspy


class LinearProgram:
    """aim.x is to be least where low <= matrix*x <= high, and every x lies between its ends. Raises SolverError."""

    def __init__(self, aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[Ends]) -> None:
        try:
            self._load(_library(), aim, matrix, low, high, ends)
        except Exception as problem:
            _failed(problem)
            raise SolverError from problem

    def _load(self, highspy: Any, aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[Ends]) -> None:
        self._solver = highspy.Highs()
        # Little of what is asked for here gets smaller beforehand.
        for option, value in (
            ("output_flag", False), ("simplex_iteration_limit", MAX_ITERATIONS), ("threads", 1), ("presolve", "off"),
        ):  # fmt: skip
            self._solver.setOptionValue(option, value)
        height, width = matrix.shape
        # Contiguous, since releases before 1.8 take no others for what they are.
        lower, upper = np.array(ends).T.copy()
        starts, rows, numbers = matrix.by_columns()
        form, sense = int(highspy.MatrixFormat.kColwise), int(highspy.ObjSense.kMinimize)
        self._solver.passModel(
            width, height, len(numbers), form, sense, 0.0, aim, lower, upper, low, high, starts, rows, numbers,
            np.zeros(width, dtype=np.int32),
        )  # fmt: skip

    def solve(self) -> Array | None:
        """The best x, or None where there is none or it is not found."""
        try:
            self._solver.run()
            status = self._solver.getModelStatus().name
            if status in ("kOptimal", *NOTHING_FOUND):
                _Solver.works = True
                failures.clear()
            if status == "kOptimal":
                return np.array(self._solver.getSolution().col_value)
            if status not in NOTHING_FOUND:
                raise RuntimeError(f"its status is {status}")
        except Exception as problem:
            _failed(problem)
        return None

    def bound(self, column: int, ends: Ends) -> None:
        """Other ends for one x."""
        self._solver.changeColBounds(column, *ends)

    def mark(self) -> None:
        """Remember the corner that the solver is at."""
        self._marked = self._solver.getBasis()

    def back(self) -> None:
        """Go back to the corner that was marked; what is near it is found from there."""
        self._solver.setBasis(self._marked)

    def level(self, values: Array) -> None:
        """matrix*x is to be equal to other values."""
        for row, value in enumerate(values):
            self._solver.changeRowBounds(row, value, value)


class Entries:
    """A sparse matrix with a row for each term and a column for each value."""

    def __init__(self, places: Mapping[Monomial, int] | None = None) -> None:
        """`places`: rows that some terms have already."""
        self.places: dict[Monomial, int] = dict(places or {})
        self.rows: list[int] = []
        self.columns: list[int] = []
        self.numbers: list[float] = []

    def place(self, monomial: Monomial) -> int:
        """The row of a term."""
        return self.places.setdefault(monomial, len(self.places))

    def add(self, column: int, value: Poly) -> None:
        """A column. Raises OverflowError for numbers beyond those of floating point."""
        for monomial, number in value.terms.items():
            self.rows.append(self.place(monomial))
            self.columns.append(column)
            self.numbers.append(as_float(number))

    def matrix(self, width: int) -> Matrix:
        """With so many columns. Raises OverflowError for numbers beyond those of floating point."""
        numbers = np.array(self.numbers, dtype=float)
        return Matrix(places(self.rows), places(self.columns), numbers, (len(self.places), width))


def places(numbers: Sequence[int], first: int = 0) -> Places:
    """Rows or columns, counted from the first."""
    return np.array(numbers, dtype=np.int32) + np.int32(first)


def solution(rows: list[list[fmpq]], count: int) -> tuple[fmpq, ...] | None:
    """A solution of linear equations (coefficients, then the right side); unknowns that are free are 0."""
    reduced, rank = fmpq_mat(rows).rref()
    found = [fmpq(0)] * count
    lead = -1
    for row in range(rank):
        # Each row leads farther to the right.
        lead = next(column for column in range(lead + 1, count + 1) if reduced[row, column])
        if lead == count:
            return None
        found[lead] = reduced[row, count]
    return tuple(found)


FIRST, MORE = 600, 200
"""How many columns there are at first, those with the fewest entries, and how many are added at a time."""
MAX_ROUNDS = 100
DEAR = 1e4
PAYS, NOTHING = 1e-7, 1e-6
DUAL, PRIMAL = 1, 4


def program(aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[Ends], kept: int = 0) -> LinearProgram:
    """A program of which all but the first `kept` columns are >= 0."""
    if matrix.shape[1] <= kept + FIRST + MORE:
        return LinearProgram(aim, matrix, low, high, ends)
    return Priced(aim, matrix, low, high, ends, kept)


class Priced(LinearProgram):
    """The same as a program; all but the first `kept` columns, which come in where they pay, are >= 0."""

    def __init__(self, aim: Array, matrix: Matrix, low: Array, high: Array, ends: Sequence[Ends], kept: int) -> None:
        self._aim, self._matrix = aim, matrix
        width = matrix.shape[1]
        entries = np.bincount(matrix.columns, minlength=width)
        self._length = np.sqrt(np.bincount(matrix.columns, matrix.numbers**2, width)) + PAYS
        sparse = kept + np.argsort(entries[kept:], kind="stable")[:FIRST]
        self._columns = np.concatenate([np.arange(kept), sparse]).astype(np.int32)
        """Those of the matrix that are in; where they are, columns that stand in come between."""
        equal = np.flatnonzero(low == high).astype(np.int32)
        self._own, self._standing = kept + len(sparse), 2 * len(equal)
        first = _beside(_only(matrix, self._columns), equal)
        standing = np.full(self._standing, DEAR)
        known = [*(ends[column] for column in self._columns), *[POSITIVE] * self._standing]
        super().__init__(np.concatenate([aim[self._columns], standing]), first, low, high, known)
        import highspy

        self._least = highspy.HighsBasisStatus.kLower

    def solve(self) -> Array | None:
        """The best x, or None where there is none or it is not found."""
        self._solver.setOptionValue("simplex_strategy", DUAL)
        for _ in range(MAX_ROUNDS):
            found = super().solve()
            if found is None:
                return None
            better = self._paying()
            if not len(better):
                return self._whole(found)
            self._add(better)
            # The corner stays one, and is no longer the best.
            self._solver.setOptionValue("simplex_strategy", PRIMAL)
        return None

    def mark(self) -> None:
        self._width = self._solver.getNumCol()
        super().mark()

    def back(self) -> None:
        added = self._solver.getNumCol() - self._width
        if added:
            # Columns that came in since then are at 0. Reading all states takes as long as finding the corner anew.
            known = self._marked
            known.col_status = [*known.col_status, *[self._least] * added]
            self._width += added
        super().back()

    def _paying(self) -> Places:
        """The columns that are not in and have the least reduced costs, if those are below 0."""
        matrix, prices = self._matrix, np.array(self._solver.getSolution().row_dual)
        worth = np.bincount(matrix.columns, matrix.numbers * prices[matrix.rows], matrix.shape[1])
        reduced = (self._aim - worth) / self._length
        reduced[self._columns] = 0.0
        least = np.argsort(reduced, kind="stable")[:MORE]
        return least[reduced[least] < -PAYS].astype(np.int32)

    def _add(self, columns: Places) -> None:
        starts, rows, numbers = _only(self._matrix, columns).by_columns()
        count, ends = len(columns), np.zeros(len(columns))
        self._solver.addCols(count, self._aim[columns], ends, ends + np.inf, len(rows), starts, rows, numbers)
        self._columns = np.concatenate([self._columns, columns])

    def _whole(self, found: Array) -> Array | None:
        """The values of all columns; None where one that stands in is in use."""
        own, standing = self._own, self._own + self._standing
        if found[own:standing].max(initial=0.0) > NOTHING:
            return None
        values = np.zeros(self._matrix.shape[1])
        values[self._columns] = np.concatenate([found[:own], found[standing:]])
        return values


def _only(matrix: Matrix, columns: Places) -> Matrix:
    """Some columns, in this order."""
    place = np.full(matrix.shape[1], -1, dtype=np.int32)
    place[columns] = np.arange(len(columns))
    kept = place[matrix.columns] >= 0
    width = matrix.shape[0], len(columns)
    return Matrix(matrix.rows[kept], place[matrix.columns[kept]], matrix.numbers[kept], width)


def _beside(matrix: Matrix, rows: Places) -> Matrix:
    """The matrix, and behind it columns with a 1 or a -1 in each of some rows."""
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
