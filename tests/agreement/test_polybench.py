"""PolyBench's kernels: where the library has each, what they ensure of io, and bounds against optimal replacement."""

from __future__ import annotations

import random
from dataclasses import replace
from math import prod

import pytest

from archline.analysis.analyse import derive
from archline.claims.decide import decide_claims
from archline.execution.cache import optimal
from io_points import capacities, io_of, kernel
from stdlib_cases import CASES, load
from stdlib_polybench_cases import POLYBENCH

ELSEWHERE = {
    "cholesky": "dense.cholesky::cholesky",
    "floyd-warshall": "dense.floyd_warshall::floyd_warshall",
    "jacobi-1d": "stencil.jacobi_1d::jacobi_1d",
    "jacobi-2d": "stencil.jacobi_2d::jacobi_2d",
    "lu": "dense.lu::lu",
    "trisolv": "dense.trisolv::trisolv",
}
"""Kernels that are the same loops in another family."""

NAMED = (
    "2mm 3mm adi atax bicg cholesky correlation covariance deriche doitgen durbin fdtd-2d floyd-warshall gemm gemver "
    "gesummv gramschmidt heat-3d jacobi-1d jacobi-2d lu ludcmp mvt nussinov seidel-2d symm syr2k syrk trisolv trmm"
)
"""The thirty of PolyBench/C 4.2."""


def target(name: str) -> str:
    """Where a kernel is: under its own name, written as the language's names are."""
    spelled = {"2mm": "two_mm", "3mm": "three_mm"}.get(name, name.replace("-", "_"))
    return ELSEWHERE.get(name, f"polybench.{spelled}::{spelled}")


def test_all_thirty_are_there() -> None:
    targets = {target(name) for name in NAMED.split()}
    assert len(targets) == 30
    assert targets <= set(CASES)
    assert targets - set(POLYBENCH) == set(ELSEWHERE.values())
    assert set(POLYBENCH) <= targets


@pytest.mark.parametrize("name", POLYBENCH)
def test_io(name: str) -> None:
    """What is ensured holds, and no run leaves the bounds."""
    module, algorithm = load(name)
    io, costs = io_of(module, algorithm), derive(module, algorithm)
    verdicts = decide_claims(module, algorithm, replace(costs, metrics={**costs.metrics, "io": io}))
    assert any(each.ensures.metric == "io" for each in verdicts)
    assert {each.outcome for each in verdicts} == {"holds"}
    source, subject = random.Random(name), kernel(name, CASES[name])
    for line in (1, 4):
        sizes, trace = subject.trace(subject.draw(source), line)
        for capacity in {2, 3, 5, *capacities(trace.distinct, set(), source, 6)}:
            point = {**sizes, "L": line, "Z": capacity * line + source.randrange(line)}
            lower, upper = io.interval_at(point).ends
            assert lower <= optimal(trace, capacity).io <= upper, point


ARRAYS = {
    "gemm": "A(ni,nk) B(nk,nj) C(ni,nj)",
    "two_mm": "A(ni,nk) B(nk,nj) C(nj,nl) D(ni,nl) tmp(ni,nj)",
    "three_mm": "A(ni,nk) B(nk,nj) C(nj,nm) D(nm,nl) E(ni,nj) F(nj,nl) G(ni,nl)",
    "doitgen": "A(nr,nq,np) C(np,np) row(np)",
    "atax": "A(m,n) x(n) y(n) tmp(m)",
    "bicg": "A(n,m) p(m) r(n) s(m) q(n)",
    "mvt": "A(n,n) x1(n) x2(n) y1(n) y2(n)",
    "gemver": "A(n,n) u1(n) v1(n) u2(n) v2(n) w(n) x(n) y(n) z(n)",
    "gesummv": "A(n,n) B(n,n) x(n) y(n) tmp(n)",
    "deriche": "x(w,h) y(w,h) y1(w,h) y2(w,h)",
}
"""The arrays, of parameters and local, of kernels that touch every row of every array from end to end."""


@pytest.mark.parametrize("name", ARRAYS)
def test_each_line_is_fetched_once_where_all_fits(name: str) -> None:
    """A row of w words is ceil(w/L) lines; doitgen's row is at the same place of the stack each time."""
    io = io_of(*load(f"polybench.{name}::{name}"))
    shapes = [each[:-1].partition("(")[2].split(",") for each in ARRAYS[name].split()]
    source = random.Random(name)
    for line in (1, 3, 8):
        at = {size: source.randint(3, 20) for shape in shapes for size in shape}
        lines = sum(prod(at[size] for size in rows) * -(-at[words] // line) for *rows, words in shapes)
        assert io.interval_at({**at, "L": line, "Z": 10**9}).ends == (lines, lines)
