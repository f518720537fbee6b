"""Proofs by sums of products of facts, and what they are made of: nothing false is proved, known inequalities are."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove.enumerate import prove_in_binades
from archline.algebra.prove.handelman import prove_by_products
from archline.algebra.prove.prover import prove_never_negative
from effort import drawn

N, M, P = (Poly.symbol(name) for name in "nmp")
ONE, TWO = Poly.constant(1), Poly.constant(2)


def ordered(least: int = 1) -> Facts:
    """n >= m >= p >= least."""
    low = Poly.constant(least)
    return Facts().with_symbol("p", [low]).with_symbol("m", [low, P]).with_symbol("n", [low, M])


@pytest.mark.parametrize(
    "value",
    [
        N * M - M * M,
        # With n >= m it is (n - m)^2.
        N * N - N * M.scaled(2) + M * M,
        N * M * P - P * P * P,
        N * M - N - M + 1,
        a.ceil_log2(N) - a.ceil_log2(M),
        (N - M) * (a.ceil_log2(N) - a.ceil_log2(P)),
        a.ceil_log2(N + 1) - a.ceil_log2(M),
        a.ceil_log2(N) + 1 - a.ceil_log2(N + 1),
        N - a.ceil_log2(N) - 1,
        a.floor_div(N, TWO).scaled(2) - N + 1,
    ],
)
def test_known_inequalities_are_proved(value: Poly) -> None:
    assert prove_never_negative(value, ordered(), [prove_by_products])


@pytest.mark.parametrize(
    ("value", "least"),
    [
        (N - M - 1, 1),
        (N * M - N * P - 1, 1),
        (a.ceil_log2(M) - a.ceil_log2(N), 1),
        (a.ceil_log2(N) - a.ceil_log2(N + 1), 1),
        # The logarithm of 0 is 0, as that of 1 is: not below.
        (N - a.ceil_log2(N) - 1, 0),
        (-a.ceil_log2(N) - 1 + N, 0),
        (a.floor_div(N, TWO).scaled(2) - N, 1),
    ],
)
def test_false_claims_are_not_proved(value: Poly, least: int) -> None:
    sizes = [(n, m, p) for n, m, p in product(range(least, 9), repeat=3) if n >= m >= p]
    assert any(evaluate(value, {"n": n, "m": m, "p": p}) < 0 for n, m, p in sizes)
    assert not prove_never_negative(value, ordered(least), [prove_by_products])


TERMS = (
    *(N, M, P, N * M, M * M, N * N, M * P, a.ceil_log2(N), a.ceil_log2(M + 1), N * a.ceil_log2(M)),
    *(a.floor_div(N, TWO), a.floor_div(M + 1, TWO) * N, a.positive_part(N - 5), a.positive_part(M - P)),
)


@settings(max_examples=drawn(150), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TERMS), st.integers(-3, 3)), min_size=1, max_size=5), st.integers(-6, 6))
def test_what_is_proved_holds(terms: list[tuple[Poly, int]], constant: int) -> None:
    value = sum((term.scaled(number) for term, number in terms), Poly.constant(constant))
    for least in (0, 1):
        if prove_never_negative(value, ordered(least), [prove_by_products]):
            for n, m, p in product(range(least, 14), repeat=3):
                assert not n >= m >= p or evaluate(value, {"n": n, "m": m, "p": p}) >= 0, (n, m, p)


# Proofs for one size and its logarithm: what they say holds at every size tried, and known inequalities are found


E = Poly.symbol("e")
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
        # A power and the logarithm of another expression.
        (67 - a.ceil_log2(a.exponential(2, E) + 1).scaled(3) + E / 3, "e", 1),
    ],
)
def test_false_claims_are_not_proved_in_binades(value: Poly, name: str, least: int) -> None:
    assert any(evaluate(value, {name: size}) < 0 for size in range(least, 60))
    assert not prove_in_binades(value, facts(name, least))


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
def test_what_is_proved_holds_in_binades(terms: list[tuple[int, Poly, Poly]], least: int) -> None:
    value = Poly.constant(0)
    for coefficient, x, y in terms:
        value = value + (x * y).scaled(coefficient)
    if prove_in_binades(value, facts("n", least)):
        assert all(evaluate(value, {"n": size}) >= 0 for size in (*range(least, 200), 1023, 1024, 1025, 99_999))
