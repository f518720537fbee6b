"""What the kernels of PolyBench compute, as `stdlib_cases` says it of the rest of the library."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
import scipy.ndimage
import scipy.signal
from hypothesis import strategies as st

from stdlib_case import GRID, SIZE, Arguments, Build, Case, Expected, Random, Results, dominant

POLYBENCH: dict[str, Case] = {}
"""The cases by target."""

PAIR = st.integers(2, 9)


def add(name: str, build: Build, expected: Expected, **sizes: st.SearchStrategy[int]) -> None:
    """Add the case of the algorithm of a file of its name."""
    POLYBENCH[f"polybench.{name}::{name}"] = Case(sizes, build, expected)


def normal(rng: Random, *scalars: str, **shapes: Any) -> Arguments:
    """Scalars, and arrays of these shapes."""
    return {name: rng.normal(size=shape) for name, shape in {**dict.fromkeys(scalars), **shapes}.items()}


# Products of matrices.
def gemm(rng: Random, ni: int, nj: int, nk: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(ni, nk), B=(nk, nj), C=(ni, nj))


def two_mm(rng: Random, ni: int, nj: int, nk: int, nl: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(ni, nk), B=(nk, nj), C=(nj, nl), D=(ni, nl))


def three_mm(rng: Random, ni: int, nj: int, nk: int, nl: int, nm: int) -> Arguments:
    return normal(rng, A=(ni, nk), B=(nk, nj), C=(nj, nm), D=(nm, nl))


def doitgen(rng: Random, nr: int, nq: int, np: int) -> Arguments:
    return normal(rng, A=(nr, nq, np), C=(np, np))


def trmm(rng: Random, m: int, n: int) -> Arguments:
    return normal(rng, "alpha", A=(m, m), B=(m, n))


def symm(rng: Random, m: int, n: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(m, m), B=(m, n), C=(m, n))


def syrk(rng: Random, n: int, m: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(n, m), C=(n, n))


def syr2k(rng: Random, n: int, m: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(n, m), B=(n, m), C=(n, n))


def symmetric_product(a: Any) -> Results:
    symmetric = np.tril(a.A) + np.tril(a.A, -1).T
    return {"C": a.alpha * symmetric @ a.B + a.beta * a.C}


def lower(a: Any, product: Any) -> Results:
    """The update of what is on and below the diagonal of C."""
    return {"C": np.tril(a.alpha * product + a.beta * a.C) + np.triu(a.C, 1)}


add("gemm", gemm, lambda a: {"C": a.alpha * a.A @ a.B + a.beta * a.C}, ni=SIZE, nj=SIZE, nk=SIZE)
add("two_mm", two_mm, lambda a: {"D": a.alpha * a.A @ a.B @ a.C + a.beta * a.D}, ni=SIZE, nj=SIZE, nk=SIZE, nl=SIZE)
add("three_mm", three_mm, lambda a: {"G": a.A @ a.B @ (a.C @ a.D)}, ni=SIZE, nj=SIZE, nk=SIZE, nl=SIZE, nm=SIZE)
add("doitgen", doitgen, lambda a: {"A": np.einsum("rqs,sp->rqp", a.A, a.C)}, nr=SIZE, nq=SIZE, np=SIZE)
add(
    "trmm",
    trmm,
    lambda a: {"B": a.alpha * scipy.linalg.blas.dtrmm(1, a.A, a.B, lower=1, trans_a=1, diag=1)},
    m=SIZE,
    n=SIZE,
)
add("symm", symm, symmetric_product, m=SIZE, n=SIZE)
add("syrk", syrk, lambda a: lower(a, a.A @ a.A.T), n=SIZE, m=SIZE)
add("syr2k", syr2k, lambda a: lower(a, a.A @ a.B.T + a.B @ a.A.T), n=SIZE, m=SIZE)


# Products of a matrix and vectors.
def atax(rng: Random, m: int, n: int) -> Arguments:
    return normal(rng, A=(m, n), x=n)


def bicg(rng: Random, n: int, m: int) -> Arguments:
    return normal(rng, A=(n, m), p=m, r=n)


def mvt(rng: Random, n: int) -> Arguments:
    return normal(rng, A=(n, n), **dict.fromkeys(("x1", "x2", "y1", "y2"), n))


def gemver(rng: Random, n: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(n, n), **dict.fromkeys(("u1", "v1", "u2", "v2", "w", "x", "y", "z"), n))


def gesummv(rng: Random, n: int) -> Arguments:
    return normal(rng, "alpha", "beta", A=(n, n), B=(n, n), x=n)


def updated(a: Any) -> Results:
    matrix = a.A + np.outer(a.u1, a.v1) + np.outer(a.u2, a.v2)
    x = a.x + a.beta * matrix.T @ a.y + a.z
    return {"A": matrix, "x": x, "w": a.w + a.alpha * matrix @ x}


add("atax", atax, lambda a: {"y": a.A.T @ (a.A @ a.x)}, m=SIZE, n=SIZE)
add("bicg", bicg, lambda a: {"s": a.A.T @ a.r, "q": a.A @ a.p}, n=SIZE, m=SIZE)
add("mvt", mvt, lambda a: {"x1": a.x1 + a.A @ a.y1, "x2": a.x2 + a.A.T @ a.y2}, n=SIZE)
add("gemver", gemver, updated, n=SIZE)
add("gesummv", gesummv, lambda a: {"y": (a.alpha * a.A + a.beta * a.B) @ a.x}, n=SIZE)


# Solvers and decompositions.
def system(rng: Random, n: int) -> Arguments:
    return {**dominant(rng, n), "b": rng.normal(size=n)}


def solved(a: Any) -> Results:
    """scipy's, which exchanges no rows where each diagonal element is the largest of its column."""
    packed, pivots = scipy.linalg.lu_factor(a.A)
    assert (pivots == np.arange(len(a.A))).all()
    return {"A": packed, "x": scipy.linalg.solve(a.A, a.b)}


def columns(rng: Random, n: int, more: int) -> Arguments:
    """Columns that are far from dependent."""
    m = n + more
    return {"A": rng.uniform(-1, 1, size=(m, n)) + 2 * n * np.eye(m, n), "R": rng.normal(size=(n, n))}


def orthonormal(a: Any) -> Results:
    """numpy's, with the signs that make the diagonal of R positive. A column ends as its part across those before."""
    q, r = np.linalg.qr(a.A)
    signs = np.sign(np.diag(r))
    return {"Q": q * signs, "R": np.triu(signs[:, None] * r) + np.tril(a.R, -1), "A": q * np.diag(r)}


def durbin(a: Any) -> Results:
    return {"y": scipy.linalg.solve(scipy.linalg.toeplitz(np.concatenate(([1.0], a.r[:-1]))), -a.r)}


add("ludcmp", system, solved, n=SIZE)
add("gramschmidt", columns, orthonormal, n=SIZE, more=st.integers(0, 9))
# Small enough for the Toeplitz matrix to be dominated by its unit diagonal.
add("durbin", lambda rng, n: {"r": rng.uniform(-0.05, 0.05, n)}, durbin, n=SIZE)


# Statistics.
def observations(rng: Random, n: int, m: int) -> Arguments:
    """Columns of which some hardly vary."""
    return {"data": rng.normal(size=(n, m)) * rng.choice([1, 3, 1e-3], m) + rng.normal(size=m)}


def correlations(a: Any) -> Results:
    """numpy's where columns vary enough; elsewhere covariances with a deviation of 1 in place of a small one."""
    covariances, deviations = np.cov(a.data, rowvar=False, bias=True), a.data.std(axis=0)
    varied = deviations > 0.1
    deviations[~varied] = 1
    found = covariances / np.outer(deviations, deviations)
    if varied.any():
        found[np.ix_(varied, varied)] = np.corrcoef(a.data[:, varied], rowvar=False)
    np.fill_diagonal(found, 1)
    return {"corr": found, "data": (a.data - a.data.mean(axis=0)) / (np.sqrt(len(a.data)) * deviations)}


def covariances(a: Any) -> Results:
    return {"cov": np.atleast_2d(np.cov(a.data, rowvar=False)), "data": a.data - a.data.mean(axis=0)}


add("correlation", observations, correlations, n=SIZE, m=PAIR)
add("covariance", observations, covariances, n=PAIR, m=SIZE)


# Images and grids.
def image(rng: Random, w: int, h: int) -> Arguments:
    return {"alpha": rng.uniform(0.2, 2), "x": rng.normal(size=(w, h))}


def smoothed(a: Any) -> Results:
    """The filter as what it stands for: weights (1 + alpha d) exp(-alpha d) at distance d, that add up to 1."""
    distances = np.abs(np.arange(-2000, 2001))
    weights = (1 + a.alpha * distances) * np.exp(-a.alpha * distances)
    weights /= weights.sum()
    along, across = (scipy.linalg.toeplitz(weights[2000 : 2000 + size]) for size in a.x.shape)
    return {"y": along @ a.x @ across}


def fields(rng: Random, nx: int, ny: int, steps: int) -> Arguments:
    return normal(rng, **dict.fromkeys(("ex", "ey", "hz"), (nx, ny)), source=steps)


def waves(a: Any) -> Results:
    ex, ey, hz = a.ex.copy(), a.ey.copy(), a.hz.copy()
    for source in a.source:
        ey = np.vstack((np.full_like(ey[:1], source), ey[1:] - np.diff(hz, axis=0) / 2))
        ex = np.hstack((ex[:, :1], ex[:, 1:] - np.diff(hz, axis=1) / 2))
        hz[:-1, :-1] -= 0.7 * (np.diff(ex, axis=1)[:-1] + np.diff(ey, axis=0)[:, :-1])
    return {"ex": ex, "ey": ey, "hz": hz}


def cubes(rng: Random, n: int, steps: int) -> Arguments:
    return {**normal(rng, A=(n, n, n), B=(n, n, n)), "steps": steps}


def heat(a: Any) -> Results:
    grids = {"A": a.A.copy(), "B": a.B.copy()}
    inner = (slice(1, -1),) * 3
    for source, target in ("AB", "BA") * a.steps:
        grids[target][inner] = (grids[source] + scipy.ndimage.laplace(grids[source]) / 8)[inner]
    return grids


def square(name: str) -> Build:
    return lambda rng, n, steps: {**normal(rng, **{name: (n, n)}), "steps": steps}


def relaxed(a: Any) -> Results:
    """Row by row: what is known of the nine neighbours is a signal, and the ninth of each new element enters the next."""
    grid = a.A.copy()
    known = np.array([[1, 1, 1], [0, 1, 1], [1, 1, 1]]) / 9
    for _ in range(a.steps):
        for row in range(1, len(grid) - 1):
            signal = scipy.signal.correlate(grid[row - 1 : row + 2], known, mode="valid")[0]
            grid[row, 1:-1], _ = scipy.signal.lfilter([1], [1, -1 / 9], signal, zi=[grid[row, 0] / 9])
    return {"A": grid}


def implicit(known: Any, off: float) -> Any:
    """Rows x of boundary 1 with off*x[j - 1] + (1 - 2*off)*x[j] + off*x[j + 1] = known[j] inside."""
    size = known.shape[1]
    right = np.ones((size + 2, len(known)))
    right[1:-1] = known.T
    inside, outside = np.full(size, 1 - 2 * off), np.full(size, off)
    bands = [np.concatenate(([0, 0], outside)), np.concatenate(([1], inside, [1])), np.concatenate((outside, [0, 0]))]
    return scipy.linalg.solve_banded((1, 1), bands, right).T


def directions(a: Any) -> Results:
    """Implicit along the columns and explicit along the rows, with diffusivities 2 and 1, then the other way round."""
    n = len(a.u)
    u = a.u.copy()
    first, second = -(n**2) / a.steps, -(n**2) / (2 * a.steps)
    explicit = [np.array([-each, 1 + 2 * each, -each]) for each in (second, first)]
    for _ in range(a.steps):
        v = implicit(scipy.signal.correlate(u, explicit[0][None, :], mode="valid")[1:-1].T, first)
        u[1:-1] = implicit(scipy.signal.correlate(v.T, explicit[1][:, None], mode="valid"), second)
    return {"u": u}


add("deriche", image, smoothed, w=SIZE, h=SIZE)
add("fdtd_2d", fields, waves, nx=PAIR, ny=PAIR, steps=SIZE)
add("heat_3d", cubes, heat, n=st.integers(3, 7), steps=st.integers(1, 5))
add("seidel_2d", square("A"), relaxed, n=GRID, steps=SIZE)
add("adi", square("u"), directions, n=GRID, steps=SIZE)


# Pairs of bases.
def bases(rng: Random, n: int) -> Arguments:
    return {"base": rng.integers(0, 4, n), "table": np.zeros((n, n), dtype=int)}


def most_pairs(a: Any) -> Results:
    """By what becomes of the first base: nothing, or it pairs with one that is not its neighbour."""

    @cache
    def pairs(first: int, last: int) -> int:
        if first >= last:
            return 0
        partners = [k for k in range(first + 2, last + 1) if a.base[first] + a.base[k] == 3]
        return max([pairs(first + 1, last), *(1 + pairs(first + 1, k - 1) + pairs(k + 1, last) for k in partners)])

    n = len(a.base)
    return {"table": np.array([[pairs(i, j) for j in range(n)] for i in range(n)])}


add("nussinov", bases, most_pairs, n=st.integers(1, 14))
