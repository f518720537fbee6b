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
    at_halves,
    halvings,
    in_logarithms,
    most_halvings,
    remaining,
    without_halvings,
)
from archline.recurrences.exact.base_cases import uncapped
from archline.recurrences.exact.halved_sizes import leveled
from archline.recurrences.exact.leaves import pieces, without_pieces
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


SIZES = [(7, 1), (1, 7), (7, 7), (13, 13), (5, 40), (40, 5), (33, 65), (64, 64), (97, 12)]


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_runs_lie_between_bounds(n: int, m: int) -> None:
    costs = derive(MODULE, ALGORITHM)
    at = {"n": n, "m": m}
    ran = execute(MODULE, ALGORITHM, {"X": [[0.0] * m for _ in range(n)]}, compiled=False).counts
    for metric, count in (("work", ran.work), ("span", ran.span)):
        cost = costs[metric]
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
            low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
            least, most = cost.ends(at)
            assert low <= least
            assert most <= high
            assert high <= factor * low


# Terms of calls that halve all sizes down to leaves of a fixed size, and the bounds of LCS by quadrants


def test_bounds_of_lcs_by_quadrants_are_near() -> None:
    module = load_path(STDLIB / "string/lcs.algo")
    cost = derive(module, module.algorithms["lcs_co"])["span"]
    for n, m in product((17, 31, 32, 33, 64, 65, 129, 1000, 1024, 1025), repeat=2):
        at = {"n": n, "m": m}
        low, high = evaluate(cost.lower, at), evaluate(cost.upper, at)
        least, most = cost.ends(at)
        assert low <= least
        assert most <= high
        assert high <= 3 * low


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


HALVES = {"n//2": (0, 0), "n - n//2": (1, 0), "m//2": (0, 0), "m - m//2": (1, 0)}
"""What is added before and after a size is halved."""


def half(size: int, given: str) -> int:
    before, after = HALVES[given]
    return (size + before) // 2 + after


@pytest.mark.parametrize("calls", [3, 5, 7])
@pytest.mark.parametrize(("rows", "columns"), [("n//2", "m//2"), ("n - n//2", "m//2"), ("n - n//2", "m - m//2")])
@pytest.mark.parametrize("leaf", [1, 5, 16])
def test_calls_have_their_part_of_each_term(calls: int, rows: str, columns: str, leaf: int) -> None:
    text = f"algorithm main(n: size, m: size):\n    if n > {leaf} and m > {leaf}:\n"
    module = load_text(text + f"        main({rows}, {columns})\n" * calls, "main.algo")
    function = Derivation(module, False).recursions.extracted(module.algorithms["main"]).function("work", True)
    found = leveled(function, [step for equation in function.equations for step in steps_of(equation, True)])
    # Of both sizes, of either and of none, each from both sides; one calls have at most a part of, one at least.
    assert [each.sign for each in found] == [1, -1] * 4
    for element, n, m in product(found, (17, 18, 31, 32, 33, 34, 127, 1000), (17, 22, 32, 35, 63, 65, 4095)):
        whole = evaluate(element.value, {"n": n, "m": m})
        part = evaluate(element.value, {"n": half(n, rows), "m": half(m, columns)})
        assert calls * part <= whole if element.sign == 1 else calls * part >= whole
