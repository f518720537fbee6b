"""Programs run as two, the last iterations of which fit into the cache: what one counts by hand."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import archline as al
from archline.api.running import run
from archline.energy.caches import Processors, Settings
from archline.execution.cache import StaticSchedule, WorkStealing, optimal
from archline.execution.results import Cache
from cli_support import cli
from io_points import arguments, io_of, least_of_library, of_library, subject

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
    assert subject(SWEEPS).bounds.ends(point)[1] <= swept + lines


NEAR = {
    # Phases: the last iterations fit.
    # The rest of the triangle fits from the fifth column on.
    "dense.cholesky::cholesky_parallel": ({"n": 12, "Z": 92, "L": 8}, 5),
    "dense.lu::lu": ({"n": 40, "Z": 776, "L": 8}, 2.6),
    # The first sweeps need one line of each vector, and the last ones another.
    "polybench.durbin::durbin": ({"n": 9, "Z": 26, "L": 8}, 2),
    # A fits with a line of R and one column of Q, but for one line.
    "polybench.gramschmidt::gramschmidt": ({"m": 40, "n": 32, "Z": 1932, "L": 16}, 2),
    # The rows above the diagonal stay but for the last; a column below them is held, and the diagonal beside it.
    "polybench.ludcmp::ludcmp": ({"n": 48, "Z": 1347, "L": 8}, 3),
    # B is kept but for some rows, which leave the lines that their columns had.
    "dense.matmul::matmul_basic": ({"n": 24, "m": 24, "p": 24, "Z": 600, "L": 8}, 2),
}


@pytest.mark.parametrize("target", sorted(NEAR))
def test_near_the_least(target: str) -> None:
    point, factor = NEAR[target]
    fetched = least_of_library(target, point)
    assert fetched <= of_library(target, point) <= factor * fetched


# Rows of an array that are kept in two ways: what that fetches by hand, and near what is least where nearly all fits


ALIKE = """
algorithm main(A: real[m, n], turns: size) -> real:
    local s: real = 0
    for t in 0..turns:
        for j in 0..n:
            for i in 0..m:
                s += A[i, j]
    return s
"""


@pytest.mark.parametrize("line", [2, 4, 8])
@pytest.mark.parametrize("lines", [12, 14, 18, 24, 30, 34, 36])
def test_rows_that_are_alike(line: int, lines: int) -> None:
    # Rows of three lines each: column by column one line of each, or all three of some rows and one of the others.
    m, turns, each = 12, 5, 3
    given = subject(ALIKE)
    cost = io_of(given.module, given.algorithm)
    point = {"m": m, "n": each * line, "turns": turns, "Z": lines * line, "L": line}
    whole = (lines - m) // (each - 1)
    assert cost.ends(point)[1] == each * whole + turns * each * (m - whole)
    drawn = arguments(given.algorithm, {"m": m, "n": each * line, "turns": turns}, random.Random(line))
    assert optimal(given.trace(drawn, line)[1], lines).io <= cost.ends(point)[1]


# Rows that begin at a remainder of counters keep what others keep


RED_BLACK = """
algorithm main(u: inout real[n, m], f: real[n, m], steps: size):
    where n >= 3, m >= 3
    for t in 0..steps:
        for color in 0..2:
            parallel for i in 1..n-1:
                for j in 1 + (i + color) % 2..m-1 step 2:
                    u[i, j] = 0.25*(u[i-1, j] + u[i+1, j] + u[i, j-1] + u[i, j+1] - f[i, j])
"""


def test_red_and_black_points_keep_three_rows() -> None:
    """Each row of u and of f is fetched once for each colour in each step: 4 times the words of a grid over L."""
    cost = al.loads(RED_BLACK)["main"].cost()
    n, m, steps, line = 60, 801, 5, 8
    rows = 3 * (m // line + 2) + 6
    lower, upper = cost.io.at(n=n, m=m, steps=steps, Z=rows * line, L=line)  # type: ignore[misc]
    assert upper <= 1.1 * 4 * n * m * steps / line
    assert lower >= 2 * (n - 2) * (m - 2) / line / 2


# Loops that are never entered around local arrays of two dimensions, and programs that have no place to be split


ROWS = """
algorithm main(x: inout real[n], m: size):
    for i in 1..m:
        local W: real[i, m - i] = 0
        x[0] = W[i - 1, 0]
"""
BLOCKS = """
algorithm main(A: inout real[n, n], b: size):
    where b divides n
    for I in 0..n/b:
        for J in I..n/b:
            for i in 0..b:
                for j in i..b:
                    A[I*b + i, J*b + j] += 1.0
                    if I == J and i != j:
                        A[J*b + j, I*b + i] = 1.0
"""


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("words", "line"), [(1, 1), (16, 4), (64, 2), (400, 1)])
def test_rows_of_a_local_array_that_is_never_made(m: int, words: int, line: int) -> None:
    algorithm = al.loads(ROWS)["main"]
    lower, upper = algorithm.cost().io.at(n=1, m=m, Z=words, L=line)  # type: ignore[misc]
    run = algorithm.run(x=np.zeros(1), m=m, cache=al.Cache(Z=words, L=line))
    assert 0 <= lower <= run.counts.io <= upper


@pytest.mark.parametrize(("n", "b"), [(1, 1), (2, 1), (2, 2), (4, 2), (6, 3)])
def test_blocks_that_are_nowhere_split(n: int, b: int) -> None:
    algorithm = al.loads(BLOCKS)["main"]
    lower, upper = algorithm.cost().io.at(n=n, b=b, Z=8, L=2)  # type: ignore[misc]
    run = algorithm.run(A=np.zeros((n, n)), b=b, cache=al.Cache(Z=8, L=2))
    assert lower <= run.counts.io <= upper


# io on several processors: what is derived from io on one, beside simulated private caches


PARALLEL = "dense.matmul::matmul_parallel"


def test_regimes_of_the_sizes_are_those_of_one_processor_times_processors() -> None:
    rows = {row.metric: row for row in al.load("sort.merge_parallel")["merge_parallel"].cost().view(processors=4).rows}
    one, four = rows["io"], rows["io(4)"]
    assert one.regimes
    assert [each.upper for each in four.regimes] == [each.upper.scaled(4) for each in one.regimes]
    assert four.upper == one.upper.scaled(4)


def test_what_is_touched_is_fetched_by_some_processor() -> None:
    cost = al.load("dense.gemv")["gemv"].cost()
    sizes = {"n": 6, "m": 9, "Z": 64, "L": 4}
    # The rows of A, x and y.
    assert cost.io_on(4).at(**sizes)[0] == 6 * 3 + 3 + 2


@pytest.mark.parametrize("schedule", [StaticSchedule(), WorkStealing(0), WorkStealing(1), WorkStealing(2)])
def test_simulated_processors_beside_the_bounds(schedule: StaticSchedule | WorkStealing) -> None:
    """P times the bound of one in serial order; of work stealing's bound the constant is below 1 here."""
    algorithm = al.load("dense.matmul")["matmul_parallel"]
    sizes, cache = {"n": 12, "m": 10, "p": 8}, Cache(64, 4)
    data = {name: np.ones(shape) for name, shape in (("A", (12, 10)), ("B", (10, 8)), ("C", (12, 8)))}
    settings = Settings(processors=Processors(4, schedule, "a schedule"))
    found = run(algorithm, data, cache, settings)
    cost = algorithm.cost()
    at = {**sizes, "Z": cache.Z, "L": cache.L}
    fetched = sum(each.io for each in found.private.caches)
    if isinstance(schedule, StaticSchedule):
        assert fetched <= cost.io_on(4).at(**at)[1]
    else:
        span = cost.span.at(**sizes)
        assert fetched <= cost.io.at(**at)[1] + 4 * span * cache.Z / cache.L


def test_schedules_are_told_with_the_span_and_their_source() -> None:
    text = " ".join(cli("cost", PARALLEL, "--procs", "P").out.split())
    assert "work stealing: O(io + P*Z/L*(m + log2(n) + log2(p))) expected" in text
    assert "Acar, Blelloch, Blumofe" in text
    known = json.loads(cli("cost", PARALLEL, "--procs", "4", "--format", "json").out)["schedules"]
    assert [each["schedule"] for each in known] == ["work stealing", "depth first"]


def test_nothing_is_said_of_local_arrays_on_other_stacks() -> None:
    assert "work stealing" not in cli("cost", "dense.strassen::strassen", "--procs", "4").out
