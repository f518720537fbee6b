"""Branches that the sizes choose: costs by cases, each with its growth, which executions and claims confirm."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.analysis.analyse import derive
from archline.claims.decide import decide_claims
from archline.cost_growth.growth_of_cost import growth_of_cost
from archline.execution.data import generate_arguments
from archline.execution.run import execute
from archline.expr.text import format_conjunction
from archline.language.loader import load_text
from derived_counts import assert_agreement
from effort import drawn
from printed_claims import pasted, verdicts

THREE = """
algorithm f(x: inout real[n], w: in real[m]):
    if n <= m:
        for i in 0..n:
            x[i] += w[i]
    elif n <= 2*m:
        for i in 0..n:
            for j in 0..m:
                x[i] += w[j]
    else:
        for i in 0..n:
            for j in 0..n:
                x[i] += 1.0
"""
# Of conditions between sizes, on them and a counter, and together.
OF_SIZES = st.builds(
    "{} {} {}".format,
    st.sampled_from(["n", "m", "2*n", "n + m"]),
    st.sampled_from(["<", "<=", ">", ">=", "==", "!="]),
    st.sampled_from(["n", "m", "2*m + 1", "m - 3", "3*m", "1", "4"]),
)
OF_COUNTERS = st.sampled_from(
    [
        "i < m",
        "i + 1 == n",
        "i == 0",
        "2*i < n",
        "i >= m - 2",
        "2*i >= m",
        "i % 3 == 1",
        "i % 2 == 0",
        "(i + m) % 2 == 1",
    ]
)
LEAVES = st.sampled_from(["x[0] += 1.0", "x[0] *= x[0] + 2.0", "x[0] = 1.0"])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


@st.composite
def bodies(draw: st.DrawFn, depth: int = 2, counters: tuple[str, ...] = ()) -> list[str]:
    """Statements: a leaf, a loop, or branches."""
    kind = draw(st.sampled_from(["leaf", "loop", "branch", "branch"] if depth else ["leaf"]))
    if kind == "leaf":
        return [draw(LEAVES)]
    if kind == "loop" and not counters:
        return [
            f"for i in 0..{draw(st.sampled_from(['n', 'm', 'n + m']))}:",
            *indented(draw(bodies(depth - 1, ("i",)))),
        ]
    conditions = OF_SIZES | OF_COUNTERS if counters else OF_SIZES
    tests = draw(st.lists(conditions, min_size=1, max_size=2))
    words = ["if", "elif"]
    lines = []
    for word, test in zip(words, tests, strict=False):
        test = f"{test} {draw(st.sampled_from(['and', 'or']))} {draw(OF_SIZES)}" if draw(st.booleans()) else test
        lines += [f"{word} {test}:", *indented(draw(bodies(depth - 1, counters)))]
    if draw(st.booleans()):
        lines += ["else:", *indented(draw(bodies(depth - 1, counters)))]
    return lines


@given(st.lists(bodies(), min_size=1, max_size=2))
@settings(max_examples=drawn(120), deadline=None)
def test_each_case_holds_what_runs_count(parts: list[list[str]]) -> None:
    lines = ["algorithm f(x: inout real[n], w: in real[m]):", *indented([line for part in parts for line in part])]
    text = "\n".join(lines) + "\n"
    module = load_text(text)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    for n, m in [*product((1, 2, 3, 5, 8), (1, 2, 4, 7))]:
        run = execute(
            module, algorithm, generate_arguments(module, algorithm, {"n": n, "m": m}, seed=1), compiled=False
        )
        assert_agreement(costs, run, text)


CHAIN = """
algorithm f(x: inout real[n], w: in real[m]):
    for i in 0..n:
        if i % 3 == 1:
            x[i] += 1.0
        elif i % 2 == 0:
            x[i] *= x[i]*2.0
        elif 2*i >= m:
            x[i] = sqrt(x[i]) + 1.0
        else:
            x[i] = exp(x[i]) + log(x[i]) + 3.0
"""
EQUAL = """
algorithm f(x: inout real[n], w: inout real[m]):
    if n > m:
        for i in 0..n - m:
            x[i] += 1.0
    elif n == m:
        x[0] = x[0]*2.0*3.0
    else:
        for i in n..m:
            for j in 0..i:
                w[j] += 1.0
"""


def test_remainders_by_several_numbers_are_counted_by_classes() -> None:
    module = load_text(CHAIN)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    flops = costs["flops"].upper
    # Classes of i modulo 6, below n and below m/2: a sum of counts, without products of them.
    assert flops is not None
    assert all(sum(power for _, power in each) <= 1 for each in flops.terms)
    assert str(growth_of_cost(module, algorithm, costs, costs["flops"]).text) == "Theta(n)"
    for n, m in product((1, 2, 7, 12, 29), (1, 3, 8, 20, 90)):
        run = execute(
            module, algorithm, generate_arguments(module, algorithm, {"n": n, "m": m}, seed=1), compiled=False
        )
        assert_agreement(costs, run, CHAIN)


def test_equal_sizes_are_a_case() -> None:
    module = load_text(EQUAL)
    costs = derive(module, module.algorithms["f"])
    assert [(each.when, costs.text(each.upper)) for each in costs["flops"].by_case] == [
        ("m < n", "n - m"),
        ("m == n", "2"),
        ("otherwise", "1/2*(m - n)*(n + m - 1)"),
    ]


def test_growth_is_that_of_each_case() -> None:
    module = load_text(THREE)
    algorithm = module.algorithms["f"]
    costs = derive(module, algorithm)
    flops = costs["flops"]
    assert [(each.when, costs.text(each.upper)) for each in flops.by_case] == [
        ("n > 2*m", "n^2"),
        ("m < n and n <= 2*m", "n*m"),
        ("otherwise", "n"),
    ]
    found = [(str(each.text).partition(" where")[0], format_conjunction(each.where)) for each in
             growth_of_cost(module, algorithm, costs, flops).orders]  # fmt: skip
    assert found == [("Theta(n^2)", "n > 2*m"), ("Theta(n*m)", "m < n and n <= 2*m"), ("Theta(n)", "m >= n")]


@pytest.mark.parametrize(
    ("claim", "outcome"),
    [
        ("flops is O(n^2)", "holds"),
        ("flops is Omega(n)", "holds"),
        ("flops is Theta(n^2) when n > 2*m", "holds"),
        ("flops is Theta(n) when n <= m", "holds"),
        ("flops == n*m when n > m and n <= 2*m", "holds"),
        ("time(P) is O(n^2)", "holds"),
        ("flops is Theta(n^2)", "fails"),
        ("flops is O(n)", "fails"),
        ("flops is O(n) when n > m", "fails"),
    ],
)
def test_claims_on_cases(claim: str, outcome: str) -> None:
    module = load_text(pasted(THREE, 2, [f"ensures {claim}"]))
    algorithm = module.algorithms["f"]
    assert [each.outcome for each in decide_claims(module, algorithm, derive(module, algorithm))] == [outcome]


def test_what_is_printed_of_cases_is_proved(tmp_path) -> None:
    (tmp_path / "cases.algo").write_text(THREE)
    assert {each.outcome for each in verdicts(f"{tmp_path}/cases.algo::f")} == {"holds"}
