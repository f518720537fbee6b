"""Bounds of the recursions of the standard library are within a factor of 4 of each other at every size.

That is asked wherever the sizes alone decide a cost: at sizes just above leaves, very unequal and huge ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cost import Cost
from archline.claims.decide import decide
from archline.expr.intervals import EvaluationError
from archline.expr.values import holds
from recursive_programs.agreement import outside, value_or_none
from stdlib_cases import derived, load
from stdlib_recursive_cases import RECURSIVE

FACTOR = 4
METRICS = {"flops", "work", "span"}
EQUAL = (
    *range(1, 70),
    *(2**k + more for k in range(7, 13) for more in (-1, 0, 1, 2**k // 16)),
    *(2**20 + 1, 2**40, 2**60, 2**60 + 1, 17 * 2**40, 31 * 2**40, 2**200),
)
PAIRS = (
    *range(1, 5),
    7,
    8,
    9,
    *range(15, 19),
    *range(31, 35),
    64,
    65,
    68,
    132,
    543,
    1024,
    2**20 + 1,
    2**60,
    17 * 2**40,
    2**200,
)
TRIPLES = (1, 2, 8, 9, 16, 17, 31, 32, 33, 257, 2**20 + 1, 2**200)
SHAPES: dict[int, Sequence[int]] = {1: EQUAL, 2: PAIRS, 3: TRIPLES}
"""The values of each size, by the number of sizes."""
FEW = {1: EQUAL[15:40], 2: (1, 2, 17, 33, 1025), 3: (1, 16, 17, 33, 1025)}
"""Those at which the recurrence itself is followed."""


def points(target: str, values: dict[int, Sequence[int]]) -> Iterator[dict[str, int]]:
    module, algorithm = load(target)
    signature = module.signatures[algorithm]
    names = signature.size_names
    for each in () if signature.indices else product(values.get(len(names), ()), repeat=len(names)):
        sizes = dict(zip(names, each, strict=True))
        if all(holds(fact, sizes) for fact in algorithm.where):
            yield sizes


def ends(cost: Cost, at: dict[str, int]) -> tuple[Fraction, Fraction] | None:
    try:
        return None if cost.ends is None else cost.ends(at)
    except EvaluationError:
        return None


@cache
def followed(target: str) -> dict[str, list[tuple[dict[str, int], tuple[Fraction, Fraction] | None]]]:
    """By metric, what the recurrence gives at a few sizes."""
    few = list(points(target, FEW))
    return {cost.metric: [(at, ends(cost, at)) for at in few] for cost in derived(target)}


def decided_by_sizes(target: str, cost: Cost) -> bool:
    found = [each for _, each in followed(target)[cost.metric]]
    return bool(found) and all(each is not None and each[0] == each[1] for each in found)


@pytest.mark.parametrize("target", RECURSIVE)
def test_bounds_are_near_at_every_size(target: str) -> None:
    for cost in derived(target):
        if cost.lower is None or cost.upper is None or not decided_by_sizes(target, cost):
            continue
        for at in points(target, SHAPES):
            low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
            assert low <= high <= FACTOR * low, (cost.metric, at, float(high / low) if low else None)


@pytest.mark.parametrize("target", RECURSIVE)
def test_bounds_hold_the_recurrence_at_unequal_sizes(target: str) -> None:
    for cost in derived(target):
        for at, known in followed(target)[cost.metric]:
            if known is not None and cost.lower is not None and cost.upper is not None:
                assert evaluate(cost.lower, at) <= known[0] <= known[1] <= evaluate(cost.upper, at), (cost.metric, at)


@pytest.mark.parametrize(
    ("target", "metrics"),
    [
        ("dense.trisolv_recursive::trisolv_unit_co", {"flops", "work", "span"}),
        ("dense.matmul_recursive::matmul_temporary", {"flops", "work", "span"}),
        ("scan.recursive::prefix_sum_pairs", {"flops", "work", "span"}),
        ("sort.select::select", set()),
    ],
)
def test_sizes_alone_decide(target: str, metrics: set[str]) -> None:
    assert {cost.metric for cost in derived(target) if decided_by_sizes(target, cost)} & METRICS == metrics


# The recursions of the standard library: what they ensure holds, and closed bounds hold the recurrences


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


OPEN = {"sort.merge_parallel::merge_parallel": {"span"}, "sort.mergesort::mergesort_parallel": {"span"}}
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
