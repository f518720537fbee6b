"""The standard library: costs are exact unless the data decides, everything it ensures is decided, no sum is left."""

from __future__ import annotations

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.claims.decide import decide
from stdlib_cases import CASES, derived, load
from stdlib_targets import BOUNDED


@pytest.mark.parametrize("target", CASES)
def test_costs_are_exact_unless_the_data_decides(target: str) -> None:
    costs = derived(target)
    assert {cost.metric for cost in costs if not cost.exact} == BOUNDED.get(target, set())


@pytest.mark.parametrize("target", CASES)
def test_everything_derived_is_decided(target: str) -> None:
    for verdict in decide(*load(target), derived(target)):
        if verdict.ensures.metric not in ("flops", "work", "span", "time"):
            assert verdict.outcome == "unknown", verdict
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
    costs = derived(target)
    for n in (1, 2, 3, 10, 101):
        assert evaluate(costs["flops"].lower, {"n": n}) == flops(n)  # type: ignore[operator]


def test_exact_at_a_size_of_thirty_digits() -> None:
    costs = derived("dense.lu::lu")
    n = 10**30
    assert evaluate(costs["flops"].lower, {"n": n}) == n * (n - 1) * (4 * n + 1) // 6
