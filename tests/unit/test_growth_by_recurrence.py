"""The growth of recursive costs by their recurrences: against executed counts, recursion in Python, and refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, value_at
from archline.analysis.cost import Cost, Costs
from archline.analysis.metrics.derivation import Derivation
from archline.cost_growth.growth_of_cost import derive_recurrence_growth
from archline.cost_growth.growth_of_recursion import RecurrenceGrowth
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.expr.tree import has_same_structure
from archline.growth.growths import Growth
from archline.growth.is_big_o import can_prove_big_o
from archline.growth.log_domain import Domain
from archline.language.loader import load_text
from archline.language.parser import parse_expression
from effort import drawn, long, some

STOOGE = """
algorithm stooge(x: inout real[n]):
    ensures work is Theta(n^(log2(3)/log2(3/2)))
    ensures work is O(n^3)
    ensures flops is Theta(n^(log2(3)/log2(3/2))) when n >= 2
    ensures work is O(n^2)
    ensures work is Omega(n^3)
    ensures flops is Omega(n)
    if n > 2:
        stooge(x[0..n - n//3])
        stooge(x[n//3..n])
        stooge(x[0..n - n//3])
    elif n == 2:
        if x[0] > x[1]:
            local t: real = x[0]
            x[0] = x[1]
            x[1] = t
"""
FIB = """
algorithm fib(n: size) -> real:
    local r: real = 1
    if n > 2:
        local a: real = fib(n - 1)
        local b: real = fib(n - 2)
        r = a + b
    return r
"""
# Names as in textbooks: T. Cormen et al., Introduction to Algorithms, exercises 4.4 and 4.5, and problem 7.3 (stooge).
PROGRAMS = [
    ("f(n - n//3); f(n - n//3); f(n - n//3)", 0, "n^(log2(3)/log2(3/2))"),
    ("f(n//3); f(n - n//3)", 1, "n*log2(n)"),
    ("f(n//3); f(2*n//3)", 1, "n*log2(n)"),
    ("f(n//4); f(n//2)", 2, "n^2"),
    ("f(n//2); f(n//4); f(n//8)", 1, "n"),
    ("f(n//2); f(n - n//2); f(ceil(n/2))", 1, "n^log2(3)"),
    ("f(n//4); f(n//4)", 0, "sqrt(n)"),
    ("f(n - 1)", 1, "n^2"),
    ("f(n - 3)", 2, "n^3"),
    ("f(n - 1); f(n - 1)", 2, "2^n"),
    ("f(n - 1); f(n - 2)", 0, "((1+sqrt(5))/2)^n"),
    ("f(n - 2); f(n - 2)", 1, "2^(n/2)"),
]


def text_of(calls: str, power: int, threshold: int = 8) -> str:
    """A program that calls itself so, and adds n^power flops and one."""
    loops = ["            " + "    " * depth + f"for i{depth} in 0..n:" for depth in range(power)]
    body = [f"        {each.strip()}" for each in calls.split(";")]
    if power:
        body += [line[4:] for line in loops] + ["        " + "    " * power + "s += 1.0"]
    lines = ["algorithm f(n: size):", "    local s: real = 0", f"    if n > {threshold}:", *body]
    return "\n".join([*lines, "        s += 1.0", "    else:", "        s += 1.0", ""])


def solved(text: str) -> RecurrenceGrowth:
    """What the recurrence tells, without the search for bounds, which takes longer."""
    module = load_text(text)
    algorithm = module.algorithms["f"]
    recursion = Derivation(module, coarse=False).recursions.build_recurrence(algorithm, "flops")
    if recursion is None:
        return RecurrenceGrowth(None, None, reason="not proved to end")
    costs = Costs(algorithm.name, module.signatures[algorithm].size_names, (), {}, {})
    found = derive_recurrence_growth(costs, Cost("flops", "unknown", None, None, recursion=recursion))
    assert found is not None
    return found


def log_of(growth: s.Expr, n: int) -> float:
    """log2 of an expression in n."""
    value = value_at(growth, {"n": n}, BALL_ARITHMETIC)
    return float((value.log() / math.log(2)).mid())


@pytest.mark.parametrize(("calls", "power", "growth"), PROGRAMS)
def test_textbook_recurrences_of_programs(calls: str, power: int, growth: str) -> None:
    found = solved(text_of(calls, power))
    assert has_same_structure(found.upper, found.lower)
    assert found.upper is not None
    domain = Domain(())
    f, g = found.upper, parse_expression(growth)
    assert can_prove_big_o(f, g, domain)
    assert can_prove_big_o(g, f, domain)


@long
def test_stooge_sort_grows_as_its_runs_do() -> None:
    subject = al.loads(STOOGE)["stooge"]
    report = subject.cost()
    assert report.work.growth == "Theta(n^(log2(3)/log2(3/2)))"
    assert report.flops.growth == "Theta(n^(log2(3)/log2(3/2))) where n >= 2"
    assert [each.outcome for each in report.ensures] == ["holds", "holds", "holds", "fails", "fails", "unknown"]
    exponent = math.log(3) / math.log(1.5)
    sizes = (1, 2, 3, 5, 10, 20, 40, 80, 160, 320)
    ratios = [subject.run(x=np.arange(n, dtype=float)).counts.work / n**exponent for n in sizes]
    # Sizes are rounded up again and again: n -> ceil(2*n/3) + O(1) stays within a constant factor.
    assert max(ratios) / min(ratios) < 16
    assert subject.run(x=np.zeros(1)).counts.flops == 0
    assert subject.run(x=np.zeros(2)).counts.flops > 0


@long
def test_fibonacci_grows_as_its_runs_do() -> None:
    subject = al.loads(FIB)["fib"]
    assert subject.cost().work.growth == "Theta(((1 + sqrt(5))/2)^n)"
    golden = (1 + math.sqrt(5)) / 2
    ratios = [subject.run(n=n).counts.work / golden**n for n in range(1, 26)]
    assert max(ratios) / min(ratios) < 4


# Programs at random
SPLITS: list[tuple[str, Callable[[int], int], float]] = [
    *((f"n//{b}", lambda n, b=b: n // b, 1 / b) for b in (2, 3, 4, 7)),
    *((f"n - n//{b}", lambda n, b=b: n - n // b, 1 - 1 / b) for b in (2, 3, 5)),
    *((f"ceil(n/{b})", lambda n, b=b: -(-n // b), 1 / b) for b in (2, 3)),
    *((f"{a}*n//{b}", lambda n, a=a, b=b: a * n // b, a / b) for a, b in ((2, 3), (3, 4), (2, 5))),
    *((f"n//{b} + 1", lambda n, b=b: n // b + 1, 1 / b) for b in (2, 3)),
]
STEPS: list[tuple[str, Callable[[int], int], float]] = [(f"n - {c}", lambda n, c=c: n - c, 1.0) for c in (1, 2, 3)]


def counted(calls: list[Callable[[int], int]], power: int, threshold: int) -> Callable[[int], int]:
    """The flops of a program, by recursion in Python."""

    @cache
    def flops(n: int) -> int:
        return 1 if n <= threshold else sum(flops(each(n)) for each in calls) + n**power * (power > 0) + 1

    return flops


def exact_or_rounded(found: RecurrenceGrowth) -> bool:
    """Whether one expression bounds from both sides, or two with numbers that are rounded down and up."""
    return found.lower is not None and (
        has_same_structure(found.upper, found.lower) or "." in format_expression(found.lower)
    )


def akra_bazzi(shares: list[float]) -> float:
    """The p with sum r^p = 1, by bisection."""
    low, high = -1.0, 64.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(r**middle for r in shares) > 1 else (low, middle)
    return low


@long
@settings(max_examples=drawn(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(SPLITS), min_size=1, max_size=4), st.integers(0, 2), st.integers(8, 12))
def test_divide_and_conquer_at_random(
    parts: list[tuple[str, Callable[[int], int], float]], power: int, least: int
) -> None:
    text = text_of("; ".join(f"f({each})" for each, _, _ in parts), power, least)
    found = solved(text)
    assert found.upper is not None, found.reason
    assert exact_or_rounded(found)
    assert found.least == 1
    flops = counted([each for _, each, _ in parts], power, least)
    program = al.loads(text)["f"]
    for n in (1, least, least + 1, 2 * least + 1, 57):
        assert program.run(n=n).counts.flops == flops(n)
    p = akra_bazzi([share for _, _, share in parts])
    few = len({share for _, _, share in parts}) <= 2
    near, far = (1 << 40, 1 << 80) if few else (1 << 12, 1 << 18)
    drift = [math.log2(flops(n)) - log_of(found.upper, n) for n in (near, 3 * near + 1, far, 5 * far // 3)]
    # Where the exponents are close, the slower sum has not yet gone.
    gap = abs(p - power)
    slack = 2.5 if gap < 1e-9 or gap * math.log2(near) > 8 else 6.0
    assert max(drift) - min(drift) < slack


@settings(max_examples=drawn(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3), st.integers(0, 2), st.integers(3, 6))
def test_calls_at_less_by_constants_at_random(
    parts: list[tuple[str, Callable[[int], int], float]], power: int, least: int
) -> None:
    text = text_of("; ".join(f"f({each})" for each, _, _ in parts), power, least)
    found = solved(text)
    assert found.upper is not None, found.reason
    assert exact_or_rounded(found)
    flops = counted([each for _, each, _ in parts], power, least)
    program = al.loads(text)["f"]
    for n in (1, least, least + 1, least + 4):
        assert program.run(n=n).counts.flops == flops(n)
    drift = [math.log2(flops(n)) - log_of(found.upper, n) for n in (60, 150, 151, 152, 400)]
    assert max(drift) - min(drift) < 1.5


# Where nothing, or less, is claimed
def test_a_recursion_that_does_not_end_has_no_growth() -> None:
    # f(n - n//3) calls itself at the same size at n = 2: 2 - 0 = 2.
    for threshold, ends in ((1, False), (2, True)):
        found = solved(text_of("f(n - n//3)", 1, threshold))
        assert (found.upper is not None) == ends


UNEVEN = text_of("f(n//3); f(3*n//4)", 1).replace(
    "size):",
    "size):\n    ensures flops is Theta(n^1.15196237)\n    ensures flops is O(n^1.16)\n    ensures flops is Omega(n^1.15)",
)


@long
def test_an_exponent_to_nine_digits_is_rounded_to_both_sides() -> None:
    for calls, root in (
        ("f(n//3); f(3*n//4)", akra_bazzi([1 / 3, 3 / 4])),
        ("f(n - 1); f(n - 2); f(n - 3)", tribonacci()),
    ):
        found = solved(text_of(calls, 1))
        assert found.lower is not None
        assert found.upper is not None
        below, above = (
            float(re.findall(r"\d+\.\d+", format_expression(each))[0]) for each in (found.lower, found.upper)
        )
        assert below < root < above
        assert above - below < 1e-7
    # The exponent is no decimal number: that it is this one is not so.
    outcomes = [each.outcome for each in al.loads(UNEVEN)["f"].cost().ensures]
    assert outcomes == ["unknown", "holds", "holds"]


def tribonacci() -> float:
    """The x with x^3 = x^2 + x + 1, by bisection."""
    low, high = 1.0, 2.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if middle**3 > middle**2 + middle + 1 else (middle, high)
    return low


DATA = """
algorithm f(x: inout real[n]):
    if n > 4:
        if x[0] > 0.0:
            f(x[0..n - n//3])
            f(x[0..n - n//3])
            f(x[0..n - n//3])
        else:
            x[0] += 1.0
    else:
        x[0] += 1.0
"""
EITHER = """
algorithm f(x: inout real[n]):
    if n > 4:
        f(x[0..n - n//3])
        f(x[0..n - n//3])
        f(x[0..n - n//3])
        if x[0] > 0.0:
            for i in 0..n:
                x[i] += 1.0
    else:
        x[0] += 1.0
"""


def test_paths_that_the_data_chooses_give_a_lower_bound_only_by_calls_of_all() -> None:
    some, every = solved(DATA), solved(EITHER)
    assert Growth(some.lower, some.upper).text == "O(n^(log2(3)/log2(3/2))), Omega(1)"
    assert Growth(every.lower, every.upper).text == "Theta(n^(log2(3)/log2(3/2)))"


def test_the_lower_bound_holds_where_the_cost_is_not_0() -> None:
    found = solved("""
algorithm f(n: size):
    local s: real = 0
    if n > 5:
        f(n - n//3)
        f(n//2)
        f(n//2)
        s += 1.0
""")
    assert exact_or_rounded(found)
    assert found.least == 6


SIDES = """
algorithm f(a: inout real[n, m]):
    if n > 2:
        f(a[0..n - {less}, 0..m])
        f(a[0..n - {less}, 0..m])
        f(a[0..n - {less}, 0..m])
    else:
        for j in 0..m:
            a[0, j] += 1.0
"""


@pytest.mark.parametrize(("less", "growth", "base"), some([("1", "m*3^n", 3), ("n//3", "m*n^(log2(3)/log2(3/2))", 0)]))
def test_a_size_that_calls_hand_on_is_a_factor(less: str, growth: str, base: int) -> None:
    text = SIDES.format(less=less)
    found = solved(text)
    assert Growth(found.lower, found.upper).text == f"Theta({growth})"
    program = al.loads(text)["f"]
    sizes = (2, 3, 5, 9) if base else (2, 5, 20, 60)
    exponent = math.log(3) / math.log(1.5)
    ratios = [
        program.run(a=np.zeros((n, m))).counts.flops / (m * (base**n if base else n**exponent))
        for n in sizes
        for m in (1, 10, 100)
    ]
    assert max(ratios) / min(ratios) < 16


TWO_SHRINK = """
algorithm f(n: size, k: size):
    local s: real = 0
    if n > 1:
        f(n//2, k + 1)
        for i in 0..k:
            s += 1.0
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TWO_SHRINK, "its calls change several parameters: `k`, `n`"),
        (text_of("f(n - 1); f(n//2)", 0), "besides calls at the size less a constant"),
        (text_of("f(n - 1 - n%2)", 0), "neither a part of `n` nor `n` less a constant"),
    ],
)
def test_what_is_out_of_reach_has_a_reason(text: str, reason: str) -> None:
    found = solved(text)
    assert found.upper is None
    assert reason in found.reason
