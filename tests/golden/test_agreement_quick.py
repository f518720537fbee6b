"""A sample that runs in seconds: derived counts are the executed ones, and bounds on io hold optimal replacement.

One algorithm of each family of the standard library, a few programs of each generator; the tiers `agreement` and
`soundness` try them all.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from archline.analysis.analyse import derive
from archline.execution.run import execute
from archline.language.loader import load_text
from derived_counts import assert_agreement
from io_generated import (
    around,
    arrays,
    divided,
    indices,
    loops,
    parities,
    recursion,
    stencils,
    strides,
    tiles,
    triangles,
    walks,
)
from io_points import Subject, kernel
from programs import program_from_seed
from programs.choice import Seeded
from recursive_programs.agreement import disagreements, executed
from stdlib_cases import CASES
from stdlib_recursive_cases import RECURSIVE
from stdlib_targets import ALL

pytestmark = pytest.mark.sample
PROGRAMS = 20
FAMILIES = (
    "arithmetic.polynomial::polynomial",
    "dense.cholesky::cholesky",
    "fft.fft::fft",
    "nbody.direct::nbody_direct",
    "polybench.atax::atax",
    "scan.recursive::sum_tree",
    "sort.mergesort::mergesort",
    "sparse.csr::spmv_csr",
    "stencil.jacobi_1d::jacobi_1d",
    "string.lcs::lcs",
)


@pytest.mark.parametrize("first", range(0, PROGRAMS, 10))
def test_agreement(first: int) -> None:
    for number in range(first, first + 10):
        program = program_from_seed(number)
        module = load_text(program.text)
        algorithm = module.algorithms[program.entry]
        costs = derive(module, algorithm)
        for each in range(2):
            sizes = program.choose_sizes(Seeded(number + PROGRAMS * each))
            arguments = program.arguments(sizes, each)
            assert_agreement(costs, execute(module, algorithm, arguments, compiled=False), program.text)


def test_every_family_has_a_member() -> None:
    assert [each.partition(".")[0] for each in FAMILIES] == sorted({each.partition(".")[0] for each in ALL})


@pytest.mark.parametrize("target", FAMILIES)
def test_the_library(target: str) -> None:
    subject, source = kernel(target, {**CASES, **RECURSIVE}[target]), random.Random(target)
    assert_counted(subject, source)
    assert assert_bounded(subject, source) > 0


@pytest.mark.parametrize("kind", [arrays, walks, strides, triangles, tiles, stencils, parities])
def test_generated_programs(kind: Callable[[int], Subject]) -> None:
    source, found = random.Random(kind.__name__), 0
    # The first with parities takes as long as all the others.
    subject = kind(1 if kind is parities else 0)
    assert_counted(subject, source)
    found += assert_bounded(subject, source)
    assert found > 0


def test_a_generated_recursion() -> None:
    assert_counted(recursion(1), random.Random(0))


@pytest.mark.parametrize("kind", [loops, indices, divided, around])
def test_io_of_generated_programs(kind: Callable[[int], Subject]) -> None:
    assert sum(assert_bounded(kind(number), random.Random(number)) for number in range(1)) > 0


def assert_counted(subject: Subject, source: random.Random) -> None:
    """Two runs count what is derived."""
    costs = derive(subject.module, subject.algorithm)
    for _ in range(2):
        run = execute(subject.module, subject.algorithm, subject.draw(source), compiled=False, progress=False)
        assert not list(disagreements(costs, executed(run.counts), run.sizes)), subject.text


def assert_bounded(subject: Subject, source: random.Random) -> int:
    """Bounds on io hold what is fetched; at how many capacities."""
    found = list(subject.points(subject.draw(source), source, 4))
    for point in found:
        assert point.holds, f"{subject.name} at {point}\n{subject.text}"
    return len(found)
