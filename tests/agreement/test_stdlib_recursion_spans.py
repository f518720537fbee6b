"""The spans of recursive algorithms that run halves at once, in closed form where halves are even.

Each recurrence below is read off the program by the cost rules of docs/reference/cost-rules.md: a test, a call or spawn, an
iteration and an operation are 1, t iterations at once are started in log2 t, and of what runs at once the last to end
counts. Everything is without the 1 of the outermost call; a leaf has 16 rows and columns.
"""

from __future__ import annotations

import math

import pytest

from stdlib_cases import execute_case
from stdlib_recursive_cases import RECURSIVE


def span(target: str, **sizes: int) -> int:
    """The executed span, without the call itself."""
    arguments = RECURSIVE[target].at(0, **sizes)
    ran = execute_case(target, arguments, RECURSIVE[target].results(arguments), compiled=False)
    return ran.counts.span - 1


def product(k: int) -> int:
    """A leaf in place: test, rows at once, columns, inner products. Rows and columns at once, inner halves in turn."""
    return 1 + 4 + 1 + 16 * (1 + 3 * 16) if k == 0 else 2 * product(k - 1) + 19


def added_product(k: int) -> int:
    """The leaf is a call. Two parallel nests set a temporary and add it."""
    return 1 + product(0) if k == 0 else added_product(k - 1) + 21 + 4 * (k + 3)


def unit_solution(k: int) -> int:
    """Two solutions of twice as many right sides as rows, and between them an update of twice as many columns."""
    return 1 + 4 + 1 + 16 + 3 * 120 if k == 0 else 2 * unit_solution(k - 1) + product(k - 1) + 18


def right_solution(k: int) -> int:
    """The same by rows of right sides; a leaf divides."""
    return 1 + 4 + 1 + 16 + 3 * 120 + 16 if k == 0 else 2 * right_solution(k - 1) + product(k - 1) + 17


def lu(k: int) -> int:
    if k == 0:
        return 1 + 1 + 16 + 16**3
    solutions = max(1 + unit_solution(k - 1), 2 + right_solution(k - 1))
    return 1 + 2 * (1 + lu(k - 1)) + solutions + 1 + product(k - 1)


def rank_update(k: int) -> int:
    """Two triangles and the square below, of half the rows and all columns, whose halves are in turn."""
    if k == 0:
        return product(0)
    triangle, square = 2 + 2 * (1 + rank_update(k - 1)), 3 + 2 * (1 + product(k - 1))
    return 2 + max(2 + triangle, 3 + square)


def cholesky(k: int) -> int:
    if k == 0:
        return 1 + 1 + 2 * 16 + 16 * 15 * 19 // 2
    return 1 + 2 * (1 + cholesky(k - 1)) + 1 + right_solution(k - 1) + 1 + rank_update(k - 1)


def transposition(k: int) -> int:
    return 1 + 16 + 16**2 + 8 * k


def strassen(k: int) -> int:
    """Twelve operands, the last of them copied, padded and added to; seven products; two nests that add them."""
    if k == 0:
        return 1 + 1 + 4 + 1 + 4 + 1 + 3 * 16
    log = k + 3
    operands, sums = 12 + 1 + 3 * (2 * log + 2) + 1, 2 * (log + 1 + (log + 1) + (log + 1) + 4)
    return 1 + operands + 7 + strassen(k - 1) + sums


def karatsuba(k: int) -> int:
    """Sums of halves, three products, and three loops over twice as many coefficients that put them together."""
    if k == 0:
        return 1 + 1 + 31 + 16 * (1 + 3 * 16)
    log = k + 3
    return 1 + (log + 1 + 2) + 3 + karatsuba(k - 1) + 3 * (log + 1 + 1 + 1)


@pytest.mark.parametrize("k", [0, 1, 2])
@pytest.mark.parametrize(
    ("target", "sizes", "expected"),
    [
        ("dense.matmul_recursive::matmul_subtract_co", "nmp", product),
        ("dense.matmul_recursive::matmul_subtract_transposed_co", "nmp", product),
        ("dense.matmul_recursive::matmul_temporary", "nmp", added_product),
        ("dense.trisolv_recursive::trisolv_unit_co", "nm", unit_solution),
        ("dense.trisolv_recursive::trisolv_right_co", "nm", right_solution),
        ("dense.trisolv_recursive::trisolv_right_transposed_co", "nm", right_solution),
        ("dense.lu_recursive::lu_co", "n", lu),
        ("dense.cholesky_recursive::syrk_subtract_co", "nm", rank_update),
        ("dense.cholesky_recursive::cholesky_co", "n", cholesky),
        ("dense.transpose_recursive::transpose_co", "nm", transposition),
        ("dense.strassen::strassen", "n", strassen),
        ("arithmetic.karatsuba::karatsuba", "n", karatsuba),
    ],
)
def test_spans_of_halves(target: str, sizes: str, expected: object, k: int) -> None:
    assert span(target, **dict.fromkeys(sizes, 16 * 2**k)) == expected(k)  # type: ignore[operator]


@pytest.mark.parametrize("k", range(8))
def test_fft(k: int) -> None:
    """A level has its test, two spawns, and butterflies at once: an iteration and 15 operations."""
    assert span("fft.fft::fft", n=2**k) == 1 + sum(1 + 2 + (level - 1) + 16 for level in range(1, k + 1))


def six_steps(k: int) -> int:
    """Where every transposition is one leaf."""
    if k < 2:
        return [2, 1 + 4][k]
    a, b = k // 2, k - k // 2
    transpositions = sum(2 + 1 + 2**rows + 2**k for rows in (a, b, a))
    columns, rows = b + 1 + (1 + six_steps(a)) + a + 1 + 11, a + 1 + (1 + six_steps(b))
    return 2 + transpositions + columns + rows


@pytest.mark.parametrize("k", range(9))
def test_fft_co(k: int) -> None:
    assert span("fft.fft::fft_co", n=2**k) == six_steps(k)


def pairs(k: int) -> int:
    if k == 0:
        return 1
    between = 2 ** (k - 1) - 1
    last = math.ceil(math.log2(between)) + 2 if between else 0
    return 2 + (k - 1 + 2) + (1 + pairs(k - 1)) + (k - 1 + 1) + last


@pytest.mark.parametrize("k", range(8))
def test_prefix_sums_of_pairs(k: int) -> None:
    assert span("scan.recursive::prefix_sum_pairs", n=2**k) == pairs(k)


def merge_at_most(n: int) -> int:
    """Tests and a swap, a binary search in the shorter half, four sums with its result, two spawns; then a part.

    A part keeps three quarters of n at most.
    """
    return 2 if n == 0 else 4 + 3 + 8 * (n // 2).bit_length() + 4 + 2 + merge_at_most(3 * n // 4)


@pytest.mark.parametrize("k", range(9))
def test_parallel_mergesort(k: int) -> None:
    most = 1 + sum(1 + 2 + 1 + merge_at_most(2**level) for level in range(1, k + 1))
    assert span("sort.mergesort::mergesort_parallel", n=2**k) <= most
    assert span("sort.merge_parallel::merge_parallel", n=2**k, m=2**k) <= merge_at_most(2 ** (k + 1))


@pytest.mark.parametrize("name", ["basic", "co"])
@pytest.mark.parametrize(("n", "blocks", "rows", "log"), [(16, 4, 4, 2), (16, 16, 1, 4), (10, 4, 3, 2), (3, 8, 1, 2)])
def test_blocks_of_rows(name: str, n: int, blocks: int, rows: int, log: int) -> None:
    """The largest block alone, started with the others; the recursive one has a test and a call to its leaf."""
    leaf = 1 + rows + rows * 16 + 3 * rows * 16 * 16 + (2 if name == "co" else 0)
    assert span(f"dense.matmul_rows::matmul_rows_{name}", n=n, m=16, p=16, N=blocks) == log + 1 + leaf
