"""The standard library: what is derived is what is executed, everything it ensures is decided, no sum is left."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.claims.decide import decide
from stdlib_cases import CASES, execute_case, load
from test_stdlib_counts import BOUNDED


@pytest.mark.parametrize("target", CASES)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_derived_equals_executed(target: str, data: st.DataObject) -> None:
    module, algorithm = load(target)
    costs = derive(module, algorithm)
    arguments = data.draw(CASES[target].arguments)
    ran = execute_case(target, arguments, CASES[target].results(arguments))
    for cost in costs:
        count = getattr(ran.counts, cost.metric)
        assert cost.lower is not None
        assert cost.upper is not None
        lower, upper = evaluate(cost.lower, ran.sizes), evaluate(cost.upper, ran.sizes)
        assert lower <= count <= upper, (cost.metric, ran.sizes)
        assert lower == upper or cost.metric in BOUNDED.get(target, set())


@pytest.mark.parametrize("target", CASES)
def test_costs_are_exact_unless_the_data_decides(target: str) -> None:
    costs = derive(*load(target))
    assert {cost.metric for cost in costs if not cost.exact} == BOUNDED.get(target, set())


@pytest.mark.parametrize("target", CASES)
def test_everything_derived_is_decided(target: str) -> None:
    module, algorithm = load(target)
    for verdict in decide(module, algorithm, derive(module, algorithm)):
        if verdict.ensures.metric not in ("flops", "work", "span", "time"):
            assert verdict.outcome == "not decided yet", verdict
        else:
            assert verdict.outcome == "holds", verdict


@pytest.mark.parametrize(
    ("target", "flops"),
    [
        # Textbook counts: Golub and Van Loan, Matrix Computations (4th ed.), sections 3.1, 3.2, 4.2; multiplications,
        # divisions, additions and square roots one each.
        ("dense.lu::lu", lambda n: sum(n - k - 1 + 2 * (n - k - 1) ** 2 for k in range(n))),
        ("dense.cholesky::cholesky", lambda n: sum(1 + 2 * j + (n - j - 1) * (2 * j + 1) for j in range(n))),
        ("dense.trisolv::trisolv", lambda n: sum(2 * i + 1 for i in range(n))),
    ],
)
def test_kernels_that_others_leave_as_sums(target: str, flops: object) -> None:
    costs = derive(*load(target))
    for n in (1, 2, 3, 10, 101):
        assert evaluate(costs["flops"].lower, {"n": n}) == flops(n)  # type: ignore[operator]


def test_exact_at_a_size_of_thirty_digits() -> None:
    costs = derive(*load("dense.lu::lu"))
    n = 10**30
    assert evaluate(costs["flops"].lower, {"n": n}) == n * (n - 1) * (4 * n + 1) // 6
