"""Rounds of parallel loops, strides that double, and few iterations: spans, work and flops hold what is executed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.claims.growth_of_cost import growth
from archline.execution.data import generate
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from derived_counts import assert_agreement
from effort import drawn


def algorithm_of(nest: str) -> Module:
    """The algorithm `f` of a nest, a line of it between bars."""
    body = "".join(f"{'    ' * depth}{line}\n" for depth, line in enumerate(nest.split(" | "), 1))
    return load_text(f"algorithm f(n: size, m: size, x: inout real[n + 9]):\n    where n >= 3 and m >= 1\n{body}")


# What is known of a nest beforehand: its costs, or how they grow.
KNOWN = [
    ("for c in 0..2: | parallel for i in 1 + c..n - 1 step 2: | x[i] = x[i - 1] + x[i + 1]", "span", "Theta(log2(n))"),
    ("for c in 0..3: | parallel for i in c..n step 3: | x[i] += 1.0", "span", "Theta(log2(n))"),
    ("for i in n - 1 downto 0 step 2: | parallel for j in i..n: | x[j] += 1.0", "span", "O(n*log2(n)), Omega(n)"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n step 2^(d + 1): | if i + 2^d < n: | x[i] += x[i + 2^d]",
     "flops", "n - 1"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n - 2^d step 2^(d + 1): | x[i] += x[i + 2^d]", "flops", "n - 1"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n - 2^d step 2^(d + 1): | x[i] += x[i + 2^d]",
     "work", "2*n + ceil(log2(n)) - 1"),
    ("for d in 0..ceil(log2(n)): | parallel for i in 0..n step 2^(d + 1): | if i + 2^d < n: | x[i] += x[i + 2^d]",
     "span", "Theta(log2(n)^2)"),
    ("for j in 0..floor(log2(n)): | for i in 0..n step 2^j: | x[i] += 1.0", "flops", "Theta(n)"),
    ("for i in 0..n: | if i // m == 2: | x[i] += 1.0", "flops", "m + max(0, 2*m - n) - max(0, 3*m - n)"),
]  # fmt: skip


@pytest.mark.parametrize(("nest", "metric", "known"), KNOWN)
def test_what_is_known_of_a_nest_is_derived(nest: str, metric: str, known: str) -> None:
    module = algorithm_of(nest)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    cost = costs[metric]
    assert cost.upper is not None
    assert known in (costs.text(cost.upper) if cost.exact else "", growth(module, algorithm, costs, cost).text)
    for n, m in ((3, 1), (4, 1), (5, 2), (8, 3), (13, 4), (16, 5), (17, 8)):
        run = execute(module, algorithm, generate(module, algorithm, {"n": n, "m": m}, seed=1), compiled=False)
        assert_agreement(costs, run, nest)


@st.composite
def nests(draw: st.DrawFn) -> str:
    """Rounds with strides, guards or copies, loops that get shorter, and few iterations, with any small numbers."""
    k, c, d = draw(st.integers(2, 4)), draw(st.integers(0, 3)), draw(st.integers(0, 2))
    loop = draw(st.sampled_from(("for", "parallel for")))
    rounds = draw(st.sampled_from(("for d in 0..ceil(log2(n)):", "for d in 0..floor(log2(n)):", f"for d in 0..{k}:")))
    step = draw(st.sampled_from(("2^d", "2^(d + 1)", f"{k}*2^d", f"d + {d + 1}", f"2^(d + {d})")))
    guard = draw(
        st.sampled_from(("if i + 2^d < n:", f"if i >= 2^d - {c}:", f"if i // m == {c}:", f"if i // {k} == d:"))
    )
    return draw(
        st.sampled_from(
            (
                f"{rounds} | {loop} i in {c}..n step {step}: | x[i] += 1.0",
                f"{rounds} | {loop} i in {c}..n - 2^d step {step}: | x[i] += 1.0",
                f"{rounds} | {loop} i in 0..n step {step}: | {guard} | x[i] += 1.0",
                f"{rounds} | {loop} i in {c}..n: | {guard} | x[i] += 1.0",
                f"{rounds} | {loop} i in {c}..n: | {guard} | for e in 0..d: | x[i] += 1.0",
                f"for c in 0..{k}: | {loop} i in {d} + c..n - {c} step {k}: | x[i] += 1.0",
                f"for c in 0..{k}: | parallel for e in c..m: | {loop} i in c..n step {k}: | atomic x[i] += 1.0",
                f"for i in n - 1 downto {c} step {k}: | {loop} j in i..n + {d}: | x[j] += 1.0",
                f"for i in {c}..n step {k}: | {loop} j in i // {k}..n step {d + 1}: | x[j] += 1.0",
                f"for i in 0..n: | if i // m != {c}: | x[i] += 1.0",
                f"for i in 0..n: | if i // m >= {c} and i // m < {k}: | x[i] += 1.0",
            )
        )
    )


@settings(max_examples=drawn(60), deadline=None)
@given(nests(), st.integers(3, 18), st.integers(1, 9))
def test_nests_cost_what_they_execute(nest: str, n: int, m: int) -> None:
    module = algorithm_of(nest)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    assert costs["flops"].status != "unknown", nest
    assert costs["span"].status != "unknown", nest
    run = execute(module, algorithm, generate(module, algorithm, {"n": n, "m": m}, seed=1), compiled=False)
    assert_agreement(costs, run, nest)
