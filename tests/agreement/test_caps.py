"""Bounds above leaves of a fixed size: min and max with numbers keep their sums over halves, and bounds are near."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.metrics.recursion import Derivation
from archline.execution.run import execute
from archline.language.loader import load_path, load_text
from archline.recurrences.exact.at_call import (
    Caller,
    at_halves,
    halvings,
    in_logarithms,
    most_halvings,
    remaining,
    without_halvings,
)
from archline.recurrences.exact.base_cases import bounded_below, inside, uncapped, unclamped
from archline.recurrences.exact.basis import Element, times
from archline.recurrences.exact.handelman import proves
from archline.recurrences.exact.leaves import SizeDivision, pieces, splits, without_pieces
from archline.recurrences.exact.transitions import steps_of

STDLIB = Path(__file__).parents[2] / "stdlib"
N, M = Poly.symbol("n"), Poly.symbol("m")
PRODUCT = """
algorithm outer(X: inout real[n, m]):
    if max(n, m) <= 6:
        for i in 0..n:
            for j in 0..m:
                X[i, j] += 1.0
    elif n >= m:
        spawn outer(X[0..n//2, :])
        spawn outer(X[n//2..n, :])
        sync
    else:
        outer(X[:, 0..m//2])
        outer(X[:, m//2..m])
"""
MODULE = load_text(PRODUCT)
ALGORITHM = MODULE.algorithms["outer"]


def number(value: int) -> Poly:
    return Poly.constant(value)


@given(st.integers(3, 40), st.integers(0, 3000))
def test_halvings_are_one_less_at_a_half(end: int, size: int) -> None:
    value = halvings(N, number(end))
    here, small, large = (evaluate(value, {"n": each}) for each in (size, size // 2, size - size // 2))
    assert small == max(0, here - 1) <= large
    times = 0
    while size >> times >= end:
        times += 1
    assert here == times
    # What stands for it where it is not read.
    less = without_halvings(N * value, Facts().with_symbol("n", [number(0)]))
    assert evaluate(less, {"n": size}) <= size * here


@given(st.integers(3, 40), st.integers(1, 3000))
def test_most_halvings_are_one_less_at_a_half(end: int, size: int) -> None:
    value = most_halvings(N, number(end))
    here, small, large = (evaluate(value, {"n": each}) for each in (size, size // 2, size - size // 2))
    times, part = 0, size
    while part > end:
        times, part = times + 1, part - part // 2
    assert here == times
    assert small <= large == max(0, here - 1)
    # The name of the number, and what proofs take at the halves of a size that is halved.
    (atom,) = value.atoms()
    facts = Facts().with_symbol("n", [number(end + 1)])
    halves = a.floor_div(N, number(2)), a.ceil_div(N, number(2))
    assert [remaining(atom, {"n": each}, facts) for each in (N, N - 1, *halves)] == [value, value, value - 1, value - 1]
    # Of a size that may be a leaf's, or of more than it, that is not known.
    assert remaining(atom, {"n": halves[1]}, Facts().with_symbol("n", [number(1)])) == value
    assert remaining(atom, {"n": N + 1}, facts) is None


def test_halvings_of_a_split() -> None:
    # 16 is a power of 2: the logarithm itself, less 4, counts them, and a leaf has none.
    split = SizeDivision(N, True, number(8), number(16))
    found = split.halvings(upper=True)
    assert found.value == a.positive_part(a.ceil_log2(N) - 4)
    assert found.proved.value == most_halvings(N, number(16))
    for size in range(1, 300):
        assert evaluate(found.value, {"n": size}) == evaluate(found.proved.value, {"n": size})
    other = SizeDivision(N, True, number(3), number(6)).halvings(upper=True)
    assert other.value == other.proved.value == most_halvings(N, number(6))
    product_ = times(Element(M * split.at_leaf(True)), found)
    assert product_.sign == 1
    assert product_.proved.value == M * split.at_leaf(True) * most_halvings(N, number(16))


def test_tangents_of_logarithms() -> None:
    facts = Facts().with_symbol("n", [number(17)])
    caller = Caller(facts, (), tangents=True)
    symbol = caller.ordered(a.ceil_log2(N))
    (high,) = caller.facts.bounds[next(iter(symbol.names))].upper
    # 4 + (n - 1)/16 is 5 at 17, 6 at 33.
    assert high == number(4) + (N - 1) / 16
    for size in range(17, 3000):
        assert evaluate(a.ceil_log2(N), {"n": size}) <= evaluate(high, {"n": size})
    plain = Caller(facts, ())
    assert plain.ordered(a.ceil_log2(N)) == symbol
    assert plain.facts.bounds[next(iter(symbol.names))].upper == (N - 1,)


@given(st.integers(3, 40), st.integers(0, 3000))
def test_halvings_in_logarithms(end: int, more: int) -> None:
    size = end + more
    facts = Facts().with_symbol("m", [number(1)]).with_symbol("n", [number(end)])
    value = halvings(N, number(end)) ** 2 * M
    less = in_logarithms(value, facts)
    assert less != value
    assert 0 < evaluate(less, {"n": size, "m": 3}) <= evaluate(value, {"n": size, "m": 3})
    # Of a size that may be smaller nothing is known.
    assert in_logarithms(value, Facts().with_symbol("m", [number(1)]).with_symbol("n", [number(end - 1)])) == value


@given(st.integers(3, 40), st.integers(0, 3000))
def test_halvings_at_halves_of_a_call(end: int, more: int) -> None:
    size = end + more
    facts = Facts().with_symbol("n", [number(end)])
    for half in (a.floor_div(N, number(2)), a.ceil_div(N, number(2)), N, N - 1):
        there = evaluate(half, {"n": size})
        known = Facts().with_symbol("m", [number(1)])
        less = at_halves(M * halvings(M, number(end)), known, {"m": half}, facts)
        assert evaluate(less, {"n": size}) <= there * evaluate(halvings(M, number(end)), {"m": there})


def leaves(size: int, most: int) -> int:
    return 1 if size <= most else leaves(size // 2, most) + leaves(size - size // 2, most)


@given(st.integers(2, 40), st.integers(1, 3000))
def test_number_of_leaves(most: int, size: int) -> None:
    count = pieces(N, number(most))
    at = {"n": size, "m": 2}
    assert evaluate(count, at) == leaves(size, most)
    for value in (count, N - count, count.scaled(3) - N * M, N * M - count.scaled(7)):
        low, high = (without_pieces(value, upper) for upper in (False, True))
        assert evaluate(low, at) <= evaluate(value, at) <= evaluate(high, at)
        assert not any(isinstance(atom, a.Exponential) for each in (low, high) for atom in each.atoms())
    # Of a product with the number nothing is done.
    assert without_pieces(count * M, upper=True) == count * M


def test_bounds_inside_of_a_maximum() -> None:
    count = pieces(N, number(16))
    low = a.positive_part(N - count) / 2 + 1
    assert inside(low, lambda each: without_pieces(each, upper=False)) != low
    assert unclamped(low) == (N - count) / 2 + 1
    # Not where it is taken off, or one of several terms.
    assert unclamped(-low) == -low
    assert unclamped(low + N) == low + N


def test_powers_of_rounded_logarithms_bound_from_below() -> None:
    facts = Facts().with_symbol("n", [number(6)])
    level = a.ceil_log2(N)
    # (3/2)^3 is the least of these: 6*27/8 is 20.25.
    grows = N * a.exponential(3, level) * a.exponential(2, level) ** -1
    assert bounded_below(grows - 20, facts)
    assert not bounded_below(grows - 21, facts)
    assert bounded_below(N - 6, facts)


@given(st.integers(2, 40), st.integers(1, 20), st.integers(0, 300))
def test_halves_keep_what_leaves_sum_up_to(most: int, less: int, more: int) -> None:
    size = most + 1 + more
    least = min(less, (most + 1) // 2)
    halves = size // 2, size - size // 2
    assert all(min(half, most) <= min(size, most) for half in halves)
    assert all(min(half, least) == min(size, least) for half in halves)
    assert sum(max(half, least) for half in halves) == max(size, least)
    assert sum(max(half, most) for half in halves) >= max(size, most)
    assert sum(half * min(half, most) for half in halves) <= size * min(size, most)


def test_sizes_in_turn_and_at_once() -> None:
    function = Derivation(MODULE, False).recursions.extracted(ALGORITHM).function("span", True)
    assert function is not None
    steps = [step for equation in function.equations for step in steps_of(equation, True)]
    found = splits(function, steps)
    # 7 is the least size that is halved, and 3 its lesser half.
    assert found["n"] == SizeDivision(N, False, number(3), number(6))
    # Halving m makes two calls with its halves, halving n calls with all of it.
    assert found["m"] == SizeDivision(M, True, number(3), number(6), whole=True)
    assert found["n"].along(1, True) == a.minimum(N, number(6))
    assert found["m"].along(2, True) == M * a.minimum(M, number(6))
    assert found["m"].along(0, False) == a.maximum(M, number(6))


def test_no_terms_where_sizes_shrink_by_one() -> None:
    module = load_text(
        "algorithm down(x: inout real[n]):\n    if n > 1:\n        down(x[0..n - 1])\n        down(x[0..n - 1])\n"
        "        down(x[0..n - 1])\n    else:\n        x[0] += 1.0\n"
    )
    function = Derivation(module, False).recursions.extracted(module.algorithms["down"]).function("work", True)
    assert function is not None
    assert splits(function, [step for equation in function.equations for step in steps_of(equation, True)]) == {}


@pytest.mark.parametrize(
    "value",
    [
        a.minimum(N, number(16)) - 1,
        number(16) - a.minimum(N, number(16)),
        N + 7 - a.maximum(N, number(8)),
        (M - 1) * (a.minimum(N, number(16)) - 1),
        M * (number(16) - a.minimum(N, number(16))),
        a.ceil_log2(N) - a.positive_part(a.ceil_log2(N) - 4),
    ],
)
def test_ends_of_minima_are_proved(value: Poly) -> None:
    facts = Facts().with_symbol("m", [number(1)]).with_symbol("n", [number(1)])
    assert proves(value, facts)
    assert not proves(value - 1, facts)


CAPPED = (
    M * a.minimum(N, number(16)),
    a.minimum(M, number(9)) * a.minimum(N, number(9)) + a.positive_part(a.ceil_log2(N + 1) - 5).scaled(4),
    N.scaled(3) - a.maximum(N, number(8)).scaled(2) - a.positive_part(a.ceil_log2(M) - 4),
    # Of a product of two such differences no sign is known.
    a.positive_part(a.ceil_log2(N) - 4) * a.positive_part(a.ceil_log2(M) - 3),
)


@pytest.mark.parametrize("value", CAPPED, ids=str)
@pytest.mark.parametrize("least", [0, 1, 5])
def test_bounds_without_maxima_are_bounds(value: Poly, least: int) -> None:
    facts = Facts().with_symbol("m", [number(least)]).with_symbol("n", [number(least)])
    low, high = uncapped(value, facts, upper=False), uncapped(value, facts, upper=True)
    for n, m in product((*range(least, 36), 64, 100, 1000), (*range(least, 20), 33, 500)):
        at = {"n": n, "m": m}
        assert evaluate(low, at) <= evaluate(value, at) <= evaluate(high, at)


def test_minima_become_numbers() -> None:
    facts = Facts().with_symbol("m", [number(1)]).with_symbol("n", [number(1)])
    value = M * a.minimum(N, number(16))
    assert uncapped(value, facts, upper=True) == M.scaled(16)
    assert uncapped(value, facts, upper=False) == M


SIZES = [(7, 1), (1, 7), (7, 7), (13, 13), (5, 40), (40, 5), (33, 65), (64, 64), (97, 12)]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_runs_lie_between_bounds(n: int, m: int) -> None:
    costs = derive(MODULE, ALGORITHM)
    at = {"n": n, "m": m}
    ran = execute(MODULE, ALGORITHM, {"X": [[0.0] * m for _ in range(n)]}, compiled=False).counts
    for metric, count in (("work", ran.work), ("span", ran.span)):
        cost = costs[metric]
        assert cost.lower is not None
        assert cost.upper is not None
        assert evaluate(cost.lower, at) <= count <= evaluate(cost.upper, at)


@pytest.mark.parametrize(
    ("path", "name", "factor"),
    [
        ("dense/matmul.algo", "matmul_co", 4),
        ("dense/transpose_recursive.algo", "transpose_co", 4),
        ("dense/trisolv_recursive.algo", "trisolv_unit_co", 4),
        ("dense/trisolv_recursive.algo", "trisolv_right_co", 4),
        ("dense/cholesky_recursive.algo", "cholesky_co", 4),
        ("dense/matmul_recursive.algo", "matmul_temporary", 4),
    ],
)
def test_bounds_of_the_library_are_near(path: str, name: str, factor: int) -> None:
    module = load_path(STDLIB / path)
    algorithm = module.algorithms[name]
    costs = derive(module, algorithm)
    sizes = module.signatures[algorithm].size_names
    for values in product((17, 31, 64, 129, 1025), repeat=len(sizes)):
        at = dict(zip(sizes, values, strict=True))
        for metric in ("work", "span"):
            cost = costs[metric]
            assert cost.lower is not None
            assert cost.upper is not None
            assert cost.ends is not None
            low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
            least, most = cost.ends(at)
            assert low <= least
            assert most <= high
            assert high <= factor * low
