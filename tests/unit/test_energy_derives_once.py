"""Energies of one algorithm at many sizes rest on costs that are derived once, while its files stay as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

import archline as al
from archline.costs.algorithms import AlgorithmUnderFacts

PROGRAM = """
algorithm scale(x: inout real[n]):
    for i in 0..n:
        x[i] *= 2
"""


@pytest.fixture
def derivations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    report = AlgorithmUnderFacts.report

    def counted(self: AlgorithmUnderFacts, *given: str | None, **options: str | None) -> object:
        found.append(self.name)
        return report(self, *given, **options)

    monkeypatch.setattr(AlgorithmUnderFacts, "report", counted)
    return found


def flops(target: str | AlgorithmUnderFacts, n: int, where: str | None = None) -> object:
    return al.energy(target, machine="xeon-e5-2650l-v3", n=n, where=where).result.inputs["flops"].amount.upper


def test_a_sweep_by_target_derives_once(tmp_path: Path, derivations: list[str]) -> None:
    file = tmp_path / "scale.algo"
    file.write_text(PROGRAM)
    assert [flops(str(file), n) for n in (1, 5, 9)] == [1, 5, 9]
    assert derivations == ["scale"]


def test_a_sweep_of_one_algorithm_derives_once(tmp_path: Path, derivations: list[str]) -> None:
    file = tmp_path / "scale.algo"
    file.write_text(PROGRAM)
    algorithm = al.algorithm(str(file))
    assert [flops(algorithm, n) for n in (1, 5, 9)] == [1, 5, 9]
    assert derivations == ["scale"]


def test_other_facts_and_other_texts_are_derived_anew(tmp_path: Path, derivations: list[str]) -> None:
    file = tmp_path / "scale.algo"
    file.write_text(PROGRAM)
    assert flops(str(file), 8) == flops(str(file), 8, where="n is power of 2") == 8
    file.write_text(PROGRAM.replace("x[i] *= 2", "x[i] = 2*x[i] + 1"))
    assert flops(str(file), 8) == 16
    assert derivations == ["scale"] * 3


def test_a_used_file_that_changes_is_read_anew(tmp_path: Path) -> None:
    (tmp_path / "twice.algo").write_text(PROGRAM)
    file = tmp_path / "main.algo"
    file.write_text("use twice\n\nalgorithm main(x: inout real[n]):\n    scale(x)\n")
    assert flops(str(file), 4) == 4
    (tmp_path / "twice.algo").write_text(PROGRAM.replace("x[i] *= 2", "x[i] = 2*x[i] + 1"))
    assert flops(str(file), 4) == 8
