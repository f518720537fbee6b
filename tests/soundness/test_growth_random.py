"""Random questions: proofs and counterexamples are held against values far out, computed independently.

16 sets of facts, 130 questions each. A proof is wrong if the quotient still rises along some direction that the facts
allow, a counterexample if it does not rise along its own curve, or its curve breaks the facts.
"""

from __future__ import annotations

import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from mpmath import mp, mpf

from archline.growth.counterexample import Divergence
from archline.growth.is_big_o import Proved, Refuted, Undecided, is_O
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_facts
from growth_questions import FACTS, NAMES, questions
from growth_support import TIMES, grows_somewhere, log_of, point_at, satisfied

DIRECTIONS = 6
QUESTIONS = 130


def curve_points(found: Divergence) -> list[dict[str, mpf]]:
    """Logarithms of the sizes on a curve at three times."""

    def rational(value: fmpq) -> mpf:
        return mpf(int(value.p)) / int(value.q)

    padded = {name: [*found.curve.scales.get(name, ()), *([fmpq(0)] * 3)][:3] for name in NAMES}
    direction = {name: [rational(each) for each in powers] for name, powers in padded.items()}
    points = [point_at(direction, time) for time in TIMES]
    for point in points:
        for name, constant in found.curve.coefficients.items():
            point[name] += mp.log(rational(constant), 2)
    return points


def check(f: s.Expr, g: s.Expr, facts: tuple[s.Fact, ...], answer: Proved | Refuted) -> None:
    if isinstance(answer, Proved):
        assert not grows_somewhere(f, g, facts, NAMES, DIRECTIONS)
        return
    assert isinstance(answer.found, Divergence)
    points = curve_points(answer.found)
    # Powers of log2(T) in a curve may need still larger sizes to bring it within the facts.
    if all(min(point.values()) >= 0 for point in points):
        assert all(satisfied(facts, point) for point in points)
        gaps = [log_of(f, point) - log_of(g, point) for point in points]
        assert gaps[2] > gaps[1]


@pytest.mark.parametrize("where", FACTS)
def test_random_questions(where: str) -> None:
    facts = parse_facts(where) if where else ()
    asked = {"all": 0, "unknown": 0}

    @settings(max_examples=QUESTIONS, suppress_health_check=list(HealthCheck))
    @given(questions())
    def ask(texts: tuple[str, str]) -> None:
        f, g = map(parse_expression, texts)
        answer = is_O(f, g, facts)
        asked["all"] += 1
        if isinstance(answer, Undecided):
            asked["unknown"] += 1
        else:
            check(f, g, facts, answer)

    ask()
    assert asked["unknown"] <= asked["all"] // 100
