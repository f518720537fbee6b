"""Linear programs in floating point, solved by HiGHS (J. Hall, Q. Huangfu, Parallelizing the dual revised simplex
method, 2018), which goes on from its last corner where only bounds of variables have changed.
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

from archline.algebra.evaluate.floats import Array, as_float
from archline.algebra.lp import failures
from archline.algebra.polynomial import Monomial, Poly
from archline.records import record

Places = npt.NDArray[np.int32]
MAX_ITERATIONS = 20_000
"""More are a sign of numbers too far apart, with which the solver does not end."""
NOTHING_FOUND = ("kInfeasible", "kUnbounded", "kUnboundedOrInfeasible", "kIterationLimit", "kUnknown")
"""How the solver ends where it works and has no best point; `kUnknown`: numbers too far apart to tell."""
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
