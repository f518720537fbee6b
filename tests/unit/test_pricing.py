"""Linear programs of many columns have the same optimum whether or not all of them are in from the start."""

import numpy as np
import pytest

from archline.algebra.lp.columns import FIRST, MORE, Priced, program
from archline.algebra.lp.highs import FREE, POSITIVE, LinearProgram, Matrix

WIDTH, HEIGHT = FIRST + 4 * MORE, 40


def _drawn(seed: int) -> tuple[np.ndarray, Matrix, np.ndarray, list[tuple[float, float]]]:
    """A program with a free variable, which costs most, and many that are >= 0: x >= 0 solves it, as all costs are."""
    random = np.random.default_rng(seed)
    dense = np.where(random.random((HEIGHT, WIDTH)) < 0.1, random.integers(-4, 5, (HEIGHT, WIDTH)), 0).astype(float)
    right = dense @ np.where(random.random(WIDTH) < 0.05, random.integers(1, 9, WIDTH), 0)
    rows, columns = np.nonzero(dense)
    matrix = Matrix(rows.astype(np.int32), columns.astype(np.int32), dense[rows, columns], dense.shape)
    aim = random.integers(1, 9, WIDTH).astype(float)
    aim[0] = 0.0
    return aim, matrix, right, [FREE, *[POSITIVE] * (WIDTH - 1)]


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_that_of_all_columns(seed: int) -> None:
    aim, matrix, right, ends = _drawn(seed)
    whole, priced = LinearProgram(aim, matrix, right, right, ends), program(aim, matrix, right, right, ends, 1)
    assert isinstance(priced, Priced)
    expected, found = whole.solve(), priced.solve()
    assert expected is not None
    assert found is not None
    assert aim @ found == pytest.approx(aim @ expected)
    sums = np.bincount(matrix.rows, matrix.numbers * found[matrix.columns], HEIGHT)
    assert sums == pytest.approx(right, abs=1e-5)
    assert found[1:].min() >= -1e-7


def test_other_ends_and_going_back() -> None:
    aim, matrix, right, ends = _drawn(7)
    whole, priced = LinearProgram(aim, matrix, right, right, ends), program(aim, matrix, right, right, ends, 1)
    first = priced.solve()
    priced.mark()
    for each in (whole, priced):
        each.bound(0, (0.0, 0.0))
    expected, found = whole.solve(), priced.solve()
    assert expected is not None
    assert found is not None
    assert aim @ found == pytest.approx(aim @ expected)
    priced.bound(0, FREE)
    priced.back()
    again = priced.solve()
    assert first is not None
    assert again is not None
    assert aim @ again == pytest.approx(aim @ first)


def test_equations_without_a_solution() -> None:
    """A sum of values >= 0 is not -1, however many columns there are."""
    rows, columns = np.zeros(WIDTH, dtype=np.int32), np.arange(WIDTH, dtype=np.int32)
    matrix = Matrix(rows, columns, np.ones(WIDTH), (1, WIDTH))
    assert program(np.ones(WIDTH), matrix, -np.ones(1), -np.ones(1), [POSITIVE] * WIDTH).solve() is None


def test_few_columns_are_all_in() -> None:
    matrix = Matrix(np.zeros(2, dtype=np.int32), np.arange(2, dtype=np.int32), np.array([1.0, 2.0]), (1, 2))
    small = program(np.array([1.0, 1.0]), matrix, np.ones(1), np.ones(1), [POSITIVE] * 2)
    assert not isinstance(small, Priced)
    assert small.solve() == pytest.approx([0.0, 0.5])
