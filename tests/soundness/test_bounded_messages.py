"""Messages of at most K words: the derived bounds hold what simulated processors count, for any K."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.cli.main import main
from effort import drawn

SUBJECTS = {
    "distributed.matmul::cannon": [{"n": 6, "g": 1}, {"n": 6, "g": 2}, {"n": 6, "g": 3}],
    "distributed.matmul::matmul_25d": [{"n": 4, "g": 2, "c": 2}, {"n": 6, "g": 3, "c": 3}, {"n": 8, "g": 4, "c": 2}],
    "distributed.matmul::cannon_unequal": [{"n": 5, "m": 4, "p": 7, "g": 2}, {"n": 4, "m": 5, "p": 3, "g": 3}],
    "distributed.matmul::summa": [{"n": 4, "m": 12, "p": 6, "g": 2, "h": 3, "w": 2}],
    "distributed.matmul::matmul_two_level": [{"n": 8, "g": 2, "h": 2}, {"n": 6, "g": 1, "h": 3}],
    "distributed.stencil::jacobi_walls": [{"n": 6, "m": 4, "steps": 3, "g": 3, "h": 2}],
    "distributed.qr::tsqr": [{"n": 12, "m": 2, "P": 3}, {"n": 16, "m": 3, "P": 4}],
    "distributed.collectives::broadcast_scatter_allgather": [{"w": w, "P": p} for w, p in ((0, 3), (7, 3), (9, 5))],
    "distributed.collectives::allgather_bruck": [{"w": w, "P": p} for w, p in ((1, 2), (4, 3), (3, 6))],
    "distributed.collectives::barrier_dissemination": [{"P": p} for p in (1, 2, 5)],
}
CASES = [(target, number) for target, points in SUBJECTS.items() for number in range(len(points))]


@cache
def _report(target: str) -> al.CostReport:
    return al.algorithm(target).report().with_longest


@given(st.sampled_from(CASES), st.integers(1, 40))
@settings(max_examples=drawn(60), deadline=None)
def test_runs_are_between_the_bounds(case: tuple[str, int], longest: int) -> None:
    target, number = case
    sizes = {**SUBJECTS[target][number], "K": longest}
    subject = al.algorithm(target)
    named = subject.signature.indices
    ran = subject.run({**sizes, **dict.fromkeys(named, 0)})
    assert not ran.outside
    for name in ("messages", "node_messages"):
        cost = _report(target).costs.metrics.get(name)
        if cost is None or cost.lower is None or cost.upper is None:
            continue
        point = {**ran.sizes, **sizes}
        assert evaluate(cost.lower, point) <= ran.counts.communication[name] <= evaluate(cost.upper, point)


def test_by_hand() -> None:
    """Cannon at n = 12, g = 3: eight shifts of 16 words, each ceil(16/5) = 4 messages of 5 words at most."""
    report = al.algorithm("distributed.matmul::cannon").report()
    assert report["messages"].at(n=12, g=3, K=5) == 8 * 4
    assert report["messages"].at(n=12, g=3, K=16) == 8
    assert report["messages"].at(n=12, g=3) == 8
    assert report["words"].at(n=12, g=3, K=5) == 8 * 16


def test_the_form(capsys: pytest.CaptureFixture[str]) -> None:
    """2*g + 2 shifts of n^2/g^2 words where g >= 2."""
    assert main(["cost", "distributed.matmul::cannon", "--where", "K >= 1", "--metric", "messages"]) == 0
    text = capsys.readouterr().out
    assert "2*g*ceil(n^2/g^2/K)" in text
    assert "a message has K words at most" in text
