"""Lower bounds on io: never above optimal replacement, and what mathematics gives for small kernels."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from math import ceil
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from archline.analysis.cache.lower.hbl import IterationSpace
from archline.analysis.cache.lower.segments import Lower, lower_bound
from archline.analysis.cache.samples import samples
from archline.execution.cache import compact, optimal
from archline.execution.run import execute
from archline.ir.lower import Lowering
from archline.ir.tree import UntracedError
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn
from nest_programs import remainder_program_from_seed, time_tile_program_from_seed
from programs import program_from_seed
from stdlib_cases import CASES, load

LINES = (1, 2, 4, 8, 16)
KERNELS = sorted(CASES)
QUICK = settings(
    max_examples=drawn(100),
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def derived(module: Module, algorithm: s.Algorithm) -> Lower:
    scope, nodes = Lowering(module).trace(algorithm)
    return lower_bound(nodes, scope.facts, list(samples(algorithm, scope)))


@cache
def kernel(target: str) -> Lower | None:
    """The bound of a kernel; None where its accesses are not followed."""
    try:
        return derived(*load(target))
    except UntracedError:
        return None


def of(text: str) -> tuple[Lower, Module, s.Algorithm]:
    module = load_text(text)
    (algorithm,) = module.algorithms.values()
    return derived(module, algorithm), module, algorithm


def assert_below(lower: Lower, module: Module, algorithm: s.Algorithm, arguments: Mapping[str, Any], line: int) -> None:
    """At capacities from one line to more than all."""
    run = execute(module, algorithm, arguments, line=line, trace=True, races=False, compiled=False)
    trace = compact(run.trace.lines)
    if not trace.accesses:
        assert lower.at({**run.sizes, "L": line, "Z": line}) == 0
        return
    for capacity in sorted({1, 2, 3, 5, 9, trace.distinct // 3 + 1, trace.distinct, trace.distinct + 2}):
        bound = lower.at({**run.sizes, "L": line, "Z": capacity * line})
        assert bound <= optimal(trace, capacity).io, f"{run.sizes}, L = {line}, {capacity} lines"


@QUICK
@given(st.sampled_from(KERNELS), st.sampled_from(LINES), st.data())
def test_kernels_of_the_library(target: str, line: int, data: st.DataObject) -> None:
    lower = kernel(target)
    if lower is None:
        return
    arguments = data.draw(CASES[target].arguments)
    results = CASES[target].results(arguments)
    module, algorithm = load(target)
    unset = {each.name: np.zeros(np.shape(results[each.name])) for each in algorithm.parameters if each.mode == "out"}
    assert_below(lower, module, algorithm, {**arguments, **unset}, line)


@pytest.mark.parametrize("seed", range(30))
def test_generated_programs(seed: int) -> None:
    program = program_from_seed(seed)
    module = load_text(program.text)
    algorithm = module.algorithms[program.entry]
    lower = derived(module, algorithm)

    @settings(QUICK, max_examples=2)
    @given(program.sizes(), st.sampled_from(LINES))
    def check(sizes: dict[str, int], line: int) -> None:
        assert_below(lower, module, algorithm, program.arguments(sizes, seed), line)

    check()


@pytest.mark.parametrize("seed", range(drawn(16)))
def test_generated_sweeps_in_time(seed: int) -> None:
    """By leaning tiles, skewed, in blocks: all that is swept counts, or what is swept where a guard surely holds."""
    program, guarded = time_tile_program_from_seed(seed)
    module = load_text(program.text)
    algorithm = module.algorithms["main"]
    lower = derived(module, algorithm)
    random = Random(seed)
    for _ in range(3):
        n = random.randint(3, 20)
        given = {"T": random.randint(1, 5), "W": random.randint(2, 9), "B": random.randint(1, 4)}
        line = random.choice((1, 2, 4))
        arguments = {**given, "a": np.random.default_rng(seed).random((2, n))}
        assert_below(lower, module, algorithm, arguments, line)
        swept = ceil((n - 2) / line)
        assert guarded or lower.at({**given, "n": n, "L": line, "Z": 10**6}) >= swept, (program.text, given, n, line)


# Values from mathematics.
COPY = """
algorithm copy(x: real[n], y: out real[n]):
    for i in 0..n:
        y[i] = x[i]
"""


@pytest.mark.parametrize(("n", "line"), [(1, 1), (1, 8), (17, 1), (17, 4), (16, 4), (100, 16)])
def test_a_vector_is_fetched_once(n: int, line: int) -> None:
    """Each line of both arrays, however small the cache."""
    lower, _, _ = of(COPY)
    for capacity in (2, 3, 50):
        assert lower.at({"n": n, "L": line, "Z": capacity * line}) == 2 * ceil(n / line)


@pytest.mark.parametrize("capacity", [1, 2, 5, 12, 30, 80, 200, 1000])
def test_product_by_inner_products(capacity: int) -> None:
    """By rows of the result, by its elements, and all at once: what each window touches beyond the cache."""
    n, m, p, line = 12, 10, 8, 2
    lower = kernel("dense.matmul::matmul_ijk")
    assert lower is not None
    of_a, of_b, of_c = ceil(m / line), ceil(p / line), ceil(p / line)
    by_rows = n * (of_a + m * of_b + of_c - capacity) + capacity
    by_elements = n * p * (of_a + m + 1 - capacity) + capacity
    compulsory = n * of_a + m * of_b + n * of_c
    bound = lower.at({"n": n, "m": m, "p": p, "L": line, "Z": capacity * line})
    assert bound >= max(by_rows, by_elements, compulsory)


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("for i in 0..n:\n        for j in 0..n:\n            if (i + j) % 2 == 1:\n                y[i, j] = 1", 60),
        ("for i in 0..n:\n        for j in (i + 1) % 2..n step 2:\n            y[i, j] = 1", 60),
        ("for c in 0..2:\n        for i in 0..n:\n            for j in (i + c) % 2..n step 2:\n                y[i, j] = 1", 60),
        ("for i in 0..3*n:\n        y[0, i % n] = 1", 3),
        ("for i in 0..3*n:\n        y[i % n, 0] = 1", 20),
        ("for i in 0..n step 3:\n        y[0, i] = 1", 3),
        ("for i in 0..n step 9:\n        y[0, i] = 1", 3),
        ("for t in 0..5:\n        for i in 0..n:\n            y[t % 2, i] = 1", 6),
    ],
)  # fmt: skip
def test_remainders_leave_no_line_out(body: str, lines: int) -> None:
    """In a cache for all, each line that is touched; n = 20 words are 3 lines of 8."""
    lower, module, algorithm = of(f"algorithm some(y: inout real[n, n]):\n    where n >= 3\n    {body}\n")
    assert lower.at({"n": 20, "L": 8, "Z": 10**6}) == lines
    assert_below(lower, module, algorithm, {"y": np.ones((20, 20))}, 8)


@pytest.mark.parametrize("seed", range(drawn(16)))
def test_generated_remainders(seed: int) -> None:
    lower, module, algorithm = of(remainder_program_from_seed(seed))
    for n, line in ((1, 1), (7, 4), (12, 1), (13, 8)):
        shapes = {"w": n, "x": (n + 60, n + 70), "z": n + 80}
        assert_below(lower, module, algorithm, {name: np.ones(shape) for name, shape in shapes.items()}, line)


def test_the_guards_of_shortest_paths() -> None:
    """In the first step alone all is written but its row and its column, and the row is read."""
    lower, module, algorithm = of(
        """
algorithm floyd(d: inout real[n, n]):
    for k in 0..n:
        for i in 0..n:
            for j in 0..n:
                if i != k and j != k:
                    d[i, j] += d[i, k]*d[k, j]
"""
    )
    for n, line in ((1, 1), (2, 4), (9, 1), (9, 4)):
        assert lower.at({"n": n, "L": line, "Z": 10**6}) >= (n - 1) * ceil((n - 1) / line)
        assert_below(lower, module, algorithm, {"d": np.ones((n, n))}, line)


def test_local_arrays_lie_on_each_other() -> None:
    """The second array takes the lines of the first; one inside the other does not."""
    apart = "for k in 0..2:\n        local t: real[n] = 0\n    for k in 0..2:\n        local u: real[n] = 0"
    inside = "local t: real[n] = 0\n    for k in 0..2:\n        local u: real[n] = 0"
    for body, expected in ((apart, 12), (inside, 24)):
        lower, module, algorithm = of(f"algorithm stack(n: size):\n    {body}\n")
        assert lower.at({"n": 12, "L": 1, "Z": 100}) == expected
        assert_below(lower, module, algorithm, {"n": 12}, 1)


def test_local_arrays_that_grow() -> None:
    """A longer array at each iteration begins where the shorter one did."""
    lower, module, algorithm = of(
        """
algorithm growing(n: size):
    for i in 1..n:
        local t: real[i] = 0
        local u: real[n] = 0
"""
    )
    for n, line in ((2, 1), (9, 1), (9, 4)):
        assert_below(lower, module, algorithm, {"n": n}, line)


def test_extents_that_the_data_bounds() -> None:
    """A slice as long as an entry says may be shorter than its bound."""
    lower, module, algorithm = of(
        """
algorithm filled(start: index[1] below n, y: inout real[n]):
    y[0..start[0]] = 1
"""
    )
    assert lower.at({"n": 50, "L": 1, "Z": 100}) == 1
    assert_below(lower, module, algorithm, {"start": np.array([2]), "y": np.zeros(50)}, 1)


# Any order.
def test_exponents_of_the_product_of_matrices() -> None:
    """Loomis and Whitney's inequality: each projection to the power 1/2; the constant of the literature, 2."""
    lower = kernel("dense.matmul::matmul_ikj")
    (body,) = lower.orders.bodies
    assert [float(each) for each in body.exponents] == [0.5] * 3
    assert body.power == Fraction(1, 2)
    assert body.constant == pytest.approx(2)
    size = 1 << 14
    found = lower.orders.at({"n": size, "m": size, "p": size, "L": 8, "Z": 1 << 14})
    assert found == pytest.approx(2 * size**3 / (8 * 2**7), rel=1e-2)


@pytest.mark.parametrize("edge", range(1, 30))
def test_most_iterations_that_see_so_many_words(edge: int) -> None:
    """A cube sees three squares, and nothing as large sees less: roots are exact."""
    found = kernel("dense.matmul::matmul_ijk")
    body: IterationSpace = found.orders.bodies[0]
    assert body.most(3 * edge**2) == edge**3
    assert body.most(3 * edge**2 - 1) < edge**3


@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_a_product(seed: int) -> None:
    """Iterations of a product in random order, and tile by tile, in caches of any size."""
    random = Random(seed)
    n, m, p = (random.randint(2, 9) for _ in range(3))
    found = kernel("dense.matmul::matmul_ijk")
    assert found is not None
    points = [(i, j, k) for i in range(n) for j in range(p) for k in range(m)]
    if seed % 3:
        side = random.randint(1, 4)
        points.sort(key=lambda point: [each // side for each in point])
    else:
        random.shuffle(points)
    words = [place for i, j, k in points for place in (i * m + k, 100 + k * p + j, 200 + i * p + j)]
    trace = compact(np.array(words))
    for capacity in (1, 2, 3, 5, 8, 13, 30):
        assert found.orders.at({"n": n, "m": m, "p": p, "L": 1, "Z": capacity}) <= optimal(trace, capacity).io
