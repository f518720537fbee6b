"""Random questions: proofs and counterexamples are held against values far out, computed independently.

16 sets of facts, 130 questions each. A proof is wrong if the quotient still rises along some direction that the facts
allow, a counterexample if it does not rise along its own curve, or its curve breaks the facts.
"""

from __future__ import annotations

import pytest
from flint import fmpq
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from archline.algebra.asymptotic.counterexample import Divergence
from archline.algebra.asymptotic.is_big_o import Proved, Refuted, Undecided, is_O
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_facts
from growth_support import TIMES, grows_somewhere, log_of, point_at, satisfied

NAMES = ("n", "m", "p")
DIRECTIONS = 6
QUESTIONS = 130
FACTS = (
    "", "n >= m", "n >= m^2", "m <= 100", "n <= m + p", "n*m >= p", "n >= 2*m", "n is power of 2", "n >= m, m >= p",
    "n >= m*log2(m)", "p^3 <= n*m", "n >= log2(m)", "n*m <= p^2, p <= n", "m + p <= n", "m == n^2", "n >= 3, m >= n",
)  # fmt: skip
POWERS = st.sampled_from(
    ["2", "3", "1/2", "2/3", "0.05", "1.5", "log2(3)", "log2(7)", "log2(5)/log2(3)", "log2(7)/2 - 1", "sqrt(2)"]
)
NAME = st.sampled_from(NAMES)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("{}*{}".format, inner, inner),
        st.builds("{}/({})".format, inner, inner),
        st.builds("({})^({})".format, inner, POWERS),
        st.builds("log2({})".format, inner),
        st.builds("min({}, {})".format, inner, inner),
        st.builds("max({}, {})".format, inner, inner),
    )


EXPRESSIONS = st.recursive(NAME, larger, max_leaves=6)
SLOW = st.sampled_from(["log2({1})/log2({2})", "log2({1})/log2({2})^2", "{1}^0.05", "log2({1})/{2}^0.05", "log2({1})"])


@st.composite
def questions(draw: st.DrawFn) -> tuple[str, str]:
    """Two expressions; often the second is the first, changed a little."""
    f = draw(EXPRESSIONS)
    other, slow = draw(EXPRESSIONS), draw(SLOW).format("", draw(NAME), draw(NAME))
    g = draw(
        st.sampled_from([other, f"({f})*{slow}", f"{other} + {f}", f"max({other}, {f})/{draw(NAME)}^0.1",
                         f"({f})*{slow} + {other}", f"min({f}, {other}*({f}))"])
    )  # fmt: skip
    return (f, g) if draw(st.booleans()) else (g, f)


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
