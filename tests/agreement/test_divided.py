"""io of recursions whose data decides how what is given is divided, against runs and what one derives by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.data_dependent.analyse import DataDivisionBounds
from archline.analysis.cache.data_dependent.divided import UndividedError
from archline.analysis.cost import enclose_cost
from archline.execution.cache import optimal
from archline.language.loader import load_target, load_text
from effort import drawn
from io_points import kernel
from stdlib_cases import CASES
from stdlib_recursive_cases import RECURSIVE


# Bounds
def bound(target: str, **point: int) -> int:
    """At sizes, Z and L, of an algorithm of the library."""
    return DataDivisionBounds(*load_target(target)).at(point)


@settings(max_examples=drawn(20))
@given(st.integers(0, 10**6), st.integers(0, 40), st.integers(0, 40), st.sampled_from([1, 4, 8]), st.integers(1, 60))
def test_merging_in_parallel_fetches_no_more(seed: int, n: int, m: int, line: int, capacity: int) -> None:
    target = "sort.merge_parallel::merge_parallel"
    subject, source = kernel(target, {**CASES, **RECURSIVE}[target]), random.Random(seed)
    arguments = {
        "a": sorted(source.random() ** source.choice((1, 8)) for _ in range(n)),
        "b": sorted(source.random() for _ in range(m)),
        "c": [0.0] * (n + m),
    }
    import numpy as np

    sizes, trace = subject.trace({name: np.array(value) for name, value in arguments.items()}, line)
    assert sizes == {"n": n, "m": m}
    if trace.accesses:
        assert optimal(trace, capacity).io <= bound(target, n=n, m=m, Z=capacity * line + line - 1, L=line)


GIVEN = "algorithm main(x: inout real[n], y: inout real[n], A: inout real[n, n]):\n"
ADD = "algorithm add(x: inout real[n], y: inout real[m]):\n    for i in 0..n:\n        x[i] += 1.0\n"
WALKED, APART = 80 + 14, 80 * 8
"""The words of 80 neighbours with the ends of lines of 8 words, and of 80 entries with a line each."""


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("for i in 0..n:\n    y[i] += x[i]*x[i]", 2 * WALKED),
        ("for i in 1..n:\n    x[i] = x[i - 1]", 2 * (79 + 14)),
        # Of what conditions decide, each access may be to another line.
        ("for i in 0..n:\n    if x[i] < 0.5:\n        y[i] += 1.0", WALKED + APART),
        ("for i in 0..n:\n    if x[i] < 0.5 and y[i] < 0.5:\n        pass", WALKED + APART),
        ("for i in 0..n:\n    if x[i] < 0.2:\n        pass\n    elif x[i] < 0.5:\n        y[i] = x[i]", WALKED + APART),
        ("for i in 0..n step 2:\n    y[i] = 0", APART // 2),
        ("for i in 0..n:\n    y[n - 1 - i] = 0", APART),
        ("for i in 0..n:\n    let k = i//2\n    y[k] = 0", APART),
        ("for i in 0..n:\n    A[i, 0] = A[0, i]", WALKED + APART),
        ("for i in 0..n:\n    for j in 0..2:\n        y[i] += A[i, j]", WALKED + 80 * (2 + 14)),
        ("for i in 0..n:\n    for j in 0..2:\n        y[j] += A[j, i]", 80 * 2 * 8 + 80 * (2 + 14)),
        # Where the data moves a counter by 1 at most in each iteration, it gets to 81 places.
        (
            "local p: int = 0\nfor i in 0..n:\n    if x[i] < 0.5 and p < n:\n        y[p] = x[i]\n        p += 1",
            2 * WALKED + 1,
        ),
        (
            "local p: int = 0\nfor i in 0..n:\n    if x[i] < 0.5 and p < n:\n        y[p] = x[i]\n        p += 2",
            WALKED + APART,
        ),
        ("x[:] = y", 2 * WALKED),
        ("x[0..n//2] = 1", 40 + 14),
        ("x[:] = A[:, 0]", WALKED + APART),
        ("A[:, 0..2] = 0", 80 * (2 + 14)),
        ("local z: real[n] colmajor = 0", WALKED),
        ("add(x, A[0, :])", WALKED),
        ("add(A[:, 0], x)", APART),
        ("local few: real[3] = 0\nadd(few, few)", (3 + 14) + 2 * (3 + 14)),
    ],
)
def test_loops_share_the_lines_that_they_walk_along(body: str, words: int) -> None:
    module = load_text(f"{ADD}{GIVEN}" + "".join(f"    {line}\n" for line in body.split("\n")))
    divisions = DataDivisionBounds(module, module.algorithms["main"])
    assert divisions.at({"n": 80, "Z": 48, "L": 8}) == words // 8


@pytest.mark.parametrize(
    ("loops", "lines", "words"),
    [
        # Rows of a sparse matrix go on where the one before ended; of x each entry may be anywhere.
        (("i in 0..n",), 6, 3 * WALKED + 2 * (400 + 14) + 400 * 8),
        (("i in n - 1 downto 0",), 6, 3 * WALKED + 80 * 2 * 14 + 400 * (2 + 8)),
        # With 5 lines none are kept by the outer loop: two offsets a row, and all that is added to y.
        (("i in 0..n",), 5, 80 * (2 * 8 + 2 * 14) + 400 * (8 + 2 + 8)),
        # The same row twice.
        (("i in 0..n", "j in 0..2"), 6, 2 * (80 * (2 * 8 + 2 * 14) + 400 * (8 + 2 + 8))),
    ],
)
def test_segments_are_walked_along_on_and_on(loops: tuple[str, ...], lines: int, words: int) -> None:
    given = "v: real[nz], c: index[nz] below n, x: real[n], y: inout real[n], o: offsets[n] into nz"
    heads = [f"for {each}:" for each in (*loops, "k in o[i]..o[i + 1]")]
    body = [f"{'    ' * depth}{line}" for depth, line in enumerate([*heads, "y[i] += v[k]*x[c[k]]"], 1)]
    module = load_text(f"algorithm main({given}):\n" + "\n".join(body) + "\n")
    divisions = DataDivisionBounds(module, module.algorithms["main"])
    assert divisions.at({"n": 80, "nz": 400, "Z": lines * 8, "L": 8}) == words // 8


def test_a_call_that_fits_fetches_its_lines() -> None:
    # a and b have 40 and 24 words, c 64: with L = 4 no more than 128/4 lines and 2 - 2/4 ends of each.
    assert bound("sort.merge_parallel::merge_parallel", n=40, m=24, Z=10**6, L=4) == (128 + 3 * 6) // 4


def test_parts_that_do_not_fit_are_divided() -> None:
    # With L = 1 calls fit where 2*(n + m) <= 96. One of 2*(32 + 32) words divides into two of no more than 3/4 of it,
    # together which come to their lines; it looks at most at 7 entries of b, of which it may have all 64, at a[h], which
    # it reads twice, and at c.
    n = m = 32
    halves = 2 * (n + m - 1)
    searched = 7 + 2 + 1
    assert bound("sort.merge_parallel::merge_parallel", n=n, m=m, Z=2 * 48, L=1) <= halves + 2 + searched


def test_blocks_fetch_their_vectors_once_where_they_fit() -> None:
    # 3 arrays of r entries, 2 of d: all lines and ends.
    assert bound("sparse.csb::csb_block", d=64, r=1000, Z=10**5, L=8) == (3 * (1000 + 14) + 2 * (64 + 14)) // 8
    # Of 1000 entries 500 or 250 in each quadrant, less than the 21 accesses of each entry that are counted otherwise.
    assert bound("sparse.csb::csb_block", d=64, r=1000, Z=1000, L=8) < 3 * 1000


def test_growth_with_the_cache() -> None:
    # (n/L)*log2(n/Z) and less: ten times as many words in fast memory, less is fetched.
    found = [bound("sort.mergesort::mergesort_parallel", n=10**5, Z=4**k, L=8) for k in (4, 6, 8, 10)]
    assert found == sorted(found, reverse=True)
    assert found[-1] <= 10 * 10**5 // 8


@pytest.mark.parametrize(
    "text",
    [
        # The words of squares are no sum of sizes.
        "algorithm main(y: inout real[n, n]):\n    where n >= 0\n    decreases n\n    if n > 3:\n"
        "        local p: int = n//2\n        if y[0, 0] < 0.5:\n            p = n//3\n"
        "        assume p >= 1, p <= n//2\n        main(y[0..p, 0..p])\n        main(y[p..p + p, p..p + p])\n",
        # All of it may go to one of the calls, again and again.
        "algorithm main(x: inout real[n]):\n    where n >= 0\n    decreases n\n    if n > 1:\n"
        "        local p: int = 1\n        if x[0] < 0.5:\n            p = n - 1\n"
        "        assume p >= 1, p <= n - 1\n        main(x[0..p])\n        main(x[p..n])\n",
    ],
)
def test_what_is_not_of_this_kind_is_refused(text: str) -> None:
    module = load_text(text)
    with pytest.raises(UndividedError):
        DataDivisionBounds(module, module.algorithms["main"]).at({"n": 100, "Z": 10, "L": 1})


def test_calls_that_are_too_deep_are_refused_and_count_their_accesses() -> None:
    module = load_text(
        "algorithm main(x: inout real[n], d: size):\n    where n >= 0\n    decreases d\n    if d > 1 and n > 0:\n"
        "        local p: int = 0\n        if x[0] < 0.5:\n            p = n//2\n        assume p >= 0, p <= n\n"
        "        main(x[0..p], d - 1)\n        main(x[p..n], d - 1)\n"
    )
    algorithm = module.algorithms["main"]
    assert DataDivisionBounds(module, algorithm).at({"n": 1000, "d": 10, "Z": 64, "L": 4}) < 1023
    with pytest.raises(UndividedError):
        DataDivisionBounds(module, algorithm).at({"n": 1000, "d": 10**6, "Z": 64, "L": 4})
    with pytest.raises(UndividedError):
        DataDivisionBounds(module, algorithm).at({"n": 1000, "Z": 64, "L": 4})
    assert enclose_cost(derive_io_cost(module, algorithm), {"n": 1000, "d": 10, "Z": 1, "L": 1}).upper <= 1023


# Algorithms around recursion


def test_block_rows_that_fit_are_read_once() -> None:
    # 3*2353 words of entries and 16 times x; what goes through all rows counts every access.
    found = bound("sparse.csb::spmv_csb", nb=16, nz=2353, nmax=64, b=8, Z=20_000, L=16)
    assert found < (3 * 2353 + 16 * 16 * 8) // 16 + 2 * 16**2
