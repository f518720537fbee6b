"""Recursion on ranges of indices, whose cost depends on their length alone: as on a size, moved anywhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import ceil, log2

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.analysis.analyse import derive
from archline.analysis.cost import Cost, Costs
from archline.claims.decide import decide
from archline.claims.growth_of_cost import growth
from archline.execution.run import execute
from archline.expr.values import evaluate_static
from archline.language.loader import load_text
from archline.language.model import Module
from archline.language.parser import parse_expression

HALVES = """
algorithm halves(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo < hi, hi <= n
    decreases hi - lo
    if hi - lo > 1:
        let mid = (lo + hi)//2
        spawn halves(x, lo, mid)
        spawn halves(x, mid, hi)
        sync
        for i in lo..hi:
            x[i] += 1.0
"""
THIRDS = """
algorithm thirds(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo <= hi, hi <= n
    decreases hi - lo
    if hi - lo >= 3:
        thirds(x, lo, lo + (hi - lo)//3)
        thirds(x, hi - (hi - lo)//3, hi)
        for i in lo..hi:
            x[i] += 1.0
"""
LAST = """
algorithm last(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo <= hi, hi <= n
    decreases hi - lo
    if hi > lo:
        last(x, lo, hi - 1)
        x[hi - 1] += 1.0
"""
TWICE = """
algorithm twice(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo < hi, hi <= n
    decreases hi - lo
    x[lo] += 1.0
    if hi - lo >= 2:
        twice(x, lo, hi - 1)
        twice(x, lo, hi - 1)
"""
FROM_THE_START = """
algorithm shifted(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo <= hi, hi <= n
    decreases hi - lo
    if hi - lo > 1:
        shifted(x, lo, (lo + hi)//2)
        for i in 0..lo:
            x[i] += 1.0
"""
PLACES = [(0, 1), (3, 4), (0, 2), (5, 8), (0, 7), (2, 33), (11, 75), (0, 64), (7, 107)]


def loaded(text: str) -> tuple[Module, Costs]:
    module = load_text(text)
    return module, derive(module, next(iter(module.algorithms.values())))


def executed(module: Module, low: int, high: int) -> Mapping[str, int]:
    (algorithm,) = module.algorithms.values()
    counts = execute(module, algorithm, {"x": np.zeros(high + 2), "lo": low, "hi": high}, compiled=False).counts
    return {"flops": counts.flops, "work": counts.work, "span": counts.span}


def ends(cost: Cost, low: int, high: int) -> tuple[float, float]:
    point = {"n": high + 2, "lo": low, "hi": high}
    return float(evaluate(cost.lower, point)), float(evaluate(cost.upper, point))


@pytest.mark.parametrize("text", [HALVES, THIRDS, LAST], ids=["halves", "thirds", "last"])
def test_runs_are_between_the_bounds_wherever_the_range_lies(text: str) -> None:
    module, costs = loaded(text)
    for low, high in PLACES:
        counts = executed(module, low, high)
        for metric, count in counts.items():
            lower, upper = ends(costs[metric], low, high)
            assert lower <= count <= upper, (metric, low, high)
            if costs[metric].exact:
                assert lower == upper


@cache
def path_length(n: int) -> int:
    """T(n) = T(floor(n/2)) + T(ceil(n/2)) + n, T(1) = 0."""
    return 0 if n == 1 else path_length(n // 2) + path_length(n - n // 2) + n


def test_halves_of_a_range_are_exact() -> None:
    _, costs = loaded(HALVES)
    flops = costs["flops"]
    assert flops.exact
    for length in (1, 2, 3, 5, 100, 1000):
        assert ends(flops, 17, 17 + length) == (path_length(length), path_length(length))
        # The external path length of a balanced tree.
        assert path_length(length) == length * ceil(log2(length)) + length - 2 ** ceil(log2(length))


def test_a_range_that_shrinks_by_one_is_linear() -> None:
    _, costs = loaded(LAST)
    assert costs["flops"].exact
    assert ends(costs["flops"], 4, 20) == (16, 16)


def test_a_range_that_is_walked_twice_takes_a_power_of_two() -> None:
    module, costs = loaded(TWICE)
    flops = costs["flops"]
    assert flops.exact
    assert [ends(flops, 3, 3 + length)[0] for length in range(1, 9)] == [2**length - 1 for length in range(1, 9)]
    assert executed(module, 3, 9)["flops"] == 2**6 - 1


def test_the_recurrence_is_told_in_the_length() -> None:
    _, costs = loaded(HALVES)
    told = costs["work"].recurrence
    assert told.parameters == ("d",)
    assert evaluate(told.meanings["d"], {"lo": 3, "hi": 10}) == 7


def test_where_the_range_lies_may_matter() -> None:
    module, costs = loaded(FROM_THE_START)
    for low, high in PLACES:
        for metric, count in executed(module, low, high).items():
            if costs[metric].lower is not None:
                lower, upper = ends(costs[metric], low, high)
                assert lower <= count <= upper, (metric, low, high)


RANGE = """
algorithm sums(x: inout real[n], lo: index, hi: index):
    where 0 <= lo, lo < hi, hi <= n
    decreases hi - lo
    ensures work is Theta((hi - lo)*log2(hi - lo) + 1)
    ensures work is O(hi - lo)
    if hi - lo > 1:
        let mid = lo + (hi - lo)//2
        sums(x, lo, mid)
        sums(x, mid, hi)
        for i in lo..hi:
            x[i] += 1.0

algorithm whole(x: inout real[n]):
    ensures work is Theta(n*log2(n) + 1)
    sums(x, 0, n)
"""


def test_claims_on_the_length_are_decided() -> None:
    module = load_text(RANGE)
    verdicts = {
        name: decide(module, each, derive(module, each)) for name, each in module.algorithms.items() if each.ensures
    }
    holds, fails = verdicts["sums"]
    assert holds.outcome == "holds"
    assert fails.outcome == "fails"
    assert "(hi - lo) = 65536" in fails.reason
    assert [each.outcome for each in verdicts["whole"]] == ["holds"]


def test_costs_and_growth_are_written_in_the_length() -> None:
    module = load_text(RANGE)
    sums = module.algorithms["sums"]
    costs = derive(module, sums)
    work = costs["work"]
    assert work.exact
    text = costs.text(work.lower)
    assert "lo" not in text.replace("(hi - lo)", "").replace("log2", "")
    # The text says what the expression is.
    for low, high in ((0, 1), (3, 40)):
        read = evaluate_static(parse_expression(text), {"lo": low, "hi": high})
        assert read == evaluate(work.lower, {"lo": low, "hi": high})
    assert growth(module, sums, costs, work).text == "Theta((hi - lo)*log2(hi - lo))"
