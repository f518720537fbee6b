"""Arrays that are touched in full whatever the data says, against runs and what one counts by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cache.analyse import io_cost
from archline.analysis.cache.summaries.must_access import filled
from archline.cli.main import main
from archline.execution.cache import compact
from archline.execution.run import execute
from archline.language import syntax as s
from archline.language.loader import load_text
from archline.language.model import Module
from effort import drawn
from filling_programs import filling_program_from_seed, lower_program_from_seed, upper_program_from_seed
from io_points import LINES, Subject, around, arrays, divided, indices, kernel, loops, recursion
from io_programs import ArrayProgram
from stdlib_cases import CASES, load
from stdlib_recursive_cases import RECURSIVE

Sizes = Mapping[str, int]


def lines(sizes: int, line: int) -> int:
    return -(-sizes // line)


def of(module: Module, algorithm: s.Algorithm) -> Poly:
    return filled(module, algorithm).lines(algorithm)


def assert_touched(subject: Subject, source: random.Random, runs: int) -> None:
    """No more lines than a run touches."""
    least = of(subject.module, subject.algorithm)
    if least == ZERO:
        return
    for _ in range(runs):
        line = source.choice(LINES)
        sizes, trace = subject.trace(subject.draw(source), line)
        assert evaluate(least, {**sizes, "L": line}) <= trace.distinct, f"{sizes}, L = {line}\n{subject.text}"


@pytest.mark.parametrize("target", sorted({**CASES, **RECURSIVE}))
def test_the_library(target: str) -> None:
    assert_touched(kernel(target, {**CASES, **RECURSIVE}[target]), random.Random(target), 3)


@pytest.mark.parametrize("kind", [loops, recursion, arrays, divided, around, indices])
def test_generated_programs(kind: Callable[[int], Subject]) -> None:
    source = random.Random(kind.__name__)
    for seed in range(drawn(30)):
        assert_touched(kind(seed), source, 3)


@pytest.mark.parametrize(
    "target", ["sort.mergesort::mergesort_parallel", "sort.select::select", "sparse.csb::spmv_csb"]
)
def test_where_the_data_decides_the_cost_has_it_as_lower_bound(target: str) -> None:
    module, algorithm = load(target)
    assert io_cost(module, algorithm).lower == of(module, algorithm) != ZERO


def test_the_report_tells_what_is_touched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "sort.mergesort::mergesort", "--explain", "--metric", "io"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "each call touches all of a[0..n] where n >= 2" in told
    assert main(["cost", "dense.trisolv_recursive::trisolv_right_co", "--explain", "--metric", "io"]) == 0
    assert "all of A[0..n, 0..n] on its diagonal and above it" in " ".join(capsys.readouterr().out.split())
    assert main(["cost", "dense.cholesky_recursive::cholesky_co", "--explain", "--metric", "io"]) == 0
    assert "all of A[0..n, 0..n] on its diagonal and below it" in " ".join(capsys.readouterr().out.split())


def test_json_tells_what_is_touched(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "string.lcs::lcs_co", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["costs"]["io"]["touched"]
    assert found[0] == {"array": "x", "box": [{"from": "0", "to": "n"}], "when": [], "lower": False, "upper": False}
    assert found[2]["box"] == [{"from": "1", "to": "n + 1"}, {"from": "1", "to": "m + 1"}]
    assert main(["cost", "sort.mergesort::mergesort", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["costs"]["io"]["touched"][0]["when"] == ["n >= 2"]


def touched(module: Module, algorithm: s.Algorithm, sizes: Sizes, line: int, source: random.Random) -> int:
    """The lines of a run on numbers between 0 and 1."""
    shape = sizes["n"], sizes.get("m", sizes["n"])
    data = np.random.default_rng(source.randrange(2**32)).uniform(0, 1, shape)
    run = execute(module, algorithm, {"A": data}, line=line, trace=True, races=False, compiled=False, progress=False)
    return compact(run.trace.lines).distinct


HALVES = [lower_program_from_seed, upper_program_from_seed]
GENERATORS = [filling_program_from_seed, *HALVES]


@pytest.mark.parametrize("flaw", [False, True])
@pytest.mark.parametrize("generator", GENERATORS)
def test_no_more_than_a_run_touches(generator: Callable[[int, bool], ArrayProgram], flaw: bool) -> None:
    source = random.Random(generator.__name__)
    for seed in range(120):
        program = generator(seed, flaw)
        module = load_text(program.text)
        algorithm = module.algorithms["main"]
        least = of(module, algorithm)
        if least == ZERO:
            continue
        for most in (1, 4, 9, 14):
            sizes = {name: source.randint(max(1, most // 2), most) for name in program.sizes}
            line = source.choice(LINES)
            found = touched(module, algorithm, sizes, line, source)
            assert evaluate(least, {**sizes, "L": line}) <= found, f"seed {seed}, {sizes}, L = {line}\n{program.text}"


def test_nests_whose_loops_make_no_intervals_end_in_time() -> None:
    """Each of thirty loops gives a first and a last iteration: not all of them are followed."""
    depth = 30
    loops = [f"{'    ' * (level + 1)}for i{level} in 0..2:" for level in range(depth)]
    place = " + ".join(f"{2 * 3**level}*i{level}" for level in range(depth))
    body = f"{'    ' * (depth + 1)}x[{place}] += 1.0"
    text = f"algorithm main(x: inout real[n]):\n    where n >= {6 * 3**depth}\n" + "\n".join([*loops, body]) + "\n"
    module = load_text(text)
    assert of(module, module.algorithms["main"]) == ZERO
