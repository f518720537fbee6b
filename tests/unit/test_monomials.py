"""Products of powers: multiplied, divided and raised as numbers are, and read again as what was written."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archline.algebra.reals import Constant, root
from archline.growth.balls import value_at
from archline.growth.monomials import Monomial, single
from archline.language.parser import parse_expression
from archline.numbers import fmpq

POINT = {"n": 5, "m": 3}
BASES = {"n": 5.0, "m": 3.0, "2^n": 32.0}
PARTS = st.fractions(-3, 3, max_denominator=4).map(lambda each: fmpq(each.numerator, each.denominator))
CONSTANTS = st.builds(lambda a, b, c: Constant(a) + Constant.of(3).log2().scaled(b) + root(fmpq(2)).scaled(c),
                      PARTS, PARTS, PARTS)  # fmt: skip
MONOMIALS = st.dictionaries(st.sampled_from(tuple(BASES)), CONSTANTS, max_size=3).map(
    lambda powers: Monomial({base: power for base, power in powers.items() if power})
)


def value(monomial: Monomial[str]) -> float:
    return math.prod(BASES[base] ** float(power.enclosure()) for base, power in monomial.powers.items())


@given(MONOMIALS, MONOMIALS, CONSTANTS)
def test_products_have_the_values_of_products(one: Monomial[str], other: Monomial[str], exponent: Constant) -> None:
    assert math.log(value(one * other)) == pytest.approx(math.log(value(one) * value(other)), abs=1e-6)
    assert math.log(value(one / other)) == pytest.approx(math.log(value(one) / value(other)), abs=1e-6)
    assert math.log(value(one.power(exponent))) == pytest.approx(
        math.log(value(one)) * float(exponent.enclosure()), abs=1e-6
    )
    assert (one * other) / other == one
    assert hash(one * other) == hash(other * one)


@given(MONOMIALS, PARTS.filter(bool))
def test_what_is_written_has_the_same_value(monomial: Monomial[str], factor: fmpq) -> None:
    text = monomial.text(coefficient=Constant(factor))
    found = float(value_at(parse_expression(text), POINT))
    assert found == pytest.approx(value(monomial) * int(factor.p) / int(factor.q), rel=1e-9)


@pytest.mark.parametrize(
    ("powers", "coefficient", "text"),
    [
        ({"2^n": Constant.of(3)}, 1, "2^(3*n)"),
        ({"2^n": Constant.of(3).log2()}, 1, "3^n"),
        ({"2^n": Constant.of(6).log2().scaled(fmpq(1, 2))}, 1, "6^(n/2)"),
        ({"2^n": Constant.of(-1), "n": Constant.of(2)}, 3, "3*n^2/2^n"),
        ({"n": Constant.of(3), "m": Constant(fmpq(-1, 2))}, fmpq(2, 3), "2*n^3/(3*sqrt(m))"),
        ({}, fmpq(1, 2), "1/2"),
    ],
)
def test_products_are_written_as_in_the_literature(
    powers: dict[str, Constant], coefficient: fmpq | int, text: str
) -> None:
    assert Monomial(powers).text(coefficient=Constant.of(coefficient)) == text
    assert single("n").text() == "n"
