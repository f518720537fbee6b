"""A linear program in floating point whose best corner is then computed exactly: a proposal, which a proof decides on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat

from archline.analysis.recursion.arrays import Array

MAX_PIVOTS = 600
TOLERANCE = 1e-9
NEAR = 1e-6
BIG = 1e7


def corner(goal: Sequence[fmpq], rows: Sequence[Sequence[fmpq]], limits: Sequence[fmpq]) -> tuple[fmpq, ...] | None:
    """The x at which goal.x is largest where rows*x <= limits, from the rows that are tight there; None if unbounded."""
    matrix, bound, aim = (
        _floats(rows),
        np.array([_float(each) for each in limits]),
        np.array([_float(each) for each in goal]),
    )
    if not len(rows) or not len(goal):
        return None
    heights, widths = _scales(matrix)
    scaled, level = matrix * heights[:, None] * widths, bound * heights
    point = _solve(aim * widths, scaled, level)
    if point is None:
        return None
    slack = level - scaled @ point
    size = 1 + np.abs(point).max()
    order = np.argsort(slack)
    return _exact(rows, limits, [int(index) for index in order if slack[index] < NEAR * size], len(goal))


def _scales(matrix: Array) -> tuple[Array, Array]:
    """Factors of the rows and columns that bring the entries near 1."""
    heights, widths = np.ones(matrix.shape[0]), np.ones(matrix.shape[1])
    for _ in range(3):
        scaled = np.abs(matrix) * heights[:, None] * widths
        heights /= np.sqrt(np.maximum(scaled.max(axis=1), 1e-300) * _least(scaled, 1))
        scaled = np.abs(matrix) * heights[:, None] * widths
        widths /= np.sqrt(np.maximum(scaled.max(axis=0), 1e-300) * _least(scaled, 0))
    return heights, widths


def _least(scaled: Array, axis: int) -> Array:
    """The least entry that is not 0."""
    found = np.where(scaled > 0, scaled, np.inf).min(axis=axis)
    return np.where(np.isfinite(found), found, 1.0)


def _exact(
    rows: Sequence[Sequence[fmpq]], limits: Sequence[fmpq], tight: list[int], count: int
) -> tuple[fmpq, ...] | None:
    """The point where the first independent ones of the tight rows hold with equality."""
    chosen: list[list[fmpq]] = []
    for index in tight:
        trial = [*chosen, [*rows[index], limits[index]]]
        if fmpq_mat([row[:-1] for row in trial]).rank() == len(trial):
            chosen = trial
        if len(chosen) == count:
            break
    if len(chosen) < count:
        return None
    reduced, _ = fmpq_mat(chosen).rref()
    return tuple(reduced[row, count] for row in range(count))


def _solve(goal: Array, matrix: Array, limits: Array) -> Array | None:
    """The best x by the simplex method on the dual: least limits.y with y*matrix = goal, y >= 0."""
    goal = goal / max(np.abs(goal).max(), 1e-300)
    table, basis, costs = _start(goal, matrix, limits)
    height = len(goal)
    for _ in range(MAX_PIVOTS):
        prices = costs[basis]
        reduced = costs[:-1] - prices @ table[:, :-1]
        enter = int(np.argmin(reduced))
        if reduced[enter] > -TOLERANCE:
            break
        column = table[:, enter]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(column > TOLERANCE, table[:, -1] / column, np.inf)
        leave = int(np.argmin(ratios))
        if not np.isfinite(ratios[leave]):
            return None
        table[leave] /= table[leave, enter]
        factors = table[:, enter].copy()
        factors[leave] = 0.0
        table -= np.outer(factors, table[leave])
        basis[leave] = enter
    else:
        return None
    rows = len(limits)
    if any(each >= rows and table[index, -1] > NEAR for index, each in enumerate(basis)):
        return None
    # The artificial columns hold the inverse of the basis: prices of the equations are the primal point.
    signs = np.where(goal < 0, -1.0, 1.0)
    prices = np.asarray(costs[basis] @ table[:, rows : rows + height])
    return prices * signs


def _start(goal: Array, matrix: Array, limits: Array) -> tuple[Array, Any, Array]:
    """The first table of the dual: its equations with a nonnegative right side, and an artificial column for each."""
    rows, height = len(limits), len(goal)
    signs = np.where(goal < 0, -1.0, 1.0)
    table = np.zeros((height, rows + height + 1))
    table[:, :rows] = matrix.T * signs[:, None]
    table[:, rows : rows + height] = np.eye(height)
    table[:, -1] = goal * signs * (1 + 1e-9 * np.arange(1, height + 1))
    costs = np.concatenate([limits, np.full(height, BIG), [0.0]])
    return table, np.arange(rows, rows + height), costs


def _floats(rows: Sequence[Sequence[fmpq]]) -> Array:
    return np.array([[_float(each) for each in row] for row in rows])


def _float(number: fmpq) -> float:
    return int(number.p) / int(number.q)
