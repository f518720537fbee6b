"""What reports say of io: facts, what is unknown and why, what is touched in full, and on several processors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import archline as al
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cache.analyse import derive_loop_io_cost
from archline.analysis.cost import enclose_cost
from archline.api.running import run
from archline.energy.caches import Processors, Settings
from archline.execution.cache import StaticSchedule, WorkStealing
from archline.execution.results import Cache
from archline.expr.intervals import EvaluationError
from archline.language.loader import load_text
from cli_support import cli
from io_points import io_of, subject

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


# What is unknown, refused or not accessed, and what is reported
@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        (
            "algorithm main(m: size, y: inout real[n]):\n    for i in 0..n:\n        for k in 0..m^n:\n            y[i] += 1.0\n",
            "a power with a symbolic base and exponent",
            3,
        ),
        ("algorithm main(x: local real[n]) on grid(r: P):\n    pass\n", "grid", 1),
    ],
)
def test_what_is_unknown_says_why_and_where(text: str, reason: str, line: int) -> None:
    module = load_text(text)
    cost = io_of(module, module.algorithms["main"])
    assert cost.status == "unknown"
    assert cost.reason is not None
    assert reason in cost.reason
    assert cost.span.line == line


def test_accesses_that_cannot_be_followed_count_a_line_each() -> None:
    module = load_text(
        "algorithm part(R: offsets[g] into r, x: real[r], y: inout real[1]):\n    for k in R[1]..R[1] + 1:\n"
        "        y[0] += x[k]\n\nalgorithm main(x: real[q], y: inout real[1]):\n    for c in 0..q:\n"
        "        local e: int[3]\n        e[0] = 0\n        e[1] = c\n        e[2] = q\n        part(e, x, y)\n"
    )
    cost = io_of(module, module.algorithms["main"])
    assert cost.status == "bounded"
    assert cost.upper == Poly.symbol("q") * 7
    assert cost.reason is not None
    assert "offsets" in cost.reason
    assert cost.span.line == 11


def test_nothing_is_fetched_without_arrays() -> None:
    module = load_text("algorithm main(n: size):\n    for i in 0..n:\n        pass\n")
    cost = io_of(module, module.algorithms["main"])
    assert cost.exact
    assert cost.interval_at({"n": 5, "Z": 1, "L": 1}).ends == (0, 0)


ENDLESS = """algorithm main(x: inout real[n]):
    where n >= 0
    {}:
        main(x[{}..n])
        x[0] += 1.0
"""


@pytest.mark.parametrize(
    ("condition", "first", "n"), [("if n > 0", "1", 20_000), ("if n > 0 or x[0] > 0.5", "n//2", 9)]
)
def test_a_recursion_that_is_too_deep_is_refused(condition: str, first: str, n: int) -> None:
    known = subject(ENDLESS.format(condition, first)).bounds
    assert not isinstance(known, str)
    with pytest.raises(EvaluationError):
        known.ends({"n": n, "Z": 8, "L": 2})


@pytest.mark.parametrize(
    "text",
    [
        "extern f(a: real) -> real costs 3 flops, 5 io\n\nalgorithm main(x: inout real[n]):\n    x[0] = f(x[0])\n",
        "algorithm g(x: inout real[n]):\n    costs 3 io\n\nalgorithm main(x: inout real[n]):\n    g(x)\n",
    ],
)
def test_io_that_is_declared_is_not_left_out(text: str) -> None:
    module = load_text(text)
    cost = io_of(module, module.algorithms["main"])
    assert cost.status == "unknown"
    assert cost.reason is not None
    assert "declared io" in cost.reason


def test_recursion_that_accesses_nothing_fetches_nothing() -> None:
    module = load_text(
        "algorithm main(x: real[n], d: real):\n    if n > 8:\n        local q: int = n//2\n        if d < 0.5:\n"
        "            q += 1\n        assume q >= 1, 2*q <= n + 2\n        main(x[0..q], d)\n        main(x[q..n], d)\n"
    )
    cost = io_of(module, module.algorithms["main"])
    assert cost.status != "unknown"
    assert cost.upper == ZERO


def test_explain_says_why_every_access_counts() -> None:
    printed = cli("cost", "sort.select::select", "--explain", "--metric", "io").out
    assert "every access is counted as a miss, as accesses cannot be followed: the size" in printed
    assert "at sizes, Z and L: at most the lines of calls whose arrays fit" in printed
    assert "where n <= 32: io <=" in printed


def test_without_a_bound_io_is_unknown_by_its_name(tmp_path: Path) -> None:
    file = tmp_path / "uneven.algo"
    file.write_text(
        "algorithm main(p: inout real[a]):\n    where a >= 0\n    if a >= 3:\n        main(p[0..a - 2])\n"
        "        main(p[1..(a + 1)//2])\n    else:\n        for k in 0..a:\n            p[k] += 1.0\n"
    )
    shown = cli("cost", str(file)).out
    assert "  io " in shown
    assert "  accesses" not in shown


def explained(target: str) -> str:
    return " ".join(cli("cost", target, "--explain", "--metric", "io").out.split())


def test_the_report_tells_what_is_touched() -> None:
    assert "each call touches all of a[0..n] where n >= 2" in explained("sort.mergesort::mergesort")
    assert "all of A[0..n, 0..n] on its diagonal and above it" in explained("dense.trisolv_recursive::trisolv_right_co")
    assert "all of A[0..n, 0..n] on its diagonal and below it" in explained("dense.cholesky_recursive::cholesky_co")


def test_json_tells_what_is_touched() -> None:
    found = json.loads(cli("cost", "string.lcs::lcs_co", "--format", "json").out)["costs"]["io"]["touched"]
    assert found[0] == {"array": "x", "box": [{"from": "0", "to": "n"}], "when": [], "lower": False, "upper": False}
    assert found[2]["box"] == [{"from": "1", "to": "n + 1"}, {"from": "1", "to": "m + 1"}]
    found = json.loads(cli("cost", "sort.mergesort::mergesort", "--format", "json").out)["costs"]["io"]["touched"]
    assert found[0]["when"] == ["n >= 2"]


# io on several processors: what is derived from io on one, beside simulated private caches


PARALLEL = "dense.matmul::matmul_parallel"


def test_regimes_of_the_sizes_are_those_of_one_processor_times_processors() -> None:
    rows = {row.metric: row for row in al.load("sort.merge_parallel")["merge_parallel"].cost().view(processors=4).rows}
    one, four = rows["io"], rows["io(4)"]
    assert one.by_case
    assert [each.upper for each in four.by_case] == [each.upper.scaled(4) for each in one.by_case]
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
    assert "work stealing: O(io + P*Z*(m + log2(n) + log2(p))/L) expected" in text
    assert "Acar, Blelloch, Blumofe" in text
    known = json.loads(cli("cost", PARALLEL, "--procs", "4", "--format", "json").out)["schedules"]
    assert [each["schedule"] for each in known] == ["work stealing", "depth first"]


def test_nothing_is_said_of_local_arrays_on_other_stacks() -> None:
    assert "work stealing" not in cli("cost", "dense.strassen::strassen", "--procs", "4").out


def test_values_at_a_point_do_not_depend_on_points_before() -> None:
    report = al.algorithm("dense.trisolv::trisolv").cost()
    points = [{"n": n, "Z": Z, "L": L} for n in (9, 16) for L in (1, 4) for Z in (4, 8, 20, 64)]
    together = derive_loop_io_cost(report.module, report.node)
    values = [enclose_cost(together, point) for point in points]
    assert len({value.upper for value in values}) > 8
    for point, value in list(zip(points, values, strict=True))[::3]:
        assert enclose_cost(derive_loop_io_cost(report.module, report.node), point) == value, point
