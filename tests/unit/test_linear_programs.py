"""Answers of linear programs satisfy the conditions that make them right, and agree with scipy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from archline.algebra.lp.exact import Infeasible, Optimum, Unbounded, maximise
from archline.algebra.lp.highs import (
    ADDED_COLUMNS,
    FREE,
    INITIAL_COLUMNS,
    NONNEGATIVE,
    ColumnGenerationProgram,
    LinearProgram,
    Matrix,
    make_program,
)
from cli_support import ROOT
from effort import drawn, long, some

SMALL = st.integers(-3, 3)


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[int], list[int]]:
    width, height = draw(st.integers(1, 4)), draw(st.integers(0, 5))
    objective = draw(st.lists(SMALL, min_size=width, max_size=width))
    rows = [draw(st.lists(SMALL, min_size=width, max_size=width)) for _ in range(height)]
    limits = draw(st.lists(st.integers(-4, 6), min_size=height, max_size=height))
    return objective, rows, limits, draw(st.lists(st.integers(0, width - 1), unique=True, max_size=width))


def dot(left: Sequence[fmpq | int], right: Sequence[fmpq | int]) -> fmpq:
    return sum((fmpq(a) * b for a, b in zip(left, right, strict=True)), fmpq(0))


def test_a_textbook_example() -> None:
    answer = maximise([1, 1], [[1, 2], [3, 1]], [4, 6])
    assert answer == Optimum(fmpq(14, 5), (fmpq(8, 5), fmpq(6, 5)), (fmpq(2, 5), fmpq(1, 5)))


def test_bland_rule_ends_where_others_cycle() -> None:
    """Beale's program cycles under the largest-coefficient rule; its optimum is 1/20."""
    rows = [[fmpq(1, 4), -60, fmpq(-1, 25), 9], [fmpq(1, 2), -90, fmpq(-1, 50), 3], [0, 0, 1, 0]]
    answer = maximise([fmpq(3, 4), -150, fmpq(1, 50), -6], rows, [0, 0, 1])
    assert isinstance(answer, Optimum)
    assert answer.value == fmpq(1, 20)


@settings(max_examples=drawn(400))
@given(programs())
def test_answers_prove_themselves(program: tuple[list[int], list[list[int]], list[int], list[int]]) -> None:
    objective, rows, limits, free = program
    answer = maximise(objective, rows, limits, free)
    columns = [[row[index] for row in rows] for index in range(len(objective))]
    if isinstance(answer, Optimum | Unbounded):
        assert all(dot(row, answer.point) <= limit for row, limit in zip(rows, limits, strict=True))
        assert all(value >= 0 for index, value in enumerate(answer.point) if index not in free)
    match answer:
        case Optimum():
            assert dot(objective, answer.point) == answer.value == dot(limits, answer.multipliers)
            assert all(each >= 0 for each in answer.multipliers)
            for index, column in enumerate(columns):
                total = dot(column, answer.multipliers)
                assert total == objective[index] if index in free else total >= objective[index]
        case Unbounded():
            assert dot(objective, answer.ray) > 0
            assert all(dot(row, answer.ray) <= 0 for row in rows)
            assert all(value >= 0 for index, value in enumerate(answer.ray) if index not in free)
        case Infeasible():
            assert dot(limits, answer.multipliers) < 0
            assert all(each >= 0 for each in answer.multipliers)
            for index, column in enumerate(columns):
                total = dot(column, answer.multipliers)
                assert total == 0 if index in free else total >= 0


@settings(max_examples=drawn(60))
@given(programs())
def test_scipy_agrees(program: tuple[list[int], list[list[int]], list[int], list[int]]) -> None:
    objective, rows, limits, free = program
    answer = maximise(objective, rows, limits, free)
    bounds = [(None, None) if index in free else (0, None) for index in range(len(objective))]
    matrix = np.array(rows, dtype=float) if rows else None
    found = linprog([-each for each in objective], matrix, limits or None, bounds=bounds)
    if isinstance(answer, Optimum):
        assert found.status == 0
        assert -found.fun == pytest.approx(float(answer.value.p) / float(answer.value.q), abs=1e-7)
    else:
        # Some solvers call what is unbounded or infeasible by either name.
        assert found.status in (2, 3, 4)


# A solver of linear programs that is absent or breaks down is the reason of what is unknown, and prints nothing


BEFORE = """
import os, sys, types
sys.path.insert(0, {analyzer!r})
import highspy

class Broken(highspy.Highs):
    {broken}

fake = types.ModuleType("highspy")
fake.__dict__.update(highspy.__dict__, Highs=Broken)
sys.modules["highspy"] = {module}
from archline.cli.main import main
sys.exit(main(["check", "--no-cache", "--format", "json", "dense.strassen::strassen"]))
"""
FAILING = {
    "halted": ("pass", "None"),
    "its status is kSolveError": ("def getModelStatus(self): return highspy.HighsModelStatus.kSolveError", "fake"),
}
BANNER = """
    seen = []
    def __init__(self):
        Broken.seen or os.write(1, b"Running HiGHS 1.16.0 (git hash: f3f113d)")
        Broken.seen.append(1)
        super().__init__()
"""


def checked(broken: str, module: str) -> list[dict[str, Any]]:
    """The claims that `check` decides, as JSON, where the solver is replaced."""
    program = BEFORE.format(analyzer=str(ROOT / "analyzer"), broken=broken, module=module)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert not done.stderr
    claims: list[dict[str, Any]] = json.loads(done.stdout)["targets"][0]["algorithms"][0]["ensures"]
    return claims


@long
@pytest.mark.parametrize("text", some([*FAILING], 2))
def test_a_solver_that_fails_is_the_reason(text: str) -> None:
    unknown = [each for each in checked(*FAILING[text]) if each["outcome"] == "unknown"]
    assert len(unknown) == 2
    for each in unknown:
        assert "the solver of linear programs, highspy 1." in each["reason"]
        assert text in each["reason"]


def test_what_a_solver_prints_does_not_reach_json() -> None:
    assert {each["outcome"] for each in checked(BANNER, "fake")} == {"holds"}


# Linear programs of many columns have the same optimum whether or not all of them are in from the start


WIDTH, HEIGHT = INITIAL_COLUMNS + 4 * ADDED_COLUMNS, 40


def _drawn(seed: int) -> tuple[np.ndarray, Matrix, np.ndarray, list[tuple[float, float]]]:
    """A program with a free variable, which costs most, and many that are >= 0: x >= 0 solves it, as all costs are."""
    random = np.random.default_rng(seed)
    dense = np.where(random.random((HEIGHT, WIDTH)) < 0.1, random.integers(-4, 5, (HEIGHT, WIDTH)), 0).astype(float)
    right = dense @ np.where(random.random(WIDTH) < 0.05, random.integers(1, 9, WIDTH), 0)
    rows, columns = np.nonzero(dense)
    matrix = Matrix(rows.astype(np.int32), columns.astype(np.int32), dense[rows, columns], dense.shape)
    aim = random.integers(1, 9, WIDTH).astype(float)
    aim[0] = 0.0
    return aim, matrix, right, [FREE, *[NONNEGATIVE] * (WIDTH - 1)]


@pytest.mark.parametrize("seed", range(5))
def test_the_optimum_is_that_of_all_columns(seed: int) -> None:
    aim, matrix, right, ends = _drawn(seed)
    whole, priced = LinearProgram(aim, matrix, right, right, ends), make_program(aim, matrix, right, right, ends, 1)
    assert isinstance(priced, ColumnGenerationProgram)
    expected, found = whole.solve(), priced.solve()
    assert expected is not None
    assert found is not None
    assert aim @ found == pytest.approx(aim @ expected)
    sums = np.bincount(matrix.rows, matrix.numbers * found[matrix.columns], HEIGHT)
    assert sums == pytest.approx(right, abs=1e-5)
    assert found[1:].min() >= -1e-7
