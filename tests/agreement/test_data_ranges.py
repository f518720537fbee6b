"""Loops, slices and calls whose extents are read from arrays: exact where segments add up, else bounds that hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.api.modules import loads
from archline.execution.data import generate_arguments
from archline.execution.results import Cache
from archline.execution.run import execute
from archline.language.loader import load_text
from effort import drawn

CALLEES = """algorithm bump(x: inout real[n]):
    where n >= 0
    for i in 0..n:
        x[i] += 1

algorithm dot(x: real[n], y: real[n]) -> real:
    where n >= 0
    local s: real = 0
    for i in 0..n:
        s += x[i]*y[i]
    return s

"""
SEGMENTS = "p: offsets[n] into nz longest nr, q: offsets[n] into nz longest nr, x: inout real[nz]"
INDICES = "k: index[m] below n, x: inout real[n]"

# Body, and which of flops, work, span are exact. All loops are over i, from 0.
OF_SEGMENTS = [
    ("for i in 0..n:\n    for k in p[i+1]-1 downto p[i]:\n        x[k] += 1", "flops work span"),
    ("parallel for i in 0..n:\n    for k in p[i+1] - 1 downto p[i] + 1:\n        x[k] += 1", ""),
    ("for i in 0..n:\n    for k in p[i]..p[i+1] step 2:\n        x[k] += 1", ""),
    ("for i in 0..n:\n    for k in p[i+1]-1 downto p[i] step 3:\n        x[k] += 1", ""),
    ("for k in p[0]..p[n] step 2:\n    if x[k] > 0:\n        for j in 0..k:\n            x[j] += 1", ""),
    ("for i in 0..n:\n    for k in 0..p[i]:\n        x[k] += 1", ""),
    ("for i in 0..n-1:\n    parallel for k in p[i]..p[i+2]:\n        x[k] += 1", ""),
    ("for i in 0..n:\n    parallel for k in p[i]..p[i+1]:\n        x[k] += 1", "flops work"),
    ("for i in 0..n//2:\n    for k in p[2*i]..p[2*i + 1]:\n        x[k] += 1", ""),
    ("for i in 0..n//3:\n    for k in p[n - 3*i - 2]..p[n - 3*i - 1]:\n        x[k] += 1", ""),
    # Of two arrays neither entry is known to be the larger one.
    ("for i in 0..n:\n    for k in p[i]..q[i+1]:\n        x[k] += 1", ""),
    ("for i in 0..n:\n    parallel for k in q[i+1]..p[i]:\n        x[k] += 1", ""),
    ("for i in 0..n:\n    x[p[i]..p[i+1]] = 2", "flops work"),
    ("parallel for i in 0..n:\n    x[p[i]..p[i+1]] = 2", "flops work"),
    ("for i in 0..n:\n    x[p[i]..p[i+1]] = x[p[i]..p[i+1]]", "flops work"),
    ("for i in 0..n:\n    bump(x[p[i]..p[i+1]])", "flops work span"),
    ("parallel for i in 0..n:\n    bump(x[p[i]..p[i+1]])", "flops work span"),
    ("for i in 0..n:\n    let row = x[p[i]..p[i+1]]\n    bump(row)", "flops work span"),
    ("for i in 0..n:\n    local s: real = dot(x[p[i]..p[i+1]], x[p[i]..p[i+1]])", "flops work span"),
    ("for i in 0..n:\n    bump(x[p[i]..nz])", ""),
    ("for i in 0..n-1:\n    for k in p[i+2]..p[i]:\n        x[k] += 1", "flops work span"),
    ("for i in 0..n:\n    for k in p[i+1]..p[i]:\n        x[k] += 1", "flops work span"),
    ("if nz == 0:\n    for i in 0..n:\n        x[p[i+1]..p[i]] = 1\n        bump(x[p[i+1]..p[i]])", "flops work span"),
]
OF_INDICES = [
    ("for i in 0..m:\n    bump(x[0..k[i]])", ""),
    ("for i in 0..m:\n    x[0..k[i]] = 1", "flops"),
    ("for i in 0..m:\n    for j in k[i] downto 0 step 3:\n        x[j] += 1", ""),
    ("for i in 0..m:\n    for j in k[i]..n step 2:\n        x[j] += 1", ""),
    ("for i in 0..m:\n    for j in 0..k[i] - 2:\n        x[j] += 1", ""),
]

# s is an `int`: bounds that differ by sizes give extents in sizes, in one or more dimensions.
OF_DATA_BOUNDS = [
    "bump(x[s..s+1])",
    "bump(x[s+2..s+k])",
    "let part = x[s..s+2]\ns += 1\nbump(part)",
    "x[s*k..(s + 1)*k] = 1",
    "bump(x[2*s//2..(2*s + 4)//2])",
    "bump(x[s..s+k+1 step 2])",
    "for i in 0..k:\n    bump(x[s..s+i])\n    s = i",
    "bump(x[p[0]..p[0]+k])",
    "local t: real = dot(x[s - k..s], x[s..s+k])",
    "for i in 0..k:\n    for j in p[i]..p[i]+3:\n        x[j] += 1",
]


def check(header: str, facts: str, body: str, exact: str, point: dict[str, int]) -> None:
    lines = body.replace("\n", "\n    ")
    module = load_text(f"{CALLEES}algorithm f({header}):\n{facts}    {lines}\n")
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    assert {cost.metric for cost in costs if cost.exact} == set(exact.split())
    run = execute(
        module, algorithm, generate_arguments(module, algorithm, point, seed=sum(point.values())), compiled=False
    )
    for cost in costs:
        assert cost.lower is not None, cost.reason
        count = getattr(run.counts, cost.metric)
        assert evaluate(cost.lower, run.sizes) <= count <= evaluate(cost.upper, run.sizes), cost.metric


@pytest.mark.parametrize(("body", "exact"), OF_SEGMENTS)
@settings(max_examples=drawn(25))
@given(data=st.data())
def test_segments(body: str, exact: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 7), "n")
    longest = data.draw(st.integers(0, 6), "nr")
    total = data.draw(st.integers(longest, n * longest), "nz")
    check(SEGMENTS, "    where nz >= 0, nr >= 0\n", body, exact, {"n": n, "nz": total, "nr": longest})


@pytest.mark.parametrize("body", OF_DATA_BOUNDS)
@pytest.mark.parametrize("k", [2, 3, 5])
def test_bounds_that_differ_by_sizes(body: str, k: int) -> None:
    header = "x: inout real[n], k: size, p: index[m] below k"
    where = "    where k >= 2, m >= k, n >= 4*k\n    local s: int = k\n"
    check(header, where, body, "flops work span", {"n": 8 * k, "m": k + 1, "k": k})


def test_bounds_that_differ_by_data() -> None:
    """No extent is taken from bounds of different integers, nor from roundings that differ."""
    for bounds in ("p[0]..p[1]+2", "s//2..(s+1)//2", "s..2*s", "s*s..(s+1)*s"):
        module = load_text(
            f"{CALLEES}algorithm f(x: inout real[n], p: int[2]):\n    local s: int = p[0]\n    bump(x[{bounds}])\n"
        )
        assert all(cost.lower is None for cost in derive(module, module.algorithms["f"])), bounds


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize(("lines", "size"), [(2, 1), (2, 8), (8, 4)])
def test_misses_where_bounds_differ_by_sizes(k: int, lines: int, size: int) -> None:
    """The place of the view in its row is not known, the extent is."""
    columns = (
        "algorithm f(A: inout real[n, n], k: size):\n    where n >= 3*k\n    local s: int = k\n"
        "    for i in 0..k:\n        bump(A[s + i, s+1..s+k])\n        s += 1\n"
    )
    algorithm = loads(CALLEES + columns)["f"]
    sizes = {"n": 3 * k, "k": k}
    bounds = algorithm.cost().io.at(**sizes, Z=lines * size, L=size)
    data = generate_arguments(algorithm.module, algorithm.node, sizes, seed=k)
    counted = algorithm.run(data, cache=Cache(Z=lines * size, L=size), compiled=False).counts.io
    assert isinstance(bounds, tuple)
    assert bounds[0] <= counted <= bounds[1]


@settings(max_examples=drawn(40))
@given(data=st.data())
def test_from_one_offsets_array_to_another(data: st.DataObject) -> None:
    """The entries of one may lie above or below those of the other."""
    n = data.draw(st.integers(1, 5), "n")
    totals = [data.draw(st.integers(n, 3 * n), name) for name in ("nz", "mz")]
    header = "p: offsets[n] into nz longest 3, q: offsets[n] into mz longest 3, x: inout real[8*n]"
    body = "for i in 0..n:\n    for k in p[i]..q[i+1]:\n        x[k] += 1"
    check(header, "    where nz >= 0, mz >= 0\n", body, "", {"n": n, "nz": totals[0], "mz": totals[1]})


@pytest.mark.parametrize(("body", "exact"), OF_INDICES)
@settings(max_examples=drawn(25))
@given(n=st.integers(1, 9), m=st.integers(1, 5))
def test_indices(body: str, exact: str, n: int, m: int) -> None:
    check(INDICES, "", body, exact, {"n": n, "m": m})


def test_iterations_that_no_declaration_bounds_are_a_size() -> None:
    module = load_text("algorithm f(k: int[n], x: inout real[n]):\n    for j in 0..k[0]:\n        x[j] += 1\n")
    costs = derive(module, module.algorithms["f"])
    assert all(cost.exact and "T1" in cost.upper.names for cost in costs)


def test_a_step_that_no_expression_holds_is_unknown() -> None:
    text = "algorithm f(p: offsets[n] into nz, m: size, x: inout real[nz]):\n    for k in p[0]..p[n] step n^m:\n        x[k] = 1\n"
    module = load_text(text)
    for cost in derive(module, module.algorithms["f"]):
        assert cost.lower is None
        assert cost.span
        assert cost.span.line == 2


def test_a_longest_segment_that_is_a_size_of_its_own_may_be_longer_than_all() -> None:
    """`longest w` promises no segment above w; only where the array itself gives w its value is one that long."""
    header = "p: offsets[n] into nz longest w, q: offsets[n] into mz longest nr, w: size, x: inout real[nz]"
    module = load_text(f"algorithm f({header}):\n    for j in 0..nz - w:\n        x[j] = 1\n")
    work = next(cost for cost in derive(module, module.algorithms["f"]) if cost.metric == "work")
    assert work.exact
    sizes = {"n": 2, "nz": 3, "mz": 4, "nr": 4}
    assert [evaluate(work.lower, {**sizes, "w": w}) for w in (2, 3, 5)] == [2, 1, 1]


@pytest.mark.parametrize("after", [0, 1, 40])
def test_what_one_round_of_a_while_spawns_the_next_one_waits_for(after: int) -> None:
    body = (
        "local i: int = 0\nwhile i < n at most n times:\n    spawn bump(x[0..1])\n    sync\n    spawn bump(y)\n"
        "    i += 1\nfor j in 0..m:\n    z[0] += 1"
    )
    header = "x: inout real[n], y: inout real[n], z: inout real[1], m: size"
    check(header, "    where m >= 0\n", body, "flops work", {"n": 6, "m": after})


def test_a_bound_of_index_data_that_no_expression_holds_tells_nothing() -> None:
    text = "algorithm f(k: index[n] below n^m, m: size, x: inout real[n]):\n    for i in 0..n:\n        x[i] += 1\n"
    module = load_text(text)
    assert all(cost.exact for cost in derive(module, module.algorithms["f"]))


def test_what_a_callee_leaves_unknown_is_unknown_at_its_line() -> None:
    text = "algorithm g(m: size, x: inout real[n]):\n    for j in 0..m^n:\n        x[j % n] += 1\n\n"
    module = load_text(text + "algorithm f(m: size, x: inout real[n]):\n    g(m, x)\n")
    for cost in derive(module, module.algorithms["f"]):
        assert cost.span
        assert cost.span.line == 2


# Recursion on parts that the data cuts, under a condition on where it cuts: derived costs against runs on random data


DIVIDED = """
algorithm main(a: inout real[n]):
    where n >= 0
    if n >= 2:
        local q: int = 0
        for i in 0..n:
            if a[i] < {share}:
                q += 1
        if {condition}:
            main(a[0..q])
            main(a[q..n])
"""
PEELED = """
algorithm main(a: inout real[n]):
    where n >= 0
    if n >= 2:
        local q: int = 0
        for i in 0..n:
            if a[i] < 0.5:
                q += 1
        if q >= 1 and q < n:
            main(a[0..q])
        else:
            main(a[1..n])
"""
PROGRAMS = [
    DIVIDED.format(share=0.4, condition="q > 0 and q < n"),
    DIVIDED.format(share=0.5, condition="q >= 1 and n - q >= 1"),
    DIVIDED.format(share=0.7, condition="1 <= q and q <= n - 1"),
    PEELED,
]


@pytest.mark.parametrize("text", PROGRAMS)
@pytest.mark.parametrize("n", [0, 1, 2, 5, 23, 60])
def test_what_is_derived_holds_in_runs(text: str, n: int) -> None:
    algorithm = al.loads(text)["main"]
    cost = algorithm.cost()
    assert cost.flops.status != "unknown"
    for seed in range(4):
        run = algorithm.run(a=np.random.default_rng(seed).uniform(0, 1, n), cache=al.Cache(Z=32, L=4))
        for metric in ("flops", "work", "span", "io"):
            if cost[metric].status == "unknown":
                continue
            found = cost[metric].at(n=n, Z=32, L=4)
            lower, upper = found if isinstance(found, tuple) else (found, found)
            assert lower <= getattr(run.counts, metric) <= upper, metric
