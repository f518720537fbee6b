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
from archline.recurrences.exact.at_call import Caller
from archline.recurrences.exact.handelman import proves
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
    assert proves(value, ordered())


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
    assert not proves(value, ordered(least))


TERMS = (
    *(N, M, P, N * M, M * M, N * N, M * P, a.ceil_log2(N), a.ceil_log2(M + 1), N * a.ceil_log2(M)),
    *(a.floor_div(N, TWO), a.floor_div(M + 1, TWO) * N, a.positive_part(N - 5), a.positive_part(M - P)),
)


@settings(max_examples=drawn(150), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(TERMS), st.integers(-3, 3)), min_size=1, max_size=5), st.integers(-6, 6))
def test_what_is_proved_holds(terms: list[tuple[Poly, int]], constant: int) -> None:
    value = sum((term.scaled(number) for term, number in terms), Poly.constant(constant))
    for least in (0, 1):
        if proves(value, ordered(least)):
            for n, m, p in product(range(least, 14), repeat=3):
                assert not n >= m >= p or evaluate(value, {"n": n, "m": m, "p": p}) >= 0, (n, m, p)


def test_a_logarithm_at_least_two_others_is_at_least_the_larger() -> None:
    facts = Facts().with_symbol("p", [ONE]).with_symbol("m", [ONE]).with_symbol("n", [M, P])
    large, most = a.ceil_log2(N), a.maximum(a.ceil_log2(M), a.ceil_log2(P))
    assert proves(large - most, facts)
    assert proves(large * large - most * most, facts)
    assert not proves(large - most - 1, facts)
    assert not proves(most - large, facts)


@settings(max_examples=drawn(60), deadline=None)
@given(
    coefficients=st.lists(st.integers(-5, 5), min_size=1, max_size=3),
    bases=st.tuples(st.sampled_from([2, 3, 5, 7]), st.integers(-3, 3)),
    ends=st.tuples(st.integers(1, 70), st.one_of(st.none(), st.integers(0, 300))),
)
def test_powers_as_symbols_keep_their_range(
    coefficients: list[int], bases: tuple[int, int], ends: tuple[int, int | None]
) -> None:
    """b^ceil(log2(n)) lies between what the least and the greatest n make it, whether b is above or below 1."""
    base, twos = bases
    least, more = ends
    most = [] if more is None else [Poly.constant(least + more)]
    caller = Caller(Facts().with_symbol("n", [Poly.constant(least)], most), ())
    level = a.ceil_log2(N)
    power = a.exponential(base, level) * a.exponential(2, level) ** twos
    value = sum((N**index * power * each for index, each in enumerate(coefficients)), Poly.constant(1))
    named = caller.without_powers(value)
    for n in range(least, least + (80 if more is None else more) + 1):
        point = {"n": n}
        symbols = {name: evaluate(power, point) for name in named.names - {"n"}}
        assert len(symbols) <= 1
        assert evaluate(named, point | symbols) == evaluate(value, point)  # type: ignore[operator]
        for name, number in symbols.items():
            known = caller.facts.bounds[name]
            assert all(evaluate(each, {}) <= number for each in known.lower)
            assert all(evaluate(each, {}) >= number for each in known.upper)
