"""Expressions as columns of a matrix in floating point, with a row for each term."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from archline.algebra.evaluate.floats import as_float
from archline.algebra.lp.highs import Matrix, Places
from archline.algebra.polynomial import Monomial, Poly


class Entries:
    """A matrix with a row for each term and a column for each value, as far as it is not 0."""

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
