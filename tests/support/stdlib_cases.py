"""What the standard library computes: arguments to draw, and the results of numpy and scipy for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import scipy.linalg
import scipy.signal
import scipy.sparse
import scipy.sparse.csgraph
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.execution.results import RunCounts
from archline.execution.run import execute
from archline.language import syntax as s
from archline.language.loader import load_target
from archline.language.model import Module
from stdlib_case import GRID, SIZE, Arguments, Build, Case, Expected, Random, Results, dominant
from stdlib_polybench_cases import POLYBENCH

RETURNED = "return"
"""The name under which `expected` gives what the algorithm returns."""

MAYBE_ZERO = st.integers(0, 9)
LONG = st.integers(1, 30)
POWER_OF_2 = st.integers(0, 5).map(lambda exponent: 2**exponent)

CASES: dict[str, Case] = dict(POLYBENCH)
"""The cases by target, as `dense.matmul::matmul_basic`."""


def add(target: str, build: Build, expected: Expected, **sizes: st.SearchStrategy[int]) -> None:
    """Add the case of one algorithm."""
    assert target not in CASES
    CASES[target] = Case(sizes, build, expected)


# Dense matrices.
def matmul(rng: Random, n: int, m: int, p: int, **tile: int) -> Arguments:
    return {"A": rng.normal(size=(n, m)), "B": rng.normal(size=(m, p)), "C": rng.normal(size=(n, p)), **tile}


def product(a: Any) -> Results:
    return {"C": a.C + a.A @ a.B}


def gemv(rng: Random, n: int, m: int) -> Arguments:
    vectors = {"x": rng.normal(size=m), "y": rng.normal(size=n)}
    return {"alpha": rng.normal(), "A": rng.normal(size=(n, m)), "beta": rng.normal(), **vectors}


def gemv_transposed(rng: Random, n: int, m: int) -> Arguments:
    return {"A": rng.normal(size=(n, m)), "x": rng.normal(size=n), "y": rng.normal(size=m)}


def trmm(rng: Random, n: int, m: int) -> Arguments:
    return {"alpha": rng.normal(), "A": rng.normal(size=(n, n)), "B": rng.normal(size=(n, m))}


def matrix(rng: Random, n: int, m: int, **tile: int) -> Arguments:
    return {"A": rng.normal(size=(n, m)), **tile}


def transposed(a: Any) -> Results:
    return {"B": a.A.T}


for name in ("basic", "ijk", "ikj", "parallel"):
    add(f"dense.matmul::matmul_{name}", matmul, product, n=SIZE, m=SIZE, p=SIZE)
add("dense.matmul::matmul_blocked", matmul, product, n=SIZE, m=SIZE, p=SIZE, b=SIZE)
add("dense.gemv::gemv", gemv, lambda a: {"y": a.alpha * (a.A @ a.x) + a.beta * a.y}, n=SIZE, m=SIZE)
add("dense.gemv::gemv_transposed", gemv_transposed, lambda a: {"y": a.y + a.A.T @ a.x}, n=SIZE, m=SIZE)
add("dense.trmm::trmm", trmm, lambda a: {"B": a.alpha * np.tril(a.A) @ a.B}, n=SIZE, m=SIZE)
add("dense.transpose::transpose", matrix, transposed, n=SIZE, m=SIZE)
add("dense.transpose::transpose_blocked", matrix, transposed, n=SIZE, m=SIZE, b=SIZE)
add("dense.transpose::transpose_in_place", lambda rng, n: matrix(rng, n, n), lambda a: {"A": a.A.T}, n=SIZE)


# Systems of equations.
def system(rng: Random, n: int) -> Arguments:
    return {**dominant(rng, n), "b": rng.normal(size=n)}


def systems(rng: Random, n: int, m: int) -> Arguments:
    return {**dominant(rng, n), "B": rng.normal(size=(n, m))}


def positive_definite(rng: Random, n: int) -> Arguments:
    half = dominant(rng, n)["A"]
    return {"A": half @ half.T}


def solution(name: str, right: str, lower: bool) -> Expected:
    return lambda a: {name: scipy.linalg.solve_triangular(a.A, getattr(a, right), lower=lower)}


def lu(a: Any) -> Results:
    """scipy's, which exchanges no rows where each diagonal element is the largest of its column."""
    packed, pivots = scipy.linalg.lu_factor(a.A)
    assert (pivots == np.arange(len(a.A))).all()
    return {"A": packed}


def cholesky(a: Any) -> Results:
    return {"A": np.linalg.cholesky(a.A) + np.triu(a.A, 1)}


add("dense.trisolv::trisolv", system, solution("x", "b", lower=True), n=SIZE)
add("dense.trisolv::trisolv_upper", system, solution("x", "b", lower=False), n=SIZE)
add("dense.trisolv::trisolv_many", systems, solution("B", "B", lower=True), n=SIZE, m=SIZE)
for name in ("cholesky", "cholesky_parallel"):
    add(f"dense.cholesky::{name}", positive_definite, cholesky, n=SIZE)
for name in ("lu", "lu_parallel"):
    add(f"dense.lu::{name}", dominant, lu, n=SIZE)


# Graphs.
def roads(rng: Random, n: int) -> Arguments:
    lengths = rng.uniform(1, 10, size=(n, n))
    lengths[rng.random((n, n)) < 0.3] = np.inf
    np.fill_diagonal(lengths, 0)
    return {"D": lengths}


for name in ("floyd_warshall", "floyd_warshall_parallel"):
    add(f"dense.floyd_warshall::{name}", roads, lambda a: {"D": scipy.sparse.csgraph.floyd_warshall(a.D)}, n=SIZE)


# Stencils.
def grids(rng: Random, steps: int, **shape: int) -> Arguments:
    size = tuple(shape.values())
    return {"A": rng.normal(size=size), "B": rng.normal(size=size), "steps": steps}


def sweeps(weights: Any) -> Expected:
    def expected(a: Any) -> Results:
        grids = {"A": a.A.copy(), "B": a.B.copy()}
        inner = (slice(1, -1),) * a.A.ndim
        for _ in range(a.steps):
            for source, target in ("AB", "BA"):
                grids[target][inner] = scipy.signal.correlate(grids[source], weights, mode="valid")
        return grids

    return expected


PLUS = np.array([[0, 0.2, 0], [0.2, 0.2, 0.2], [0, 0.2, 0]])
add("stencil.jacobi_1d::jacobi_1d", grids, sweeps(np.full(3, 1 / 3)), n=GRID, steps=SIZE)
add("stencil.jacobi_2d::jacobi_2d", grids, sweeps(PLUS), n=GRID, m=GRID, steps=SIZE)


# Sparse matrices, some of them empty, most with an empty row or column.
def sparse(rng: Random, n: int, m: int) -> scipy.sparse.coo_array:
    dense = rng.normal(size=(n, m))
    dense[rng.random((n, m)) < rng.choice([0.3, 0.8, 1.0])] = 0
    return scipy.sparse.coo_array(dense)


def by_rows(rng: Random, n: int, m: int) -> Arguments:
    a = sparse(rng, n, m).tocsr()
    return {"rowptr": a.indptr, "col": a.indices, "val": a.data, "x": rng.normal(size=m)}


def by_columns(rng: Random, n: int, m: int) -> Arguments:
    a = sparse(rng, n, m).tocsc()
    x, y = rng.normal(size=m), rng.normal(size=n)
    return {"colptr": a.indptr, "row": a.indices, "val": a.data, "x": x, "y": y}


def by_blocks(rng: Random, nb: int, b: int) -> Arguments:
    """Blocks drawn one by one, each with entries at distinct places in no particular order."""
    offsets, places = [0], []
    for _ in range(nb * nb):
        count = int(rng.integers(0, b * b + 1)) if rng.random() < 0.7 else 0
        places.append(rng.permutation(b * b)[:count])
        offsets.append(offsets[-1] + count)
    place = np.concatenate(places)
    entries = {"row": place // b, "col": place % b, "val": rng.normal(size=len(place))}
    x, y = rng.normal(size=nb * b), rng.normal(size=nb * b)
    return {"blk": np.array(offsets), **entries, "x": x, "y": y, "nb": nb, "b": b}


def csr_product(a: Any) -> Results:
    return {"y": scipy.sparse.csr_array((a.val, a.col, a.rowptr), shape=(len(a.rowptr) - 1, len(a.x))) @ a.x}


def csc_product(a: Any) -> Results:
    return {"y": a.y + scipy.sparse.csc_array((a.val, a.row, a.colptr), shape=(len(a.y), len(a.x))) @ a.x}


def block_product(a: Any) -> Results:
    block = np.repeat(np.arange(a.nb**2), np.diff(a.blk))
    places = block // a.nb * a.b + a.row, block % a.nb * a.b + a.col
    return {"y": a.y + scipy.sparse.coo_array((a.val, places), shape=(a.nb * a.b,) * 2) @ a.x}


add("sparse.csr::spmv_csr", by_rows, csr_product, n=SIZE, m=SIZE)
add("sparse.csc::spmv_csc", by_columns, csc_product, n=SIZE, m=SIZE)
add("sparse.block::spmv_block", by_blocks, block_product, nb=st.integers(1, 4), b=st.integers(1, 4))


# Sorting, with few distinct keys, so that there are equal ones.
def keys(rng: Random, n: int) -> Any:
    return rng.integers(0, 6, n).astype(float)


def haystack(rng: Random, n: int) -> Arguments:
    return {"a": np.sort(keys(rng, n)), "key": float(rng.integers(-1, 7))}


def two_sorted(rng: Random, n: int, m: int) -> Arguments:
    return {"a": np.sort(keys(rng, n)), "b": np.sort(keys(rng, m))}


add(
    "sort.lower_bound::lower_bound",
    haystack,
    lambda a: {RETURNED: np.searchsorted(a.a, a.key, side="left")},
    n=st.integers(0, 40),
)
add("sort.insertion_sort::insertion_sort", lambda rng, n: {"a": keys(rng, n)}, lambda a: {"a": np.sort(a.a)}, n=SIZE)
add("sort.merge::merge", two_sorted, lambda a: {"c": np.sort(np.concatenate((a.a, a.b)))}, n=MAYBE_ZERO, m=MAYBE_ZERO)


# Reductions and prefix sums.
def vector(rng: Random, n: int, **piece: int) -> Arguments:
    return {"x": rng.normal(size=n), **piece}


def vectors(rng: Random, n: int, **piece: int) -> Arguments:
    return {"x": rng.normal(size=n), "y": rng.normal(size=n), **piece}


def prefixes(a: Any) -> Results:
    return {"y": np.cumsum(a.x)}


add("scan.reduce::sum", vector, lambda a: {RETURNED: a.x.sum()}, n=MAYBE_ZERO)
add("scan.reduce::dot", vectors, lambda a: {RETURNED: a.x @ a.y}, n=MAYBE_ZERO)
add("scan.reduce::nrm2", vector, lambda a: {RETURNED: np.linalg.norm(a.x)}, n=MAYBE_ZERO)
add("scan.reduce::maximum", vector, lambda a: {RETURNED: a.x.max()}, n=SIZE)
add("scan.reduce::minimum", vector, lambda a: {RETURNED: a.x.min()}, n=SIZE)
add("scan.reduce::sum_blocked", vector, lambda a: {RETURNED: a.x.sum()}, n=LONG, b=SIZE)
add("scan.reduce::dot_blocked", vectors, lambda a: {RETURNED: a.x @ a.y}, n=LONG, b=SIZE)
add("scan.prefix_sum::prefix_sum", vector, prefixes, n=MAYBE_ZERO)
add("scan.prefix_sum::prefix_sum_blocked", vector, prefixes, n=LONG, b=SIZE)
add(
    "scan.prefix_sum::prefix_sum_tree",
    lambda rng, n: {"a": rng.normal(size=n)},
    lambda a: {"a": np.concatenate(([0.0], np.cumsum(a.a)[:-1]))},
    n=POWER_OF_2,
)


# Many bodies.
def bodies(rng: Random, n: int) -> Arguments:
    softening = float(rng.uniform(0.01, 1))
    return {"x": rng.normal(size=(n, 3)), "mass": rng.uniform(0.5, 2, n), "softening": softening}


def accelerations(a: Any) -> Results:
    apart = a.x[None, :, :] - a.x[:, None, :]
    weights = a.mass / ((apart**2).sum(axis=2) + a.softening) ** 1.5
    return {"acc": (weights[:, :, None] * apart).sum(axis=1)}


def leaves(rng: Random, nl: int) -> Arguments:
    """Leaves of 0 to 4 points, each with a list of leaves, itself often among them."""
    lists = [np.flatnonzero(rng.random(nl) < 0.6) for _ in range(nl)]
    counts = rng.integers(0, 5, nl)
    offsets = [np.concatenate(([0], np.cumsum(each))) for each in (counts, [len(each) for each in lists])]
    points = rng.normal(size=(counts.sum(), 4))
    return {"leaf": offsets[0], "uptr": offsets[1], "ulist": np.concatenate(lists), "x": points}


def near_field(a: Any) -> Results:
    count = len(a.leaf) - 1
    owner = np.repeat(np.arange(count), np.diff(a.leaf))
    listed = np.zeros((count, count), dtype=bool)
    listed[np.repeat(np.arange(count), np.diff(a.uptr)), a.ulist] = True
    meets = listed[owner][:, owner] & ~np.eye(len(a.x), dtype=bool)
    distance = np.linalg.norm(a.x[:, None, :3] - a.x[None, :, :3], axis=2)
    np.fill_diagonal(distance, 1)
    return {"phi": np.where(meets, a.x[:, 3] / distance, 0).sum(axis=1)}


def coefficients(rng: Random, n: int, k: int) -> Arguments:
    return {"a": rng.normal(size=k + 1), "x": rng.uniform(-1.5, 1.5, n), "k": k}


add(
    "arithmetic.polynomial::polynomial",
    coefficients,
    lambda a: {"y": np.polynomial.polynomial.polyval(a.x, a.a)},
    n=SIZE,
    k=SIZE,
)
add("nbody.direct::nbody_direct", bodies, accelerations, n=SIZE)
add("nbody.fmm_u::fmm_u", leaves, near_field, nl=SIZE)


@dataclass(frozen=True)
class Ran:
    """What a run left in the outputs (and returned, under `RETURNED`), its counts, and its sizes, also of iterations."""

    results: Results
    counts: RunCounts
    sizes: Mapping[str, int]


@cache
def _module(place: str) -> Module:
    return load_target(place)[0]


def load(target: str) -> tuple[Module, s.Algorithm]:
    """The algorithm of a target and its module, which is read once."""
    place, _, name = target.partition("::")
    module = _module(place)
    return module, module.algorithms[name]


@cache
def derived(target: str) -> Costs:
    """What is derived of a target, once."""
    return derive(*load(target))


def execute_case(target: str, arguments: Arguments, expected: Results, *, compiled: bool | None = None) -> Ran:
    """Run an algorithm; the expected results only tell the shapes of its `out` arrays."""
    module, algorithm = load(target)
    out = {each.name: each.type for each in algorithm.parameters if each.mode == "out"}
    types = {
        name: np.int64 if getattr(type_, "element", "real") == "int" else np.float64 for name, type_ in out.items()
    }
    unset = {name: np.empty(np.shape(expected[name]), types[name]) for name in out}
    run = execute(module, algorithm, {**arguments, **unset}, compiled=compiled, progress=False)
    returned = {} if run.value is None else {RETURNED: run.value}
    return Ran({**run.outputs, **returned}, run.counts, {**run.sizes, **run.iterations})
