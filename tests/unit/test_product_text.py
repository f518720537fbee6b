"""Products of powers as text: one quotient, exponents without factors 1, and the same value when read again."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.algebra.product_text import difference_text, multiple_text, power_text, quotient_text
from archline.algebra.reals import NOTHING, Constant
from archline.growth.balls import value_at
from archline.growth.candidates import Shape, written
from archline.growth.monomials import Monomial
from archline.language.parser import parse_expression
from archline.numbers import fmpq

NAMES = ("n", "g", "c")


@pytest.mark.parametrize(
    ("powers", "text"),
    [
        ({"n": {2: 3}, "g": {2: -2}, "c": {2: -1}}, "n^3/(g^2*c)"),
        ({"n": {2: 1}, "g": {2: -1}}, "n/g"),
        ({"g": {2: -1}, "c": {2: -1}}, "1/(g*c)"),
        ({"n": {7: fmpq(1, 2)}, "c": {2: 3, 7: -1}}, "n^(log2(7)/2)*c^(3 - log2(7))"),
        ({"n": {2: -2, 3: 1}}, "n^(log2(3) - 2)"),
        ({"n": {2: fmpq(1, 2)}, "c": {2: fmpq(-1, 2)}}, "sqrt(n)/sqrt(c)"),
        ({"n": {7: 1}, "c": {7: -1}}, "n^log2(7)/c^log2(7)"),
        ({}, "1"),
    ],
)
def test_growth_has_one_quotient_and_short_exponents(powers: dict[str, dict[int, fmpq]], text: str) -> None:
    assert written([_shape(powers)], NAMES) == text


def test_sums_of_nothing_and_of_what_is_negative() -> None:
    assert quotient_text([], []) == "1"
    assert quotient_text([], ["n"]) == "1/n"
    assert power_text("n", "3/2") == "n^(3/2)"
    assert power_text("n", "1.58") == "n^1.58"
    assert multiple_text(fmpq(3, 2), "log2(7)") == "3*log2(7)/2"
    assert difference_text([(True, "2"), (True, "n")]) == "-2 - n"


parts = st.fractions(-4, 4, max_denominator=4).map(lambda each: fmpq(each.numerator, each.denominator))
exponents = st.dictionaries(st.sampled_from((2, 3, 7)), parts, max_size=3)


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), exponents, max_size=3), min_size=1, max_size=3))
def test_what_is_written_is_read_as_the_same(sums: list[dict[str, dict[int, fmpq]]]) -> None:
    """The values of the powers by math.log2, those of the text by its parser and ball arithmetic."""
    text = written([_shape(each) for each in sums], NAMES)
    at = {"n": 5, "g": 3, "c": 2}
    expected = sum(
        math.prod(
            at[name] ** sum(float(part.p) / float(part.q) * math.log2(base) for base, part in power.items())
            for name, power in each.items()
        )
        for each in sums
    )
    assert float(value_at(parse_expression(text), at)) == pytest.approx(expected, rel=1e-9)


def _shape(powers: dict[str, dict[int, fmpq]]) -> Shape:
    exponents = {
        name: [Constant.of(base).log2().scaled(x) for base, x in power.items()] for name, power in powers.items()
    }
    return Monomial({name: total for name, parts in exponents.items() if (total := sum(parts, NOTHING))})
