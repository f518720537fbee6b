"""Flops, work, span, accesses and memory of small programs, counted by hand from the cost table."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from effort import MODES, TRIED_MODES, drawn, long
from executor_programs import run


def one(body: str, header: str = "x: inout real[n], k: inout int[n], h: size") -> str:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f"extern g(a: real) -> real costs c flops\nalgorithm f({header}):\n{lines}\n"


def counts(body: str, n: int = 4, h: int = 6):
    arguments = {"x": np.full(n, 2.0), "k": np.arange(n), "h": h, "c": 5}
    return run(one(body), arguments).counts


# Every program costs 1 for the outermost call; the table gives what its body adds to flops, work and span.
@pytest.mark.parametrize(
    ("body", "flops", "work", "span"),
    [
        ("pass", 0, 0, 0),
        ("x[0] = x[1] + x[2]", 1, 1, 1),
        ("x[0] = -x[1]", 0, 0, 0),
        ("x[0] = 2*x[1] - x[2]/x[3]", 3, 3, 3),
        ("x[0] = x[1]^2", 1, 1, 1),
        ("x[0] = real_of(h + 1)*pi", 1, 1, 1),
        ("x[0] = max(x[1], x[2], 3.5)", 2, 2, 2),
        ("x[0] = sqrt(abs(x[1])) + rsqrt(x[1]) + exp(x[1])", 6, 6, 6),
        ("x[0] = log(x[1]) + log2(x[1]) + sin(x[2]) + cos(x[3]) + floor(x[0]) + ceil(x[0])", 11, 11, 11),
        ("x[0] += x[1]", 1, 1, 1),
        ("x[0] min= x[1]\nx[0] *= x[1]\nx[0] -= 1\nx[0] /= x[1]\nx[0] max= 2.0", 5, 5, 5),
        ("k[0] = k[1] + 1", 0, 1, 1),
        ("k[0] = xor(k[1], h) + bit_and(h, 3)", 0, 3, 3),
        ("if k[1] & 6:\n    k[0] = bit_or(k[1], 8)", 0, 3, 3),
        ("k[0] += 1", 0, 1, 1),
        ("k[0] = (k[1]*k[2] - k[3])//2 % 5", 0, 4, 4),
        ("k[0] = max(k[1], h, 3)", 0, 2, 2),
        ("k[0] = h*h + 1", 0, 0, 0),
        ("k[0] = -k[1]", 0, 0, 0),
        ("k[0] = floor(h/4) + ceil(log2(h)) + floor(sqrt(h))", 0, 0, 0),
        ("k[0] = floor(k[1])", 0, 1, 1),
        ("x[k[1] + 1] = x[k[2]]", 0, 1, 1),
        ("let a = h//2\nlet b = a^2 + 3\nx[0] = 1", 0, 0, 0),
        ("local t: real = x[0]\nx[1] = t*t", 1, 1, 1),
        ("if h > 3:\n    x[0] = 1", 0, 1, 1),
        ("if h < 3:\n    x[0] = 1", 0, 1, 1),
        ("if h < 3:\n    pass\nelif h < 5:\n    pass\nelif h < 7:\n    x[0] += 1\nelse:\n    pass", 1, 4, 4),
        ("if h < 3:\n    pass\nelif h < 5:\n    pass\nelse:\n    x[0] += 1", 1, 3, 3),
        ("if x[0] < x[1]:\n    pass", 1, 2, 2),
        ("if k[0] < 3:\n    pass", 0, 2, 2),
        ("if x[0] > 9 and x[1] > 9:\n    pass", 1, 2, 2),
        ("if x[0] > 9 or x[1] > 9:\n    pass", 2, 3, 3),
        ("if not (x[0] > 9) and not (k[0] == 5):\n    pass", 1, 3, 3),
        ("for i in 0..h:\n    pass", 0, 6, 6),
        ("for i in 0..h step 4:\n    pass", 0, 2, 2),
        ("for i in h downto 1 step 2:\n    pass", 0, 3, 3),
        ("for i in 5..2:\n    pass", 0, 0, 0),
        ("for i in 0..n:\n    x[i] += 1", 4, 8, 8),
        ("for i in 0..n:\n    for j in i..n:\n        x[j] += 1", 10, 24, 24),
        ("for i in k[1]..k[3]:\n    x[i] += 1", 2, 4, 4),
        ("for i in 0..k[3] + 1:\n    pass", 0, 5, 5),
        ("local i: int = 0\nwhile i < h at most h times:\n    i += 1", 0, 6 * 4 + 2, 26),
        ("local i: int = 0\nwhile x[i] < 1 at most log2(h) times:\n    i += 1", 1, 2, 2),
        ("parallel for i in 0..n:\n    x[i] += 1", 4, 8, 2 + 2),
        ("parallel for i in 0..3:\n    x[i] += 1", 3, 6, 2 + 2),
        ("parallel for i in 0..0:\n    x[i] += 1", 0, 0, 0),
        ("parallel for i in 0..1:\n    x[i] += 1", 1, 2, 2),
        ("parallel for i in 0..h:\n    for j in 0..i:\n        local t: real = 1.0 + 1.0", 15, 36, 3 + 11),
        ("x[0] = g(x[1])", 5, 5, 5),
        ("x[0] = g(x[1]) + g(2)", 11, 11, 11),
        ("costs 3*h flops, h work, 2 span", 18, 24, 20),
        ("x[0..3] = 1.5", 0, 3, 2 + 1),
        ("x[0..2] = x[2..4]", 0, 2, 2),
        ("x[0..3] = x[0] + 1", 1, 4, 1 + 2 + 1),
        ("local W: real[h] = 0", 0, 6, 3 + 1),
        ("local W: real[h]", 0, 0, 0),
        ("local W: real[2, h] = 0", 0, 2 + 12, (1 + 1) + (3 + 1)),
        (
            "local W: real[2, 3, 4] = 1\nlocal V: real[3, 4] = W[0, :, :]",
            0,
            2 + 6 + 24 + 3 + 12,
            (1 + 1 + 2 + 1 + 2 + 1) + (2 + 1 + 2 + 1),
        ),
        ("assume h^2 == 36, x[0] + 1 > 0, 3 divides h, k[1] + 1 == 2", 0, 0, 0),
    ],
)
def test_cost_table(body: str, flops: int, work: int, span: int) -> None:
    found = counts(body)
    assert (found.flops, found.work, found.span) == (flops, work + 1, span + 1)
    assert sum(found.flops_by_kind.values()) == flops


@pytest.mark.parametrize(
    ("body", "reads", "writes"),
    [
        ("x[0] = x[1] + x[2]", 2, 1),
        ("x[0] += x[1]", 2, 1),
        ("atomic x[0] += x[1]", 2, 1),
        ("x[k[0]] = x[k[k[1]]]", 4, 1),
        ("local t: real = x[0]\nx[1] = t*t", 1, 1),
        ("x[0..2] = x[2..4]", 2, 2),
        ("x[0..2] = 7", 0, 2),
        ("for i in k[0]..k[2]:\n    x[i] += 1", 4, 2),
        ("x[k[0]..k[2]] = x[k[1]]", 4, 2),
        ("if x[0] > 9 and x[1] > 9:\n    pass", 1, 0),
        ("assume x[0] > 0", 0, 0),
    ],
)
def test_accesses(body: str, reads: int, writes: int) -> None:
    found = counts(body)
    assert (found.reads, found.writes, found.accesses) == (reads, writes, reads + writes)


def test_flops_by_kind() -> None:
    body = "x[0] = (x[1] + x[2])*x[3] - 1\nx[1] max= x[2]\nif x[0] >= x[1]:\n    x[2] = g(x[2])\ncosts 2 flops"
    assert dict(counts(body).flops_by_kind) == {
        "add": 1, "mul": 1, "sub": 1, "max": 1, "compare": 1, "declared": 7,
    }  # fmt: skip


def test_declared_costs_of_other_metrics_are_added_up_apart() -> None:
    found = run(one("for i in 0..3:\n    costs h/4 io, i words"), {"x": [1.0], "k": [0], "h": 6}).counts
    assert dict(found.declared) == {"io": 4.5, "words": 3.0}
    assert (found.flops, found.work) == (0, 4)


MATMUL = """
algorithm matmul(A: real[n, m], B: real[m, p], C: inout real[n, p]):
    parallel for i in 0..n:
        for j in 0..p:
            for k in 0..m:
                C[i, j] += A[i, k] * B[k, j]
"""


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (5, 1, 7)])
def test_matmul(shape: tuple[int, int, int]) -> None:
    n, m, p = shape
    rng = np.random.default_rng(1)
    a, b, c = rng.random((n, m)), rng.random((m, p)), rng.random((n, p))
    before = c.copy()
    result = run(MATMUL, {"A": a, "B": b, "C": c})
    np.testing.assert_allclose(result.outputs["C"], before + a @ b)
    np.testing.assert_array_equal(c, before)
    assert result.sizes == {"n": n, "m": m, "p": p}
    found = result.counts
    assert found.flops == 2 * n * m * p
    assert found.work == 1 + n + n * p + 3 * n * m * p
    assert found.span == 1 + math.ceil(math.log2(n)) + 1 + p + 3 * m * p
    assert (found.reads, found.writes) == (3 * n * m * p, n * m * p)
    assert found.memory == n * m + m * p + n * p


def test_nested_parallel_loops() -> None:
    inner = "    parallel for j in 0..i:\n        local t: real = 1.0*2.0"
    body = f"parallel for i in 0..5:\n{inner}\n    local u: real = 1.0 + 1.0"
    found = counts(body)
    # Iteration i: 1, its inner loop ceil(log2 i) + 2 (0 for i = 0), then one addition; the longest is i = 4.
    assert found.span == 1 + 3 + (1 + 2 + 2 + 1)
    assert found.work == 1 + 5 * 2 + 2 * (0 + 1 + 2 + 3 + 4)


SPAWNS = """
algorithm leaf(x: inout real[n], t: size):
    for i in 0..t:
        x[0] += 1

algorithm f(x: inout real[n]):
    spawn leaf(x[0..1], 10)
    leaf(x[1..2], 3)
    spawn leaf(x[2..3], 4)
    sync
    spawn leaf(x[0..1], 2)
    x[1] = x[1] + x[2] + x[3]
"""


def test_spawn_runs_beside_what_follows() -> None:
    found = run(SPAWNS, {"x": np.zeros(4)}).counts
    # A call costs 1 before the fork; leaf(t) has span 2t.
    first = max(1 + 20, 1 + 1 + 6 + 1 + 8)
    second = max(1 + 4, 1 + 2)
    assert found.span == 1 + first + second
    assert found.work == 1 + (1 + 20) + (1 + 6) + (1 + 8) + (1 + 4) + 2


FIBONACCI = """
algorithm fib(n: size, out_: out int[m]):
    where n >= 0
    if n < 2:
        out_[0] = n
    else:
        local y: int[2]
        spawn fib(n - 1, y[0..1])
        if n > 1:
            fib(n - 2, y[1..2])
        sync
        out_[0] = y[0] + y[1]
"""


def fib_costs(n: int) -> tuple[int, int, int]:
    """Value, work and span below the call of fib(n)."""
    if n < 2:
        return n, 1, 1
    (a, wa, sa), (b, wb, sb) = fib_costs(n - 1), fib_costs(n - 2)
    return a + b, 2 + 2 + wa + wb + 1, 1 + max(1 + sa, 1 + 1 + 1 + sb) + 1


@pytest.mark.parametrize("n", [0, 1, 2, 5, 10])
def test_recursive_spawns(n: int) -> None:
    result = run(FIBONACCI, {"n": n, "out_": np.zeros(1, int)})
    value, work, span = fib_costs(n)
    assert result.outputs["out_"][0] == value
    assert (result.counts.work, result.counts.span) == (work + 1, span + 1)


def test_spawns_in_a_parallel_loop_join_in_their_iteration() -> None:
    text = """
algorithm leaf(x: inout real[n], t: size):
    for i in 0..t:
        x[0] += 1

algorithm f(x: inout real[n]):
    parallel for i in 0..n:
        spawn leaf(x[i..i + 1], i + 1)
        costs 4 span
"""
    found = run(text, {"x": np.zeros(6)}).counts
    assert found.span == 1 + 3 + 1 + 1 + 12
    assert run(text, {"x": np.zeros(1)}).counts.span == 1 + 0 + 1 + 1 + 4


def test_block_with_a_local_array_joins_at_its_end() -> None:
    text = """
algorithm leaf(x: inout real[n], t: size):
    for i in 0..t:
        x[0] += 1

algorithm f(x: inout real[n], a: size):
    if a == 1:
        local W: real[1]
        spawn leaf(x[0..1], 9)
    else:
        spawn leaf(x[0..1], 9)
    costs 5 span
"""
    assert run(text, {"x": [0.0], "a": 1}).counts.span == 1 + 1 + 1 + 18 + 5
    assert run(text, {"x": [0.0], "a": 2}).counts.span == 1 + 1 + 1 + 18


def test_call_with_a_result() -> None:
    text = """
algorithm lower_bound(a: real[n], key: real) -> int:
    where n >= 0
    local lo: int = 0
    local hi: int = n
    while lo < hi at most log2(n + 1) + 1 times:
        local mid: int = (lo + hi)//2
        if a[mid] < key:
            lo = mid + 1
        else:
            hi = mid
    return lo

algorithm f(a: real[n], key: real, k: out int[m]):
    k[0] = lower_bound(a, key)
    local s: int = lower_bound(a[0..n//2], key)
    k[1] = s
"""
    a = np.arange(10.0)
    result = run(text, {"a": a, "key": 3.5, "k": [0, 0]})
    assert result.outputs["k"].tolist() == [np.searchsorted(a, 3.5), np.searchsorted(a[:5], 3.5)]
    alone = run(text, {"a": a, "key": 3.5}, "lower_bound")
    assert alone.value == 4
    rounds = 4  # of 10 by halves: 5, 2, 1, 0 left, as the key lies
    lows = sum(a[mid] < 3.5 for mid in (5, 2, 4, 3))
    assert alone.counts.flops == rounds
    assert alone.counts.work == 1 + (rounds + 1) * 2 + rounds * (1 + 2 + 1 + 1) + lows


def test_memory_is_the_most_words_alive() -> None:
    text = """
algorithm g(x: inout real[n]):
    local V: real[3*n]

algorithm f(x: inout real[n]):
    for i in 0..2:
        local W: real[n, 2] zmorton
        g(x)
    local U: int[n]
    g(x)
"""
    assert run(text, {"x": np.zeros(5)}, line=4).counts.memory == 5 + 10 + 15


BITS = """
algorithm f(k: inout int[5], a: int, b: int):
    k[0] = bit_and(a, b)
    k[1] = bit_or(a, b)
    k[2] = xor(a, b)
    k[3] = a & 12
    k[4] = xor(a, 3) + bit_or(n_of(a), 1)

def n_of(a: int) -> int:
    return a
"""


@given(*[st.integers(-(2**40), 2**40)] * 2)
@settings(max_examples=drawn(50, 10), deadline=None)
def test_bits_are_those_of_twos_complement(first: int, second: int) -> None:
    for compiled in TRIED_MODES:
        ran = run(BITS, {"k": np.zeros(5, np.int64), "a": first, "b": second}, "f", compiled=compiled)
        expected = [first & second, first | second, first ^ second, first & 12, (first ^ 3) + (first | 1)]
        assert ran.outputs["k"].tolist() == expected
        # The call, six operations on bits, a sum, and the call of n_of.
        assert ran.counts.work == 9
    assert al.loads(BITS)["f"].cost().work.text == "9"


@long
def test_ieee_arithmetic() -> None:
    text = """
algorithm f(x: real[n], y: out real[m]):
    y[0] = x[0]/x[1]
    y[1] = -x[0]/x[1]
    y[2] = x[1]/x[1]
    y[3] = sqrt(-x[0])
    y[4] = log(x[1])
    y[5] = exp(1000*x[0])
    y[6] = log2(-x[0])
    y[7] = x[1]^(0 - 1)
    y[8] = rsqrt(x[1])
    y[9] = sin(y[0])
    y[10] = floor(y[0])
"""
    arguments = {"x": [1.0, 0.0], "y": np.zeros(11)}
    expected = [np.inf, -np.inf, np.nan, np.nan, -np.inf, np.inf, np.nan, np.inf, np.inf, np.nan, np.inf]
    np.testing.assert_array_equal(run(text, arguments).outputs["y"], expected)
    np.testing.assert_array_equal(run(text, arguments, compiled=True).outputs["y"], expected)


def test_integers_divide_downwards() -> None:
    text = (
        "algorithm f(a: int[n], y: out int[m]):\n    y[0] = a[0]//a[1]\n    y[1] = a[0] % a[1]\n    y[2] = abs(a[0])\n"
    )
    for compiled in TRIED_MODES:
        result = run(text, {"a": [-7, 2], "y": [0, 0, 0]}, compiled=compiled)
        assert result.outputs["y"].tolist() == [-4, 1, 7]


ROUNDED = ("floor(m/3)", "ceil(m/3)", "floor(log2(m))", "ceil(log2(m))", "floor(sqrt(m))", "ceil(sqrt(m))")


@pytest.mark.parametrize("compiled", MODES)
def test_sizes_are_rounded(compiled: bool) -> None:
    stores = "\n".join(f"    k[{place}] = {text}" for place, text in enumerate(ROUNDED))
    text = f"algorithm f(k: inout int[6], m: size):\n{stores}\n"
    for m in (1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 24, 25, 26, 2**40 - 1, 2**40, 2**40 + 1):
        found = run(text, {"k": np.zeros(6, dtype=np.int64), "m": m}, compiled=compiled).outputs["k"].tolist()
        root, log = math.isqrt(m), m.bit_length() - 1
        assert found == [m // 3, (m + 2) // 3, log, log + (m > 1 << log), root, root + (m > root * root)]


@pytest.mark.parametrize("compiled", MODES)
def test_declared_costs_with_a_common_divisor(compiled: bool) -> None:
    text = "algorithm f(x: inout real[n], y: inout real[m]):\n    costs gcd(n, m) flops\n"
    f = al.loads(text)["f"]
    for n, m in ((1, 1), (6, 4), (4, 6), (35, 21), (13, 8)):
        ran = f.run(n=n, m=m, compiled=compiled)
        assert ran.counts.flops == math.gcd(n, m) == f.cost(f"n == {n} and m == {m}").flops.upper
