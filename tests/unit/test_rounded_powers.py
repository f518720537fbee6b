"""Bounds without powers of rounded logarithms are bounds at every point, and there are some where one needs them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra_strategies import FACTS, POINTS, M, N, expressions, linear
from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.printing import to_text
from archline.analysis.communication.floors import readable, without_rounded_powers

POWER = a.exponential(2, a.ceil_log2(N))
TWO = Poly.constant(2)

powers = st.builds(
    lambda size: a.exponential(2, a.ceil_log2(size)), st.one_of(linear(), st.sampled_from([N, M, N + M]))
)
terms = st.one_of(expressions(("n", "m"), 1), st.builds(lambda x, y: x * y, expressions(("n", "m"), 1), powers), powers)
values = st.recursive(
    st.builds(lambda x, y: x + y, terms, terms),
    lambda inner: st.one_of(
        inner.map(a.positive_part),
        inner.map(lambda each: -each),
        st.builds(a.floor_div, inner, st.sampled_from([TWO, N, M])),
        st.builds(lambda x, y: x + y, inner, inner),
    ),
    max_leaves=3,
)


@given(values)
def test_bounds_hold_at_every_point(value: Poly) -> None:
    for bound in (readable(value, FACTS), without_rounded_powers(value, FACTS)):
        for point in POINTS:
            assert evaluate(bound, point) >= evaluate(value, point)


@pytest.mark.parametrize(
    ("value", "upper", "lower"),
    [
        (POWER, "2*n - 1", "n"),
        (M * POWER * N**-1, "2*m - m/n", "m"),
        (a.floor_div(M * POWER, N), "2*m - m/n", "m - 1 + 1/n"),
        (a.positive_part(M * 4 - M * POWER * N**-1), "3*m", "2*m + m/n"),
        (a.positive_part(M * POWER * N**-1 * 2 - M * 3), "max(0, m - 2*m/n)", "0"),
        (M * 5 - a.positive_part(M * POWER * N**-1 * 2 - M * 3), "5*m", "5*m - max(0, m - 2*m/n)"),
        (a.minimum(N, TWO) * POWER - POWER, "2*n*min(n, 2) - 2*n - min(n, 2) + 1", "n*min(n, 2) - n"),
    ],
)
def test_bounds_are_near(value: Poly, upper: str, lower: str) -> None:
    """2^ceil(log2(n)) lies between n and 2*n - 1, attained at powers of 2 and at 2^k + 1."""
    assert to_text(without_rounded_powers(value, FACTS)) == upper
    assert to_text(-without_rounded_powers(-value, FACTS)) == lower


def test_what_may_be_no_size_keeps_its_power() -> None:
    """2^ceil(log2(e)) is 1, not 2*e - 1, where e is 0 or less."""
    power = a.exponential(2, a.ceil_log2(N - M))
    assert without_rounded_powers(power, FACTS) == power
    assert without_rounded_powers(power, FACTS.with_nonnegative(N - M - ONE)) == (N - M) * 2 - 1
    assert without_rounded_powers(ZERO, FACTS) == ZERO
