"""Polynomials and atoms against Python's own integers."""

from fractions import Fraction
from math import ceil, floor, log2, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra_strategies import POINTS, expressions, linear
from archline.algebra import atoms as a
from archline.algebra.evaluation import EvaluationError, evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, TooComplexError, budget
from archline.algebra.printing import to_text

n, m, b = (Poly.symbol(name) for name in "nmb")
points = st.sampled_from(POINTS)


@given(expressions(("n", "m")), expressions(("n", "m")), points)
def test_arithmetic_is_that_of_the_values(x: Poly, y: Poly, point: dict[str, int]) -> None:
    vx, vy = evaluate(x, point), evaluate(y, point)
    assert evaluate(x + y, point) == vx + vy
    assert evaluate(x - y, point) == vx - vy
    assert evaluate(x * y, point) == vx * vy
    assert evaluate(a.maximum(x, y), point) == max(vx, vy)
    assert evaluate(a.minimum(x, y), point) == min(vx, vy)
    assert evaluate(a.at_least_zero(x), point) == (1 if vx >= 0 else 0)


@given(linear(), st.integers(1, 7), points)
def test_division_rounds_as_integers_do(x: Poly, k: int, point: dict[str, int]) -> None:
    value = int(evaluate(x, point))
    assert evaluate(a.floor_div(x, Poly.constant(k)), point) == value // k
    assert evaluate(a.ceil_div(x, Poly.constant(k)), point) == -(-value // k)
    assert evaluate(a.modulo(x, Poly.constant(k)), point) == value % k


@given(linear(), points)
def test_division_by_a_symbol(x: Poly, point: dict[str, int]) -> None:
    value, by = int(evaluate(x, point)), point["m"]
    assert evaluate(a.floor_div(x * 2, m), point) == value * 2 // by
    assert evaluate(a.floor_div(x * m, m), point) == value


def test_a_quotient_of_polynomials_that_is_a_fraction_is_still_rounded() -> None:
    # (3*(n + 1)) / (2*(n + 1)) has no remainder as polynomials, yet floor(3/2) is 1.
    assert a.floor_div((n + 1) * 3, (n + 1) * 2) == ONE


@given(st.integers(-5, 5000))
def test_ceil_log2_of_numbers(value: int) -> None:
    expected = ceil(log2(value)) if value > 1 else 0
    assert evaluate(a.ceil_log2(Poly.constant(value)), {}) == expected
    assert evaluate(a.ceil_log2(n), {"n": value}) == expected


@given(expressions(("n", "m")), linear(), points)
def test_substitution_is_composition(x: Poly, y: Poly, point: dict[str, int]) -> None:
    inner = evaluate(y, point)
    assert evaluate(x.substitute({"n": y}), point) == evaluate(x, {**point, "n": inner})


@given(expressions(("n", "m")), points)
def test_simplification_keeps_the_value(x: Poly, point: dict[str, int]) -> None:
    facts = Facts().with_symbol("n", (ONE,)).with_symbol("m", (ONE,))
    assert evaluate(facts.simplify(x), point) == evaluate(x, point)


def test_identities_hold_by_normal_form() -> None:
    assert a.maximum(n, m) + a.minimum(n, m) == n + m
    assert a.maximum(n, m) == a.maximum(m, n)
    assert a.positive_part(n - m) * a.positive_part(m - n) == ZERO
    assert a.exponential(2, n + m) == a.exponential(2, n) * a.exponential(2, m)
    assert a.exponential(4, n) == a.exponential(2, n * 2)
    assert a.ceil_log2(a.maximum(n - 1, ONE)) == a.ceil_log2(n - 1)
    assert a.floor_div(n + 1, Poly.constant(2)) + a.floor_div(n, Poly.constant(2)) == n


def test_powers_of_two() -> None:
    k, d = Poly.symbol("k"), Poly.symbol("d")
    power = a.exponential(2, k)
    assert a.log2(power * 8) == k + 3
    assert a.quotient(power, a.exponential(2, d + 1)) == a.exponential(2, k - d - 1)
    assert evaluate(a.exponential(2, k - d), {"k": 3, "d": 5}) == Fraction(1, 4)
    # A rounded quotient of powers is not exact where the divisor is larger.
    assert evaluate(a.floor_div(power, a.exponential(2, d)), {"k": 2, "d": 4}) == 0


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(TooComplexError):
        (n + 1) ** 1000
    with pytest.raises(TooComplexError), budget(100):
        (n + m + 1) ** 40
    with pytest.raises(EvaluationError):
        evaluate(n ** (10**9), {"n": 2})
    assert evaluate(n ** (10**9), {"n": 1}) == 1
    assert evaluate(n**2, {"n": 10**30}) == 10**60


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (n * m * 2, "2*n*m"),
        (n**2 / 2 - n / 2, "1/2*n^2 - 1/2*n"),
        (a.ceil_div(n, b), "ceil(n/b)"),
        (a.minimum(n, b) * m, "m*min(b, n)"),
        (a.ceil_log2(n), "ceil(log2(n))"),
        (a.ceil_log2(n - 1), "ceil(log2(max(1, n - 1)))"),
        (ZERO, "0"),
        (-n, "-n"),
    ],
)
def test_text(value: Poly, text: str) -> None:
    assert to_text(value, ("n", "m", "b")) == text


@given(expressions(("n", "m")), points)
def test_text_reads_back_as_the_same_value(x: Poly, point: dict[str, int]) -> None:
    # The text is the language's own syntax; Python evaluates it here as an independent reader.
    text = to_text(x).replace("^", "**")
    scope = {"floor": floor, "ceil": ceil, "log2": log2, "sqrt": sqrt, "max": max, "min": min, **point}
    python = eval(_exact_division(text), {"__builtins__": {}, "Fraction": Fraction}, scope)
    assert python == evaluate(x, point)


def _exact_division(text: str) -> str:
    """Integers as Fractions, so that / is exact."""
    import re

    return re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"Fraction(\1)", text)
