"""io in any order of the same iterations: recursion on disjoint boxes, growth at every size, and how near programs are."""

from __future__ import annotations

import random
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import derive_io_cost
from archline.analysis.cache.lower.hbl import HblBody, HblBound
from archline.analysis.cost import Cost, Costs
from archline.certificates.check import check
from archline.claims.optimality import optimality_regimes
from archline.cost_growth.any_schedule import find_any_schedule_growth
from archline.execution.cache import compact, optimal
from archline.expr.intervals import Interval
from archline.expr.values import evaluate as value_of
from archline.expr.values import evaluate_fact
from archline.growth.is_big_o import Proved, is_O
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.model import Module
from archline.language.parser import parse_expression, parse_facts
from effort import drawn
from stdlib_cases import load

# Factorisations and solves by halves: updates A[i, j] -= A[i, k]*A[k, j], all of them, whichever call does them.
UPDATES = (
    "dense.lu_recursive::lu_co",
    "dense.cholesky_recursive::cholesky_co",
    "dense.cholesky_recursive::syrk_subtract_co",
    "dense.trisolv_recursive::trisolv_unit_co",
    "dense.trisolv_recursive::trisolv_right_co",
    "dense.trisolv_recursive::trisolv_right_transposed_co",
)


@pytest.mark.parametrize("target", UPDATES)
def test_factorisations_are_optimal(target: str) -> None:
    module, algorithm, costs, cost = derived(target)
    near = optimality_regimes(module, algorithm, costs, cost)
    assert [each.text for each in near.regimes] == ["asymptotically optimal"]


# A product of matrices: Loomis and Whitney's inequality
@pytest.mark.parametrize("edge", range(1, 30))
def test_most_iterations_that_see_so_many_words(edge: int) -> None:
    """A cube sees three squares, and nothing as large sees less: roots are exact; the constant of the literature is 2."""
    body = HblBody(Poly.symbol("I"), (Fraction(1, 2),) * 3, (1, 1, 1))
    assert (body.cache_exponent, body.leading_constant) == (Fraction(1, 2), pytest.approx(2))
    assert body.max_iterations(3 * edge**2) == edge**3
    assert body.max_iterations(3 * edge**2 - 1) < edge**3


@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_a_product(seed: int) -> None:
    """Iterations of a product in random order, and tile by tile, in caches of any size."""
    source = random.Random(seed)
    n, m, p = (source.randint(2, 9) for _ in range(3))
    bound = derived("dense.matmul::matmul_ijk")[-1].any_schedule_bound
    assert bound is not None
    points = [(i, j, k) for i in range(n) for j in range(p) for k in range(m)]
    if seed % 3:
        side = source.randint(1, 4)
        points.sort(key=lambda point: [each // side for each in point])
    else:
        source.shuffle(points)
    words = [place for i, j, k in points for place in (i * m + k, 100 + k * p + j, 200 + i * p + j)]
    trace = compact(np.array(words))
    for capacity in (1, 2, 3, 5, 8, 13, 30):
        assert bound.evaluate({"n": n, "m": m, "p": p, "L": 1, "Z": capacity}) <= optimal(trace, capacity).io


# Growth
EXPONENTS = [
    ((Fraction(1, 2),) * 3, (1, 1, 1)),
    ((Fraction(1, 2),) * 3, (3, 3, 3)),
    ((Fraction(1),) * 2, (1, 1)),
    ((Fraction(1),), (1,)),
    ((Fraction(1, 3),) * 4, (1, 2, 2, 1)),
    ((Fraction(2, 3), Fraction(1), Fraction(0)), (1, 1, 1)),
]


@settings(max_examples=drawn(400), deadline=None, derandomize=True)
@given(st.sampled_from(EXPONENTS), st.integers(0, 60), st.integers(0, 8), st.integers(0, 30), st.integers(1, 7))
def test_growth_holds_at_every_size(
    drawn: tuple[tuple[Fraction, ...], tuple[int, ...]], bits: int, line_bits: int, more_bits: int, odd: int
) -> None:
    """I/(L*Z^(s - 1)), times the constant that the proof gives, is never more than the bound: small sizes too."""
    exponents, times = drawn
    iterations, line = (odd << bits) // 2 + 1, (odd << line_bits) // 2 + 1
    words = line * ((odd << more_bits) // 2 + 1) + odd % line
    bound = HblBound((HblBody(Poly.symbol("I"), exponents, times),)).at({"I": iterations, "L": line, "Z": words})
    together = float(sum(exponents))
    c = prod((each * count / together) ** float(each) for each, count in zip(exponents, times, strict=True) if each)
    constant = min(1 / (2 * (c * 2**together + 1)), 1 / (c * 2 ** (together - 1)))
    assert bound >= constant * iterations / (line * words ** (together - 1)) * (1 - 1e-9)


def derived(target: str) -> tuple[Module, s.Algorithm, Costs, Cost]:
    module, algorithm = load(target)
    costs = derive(module, algorithm)
    return module, algorithm, costs, derive_io_cost(module, algorithm)


def test_the_square_product_is_certified_in_both_directions() -> None:
    """Frigo, Leiserson, Prokop, Ramachandran (FOCS 1999), theorem 1, at n = m = p; an independent checker agrees."""
    module, algorithm, costs, cost = derived("dense.matmul::matmul_co")
    paper = parse_expression("n + m + p + (n*m + m*p + n*p)/L + n*m*p/(L*sqrt(Z))")
    facts = parse_facts("Z >= L^2, n == m, m == p")
    growths = cost.upper_growths(parse_facts("Z >= L^2"))
    assert not isinstance(growths, str)
    (growth,) = growths
    below = find_any_schedule_growth(costs, cost, declared_scope(module, algorithm).facts)
    assert not growth.where
    assert below is not None
    assert growth.upper is not None
    for small, large in ((growth.upper, paper), (paper, below)):
        answer = is_O(small, large, facts)
        assert isinstance(answer, Proved)
        assert check(answer.certificate).accepted


RECURSIVE = """algorithm mm(A: real[n, m], B: real[m, p], C: inout real[n, p]):
    ensures io is {} when Z >= L^2{}
    if max(n, m, p) <= 4:
        for i in 0..n:
            for j in 0..p:
                for k in 0..m:
                    C[i, j] += A[i, k]*B[k, j]
    elif n >= max(m, p):
        mm(A[0..n//2, :], B, C[0..n//2, :])
        mm(A[n//2..n, :], B, C[n//2..n, :])
    elif m >= max(n, p):
        mm(A[:, 0..m//2], B[0..m//2, :], C)
        mm(A[:, m//2..m], B[m//2..m, :], C)
    else:
        mm(A, B[:, 0..p//2], C[:, 0..p//2])
        mm(A, B[:, p//2..p], C[:, p//2..p])
"""
CLAIMS = [
    ("Theta(n + n^2/L + n^3/(L*sqrt(Z)))", ", n == m, m == p", "holds"),
    ("Theta(n + m + (n*m + n*p + m*p)/L + n*m*p/(L*sqrt(Z)))", "", "holds"),
    ("Omega(n*m*p/(L*sqrt(Z)))", "", "holds"),
    ("Omega(n*m*p/L)", "", "fails"),
    ("Omega(n*m)", "", "fails"),
    ("Theta(n^2/L)", ", n == m, m == p", "fails"),
    ("Theta(n^3/(L*sqrt(Z)))", ", n == m, m == p", "fails"),
    ("O(n*m + n*p + m*p)", "", "fails"),
    ("O(n*m*p/Z + n*m + n*p + m*p)", ", n == m, m == p", "fails"),
]


@pytest.mark.parametrize(("claim", "more", "outcome"), CLAIMS)
def test_claims_about_recursion_from_below(claim: str, more: str, outcome: str) -> None:
    """What is larger than the bound from above fails; what is smaller than that from below is not claimed to be O."""
    (verdict,) = al.loads(RECURSIVE.format(claim, more))["mm"].cost().ensures
    assert verdict.outcome == outcome


# How near
NEAR = {
    "dense.matmul::matmul_basic": ["L*sqrt(Z)", "sqrt(Z)", "1"],
    "dense.matmul::matmul_co": ["1"],
    "dense.transpose_recursive::transpose_co": ["1"],
    "dense.transpose::transpose": ["L", "1"],
    "dense.gemv::gemv": ["L", "1"],
    "dense.floyd_warshall::floyd_warshall": ["L*sqrt(Z)", "sqrt(Z)", "1"],
    "dense.lu::lu": ["L*sqrt(Z)", "sqrt(Z)", "1"],
    "dense.trisolv::trisolv": ["L", "1"],
    "stencil.jacobi_1d::jacobi_1d": ["L*steps", "steps", "1"],
}


@pytest.mark.parametrize("target", NEAR)
def test_how_near_the_library_is(target: str) -> None:
    module, algorithm, costs, cost = derived(target)
    near = optimality_regimes(module, algorithm, costs, cost)
    assert [regime.factor for regime in near.regimes] == NEAR[target]


@pytest.mark.parametrize("target", [each for each in NEAR if "_co" not in each and "lu" not in each])
def test_factors_hold_at_sizes(target: str) -> None:
    """The upper bound over the factor times the least of any order stays below a constant, at sizes of all kinds."""
    module, algorithm, costs, cost = derived(target)
    near = optimality_regimes(module, algorithm, costs, cost)
    assert near is not None
    assert cost.interval_at is not None
    assert cost.any_schedule_bound is not None
    source = random.Random(1)
    tried = 0
    under = [fact for text in near.under for fact in parse_facts(text)]
    for _ in range(60):
        sizes = {name: round(2 ** source.uniform(1.6, 11)) for name in costs.parameters}
        line = round(2 ** source.uniform(0, 6))
        point = {**sizes, "L": line, "Z": line * round(2 ** source.uniform(0, 16))}
        if not all(evaluate_fact(fact, point) for fact in under):
            continue
        upper, below = cost.interval_at(point).upper, cost.any_schedule_bound.evaluate(point)
        for regime in near.regimes:
            if regime.factor is None or (regime.when and not evaluate_fact(parse_facts(regime.when)[0], point)):
                continue
            tried += 1
            factor = value_of(parse_expression(regime.factor), point)
            times = float(factor.lower if isinstance(factor, Interval) else factor)
            assert upper <= 40 * times * below, f"{point}, {regime}"
    assert tried > 30


def test_a_program_without_bound_says_so() -> None:
    module, algorithm, costs, cost = derived("sort.merge::merge")
    near = optimality_regimes(module, algorithm, costs, cost)
    (regime,) = near.regimes
    assert regime.text.startswith("unknown: ")
