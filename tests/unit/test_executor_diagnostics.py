"""Every way a run can fail is reported with its own code, place and values, in plain Python and compiled."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from archline.execution.externs import register_extern
from archline.execution.results import Cache
from archline.language import diagnostics
from archline.language.diagnostics import Rule, get_rules_by_code
from effort import MODES, TRIED_MODES, long
from executor_programs import codes, message, run


def one(body: str, header: str = "x: inout real[n], k: inout int[n], h: size", before: str = "") -> str:
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f"{before}\nalgorithm f({header}):\n{lines}\n"


DATA = {"x": np.ones(4), "k": np.arange(4), "h": 6}

FAILURES = [
    ("x[h] = 1", "AL501", "the subscript of `x[h]` is 6, and must be in 0..4"),
    ("local i: int = 0\nlet v = x[0..i + 1]\ni += 3\nv[2] = 1", "AL501", "is 2, and must be in 0..1"),
    ("x[0] = x[0 - 1]", "AL501", "is -1, and must be in 0..4"),
    ("x[k[3] + 1] = 0", "AL501", "is 4, and must be in 0..4"),
    ("for i in 0..n:\n    x[i] = x[i + 1]", "AL501", "is 4, and must be in 0..4"),
    ("local W: real[2, 3] = 0\nx[0] = W[1, k[3]]", "AL501", "subscript 2 of `W[1, k[3]]` is 3, and must be in 0..3"),
    ("local W: real[2, 3] = 0\nlet v = W[h, :]", "AL501", "is 6, and must be in 0..2"),
    ("x[0..h] = 1", "AL502", "is 0..6, in an extent of 4"),
    ("x[k[3]..k[1]] = 1", "AL502", "is 3..1, in an extent of 4"),
    ("let v = x[2 ..+ h]", "AL502", "is 2 ..+ 6, in an extent of 4"),
    ("let v = x[0 - 1..2]", "AL502", "is -1..2"),
    ("local t: real\nx[0] = t", "AL503", "`t` is read before"),
    ("local t: int\nif h > 9:\n    t = 1\nk[0] = t", "AL503", "`t` is read before"),
    ("local W: real[3]\nW[0] = 1\nx[0] = W[0] + W[1]", "AL503", "`W[1]` is read before"),
    ("local W: int[2]\nk[0] += W[1]", "AL503", "`W[1]` is read before"),
    ("local W: real[2]\nx[0..2] = W", "AL503", "`W` is read before"),
    ("local W: real[h - 9]", "AL504", "an extent of `W` is negative"),
    ("x[0..2] = x[0..k[3]]", "AL505", "extent 1 is 2 on the left and 3 on the right"),
    ("let v = x[0..k[3]] as [2, h - 4]", "AL505", "has 4 elements, but the vector has 3"),
    ("let v = x[0..k[3] + 1] as [h - 8, h - 8]", "AL505", "has 4 elements, but the vector has 4"),
    ("let a = h/4", "AL507", "must be an integer, and 6/4 is not"),
    ("let a = h//(h - 6)", "AL507", "division by zero"),
    ("k[0] = k[1] % k[0]", "AL507", "division by zero"),
    ("let a = log2(h)", "AL507", "log2 of 6 is not"),
    ("let a = sqrt(h)", "AL507", "sqrt of 6 is not"),
    ("let a = ceil(log2(h - 6))", "AL507", "`log2(h - 6)` is undefined: log2 of 0"),
    ("let a = floor(sqrt(h - 7))", "AL507", "`sqrt(h - 7)` is undefined: sqrt of -1"),
    ("let a = ceil(h/(h - 6))", "AL507", "division by zero"),
    ("let a = 2^(h - 7)", "AL507", "is negative: -1"),
    ("local i: int = 0\nwhile i < h at most h - 1 times:\n    i += 1", "AL508", "iteration 6 begins"),
    ("local i: int = 0\nwhile i < h at most log2(h) times:\n    i += 1", "AL508", "iteration 3 begins"),
    ("assume h > 6", "AL509", "`assume h > 6` is false"),
    ("assume h > 5, 4 divides h", "AL509", "`assume 4 divides h` is false"),
    ("assume h is power of 2", "AL509", "is false"),
    ("assume h is square", "AL509", "is false"),
    ("assume 2*k[1] >= k[3]", "AL509", "is false"),
    ("assume x[0] < 1", "AL509", "is false"),
    ("k[0] = 9223372036854775807\nk[0] += 1", "AL514", "does not fit 64 bits"),
    ("k[0] = 9223372036854775807\nk[0] = -k[0] - 1", "AL514", "does not fit 64 bits"),
    ("k[0] = 4294967296\nk[1] = k[0]*k[0]", "AL514", "does not fit 64 bits"),
    (
        "k[0] = 4611686018427387904\nk[1] = bit_or(-2*k[0] + 1, 0)\nk[2] = bit_and(k[1], k[1] + 1)",
        "AL514",
        "does not fit",
    ),
    ("k[0] = 4\nk[1] = k[0]^h^2", "AL514", "does not fit 64 bits"),
    ("for i in 0..n step h - 6:\n    pass", "AL515", "is 0"),
    ("let v = x[0..n step h - 7]", "AL515", "is -1"),
    ("costs h - 7 flops", "AL529", "but this is -1"),
]


@pytest.mark.parametrize(("body", "code", "words"), FAILURES)
def test_failure(body: str, code: str, words: str) -> None:
    assert codes(one(body), DATA) == [code]
    assert words in message(one(body), DATA)


# One program with all of them, chosen by a parameter: it is compiled once.
@long
def test_failures_in_compiled_code() -> None:
    branches = []
    for number, (body, _, _) in enumerate(FAILURES):
        lines = "\n".join("        " + line for line in body.split("\n"))
        branches.append(f"    if which == {number + 1}:\n{lines}")
    text = "algorithm f(x: inout real[n], k: inout int[n], h: size, which: size):\n" + "\n".join(branches) + "\n"
    for number, (body, code, words) in enumerate(FAILURES):
        report = message(text, {**DATA, "which": number + 1}, compiled=True)
        assert f" {code}: " in report, body
        assert words in report, body


CALLEE = """
algorithm g(A: real[n, m], B: real[m, n + 1], t: size, i: index):
    where t >= 0, 2 divides t
    pass
"""


@pytest.mark.parametrize(
    ("call", "code", "words"),
    [
        ("g(A[0..2, 0..3], A[0..3, 0..3], 2, -5)", "", ""),
        ("g(A[0..2, 0..3], A[0..k[2], 0..3], 2, 1)", "AL505", "extent 1 of `B` is 2, and `m` is 3"),
        ("g(A[0..2, 0..3], A[0..3, 0..k[2]], 2, 1)", "AL505", "extent 2 of `B` is 2, and `n + 1` is 3"),
        ("g(A[1..1, 0..3], A[0..3, 0..1], 2, 1)", "AL504", "the size `n` of `g` is 0, and must be at least 1"),
        ("g(A[0..2, 0..3], A[0..3, 0..3], h - 3, 1)", "AL504", "the size `t` of `g` is -1, and must be at least 0"),
        ("g(A[0..2, 0..3], A[0..3, 0..3], h + 1, 1)", "AL506", "`where 2 divides t` of `g` is false"),
    ],
)
@pytest.mark.parametrize("compiled", MODES)
def test_contract_of_a_call(call: str, code: str, words: str, compiled: bool) -> None:
    if compiled and code not in ("AL506", ""):
        return
    text = f"{CALLEE}\nalgorithm f(A: real[p, p], k: int[q], h: size):\n    {call}\n"
    report = message(text, {"A": np.ones((4, 4)), "k": [0, 1, 2], "h": 2}, compiled=compiled)
    assert words in report
    if code:
        assert f"text>:7:5: {code}: " in report.replace("<", "")


RECURSIONS = [
    ("algorithm f(x: inout real[n]):\n    f(x)\n", {"x": np.ones(2)}, "AL510", "no size of `f` is smaller"),
    ("algorithm f(x: inout real[n]):\n    if n < 9:\n        f(x)\n", {"x": np.ones(2)}, "AL510", ""),
    (
        "algorithm g(n: size):\n    f(n)\n\nalgorithm f(n: size):\n    if n > 1:\n        g(n - 1)\n    g(n)\n",
        {"n": 3}, "AL510", "",
    ),
    (
        "algorithm f(n: size, m: size):\n    decreases n, m\n    if m > 1:\n        f(n, m - 1)\n    f(n, m)\n",
        {"n": 2, "m": 2}, "AL510", "does not decrease: it is 2 in a call made where it is 2",
    ),
    ("algorithm f(i: index):\n    decreases i\n    f(i - 1)\n", {"i": 3}, "AL510", "is -1, below 0"),
    ("algorithm f(n: size):\n    f(n - 1)\n", {"n": 5}, "AL504", "is 0, and must be at least 1"),
    ("algorithm f(n: size):\n    if n > 1:\n        f(n - 1)\n", {"n": 200_000}, "AL511", "100000 calls deep"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "arguments", "code", "words"), RECURSIONS)
def test_recursion(text: str, arguments: dict[str, object], code: str, words: str) -> None:
    assert codes(text, arguments) == [code]
    assert words in message(text, arguments)


def test_deep_recursion_compiled() -> None:
    text = RECURSIONS[-1][0]
    assert run(text, {"n": 90_000}, compiled=True).counts.work == 2 * 90_000
    assert run(text, {"n": 90_000}).counts.work == 2 * 90_000
    assert codes(text, {"n": 200_000}, compiled=True) == ["AL511"]


def test_recursion_that_decreases() -> None:
    text = """
algorithm merge_like(n: size, m: size, out_: inout int[k]):
    where n >= 0, m >= 0
    decreases n + m, max(0, m - n)
    if n < m:
        merge_like(m, n, out_)
    elif n > 0:
        out_[0] += 1
        merge_like(n - 1, m, out_)
"""
    # n and m are exchanged until both are used up, one at a time.
    assert run(text, {"n": 2, "m": 5, "out_": [0]}).outputs["out_"][0] == 7
    mutual = """
algorithm even(n: size) -> int:
    where n >= 0
    local r: int = 1
    if n > 0:
        r = odd(n - 1)
    return r

algorithm odd(n: size) -> int:
    where n >= 0
    local r: int = 0
    if n > 0:
        r = even(n - 1)
    return r
"""
    for compiled in TRIED_MODES:
        assert [run(mutual, {"n": n}, "even", compiled=compiled).value for n in range(4)] == [1, 0, 1, 0]


SEGMENTS = """
algorithm g(p: offsets[n] into nz longest q, c: index[nz] below m, x: real[m], q: size):
    where nz >= 0, n >= 0
    pass

algorithm f(p: int[k], c: int[l], x: real[m], q: size):
    where l >= 0
    g(p, c, x, q)
"""


@pytest.mark.parametrize(
    ("p", "c", "q", "code", "words"),
    [
        ([0, 2, 3], [0, 1, 2], 2, "", ""),
        ([0], [], 1, "", ""),
        ([1, 2, 3], [0, 1, 2], 2, "AL512", "start"),
        ([0, 3, 2], [0, 1], 3, "AL512", "decrease"),
        ([0, 2, 4], [0, 1, 2], 2, "AL512", "ends at 4, and `nz` is 3"),
        ([0, 2, 3], [0, 1, 2], 1, "AL512", "the longest gap of `p` is 2, and `q` is 1"),
        ([0, 2, 3], [0, 1, 3], 2, "AL513", "not below 3"),
        ([0, 2, 3], [0, -1, 2], 2, "AL513", "-1"),
    ],
)
def test_offsets_and_indices(p: list[int], c: list[int], q: int, code: str, words: str) -> None:
    arguments = {"p": p, "c": np.array(c, int), "x": np.ones(3), "q": q}
    for name in ("g", "f"):
        assert codes(SEGMENTS, arguments, name) == ([code] if code else [])
        assert words in message(SEGMENTS, arguments, name)


def test_facts_of_segments_are_passed_on() -> None:
    text = """
algorithm h(p: offsets[n] into nz longest q, c: index[nz] below m, x: real[m], q: size) -> real:
    local s: real = 0
    for i in 0..n:
        for k in p[i]..p[i + 1]:
            s += x[c[k]]
    return s

algorithm f(p: offsets[n] into nz longest q, c: index[nz] below m, x: real[m], r: size) -> real:
    local s: real = h(p, c, x, r)
    return s
"""
    arguments = {"p": [0, 2, 2, 3], "c": [2, 0, 2], "x": [1.0, 2.0, 4.0], "r": 2}
    for compiled in TRIED_MODES:
        result = run(text, arguments, compiled=compiled)
        assert result.value == 9
        assert result.sizes == {"n": 3, "nz": 3, "q": 2, "m": 3, "r": 2}
    assert codes(text, {**arguments, "r": 1}) == ["AL512"]


GOOD = {"x": [1.0, 2.0], "k": [1, 2], "h": 1}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"x": None}, "AL520"),
        ({"z": 1}, "AL521"),
        ({"n": 2}, "AL521"),
        ({"x": [1j, 2.0]}, "AL522"),
        ({"x": ["a", "b"]}, "AL522"),
        ({"x": [[1.0], [1.0, 2.0]]}, "AL522"),
        ({"k": [1.0, 2.0]}, "AL522"),
        ({"k": np.array([2**63, 0], np.uint64)}, "AL522"),
        ({"k": [2**70, 0]}, "AL522"),
        ({"x": [[1.0, 2.0]]}, "AL523"),
        ({"x": 3.0}, "AL523"),
        ({"k": [1, 2, 3]}, "AL505"),
        ({"h": 0}, "AL504"),
        ({"h": -1}, "AL504"),
        ({"h": 1.5}, "AL524"),
        ({"h": True}, "AL524"),
        ({"h": "4"}, "AL524"),
        ({"h": 2**64}, "AL524"),
        ({"x": [], "k": []}, "AL504"),
    ],
)
def test_bad_arguments(change: dict[str, object], code: str) -> None:
    arguments = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    assert codes(one("pass"), GOOD) == []
    assert codes(one("pass"), arguments) == [code]


def test_cost_symbols_are_arguments() -> None:
    text = "extern g(a: real) -> real costs c flops\nalgorithm f(x: inout real[n]):\n    x[0] = g(x[0])\n"
    assert run(text, {"x": [1.0], "c": 7}).counts.flops == 7
    assert codes(text, {"x": [1.0]}) == ["AL520"]
    assert codes(text, {"x": [1.0], "c": -1}) == ["AL524"]


@pytest.mark.parametrize(
    "cache", [Cache(0), Cache(8, 0), Cache(7, 8), Cache(-4, 1), Cache(8, 1, "fifo"), Cache(8.5, 1), Cache(8, True)]
)
def test_bad_cache(cache: Cache) -> None:
    assert codes(one("pass"), GOOD, cache=cache) == ["AL525"]


def test_a_cache_may_be_one_line() -> None:
    assert run(one("x[0] = x[1]"), GOOD, cache=Cache(1)).counts.io == 2
    assert run(one("x[0] = x[1]"), GOOD, cache=Cache(9, 8)).counts.io == 1


@pytest.mark.parametrize(
    ("fact", "holds"),
    [
        ("floor(log2(h)) == 2", True), ("ceil(log2(h)) == 3", True), ("100*log2(h) > 258", True), ("100*log2(h) > 259", False),
        ("floor(max(log2(h), 1)) == 2", True), ("ceil(min(h/4, 3)) == 2", True), ("2*max(h/4, 1) == 3", True),
        ("min(h/4, h) > 1", True), ("max(h/4, h, 7) == 7", True), ("min(2*h, h, 9) == 6", True),
        ("floor(h/4) == 1", True), ("ceil(-h/4) == -1", True), ("2*abs(-h/4) == 3", True), ("abs(1 - h) == 5", True),
        ("100*sqrt(h)^2 > 599", True), ("2*2^(1 - 2) == 1", True), ("h^2 - 1 == 35", True), ("h/4 + h/4 == 3", True),
        ("h/4*2 - 3 == 0", True), ("floor(sqrt(h) + 1) == 3", True), ("-(h/4) < -7/5", True), ("-(h/4) < -3/2", False),
        ("0 divides h", False), ("floor(h^(1 - 2)) == 0", True), ("floor(h/4 + 1) == 2", True), ("h == 6 or 0 == 1/(h - 6)", True),
        ("h is square", False), ("h - 2 is square", True), ("h - 7 is square", False), ("h + 2 is power of 2", True),
    ],
)  # fmt: skip
def test_facts_are_those_of_real_numbers(fact: str, holds: bool) -> None:
    assert codes(one(f"assume {fact}"), DATA) == ([] if holds else ["AL509"])


ON_GRID = [
    ("exchange x to (r + 1) into x from ((r - 1)%P)", "AL531", "is 3, and the axis has 3 processors (on processor 2)"),
    ("exchange x to (r) into x from (r - 1) when r == 0", "AL531", "is -1, and the axis has 3"),
    ("exchange x to ((r + 1)%P) into x[0..r] from ((r - 1)%P)", "AL532", "receives 0 words, and processor 2 sends 2"),
    ("receive x from ((r + 1)%P)\nsend x to ((r - 1)%P)", "AL533", "processor 0 on line 3 for processor 1"),
    (
        "for t in 0..3:\n    exchange x to (t) when r < t into x from (0) when r == 1",
        "AL533",
        "waits: processor 1 on line 4 for processor 0",
    ),
    ("if r == 1:\n    send x to (2)", "AL534", "processor 1 sends to processor 2, which never receives"),
    ("exchange x to (0) when r > 0 into x from (1) when r == 0", "AL534", "processor 2 sends to processor 0, which"),
    ("output Y[0..2] = x", "AL535", "an element of `Y[0..2]` is output twice (on processor 1)"),
    ("output Y[0] = x[0] when r < 2", "AL535", "an element of `Y[0]` is output twice (on processor 1)"),
    ("local y: real[2]\nexchange y to (r) into x from (r)", "AL503", "`y` is sent, but has words that are not set"),
    (
        "split r by 2 as g:\n    shift x along g by 1",
        "AL530",
        "`r` has 3 processors, which cannot be split in 2 equal groups",
    ),
    ("pair(x)", "AL530", "the axis `q` of `pair` has 3 processors, and `2` is 2"),
]
PAIR = "algorithm pair(x: inout local real[2]) on grid(q: 2):\n    shift x along q by 1\n\n"


@pytest.mark.parametrize(("body", "code", "words"), ON_GRID)
def test_failures_on_three_processors(body: str, code: str, words: str) -> None:
    text = one(body, "x: inout local real[2], Y: inout real[n]) on grid(r: P")
    reported = message(f"{text}\n{PAIR}", {"x": np.ones((3, 2)), "Y": np.zeros(4), "P": 3}, "f")
    assert f"{code}: " in reported
    assert words in reported


@pytest.mark.parametrize(
    ("grid", "given", "code", "words"),
    [
        ("r: P", {}, "AL530", "`f` runs on P processors, but P has no value"),
        ("i: g, j: 2", {"P": 5}, "AL530", "the grid has 3 x 2 = 6 processors, but P is 5"),
        ("t: P/g, k: g", {"P": 5}, "AL530", "the axis `t`: `/` between sizes must divide"),
        ("t: P//g", {"P": 2}, "AL530", "the axis `t` has 0 processors, since `P//g` is"),
        ("r: P", {"P": 0}, "AL530", "the axis `r` has 0 processors"),
        ("i: g, j: 2", {}, "AL523", "the first axis of `a` has length 3, but there are 6 processors"),
    ],
)
def test_grids_that_do_not_fit(grid: str, given: dict[str, int], code: str, words: str) -> None:
    text = f"algorithm f(a: local real[n], g: size) on grid({grid}):\n    pass\n"
    reported = message(text, {"a": np.ones((3, 1)), "g": 3, **given})
    assert f"{code}: " in reported
    assert words in reported


def test_deep_nests_are_refused() -> None:
    lines = ["algorithm f(n: size):"]
    lines += ["    " * (level + 1) + f"for i{level} in 0..1:" for level in range(40)]
    text = "\n".join([*lines, "    " * 41 + "pass\n"])
    assert codes(text, {"n": 1}) == ["AL517"]


def test_long_expressions_run() -> None:
    total = " + ".join(["x[0]"] * 150)
    nested = "(" * 100 + "x[0]" + ")" * 100
    sizes = " + ".join(["h"] * 150)
    body = f"    x[1] = {total}\n    x[2] = {nested}\n    x[3] = real_of({sizes})\n"
    text = f"algorithm f(x: inout real[n], h: size):\n{body}"
    assert run(text, {"x": np.ones(4), "h": 2}).outputs["x"].tolist() == [1, 150, 1, 300]


def test_sums_of_sizes_beyond_64_bits_are_exact() -> None:
    """Each product fits 64 bits, and their sum does not: such a run is plain Python's."""
    text = "algorithm f(n: size, m: size, k: out int[1]):\n    k[0] = 0\n    if n*n*n + n*n*n > m:\n        k[0] = 1\n"
    for compiled in TRIED_MODES:
        for n, m, larger in ((2 * 10**6, 9, 1), (2, 16, 0)):
            found = run(text, {"n": n, "m": m, "k": [0]}, compiled=compiled)
            assert found.outputs["k"].tolist() == [larger]
            assert found.compiled is (compiled and n == 2)


def test_views_of_rows_and_columns() -> None:
    text = "algorithm f(x: inout real[n]):\n    let a = x as [1, n]\n    let b = x as [n, 1]\n    let c = x[0..6] as [2, 3]\n"
    text += "    a[0, n - 1] = 7\n    b[1, 0] = 8\n    c[1, 0] += a[0, 1]\n"
    assert run(text, {"x": np.zeros(6)}).outputs["x"].tolist() == [0, 8, 0, 8, 0, 7]


def test_declared_costs_of_a_thousand() -> None:
    text = "extern kernel(a: real) -> real costs 1000 flops\nalgorithm f(x: inout real[n]):\n    x[0] = kernel(x[0])\n"
    register_extern("kernel", abs)
    try:
        assert run(text, {"x": [1.0]}).counts.flops == 1000
    finally:
        register_extern("kernel", None)


def test_too_large_for_memory() -> None:
    text = "algorithm f(n: size):\n    local W: real[n, n, n] = 0\n"
    for compiled in TRIED_MODES:
        assert codes(text, {"n": 2**20}, compiled=compiled) == ["AL519"]
        assert codes(text, {"n": 10**6}, compiled=compiled) == ["AL519"]
    assert "grow beyond 1,000,000,000,000,000,000 words" in message(text, {"n": 10**6})


def test_large_integers_are_exact() -> None:
    text = """
algorithm f(n: size, k: out int[m]):
    k[0] = n^3 - (n^3 - 5)
    let a = n*n*n*n % 7
    k[1] = a
"""
    n = 2**30 + 3
    for compiled in TRIED_MODES:
        assert run(text, {"n": n, "k": [0, 0]}, compiled=compiled).outputs["k"].tolist() == [5, pow(n, 4, 7)]
    assert codes("algorithm f(n: size):\n    for i in 0..n^1000000000:\n        pass\n", {"n": 2}) == ["AL514"]


def test_every_rule_is_documented() -> None:
    ours = [rule for code, rule in get_rules_by_code().items() if code.startswith("AL5")]
    assert len(ours) >= 28
    assert all(len(rule.explanation.strip()) > 40 for rule in ours)


def test_a_rule_that_another_process_sent_is_defined_here_later() -> None:
    sent = pickle.dumps(Rule("AL9998", "sent", "by another process"))
    del diagnostics._REGISTRY["AL9998"]
    received = pickle.loads(sent)
    try:
        assert Rule("AL9998", "sent", "by another process") == received == get_rules_by_code()["AL9998"]
        with pytest.raises(ValueError, match="two rules are called AL9998"):
            Rule("AL9998", "another", "of the same code")
    finally:
        del diagnostics._REGISTRY["AL9998"]
