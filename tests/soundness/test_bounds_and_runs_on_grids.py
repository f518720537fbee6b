"""Lower bounds on words and messages against runs: no run moves less than a bound allows."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.claims.communication_bounds import (
    derive_communication_bounds,
    find_library_problem,
    load_problem_tables,
    parse_problem,
)
from effort import drawn

few = st.integers(1, 4)


def log2(value: int) -> int:
    return value.bit_length() - 1


@st.composite
def sizes(draw, target: str) -> dict[str, int]:
    """Sizes at which an algorithm runs, small enough for a run to be quick."""
    g, h, k = draw(few), draw(few), draw(few)
    power = 2 ** draw(st.integers(0, 3))
    match target.partition("::")[2]:
        case "cannon":
            g = draw(st.integers(1, 7))
            return {"n": g * k, "g": g}
        case "cannon_unequal":
            return {"n": g + k, "m": draw(st.integers(1, 30)), "p": g + draw(st.integers(0, 9)), "g": g}
        case "summa":
            w = draw(st.integers(1, 2))
            m = math.lcm(g * w, h * w) * draw(st.integers(1, 3))
            return {"n": g * k, "m": m, "p": h * draw(st.integers(1, 6)), "g": g, "h": h, "w": w}
        case "matmul_25d":
            c = draw(st.integers(1, 3))
            g = c * draw(st.integers(1, 2))
            return {"n": g * draw(st.integers(2 if c > 1 else 1, 3)), "g": g, "c": c}
        case "matmul_two_level":
            g, h = draw(st.integers(1, 4)), draw(st.integers(1, 2))
            return {"n": g * h * k, "g": g, "h": h}
        case "carma":
            n, m, p = (power * 2 ** draw(st.integers(0, 2)) for _ in range(3))
            return {"n": n, "m": m, "p": p, "P": power, "s": n * m // power, "t": m * p // power, "v": n * p // power}
        case "nbody_replicated":
            c = draw(st.integers(1, 3))
            processors = c * c * draw(few)
            return {"n": processors * k, "c": c, "P": processors, "f": 1}
        case "nbody_two_level":
            pn = draw(st.integers(1, 9))
            return {"n": pn * h * k, "pn": pn, "pl": h, "f": 1}
        case "fft_naive" | "fft_bruck":
            return {"n": power * power * 2 ** draw(st.integers(0, 2)), "P": power}
        case other:
            raise AssertionError(other)


WITH_CONSTANTS = [
    target for target, each in load_problem_tables()["algorithms"].items() if each["problem"] not in ("strassen", "lu")
]


def bounds_of(target: str):
    algorithm = al.algorithm(target)
    solved = find_library_problem(algorithm.node)
    assert solved is not None
    return algorithm, derive_communication_bounds(algorithm.module, algorithm.node, solved)


@pytest.mark.parametrize("target", WITH_CONSTANTS)
def test_no_run_beats_a_bound(target):
    algorithm, bounds = bounds_of(target)

    @settings(max_examples=drawn(60), deadline=None)
    @given(sizes(target))
    def holds(at):
        run = algorithm.run(at)
        found = bounds.evaluate_bounds(run.sizes, Fraction(run.counts.memory))
        assert "memory-independent" in found
        for kind, (low, _) in found.items():
            assert low <= run.counts.words, (kind, at)
            # A message has at most the words of its sender's memory.
            assert low / run.counts.memory <= run.counts.messages, (kind, at)

    holds()


@pytest.mark.parametrize("target", [each for each in WITH_CONSTANTS if "matmul::" in each])
def test_no_processor_has_more_products_than_is_assumed(target):
    """Flops of the longest path are two for each product, and sums of what arrives."""
    algorithm, bounds = bounds_of(target)

    @settings(max_examples=drawn(20), deadline=None)
    @given(sizes(target))
    def holds(at):
        if target.endswith("cannon_unequal"):
            # Elsewhere blocks are filled up with zeros, whose products are no products of the problem.
            at["m"] = at["m"] * at["g"]
        run = algorithm.run(at)
        point = bounds.with_processor_count(run.sizes)
        n, m, p = (at.get(name, at["n"]) for name in "nmp")
        most = Fraction(n * m * p) / point["P"]
        if target.endswith("cannon_unequal"):
            most = Fraction(m * math.ceil(Fraction(n, at["g"])) * math.ceil(Fraction(p, at["g"])))
        moved = 0 if "25d" not in target and "carma" not in target else run.counts.words
        assert run.counts.own["flops"] <= 2 * most + moved

    holds()


def test_carma_attains_the_memory_independent_bound_on_cubes():
    """Words are 3*(n^2/P^(2/3) - n^2/P) where P is a power of 8: the bound, to the last word."""
    algorithm, bounds = bounds_of("distributed.matmul::carma")
    for n, processors in ((4, 8), (8, 8), (16, 8), (8, 64)):
        part = n * n // processors
        run = algorithm.run({"n": n, "m": n, "p": n, "P": processors, "s": part, "t": part, "v": part})
        exact = 3 * (n**2 // round(processors ** (2 / 3)) - n**2 // processors)
        assert bounds.evaluate_bounds(run.sizes, None)["memory-independent"] == (exact, exact)
        assert run.counts.words == exact


def test_naive_all_to_all_attains_the_bound_of_the_transform():
    algorithm, bounds = bounds_of("distributed.fft::fft_naive")
    for n, processors in ((16, 4), (64, 8), (64, 2)):
        run = algorithm.run({"n": n, "P": processors})
        assert bounds.evaluate_bounds(run.sizes, None)["memory-independent"] == (run.counts.words, run.counts.words)


# The statement of Al Daas et al., by brute force
def least_sum(n: int, m: int, p: int, share: float) -> float:
    """The least x + y + z, x >= nm/Q, y >= mp/Q, z >= np/Q with x*y*z >= (nmp/Q)^2: over all sets of tight bounds.

    The sum is convex in the logarithms and so is the region, so the least value is where some of the bounds are tight
    and the rest of the variables are equal; every such point that lies in the region is tried.
    """
    least = [n * m / share, m * p / share, n * p / share]
    product = (n * m * p / share) ** 2
    best = math.inf
    for tight in itertools.product((False, True), repeat=3):
        free = [i for i in range(3) if not tight[i]]
        rest = product / math.prod(least[i] for i in range(3) if tight[i])
        each = rest ** (1 / len(free)) if free else 0.0
        point = [least[i] if tight[i] else each for i in range(3)]
        if all(x >= low * (1 - 1e-9) for x, low in zip(point, least, strict=True)) and math.prod(point) >= product * (
            1 - 1e-9
        ):
            best = min(best, sum(point))
    return best


GENERIC = """
algorithm product(A: real[n, m], B: real[m, p], C: out real[n, p]) on grid(r: P):
    local x: real = 0.0
    if r == 0:
        output C[0, 0] = x
"""


@settings(max_examples=drawn(400), deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 400), st.integers(1, 3000))
def test_memory_independent_bound_is_the_least_sum_of_projections(n, m, p, processors):
    algorithm = al.loads(GENERIC)["product"]
    solved = parse_problem("matmul(n, m, p)", algorithm.sizes)
    bounds = derive_communication_bounds(algorithm.module, algorithm.node, solved)
    low, high = bounds.evaluate_bounds({"n": n, "m": m, "p": p, "P": processors}, None)["memory-independent"]
    expected = least_sum(n, m, p, processors) - (n * m + m * p + n * p) / processors
    scale = n * m + m * p + n * p
    assert float(low) - 1e-6 * scale <= expected <= float(high) + 1e-6 * scale


@settings(max_examples=drawn(40), deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 60), st.integers(1, 200))
def test_least_sum_agrees_with_an_optimiser(n, m, p, share):
    """SLSQP in logarithms, where the problem is convex."""
    optimise = pytest.importorskip("scipy.optimize")
    least = [math.log(each / share) for each in (n * m, m * p, n * p)]
    product = 2 * math.log(n * m * p / share)
    start = [max(low, product / 3) + 1.0 for low in least]
    found = optimise.minimize(
        lambda x: sum(map(math.exp, x)),
        start,
        jac=lambda x: [math.exp(each) for each in x],
        bounds=[(low, None) for low in least],
        constraints=[{"type": "ineq", "fun": lambda x: sum(x) - product, "jac": lambda x: [1.0, 1.0, 1.0]}],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    if found.success:
        assert found.fun == pytest.approx(least_sum(n, m, p, share), rel=1e-3)


@settings(max_examples=drawn(100), deadline=None)
@given(st.integers(1, 8), st.integers(1, 8), st.integers(1, 8), st.integers(3, 40), st.integers(0, 10**6))
def test_segments_of_a_pebbling_never_do_more_products_than_the_bound_allows(n, m, p, memory, seed):
    """One processor that reads A and B and writes C through a memory of M words: loads and begun sums >= 2*nmp/sqrt(M).

    A greedy order with random eviction, as any order; sums that leave memory are read again.
    """
    import random

    rng = random.Random(seed)
    products = [(i, k, j) for i in range(n) for k in range(m) for j in range(p)]
    if seed % 2:
        side = max(1, int(math.sqrt(memory / 3)))
        products.sort(key=lambda ikj: tuple(each // side for each in ikj) + ikj)
    else:
        rng.shuffle(products)
    held: list[tuple[str, int, int]] = []
    events = 0
    for i, k, j in products:
        needed = [("A", i, k), ("B", k, j), ("C", i, j)]
        for each in needed:
            if each not in held:
                events += 1
                while len(held) >= memory:
                    held.remove(rng.choice([other for other in held if other not in needed]))
                held.append(each)
    assert events >= 2 * n * m * p / math.sqrt(memory) - 1e-9
