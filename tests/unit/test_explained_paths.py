"""`cost` on a grid: what each statement adds, the case of several processors along each axis, whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.cli.main import main
from archline.report.paths import PathTable, rest_of
from effort import long

METRICS = ("words", "messages", "node_words", "node_messages", "flops")
TARGETS = [
    "distributed.matmul::cannon",
    "distributed.matmul::summa",
    "distributed.matmul::matmul_25d",
    "distributed.matmul::matmul_two_level",
    "distributed.stencil::jacobi_walls",
    "distributed.qr::tsqr",
    "distributed.fft::fft_bruck",
    "distributed.nbody::nbody_replicated",
    "distributed.collectives::alltoall_bruck",
]


def _table(target: str) -> PathTable:
    return al.algorithm(target).report().path_table()


@long
@pytest.mark.parametrize("target", TARGETS)
def test_messages_of_the_statements_add_up_to_the_bound(target: str) -> None:
    """Messages are bounded statement by statement: nothing is left over."""
    table = _table(target)
    rows = {row.metric: row for row in table.view.rows}
    assert rest_of(table.steps, rows["messages"]) == ZERO
    assert sum((each.upper("messages") for each in table.steps), ZERO) == rows["messages"].upper


def test_the_steps_of_cannon_by_hand() -> None:
    """Two shifts of blocks of n^2/g^2 words before the loop, two in each of its g iterations, and 2*b^3 flops in it."""
    table = _table("distributed.matmul::cannon")
    n, g = Poly.symbol("n"), Poly.symbol("g")
    block = n**2 * g**-2
    assert table.case == "g >= 2"
    words = [(each.source, each.upper("words")) for each in table.steps if "words" in each.amounts]
    assert words == [
        ("shift x along j by -i", block),
        ("shift y along i by -j", block),
        ("shift x along j by -1", g * block),
        ("shift y along i by -1", g * block),
    ]
    flops = [
        (each.source, each.times.upper, each.once["flops"].upper) for each in table.steps if "flops" in each.amounts
    ]  # type: ignore[union-attr]
    assert flops == [("matmul_basic(x, y, z)", g, n**3 * g**-3 * 2)]


@long
@pytest.mark.parametrize(
    ("target", "sizes"),
    [
        ("distributed.matmul::matmul_25d", {"n": 12, "g": 4, "c": 2}),
        ("distributed.matmul::matmul_25d", {"n": 6, "g": 3, "c": 3}),
        ("distributed.matmul::summa", {"n": 4, "m": 12, "p": 6, "g": 2, "h": 3, "w": 2}),
        ("distributed.stencil::jacobi_walls", {"n": 6, "m": 4, "steps": 3, "g": 3, "h": 2}),
    ],
)
def test_each_statement_is_an_upper_bound_of_what_runs_do(target: str, sizes: dict[str, int]) -> None:
    """No path goes through more of a statement than its row says; the bound of the case holds what runs count."""
    table = _table(target)
    ran = al.algorithm(target).run(sizes)
    rows = {row.metric: row for row in table.view.rows}
    for metric in ("words", "messages", "flops"):
        most = {each.span.line: evaluate(each.upper(metric), sizes) for each in table.steps}
        upper, lower = rows[metric].upper, rows[metric].lower
        count = ran.counts.communication.get(metric, ran.counts.flops)
        assert evaluate(lower, sizes) <= count <= evaluate(upper, sizes)
        # What any one path adds in a statement, here the longest one's.
        traced = _traced(target, sizes, metric)
        for line, amount in traced.items():
            assert amount <= most[line], (metric, line)


def _traced(target: str, sizes: dict[str, int], metric: str) -> dict[int, int]:
    from archline.execution.data import generate
    from archline.execution.run import execute

    subject = al.algorithm(target)
    ran = execute(*subject.executed, generate(*subject.executed, sizes, seed=0), path=metric)
    found: dict[int, int] = {}
    for each in ran.path:
        span = each.called or each.span
        if span is not None and not each.computed:
            found[span.line] = found.get(span.line, 0) + int(each.amount)
    return found


def test_several_processors_along_each_axis_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    """2*g + 2 messages of n^2/g^2 words, as Cannon's algorithm is taught, where g >= 2."""
    assert main(["cost", "distributed.matmul::cannon"]) == 0
    text = capsys.readouterr().out
    assert "2*g + 2 " in text
    assert "2*n^2/g + 2*n^2/g^2" in text
    assert "where g >= 2; for all sizes see --all" in text
    assert main(["cost", "distributed.matmul::cannon", "--all"]) == 0
    assert "max(0, g - 2)" in capsys.readouterr().out


def test_the_case_is_as_at_sizes() -> None:
    """The forms of the case and those for all sizes agree where there are several processors, if both are exact."""
    report = al.algorithm("distributed.matmul::cannon").report()
    for g in (2, 3, 5):
        point = {"n": 30, "g": g}
        for cost in report.case.costs:
            everywhere = report.costs[cost.metric]
            if cost.upper is not None and everywhere.upper is not None and everywhere.exact:
                assert evaluate(cost.upper, point) == evaluate(everywhere.upper, point)


@long
def test_bounds_at_sizes_are_whole_numbers() -> None:
    report = al.algorithm("distributed.matmul::matmul_25d").report()
    point = {"n": 12, "g": 4, "c": 2}
    upper = report.costs["words"].upper
    exact = evaluate(upper, point)
    assert exact.denominator > 1
    low, high = report["words"].at(point)  # type: ignore[misc]
    assert isinstance(low, int)
    assert high == math.floor(exact)
    assert Fraction(al.algorithm("distributed.matmul::matmul_25d").run(point).counts.words or 0) <= high


@pytest.mark.parametrize("metric", ["words", "messages", "memory"])
def test_a_metric_alone(metric: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "distributed.matmul::cannon", "--metric", metric]) == 0
    text = capsys.readouterr().out
    assert f"  {metric} " in text
    assert "flops" not in text


@pytest.mark.parametrize(
    ("target", "metric"),
    [
        ("dense.matmul::matmul_basic", "words"),
        ("distributed.matmul::cannon", "node_words"),
        ("distributed.matmul::cannon", "calls"),
    ],
)
def test_metrics_that_there_are_not(target: str, metric: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", target, "--metric", metric]) == 2
    assert "AL411" in capsys.readouterr().err


def test_explained_at_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    """n = 12, g = 3: blocks of 16 words; 2 + 2*3 shifts."""
    assert main(["cost", "distributed.matmul::cannon", "--at", "n=12,g=3", "--explain", "--metric", "words"]) == 0
    text = capsys.readouterr().out
    assert "words of cannon at n = 12, g = 3, on its critical path" in text
    rows = [line.split()[-1] for line in text.splitlines() if "shift" in line]
    assert rows == ["16", "16", "48", "48"]
    assert text.splitlines()[-1].split() == ["together", "128"]


@pytest.mark.parametrize(("metric", "says"), [("memory", "not a sum over a path"), ("span", "--metric work")])
def test_metrics_without_steps(metric: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cost", "distributed.matmul::cannon", "--explain", "--metric", metric]) == 0
    assert says in capsys.readouterr().out


def test_all_shows_the_statements_of_callees(capsys: pytest.CaptureFixture[str]) -> None:
    """A shift is one exchange, in another file."""
    assert main(["cost", "distributed.matmul::cannon", "--explain", "--all", "--metric", "messages"]) == 0
    text = capsys.readouterr().out
    assert text.count("collectives:26") == 4
    assert "| exchange x to" in text
