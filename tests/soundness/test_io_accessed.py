"""Accesses as derived, an upper bound on io, against what runs fetch with a single word of cache."""

from __future__ import annotations

import random

import numpy as np
import pytest

from archline.algebra.polynomial import ZERO
from archline.analysis.cost import ends_at
from archline.analysis.metrics.accesses import accesses_of
from archline.execution.cache import compact, optimal
from archline.execution.run import execute
from archline.language.loader import load_text
from cli_support import cli
from io_points import io_of, kernel
from stdlib_cases import load
from stdlib_recursive_cases import RECURSIVE
from test_io_upper import arguments, subject

EXACT = {
    "loops": """algorithm main(x: real[n], y: inout real[m]):
    for i in 0..n:
        for j in 0..m:
            y[j] = y[j] + x[i]
""",
    "copies": """algorithm main(x: real[n], y: inout real[m]):
    local t: real[m, n] = 0
    for i in 0..m:
        t[i, :] = x
        y[i] = t[i, n - 1]
""",
    "branches on sizes": """algorithm main(x: real[n], y: inout real[n]):
    if n > 3:
        for i in 0..n:
            if i > 2:
                y[i] = x[i] + x[0]
            else:
                y[i] = x[i]
    else:
        y[0] = x[0]
""",
    "halves": """algorithm part(x: inout real[n]):
    if n > 1:
        part(x[0..n//2])
        part(x[n//2..n])
        x[0] = x[n - 1]*x[n//2]

algorithm main(x: inout real[n]):
    part(x)
    part(x)
""",
    "calls in loops": """algorithm row(x: real[m], y: inout real[m]):
    for j in 0..m:
        y[j] = x[j]

algorithm main(A: real[n, m], B: inout real[n, m]):
    for i in 0..n:
        row(A[i, :], B[i, :])
        row(B[i, :], B[n - 1 - i, :])
""",
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("sizes", [{"n": 1, "m": 2}, {"n": 3, "m": 1}, {"n": 7, "m": 5}, {"n": 16, "m": 4}])
def test_accesses_are_those_that_are_executed(name: str, sizes: dict[str, int]) -> None:
    """Where nothing is updated in place, which the executor counts twice."""
    given = subject(EXACT[name])
    known = {each: sizes[each] for each in given.module.signatures[given.algorithm].size_names}
    data = arguments(given.algorithm, known, random.Random(name))
    derived = ends_at(accesses_of(given.module, given.algorithm), known)[1]
    assert derived == execute(given.module, given.algorithm, data).counts.accesses


DECIDED_BY_DATA = [
    "sparse.csb::csb_block",
    "sparse.csb::csb_row",
    "sparse.csb::spmv_csb",
    "sort.select::select",
    "sort.merge_parallel::merge_parallel",
]


@pytest.mark.parametrize("target", DECIDED_BY_DATA)
def test_recursion_that_the_data_decides(target: str) -> None:
    """Where calls cannot be followed, all accesses count, or all lines where they fit."""
    given, source = kernel(target, RECURSIVE[target]), random.Random(target)
    points = [point for _ in range(12) for point in given.points(given.draw(source), source, 6)]
    assert len(points) > 30
    for point in points:
        assert point.holds, str(point)


@pytest.mark.parametrize("line", [4, 8, 16])
def test_block_vectors_of_compressed_sparse_blocks(line: int) -> None:
    """Each of 8*8 blocks of L^2 has L entries, all in other lines of x and y: ICE's n^2/b^2 + nz/L is 128 at every L."""
    blocks, side = 8, line**2
    count = blocks**2 * line
    places = np.tile(np.arange(line) * line, blocks**2)
    module, algorithm = load("sparse.csb::spmv_csb")
    run = execute(
        module,
        algorithm,
        {
            "blk": np.arange(0, count + 1, line),
            "row": places,
            "col": places,
            "val": np.ones(count),
            "x": np.ones(blocks * side),
            "y": np.zeros(blocks * side),
            "nb": blocks,
            "b": side,
        },
        line=line,
        trace=True,
    )
    # The lines of a block's part of x and of y fit, all of x does not.
    fetched = optimal(compact(run.trace.lines), 2 * line + 8).io
    sizes = {"nb": blocks, "b": side, "nz": count, "nmax": line, "Z": (2 * line + 8) * line, "L": line}
    assert count * 3 // 4 <= fetched <= ends_at(io_of(module, algorithm), sizes)[1]


@pytest.mark.parametrize(
    "text",
    [
        "extern f(a: real) -> real costs 3 flops, 5 io\n\nalgorithm main(x: inout real[n]):\n    x[0] = f(x[0])\n",
        "algorithm g(x: inout real[n]):\n    costs 3 io\n\nalgorithm main(x: inout real[n]):\n    g(x)\n",
    ],
)
def test_io_that_is_declared_is_not_left_out(text: str) -> None:
    module = load_text(text)
    cost = io_of(module, module.algorithms["main"])
    assert cost.status == "unknown"
    assert cost.reason is not None
    assert "declared io" in cost.reason


def test_recursion_that_accesses_nothing_fetches_nothing() -> None:
    module = load_text(
        "algorithm main(x: real[n], d: real):\n    if n > 8:\n        local q: int = n//2\n        if d < 0.5:\n"
        "            q += 1\n        assume 2*q <= n + 2\n        main(x[0..q], d)\n        main(x[q..n], d)\n"
    )
    cost = io_of(module, module.algorithms["main"])
    assert cost.status != "unknown"
    assert cost.upper == ZERO


def test_explain_says_why_every_access_counts() -> None:
    printed = cli("cost", "sort.select::select", "--explain", "--metric", "io").out
    assert "every access counts as a miss, as they cannot be followed: the data decides the size" in printed
    assert "at sizes, Z and L: no more than the lines of calls whose arrays fit" in printed
    assert "where n <= 32: io <=" in printed
