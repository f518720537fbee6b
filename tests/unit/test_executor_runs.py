"""What surrounds a run: generated data, sparse matrices, externs, the choice to compile, progress, memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.execution import launch, memory, progress
from archline.execution.data import bind_matrix, generate_arguments
from archline.execution.externs import register_extern
from archline.execution.jit import run_interpreted
from archline.execution.memory import Room, make_compiled_memory
from archline.execution.run import execute
from archline.execution.sparse_matrix import SparseMatrix
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_target, load_text
from effort import MODES, TRIED_MODES, drawn, long
from executor_programs import codes, run

CSR = """
algorithm f(p: offsets[n] into nz longest nr, c: index[nz] below m, v: real[nz], x: real[m]):
    where nz >= 0
    pass
"""


def entry(text: str):
    module = load_text(text)
    return module, next(iter(module.algorithms.values()))


def refused(text: str, sizes: dict[str, object]) -> str:
    with pytest.raises(ArchlineError) as problem:
        generate_arguments(*entry(text), sizes)
    return problem.value.diagnostics[0].rule.code


@settings(max_examples=drawn(60), deadline=None)
@given(st.integers(1, 8), st.integers(0, 30), st.integers(0, 9), st.integers(1, 5), st.integers(0, 5))
def test_generated_offsets_meet_their_facts(n: int, nz: int, nr: int, m: int, seed: int) -> None:
    sizes = {"n": n, "nz": nz, "nr": nr, "m": m}
    possible = nr <= nz <= n * nr
    if not possible:
        assert refused(CSR, sizes) == "AL526"
        return
    module, algorithm = entry(CSR)
    arguments = generate_arguments(module, algorithm, sizes, seed)
    gaps = np.diff(arguments["p"])
    assert (arguments["p"][0], arguments["p"][-1], gaps.min() >= 0, gaps.max()) == (0, nz, True, nr)
    assert arguments["c"].shape == (nz,)
    assert ((arguments["c"] >= 0) & (arguments["c"] < m)).all()
    assert ((arguments["v"] >= 0.5) & (arguments["v"] < 1.5)).all()
    assert execute(module, algorithm, arguments).sizes == sizes
    again = generate_arguments(module, algorithm, sizes, seed)
    assert all(np.array_equal(arguments[name], again[name]) for name in arguments)


TYPES = """
algorithm f(A: real[n, m], k: int[n + m], y: out real[2*n], i: index, b: size, t: real, d: int):
    where n >= 0, 2 divides b
    pass
"""
SIZES = {"n": 2, "m": 3, "i": -4, "b": 6}


def test_generated_arguments_have_the_declared_types() -> None:
    arguments = generate_arguments(*entry(TYPES), SIZES)
    assert {name: np.shape(value) for name, value in arguments.items()} == {
        "A": (2, 3), "k": (5,), "y": (4,), "i": (), "b": (), "t": (), "d": (),
    }  # fmt: skip
    assert (arguments["i"], arguments["b"]) == (-4, 6)
    assert arguments["k"].dtype == np.int64
    assert isinstance(arguments["t"], float)
    assert isinstance(arguments["d"], int)
    assert not arguments["y"].any()
    assert codes(TYPES, arguments) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"n": None}, "AL524"),
        ({"z": 1}, "AL524"),
        ({"m": 0}, "AL524"),
        ({"n": -1}, "AL524"),
        ({"m": 2.5}, "AL524"),
        ({"b": 5}, "AL506"),
        ({"n": 10**6, "m": 10**6}, "AL519"),
        ({"n": 10**30}, "AL519"),
    ],
)
def test_bad_sizes(change: dict[str, object], code: str) -> None:
    assert refused(TYPES, {name: size for name, size in {**SIZES, **change}.items() if size is not None}) == code


def test_indices_below_nothing() -> None:
    text = "algorithm f(c: index[n] below m, m: size):\n    where n >= 0, m >= 0\n    pass\n"
    assert refused(text, {"n": 1, "m": 0}) == "AL526"
    assert generate_arguments(*entry(text), {"n": 0, "m": 0})["c"].shape == (0,)


def matrix(n: int, m: int, seed: int) -> tuple[SparseMatrix, scipy.sparse.coo_array]:
    a = scipy.sparse.random_array((n, m), density=0.3, rng=np.random.default_rng(seed), format="coo")
    rows, cols = (each.astype(np.int64) for each in a.coords)
    return SparseMatrix.from_triples(n, m, rows, cols, a.data), a


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("target", "block"),
    [("sparse.csr::spmv_csr", None), ("sparse.csc::spmv_csc", None), ("sparse.block::spmv_block", 3)],
)
def test_a_matrix_feeds_each_form(target: str, block: int | None, seed: int) -> None:
    n, m = (7, 4) if seed % 2 else (5, 5)
    sparse, a = matrix(n, m, seed)
    module, algorithm = load_target(target)
    assert algorithm is not None
    arguments = bind_matrix(module, algorithm, sparse, block=block, seed=seed)
    result = execute(module, algorithm, arguments)
    np.testing.assert_allclose(result.outputs["y"][:n], a @ arguments["x"][:m])
    assert result.sizes["nz"] == a.nnz
    if block is None:
        assert (result.sizes["n"], result.sizes["m"]) == (n, m)
        longest = np.bincount(a.coords[0 if "csr" in target else 1]).max(initial=0)
        assert result.sizes["nr" if "csr" in target else "nc"] == longest


def test_a_matrix_needs_a_kernel() -> None:
    sparse, _ = matrix(4, 4, 0)
    for target, block, code in (("dense.gemv::gemv", None, "AL527"), ("sparse.block::spmv_block", None, "AL524")):
        module, algorithm = load_target(target)
        assert algorithm is not None
        with pytest.raises(ArchlineError) as problem:
            bind_matrix(module, algorithm, sparse, block=block)
        assert problem.value.diagnostics[0].rule.code == code


EXTERN = """
extern kernel(a: real, k: int) -> real costs 3 flops, 2 words
extern whole(a: real) -> int costs 0 flops

algorithm f(x: inout real[n], k: inout int[n]):
    for i in 0..n:
        x[i] = kernel(x[i], 2) + kernel(1, i)
        k[i] = whole(x[i])
"""


@pytest.mark.parametrize("compiled", MODES)
def test_externs(compiled: bool) -> None:
    arguments = {"x": [0.25, 3.0], "k": [0, 0]}
    smooth = run(EXTERN, arguments, compiled=compiled)
    expected = [math.cos(x + 4) + math.cos(1 + 2 * i) for i, x in enumerate([0.25, 3.0])]
    np.testing.assert_allclose(smooth.outputs["x"], expected)
    assert smooth.outputs["k"].tolist() == [math.floor(1000 * math.cos(x)) for x in expected]
    assert (smooth.counts.flops, smooth.counts.work) == (2 * 7, 1 + 2 * 8)
    assert dict(smooth.counts.declared) == {"words": 8.0}
    seen = []

    def kernel(a: float, k: int) -> float:
        seen.append((a, k))
        return 10 * a + k

    register_extern("kernel", kernel)
    register_extern("whole", lambda a: 7)
    try:
        result = run(EXTERN, arguments, compiled=compiled)
    finally:
        register_extern("kernel", None)
        register_extern("whole", None)
    # numba cannot compile a function that appends to a list of the test, so that run is plain in both cases.
    assert result.outputs["x"].tolist() == [2.5 + 2 + 10, 30 + 2 + 10 + 1]
    assert result.outputs["k"].tolist() == [7, 7]
    assert seen == [(0.25, 2), (1.0, 0), (3.0, 2), (1.0, 1)]
    assert result.counts == smooth.counts


LONG = """
algorithm f(x: inout real[n], rounds: size):
    for r in 0..rounds:
        for i in 0..n:
            x[i] += 1
"""


def test_long_runs_are_compiled() -> None:
    short = run(LONG, {"x": np.zeros(10), "rounds": 10}, compiled=None)
    long = run(LONG, {"x": np.zeros(10), "rounds": launch.PLAIN_STEPS}, compiled=None)
    assert (short.compiled, long.compiled) == (False, True)
    assert long.outputs["x"].tolist() == [launch.PLAIN_STEPS] * 10
    assert long.counts.work == 1 + launch.PLAIN_STEPS * (1 + 20)
    with run_interpreted():
        plain = run(LONG, {"x": np.zeros(1), "rounds": launch.PLAIN_STEPS}, compiled=None)
    assert not plain.compiled
    assert plain.outputs["x"].tolist() == [launch.PLAIN_STEPS]


def test_progress_is_shown_where_it_is_wanted(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "DELAY", 0.0)
    run(LONG, {"x": np.zeros(100), "rounds": 2000}, progress=True)
    assert "running f: 0 s," in capsys.readouterr().err
    run(LONG, {"x": np.zeros(100), "rounds": 2000}, progress=False)
    run(LONG, {"x": np.zeros(100), "rounds": 2000})
    assert capsys.readouterr().err == ""


def test_interrupt_stops_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    state = np.zeros(32, np.int64)

    class Stubborn(progress.threading.Thread):
        def join(self, timeout: float | None = None) -> None:
            if state[1] == 0:
                raise KeyboardInterrupt
            super().join(timeout)

    monkeypatch.setattr(progress.threading, "Thread", Stubborn)

    def work() -> None:
        while state[1] == 0:
            pass

    with pytest.raises(KeyboardInterrupt):
        progress.run_in_large_stack(work, state, recursive=False)


@long
def test_local_arrays_may_outgrow_the_first_memory() -> None:
    text = """
algorithm f(x: inout real[n], m: size):
    local W: real[m] = 1
    for i in 0..m:
        x[0] += W[i]
"""
    m = launch.SPARE_WORDS + 1000
    result = run(text, {"x": [0.0], "m": m}, compiled=True)
    assert result.outputs["x"].tolist() == [m]
    assert result.counts.memory == m + 1


def test_unset_elements_of_outputs() -> None:
    text = "algorithm f(x: out real[n], k: out int[n]):\n    x[0] = 1\n    k[0] = 2\n"
    for compiled in TRIED_MODES:
        outputs = run(text, {"x": [5.0, 5.0], "k": [5, 5]}, compiled=compiled).outputs
        np.testing.assert_array_equal(outputs["x"], [1, np.nan])
        assert outputs["k"].tolist() == [2, -(2**63)]


def test_nan_in_the_data_is_no_unset_element() -> None:
    marker = np.array([0x7FF4A5A55A5A0001], np.uint64).view(np.float64)
    text = "algorithm f(x: inout real[n]):\n    x[0] = x[0] + 1\n"
    for compiled in TRIED_MODES:
        assert np.isnan(run(text, {"x": marker}, compiled=compiled).outputs["x"][0])


def test_arrays_of_any_number_type_and_order() -> None:
    text = "algorithm f(A: real[n, m], y: out real[n]):\n    for i in 0..n:\n        y[i] = A[i, m - 1]\n"
    expected = [2.0, 5.0]
    for array in (
        np.arange(6, dtype=np.int32).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2] / 2,
        [[0, 1, 2], [3, 4, 5]],
    ):
        assert run(text, {"A": array, "y": np.zeros(2)}).outputs["y"].tolist() == expected


CROWDED = """
algorithm leaf(x: inout real[n]):
    local W: real[40] = 1
    x[0] += W[39]

algorithm f(x: inout real[n]):
    parallel for i in 0..n:
        spawn leaf(x[i..i + 1])
        local t: real = 1
"""


@long
def test_compiled_code_gets_the_room_that_it_turns_out_to_need(monkeypatch: pytest.MonkeyPatch) -> None:
    rooms: list[Room] = []

    def make(algorithm: Any, bound: Any, program: Any, room: Room) -> Any:
        rooms.append(room)
        return make_compiled_memory(algorithm, bound, program, room)

    monkeypatch.setattr(launch, "SPARE_WORDS", 0)
    monkeypatch.setattr(Room.__init__, "__defaults__", (8, 9))
    monkeypatch.setattr(launch, "make_compiled_memory", make)
    arguments = {"x": np.arange(20.0)}
    plain, compiled = (run(CROWDED, arguments, events=True, line=4, compiled=mode) for mode in (False, True))
    assert compiled.compiled
    assert compiled.counts == plain.counts
    assert compiled.outputs["x"].tolist() == (np.arange(20.0) + 1).tolist()
    for found, wanted in ((compiled.events, plain.events), (compiled.trace, plain.trace)):
        assert wanted is not None
        for name in found.__slots__:
            np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    # 20 words in 5 lines of 4 have room for one array of 40, not for the events and tasks of 20 iterations.
    events = len(plain.events.kinds)
    assert rooms == [Room(40, 8, 9), Room(320, 8, 9), Room(320, 64, 9), Room(320, 64, events)]
    # What was too little is to be free: words of 8 bytes with 6 entries of shadow of 4, tasks of 5, events of 24.
    needed = (320 * (8 + 4 * 6) + 5 * 64 + 3 * 8 * events) // 8
    monkeypatch.setattr(launch, "available_bytes", lambda: needed)
    assert codes(CROWDED, arguments, events=True, line=4, compiled=True) == []
    monkeypatch.setattr(launch, "available_bytes", lambda: needed - 1)
    assert codes(CROWDED, arguments, events=True, line=4, compiled=True) == ["AL519"]


WIDE = """
algorithm f(n: size, i: index, d: int, k: out int[m]):
    k[0] = n + i
    k[1] = i*i*i % 1000003
    k[2] = d
    k[3] = (n - 1)*(n + 1) % 1000003
    let a = 2*i^2 + 3
    k[4] = a % 1000003
"""


@pytest.mark.parametrize(
    ("n", "i", "d", "compiled"),
    [
        (2**31, 2**20, 2**63 - 1, True),
        (2**31 + 1, 1, 0, False),
        (1, -(2**20), 1 - 2**63, True),
        (1, 2**31, 0, False),
        (1, 2097151, 0, True),
        (1, 2097152, 0, False),
        (1, -2097152, 0, False),
        (1, 2**31 + 1, 0, False),
    ],
)
def test_what_leaves_64_bits_is_not_run_compiled(n: int, i: int, d: int, compiled: bool) -> None:
    found = run(WIDE, {"n": n, "i": i, "d": d, "k": [0] * 5}, compiled=True)
    rest = 1000003
    assert found.outputs["k"].tolist() == [n + i, i**3 % rest, d, (n * n - 1) % rest, (2 * i * i + 3) % rest]
    assert found.compiled is compiled


@pytest.mark.parametrize("compiled", MODES)
def test_the_root_of_the_largest_integer(compiled: bool) -> None:
    text = """
algorithm f(n: size, k: out int[m]):
    let a = n*n + (n*n - 1)
    k[0] = floor(sqrt(a))
    k[1] = ceil(sqrt(a))
"""
    found = run(text, {"n": 2**31, "k": [0, 0]}, compiled=compiled)
    assert found.compiled is compiled
    assert found.outputs["k"].tolist() == [math.isqrt(2**63 - 1), math.isqrt(2**63 - 1) + 1]


FACTORS = """
algorithm f(lo: int, hi: int, x: inout int[n]):
    local up: int = 0
    for s in lo..hi step *3:
        x[up] = s
        up += 1
    local down: int = 40
    for s in hi downto lo step /3:
        x[down] = s
        down += 1
    x[80] = up
    x[81] = down - 40
"""


@pytest.mark.parametrize("compiled", MODES)
@pytest.mark.parametrize(("lo", "hi"), [(1, 1), (1, 81), (2, 161), (2, 163), (5, 4), (1, 2**62), (2**61, 2**62)])
def test_loops_by_factors(lo: int, hi: int, compiled: bool) -> None:
    found = run(FACTORS, {"lo": lo, "hi": hi, "x": [0] * 82}, compiled=compiled)
    x = found.outputs["x"].tolist()
    up = [lo * 3**power for power in range(40) if lo * 3**power < hi]
    down = [hi // 3**power for power in range(40) if hi // 3**power >= lo]
    assert (x[: x[80]], x[40 : 40 + x[81]]) == (up, down)
    # 1 for the call and for each iteration, and for each update of a register.
    assert found.counts.work == 1 + 2 * len(up) + 2 * len(down) + 1


@pytest.mark.parametrize("compiled", MODES)
@pytest.mark.parametrize("lo", [0, -3])
def test_no_factor_moves_a_loop_from_0(lo: int, compiled: bool) -> None:
    assert codes(FACTORS, {"lo": lo, "hi": 7, "x": [0] * 82}, compiled=compiled) == ["AL515"]


def test_a_range_of_more_than_64_bits_that_runs_backwards_is_empty_in_compiled_code() -> None:
    text = "algorithm f(d: int, e: int, x: inout real[n]):\n    for i in d..e:\n        x[0] += 1\n"
    for d, e, rounds, compiled in ((5, 2, 0, True), (-2, 5, 7, True), (2**63 - 1, 1 - 2**63, 0, False)):
        found = run(text, {"d": d, "e": e, "x": [0.0]}, compiled=True)
        assert (found.outputs["x"][0], found.counts.work) == (rounds, 1 + 2 * rounds)
        assert found.compiled is compiled


def test_memory_used_up_in_plain_python_is_said() -> None:
    def exhaust(a: float) -> float:
        raise MemoryError

    register_extern("kernel", exhaust)
    try:
        text = "extern kernel(a: real) -> real costs 0 flops\nalgorithm f(x: inout real[n]):\n    x[0] = kernel(x[0])\n"
        assert codes(text, {"x": [1.0]}) == ["AL519"]
    finally:
        register_extern("kernel", None)


PARALLEL = "algorithm f(x: inout real[n]):\n    parallel for i in 0..n:\n        x[i] = 1\n"


@pytest.mark.parametrize(
    ("races", "compiled", "word"),
    [(False, False, 64), (True, False, 64 * 7), (False, True, 8), (True, True, 8 + 4 * 6)],
)
def test_memory_is_asked_for_before_a_run(
    monkeypatch: pytest.MonkeyPatch, races: bool, compiled: bool, word: int
) -> None:
    options = {"races": races, "compiled": compiled}
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 * word)
    assert codes(PARALLEL, {"x": np.zeros(100)}, **options) == []
    monkeypatch.setattr(memory, "available_bytes", lambda: 100 * word - 1)
    assert codes(PARALLEL, {"x": np.zeros(100)}, **options) == ["AL519"]


FROM_ONE = """
algorithm f(X: real[n], Y: out real[P]) on grid(r: P):
    local a: real = 2.0
    input a = X[0] when r == 0
    broadcast a along r from 0 using naive
    barrier
    output Y[r] = a
"""


@pytest.mark.parametrize("compiled", MODES)
def test_a_register_starts_from_a_global_element_on_some_processors(compiled: bool) -> None:
    """3 words from the root in turn, and ceil(log2(4)) messages of the barrier."""
    ran = run(FROM_ONE, {"X": np.array([5.0, 6.0]), "Y": np.zeros(4), "P": 4}, compiled=compiled)
    assert ran.outputs["Y"].tolist() == [5.0] * 4
    assert ran.counts.communication == {"words": 3, "messages": 5}
    assert ran.counts.own == {"flops": 0, "work": ran.counts.work, "words": 3, "messages": 5}
