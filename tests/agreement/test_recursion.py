"""Closed forms and bounds of recursive programs, against mathematics and the recurrence itself."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import ceil, log2

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Cost, Costs
from archline.execution.run import execute
from archline.language.loader import load_target, load_text


def costs_of(text: str, name: str = "f") -> Costs:
    module = load_text(text)
    return derive(module, module.algorithms[name])


def stdlib(target: str) -> Costs:
    module, algorithm = load_target(target)
    assert algorithm is not None
    return derive(module, algorithm)


def bounds(cost: Cost, **sizes: int) -> tuple[int, int]:
    return int(evaluate(cost.lower, sizes)), int(evaluate(cost.upper, sizes))


HALVES = """
algorithm f(x: inout real[n]):
    if n > 1:
        for i in 0..n:
            x[i] += 1.0
        f(x[0..n//2])
        f(x[n//2..n])
"""


@cache
def path_length(n: int) -> int:
    """T(n) = T(floor(n/2)) + T(ceil(n/2)) + n, T(1) = 0."""
    return 0 if n == 1 else path_length(n // 2) + path_length(n - n // 2) + n


def test_an_additive_split_is_exact_at_every_size() -> None:
    flops = costs_of(HALVES)["flops"]
    assert flops.exact
    for n in range(1, 300):
        # Of a binary tree with n leaves that is as flat as can be: n*k - 2^k + n for k = ceil(log2(n)).
        depth = (n - 1).bit_length()
        assert bounds(flops, n=n) == (path_length(n),) * 2 == (n * depth - 2**depth + n,) * 2


@pytest.mark.parametrize("target", ["scan.recursive::sum_tree", "scan.recursive::dot_tree"])
def test_trees(target: str) -> None:
    costs = stdlib(target)
    for n in (1, 2, 3, 7, 64, 65, 1000):
        assert bounds(costs["flops"], n=n) == ((n - 1 if "sum" in target else 2 * n - 1),) * 2
        span = bounds(costs["span"], n=n)
        # A level costs 4: the call, the test, its own call and the addition.
        assert span == (4 * ceil(log2(n)) + (2 if "sum" in target else 3),) * 2


def test_recursive_lu_does_the_work_of_elimination() -> None:
    """Golub and Van Loan, Matrix Computations (4th ed.), section 3.2: the same operations in any order of the blocks."""
    flops = stdlib("dense.lu_recursive::lu_co")["flops"]
    for n in (1, 2, 15, 16, 17, 40, 101):
        assert bounds(flops, n=n) == (sum(n - k - 1 + 2 * (n - k - 1) ** 2 for k in range(n)),) * 2


def test_products_are_counted_once_however_they_are_split() -> None:
    flops = stdlib("dense.matmul::matmul_co")["flops"]
    assert bounds(flops, n=37, m=5, p=91) == (2 * 37 * 5 * 91,) * 2


def test_powers_of_two() -> None:
    text = """
algorithm f(x: inout real[n]):
    where n is power of 2
    if n > 1:
        for i in 0..n:
            for j in 0..n:
                x[i] += 1.0
        f(x[0..n//2])
        f(x[0..n//2])
        f(x[n//2..n])
"""
    flops = costs_of(text)["flops"]
    # T(2^k) = 3*T(2^(k - 1)) + 4^k, T(1) = 0: 4*4^k - 4*3^k.
    assert flops.exact
    for k in range(12):
        assert bounds(flops, n=2**k) == (4 * 4**k - 4 * 3**k,) * 2


def test_a_leaf_of_its_own_is_a_regime() -> None:
    work = stdlib("dense.matmul::matmul_co")["work"]
    leaf, other = work.regimes
    assert leaf.when == "max(n, m, p) <= 16"
    assert other.when == "otherwise"
    assert leaf.exact
    # matmul_basic's 1 + n + n*p + 3*n*m*p, the call of the leaf, its test and the outermost call.
    assert evaluate(leaf.lower, {"n": 2, "m": 3, "p": 5}) == 1 + 2 + 10 + 90 + 2


@pytest.mark.parametrize(
    ("n", "m", "p"), [(1, 1, 1), (16, 16, 16), (17, 1, 1), (33, 7, 100), (64, 64, 64), (999, 3, 50)]
)
def test_bounds_hold_where_the_form_is_not_exact(n: int, m: int, p: int) -> None:
    work = stdlib("dense.matmul::matmul_co")["work"]
    lower, upper = bounds(work, n=n, m=m, p=p)
    count, most = work.ends({"n": n, "m": m, "p": p})
    assert count == most
    assert lower <= count <= upper <= 4 * lower


def test_karatsuba_between_bounds_of_its_growth() -> None:
    flops = stdlib("arithmetic.karatsuba::karatsuba")["flops"]
    for n in (16, 17, 31, 32, 33, 100, 1000, 4097):
        lower, upper = bounds(flops, n=n)
        assert lower <= flops.ends({"n": n})[0] <= upper <= 4 * lower


def test_the_data_decides_a_split() -> None:
    text = """
algorithm f(x: inout real[n]):
    local p: int = 0
    if n > 1:
        for i in 0..n:
            if x[i] < x[0]:
                p += 1
        assume 4*p <= 3*n, p >= 1
        f(x[0..p])
"""
    work = costs_of(text)["work"]
    lower, upper = bounds(work, n=64)
    # At least the first pass; at most as many as three quarters each time allow.
    assert 64 <= lower <= upper <= 4 * (5 * 64 + 10)


@pytest.mark.parametrize("assumed", ["q >= n//3, q <= n//3 + 1", "3*q >= n - 2, 3*q <= n + 3", "q >= 1, q < n"])
def test_a_branch_of_the_data_moves_a_cut(assumed: str) -> None:
    text = f"""
algorithm f(x: real[n], d: real):
    local s: real = 0
    if n > 8:
        local q: int = n//3
        if d < 0.5:
            q += 1
        assume {assumed}
        f(x[0..q], d)
        f(x[q..n], d)
    else:
        for i in 0..n:
            s += x[i]
"""
    module, flops = load_text(text), costs_of(text)["flops"]
    for n, d in product((1, 7, 9, 10, 26, 27, 100, 257), (0.25, 0.75)):
        lower, upper = bounds(flops, n=n)
        run = execute(module, module.algorithms["f"], {"x": np.ones(n), "d": d}, compiled=False)
        # Each entry is added once, and each cut compares once.
        assert n <= run.counts.flops <= 2 * n
        assert lower <= run.counts.flops <= upper <= 4 * n


def test_recursion_by_an_index_that_nothing_bounds_is_unknown() -> None:
    text = "algorithm f(k: index):\n    decreases max(0, k)\n    if k > 0:\n        f(k - 1)\n        f(k//2)\n"
    costs = costs_of(text)
    assert costs["work"].status == "unknown"
    assert costs["work"].reason
