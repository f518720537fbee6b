"""Exact evaluation at points: against Python's integers, fractions and a hundred digits of decimal arithmetic."""

from __future__ import annotations

import decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.expr.intervals import EvaluationError, Interval
from archline.expr.values import evaluate, evaluate_fact, evaluate_static
from archline.language.parser import parse_expression, parse_fact_list

sizes = st.integers(min_value=1, max_value=10**9)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n/2", "must divide"),
        ("log2(n)", "power of 2"),
        ("sqrt(n)", "not a square"),
        ("2^(0 - n)", "negative power"),
        ("n//0", "zero"),
        ("n%(n - 7)", "zero"),
        ("q", "`q` has no value"),
        ("n^(10^9)", "bits"),
        ("2^(2^n) + 2^(2^40)", "bits"),
        ("2.5", "not an integer"),
        ("sqrt(0 - n)", "negative"),
        ("log2(n - n)", "not positive"),
        ("sin(n)", "not an expression in sizes"),
        ("n == 7", "not an expression in sizes"),
    ],
)
def test_what_has_no_integer_value(text: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        evaluate_static(parse_expression(text), {"n": 7})


@given(n=sizes, m=sizes, k=st.integers(min_value=0, max_value=40))
def test_static_evaluation_is_that_of_python(n: int, m: int, k: int) -> None:
    point = {"n": n, "m": m, "k": k}
    text = "(n*m - k)//(k + 1) + (n - m)%(k + 2) - 2^k*max(n, m) + n*m/m"
    expected = (n * m - k) // (k + 1) + (n - m) % (k + 2) - 2**k * max(n, m) + n
    assert evaluate_static(parse_expression(text), point) == expected


@given(n=sizes, m=sizes, a=st.integers(min_value=-9, max_value=9), b=st.integers(min_value=1, max_value=9))
def test_enclosures_hold_the_value(n: int, m: int, a: int, b: int) -> None:
    with decimal.localcontext(prec=100):
        x, y, e = decimal.Decimal(n), decimal.Decimal(m), decimal.Decimal(a) / b
        cases = {
            "log2(n/m)": (x / y).ln() / decimal.Decimal(2).ln(),
            "sqrt(n/m)": (x / y).sqrt(),
            "n^(a/b)": (x.ln() * e).exp(),
            "sqrt(n)*log2(m + 1) - sqrt(m)/sqrt(n)": x.sqrt() * (y + 1).ln() / decimal.Decimal(2).ln()
            - y.sqrt() / x.sqrt(),
        }
        for text, value in cases.items():
            found = evaluate(parse_expression(text), {"n": n, "m": m, "a": a, "b": b})
            exact = Fraction(value)
            # Decimal's own rounding, far below the width of an enclosure.
            slack = max(abs(exact), Fraction(1)) / 10**90
            if isinstance(found, Interval):
                assert found.lower - slack <= exact <= found.upper + slack
                assert found.upper - found.lower <= max(abs(exact), Fraction(n + m)) / 10**20
            else:
                assert abs(found - exact) <= slack


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("n is power of 2", True),
        ("m is power of 2", False),
        ("n is power of n", True),
        ("n is power of 1", False),
        ("1 is power of 7", True),
        ("n is square", True),
        ("m is square", False),
        ("3 divides m", True),
        ("m divides 3", False),
        ("0 divides m", False),
        ("n >= log2(n)^2", True),
        ("sqrt(m) < 3.5 and sqrt(m) > 3.4", True),
        ("not (n == 64 or q > 2)", False),
        ("n == 64 and q > 2", None),
        ("q > 2", None),
        ("sqrt(2)*sqrt(2) == 2", None),
        ("n + 1", None),
    ],
)
def test_facts(text: str, truth: bool | None) -> None:
    (fact,) = parse_fact_list(text)
    assert evaluate_fact(fact, {"n": 64, "m": 12}) is truth
