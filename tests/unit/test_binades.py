"""Proofs for one size and its logarithm: what they say holds at every size tried, and known inequalities are found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove.binades import holds_in_binades
from effort import drawn

N, E = Poly.symbol("n"), Poly.symbol("e")
LEVEL = a.ceil_log2(N)


def floor(value: Poly, divisor: int) -> Poly:
    return a.floor_div(value, Poly.constant(divisor))


def facts(name: str, least: int) -> Facts:
    return Facts().with_symbol(name, (Poly.constant(least),))


@pytest.mark.parametrize(
    ("value", "name", "least"),
    [
        (N * N - N.scaled(2), "n", 1),
        (a.exponential(2, LEVEL) - N - 1, "n", 1),
        # False at n = 1 alone, below the sizes that have a logarithm.
        (N * a.ceil_log2(N - 1) + N - 2, "n", 1),
        # Floors by numbers with a large common multiple, and within each other.
        (floor(N, 5) + floor(N, 7) - N.scaled(2), "n", 2),
        (floor(N, 25) - N.scaled(2), "n", 2),
        (floor(N + floor(N, 2), 2).scaled(6) - floor(N, 2).scaled(6) + N / 3 - Poly.constant(7) / 6, "n", 2),
        # A power beside the logarithm of another expression.
        (67 - a.ceil_log2(a.exponential(2, E) + 1).scaled(3) + E / 3, "e", 1),
    ],
)
def test_false_claims_are_not_proved(value: Poly, name: str, least: int) -> None:
    assert any(evaluate(value, {name: size}) < 0 for size in range(least, 60))
    assert not holds_in_binades(value, facts(name, least))


FACTORS = st.sampled_from(
    [
        N,
        N * N,
        LEVEL,
        LEVEL * LEVEL,
        a.exponential(2, LEVEL),
        floor(N, 2),
        floor(N + 1, 3),
        floor(N + floor(N, 2), 2),
        Poly.constant(1),
    ]
)


@settings(max_examples=drawn(300))
@given(st.lists(st.tuples(st.integers(-6, 6), FACTORS, FACTORS), min_size=1, max_size=4), st.integers(1, 4))
def test_what_is_proved_holds(terms: list[tuple[int, Poly, Poly]], least: int) -> None:
    value = Poly.constant(0)
    for coefficient, x, y in terms:
        value = value + (x * y).scaled(coefficient)
    if holds_in_binades(value, facts("n", least)):
        assert all(evaluate(value, {"n": size}) >= 0 for size in (*range(least, 200), 1023, 1024, 1025, 99_999))
