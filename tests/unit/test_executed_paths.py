"""The longest path of a run, piece by piece: it adds up to what is counted, and goes where a path by hand goes."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import archline as al
from archline.cli.main import main
from archline.execution.data import generate
from archline.execution.run import execute
from archline.language.loader import load_text
from effort import some

SUBJECTS = [
    ("distributed.matmul::matmul_25d", {"n": 12, "g": 4, "c": 2}),
    ("distributed.matmul::cannon", {"n": 6, "g": 3}),
    ("distributed.matmul::matmul_two_level", {"n": 8, "g": 2, "h": 2}),
    ("distributed.stencil::jacobi_walls", {"n": 6, "m": 4, "steps": 3, "g": 3, "h": 2}),
]


@pytest.mark.parametrize(("target", "sizes"), SUBJECTS)
@pytest.mark.parametrize("metric", some(["words", "messages", "flops", "work", "node_words", "node_messages"]))
def test_the_pieces_add_up_to_the_count(target: str, sizes: dict[str, int], metric: str) -> None:
    subject = al.algorithm(target)
    plain = execute(*subject.executed, generate(*subject.executed, sizes, seed=0))
    ran = execute(*subject.executed, generate(*subject.executed, sizes, seed=0), path=metric)
    assert ran.counts == plain.counts
    assert plain.path == ()
    count = ran.counts.communication.get(metric, getattr(ran.counts, metric))
    # The outermost call is work of no step.
    assert sum(each.amount for each in ran.path) == (count or 0)


# Processor 0 sends 3 words to 1, which sends 5 to 2: the path of 8 words goes through 1 alone, as 1 receives 3 of its
# own, and 2 receives 5. Processor 3 and 4 exchange 7 words, which no path goes on from.
CHAIN = """
algorithm f() on grid(t: P):
    local x: real[9] = 0
    exchange x[0..3] to (1) when t == 0 into x[0..3] from (0) when t == 1
    if t == 1:
        x[0] = x[0]*2.0
    exchange x[0..5] to (2) when t == 1 into x[0..5] from (1) when t == 2
    exchange x[0..7] to (7 - t) when t == 3 or t == 4 into x[0..7] from (7 - t) when t == 3 or t == 4
"""


def test_a_path_by_hand() -> None:
    module = load_text(CHAIN)
    algorithm = list(module.algorithms.values())[-1]
    ran = execute(module, algorithm, generate(module, algorithm, {"P": 5}, seed=0), path="words")
    assert ran.counts.words == 8
    # Processor 2's path is that of its sender when that began the step: 3 words, received on line 4.
    lines = [(each.coordinates, each.span.line, each.amount) for each in ran.path if each.span is not None]
    assert lines in ([((1,), 4, 3), ((1,), 7, 5)], [((1,), 4, 3), ((2,), 7, 5)])


FOLLOWED = """
algorithm f() on grid(t: P):
    local x: real[9] = 0
    for s in 0..P-1:
        exchange x[0..2*s+1] to (t + 1) when t == s into x[0..2*s+1] from (t - 1) when t == s + 1
"""


def test_a_path_follows_its_senders() -> None:
    """Each hands on a longer message: the path ends at the last, and each of its steps is on another processor."""
    module = load_text(FOLLOWED)
    algorithm = list(module.algorithms.values())[-1]
    ran = execute(module, algorithm, generate(module, algorithm, {"P": 4}, seed=0), path="words")
    assert [each.amount for each in ran.path] == [1, 3, 5]
    assert ran.counts.words == 1 + 3 + 5


def test_the_time_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    machine = "jaketown"
    arguments = ["run", "distributed.matmul::cannon", "--at", "n=6,g=3", "--explain", "--machine", machine]
    assert main([*arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["path"]["metric"] == "time"
    assert Fraction(found["path"]["total"]) == Fraction(found["time"]["seconds"])
    assert sum(Fraction(each["amount"]) for each in found["path"]["pieces"]) == Fraction(found["time"]["seconds"])


def test_the_text_names_the_statements(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "distributed.matmul::matmul_25d", "--at", "n=12,g=4,c=2", "--explain"]) == 0
    text = capsys.readouterr().out
    # b = 3: a shift moves 9 words; the path has 4 by the shifts of the loop and 2 before it.
    assert "critical path of the words: 84 in 12 steps" in text
    assert "broadcast x along k from 0 using scatter_allgather" in text
    assert len(text.splitlines()) <= 50


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--metric", "words"], "AL411"),
        (["--explain", "--engine", "mpi"], "AL411"),
        (["--explain", "--metric", "time"], "AL411"),
    ],
)
def test_options_that_do_not_fit(more: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "distributed.matmul::cannon", "--at", "n=6,g=3", *more]) == 2
    assert code in capsys.readouterr().err


def test_one_processor_has_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "dense.matmul::matmul_basic", "--at", "n=2,m=2,p=2", "--explain"]) == 2
    assert "AL538" in capsys.readouterr().err
