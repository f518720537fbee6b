"""Reduced forms: the same value everywhere, never longer to read, and the polynomial where there is one."""

from __future__ import annotations

from math import prod

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from algebra_strategies import FACTS, POINTS, expressions
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, Poly
from archline.algebra.printing import to_text
from archline.algebra.reduce import reduce_expression
from effort import drawn

n, m, b = (Poly.symbol(name) for name in "nmb")
slow = settings(max_examples=drawn(200), deadline=None, suppress_health_check=[HealthCheck.too_slow])
products = st.lists(expressions(("n", "m")), min_size=1, max_size=3).map(lambda each: prod(each, start=ONE))


@slow
@given(st.lists(products, min_size=1, max_size=3))
def test_a_reduced_form_has_the_same_values(terms: list[Poly]) -> None:
    value = sum(terms[1:], terms[0])
    found = reduce_expression(value, FACTS)
    for point in POINTS:
        assert evaluate(found, point) == evaluate(value, point), (to_text(value), to_text(found), point)
