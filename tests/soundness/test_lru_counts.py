"""Exact LRU counts: equal to what a simulated LRU cache of every number of lines fetches on the executed trace."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.analysis.cache.lru import client as solve
from archline.analysis.cache.lru.client import LruUnavailable, derive_lru_counts
from archline.analysis.cache.lru.distribution import LruCounts, bound_optimal_misses_below, evaluate_piecewise
from archline.analysis.cache.lru.schedule import build_count_problem
from archline.execution.cache import CompactTrace, compact, lru, optimal, stack_distances, streamed
from archline.execution.cache.streamed import SPARE
from archline.execution.codegen.writer import LRU_BATCH
from archline.execution.results import Cache
from archline.execution.run import execute
from archline.ir.tree import UntracedError
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from cli_support import cli
from effort import drawn
from io_cases import KINDS
from io_generated import loops
from io_moving_cases import MOVING
from io_points import arguments, kernel
from nest_programs import affine_program
from programs import program_from_seed
from programs.choice import Seeded
from stdlib_cases import CASES, load

MISSING = "the extra `isl` (islpy-barvinok) is not installed"
with_isl = pytest.mark.skipif(not solve.is_installed(), reason=MISSING)
LINES = (1, 2, 3, 8)
REFUSED = {
    "dense.matmul::matmul_blocked",
    "dense.transpose::transpose_blocked",
    "nbody.fmm_u::fmm_u",
    "polybench.correlation::correlation",
    "scan.prefix_sum::prefix_sum_blocked",
    "scan.prefix_sum::prefix_sum_tree",
    "scan.reduce::dot_blocked",
    "scan.reduce::sum_blocked",
    "sort.insertion_sort::insertion_sort",
    "sort.lower_bound::lower_bound",
    "sort.merge::merge",
    "sparse.block::spmv_block",
    "sparse.csc::spmv_csc",
    "sparse.csr::spmv_csr",
}
"""Tiles of a symbolic size, and what the data decides."""
KERNELS = sorted(target for target in CASES if target not in REFUSED)
BY_LINES = ("dense.gemv::gemv", "dense.matmul::matmul_ikj", "dense.trisolv::trisolv", "stencil.jacobi_1d::jacobi_1d")


def counted(module: Module, algorithm: s.Algorithm, point: Mapping[str, int]) -> LruCounts:
    """The counts, without a process of their own."""
    from archline.analysis.cache.lru.count import count_accesses_by_distance

    return pickle.loads(pickle.dumps(count_accesses_by_distance(build_count_problem(module, algorithm, point))))


def of(text: str) -> tuple[Module, s.Algorithm]:
    module = load_text(text)
    return module, next(iter(module.algorithms.values()))


def trace_of(module: Module, algorithm: s.Algorithm, arguments: Any, line: int) -> tuple[dict[str, int], CompactTrace]:
    run = execute(module, algorithm, arguments, line=line, trace=True, races=False, compiled=False)
    return {**run.sizes, "L": line}, compact(run.trace.lines)


def assert_equal(counts: LruCounts, trace: CompactTrace, point: Mapping[str, int]) -> None:
    """At every number of lines; where distances stay open, they count as hits below and as misses above."""
    curve = counts.at(point)
    assert curve.accesses == trace.accesses
    if not trace.accesses:
        return
    simulated = stack_distances(trace)
    assert curve.first == simulated.cold
    unknown = sum(evaluate_piecewise(row.count, point) for row in counts.open)
    closed = replace(curve, open=False)
    for lines in range(trace.distinct + 2):
        least = closed.misses(lines)
        misses = simulated.misses(lines) if lines else trace.accesses
        assert least <= misses <= least + unknown, f"{point}, {lines} lines"
        assert curve.misses(lines) == (None if unknown else misses)
    assert closed.misses(0) == trace.accesses - unknown


@with_isl
@pytest.mark.parametrize("target", KERNELS)
def test_kernels_at_sizes(target: str) -> None:
    subject, source = kernel(target, CASES[target]), Random(target)
    for line in LINES:
        point, trace = trace_of(subject.module, subject.algorithm, subject.draw(source), line)
        assert_equal(counted(subject.module, subject.algorithm, point), trace, point)


@with_isl
@pytest.mark.parametrize(("target", "line"), [*((target, 1) for target in KERNELS), *((each, 3) for each in BY_LINES)])
def test_kernels_in_sizes(target: str, line: int) -> None:
    subject, source = kernel(target, CASES[target]), Random(f"{target} {line}")
    counts = counted(subject.module, subject.algorithm, {"L": line})
    for _ in range(10):
        assert_equal(counts, *reversed(trace_of(subject.module, subject.algorithm, subject.draw(source), line)))


@with_isl
@pytest.mark.parametrize("seed", range(24))
def test_generated_nests(seed: int) -> None:
    module, algorithm = of(affine_program(seed))
    source = Random(seed)
    line, n = source.choice(LINES), source.randint(3, 7)
    shape = 2 * n + 8
    data = {"A": np.ones((shape, shape)), "x": np.ones(shape), "n": n}
    point, trace = trace_of(module, algorithm, data, line)
    assert_equal(counted(module, algorithm, point), trace, point)


@with_isl
@pytest.mark.parametrize("name", [*KINDS, *MOVING])
def test_programs_of_every_kind(name: str) -> None:
    """Arrays of all layouts, views, stacks; what is not affine is refused."""
    text, sizes = {**KINDS, **MOVING}[name]
    module = load_text(text)
    algorithm = module.algorithms["main"]
    for line, known in zip((3, 1), sizes, strict=False):
        point, trace = trace_of(module, algorithm, arguments(algorithm, known, Random(name)), line)
        try:
            counts = counted(module, algorithm, point)
        except UntracedError:
            continue
        assert_equal(counts, trace, point)


@with_isl
@pytest.mark.parametrize("part", range(4))
def test_generated_programs(part: int) -> None:
    """Programs of every kind of statement: most hold something that is refused."""
    compared = 0
    for seed in range(part * 8, part * 8 + 8):
        subject, source = loops(seed), Random(seed)
        line = source.choice(LINES)
        point, trace = trace_of(subject.module, subject.algorithm, subject.draw(source), line)
        if trace.accesses > 1000:
            continue
        try:
            counts = counted(subject.module, subject.algorithm, point)
        except UntracedError:
            continue
        assert_equal(counts, trace, point)
        compared += 1
    assert compared


# What is known without an execution.
@with_isl
def test_figures_of_haystack_for_gemm() -> None:
    """T. Gysi et al., PLDI 2019: 1024^3 floats of 4 bytes, lines of 64 bytes, 512 and 8192 lines."""
    counts = derive_lru_counts(*load("polybench.gemm::gemm"), {"ni": 1024, "nj": 1024, "nk": 1024, "L": 16})
    assert isinstance(counts, LruCounts)
    curve = counts.at({})
    assert curve.accesses == 4297064448
    assert curve.first == 196608
    for lines in (512, 8192):
        assert curve.misses(lines) - curve.first == 67043328


@with_isl
@pytest.mark.parametrize("line", LINES)
def test_a_vector_again_and_again(line: int) -> None:
    """Every line is back after all others: LRU keeps them all or none."""
    text = """
algorithm main(x: inout real[n], rounds: size):
    for t in 0..rounds:
        for i in 0..n:
            x[i] += 1.0
"""
    counts = counted(*of(text), {"L": line})
    assert not counts.open
    for n in (1, 2, 7, 64, 10**12 + 1):
        for rounds in (1, 2, 10**6):
            point, held = {"n": n, "rounds": rounds}, -(-n // line)
            curve = counts.at(point)
            assert curve.accesses == 2 * n * rounds
            assert curve.misses(held) == held
            assert curve.misses(held - 1) == held * rounds or held == 1


@with_isl
def test_fractions_in_distances() -> None:
    """Column j of a triangle by rows: lu's distances have halves that are whole only together."""
    counts = counted(*load("dense.lu::lu"), {"L": 1})
    assert any(each.q != 1 for row in counts.open for each in row.distance.terms.values())


# The bound on optimal replacement.
@pytest.mark.parametrize("seed", range(30))
def test_lru_bounds_optimal_replacement(seed: int) -> None:
    """On random traces, of few lines and of many, with runs that repeat."""
    source = Random(seed)
    loop = [source.randrange(12) for _ in range(source.randrange(1, 20))]
    trace = compact(
        np.array([source.choice(loop) if source.random() < 0.3 else loop[t % len(loop)] for t in range(150)])
    )
    for capacity in range(1, trace.distinct + 1):
        best = optimal(trace, capacity).io
        for lines in range(capacity, trace.distinct + 2):
            found = bound_optimal_misses_below(lru(trace, lines).io, lines, capacity)
            assert found <= best
            # The theorem for caches that begin empty.
            assert found * lines >= lru(trace, lines).io * (lines - capacity + 1)


def test_the_bound_is_attained() -> None:
    """C + 1 lines in turn: LRU with C' = C + 1 has them all, one of C lines fetches at every access, the optimum once
    in C accesses."""
    trace = compact(np.array(list(range(5)) * 100))
    assert bound_optimal_misses_below(lru(trace, 4).io, 4, 4) == 4 + 124
    assert optimal(trace, 4).io == 4 + 124
    assert bound_optimal_misses_below(0, 4, 2) == 0


@with_isl
@pytest.mark.parametrize("line", [1, 4])
@pytest.mark.parametrize("target", ["dense.matmul::matmul_ikj", "dense.lu::lu", "stencil.jacobi_1d::jacobi_1d"])
def test_bounds_on_kernels(target: str, line: int) -> None:
    subject, source = kernel(target, CASES[target]), Random(line)
    point, trace = trace_of(subject.module, subject.algorithm, subject.draw(source), line)
    curve = counted(subject.module, subject.algorithm, point).at(point)
    for capacity in range(1, trace.distinct + 2):
        found = curve.bound(capacity)
        assert found.misses == lru(trace, found.lines).io
        assert found.bound <= optimal(trace, capacity).io
    assert found.bound == trace.distinct


# Where there is no count.
@with_isl
def test_time_and_memory_are_limited() -> None:
    module, algorithm = load("stencil.jacobi_2d::jacobi_2d")
    assert derive_lru_counts(module, algorithm, {"L": 8}, seconds=0.05) == LruUnavailable(
        "the count takes more than 0.05 seconds"
    )
    found = derive_lru_counts(module, algorithm, {"L": 8}, memory=40 << 20)
    assert isinstance(found, LruUnavailable)
    assert "40 MB" in found.reason


@pytest.mark.parametrize("target", sorted(REFUSED))
def test_what_is_refused_says_where(target: str) -> None:
    module, algorithm = load(target)
    with pytest.raises(UntracedError) as found:
        build_count_problem(module, algorithm, {"L": 8})
    assert found.value.reason
    assert found.value.span.line >= algorithm.span.line


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("algorithm f(A: real[n, n] zmorton, s: inout real[1]):\n    s[0] = A[0, 0]\n", "Z-Morton", 2),
        ("algorithm f(x: real[n*q], n: size, q: size, s: inout real[1]):\n    for i in 0..n:\n        s[0] = x[i*q]\n", "i*q is not affine", 3),
        ("algorithm f(I: index[n] below n, s: inout real[n]):\n    s[I[0]] = 1.0\n", "which element this is depends on data", 2),
        ("algorithm f(s: inout real[n]):\n    if s[0] > 0.5:\n        s[0] = 1.0\n", "more than sizes", 3),
    ],
)  # fmt: skip
def test_reasons(text: str, reason: str, line: int) -> None:
    with pytest.raises(UntracedError) as found:
        build_count_problem(*of(text), {"L": 8})
    assert reason in found.value.reason
    assert found.value.span.line == line


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solve, "find_spec", lambda _: None)
    found = cli("cost", "dense.gemv::gemv", "--lru", "8")
    assert found.refused("AL417")
    assert "extra `isl`" in found.err


# On the command line.
@with_isl
def test_at_sizes() -> None:
    target, source = "dense.gemv::gemv", Random(3)
    subject = kernel(target, CASES[target])
    point, trace = trace_of(subject.module, subject.algorithm, subject.draw(source), 8)
    at = ",".join(f"{name}={size}" for name, size in point.items() if name != "L")
    found = cli("cost", target, "--lru", "8", "--at", at, "--cache", "Z=24,L=8", "--format", "json")
    document = json.loads(found.out)
    told = document["lru"]
    assert told["accesses"] == str(trace.accesses)
    assert "3" in {each["lines"] for each in told["misses"]}
    for each in told["misses"]:
        assert each["misses"] == str(lru(trace, int(each["lines"])).io)
    assert int(told["bound"]["io"]) <= int(document["costs"]["io"]["value"]["lower"]) <= optimal(trace, 3).io


@with_isl
def test_clashes() -> None:
    assert cli("cost", "dense.gemv::gemv", "--lru", "4", "--at", "n=2,m=2", "--cache", "Z=64,L=8").refused("AL411")
    assert cli("cost", "dense.gemv::gemv", "--lru", "4", "--format", "latex").refused("AL411")


@with_isl
def test_an_unknown_count_on_the_command_line() -> None:
    found = cli("cost", "string.lcs::lcs", "--lru", "8")
    assert found.code == 0
    assert "LRU in lines of 8 words is unknown" in found.out


# LRU simulated while generated programs run counts the misses and write-backs of LRU on their traces


STREAMED = """
algorithm part(x: inout real[n], depth: size):
    decreases depth
    where depth >= 0, n >= 1
    local w: real[n] = x
    if depth > 0:
        spawn part(x[0..(n + 1)//2], depth - 1)
        sync
    x[0] += w[n - 1]

algorithm f(x: inout real[n], y: out real[m, n], k: int[m]):
    y[0..m, 0..n] = 0
    parallel for i in 0..m:
        for j in 0..n:
            y[i, j] += x[j]*x[n - 1 - j]
            if x[j] > 0.5:
                y[i, 0] = y[i, j] + x[k[i]]
    local i: int = 0
    while i < n at most n times:
        part(x, 2)
        i += 1
"""


@pytest.mark.parametrize("number", range(drawn(8, 2)))
def test_generated_programs_in_lru_streamed(number: int) -> None:
    program, source = program_from_seed(1000 + number), random.Random(number)
    module = load_text(program.text)
    algorithm = module.algorithms[program.entry]
    line = source.choice([1, 2, 3, 4, 7, 8])
    for each in range(4):
        arguments = program.arguments(program.choose_sizes(Seeded(10 * number + each)), each)
        for capacity in (1, 2, 5, 30):
            cache = Cache(capacity * line, line, "lru")
            beside = execute(module, algorithm, arguments, cache=cache, compiled=True, progress=False)
            traced = execute(module, algorithm, arguments, cache=cache, trace=True, compiled=False, progress=False)
            assert beside.trace is None
            assert beside.counts == traced.counts, program.text


def test_rings_of_all_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    module = load_text(STREAMED)
    counted = partial(execute, module, module.algorithms["f"], progress=False)
    lines = st.integers(1, 60), st.integers(1, 9)

    @given(st.integers(1, 9), st.integers(1, 9), *lines, st.sampled_from([LRU_BATCH, SPARE]), st.integers(0, 2**32 - 1))
    def check(n: int, m: int, capacity: int, line: int, spare: int, seed: int) -> None:
        monkeypatch.setattr(streamed, "SPARE", spare)
        source = np.random.default_rng(seed)
        arguments = {"x": source.random(n), "y": np.zeros((m, n)), "k": source.integers(0, n, m)}
        cache = Cache(capacity * line, line, "lru")
        beside = counted(arguments, cache=cache, compiled=True)
        assert beside.compiled
        assert beside.trace is None
        traced = counted(arguments, cache=cache, trace=True, compiled=False)
        assert beside.counts == traced.counts
        assert np.array_equal(beside.outputs["y"], traced.outputs["y"])

    check()
