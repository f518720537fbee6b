"""What the recursive part of the standard library computes, as `stdlib_cases` says it of the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from hypothesis import strategies as st

from stdlib_cases import (
    RETURNED,
    Arguments,
    Build,
    Case,
    Expected,
    Random,
    Results,
    block_product,
    cholesky,
    dominant,
    keys,
    lu,
    matmul,
    matrix,
    positive_definite,
    prefixes,
    product,
    transposed,
    two_sorted,
    vector,
    vectors,
)
from stdlib_csb_cases import compressed_blocks, few_entries, halves, one_row, one_square, row_product, square_product

RECURSIVE: dict[str, Case] = {}
"""The cases by target, of what is recursive and of what belongs to it."""
HELPERS = frozenset(
    (
        "arithmetic.karatsuba::convolve", "dense.matmul_rows::matmul_rows_basic", "dense.strassen::copy_padded",
        "dense.strassen::difference_padded", "dense.strassen::matmul_leaf", "dense.strassen::sum_padded",
        "sort.mergesort::merge_runs", "sparse.csb::csb_chunk", "sparse.csb::quadrant_split",
        "stencil.trapezoid::heat_1d_steps", "string.lcs::lcs",
    )
)  # fmt: skip
"""Those of them that do not recurse."""

# Leaves end at 16: sizes on both sides, odd ones that halve to odd ones, and twice what halves once.
ACROSS = st.sampled_from([1, 2, 3, 7, 16, 17, 19, 23, 33, 35])
DEEPER = st.sampled_from([1, 2, 5, 16, 17, 18, 19, 31, 33, 35, 37, 43])
ANY = st.integers(1, 70)
FROM_ZERO = st.integers(0, 70)
POWER = st.integers(0, 7).map(lambda exponent: 2**exponent)


def add(target: str, build: Build, expected: Expected, **sizes: st.SearchStrategy[int]) -> None:
    """Add the case of one algorithm."""
    assert target not in RECURSIVE
    RECURSIVE[target] = Case(sizes, build, expected)


# Dense matrices.
def operands(rng: Random, n: int, m: int, p: int) -> Arguments:
    return {"A": rng.normal(size=(n, m)), "B": rng.normal(size=(p, m)), "C": rng.normal(size=(n, p))}


def squares(rng: Random, n: int) -> Arguments:
    return {"A": rng.normal(size=(n, n)), "B": rng.normal(size=(n, n))}


def rank_update(rng: Random, n: int, m: int) -> Arguments:
    return {"A": rng.normal(size=(n, m)), "C": rng.normal(size=(n, n))}


def parts(rng: Random, first: int, second: int) -> Arguments:
    """Quadrants of a matrix, which have a row or a column less than others."""
    return {"X": rng.normal(size=(first, second)), "Y": rng.normal(size=(second, first))}


def padded(sign: int) -> Expected:
    def expected(a: Any) -> Results:
        size = max(*a.X.shape, *a.Y.shape)
        return {"S": square(a.X, size) + sign * square(a.Y, size)}

    return expected


def square(part: Any, size: int) -> Any:
    return np.pad(part, [(0, size - extent) for extent in part.shape])


def with_border(a: Any) -> Results:
    """A row and a column of zeros, and what else makes it square."""
    return {"S": square(a.X, max(a.X.shape) + 1)}


add("dense.matmul::matmul_co", matmul, product, n=ACROSS, m=ACROSS, p=ACROSS)
for name in ("matmul_co_serial", "matmul_temporary"):
    add(f"dense.matmul_recursive::{name}", matmul, product, n=ACROSS, m=ACROSS, p=ACROSS)
add(
    "dense.matmul_recursive::matmul_subtract_co", matmul, lambda a: {"C": a.C - a.A @ a.B}, n=ACROSS, m=ACROSS, p=ACROSS
)
add(
    "dense.matmul_recursive::matmul_subtract_transposed_co",
    operands,
    lambda a: {"C": a.C - a.A @ a.B.T},
    n=ACROSS,
    m=ACROSS,
    p=ACROSS,
)
for name in ("basic", "co"):
    # More blocks than rows too.
    add(f"dense.matmul_rows::matmul_rows_{name}", matmul, product, n=ACROSS, m=ACROSS, p=ACROSS, N=st.integers(1, 40))
add("dense.transpose_recursive::transpose_co", matrix, transposed, n=ANY, m=ANY)
add("dense.strassen::strassen", squares, lambda a: {"C": a.A @ a.B}, n=DEEPER)
add("dense.strassen::matmul_leaf", squares, lambda a: {"C": a.A @ a.B}, n=st.integers(1, 9))
SIDE = st.integers(1, 9)
add(
    "dense.strassen::copy_padded",
    lambda rng, r, c: {"X": rng.normal(size=(r, c))},
    with_border,
    r=st.integers(0, 9),
    c=st.integers(0, 9),
)
for name, sign in (("sum", 1), ("difference", -1)):
    add(f"dense.strassen::{name}_padded", parts, padded(sign), first=SIDE, second=SIDE)


# Systems of equations.
def triangle(rng: Random, n: int) -> Any:
    """Well conditioned, and filled beside its triangles, which must not be read."""
    return rng.uniform(-1, 1, size=(n, n)) / n + 2 * np.eye(n)


def left_sides(rng: Random, n: int, m: int) -> Arguments:
    return {"A": triangle(rng, n), "B": rng.normal(size=(n, m))}


def right_sides(rng: Random, n: int, m: int) -> Arguments:
    return {"A": triangle(rng, n), "B": rng.normal(size=(m, n))}


def from_right(lower: bool) -> Expected:
    """X with X op(A) = B is the transpose of the solution of op(A)^T X^T = B^T."""
    return lambda a: {"B": scipy.linalg.solve_triangular(a.A if lower else a.A.T, a.B.T, lower=True).T}


add(
    "dense.trisolv_recursive::trisolv_unit_co",
    left_sides,
    lambda a: {"B": scipy.linalg.solve_triangular(a.A, a.B, lower=True, unit_diagonal=True)},
    n=ACROSS,
    m=ACROSS,
)
add("dense.trisolv_recursive::trisolv_right_co", right_sides, from_right(lower=False), n=ACROSS, m=ACROSS)
add("dense.trisolv_recursive::trisolv_right_transposed_co", right_sides, from_right(lower=True), n=ACROSS, m=ACROSS)
add("dense.lu_recursive::lu_co", dominant, lu, n=DEEPER)
add("dense.cholesky_recursive::cholesky_co", positive_definite, cholesky, n=DEEPER)
add(
    "dense.cholesky_recursive::syrk_subtract_co",
    rank_update,
    lambda a: {"C": a.C - np.tril(a.A @ a.A.T)},
    n=ACROSS,
    m=ACROSS,
)


# Polynomials.
def polynomials(rng: Random, n: int, m: int | None = None) -> Arguments:
    return {"a": rng.normal(size=n), "b": rng.normal(size=n if m is None else m)}


add("arithmetic.karatsuba::convolve", polynomials, lambda a: {"c": np.convolve(a.a, a.b)}, n=SIDE, m=SIDE)
add("arithmetic.karatsuba::karatsuba", polynomials, lambda a: {"c": np.convolve(a.a, a.b)}, n=st.integers(1, 90))


# Sorting, with few distinct keys or many.
def data(rng: Random, n: int) -> Any:
    return keys(rng, n) if rng.random() < 0.6 else rng.normal(size=n)


def merged(a: Any) -> Results:
    return {"c": np.sort(np.concatenate((a.a, a.b)))}


def haystack(rng: Random, n: int) -> Arguments:
    values = np.sort(data(rng, n))
    key = float(rng.choice(values)) if n and rng.random() < 0.5 else float(rng.integers(-1, 7))
    return {"a": values, "key": key}


def ranked(rng: Random, n: int) -> Arguments:
    return {"a": data(rng, n), "k": int(rng.integers(n))}


def smallest(a: Any) -> Results:
    return {RETURNED: np.sort(a.a)[a.k]}


add("sort.search::binary_search", haystack, lambda a: {RETURNED: np.searchsorted(a.a, a.key, side="left")}, n=FROM_ZERO)
for target in ("sort.merge_parallel::merge_parallel", "sort.mergesort::merge_runs"):
    add(target, two_sorted, merged, n=FROM_ZERO, m=FROM_ZERO)
add("sort.mergesort::mergesort", lambda rng, n: {"a": data(rng, n)}, lambda a: {"a": np.sort(a.a)}, n=FROM_ZERO)
add("sort.mergesort::mergesort_parallel", lambda rng, n: {"a": data(rng, n)}, lambda a: {"b": np.sort(a.a)}, n=ANY)
add("sort.select::select", ranked, smallest, n=st.integers(1, 200))


# Fourier transforms.
def signal(rng: Random, n: int) -> Arguments:
    return {"xr": rng.normal(size=n), "xi": rng.normal(size=n)}


def spectrum(real: str, imaginary: str) -> Expected:
    def expected(a: Any) -> Results:
        transform = np.fft.fft(a.xr + 1j * a.xi)
        return {real: transform.real, imaginary: transform.imag}

    return expected


add("fft.fft::fft", signal, spectrum("yr", "yi"), n=POWER)
add("fft.fft::fft_co", signal, spectrum("xr", "xi"), n=POWER)


# Strings.
def strings(rng: Random, n: int, m: int) -> Arguments:
    return {"x": rng.integers(0, 3, n), "y": rng.integers(0, 3, m)}


def bordered(rng: Random, n: int, m: int) -> Arguments:
    """What is beside the first row and column must not be read."""
    lengths = np.full((n + 1, m + 1), 99)
    lengths[0, :] = lengths[:, 0] = 0
    return {**strings(rng, n, m), "C": lengths}


def lengths(a: Any) -> Any:
    """By the recurrence, from the ends: the first element of either is dropped, or both where they are equal."""
    n, m = len(a.x), len(a.y)
    table = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i, j in np.ndindex(n, m):
        equal = a.x[i] == a.y[j]
        table[i + 1, j + 1] = table[i, j] + 1 if equal else max(table[i, j + 1], table[i + 1, j])
    return table


for name in ("lcs", "lcs_co"):
    add(f"string.lcs::{name}", bordered, lambda a: {"C": lengths(a)}, n=ANY, m=ANY)
add("string.lcs::lcs_length", strings, lambda a: {RETURNED: lengths(a)[-1, -1]}, n=ANY, m=ANY)


# Stencils.
def rod(rng: Random, n: int, steps: int) -> Arguments:
    return {"u": rng.normal(size=(2, n)), "steps": steps}


def heat(rows: Any, first: int, last: int) -> Any:
    """Two rows of which time t writes row t % 2."""
    rows = rows.copy()
    for time in range(first, last):
        rows[(time + 1) % 2, 1:-1] = np.convolve(rows[time % 2], [0.25, 0.5, 0.25], mode="valid")
    return rows


def heated(a: Any) -> Results:
    rows = a.u.copy()
    rows[1, [0, -1]] = rows[0, [0, -1]]
    return {"u": heat(rows, 0, a.steps)}


def rectangle(rng: Random, n: int, start: int, steps: int) -> Arguments:
    times = {"t0": start, "t1": start + steps}
    return {"u": rng.normal(size=(2, n)), **times, "x0": 1, "dx0": 0, "x1": n - 1, "dx1": 0}


STEPS = st.integers(1, 20)
add(
    "stencil.trapezoid::trapezoid",
    rectangle,
    lambda a: {"u": heat(a.u, a.t0, a.t1)},
    n=st.integers(3, 40),
    start=st.integers(-3, 3),
    steps=STEPS,
)

for name in ("heat_1d", "heat_1d_steps"):
    add(f"stencil.trapezoid::{name}", rod, heated, n=st.integers(3, 40), steps=STEPS)


# Reductions and prefix sums.
add("scan.recursive::sum_pairwise", vector, lambda a: {RETURNED: a.x.sum()}, n=FROM_ZERO)
add("scan.recursive::sum_tree", vector, lambda a: {"total": [a.x.sum()]}, n=ANY)
add("scan.recursive::dot_tree", vectors, lambda a: {"total": [a.x @ a.y]}, n=ANY)
add("scan.recursive::prefix_sum_pairs", vector, prefixes, n=FROM_ZERO)
add("scan.recursive::prefix_sum_halves", vector, prefixes, n=ANY)


def left_halves(x: Any) -> Any:
    """At k the sum of the left half of the part that is split before k; 0 splits none."""
    left = np.full(len(x), np.nan)
    half = len(x) // 2
    if half:
        left[:half], left[half:] = left_halves(x[:half]), left_halves(x[half:])
        left[half] = x[:half].sum()
    return left


def beneath(rng: Random, n: int) -> Arguments:
    x = rng.normal(size=n)
    return {"before": float(rng.normal()), "x": x, "left": left_halves(x)}


add("scan.recursive::prefix_sum_up", vector, lambda a: {"left": left_halves(a.x), "total": [a.x.sum()]}, n=ANY)
add("scan.recursive::prefix_sum_down", beneath, lambda a: {"y": a.before + np.cumsum(a.x)}, n=ANY)


# Compressed sparse blocks.
BLOCK = st.sampled_from([1, 2, 4, 8, 16])
BLOCKS = st.integers(1, 5)
add("sparse.csb::spmv_csb", compressed_blocks, block_product, nb=BLOCKS, b=BLOCK)
add("sparse.csb::csb_row", one_row, row_product, nb=BLOCKS, b=BLOCK)
add("sparse.csb::csb_chunk", few_entries, row_product, g=BLOCKS, b=BLOCK)
add("sparse.csb::csb_block", one_square, square_product, d=BLOCK)
add(
    "sparse.csb::quadrant_split",
    halves,
    lambda a: {RETURNED: np.count_nonzero(a.key % a.d < a.d // 2)},
    lower=FROM_ZERO,
    upper=FROM_ZERO,
    d=SIDE,
)
