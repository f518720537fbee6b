"""Reduced forms: the same value everywhere, never longer to read, and the polynomial where there is one."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra_strategies import FACTS, POINTS, expressions
from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.printing import to_text
from archline.algebra.reduce import reduced
from effort import drawn

n, m, b = (Poly.symbol(name) for name in "nmb")
MORE = FACTS.with_symbol("b", (ONE,))
slow = settings(max_examples=drawn(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
products = st.lists(expressions(("n", "m")), min_size=1, max_size=3).map(lambda each: prod(each, start=ONE))


@slow
@given(st.lists(products, min_size=1, max_size=3))
def test_a_reduced_form_has_the_same_values(terms: list[Poly]) -> None:
    value = sum(terms[1:], terms[0])
    found = reduced(value, FACTS)
    for point in POINTS:
        assert evaluate(found, point) == evaluate(value, point), (to_text(value), to_text(found), point)


@slow
@given(expressions(("n", "m")), expressions(("n", "m")))
def test_what_is_added_and_taken_away_in_another_form_cancels(value: Poly, other: Poly) -> None:
    """n = b*q + r with q = floor(n/b): the value there, with the value taken away, is 0 to all readers."""
    again = value.substitute({"n": b * a.floor_div(n, b) + a.modulo(n, b)})
    found = reduced(value * other - again * other, MORE)
    for point in POINTS:
        assert evaluate(found, {**point, "b": 3}) == 0, (to_text(value), to_text(found), point)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        # Two readings of one count: by small sizes, remainders, blocks of any length, signs.
        (n**2 / 2 + n * a.minimum(n, Poly.constant(3)) / 2 + n * 3 / 2 - n**2 * a.minimum(n, Poly.constant(3)) / 6
         - a.minimum(n, Poly.constant(3)) / 3 - 1, 3 * n - 2),
        (a.modulo(m, Poly.constant(2)) ** 2, a.modulo(m, Poly.constant(2))),
        (sum((a.floor_div(n + k, Poly.constant(5)) for k in range(1, 5)), a.floor_div(n, Poly.constant(5))), n),
        (a.ceil_div(n, b) + a.floor_div(-n, b), 0 * n),
        (a.ceil_div(n, b) - 1 - a.floor_div(n - 1, b), 0 * n),
        (b * a.ceil_div(n, b) - a.modulo(-n, b), n),
        (a.minimum(n, m) * a.maximum(n, m), n * m),
        (a.positive_part(n - m) * a.positive_part(m - n), 0 * n),
        (a.quotient(n - 2, b) * b, n - 2),
        (a.quotient(n, b + 1) * b**2 - a.quotient(n, b + 1), n * b - n),
    ],
)  # fmt: skip
def test_a_polynomial_in_disguise(value: Poly, form: Poly) -> None:
    assert reduced(value, MORE) == form


def test_few_small_sizes_are_made_up_for() -> None:
    three = a.minimum(n, Poly.constant(3))
    found = reduced(n**2 * (3 - three) + n, FACTS)
    assert [evaluate(found, {"n": k}) for k in range(1, 9)] == [3, 6, 3, 4, 5, 6, 7, 8]
    assert found.degree(next(iter(n.atoms()))) == 1


def test_facts_decide_what_cannot_be() -> None:
    known = Facts().with_symbol("b", (ONE,)).with_symbol("n", (b,))
    assert reduced(n * a.minimum(n, b) + a.floor_div(b, n) * a.positive_part(n - b), known) == n * b


def test_maxima_of_one_difference_are_one_line() -> None:
    """A difference of two sizes is cut where maxima change, as one size is: here all is 1 up to 1, and itself beyond."""
    known = Facts().with_symbol("m", (ONE,)).with_symbol("n", (m,))
    more = n - m
    steps = more * a.positive_part(more - 1) - more * a.positive_part(more - 2)
    found = reduced(steps + a.positive_part(2 - more) - a.positive_part(1 - more), known)
    assert found == 1 + a.positive_part(more - 1)


def test_what_is_known_beyond_a_change_decides_others() -> None:
    found = reduced(a.minimum(n, Poly.constant(2)) - a.positive_part(n * a.floor_div(Poly.constant(2), n) - 1), FACTS)
    assert [evaluate(found, {"n": k}) for k in range(1, 6)] == [0, 1, 2, 2, 2]
    assert not any(isinstance(each, a.Floor) for each in found.atoms_within())
