"""Integers beside reals are converted, `inf` takes the type of what it meets, and what is `bool` is a condition."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, floor, isqrt
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.execution.results import Run
from archline.language.diagnostics import ArchlineError
from archline.language.loader import load_text
from derived_counts import assert_agreement
from doc_blocks import last
from effort import long
from executor_programs import run

HEAD = "algorithm h(v: inout real[w], c: real):\n    v[0] = c\n\n\n"
ONE = HEAD + "algorithm f(x: inout real[n], k: int[n], b: int, d: int):\n"
LOOPS = ONE + "    for i in 0..n:\n"


def lines(*written: str, depth: int = 1) -> str:
    """Statements of a body."""
    return "".join(f"{' ' * 4 * depth}{line}\n" for line in written)


def agreed(text: str, arguments: dict[str, Any]) -> Run:
    """The run of a program, whose counts are those that are derived."""
    module = load_text(text)
    algorithm = list(module.algorithms.values())[-1]
    costs = derive(module, algorithm)
    result = run(text, arguments)
    assert_agreement(costs, result, text)
    return result


# A program, what stands there, and the same with conversions that are written.
CONVERTED = [
    (ONE + lines("x[0] = sqrt(d)"), "sqrt(d)", "sqrt(real_of(d))"),
    (ONE + lines("x[0] = 2.0*rsqrt(d)"), "rsqrt(d)", "rsqrt(real_of(d))"),
    (ONE + lines("x[0] = exp(n)"), "exp(n)", "exp(real_of(n))"),
    (ONE + lines("x[0] = log(d + n)"), "log(d + n)", "log(real_of(d + n))"),
    (ONE + lines("x[0] += sqrt(n)"), "sqrt(n)", "sqrt(real_of(n))"),
    (ONE + lines("x[0] += 2.0*log2(n)"), "log2(n)", "log2(real_of(n))"),
    (ONE + lines("x[0] = sqrt(n) + 1"), "sqrt(n) + 1", "sqrt(real_of(n)) + 1.0"),
    (ONE + lines("x[0] = -sqrt(n + 1)"), "-sqrt(n + 1)", "-sqrt(real_of(n + 1))"),
    (ONE + lines("x[0] = max(sqrt(n), 2)"), "max(sqrt(n), 2)", "max(sqrt(real_of(n)), 2.0)"),
    (ONE + lines("x[0] = sqrt(n/2)"), "sqrt(n/2)", "sqrt(real_of(n)/2.0)"),
    (ONE + lines("x[0] = n/2"), "n/2", "real_of(n)/2.0"),
    (ONE + lines("x[0] *= 1/2"), "1/2", "1.0/2.0"),
    (ONE + lines("x[0] = n//2"), "n//2", "real_of(n//2)"),
    (ONE + lines("x[0] = 2^n"), "2^n", "real_of(2^n)"),
    (ONE + lines("x[0] = d"), "= d", "= real_of(d)"),
    (ONE + lines("if x[0] > sqrt(n):", "    x[0] = 0"), "sqrt(n)", "sqrt(real_of(n))"),
    (ONE + lines("h(x, sqrt(n))"), "sqrt(n)", "sqrt(real_of(n))"),
    (LOOPS + lines("x[i] = i/n", depth=2), "i/n", "real_of(i)/real_of(n)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "written", "converted"), CONVERTED)
def test_a_conversion_costs_what_it_costs_written(text: str, written: str, converted: str) -> None:
    arguments = {"x": [3.0, 1.0, 2.0], "k": [1, 2, 3], "b": 5, "d": 7}
    result = agreed(text, arguments)
    same = agreed(text.replace(written, converted), arguments)
    assert result.counts.flops_by_kind == same.counts.flops_by_kind
    assert result.counts.work == same.counts.work
    assert list(result.outputs["x"]) == list(same.outputs["x"])
    assert last(text).cost().assumptions == ()


@pytest.mark.parametrize(
    ("line", "flops"),
    [
        ("x[0] = x[1]/sqrt(n)", 2),
        ("x[0] = x[1]*n", 1),
        ("x[0] = x[1]*(n + 1)", 1),
        ("x[0] = x[1]*(n/2 + 1)", 3),
        ("x[0] = x[1]*(n//2 + n % 2 + 2^n)", 1),
        ("x[0] = x[1]*(n/2)^2", 3),
        ("x[0] = x[1] + floor(n/2)", 1),
        ("x[0] = log2(n) + d", 2),
        ("x[0] = exp(d)", 1),
        ("x[0] = sqrt(d)/d", 2),
        ("x[0] += 1/n", 2),
        ("x[0] max= min(n/2, 4)", 3),
        ("if x[0] > n/2:\n        pass", 2),
        ("x[:] = n/2", 1),
    ],
)
def test_quotients_and_roots_beside_reals_count(line: str, flops: int) -> None:
    assert agreed(ONE + lines(line), {"x": [3.0, 1.0, 2.0], "k": [1, 2, 3], "b": 5, "d": 7}).counts.flops == flops


@pytest.mark.parametrize("line", ["let h = n/2", "for j in 0..n/2:\n        pass", "local W: real[n/2] = n/4"])
def test_quotients_of_sizes_alone_are_exact(line: str) -> None:
    assert last(ONE + lines(line)).cost().assumptions != ()


@pytest.mark.parametrize("line", ["local j: int = (b + d)/2", "x[0] += b/d", "b2 = b/2"])
def test_a_quotient_of_data_says_how_it_rounds(line: str) -> None:
    with pytest.raises(ArchlineError, match="`/` of `int` data may round"):
        load_text(ONE + lines(line))


ROUNDED = [
    ("k[0] = floor(3*x[0]) + 5*ceil(x[0]/3)", lambda value, b: floor(3 * value) + 5 * ceil(value / 3)),
    ("k[floor(x[0])] = 2", lambda value, b: 2 if value < 1 else 7),
    ("k[0] = floor(sqrt(b))", lambda value, b: isqrt(b)),
    ("k[0] = ceil(sqrt(b)) + floor(log2(b))", lambda value, b: isqrt(b - 1) + b.bit_length()),
]


@pytest.mark.parametrize("value", [0.0, 0.5, 1.25])
@pytest.mark.parametrize(("line", "expected"), ROUNDED)
def test_rounded_reals_are_ints(line: str, expected: Callable[[float, int], int], value: float) -> None:
    text = HEAD + "algorithm f(x: inout real[n], k: inout int[n], b: int):\n" + lines(line)
    for b in (2, 8, 9, 2**52 - 1, 2**62 - 1, (2**31 - 1) ** 2 - 1):
        result = agreed(text, {"x": [value, 0.0], "k": [7, 7], "b": b})
        assert result.outputs["k"][0] == expected(value, b)


def test_a_rounded_real_beyond_64_bits_ends_the_run() -> None:
    with pytest.raises(ArchlineError, match="floor\\(x\\[0\\]\\)` does not fit 64 bits"):
        run(
            HEAD + "algorithm f(x: inout real[n], k: inout int[n], b: int):\n" + lines("k[0] = floor(x[0])"),
            {"x": [1e30], "k": [0], "b": 1},
        )
    result = run(HEAD + "algorithm f(x: inout real[n]):\n" + lines("x[0] = floor(x[0])"), {"x": [1e30]})
    assert result.outputs["x"][0] == 1e30


def test_infinite_integers_stay_infinite_in_sums() -> None:
    text = """algorithm f(d: inout int[n], w: int) -> int:
    d[0] = inf
    d[1] = d[0] + w
    d[2] = w - d[0]
    d[3] = min(d[1], 5)
    d[4] += d[0]
    return d[1] - 7
"""
    result = agreed(text, {"d": [0, 0, 0, 0, 3], "w": 2})
    largest = 2**63 - 1
    assert list(result.outputs["d"]) == [largest, largest, -largest, 5, largest]
    assert result.value == largest
    assert result.counts.work == 1 + 5


@long
def test_compiled_code_counts_the_same() -> None:
    text = (
        CALLEES
        + """algorithm f(x: real[n], k: int) -> real:
    local b: bool = odd(k) and not x[0] > n/2
    local m: int = inf
    if b:
        m = m + pick(x, k) + 3
    return half(x[0])/sqrt(n) + m
"""
    )
    for k in (2, 3):
        plain, compiled = (run(text, {"x": [0.5, 2.0, 3.0], "k": k}, compiled=compiled) for compiled in (False, True))
        assert (compiled.value, compiled.counts.work) == (plain.value, plain.counts.work)


def test_an_infinite_real() -> None:
    text = """algorithm f(x: real[n]) -> real:
    best = infinity
    for i in 0..n:
        if x[i] < best and best > -inf:
            best = x[i]
    return best
"""
    assert agreed(text, {"x": [3.0, 1.0, 2.0]}).value == 1.0


def test_names_of_constants_can_be_declared() -> None:
    text = "algorithm f(inf: real, true: int) -> real:\n    return inf + true\n"
    assert agreed(text, {"inf": 1.5, "true": 2}).value == 3.5


CONDITIONS = """algorithm least(x: real[n]) -> bool:
    return x[0] < 1.0

algorithm f(x: real[n], flag: bool, c: char, seen: inout bool[n], m: int) -> int:
    local done: bool = false
    local count: int = 0
"""


@pytest.mark.parametrize(
    ("line", "work", "expected"),
    [
        ("if flag:\n        count = 1", 1, 1),
        ("if not flag:\n        count = 1", 1, 0),
        ("if seen[0] or seen[m - 1]:\n        count = 1", 2, 1),
        ("if seen[0] or flag and m > 1:\n        count = 1", 2, 1),
        ("done = m == 3 or (x[0] > 1.0 and flag)", 2, 0),
        ("seen[0] = not seen[0]", 0, 0),
        ("seen[0] = x[1] > 1.0", 1, 0),
        ("seen[:] = m > 1", 1 + 3, 0),
        ("if least(x) and flag:\n        count = 1", 3, 1),
        ("done = least(x)", 2, 0),
        ("if c == 'a':\n        count = c + 1", 3, 98),
        ("if true:\n        count = 1", 1, 1),
        ("while not done at most 2 times:\n        done = true", 3, 0),
        ("count = flag + seen[2]", 1, 1),
        ("if flag == true:\n        count = 1", 2, 1),
        ("let row = seen[1..3]\n    if row[1]:\n        count = 1", 1, 0),
    ],
)
def test_what_is_declared_as_bool_is_a_condition(line: str, work: int, expected: int) -> None:
    text = CONDITIONS + lines(line) + "    return count\n"
    arguments = {"x": [0.5, 3.0, 2.0], "flag": True, "c": 97, "seen": [False, True, False], "m": 2}
    result = agreed(text, arguments)
    assert (result.counts.work - 1, result.value) == (work, expected)


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("if m:\n        pass", "write `m != 0`"),
        ("if n % 2:\n        pass", "write `n % 2 != 0`"),
        ("if c:\n        pass", "write `c != 0`"),
        ("if flag and m:\n        pass", "write `m != 0`"),
        ("count = m > 1", "declare `count` as `bool`"),
        ("if x[0]:\n        pass", "compare it with something"),
    ],
)
def test_an_integer_is_no_condition(line: str, hint: str) -> None:
    with pytest.raises(ArchlineError) as problem:
        load_text(CONDITIONS + lines(line) + "    return count\n")
    (diagnostic,) = problem.value.diagnostics
    assert diagnostic.rule.code == "AL225"
    assert hint in (diagnostic.hint or "")


# Generated expressions with calls, sizes, data and truth values
CALLEES = """algorithm half(x: real) -> real:
    return x/2

algorithm pick(x: real[n], i: int) -> int:
    local c: int = 0
    for j in 0..n:
        if x[j] > i:
            c += 1
    return c

algorithm odd(i: int) -> bool:
    return i % 2 == 1

"""


def reals(depth: int) -> st.SearchStrategy[str]:
    simple = st.sampled_from(["x[0]", "s", "1.5", "x[n - 1]"])
    if depth == 0:
        return simple
    inner = reals(depth - 1)
    other = st.one_of(inner, sizes(depth - 1), integers(depth - 1))
    return st.one_of(
        simple,
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), other),
        st.builds("({} {} {})".format, other, st.sampled_from("+-*/"), inner),
        st.builds("half({})".format, other),
        st.builds("min({}, {})".format, inner, other),
        st.builds("abs({})".format, inner),
    )


def sizes(depth: int) -> st.SearchStrategy[str]:
    simple = st.sampled_from(["n", "2", "t", "(n + t)"])
    if depth == 0:
        return simple
    inner = sizes(depth - 1)
    return st.one_of(
        simple, st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner), simple.map("({}//2)".format)
    )


def integers(depth: int) -> st.SearchStrategy[str]:
    simple = st.sampled_from(["k", "c[0]", "3", "c[t]"])
    if depth == 0:
        return simple
    inner = integers(depth - 1)
    return st.one_of(
        simple,
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-"]), st.one_of(inner, sizes(depth - 1))),
        st.builds("pick(x, {})".format, inner),
        st.builds("c[pick(x, {}) % n]".format, inner),
    )


def conditions(depth: int) -> st.SearchStrategy[str]:
    simple = st.sampled_from(["b", "not b", "seen[t]", "true"])
    if depth == 0:
        return simple
    inner, numbers = conditions(depth - 1), st.one_of(reals(depth - 1), integers(depth - 1), sizes(depth - 1))
    return st.one_of(
        simple,
        st.builds("({} {} {})".format, inner, st.sampled_from(["and", "or"]), inner),
        st.builds("{} {} {}".format, numbers, st.sampled_from(["<", "==", ">="]), numbers),
        st.builds("odd({})".format, integers(depth - 1)),
        st.builds("not ({})".format, inner),
    )


@st.composite
def programs(draw: st.DrawFn) -> str:
    body = ["local s: real = 0", "local k: int = m", "local b: bool = false"]
    for _ in range(draw(st.integers(1, 4))):
        match draw(st.sampled_from(["real", "int", "bool", "if", "for"])):
            case "real":
                body.append(
                    f"{draw(st.sampled_from(['s', 'x[0]']))} {draw(st.sampled_from(['=', '+=']))} {draw(reals(2))}"
                )
            case "int":
                body.append(f"k = {draw(integers(2))}")
            case "bool":
                body.append(f"{draw(st.sampled_from(['b', 'seen[0]']))} = {draw(conditions(2))}")
            case "if":
                body += [
                    f"if {draw(conditions(2))}:",
                    f"    s = {draw(reals(1))}",
                    "else:",
                    f"    k = {draw(integers(1))}",
                ]
            case _:
                body += ["for i in 0..n:", f"    if {draw(conditions(1))}:", f"        x[i] = {draw(reals(1))}"]
    head = (
        "algorithm f(x: inout real[n], c: int[n], seen: inout bool[n], t: index, m: int) -> real:\n    where t >= 0\n"
    )
    return CALLEES + head + lines(*body) + "    return s\n"


@settings(max_examples=30, deadline=None)
@given(programs(), st.integers(1, 5), st.randoms())
def test_generated_expressions(text: str, n: int, random: Any) -> None:
    arguments = {
        "x": [random.uniform(0, 4) for _ in range(n)],
        "c": [random.randrange(4) for _ in range(n)],
        "seen": [random.random() < 0.5 for _ in range(n)],
        "t": random.randrange(n),
        "m": random.randrange(5),
    }
    module = load_text(text)
    costs = derive(module, module.algorithms["f"])
    assert_agreement(costs, run(text, arguments), text)
