"""A linear program in floating point whose best corner is then computed exactly: a proposal; proofs decide on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from archline.algebra.evaluate.floats import Array, as_float
from archline.algebra.lp.highs import FREE, LinearProgram, SolverError, dense
from archline.numbers import fmpq, fmpq_mat

NEAR = 1e-7


def corner(goal: Sequence[fmpq], rows: Sequence[Sequence[fmpq]], limits: Sequence[fmpq]) -> tuple[fmpq, ...] | None:
    """The x at which goal.x is largest where rows*x <= limits, from the rows that are tight; None if unbounded."""
    if not rows or not goal:
        return None
    try:
        matrix = np.array([[as_float(each) for each in row] for row in rows])
        bound, aim = np.array([as_float(each) for each in limits]), np.array([as_float(each) for each in goal])
    except OverflowError:
        return None
    heights, widths = _scales(matrix)
    scaled, level = matrix * heights[:, None] * widths, bound * heights
    found = _best(aim * widths, scaled, level)
    if found is None:
        return None
    point, slack = found
    near = NEAR * (1 + np.abs(level).max())
    tight = [int(index) for index in np.argsort(slack) if slack[index] < near]
    unused = [int(index) for index in np.argsort(np.abs(point))]
    return _exact([*([*rows[index], limits[index]] for index in tight), *_zeros(unused)], len(goal))


def _zeros(unused: Sequence[int]) -> list[list[fmpq]]:
    """Rows that make coefficients 0, the least first, where the tight rows leave a choice."""
    return [[fmpq(int(each == index)) for each in range(len(unused))] + [fmpq(0)] for index in unused]


def _best(goal: Array, matrix: Array, limits: Array) -> tuple[Array, Array] | None:
    """The best point and how far each row is from its limit there; None where there is none."""
    height, width = matrix.shape
    aim = -goal / max(np.abs(goal).max(), 1e-300)
    low = np.full(height, -np.inf)
    try:
        found = LinearProgram(aim, dense(matrix, width), low, limits, [FREE] * width).solve()
    except SolverError:
        return None
    return None if found is None else (found, limits - matrix @ found)


def _scales(matrix: Array) -> tuple[Array, Array]:
    """Factors of the rows and columns that bring the entries near 1."""
    heights, widths = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    for _ in range(3):
        scaled = np.abs(matrix) * heights[:, None] * widths
        heights /= np.sqrt(_extreme(scaled, 1, greatest=True) * _extreme(scaled, 1, greatest=False))
        scaled = np.abs(matrix) * heights[:, None] * widths
        widths /= np.sqrt(_extreme(scaled, 0, greatest=True) * _extreme(scaled, 0, greatest=False))
    return heights, widths


def _extreme(scaled: Array, axis: int, greatest: bool) -> Array:
    """The greatest or least entry that is not 0; 1 where all are."""
    found = scaled.max(axis=axis) if greatest else np.where(scaled > 0, scaled, np.inf).min(axis=axis)
    return np.where(np.isfinite(found) & (found > 0), found, 1.0)


def _exact(rows: Sequence[Sequence[fmpq]], count: int) -> tuple[fmpq, ...] | None:
    """The point where the first independent rows (coefficients, then the limit) hold with equality."""
    chosen: list[Sequence[fmpq]] = []
    for row in rows:
        trial = [*chosen, row]
        if fmpq_mat([list(each[:-1]) for each in trial]).rank() == len(trial):
            chosen = trial
        if len(chosen) == count:
            reduced, _ = fmpq_mat([list(each) for each in chosen]).rref()
            return tuple(reduced[index, count] for index in range(count))
    return None


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
