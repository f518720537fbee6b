"""Programs run as two: each part holds what its iterations fetch, wherever the program is parted, and by hand."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from archline.analysis.cache.footprint.grouping import references
from archline.analysis.cache.samples import samples
from archline.analysis.cache.upper.allocation import Planner
from archline.analysis.cache.upper.evaluate import Upper
from archline.analysis.cache.upper.split_outer import Phases
from archline.execution.cache import optimal
from archline.ir.lower import Lowering
from archline.ir.tree import accesses
from effort import drawn
from io_points import Subject, arguments, least_of_library, of_library, subject
from stdlib_cases import load
from triangle_programs import triangle_program_from_seed

RISING, FALLING = "for i in 0..n:", "for i in n - 1 downto 0:"
PARTS = {
    RISING: ("for i in 0..turn:", "for i in turn..n:"),
    FALLING: ("for i in n - 1 downto n - turn:", "for i in n - 1 - turn downto 0:"),
}
"""The first `turn` iterations of an outermost loop, and the others."""


def phases(given: Subject) -> Phases:
    """The bounds by parts of a program."""
    scope, nodes = Lowering(given.module).trace(given.algorithm)
    found = references(accesses(nodes), scope.facts)
    planner = Planner(found, scope.facts, list(samples(given.algorithm, scope)))
    return Phases(planner, Upper(planner.plans(), scope.facts))


def least(text: str, sizes: dict[str, int], line: int, lines: int) -> int:
    """What optimal replacement fetches when a program is executed."""
    executed = subject(text)
    return optimal(executed.trace(arguments(executed.algorithm, sizes, random.Random(1)), line)[1], lines).io


def assert_parts_hold(text: str, n: int, line: int, lines: int) -> None:
    """Wherever a program of one nest is parted."""
    known = phases(subject(text))
    assume(known.parts is not None)
    (loop,) = [each for each in PARTS if each in text]
    for turn in range(1, n):
        point = {"n": n, "Z": lines * line, "L": line}
        assert known.iterations(point) == (0, n - 1)
        for bound, part in zip(known.parted(point, turn), PARTS[loop], strict=True):
            cut = text.replace(loop, part).replace("n: size", "n: size, turn: size")
            assert least(cut, {"n": n, "turn": turn}, line, lines) <= bound, (turn, cut)


@pytest.mark.parametrize("shape", [RISING, FALLING])
@given(number=st.integers(0, 10**6), n=st.integers(2, 9), line=st.sampled_from((1, 2, 4)), lines=st.integers(1, 40))
@settings(max_examples=drawn(15), deadline=None)
def test_generated_triangles(shape: str, number: int, n: int, line: int, lines: int) -> None:
    text = triangle_program_from_seed(number).text
    outermost = [each.strip() for each in text.splitlines() if each.startswith("    for ")]
    assume(len(outermost) == 1)
    assert_parts_hold(text.replace(outermost[0], shape), n, line, lines)


AROUND = """
algorithm main(A: inout real[n, n], x: inout real[n], y: inout real[n], n: size):
    x[0] = 0
    for j in 0..n:
        x[j] += y[j]
    for i in 0..n:
        for j in i..n:
            for k in i..n:
                A[j, k] += A[j, i]*A[i, k]
    for j in 0..n:
        y[j] += x[j]
    x[0] += 1
"""


@pytest.mark.parametrize("lines", [1, 2, 5, 12, 30, 60])
@pytest.mark.parametrize("n", [2, 5, 8])
def test_what_is_around_the_nest_is_in_one_part(n: int, lines: int) -> None:
    nest = AROUND.index(RISING)
    behind = AROUND.index("    for j in 0..n:\n        y[j]")
    head = AROUND.index("    x[0] = 0")
    known = phases(subject(AROUND))
    for turn in range(1, n):
        one, other = PARTS[RISING]
        texts = (
            AROUND[:behind].replace(RISING, one),
            AROUND[:head] + "    " + AROUND[nest:].replace(RISING, other),
        )
        for bound, text in zip(known.parted({"n": n, "Z": lines, "L": 1}, turn), texts, strict=True):
            text = text.replace("n: size", "n: size, turn: size")
            assert least(text, {"n": n, "turn": turn}, 1, lines) <= bound


SWEEPS = """
algorithm main(x: real[n], y: real[n], n: size) -> real:
    local s: real = 0
    for i in 0..n:
        for j in i..n:
            s += x[j]
        for j in i..n:
            s += y[j]
    return s
"""


@pytest.mark.parametrize(("n", "turn"), [(10, 6), (10, 9), (31, 16), (100, 90)])
def test_the_last_sweeps_fit(n: int, turn: int) -> None:
    """Before the turn each access fetches; from there on all that is left of both vectors is kept."""
    lines = 2 * (n - turn)
    point = {"n": n, "Z": lines, "L": 1}
    swept = sum(2 * (n - each) for each in range(turn))
    assert phases(subject(SWEEPS)).parted(point, turn, spare=False) == (swept, lines)


NEAR = {
    # The rest of the triangle fits from the fifth column on.
    "dense.cholesky::cholesky_parallel": ({"n": 12, "Z": 92, "L": 8}, 5),
    "dense.lu::lu": ({"n": 40, "Z": 776, "L": 8}, 2.6),
    # The first sweeps need one line of each vector, and the last ones another.
    "polybench.durbin::durbin": ({"n": 9, "Z": 26, "L": 8}, 2),
}


@pytest.mark.parametrize("target", sorted(NEAR))
def test_near_the_least(target: str) -> None:
    point, factor = NEAR[target]
    fetched = least_of_library(target, point)
    assert fetched <= of_library(target, point) <= factor * fetched


def test_tiles_and_segments_are_not_parted() -> None:
    """Their loops move both ends of others: as much is touched in each iteration."""
    for target in ("dense.matmul::matmul_blocked", "sparse.csr::spmv_csr", "dense.matmul::matmul_basic"):
        module, algorithm = load(target)
        assert phases(Subject(target, module, algorithm, target, lambda _: {})).loop is None
