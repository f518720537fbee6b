"""Proofs beside a power of two: sizes over the power, and logarithms of sizes that the power bounds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.prove.powers import holds_beside_power
from effort import drawn

FACTS = Facts().with_symbol("d", (Poly.constant(1),)).with_power_of_two("d", 1, 0)
E = Poly.symbol("log2(d)")
D = a.exponential(2, E)
R = Poly.symbol("r")
SHARE = R * a.exponential(2, -E)


def log(value: Poly) -> Poly:
    return a.ceil_log2(value)


def within(low: Poly, high: Poly, least: int = 0) -> Facts:
    """An integer r between bounds in d, which is at least 2^least."""
    facts = FACTS.with_bounds({**FACTS.bounds, "log2(d)": Bounds((Poly.constant(least),))})
    return facts.with_symbol("r", (low,), (high,))


MORE = within(D + 1, D * D, 1)
"""d < r <= d^2"""
FEW = within(ZERO, D)
"""r <= d"""


@pytest.mark.parametrize(
    ("value", "facts"),
    [
        # Each is 0 or more at nearly all sizes; in the order of the list: r = d + 1, r = d^2, r = d + 1, r = d = 2.
        (SHARE - 2, MORE),
        (E * 2 - log(R + 1), MORE),
        (log(R) - E - 2, MORE),
        (R - SHARE * E * 2 - 1, within(D, D * D, 1)),
        (D * D - R - 1, MORE),
    ],
)
def test_false_claims_are_not_proved(value: Poly, facts: Facts) -> None:
    assert min(evaluate(value, point) for point in points(facts)) < 0
    assert not holds_beside_power(value, facts)


def points(facts: Facts) -> list[dict[str, int]]:
    """Every r for small d."""
    (least,) = facts.bounds["log2(d)"].lower
    found = []
    for e in range(int(least.constant_term.p), 6):
        low = max(evaluate(each, {"log2(d)": e}) for each in facts.bounds["r"].lower)
        high = min(evaluate(each, {"log2(d)": e}) for each in facts.bounds["r"].upper)
        found.extend({"log2(d)": e, "r": r} for r in range(int(low), int(high) + 1))
    return found


FACTORS = st.sampled_from([Poly.constant(1), E, D, R, SHARE, SHARE * E, log(R), log(R + 1), D * E])


@settings(max_examples=drawn(400), deadline=None)
@given(st.lists(st.tuples(st.integers(-6, 9), FACTORS), min_size=2, max_size=4), st.sampled_from([MORE, FEW]))
def test_what_is_proved_holds(terms: list[tuple[int, Poly]], facts: Facts) -> None:
    value = sum((factor.scaled(coefficient) for coefficient, factor in terms), ZERO)
    if holds_beside_power(value, facts):
        assert all(evaluate(value, point) >= 0 for point in points(facts))
