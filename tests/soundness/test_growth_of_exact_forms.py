"""Growth of exact forms: a Theta, in each of its cases, that the form keeps to at large sizes; or a reason why not."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import product

import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

import archline as al
from archline.algebra.evaluate.exact import evaluate
from archline.expr.intervals import Interval
from archline.expr.values import evaluate as value_of
from archline.expr.values import evaluate_fact
from archline.growth.counterexample import Divergence
from archline.growth.is_big_o import Proved, Refuted, Undecided, is_O
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_facts
from archline.report.cost_view import NO_THETA
from effort import drawn
from growth_questions import FACTS, NAMES, questions
from growth_support import TIMES, grows_somewhere, log_of, point_at, satisfied
from guard_programs import guarded_program_from_seed

CASE = re.compile(r"(?:Theta\(((?:[^()]|\([^()]*\))*)\)|0)(?: where (.*?))?(?=, (?:Theta\(|0 )|$)")
SMALL, LARGE = 2**10, 2**20
FACTOR = 8
"""By how much the quotient of a form and its growth may differ between large sizes and larger ones."""


def _number(order: str, point: dict[str, int]) -> Fraction:
    found = value_of(parse_expression(order), point)
    return Fraction(found.lower if isinstance(found, Interval) else found)


def _quotients(form, order: str, where: str, names: tuple[str, ...], scale: int) -> list[Fraction]:
    """Of the form by its growth at sizes that are small, or about a scale, with all remainders by small numbers."""
    ways = [[3, 8, *(scale + each for each in range(0, 12, 5)), scale**2 + 7] for _ in names]
    points = [dict(zip(names, sizes, strict=True)) for sizes in product(*ways)]
    cases = [parse_facts(each) for each in where.split(" or ")] if where else [()]
    inside = [each for each in points if any(all(evaluate_fact(fact, each) for fact in case) for case in cases)]
    return [evaluate(form, each) / _number(order, each) for each in inside]


def check_growth(text: str) -> set[str]:
    """What was found of the metrics of a program: theta, cases, or the reason why there is none."""
    found = set()
    view = al.loads(text)["main"].cost().view()
    for row in view.rows:
        if not row.exact or not row.lower or row.metric == "io":
            continue
        growth = row.growth or ""
        assert "Theta" in growth or row.no_theta_reason == NO_THETA, (row.metric, growth, text)
        found.add("theta" if "Theta" in growth else "open")
        names = tuple(name for name in view.parameters if name in row.lower.names)
        for order, where in CASE.findall(growth):
            small, large = (_quotients(row.lower, order or "1", where, names, each) for each in (SMALL, LARGE))
            about = (row.metric, growth, view.text(row.lower), text)
            if not order:
                assert not any((*small, *large)), about
            elif small and large:
                assert min(small) > 0, about
                assert max(large) <= FACTOR * max(small), about
                assert min(large) * FACTOR >= min(small), about
    return found


@settings(max_examples=drawn(100, 10), deadline=None)
@given(st.integers(0, 1_000_000))
def test_generated_programs(seed):
    program = guarded_program_from_seed(3 * seed)
    check_growth(program.guarded)


FORMS = {
    "if m < 5 and i != 3": "Theta(n*m^2) where m <= 4",
    "if i % 2 == 0 and i % 3 == 0": "Theta(n*m^2)",
    "if (i - j) % 4 == 0 and i > 2*j and k == 0": None,
}


def program(guard: str) -> str:
    return f"""algorithm main(n: size, m: size, t: inout real[1]):
    for i in 0..n:
        for j in 0..m:
            for k in 0..m:
                {guard}:
                    t[0] += 1.0
"""


def test_guards():
    for guard, growth in FORMS.items():
        assert "theta" in check_growth(program(guard))
        if growth is not None:
            assert al.loads(program(guard))["main"].cost().flops.growth == growth


# Tiles that lean by the index around them, triangles, and a diagonal that is left out
TILES = {
    "for b in 0..n + m step 8:\n        for i in max(0, b - m)..min(n, b + 8):": None,
    "for b in 0..n step 8:\n        for i in b..min(b + 8, n):\n          for j in b..i + 1:": "Theta(n)",
    "for i in 0..n:\n        for j in i..m:": "Theta(min(n*m, m^2))",
    "for i in 0..n:\n        for j in 0..m:\n          if i + j != m - 1:": "Theta(n*m) where n >= 2",
}


def test_leaning_tiles():
    for loops, growth in TILES.items():
        text = f"algorithm main(n: size, m: size, t: inout real[1]):\n    {loops}\n{' ' * 14}t[0] += 1.0\n"
        assert check_growth(text) == {"theta"}
        if growth is not None:
            assert al.loads(text)["main"].cost().flops.growth == growth


# Random questions: proofs and counterexamples are compared with values far out, computed independently


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
