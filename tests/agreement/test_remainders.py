"""Conditions on remainders, loops by powers of two and by roots: exact for any divisor, held against the execution."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.algebra.printing import to_text
from archline.analysis.analyse import derive
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn

ONE = "x[i] += 1"
# Conditions of a loop over i with sizes n, m and k.
CONDITIONS = [
    "i % m == 0", "i % m < k", "i % m != k", "i % m >= k", "i % m > k", "i % m <= k", "k > i % m", "m - i % m == 1",
    "i // m % 2 == 0", "i // m % k == 1", "i // 4 % 2 == 0", "i // 7 % 5 != 3", "(i + k) % m == 2", "i % 30 < 7",
    "i % (m*k) < m", "i % (m + k) == m", "i == i // m*m", "i % m == 0 and i % 2 == 0", "i % m == 0 or i // m == k",
    "not i % m < k", "(n - i) % m == 0", "(2*i) % m < 1",
]  # fmt: skip
BITONIC = """algorithm bitonic(x: inout real[n]):
    "Batcher's bitonic sorting network."
    where n is power of 2
    ensures flops == n*log2(n)*(log2(n) + 1)/2
    for k in 1..log2(n) + 1:
        for j in k - 1 downto 0:
            parallel for i in 0..n:
                if i // 2^j % 2 == 0:
                    let p = i + 2^j
                    local lo: real = min(x[i], x[p])
                    local hi: real = max(x[i], x[p])
                    if i // 2^k % 2 == 0:
                        x[i] = lo
                        x[p] = hi
                    else:
                        x[i] = hi
                        x[p] = lo
"""
BUTTERFLY = """algorithm butterfly(x: inout real[n]):
    "The walk of an iterative fast transform, with a sum and a difference for each pair."
    where n is power of 2
    ensures flops == n*log2(n)
    for j in 0..log2(n):
        parallel for b in 0..n step 2^(j+1):
            parallel for i in b..b + 2^j:
                local t: real = x[i] - x[i + 2^j]
                x[i] += x[i + 2^j]
                x[i + 2^j] = t
"""


def assert_executed(module: Module, algorithm: s.Algorithm, point: dict[str, int], exact: str) -> None:
    costs = derive(module, algorithm)
    assert {cost.metric for cost in costs if cost.exact} >= set(exact.split())
    run = execute(module, algorithm, generate_arguments(module, algorithm, point, seed=1), compiled=False)
    for cost in costs:
        assert cost.lower is not None, cost.reason
        count = getattr(run.counts, cost.metric)
        assert evaluate(cost.lower, run.sizes) <= count <= evaluate(cost.upper, run.sizes), cost.metric


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("i // m % 2 == 0", "m*floor(n/(2*m)) + min(m, n%(2*m))"),
        ("i % m == 0", "ceil(n/m)"),
        ("i % m == m - 1", "floor(n/m)"),
        ("i % m != m - 1", "n - floor(n/m)"),
        ("i - i // 2*2 == 1", "floor(n/2)"),
        ("i % 2 == 0", "ceil(n/2)"),
        ("i % 2 == 0 and i % 3 == 0", "ceil(n/6)"),
        ("i % 4 < 2", "2*floor(n/4) + min(2, n%4)"),
    ],
)
def test_counts_read_as_one_would_write_them(condition: str, text: str) -> None:
    """Of the n indices, whole periods and what is left of the last one."""
    program = (
        f"algorithm f(x: inout real[n], m: size):\n    for i in 0..n:\n        if {condition}:\n            {ONE}\n"
    )
    module = load_text(program)
    costs = derive(module, module.algorithms["f"])
    assert costs["flops"].lower is not None
    assert to_text(costs["flops"].lower, ("n", "m")) == text


def test_the_sign_of_a_remainder_stands_outside_its_brackets() -> None:
    """-n%m would be (-n)%m."""
    n, m = Poly.symbol("n"), Poly.symbol("m")
    remainder = a.modulo(n, m)
    assert to_text(-remainder, ("n", "m")) == "-(n%m)"
    assert to_text(m - remainder, ("n", "m")) == "m - n%m"
    assert to_text(remainder * 2, ("n", "m")) == "2*(n%m)"
    assert to_text(remainder**2, ("n", "m")) == "(n%m)^2"


# Two remainders at once, and a stride that may not meet the divisor, are bounded.
BOUNDED = {"i % m == 0 and i % 2 == 0", "i % m == 0 or i // m == k", "(2*i) % m < 1"}


@pytest.mark.parametrize("condition", CONDITIONS)
@settings(max_examples=drawn(50))
@given(n=st.integers(1, 40), m=st.integers(1, 9), k=st.integers(1, 9))
def test_conditions_are_counted(condition: str, n: int, m: int, k: int) -> None:
    text = f"algorithm f(x: inout real[n], m: size, k: size):\n    for i in 0..n:\n        if {condition}:\n            {ONE}\n"
    module = load_text(text)
    exact = "" if condition in BOUNDED else "flops work span"
    assert_executed(module, module.algorithms["f"], {"n": n, "m": m, "k": k}, exact)


@pytest.mark.parametrize("head", ["i in n-1 downto 0", "i in k..n", "i in 0..n step 2", "i in n-1 downto k"])
@settings(max_examples=drawn(50))
@given(n=st.integers(1, 40), m=st.integers(1, 9), k=st.integers(1, 9))
def test_loops_that_start_elsewhere_or_go_back(head: str, n: int, m: int, k: int) -> None:
    text = (
        f"algorithm f(x: inout real[n], m: size, k: size):\n    for {head}:\n        if i % m < 2:\n            {ONE}\n"
    )
    module = load_text(text)
    exact = "" if "step" in head else "flops work span"
    assert_executed(module, module.algorithms["f"], {"n": n, "m": m, "k": k}, exact)


@pytest.mark.parametrize("condition", ["i % n == 0", "i % n < 2", "i // n % 2 == 0", "i % m < n", "i % (n + m) == n"])
def test_divisors_that_are_positive_only_inside_the_loop(condition: str) -> None:
    text = "algorithm f(x: inout real[n], m: size):\n    where n >= 0, m >= n\n    for i in 0..n:\n"
    module = load_text(
        f"{text}        if {condition}:\n            {ONE}\n        for j in 0..i // n*i + i % m:\n            pass\n"
    )
    for n in range(7):
        for m in range(max(n, 1), n + 5):
            assert_executed(module, module.algorithms["f"], {"n": n, "m": m}, "flops work span")


@pytest.mark.parametrize("extent", ["floor(sqrt(i))", "ceil(sqrt(n - i))", "floor(sqrt(i + m))", "i*floor(sqrt(i))"])
@settings(max_examples=drawn(50))
@given(n=st.integers(1, 40), m=st.integers(1, 9))
def test_roots_of_the_loop_variable(extent: str, n: int, m: int) -> None:
    text = f"algorithm f(x: inout real[n], m: size):\n    for i in 0..n:\n        for j in 0..{extent}:\n            x[0] += 1\n"
    module = load_text(text)
    assert_executed(module, module.algorithms["f"], {"n": n, "m": m}, "flops work span")


@settings(max_examples=drawn(50))
@given(n=st.integers(1, 40), m=st.integers(1, 9))
def test_floors_and_remainders_as_extents(n: int, m: int) -> None:
    text = (
        "algorithm f(x: inout real[n], m: size):\n    for i in 0..n:\n        for j in 0..i % m:\n            x[j] += 1\n"
        "        for j in 0..i // m*i:\n            x[0] += 1\n"
    )
    module = load_text(text)
    assert_executed(module, module.algorithms["f"], {"n": n, "m": m}, "flops work")


@pytest.mark.parametrize("text", [BITONIC, BUTTERFLY], ids=["bitonic", "butterfly"])
@pytest.mark.parametrize("exponent", range(6))
def test_networks_by_powers_of_two(text: str, exponent: int) -> None:
    module = load_text(text)
    (algorithm,) = module.algorithms.values()
    assert_executed(module, algorithm, {"n": 2**exponent}, "flops work span")


def test_a_parallel_condition_that_may_hold_nowhere() -> None:
    """The span is that of the dearer branch only where some iteration takes it."""
    text = (
        "algorithm f(x: inout real[n], m: size):\n    where n >= m\n    parallel for i in 0..n:\n"
        "        if i % m == m - 1:\n            x[i] = x[i]*x[i]*x[i]\n"
    )
    module = load_text(text)
    for n in range(1, 7):
        for m in range(1, n + 1):
            assert_executed(module, module.algorithms["f"], {"n": n, "m": m}, "flops work span")
