"""Bounds of the recursions of the standard library are within a factor of 4 of each other at every size.

That is asked wherever the sizes alone decide a cost: at sizes just above leaves, very unequal and huge ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cost import Cost
from archline.claims.decide import decide_claims
from archline.expr.intervals import EvaluationError
from archline.expr.values import evaluate_fact
from recursive_programs.agreement import disagreements, executed, outside, value_or_none
from stdlib_cases import derived, execute_case, load
from stdlib_recursive_cases import RECURSIVE

FACTOR = 4
METRICS = {"flops", "work", "span"}
EQUAL = (
    *range(1, 70),
    *(2**k + more for k in range(7, 13) for more in (-1, 0, 1, 2**k // 16)),
    *(2**20 + 1, 2**40, 2**60, 2**60 + 1, 17 * 2**40, 31 * 2**40, 2**200),
)
PAIRS = (*range(1, 5), *range(7, 10), *range(15, 19), *range(31, 35), 64, 65, 68, 132, 543, 1024, 2**20 + 1, 2**60, 17 * 2**40, 2**200)  # fmt: skip
TRIPLES = (1, 2, 8, 9, 16, 17, 31, 32, 33, 257, 2**20 + 1, 2**200)
SHAPES: dict[int, Sequence[int]] = {1: EQUAL, 2: PAIRS, 3: TRIPLES}
"""The values of each size, by the number of sizes."""
FEW: dict[int, Sequence[int]] = {1: (*EQUAL[15:40], 100, 1000, 4096), 2: (1, 2, 17, 33, 1025), 3: (1, 16, 17, 33, 1025)}
"""Those at which the recurrence itself is followed."""
FAR = ((255, 257, 256), (1000, 3, 40), (7, 2000, 31), (18, 17, 999), (4096, 1, 4096))
"""More of these, in the order of the parameters."""


def points(target: str, values: dict[int, Sequence[int]]) -> Iterator[dict[str, int]]:
    module, algorithm = load(target)
    signature = module.signatures[algorithm]
    names = signature.size_names
    for each in () if signature.indices else product(values.get(len(names), ()), repeat=len(names)):
        sizes = dict(zip(names, each, strict=True))
        if all(evaluate_fact(fact, sizes) for fact in algorithm.where):
            yield sizes


def ends(cost: Cost, at: dict[str, int]) -> tuple[Fraction, Fraction] | None:
    try:
        return None if cost.interval_at is None else cost.interval_at(at).ends
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
def test_bounds_hold_the_recurrence(target: str) -> None:
    """At sizes beyond what is run: closed bounds, of each kind of flops and of regimes too, hold what runs bear out."""
    costs = derived(target)
    for sizes in (*points(target, FEW), *far_sizes(target)):
        for cost in (*costs, *costs.flops_by_kind.values()):
            value = value_or_none(cost, sizes)
            if value is not None and cost.lower is not None:
                assert not list(outside(cost, value, sizes)), (cost.metric, sizes)


def far_sizes(target: str) -> Iterator[dict[str, int]]:
    """Those that the declaration allows; none of algorithms with parameters of any sign."""
    module, algorithm = load(target)
    signature = module.signatures[algorithm]
    for values in () if signature.indices else FAR:
        sizes = dict(zip(signature.size_names, values, strict=False))
        if all(evaluate_fact(fact, sizes) for fact in algorithm.where):
            yield sizes


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


@pytest.mark.parametrize("target", RECURSIVE)
def test_what_is_ensured_holds(target: str) -> None:
    for verdict in decide_claims(*load(target), derived(target)):
        metric = verdict.ensures.metric
        assert verdict.outcome != "fails", verdict
        if metric in ("flops", "work", "span", "time"):
            assert verdict.outcome == "holds", verdict


@pytest.mark.parametrize("exponent", [*range(2, 70), 100, 127, 128, 129, 255, 256, 257, 400, 512, 1000])
def test_span_of_the_six_step_transform_is_near(exponent: int) -> None:
    """Small exponents by themselves, so that bounds are near at small sizes as at large ones."""
    cost, at = derived("fft.fft::fft_co")["span"], {"n": 1 << exponent}
    low, high, (count, same) = evaluate(cost.lower, at), evaluate(cost.upper, at), cost.interval_at(at).ends
    assert count == same
    assert low <= count <= high <= 2.1 * float(low)


# Data that splits as unequally as it can
def worst_halves(n: int, m: int) -> tuple[list[float], list[float]]:
    """Each middle of the longer array splits the shorter one into all and nothing, again and again."""
    return [float(i) for i in range(n)], [n / 2 + (i + 1) / (4 * m + 4) for i in range(m)]


ARRAYS: dict[str, Callable[[int, int], tuple[list[float], list[float]]]] = {
    "before": lambda n, m: ([float(i) for i in range(n)], [float(n + i) for i in range(m)]),
    "after": lambda n, m: ([float(m + i) for i in range(n)], [float(i) for i in range(m)]),
    "in turn": lambda n, m: ([2.0 * i for i in range(n)], [2.0 * i + 1 for i in range(m)]),
    "equal": lambda n, m: ([0.0] * n, [0.0] * m),
    "inside": worst_halves,
}


@pytest.mark.parametrize("arrays", ARRAYS)
@pytest.mark.parametrize(
    ("n", "m"), [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (3, 3), (8, 8), (31, 33), (64, 1), (1, 100), (100, 37)]
)
def test_the_parallel_merge_of_hard_data(arrays: str, n: int, m: int) -> None:
    first, second = (np.array(each, dtype=float) for each in ARRAYS[arrays](n, m))
    target = "sort.merge_parallel::merge_parallel"
    ran = execute_case(target, {"a": first, "b": second}, {"c": np.zeros(n + m)}, compiled=False)
    assert list(ran.results["c"]) == sorted([*first, *second])
    assert not list(disagreements(derived(target), executed(ran.counts), ran.sizes))


@pytest.mark.parametrize("n", [1, 2, 3, 7, 16, 33, 100])
@pytest.mark.parametrize("order", [1, -1])
def test_the_parallel_mergesort_of_sorted_data(n: int, order: int) -> None:
    target, values = "sort.mergesort::mergesort_parallel", np.arange(float(n))[::order]
    ran = execute_case(target, {"a": values.copy()}, {"b": np.zeros(n)}, compiled=False)
    assert not list(disagreements(derived(target), executed(ran.counts), ran.sizes))
