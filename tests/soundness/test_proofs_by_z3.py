"""Proofs that derivations rest on, with a second witness: z3 finds no counterexample to any of them."""

from __future__ import annotations

from collections import Counter

import pytest

import archline as al
from effort import EFFORT
from programs import program_from_seed
from stdlib_targets import TRIED
from z3_questions import asked_of_z3, logged, spread

QUESTIONS, PROGRAMS, EVERY = {"quick": (100, 8, 24), "full": (400, 40, 8), "deep": (2_000, 200, 1)}[EFFORT]
"""How many proofs are asked, and how many generated programs and which targets of the library they are taken from."""
LIBRARY = TRIED[::EVERY]
FIRST_SEED = 7_000
"""Programs that no other test has derived: what was proved is not proved again."""


def test_no_proof_is_refuted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("z3", reason="the extra `verify` is not installed: no second witness of proofs by z3")
    found = logged(monkeypatch)
    for seed in range(FIRST_SEED, FIRST_SEED + PROGRAMS):
        program = program_from_seed(seed)
        al.loads(program.text)[program.entry].cost()
    for target in LIBRARY:
        al.algorithm(target).cost()
    answers: Counter[str] = Counter()
    for each in spread(found, QUESTIONS):
        answer = asked_of_z3(each)
        assert answer != "refuted", f"{each.value} >= 0 under {each.facts.bounds}"
        answers[answer] += 1
        if answers["proved"] + answers["unknown"] == QUESTIONS:
            break
    with capsys.disabled():
        print(f"\n{len(found)} proofs, asked of z3: {dict(answers)}")
    assert answers["proved"] + answers["unknown"] == QUESTIONS
    assert answers["unknown"] <= QUESTIONS / 20
