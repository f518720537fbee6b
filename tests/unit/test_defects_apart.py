"""A defect in one algorithm, claim or pair of versions hides nothing of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from archline.analysis import analyse
from archline.analysis.cost import Costs
from archline.analysis.metrics.operations import CostModel
from archline.language import syntax as s
from archline.language.model import Module
from cli_support import cli

PROGRAM = """algorithm f(n: size, x: inout real[n]):
    ensures flops == n
    for i in 0..n:
        x[i] += 1.0

algorithm broken(n: size, m: size, x: inout real[n]):
    ensures flops == n
    for i in 0..n:
        x[i] += 1.0

algorithm g(n: size, x: inout real[n]):
    ensures flops == n - 1
    for i in 0..n:
        x[i] += 1.0

claim flops(broken) == n
claim flops(g) == n
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A file with an algorithm whose derivation is broken on purpose."""
    honest = analyse._derive_costs

    def derive(module: Module, algorithm: s.Algorithm, model: CostModel, recursive: bool) -> Costs:
        # `diff` gives algorithms other names.
        if len(algorithm.parameters) == 3:
            raise ZeroDivisionError("deliberate")
        return honest(module, algorithm, model, recursive)

    monkeypatch.setattr(analyse, "_derive_costs", derive)
    path = tmp_path / "p.algo"
    path.write_text(PROGRAM)
    return str(path)


def test_check_decides_all_else(file: str) -> None:
    for _ in range(2):
        result = cli("check", file)
        assert result.code == 3
        assert "p.algo:12: fails  flops == n - 1" in result.out
        assert "p.algo:17: holds  claim flops(g) == n" in result.out
        assert result.err.count("AL999: ") == 2
        assert "broken`: ZeroDivisionError: deliberate" in result.err
        assert "`claim flops(broken) == n`: ZeroDivisionError: deliberate" in result.err


@pytest.mark.parametrize("options", [(), ("--format", "json"), ("--at", "n=4")])
def test_cost_shows_the_others(file: str, options: tuple[str, ...]) -> None:
    for _ in range(2):
        result = cli("cost", file, *options)
        assert result.code == 3
        assert "flops" in result.out
        assert "AL999: `broken`: ZeroDivisionError: deliberate" in result.err


def test_diff_compares_the_others(file: str, tmp_path: Path) -> None:
    newer = tmp_path / "q.algo"
    newer.write_text(PROGRAM.replace("1.0", "1.0 + 1.0"))
    result = cli("diff", file, str(newer), "-j", "1")
    assert result.code == 3
    assert "2*n" in result.out
    assert "broken`: ZeroDivisionError: deliberate" in result.err


def test_an_algorithm_that_cannot_be_checked_leaves_the_answers_about_the_others(tmp_path: Path) -> None:
    text = """algorithm fine(x: inout real[n]):
    ensures flops == n
    for i in 0..n:
        x[i] += 1.0

"""
    for name in ("first", "second"):
        # Processor 0 exchanges with a partner that is in the other step.
        text += f"""algorithm {name}(X: real[P], Y: out real[P]) on grid(r: P):
    local x: real
    input x = X[r]
    if r % 2 == 0:
        exchange x to (r + 1) when r + 1 < P into x from (r + 1) when r + 1 < P
    else:
        exchange x to (r - 1) into x from (r - 1)
    output Y[r] = x

"""
    file = tmp_path / "program.algo"
    file.write_text(text)
    result = cli("check", str(file), "--no-cache")
    assert result.code == 2
    assert "holds  flops == n" in result.out
    assert result.err.count("AL533: ") == 2
