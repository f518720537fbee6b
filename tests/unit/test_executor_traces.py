"""Access traces written by hand: order, layouts, lines, the stack of local arrays; and the events beside them."""

from __future__ import annotations

import resource

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.execution.cache import StaticSchedule, TraceEvent, WorkStealing, lru, optimal, private_caches
from archline.execution.cache.strands import match_events
from archline.execution.results import Cache
from effort import MODES, TRIED_MODES, drawn, long, some
from executor_programs import run


def trace(text: str, arguments: dict[str, object], line: int = 1, **options: object) -> list[tuple[int, str]]:
    found = run(text, arguments, line=line, trace=True, **options).trace
    return [(int(at), "w" if writes else "r") for at, writes in zip(found.lines, found.writes, strict=True)]


def reads(*lines: int) -> list[tuple[int, str]]:
    return [(line, "r") for line in lines]


def test_order_of_evaluation() -> None:
    text = """
algorithm f(x: inout real[n], k: int[m]):
    x[k[0]] += x[k[1]]*x[1] + x[2]
"""
    # x at 0..4, k at 4..7: the right side from the left, its subscripts first; then the target's; then the update.
    expected = [*reads(5, 3, 1, 2, 4, 0), (0, "w")]
    assert trace(text, {"x": np.ones(4), "k": [0, 3, 2]}) == expected
    assert trace(text, {"x": np.ones(4), "k": [0, 3, 2]}, compiled=True) == expected


def test_order_of_bounds_and_calls() -> None:
    text = """
algorithm g(y: inout real[n], a: real, b: real):
    y[0] = a

algorithm f(x: inout real[n], k: int[m]):
    for i in k[0]..k[1]:
        g(x[k[2]..k[3]], x[1], x[0])
    x[k[0]..k[1]] = x[2..3]
"""
    arguments = {"x": np.ones(4), "k": [0, 1, 2, 4]}
    loop = [*reads(4, 5), *reads(6, 7, 1, 0), (2, "w")]
    copy = [*reads(4, 5, 2), (0, "w")]
    assert trace(text, arguments) == loop + copy


def test_short_circuit_touches_nothing() -> None:
    text = """
algorithm f(x: inout real[n]):
    for j in n - 1 downto 0:
        if j > 0 and x[j - 1] > x[j] or x[0] > 5:
            x[j] = 0
"""
    assert trace(text, {"x": [1.0, 9.0, 2.0]}) == [*reads(1, 2), (2, "w"), *reads(0, 1, 0, 0)]


def test_while_reads_its_test_every_time() -> None:
    text = """
algorithm f(x: real[n]):
    local i: int = 0
    while i < n and x[i] < 2 at most n times:
        i += 1
"""
    assert trace(text, {"x": [1.0, 1.0, 3.0]}) == reads(0, 1, 2)
    assert trace(text, {"x": [1.0, 1.0]}) == reads(0, 1)


SWEEP = """
algorithm f(A: real[n, m]{layout}, y: inout real[p]):
    for i in 0..n:
        for j in 0..m:
            y[0] = A[i, j]
"""


@pytest.mark.parametrize(
    ("layout", "line", "lines", "last"),
    [
        ("", 1, [0, 1, 2, 3, 4, 5], 6),
        ("", 2, [0, 0, 1, 2, 2, 3], 4),
        ("", 4, [0, 0, 0, 1, 1, 1], 2),
        (" colmajor", 1, [0, 2, 4, 1, 3, 5], 6),
        (" colmajor", 2, [0, 1, 2, 0, 1, 2], 3),
        (" colmajor", 4, [0, 1, 2, 0, 1, 2], 3),
        (" zmorton", 1, [0, 1, 4, 2, 3, 6], 16),
        (" zmorton", 4, [0, 0, 1, 0, 0, 1], 4),
        (" zmorton", 3, [0, 0, 1, 0, 1, 2], 6),
    ],
)
def test_layouts(layout: str, line: int, lines: list[int], last: int) -> None:
    arguments = {"A": np.arange(6.0).reshape(2, 3), "y": [0.0]}
    expected = [entry for at in lines for entry in ((at, "r"), (last, "w"))]
    assert trace(SWEEP.format(layout=layout), arguments, line) == expected
    found = run(SWEEP.format(layout=layout), arguments, line=line)
    assert found.outputs["y"].tolist() == [5.0]


@pytest.mark.parametrize(
    ("layout", "offsets"),
    [
        ("", [4 * i + j for i in range(3) for j in range(3)]),
        (" colmajor", [4 * j + i for i in range(3) for j in range(3)]),
        (" zmorton", [0, 1, 4, 2, 3, 6, 8, 9, 12]),
    ],
)
def test_layouts_of_local_arrays(layout: str, offsets: list[int]) -> None:
    """Rows or columns of 3 take 4 words where lines have 4; Z-order stands in a square of 16."""
    text = f"algorithm f(y: inout real[1]):\n    local W: real[3, 3]{layout}\n"
    text += "    for i in 0..3:\n        for j in 0..3:\n            W[i, j] = 1\n    y[0] = 1\n"
    found = run(text, {"y": [0.0]}, line=4, trace=True)
    first, *_ = lines = found.trace.lines.tolist()
    assert [each - first for each in lines[:-1]] == [each // 4 for each in offsets]
    assert found.cache_seconds == 0


VIEWS = """
algorithm read(v: real[n], M: real[p, q], y: inout real[r]):
    for i in 0..n:
        y[0] = v[i]
    for i in 0..p:
        for j in 0..q:
            y[0] = M[i, j]

algorithm f(A: real[n, m]{layout}, y: inout real[r]):
    read(A[1, 0..m step 2], A[0..4, 2] as [2, 2], y)
    let B = A[1..4 step 2, 1..3]
    let c = B[:, 1]
    y[0] = B[1, 0]
    y[0] = c[1]
"""


@pytest.mark.parametrize("layout", some([" colmajor", "", " zmorton"]))
def test_views_keep_the_lines_of_their_base(layout: str) -> None:
    place = {
        "": lambda i, j: 6 * i + j,
        " colmajor": lambda i, j: 4 * j + i,
        " zmorton": lambda i, j: sum((i >> b & 1) << 2 * b + 1 | (j >> b & 1) << 2 * b for b in range(3)),
    }[layout]
    elements = [(1, 0), (1, 2), (1, 4), (0, 2), (1, 2), (2, 2), (3, 2), (3, 1), (3, 2)]
    arguments = {"A": np.arange(20.0).reshape(4, 5), "y": [0.0]}
    for line in (1, 2):
        found = trace(VIEWS.format(layout=layout), arguments, line, compiled=line == 2)
        # Rows of 5 take 6 words where lines have 2.
        padding = 1 if layout == "" and line == 1 else 0
        lines = [(place(i, j) - padding * i) // line for i, j in elements]
        assert [at for at, kind in found if kind == "r"] == lines


def test_local_arrays_live_on_a_stack() -> None:
    text = """
algorithm g(x: inout real[n]):
    local V: real[2]
    V[0] = 1
    x[0] = 2

algorithm f(x: inout real[n]):
    for i in 0..2:
        local W: real[3]
        W[2] = 1
        local U: real[2, 3]
        U[1, 0] = 1
        g(W)
    g(x)
    local T: int[1]
    T[0] = 1
"""
    # Lines of 2: x is line 0, then the stack: W 1 and 2, U two rows of two lines from 3, V of g above them.
    once = [2, 5, 7, 1]
    expected = [*once, *once, 1, 0, 1]
    for compiled in TRIED_MODES:
        assert trace(text, {"x": [0.0]}, 2, compiled=compiled) == [(line, "w") for line in expected]


def test_fills_and_copies_go_row_by_row() -> None:
    text = """
algorithm f(x: inout real[n]):
    local W: real[2, 2] colmajor = x[0]
    local V: real[2, 2] = W
    x[0..2] = V[:, 1]
"""
    fill = [(0, "r"), *((at, "w") for at in (3, 5, 4, 6))]
    copy = [entry for a, b in ((3, 7), (5, 8), (4, 9), (6, 10)) for entry in ((a, "r"), (b, "w"))]
    assert trace(text, {"x": [1.0, 2.0, 3.0]}) == [*fill, *copy, (8, "r"), (0, "w"), (10, "r"), (1, "w")]


def test_an_overlapping_copy_reads_each_element_before_it_sets_it() -> None:
    text = "algorithm f(x: inout real[n]):\n    x[1..n] = x[0..n - 1]\n"
    assert run(text, {"x": [1.0, 2.0, 3.0]}).outputs["x"].tolist() == [1, 1, 2]


MATMUL = """
algorithm matmul(A: real[n, m], B: real[m, p] colmajor, C: inout real[n, p] zmorton):
    parallel for i in 0..n:
        for j in 0..p:
            for k in 0..m:
                C[i, j] += A[i, k] * B[k, j]
"""


@settings(max_examples=drawn(25), deadline=None)
@given(st.tuples(st.integers(1, 6), st.integers(1, 6), st.integers(1, 6)), st.integers(1, 9), st.integers(0, 3))
def test_compiled_and_plain_agree(shape: tuple[int, int, int], line: int, seed: int) -> None:
    n, m, p = shape
    source = np.random.default_rng(seed)
    arguments = {"A": source.random((n, m)), "B": source.random((m, p)), "C": source.random((n, p))}
    cache = Cache(5 * line, line)
    plain, compiled = (run(MATMUL, arguments, cache=cache, trace=True, compiled=mode) for mode in (False, True))
    assert compiled.compiled
    assert plain.counts == compiled.counts
    np.testing.assert_array_equal(plain.outputs["C"], compiled.outputs["C"])
    np.testing.assert_array_equal(plain.trace.lines, compiled.trace.lines)
    np.testing.assert_array_equal(plain.trace.writes, compiled.trace.writes)


def test_cache_is_simulated_on_the_trace() -> None:
    arguments = {"A": np.ones((5, 4)), "B": np.ones((4, 3)), "C": np.ones((5, 3))}
    found = run(MATMUL, arguments, line=2, trace=True).trace
    for policy, simulate in (("optimal", optimal), ("lru", lru)):
        counts = run(MATMUL, arguments, cache=Cache(11, 2, policy)).counts
        expected = simulate(found.lines, 5, found.writes)
        assert (counts.io, counts.writebacks) == (expected.io, expected.writebacks)
    assert run(MATMUL, arguments).counts.io is None


STRANDS = """
algorithm leaf(x: inout real[n]):
    local W: real[3] = 0
    x[0] += W[1]

algorithm both(x: inout real[n]):
    spawn leaf(x[0..1])
    leaf(x[1..2])
    sync

algorithm f(x: inout real[n]):
    parallel for i in 0..3:
        local V: real[2]
        V[0] = 1
        spawn leaf(x[2*i..2*i + 1])
        both(x[2*i..2*i + 2])
    both(x[0..2])
"""


@pytest.mark.parametrize("compiled", MODES)
def test_events(compiled: bool) -> None:
    text = STRANDS.replace("spawn leaf(x[2*i..2*i + 1])", "spawn leaf(x[6 + i..7 + i])")
    result = run(text, {"x": np.ones(9)}, events=True, line=2, compiled=compiled)
    assert result.events is not None
    leaf = [TraceEvent.ALLOCATE, TraceEvent.RELEASE]
    both = [
        TraceEvent.CALL,
        TraceEvent.SPAWN,
        *leaf,
        TraceEvent.SPAWN_END,
        *leaf,
        TraceEvent.SYNC,
        TraceEvent.SYNC,
        TraceEvent.RETURN,
    ]
    iteration = [
        TraceEvent.ITERATION,
        TraceEvent.ALLOCATE,
        TraceEvent.SPAWN,
        *leaf,
        TraceEvent.SPAWN_END,
        *both,
        TraceEvent.SYNC,
    ]
    expected = [
        TraceEvent.PARALLEL,
        *3 * [*iteration, TraceEvent.RELEASE, TraceEvent.SYNC],
        TraceEvent.PARALLEL_END,
        *both,
    ]
    assert [TraceEvent(kind) for kind in result.events.kinds] == expected
    log = match_events(result.events, result.counts.accesses)
    values = [value for kind, value in zip(log.kinds, log.values, strict=True) if kind is TraceEvent.ALLOCATE]
    assert values == 3 * [1, 2, 2, 2] + [2, 2]
    assert result.events.stack_base == 5
    assert log.positions[0] == 0
    assert log.positions[-1] == result.counts.accesses == 3 * (1 + 3 * 6) + 2 * 6


def test_events_feed_private_caches() -> None:
    text = STRANDS.replace("spawn leaf(x[2*i..2*i + 1])", "spawn leaf(x[6 + i..7 + i])")
    result = run(text, {"x": np.ones(9)}, events=True, cache=Cache(8, 2))
    assert result.events is not None
    for schedule in (StaticSchedule(), WorkStealing(1)):
        found = private_caches(result.trace.lines, result.events, schedule, 1, 4, writes=result.trace.writes)
        assert found.io == result.counts.io


@long
def test_memory_for_lru_does_not_grow_with_accesses() -> None:
    text = """
algorithm f(x: inout real[n], rounds: size):
    for t in 0..rounds:
        for i in 0..n:
            x[i] += 1.0
"""
    arguments = {"x": np.zeros(1000), "rounds": 100_000}
    cache = Cache(512, 8, "lru")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts = run(text, arguments, cache=cache, compiled=True).counts
    assert (counts.io, counts.writebacks) == (100_000 * 125, 100_000 * 125)
    # The trace of these 2e8 accesses takes 0.8 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400_000
