"""Every bound on io that a report tells holds wherever its condition does, at the smallest sizes too."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.analysis.cache.analyse import io_cost
from archline.analysis.cost import Cost
from archline.cli.main import main
from archline.execution.cache import CompactTrace, compact, optimal
from archline.execution.run import execute
from archline.expr.intervals import EvaluationError
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn
from io_points import LINES, Subject, arrays, kernel, loops, parities, stencils, strides, tiles, triangles, whole_tiles
from stdlib_cases import CASES


def assert_told(cost: Cost, sizes: Mapping[str, int], trace: CompactTrace, line: int, text: str) -> None:
    """Each closed form by itself, at capacities from one line to all."""
    lowers = [cost.lower, *(value for _, value in cost.lowers)]
    for capacity in {1, 2, 3, 5, 9, trace.distinct // 2 + 1, trace.distinct + 1}:
        point, found = {**sizes, "L": line, "Z": capacity * line}, optimal(trace, capacity).io
        told = f"{sizes}, L = {line}, {capacity} lines\n{text}"
        for lower in lowers:
            assert lower is None or evaluate(lower, point) <= found, told
        for each in cost.alternatives:
            if all(evaluate(need, point) >= 0 for need in each.needs):
                assert evaluate(each.upper, point) >= found, f"{each.when}: {told}"


def assert_subject(subject: Subject, source: random.Random, runs: int) -> None:
    cost = io_cost(subject.module, subject.algorithm)
    for _ in range(runs):
        line = source.choice(LINES)
        sizes, trace = subject.trace(subject.draw(source), line)
        try:
            assert_told(cost, sizes, trace, line, subject.text)
        except EvaluationError:
            continue


@pytest.mark.parametrize("target", sorted(CASES))
def test_the_library(target: str) -> None:
    assert_subject(kernel(target, CASES[target]), random.Random(target), 3)


@pytest.mark.parametrize("kind", [loops, arrays, strides, stencils, parities, triangles, tiles, whole_tiles])
def test_generated_programs(kind: Callable[[int], Subject]) -> None:
    source = random.Random(kind.__name__)
    for seed in range(drawn(20)):
        assert_subject(kind(seed), source, 2)


def traced(text: str, shapes: Mapping[str, tuple[int, ...]], line: int) -> tuple[Module, s.Algorithm, CompactTrace]:
    module = load_text(text)
    algorithm = module.algorithms["main"]
    data = np.random.default_rng(0)
    arguments = {name: data.uniform(0, 1, shape) for name, shape in shapes.items()}
    run = execute(module, algorithm, arguments, line=line, trace=True, races=False, compiled=False)
    return module, algorithm, compact(run.trace.lines)


SHIFTED = """
algorithm main(x: inout real[n], y: inout real[n]):
    for i in 1..n:
        x[i] += y[i]
"""


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_a_loop_without_iterations_fetches_nothing(n: int) -> None:
    for line in (1, 4):
        module, algorithm, trace = traced(SHIFTED, {"x": (n,), "y": (n,)}, line)
        assert_told(io_cost(module, algorithm), {"n": n}, trace, line, SHIFTED)
    ensured = SHIFTED.replace(":\n", ":\n    ensures io >= 2*n - 2 - (n - 2)*floor(Z/L)\n", 1)
    (contract,) = al.loads(ensured)["main"].cost().view().contracts
    assert contract.outcome != "holds"


# Steps and ends that an index divides
DIVIDED = {
    "a step": "for j in 0..n step i:\n            x[j] += 1.0",
    "from the index on": "for j in i..n step i:\n            x[j - i] += 1.0",
    "a quotient": "for j in 0..n//i:\n            x[j] += y[i]",
    "downwards": "for j in n - 1 downto i step i:\n            y[j] += x[j - i]",
}


@pytest.mark.parametrize("name", sorted(DIVIDED))
def test_loops_that_an_index_divides(name: str) -> None:
    text = f"algorithm main(x: inout real[n], y: inout real[n]):\n    for i in 1..n:\n        {DIVIDED[name]}\n"
    for n in (1, 2, 7, 20):
        module, algorithm, trace = traced(text, {"x": (n,), "y": (n,)}, 2)
        ends = io_cost(module, algorithm).ends
        for capacity in (1, 2, 5, 40):
            lower, upper = ends({"n": n, "L": 2, "Z": 2 * capacity})
            assert lower <= optimal(trace, capacity).io <= upper


# All that fits is fetched once
FITTING = {
    "squares": ("for i in 0..n:\n        if i*i < n:\n            x[i*i] += 1.0", ()),
    "remainders": ("for i in 0..5*n:\n        x[i % n] += y[i % n]", ()),
    "a local array of another size each time": (
        "for i in 0..n:\n        local W: real[n - i] = 0.5\n        local V: real[i + 1] = 1.0\n"
        "        for j in 0..i + 1:\n            x[j] += V[j]\n        x[i] += W[0]",
        (),
    ),
    "squares in Z-Morton order": ("for i in 0..n:\n        for j in 0..n:\n            A[i, j] += A[j, i]", ("A",)),
}


@pytest.mark.parametrize("name", sorted(FITTING))
def test_what_fits_is_fetched_once(name: str) -> None:
    body, squares = FITTING[name]
    given = "".join(f", {each}: inout real[n, n] zmorton" for each in squares)
    text = f"algorithm main(x: inout real[n], y: inout real[n]{given}):\n    {body}\n"
    for n, line in ((8, 1), (40, 8), (33, 4)):
        shapes = {"x": (n,), "y": (n,), **dict.fromkeys(squares, (n, n))}
        module, algorithm, trace = traced(text, shapes, line)
        cost = io_cost(module, algorithm)
        # A square has up to four times its elements; a stack of two arrays two lines more than its words take.
        capacity = 4 * n * n if squares else 2 * (-(-n // line)) + (-(-(n + 1) // line)) + 2
        upper = cost.ends({"n": n, "L": line, "Z": capacity * line})[1]
        most = min(64 * 64, n * n) if squares else 3 * (-(-n // line)) + 2
        assert optimal(trace, capacity).io <= upper <= most
        assert_told(cost, {"n": n}, trace, line, text)


@pytest.mark.parametrize(("n", "m", "line"), [(3, 9, 8), (3, 4, 1), (5, 4, 1), (4, 17, 8), (9, 9, 4)])
def test_the_corners_of_a_grid_are_not_fetched(n: int, m: int, line: int) -> None:
    """Of A and of B all points but the corners are accessed, in a cache of just so many lines."""
    places = {(i, j) for i in range(n) for j in range(m)} - {(i, j) for i in (0, n - 1) for j in (0, m - 1)}
    lines = 2 * len({(i, j // line) for i, j in places})
    ends = al.algorithm("stencil.jacobi_2d::jacobi_2d").cost().io.at(n=n, m=m, steps=9, Z=lines * line, L=line)
    assert isinstance(ends, tuple)
    assert ends[1] == lines


# Facts on the cache and the sizes, and numbers of any size
FACTS = ["L == 8", "L == 1", "Z <= L^2", "Z >= 10^6", "L >= 16, Z <= 100", "n <= 3", "n >= 10, n <= 12", "n == 64"]
FACTUAL = ["dense.lu::lu", "dense.matmul::matmul_basic", "stencil.jacobi_1d::jacobi_1d", "sort.mergesort::mergesort"]


@pytest.mark.parametrize("fact", FACTS)
@pytest.mark.parametrize("target", FACTUAL)
def test_facts_leave_bounds(target: str, fact: str) -> None:
    """No facts spoil what is derived without them."""
    plain, told = al.algorithm(target).cost(), al.algorithm(target).cost(where=fact)
    at = dict.fromkeys(al.algorithm(target).sizes, 12)
    at |= {"Z": 64, "L": 8} | ({"L": 1} if fact == "L == 1" else {}) | ({"Z": 10**6} if "10^6" in fact else {})
    if "16" in fact:
        at |= {"L": 16, "Z": 96}
    if fact in ("n <= 3", "n == 64"):
        at |= {"n": 3 if "3" in fact else 64}
    assert told.io.at(**at)[0] <= told.io.at(**at)[1] <= 1.2 * plain.io.at(**at)[1]


@pytest.mark.parametrize("target", ["dense.lu::lu", "dense.trisolv::trisolv", "polybench.ludcmp::ludcmp"])
def test_sizes_beyond_the_words_of_a_machine(target: str) -> None:
    lower, upper = al.algorithm(target).cost().io.at(n=10**21, Z=10**6, L=8)
    assert 0 < lower <= upper < 10**64


@pytest.mark.parametrize("relation", ["n^2", "n^3"])
def test_accesses_decide_growth_in_any_cache(relation: str) -> None:
    text = f"""algorithm tr(A: real[n, n], B: out real[n, n]):
    where n is power of 2
    ensures io is O({relation}) when Z >= L
    if n == 1:
        B[0, 0] = A[0, 0]
    else:
        let h = n//2
        tr(A[0..h, 0..h], B[0..h, 0..h])
        tr(A[0..h, h..n], B[h..n, 0..h])
        tr(A[h..n, 0..h], B[0..h, h..n])
        tr(A[h..n, h..n], B[h..n, h..n])
"""
    assert [each.outcome for each in al.loads(text)["tr"].cost().view().contracts] == ["holds"]


def test_without_a_bound_io_is_unknown_by_its_name(capsys: pytest.CaptureFixture[str], tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "uneven.algo"
    file.write_text(
        "algorithm main(p: inout real[a]):\n    where a >= 0\n    if a >= 3:\n        main(p[0..a - 2])\n"
        "        main(p[1..(a + 1)//2])\n    else:\n        for k in 0..a:\n            p[k] += 1.0\n"
    )
    assert main(["cost", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "  io " in shown
    assert "accesses" not in shown
