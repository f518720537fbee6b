"""Proofs that affine forms are nonnegative where others are, by multipliers (Farkas' lemma), checked exactly.

    Prover([x - 1, 2*n - x]).prove(2*n - 1)     # 1*(x - 1) + 1*(2*n - x) is 2*n - 1

A linear program proposes the multipliers in floating point; only what the exact check confirms is a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from archline.algebra.effort import spend_effort
from archline.algebra.evaluate.vectors import Array
from archline.algebra.lp.highs import LinearProgram, Matrix, SolverError, index_array
from archline.algebra.polynomial import to_rational
from archline.ir.amortised.linear import (
    UNIT,
    Column,
    Linear,
    add_forms,
    combine_forms,
    constant_part,
    is_constant,
)
from archline.numbers import fmpq
from archline.records import record

MAX_DENOMINATOR = 1000
"""The largest denominator of a multiplier that is read from a solution in floating point."""
EFFORT_OF_PROGRAM = 200
"""The effort, in term products, that solving a linear program counts for."""
IsWhole = Callable[[Column], bool]
"""Tests whether a column has whole values only."""
BOX = 1e6
TOLERANCE = 1e-7
_MISS = "?"
"""The amount by which constraints may be missed."""


@record
class Proof:
    """A form is the sum of constraints times `multipliers`, by the number of the constraint, plus `rest`."""

    multipliers: Mapping[int, fmpq]
    rest: fmpq

    def check(self, form: Linear, constraints: Sequence[Linear], whole: IsWhole) -> bool:
        """Check exactly that the form is nonnegative where the constraints are.

        A form of whole coefficients and columns that is above -1 is nonnegative.
        """
        if any(factor < 0 for factor in self.multipliers.values()):
            return False
        total = combine_forms((constraints[index] for index in self.multipliers), self.multipliers.values())
        if add_forms(form, total, -1) != ({UNIT: self.rest} if self.rest else {}):
            return False
        return self.rest >= 0 or (self.rest > -1 and is_whole(form, whole))


def is_whole(form: Linear, whole: IsWhole) -> bool:
    """Test whether a form has whole values only."""
    return all(number.q == 1 and (column == UNIT or whole(column)) for column, number in form.items())


class Prover:
    """Proves forms nonnegative where all of some constraints are."""

    def __init__(self, constraints: Sequence[Linear], whole: IsWhole) -> None:
        self.constraints = constraints
        self._whole = whole
        self._columns: dict[Column, int] = {}
        for form in constraints:
            for column in form:
                if column != UNIT:
                    self._columns.setdefault(column, len(self._columns))
        self._alike: dict[frozenset[Column], list[int]] = {}
        for index, form in enumerate(constraints):
            self._alike.setdefault(frozenset(form.keys() - {UNIT}), []).append(index)
        self._program: LinearProgram | None = None
        self._points: list[dict[Column, float]] = []

    def prove(self, form: Linear) -> Proof | None:
        """Return a proof that a form is nonnegative; None if none is found."""
        proof = self._prove_simply(form)
        if proof is None and not self._is_refuted(form):
            proof = self._prove_by_program(form)
        return proof

    def _prove_simply(self, form: Linear) -> Proof | None:
        """Prove a number, or a form that differs from a constraint by a number."""
        if is_constant(form) and constant_part(form) >= 0:
            return Proof({}, constant_part(form))
        columns = frozenset(form.keys() - {UNIT})
        alike = [
            index
            for index in self._alike.get(columns, ())
            if all(self.constraints[index][column] == form[column] for column in columns)
        ]
        if not alike:
            return None
        index = min(alike, key=lambda index: constant_part(self.constraints[index]))
        rest = constant_part(form) - constant_part(self.constraints[index])
        proof = Proof({index: fmpq(1)}, rest)
        return proof if proof.check(form, self.constraints, self._whole) else None

    def _is_refuted(self, form: Linear) -> bool:
        """Test whether a point that was found earlier satisfies the constraints, but not the form."""
        if any(column != UNIT and column not in self._columns for column in form):
            return True
        least = -1.0 if is_whole(form, self._whole) else -TOLERANCE
        return any(
            sum(float(number) * point.get(column, 1.0) for column, number in form.items()) <= least
            for point in self._points
        )

    def _prove_by_program(self, form: Linear) -> Proof | None:
        spend_effort(EFFORT_OF_PROGRAM)
        try:
            if self._program is None:
                self._program = self._make_program({})
            self._program.set_objective(self._make_aim(form))
        except (SolverError, OverflowError):
            return None
        program = self._program
        point = program.solve()
        if point is None:
            return None
        self._points.append(dict(zip(self._columns, point, strict=True)))
        multipliers = _read_multipliers(program, len(self.constraints))
        total = combine_forms((self.constraints[index] for index in multipliers), multipliers.values())
        proof = Proof(multipliers, constant_part(add_forms(form, total, -1)))
        return proof if proof.check(form, self.constraints, self._whole) else None

    def refute(self) -> Proof | None:
        """Return a proof that the constraints contradict each other: that -1 is nonnegative; None if none is found."""
        for index, form in enumerate(self.constraints):
            if is_constant(form) and constant_part(form) < 0:
                return Proof({index: -1 / constant_part(form)}, fmpq(0))
        spend_effort(EFFORT_OF_PROGRAM)
        # Each constraint may be missed by one amount t: if its least value is positive, its prices are the proof.
        relaxed = [add_forms(form, {_MISS: fmpq(1)}) for form in self.constraints]
        try:
            program = Prover((*relaxed, {_MISS: fmpq(1)}), self._whole)._make_program({_MISS: fmpq(1)})
        except (SolverError, OverflowError):
            return None
        if program.solve() is None:
            return None
        multipliers = _read_multipliers(program, len(self.constraints))
        total = combine_forms((self.constraints[index] for index in multipliers), multipliers.values())
        if not is_constant(total) or constant_part(total) >= 0:
            return None
        proof = Proof({index: factor / -constant_part(total) for index, factor in multipliers.items()}, fmpq(0))
        return proof if proof.check({UNIT: fmpq(-1)}, self.constraints, self._whole) else None

    def _make_aim(self, form: Linear) -> Array:
        aim = np.zeros(len(self._columns))
        for column, number in form.items():
            if column != UNIT:
                aim[self._columns[column]] = float(number)
        return aim

    def _make_program(self, aim: Linear) -> LinearProgram:
        rows: list[int] = []
        columns: list[int] = []
        numbers: list[float] = []
        for index, form in enumerate(self.constraints):
            for column, number in form.items():
                if column != UNIT:
                    rows.append(index)
                    columns.append(self._columns[column])
                    numbers.append(float(number))
        height, width = len(self.constraints), len(self._columns)
        matrix = Matrix(index_array(rows), index_array(columns), np.array(numbers), (height, width))
        low = np.array([-float(constant_part(form)) for form in self.constraints])
        return LinearProgram(self._make_aim(aim), matrix, low, np.full(height, np.inf), [(-BOX, BOX)] * width)


def _read_multipliers(program: LinearProgram, count: int) -> dict[int, fmpq]:
    """Return the positive prices of the first rows of a solved program, as fractions."""
    prices = program.read_row_duals()[:count]
    return {
        index: factor
        for index, price in enumerate(prices)
        if price > TOLERANCE and (factor := to_rational(Fraction(float(price)).limit_denominator(MAX_DENOMINATOR))) > 0
    }
