"""Linear programs of many columns, few of which are in use at the best corner: the others wait until they pay.

A column that the program does not have yet is worth having where its reduced cost is below 0 (P. Gilmore, R. Gomory, A
linear programming approach to the cutting-stock problem, 1961). Until there are enough of them to solve the equations,
dear columns with a single entry stand in.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archline.algebra.evaluate.floats import Array
from archline.algebra.lp.highs import POSITIVE, Ends, LinearProgram, Matrix, Places

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
