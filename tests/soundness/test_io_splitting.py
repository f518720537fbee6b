"""Rows of an array that are kept in two ways: what that fetches by hand, and near what is least where nearly all fits."""

from __future__ import annotations

import random

import pytest

from archline.execution.cache import optimal
from io_points import arguments, io_of, least_of_library, of_library, subject

ALIKE = """
algorithm main(A: real[m, n], turns: size) -> real:
    local s: real = 0
    for t in 0..turns:
        for j in 0..n:
            for i in 0..m:
                s += A[i, j]
    return s
"""


@pytest.mark.parametrize("line", [2, 4, 8])
@pytest.mark.parametrize("lines", [12, 14, 18, 24, 30, 34, 36])
def test_rows_that_are_alike(line: int, lines: int) -> None:
    # Rows of three lines each: column by column one line of each, or all three of some rows and one of the others.
    m, turns, each = 12, 5, 3
    given = subject(ALIKE)
    cost = io_of(given.module, given.algorithm)
    point = {"m": m, "n": each * line, "turns": turns, "Z": lines * line, "L": line}
    whole = (lines - m) // (each - 1)
    assert cost.ends(point)[1] == each * whole + turns * each * (m - whole)
    drawn = arguments(given.algorithm, {"m": m, "n": each * line, "turns": turns}, random.Random(line))
    assert optimal(given.trace(drawn, line)[1], lines).io <= cost.ends(point)[1]


NEAR = {
    # A fits with a line of R and one column of Q, but for one line.
    "polybench.gramschmidt::gramschmidt": ({"m": 40, "n": 32, "Z": 1932, "L": 16}, 2),
    # The rows above the diagonal stay but for the last; a column below them is held, and the diagonal beside it.
    "polybench.ludcmp::ludcmp": ({"n": 48, "Z": 1347, "L": 8}, 3),
    # B is kept but for some rows, which leave the lines that their columns had.
    "dense.matmul::matmul_basic": ({"n": 24, "m": 24, "p": 24, "Z": 600, "L": 8}, 2),
}


@pytest.mark.parametrize("target", sorted(NEAR))
def test_where_nearly_all_fits(target: str) -> None:
    point, factor = NEAR[target]
    fetched = least_of_library(target, point)
    assert fetched <= of_library(target, point) <= factor * fetched
