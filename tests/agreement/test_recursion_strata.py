"""Recursions in layers: cases that call only themselves are bounded first; callers of such have regimes of their own."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.cost import Costs
from archline.analysis.metrics.relations import time_on
from archline.claims.decide import decide
from archline.execution.run import execute
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn
from recursive_programs.agreement import disagreements, executed, outside, value_or_none

# Three of four quadrants are on the longest path; what is narrow is cut across. `each` is what a leaf does.
QUADRANTS = """
algorithm leaf(x: inout real[n, m]):
    for i in 0..n:
        for j in 0..m:
            x[i, j] += 1.0

algorithm main(x: inout real[n, m]):
    ensures flops == n*m
    ensures work is Theta(n*m)
    ensures span is Theta({growth})
    let h = n//2
    let g = m//2
    if max(n, m) <= {most}:
        leaf(x)
    elif n <= {most}:
        main(x[:, 0..g])
        main(x[:, g..m])
    elif m <= {most}:
        main(x[0..h, :])
        main(x[h..n, :])
    else:
        main(x[0..h, 0..g])
        spawn main(x[0..h, g..m])
        spawn main(x[h..n, 0..g])
        sync
        main(x[h..n, g..m])
"""
CALLER = """
algorithm twice(x: inout real[n, m]):
    ensures work is Theta(n*m)
    ensures span is Theta({growth})
    main(x)
    main(x)
"""
THREE = "max(n, m)*min(n, m)^(log2(3) - 1)"


def program(most: int, growth: str = THREE) -> Module:
    return load_text((QUADRANTS + CALLER).format(most=most, growth=growth))


@cache
def derived(most: int, name: str) -> tuple[Module, Costs]:
    module = program(most)
    return module, derive(module, module.algorithms[name])


@pytest.mark.parametrize("name", ["main", "twice"])
def test_three_of_four_quadrants_grow_as_claimed(name: str) -> None:
    """S(n, m) = 3*S(n/2, m/2) until one size is narrow, and n*m from there on, for n <= m: (m/n)*3^log2(n)."""
    module, costs = derived(4, name)
    assert [each.outcome for each in decide(module, module.algorithms[name], costs)] == ["holds"] * (
        3 if name == "main" else 2
    )


@pytest.mark.parametrize("claim", ["n*m", "n + m", "max(n, m)*min(n, m)^(3/5)", "max(n, m)*min(n, m)^(1/2)"])
def test_other_growth_is_refuted(claim: str) -> None:
    """log2(3) - 1 is 0.58496..., between 1/2 and 3/5."""
    module = program(4, growth=claim)
    algorithm = module.algorithms["main"]
    flops, work, span = decide(module, algorithm, derived(4, "main")[1])
    assert (flops.outcome, work.outcome, span.outcome) == ("holds", "holds", "fails"), span.reason


@pytest.mark.parametrize("name", ["main", "twice"])
@pytest.mark.parametrize("most", [1, 4])
@settings(max_examples=drawn(15), deadline=None)
@given(sizes=st.tuples(*(st.one_of(st.integers(1, 9), st.integers(1, 40)),) * 2), seed=st.integers(0, 3))
def test_bounds_hold_what_runs_count(most: int, name: str, sizes: tuple[int, int], seed: int) -> None:
    module, costs = derived(most, name)
    values = [[float(i + j + seed) for j in range(sizes[1])] for i in range(sizes[0])]
    ran = execute(module, module.algorithms[name], {"x": values}, compiled=False, races=False)
    assert not list(disagreements(costs, executed(ran.counts), ran.sizes))


@pytest.mark.parametrize(("n", "m"), [(1, 4096), (4097, 2), (999, 1001), (1024, 31), (5, 3000), (64, 64), (5000, 8)])
@pytest.mark.parametrize("most", [1, 4])
def test_bounds_hold_the_recurrence_at_far_sizes(most: int, n: int, m: int) -> None:
    _, costs = derived(most, "main")
    for cost in costs:
        value = value_or_none(cost, {"n": n, "m": m})
        assert value is not None
        assert not list(outside(cost, value, {"n": n, "m": m}))


def test_a_caller_has_the_regimes_of_what_it_calls() -> None:
    """Each way that the conditions turn out, as far as there are such sizes, whatever their order."""
    _, costs = derived(4, "twice")
    assert [each.when == "otherwise" for each in costs["work"].regimes] == [False, True]
    *narrow, wide = (frozenset(each.when.split(" and ")) for each in costs["span"].regimes)
    assert wide == {"otherwise"}
    assert set(narrow) == {
        frozenset(("n <= 4", "m <= 4")),
        frozenset(("n <= 4", "m >= 5")),
        frozenset(("n >= 5", "m <= 4")),
    }


def test_the_time_has_the_regimes_of_the_finer_one() -> None:
    _, costs = derived(4, "main")
    time = time_on(costs, Poly.symbol("P"), "P")
    assert [each.when for each in time.regimes] == [each.when for each in costs["span"].regimes]
    for n, m, processors in [(3, 4, 2), (3, 50, 1), (50, 3, 3), (40, 41, 4)]:
        point = {"n": n, "m": m, "P": processors}
        work, span = (value_or_none(costs[metric], {"n": n, "m": m}) for metric in ("work", "span"))
        assert evaluate(time.lower, point) <= max(span, work / processors)  # type: ignore[arg-type]
        assert span + work / processors <= evaluate(time.upper, point)  # type: ignore[arg-type]
