"""Bounds above leaves of a fixed size: min and max with numbers keep their sums over halves, and bounds are near."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.execution.run import execute
from archline.language.loader import load_path, load_text

STDLIB = Path(__file__).parents[2] / "stdlib"
PRODUCT = """
algorithm outer(X: inout real[n, m]):
    if max(n, m) <= 6:
        for i in 0..n:
            for j in 0..m:
                X[i, j] += 1.0
    elif n >= m:
        spawn outer(X[0..n//2, :])
        spawn outer(X[n//2..n, :])
        sync
    else:
        outer(X[:, 0..m//2])
        outer(X[:, m//2..m])
"""
MODULE = load_text(PRODUCT)
ALGORITHM = MODULE.algorithms["outer"]


def leaves(size: int, most: int) -> int:
    return 1 if size <= most else leaves(size // 2, most) + leaves(size - size // 2, most)


SIZES = [(7, 1), (1, 7), (7, 7), (13, 13), (5, 40), (40, 5), (33, 65), (64, 64), (97, 12)]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_runs_lie_between_bounds(n: int, m: int) -> None:
    costs = derive(MODULE, ALGORITHM)
    at = {"n": n, "m": m}
    ran = execute(MODULE, ALGORITHM, {"X": [[0.0] * m for _ in range(n)]}, compiled=False).counts
    for metric, count in (("work", ran.work), ("span", ran.span)):
        cost = costs[metric]
        assert evaluate(cost.lower, at) <= count <= evaluate(cost.upper, at)


@pytest.mark.parametrize(
    ("path", "name", "factor"),
    [
        ("dense/matmul.algo", "matmul_co", 4),
        ("dense/transpose_recursive.algo", "transpose_co", 4),
        ("dense/trisolv_recursive.algo", "trisolv_unit_co", 4),
        ("dense/trisolv_recursive.algo", "trisolv_right_co", 4),
        ("dense/cholesky_recursive.algo", "cholesky_co", 4),
        ("dense/matmul_recursive.algo", "matmul_temporary", 4),
    ],
)
def test_bounds_of_the_library_are_near(path: str, name: str, factor: int) -> None:
    module = load_path(STDLIB / path)
    algorithm = module.algorithms[name]
    costs = derive(module, algorithm)
    sizes = module.signatures[algorithm].size_names
    for values in product((17, 31, 64, 129, 1025), repeat=len(sizes)):
        at = dict(zip(sizes, values, strict=True))
        for metric in ("work", "span"):
            cost = costs[metric]
            low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
            least, most = cost.ends(at)
            assert low <= least
            assert most <= high
            assert high <= factor * low


# Terms of calls that halve all sizes down to leaves of a fixed size, and the bounds of LCS by quadrants


def test_bounds_of_lcs_by_quadrants_are_near() -> None:
    module = load_path(STDLIB / "string/lcs.algo")
    cost = derive(module, module.algorithms["lcs_co"])["span"]
    for n, m in product((17, 31, 32, 33, 64, 65, 129, 1000, 1024, 1025), repeat=2):
        at = {"n": n, "m": m}
        low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
        least, most = cost.ends(at)
        assert low <= least
        assert most <= high
        assert high <= 3 * low
