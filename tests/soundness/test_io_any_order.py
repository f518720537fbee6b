"""io in any order of the same iterations: recursion on disjoint boxes, growth at every size, and how near programs are."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive
from archline.analysis.cache.analyse import io_cost
from archline.analysis.cache.lower.hbl import AnyOrder, IterationSpace
from archline.analysis.cache.lower.recursive_hbl import CallTreeBound, boxes
from archline.analysis.cache.recursive.evaluate import Recursions
from archline.analysis.cost import Cost, Costs
from archline.certificates.check import check
from archline.claims.io_growth import least
from archline.claims.optimality import attained
from archline.execution.cache import CompactTrace, compact, optimal
from archline.execution.run import execute
from archline.expr.intervals import Interval
from archline.expr.values import evaluate as value_of
from archline.expr.values import holds
from archline.growth.is_big_o import Proved, is_O
from archline.ir.declarations import declared
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from archline.language.parser import parse_expression, parse_facts
from effort import drawn
from stdlib_cases import load


def found(module: Module, algorithm: s.Algorithm) -> CallTreeBound:
    recursions = Recursions(module, algorithm)
    recursions.solve()
    return boxes(module, recursions.solved(algorithm).body)


def trace_of(module: Module, algorithm: s.Algorithm, shapes: Mapping[str, tuple[int, ...]], line: int) -> CompactTrace:
    arguments = {name: np.full(shape, 0.5) for name, shape in shapes.items()}
    run = execute(module, algorithm, arguments, line=line, trace=True, races=False, compiled=False, progress=False)
    return compact(run.trace.lines)


def assert_sound(bounds: CallTreeBound, sizes: Mapping[str, int], trace: CompactTrace, line: int) -> None:
    """At capacities from one line to more than all."""
    for capacity in sorted({1, 2, 3, 5, 9, trace.distinct // 3 + 1, trace.distinct // 2 + 1, trace.distinct + 1}):
        at = bounds.at({**sizes, "L": line, "Z": capacity * line + line - 1})
        assert at <= optimal(trace, capacity).io, f"{sizes}, L = {line}, {capacity} lines"


MORTON = """algorithm f(A: inout real[n, m] zmorton):
    if n <= 4:
        for i in 0..n:
            for j in 0..m:
                A[i, j] += 1.0
    else:
        f(A[0..n//2, :])
        f(A[n//2..n, :])
"""


@pytest.mark.parametrize(("n", "m", "line"), [(3, 4, 2), (34, 2, 16), (9, 28, 16), (16, 16, 4)])
def test_a_rectangle_in_z_morton_order_leaves_lines_of_its_square(n: int, m: int, line: int) -> None:
    module = load_text(MORTON)
    algorithm = module.algorithms["f"]
    bounds = found(module, algorithm)
    assert evaluate(bounds.touched, {"n": n, "m": m, "L": line}) == -(-n * m // line)
    assert_sound(bounds, {"n": n, "m": m}, trace_of(module, algorithm, {"A": (n, m)}, line), line)


RECTANGLES = [(1, 1, 1), (17, 1, 1), (1, 40, 1), (1, 1, 33), (17, 5, 3), (19, 18, 17), (3, 33, 20)]
PRODUCTS = ("dense.matmul::matmul_co", "dense.matmul_recursive::matmul_subtract_transposed_co")


@pytest.mark.parametrize("sizes", RECTANGLES)
@pytest.mark.parametrize("target", PRODUCTS)
def test_products_of_the_library(target: str, sizes: tuple[int, int, int]) -> None:
    module, algorithm = load(target)
    n, m, p = sizes
    transposed = "transposed" in target
    shapes = {"A": (n, m), "B": (p, m) if transposed else (m, p), "C": (n, p)}
    for line in (1, 8):
        trace = trace_of(module, algorithm, shapes, line)
        assert_sound(found(module, algorithm), {"n": n, "m": m, "p": p}, trace, line)


@pytest.mark.parametrize(("n", "m", "line"), [(1, 1, 4), (40, 3, 4), (3, 40, 8), (35, 34, 1), (33, 20, 16)])
def test_transposition_touches_both_arrays(n: int, m: int, line: int) -> None:
    """Every line of A and of B, and it need fetch no more once."""
    module, algorithm = load("dense.transpose_recursive::transpose_co")
    bounds = found(module, algorithm)
    whole = n * -(-m // line) + m * -(-n // line)
    assert bounds.at({"n": n, "m": m, "L": line, "Z": 10**6}) == whole
    assert_sound(bounds, {"n": n, "m": m}, trace_of(module, algorithm, {"A": (n, m), "B": (m, n)}, line), line)


def test_recursion_without_a_bound_says_why() -> None:
    bounds = found(*load("dense.strassen::strassen"))
    assert not bounds.orders.bodies
    assert "takes no part of `C` in its place" in bounds.reason


# Factorisations and solves by halves: updates A[i, j] -= A[i, k]*A[k, j], all of them, whichever call does them.
UPDATES: dict[str, Callable[[int, int], int]] = {
    "dense.lu_recursive::lu_co": lambda n, m: sum(min(i, j) for i in range(n) for j in range(n)),
    "dense.cholesky_recursive::cholesky_co": lambda n, m: sum(j for i in range(n) for j in range(i)),
    "dense.cholesky_recursive::syrk_subtract_co": lambda n, m: m * sum(i + 1 for i in range(n)),
    "dense.trisolv_recursive::trisolv_unit_co": lambda n, m: m * sum(range(n)),
    "dense.trisolv_recursive::trisolv_right_co": lambda n, m: m * sum(range(n)),
    "dense.trisolv_recursive::trisolv_right_transposed_co": lambda n, m: m * sum(range(n)),
}
SHAPES = {
    "lu": {"A": "nn"},
    "cholesky": {"A": "nn"},
    "syrk": {"A": "nm", "C": "nn"},
    "trisolv_unit": {"A": "nn", "B": "nm"},
    "trisolv_right": {"A": "nn", "B": "mn"},
}


@pytest.mark.parametrize("target", sorted(UPDATES))
def test_updates_of_factorisations_count_in_whichever_call(target: str) -> None:
    body = next(each for each in found(*load(target)).orders.bodies if each.power == Fraction(1, 2))
    for n, m in ((1, 1), (2, 5), (16, 16), (17, 3), (33, 20)):
        assert evaluate(body.iterations, {"n": n, "m": m}) == UPDATES[target](n, m)


@pytest.mark.parametrize("target", sorted(UPDATES))
def test_factorisations_are_optimal(target: str) -> None:
    module, algorithm, costs, cost = derived(target)
    near = attained(module, algorithm, costs, cost)
    assert [each.text for each in near.regimes] == ["asymptotically optimal"]


@pytest.mark.parametrize(("n", "m"), [(1, 1), (18, 5), (20, 33), (35, 20)])
@pytest.mark.parametrize("target", sorted(UPDATES))
def test_factorisations_fetch_no_less(target: str, n: int, m: int) -> None:
    """In the order that is written."""
    module, algorithm = load(target)
    known = next(shapes for name, shapes in SHAPES.items() if name in target.partition("::")[2])
    size = {"n": n, "m": m}
    bounds, random = found(module, algorithm), np.random.default_rng(n)
    arguments = {}
    for name, shape in known.items():
        value = random.uniform(0, 1, tuple(map(size.__getitem__, shape)))
        # Positive definite, and far from singular.
        arguments[name] = value @ value.T + n * np.eye(n) if shape == "nn" else value
    for line in (1, 4):
        run = execute(module, algorithm, arguments, line=line, trace=True, races=False, compiled=False)
        assert_sound(bounds, size, compact(run.trace.lines), line)


HALVED = """algorithm f(A: inout real[n, n]):
    if n <= 2:
        for k in 0..n:
            for i in k+1..n:
                for j in k+1..n:
                    A[i, j] -= A[i, k]*A[k, j]
    else:
        let h = n//2
        f(A[0..h, 0..h])
        {}
        f(A[h..n, h..n])

algorithm g(B: real[a, b], C: real[b, c], D: inout real[a, c]):
    if max(a, b, c) <= 2:
        for i in 0..a:
            for j in 0..c:
                for k in 0..b:
                    D[i, j] -= B[i, k]*C[k, j]
    elif a >= max(b, c):
        g(B[0..a//2, :], C, D[0..a//2, :])
        g(B[a//2..a, :], C, D[a//2..a, :])
    elif b >= max(a, c):
        g(B[:, 0..b//2], C[0..b//2, :], D)
        g(B[:, b//2..b], C[b//2..b, :], D)
    else:
        g(B, C[:, 0..c//2], D[:, 0..c//2])
        g(B, C[:, c//2..c], D[:, c//2..c])
"""
WITH_PRODUCTS = [
    ("all of them", "g(A[:, 0..h], A[0..h, :], A[:, :])", "may do the same"),
    ("the last quadrant only", "g(A[h..n, 0..h], A[0..h, h..n], A[h..n, h..n])", "do not make up all"),
    ("at another place", "g(A[h..n, 0..h], A[0..h, h..n], A[0..n - h, h..n])", "do not make up all"),
    ("rows of the wrong half", "g(A[0..n - h, 0..h], A[0..h, h..n], A[h..n, h..n])", "do not make up all"),
    ("twice", "g(A[h..n, 0..h], A[0..h, h..n], A[h..n, h..n])\n" * 2, "may do the same"),
]


@pytest.mark.parametrize(("name", "written", "reason"), WITH_PRODUCTS, ids=[name for name, _, _ in WITH_PRODUCTS])
def test_products_that_a_recursion_calls(name: str, written: str, reason: str) -> None:
    module = load_text(HALVED.format(written.strip().replace("\n", "\n        ")))
    algorithm = module.algorithms["f"]
    bounds = found(module, algorithm)
    assert not any(body.power for body in bounds.orders.bodies)
    assert reason in bounds.reason
    for n in (1, 2, 5, 8):
        assert_sound(bounds, {"n": n}, trace_of(module, algorithm, {"A": (n, n)}, 2), 2)


def test_a_product_by_way_of_a_local_array_is_told_by_what_it_multiplies() -> None:
    """C is given in its place in half of the calls only; A tells i and k, B tells k and j."""
    (body,) = found(*load("dense.matmul_recursive::matmul_temporary")).orders.bodies
    assert evaluate(body.iterations, {"n": 5, "m": 7, "p": 9}) == 315
    assert body.power == 1


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
    bound = AnyOrder((IterationSpace(Poly.symbol("I"), exponents, times),)).at({"I": iterations, "L": line, "Z": words})
    together = float(sum(exponents))
    c = prod((each * count / together) ** float(each) for each, count in zip(exponents, times, strict=True) if each)
    constant = min(1 / (2 * (c * 2**together + 1)), 1 / (c * 2 ** (together - 1)))
    assert bound >= constant * iterations / (line * words ** (together - 1)) * (1 - 1e-9)


def derived(target: str) -> tuple[Module, s.Algorithm, Costs, Cost]:
    module, algorithm = load(target)
    costs = derive(module, algorithm)
    return module, algorithm, costs, io_cost(module, algorithm)


def test_the_square_product_is_certified_in_both_directions() -> None:
    """Frigo, Leiserson, Prokop, Ramachandran (FOCS 1999), theorem 1, at n = m = p; an independent checker agrees."""
    module, algorithm, costs, cost = derived("dense.matmul::matmul_co")
    paper = parse_expression("n + m + p + (n*m + m*p + n*p)/L + n*m*p/(L*sqrt(Z))")
    facts = parse_facts("Z >= L^2, n == m, m == p")
    growths = cost.orders(parse_facts("Z >= L^2"))
    assert not isinstance(growths, str)
    (growth,) = growths
    below = least(costs, cost, declared(module, algorithm).facts)
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
    near = attained(module, algorithm, costs, cost)
    assert [regime.factor for regime in near.regimes] == NEAR[target]


@pytest.mark.parametrize("target", [each for each in NEAR if "_co" not in each and "lu" not in each])
def test_factors_hold_at_sizes(target: str) -> None:
    """The upper bound over the factor times the least of any order stays below a constant, at sizes of all kinds."""
    module, algorithm, costs, cost = derived(target)
    near = attained(module, algorithm, costs, cost)
    assert near is not None
    assert cost.ends is not None
    assert cost.orderless is not None
    source = random.Random(1)
    tried = 0
    under = [fact for text in near.under for fact in parse_facts(text)]
    for _ in range(60):
        sizes = {name: round(2 ** source.uniform(1.6, 11)) for name in costs.parameters}
        line = round(2 ** source.uniform(0, 6))
        point = {**sizes, "L": line, "Z": line * round(2 ** source.uniform(0, 16))}
        if not all(holds(fact, point) for fact in under):
            continue
        upper, below = cost.ends(point)[1], cost.orderless.at(point)
        for regime in near.regimes:
            if regime.factor is None or (regime.when and not holds(parse_facts(regime.when)[0], point)):
                continue
            tried += 1
            factor = value_of(parse_expression(regime.factor), point)
            times = float(factor.lower if isinstance(factor, Interval) else factor)
            assert upper <= 40 * times * below, f"{point}, {regime}"
    assert tried > 30


def test_a_program_without_bound_says_so() -> None:
    module, algorithm, costs, cost = derived("sort.merge::merge")
    near = attained(module, algorithm, costs, cost)
    (regime,) = near.regimes
    assert regime.text.startswith("unknown: ")


FACTORED = """use dense.lu
use dense.matmul_recursive
use dense.trisolv_recursive
algorithm f(A: inout real[n, n]):
    if n <= 16:
        lu(A)
    else:
        let h = n//2
        f(A[0..h, 0..h])
        trisolv_unit_co(A[0..h, 0..h], A[0..h, h..n])
        trisolv_right_co(A[0..h, 0..h], A[h..n, 0..h])
        matmul_subtract_co({}, {}, {})
        f(A[h..n, h..n])
"""
UPDATE = ("A[h..n, 0..h]", "A[0..h, h..n]", "A[h..n, h..n]")


@pytest.mark.parametrize(
    ("update", "whole"),
    [
        (UPDATE, True),
        # As many updates, but not those of one nest: rows, columns or inner places are off.
        (("A[0..n - h, 0..h]", *UPDATE[1:]), False),
        ((UPDATE[0], "A[0..h, 0..n - h]", UPDATE[2]), False),
        ((*UPDATE[:2], "A[0..n - h, h..n]"), False),
        ((UPDATE[0], "A[n - h..n, h..n]", UPDATE[2]), False),
    ],
)
def test_an_update_counts_at_its_place_only(update: tuple[str, str, str], whole: bool) -> None:
    module = load_text(FACTORED.format(*update))
    bodies = found(module, module.algorithms["f"]).orders.bodies
    assert any(body.power == Fraction(1, 2) for body in bodies) == whole
