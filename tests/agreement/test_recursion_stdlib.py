"""The recursions of the standard library: what they ensure holds, and closed bounds hold the recurrences."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.claims.decide import decide
from archline.expr.values import holds
from recursive_programs.agreement import outside, value_or_none
from stdlib_cases import derived, load
from stdlib_recursive_cases import RECURSIVE

FAR = (
    (64, 64, 64),
    (100, 100, 100),
    (255, 257, 256),
    (1024, 1024, 1024),
    (1000, 3, 40),
    (7, 2000, 31),
    (18, 17, 999),
    (4096, 1, 4096),
)
"""Sizes at which the recurrence is followed, which runs of the others bear out, in the order of the parameters."""


OPEN = {
    "sort.merge_parallel::merge_parallel": {"span"},
    "sort.mergesort::mergesort_parallel": {"span"},
}
"""What is claimed of a metric and neither proved nor refuted, for want of bounds that are near enough."""


@pytest.mark.parametrize("target", RECURSIVE)
def test_what_is_ensured_holds(target: str) -> None:
    for verdict in decide(*load(target), derived(target)):
        metric = verdict.ensures.metric
        assert verdict.outcome != "fails", verdict
        if metric in ("flops", "work", "span", "time") and metric not in OPEN.get(target, set()):
            assert verdict.outcome == "holds", verdict


def far_sizes(target: str) -> Iterator[dict[str, int]]:
    """Large sizes that the declaration allows; none of algorithms with parameters of any sign."""
    module, algorithm = load(target)
    signature = module.signatures[algorithm]
    for values in () if signature.indices else FAR:
        sizes = dict(zip(signature.size_names, values, strict=False))
        if len(sizes) == len(signature.size_names) and all(holds(fact, sizes) for fact in algorithm.where):
            yield sizes


@pytest.mark.parametrize("target", RECURSIVE)
def test_closed_bounds_hold_the_recurrence(target: str) -> None:
    """At sizes beyond what is run: the closed bounds against the recurrence that runs bear out."""
    costs = derived(target)
    for sizes in far_sizes(target):
        for cost in (*costs, *costs.flops_by_kind.values()):
            value = value_or_none(cost, sizes)
            if value is not None and cost.lower is not None:
                assert not list(outside(cost, value, sizes)), (cost.metric, sizes)


LEVELS = 1, 9, 16, 17, 31, 64, 1025, 2**20, 2**40 + 1, 2**60
"""Sizes at leaves, just above them, and far above."""


@pytest.mark.parametrize("metric", ["work", "span"])
def test_bounds_of_a_product_with_temporaries_are_near_at_all_sizes(metric: str) -> None:
    """Leaves allow 16^2/9^2 on one side; far out products of logarithms decide, of which both bounds have the same."""
    cost = derived("dense.matmul_recursive::matmul_temporary")[metric]
    for values in product(LEVELS, repeat=3):
        sizes = dict(zip("nmp", values, strict=True))
        lower, upper = evaluate(cost.lower, sizes), evaluate(cost.upper, sizes)
        assert lower <= upper <= lower * Fraction(17, 4), sizes
        if metric == "span" and min(values) > 1_000:
            assert upper <= lower * Fraction(32, 10), sizes
