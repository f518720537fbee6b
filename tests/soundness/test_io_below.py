"""io of recursion from below by calls as windows: never above optimal replacement, and as large as one shows by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from archline.analysis.cache.analyse import io_cost
from archline.analysis.cache.lower.recursive_segments import Below
from archline.analysis.cache.summaries.must_access import filled
from archline.execution.cache import compact, optimal
from archline.execution.run import execute
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from box_programs import program as box_program
from effort import drawn
from filling_programs import filling_program_from_seed, lower_program_from_seed, upper_program_from_seed
from io_points import LINES, Subject, around, arrays, divided, indices, kernel, loops, recursion
from stdlib_cases import CASES, load
from stdlib_recursive_cases import RECURSIVE


def below(module: Module, algorithm: s.Algorithm) -> Below:
    return Below(filled(module, algorithm), algorithm)


def assert_below(subject: Subject, source: random.Random, runs: int) -> None:
    """No more than is fetched at capacities from one line to all."""
    bound = below(subject.module, subject.algorithm)
    for _ in range(runs):
        line = source.choice(LINES)
        sizes, trace = subject.trace(subject.draw(source), line)
        if not trace.accesses:
            continue
        for capacity in {1, 2, 3, 5, 9, trace.distinct // 4 + 1, trace.distinct // 2 + 1, trace.distinct}:
            found = bound.at({**sizes, "Z": capacity * line, "L": line})
            assert found <= optimal(trace, capacity).io, f"{sizes}, L = {line}, {capacity} lines\n{subject.text}"


@pytest.mark.parametrize("target", sorted({**CASES, **RECURSIVE}))
def test_the_library(target: str) -> None:
    assert_below(kernel(target, {**CASES, **RECURSIVE}[target]), random.Random(target), 2)


@pytest.mark.parametrize("kind", [loops, recursion, arrays, divided, around, indices])
def test_generated_programs(kind: Callable[[int], Subject]) -> None:
    source = random.Random(kind.__name__)
    for seed in range(drawn(30)):
        assert_below(kind(seed), source, 2)


def assert_on_data(text: str, shapes: Mapping[str, tuple[int, ...]], sizes: Mapping[str, int], line: int) -> int:
    """No more than is fetched on random data; the bound with three lines."""
    module = load_text(text)
    algorithm = module.algorithms["main"]
    data = np.random.default_rng(1)
    arguments = {name: data.uniform(0, 1, shape) for name, shape in shapes.items()}
    run = execute(module, algorithm, arguments, line=line, trace=True, races=False, compiled=False, progress=False)
    trace, bound = compact(run.trace.lines), below(module, algorithm)
    for capacity in {1, 2, 3, 4, 6, 9, trace.distinct // 3 + 1, trace.distinct}:
        at = bound.at({**sizes, "L": line, "Z": capacity * line})
        assert at <= optimal(trace, capacity).io, f"{sizes}, L = {line}, {capacity} lines\n{text}"
    return bound.at({**sizes, "L": line, "Z": 3 * line})


@pytest.mark.parametrize(
    "generator", [filling_program_from_seed, lower_program_from_seed, upper_program_from_seed, box_program]
)
def test_programs_that_divide_arrays(generator: Callable[[int], object]) -> None:
    source, found = random.Random(generator.__name__), 0
    for seed in range(drawn(40)):
        program = generator(seed)
        sizes = {name: source.randint(5, 14) for name in program.sizes}  # type: ignore[attr-defined]
        shapes = {name: tuple(map(sizes.__getitem__, own)) for name, own in program.shapes.items()}  # type: ignore[attr-defined]
        found += assert_on_data(program.text, shapes, sizes, source.choice(LINES)) > 0  # type: ignore[attr-defined]
    assert found >= drawn(40) // 2


# By hand
def at(target: str, **point: int) -> int:
    return below(*load(target)).at(point)


@pytest.mark.parametrize("n", [2**12, 2**15])
@pytest.mark.parametrize("lines", [16, 128])
def test_mergesort_fetches_all_at_each_level_that_does_not_fit(n: int, lines: int) -> None:
    """A merge of m keys writes m/L lines anew and copies them back: of 2*m/L lines no more than C are found."""
    line = 8
    merges = [(m, n // m) for m in (n >> level for level in range(20)) if m > 1]
    least = sum(times * max(0, 2 * m // line - lines) for m, times in merges if 2 * m > 2 * lines * line)
    assert at("sort.mergesort::mergesort", n=n, Z=lines * line, L=line) >= least // 2 > n // line


@pytest.mark.parametrize(
    ("target", "factor"),
    [("dense.strassen::strassen", 7), ("dense.lu_recursive::lu_co", 8), ("dense.matmul::matmul_co", 8)],
)
def test_products_grow_as_their_calls_do(target: str, factor: int) -> None:
    """At one Z, twice the size takes so many times the lines."""
    names = "nmp" if "matmul" in target else "n"
    small, large = (at(target, **dict.fromkeys(names, n), Z=1024, L=8) for n in (512, 1024))
    assert 0.95 * factor <= large / small <= 1.1 * factor


def test_the_cost_has_it_at_sizes() -> None:
    point = {"n": 4096, "Z": 1024, "L": 8}
    for target in ("sort.mergesort::mergesort", "sort.mergesort::mergesort_parallel"):
        ends = io_cost(*load(target)).ends
        assert ends(point)[0] == at(target, **point) > 2 * 4096 // 8
