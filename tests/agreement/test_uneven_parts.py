"""Logarithms at calls that keep an uneven part of their sizes, and terms for calls that halve the largest size."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.claims.decide import decide
from archline.claims.verdicts import Verdict
from archline.language.loader import load_text
from archline.recurrences.exact.at_call import CallContext
from effort import drawn
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import derived, execute_case, load

N, M, Q, ONE = Poly.symbol("n"), Poly.symbol("m"), Poly.symbol("q"), Poly.constant(1)
NEAR = 1e-9


def merging() -> Facts:
    """What the split of the parallel merge knows: 0 <= m <= n, n >= 1, 0 <= q <= m."""
    facts = Facts().with_symbol("n", [ONE]).with_symbol("m", [Poly.constant(0)], [N])
    return facts.with_symbol("q", [Poly.constant(0)], [M])


CALLS = (
    {"n": a.floor_div(N, Poly.constant(2)), "m": Q},
    {"n": N - a.floor_div(N, Poly.constant(2)) - 1, "m": M - Q},
    {"n": M, "m": N},
)


def points() -> list[dict[str, int]]:
    return [
        {"n": n, "m": m, "q": q} for n in (1, 2, 3, 4, 7, 9) for m in range(n + 1) for q in {0, 1, m // 2, m} if q <= m
    ]


@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("real", [True, False])
def test_logarithms_at_calls_lie_between_their_bounds(shift: int, call: dict[str, Poly], real: bool) -> None:
    whole = N + M + shift
    atom = a.RealFunction("log2", whole) if real else a.CeilLog2(whole)
    caller = CallContext(merging(), ())
    others = [a.CeilLog2(each) for each in (N, M, N + 1, M + 1, N + M, N + M + 1)]
    symbols: dict[str, Callable[[dict[str, int]], float]] = {}
    for other in others:
        (name,) = caller.ordered(Poly.of_atom(other)).names
        symbols[name] = lambda point, other=other: float(evaluate(Poly.of_atom(other), point))  # type: ignore[misc]

    def value(argument: Poly, point: dict[str, int]) -> float:
        number = evaluate(argument, point)
        return log2(number) if real else float((int(number) - 1).bit_length())

    (own,) = caller.falling(atom).names
    symbols[own] = lambda point: value(whole, point)
    (there,) = caller.falling_at(atom, call).names
    symbols[there] = lambda point: value(whole.substitute(call), point)
    for point in points():
        known = {name: Fraction(each(point)) for name, each in symbols.items()}
        for name, number in known.items():
            bounds = caller.facts.bounds[name]
            assert all(evaluate(each, {**point, **known}) <= number + Fraction(NEAR) for each in bounds.lower)
            assert all(evaluate(each, {**point, **known}) >= number - Fraction(NEAR) for each in bounds.upper)


# Programs
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


UNEVEN = """
algorithm main(x: inout real[n]):
    where n >= 0
    ensures span is {claim}
    if n > {leaf}:
        {body}
        {calls}
"""
SPLITS = ("spawn main(x[0..{k}])\n        spawn main(x[{k}..n])\n        sync", "main(x[n//4..n])")


@pytest.mark.parametrize(
    ("calls", "body", "claim"),
    [
        (SPLITS[0].format(k="n//3"), "parallel for i in 0..n:\n            x[i] += 1.0", "O(log2(n)^2)"),
        (SPLITS[0].format(k="n//4"), "x[0] += 1.0", "O(log2(n))"),
        (SPLITS[1], "x[0] += 1.0", "Theta(log2(n))"),
    ],
)
def test_uneven_parts_have_spans_of_logarithms(calls: str, body: str, claim: str) -> None:
    module = load_text(UNEVEN.format(calls=calls, body=body, claim=claim, leaf=4))
    algorithm = module.algorithms["main"]
    costs = derive(module, algorithm)
    (verdict,) = decide(module, algorithm, costs)
    assert verdict.outcome == "holds"
    cost = costs["span"]
    for n in (*range(60), 255, 1000, 4097):
        least, most = cost.ends({"n": n})
        assert evaluate(cost.lower, {"n": n}) <= least <= most <= evaluate(cost.upper, {"n": n})


SHRINKING_BY_ONE = """
algorithm main(x: inout real[n]):
    where n >= 0
    ensures span is O(log2(n)^2)
    if n > 1:
        x[0] += 1.0
        main(x[1..n])
"""


def test_a_size_less_1_is_no_share() -> None:
    module = load_text(SHRINKING_BY_ONE)
    algorithm = module.algorithms["main"]
    (verdict,) = decide(module, algorithm, derive(module, algorithm))
    assert verdict.outcome == "fails"


@settings(max_examples=drawn(25), deadline=None)
@given(st.integers(1, 1 << 40), st.integers(1, 1 << 40), st.integers(1, 1 << 40))
def test_the_product_with_a_temporary_at_far_sizes(n: int, m: int, p: int) -> None:
    cost = derived("dense.matmul_recursive::matmul_temporary")["span"]
    sizes = {"n": n, "m": m, "p": p}
    assert cost.lower is not None
    least, most = cost.ends(sizes)
    assert least == most
    assert 0 <= evaluate(cost.lower, sizes) <= least <= evaluate(cost.upper, sizes)


@pytest.mark.parametrize(
    "target",
    [
        "sort.merge_parallel::merge_parallel",
        "sort.mergesort::mergesort_parallel",
        "dense.matmul_recursive::matmul_temporary",
    ],
)
def test_spans_that_textbooks_give_are_proved(target: str) -> None:
    """CLRS (3rd ed.), sections 27.2 and 27.3."""
    module, algorithm = load(target)
    verdicts: list[Verdict] = decide(module, algorithm, derived(target))
    assert {each.outcome for each in verdicts if each.ensures.metric == "span"} == {"holds"}
