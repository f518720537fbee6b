"""Products of facts in packed form are what multiplying the facts gives."""

from __future__ import annotations

from itertools import combinations_with_replacement

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra_strategies import expressions
from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, Poly, product
from archline.algebra.prove.products import Products, Shape

n, m = (Poly.symbol(name) for name in "nm")
LIMIT = 10_000


def degree(value: Poly) -> int:
    return max((sum(abs(power) for _, power in monomial) for monomial in value.terms), default=0)


def multiplied(facts: list[Poly], most: int) -> set[Poly]:
    """All products of up to so many facts, of up to this degree; 0 is none."""
    chosen = (each for count in range(1, most + 1) for each in combinations_with_replacement(facts, count))
    found = {product(each, ONE.constant_term) for each in chosen}
    return {ONE} | {each for each in found if each.terms and degree(each) <= most}


def found(products: Products) -> list[Poly]:
    return [products[index] for index in range(len(products))]


@given(st.lists(expressions(("n", "m")).filter(lambda each: 0 < degree(each) <= 3), max_size=4), st.integers(1, 3))
def test_products_are_what_multiplying_gives(facts: list[Poly], most: int) -> None:
    listed = found(Products(facts, most, (), Shape(len(facts), most), LIMIT))
    assert len(listed) == len(set(listed))
    # A factor of too high a degree is not multiplied further, not even by what would cancel it.
    assert set(listed) <= multiplied(facts, most)
    if all(power > 0 for each in facts for monomial in each.terms for _, power in monomial):
        small = [each for each in facts if degree(each) <= most]
        assert {each for each in multiplied(small, most) if not_reduced(each)} <= set(listed)


def not_reduced(value: Poly) -> bool:
    """Whether nothing in it is a maximum, whose squares have other degrees."""
    return not any(isinstance(atom, a.PositivePart) for atom in value.atoms())


def test_squares_of_maxima() -> None:
    part = a.positive_part(n - 8)
    # max(0, n - 8)^2 = (n - 8)*max(0, n - 8), and so is the cube with (n - 8)^2.
    assert found(Products([part], 3, (), Shape(1, 1), LIMIT)) == [ONE, part, (n - 8) * part, (n - 8) ** 2 * part]


def test_maxima_within_maxima() -> None:
    outer = a.positive_part(m - a.positive_part(n - 8))
    assert set(found(Products([outer], 2, (), Shape(1, 1), LIMIT))) == {ONE, outer, outer * outer}


def test_the_fewest_terms_beside_the_wanted_come_first() -> None:
    (size,) = (n * m).terms
    listed = found(Products([n, m, n + m + 1], 2, [size], Shape(3, 2), 3))
    assert listed[0] == n * m
    assert set(listed[1:]) <= {ONE, n, m, n * n, m * m}


def test_at_most_so_many_factors_that_are_no_sizes() -> None:
    assert set(found(Products([n, m], 2, (), Shape(1, 1), LIMIT))) == {ONE, n, m, n * n, n * m}


def test_one_factor_of_each_group_where_no_more_are_wanted() -> None:
    facts = [n - 1, 16 - n, m - 1]
    (both,) = (n * m).terms
    apart = {ONE, *facts, (n - 1) * (m - 1), (16 - n) * (m - 1)}
    assert set(found(Products(facts, 2, [both], Shape(3, 2), LIMIT))) == apart
    (square,) = (n * n).terms
    assert set(found(Products(facts, 2, [both, square], Shape(3, 2), LIMIT))) == multiplied(facts, 2)
    # A fact on both makes one group of them.
    facts.append(m - n)
    assert set(found(Products(facts, 2, [both], Shape(4, 2), LIMIT))) == multiplied(facts, 2)


def test_squares_of_maxima_may_be_linear() -> None:
    part = a.positive_part(n - 8)
    facts = [part, 8 - part, n - 1 - part]
    (size,) = n.terms
    assert (8 - part) * (n - 1 - part) == 8 * n - 8 - 15 * part
    assert set(found(Products(facts, 2, [size], Shape(0, 2), LIMIT))) == {ONE, *facts, 8 * n - 8 - 15 * part, 7 * part}


def test_at_most_so_many_of_the_few() -> None:
    assert set(found(Products([n, m], 2, (), Shape(0, 2, frozenset({1}), 1), LIMIT))) == {ONE, n, m, n * n, n * m}


def test_entries_add_up_to_the_products() -> None:
    products = Products([n - 1, m - n], 2, (), Shape(2, 2), LIMIT)
    entries = products.entries()
    rows = {row: monomial for monomial, row in entries.places.items()}
    columns: list[dict[object, float]] = [{} for _ in range(len(products))]
    for row, column, number in zip(entries.rows, entries.columns, entries.numbers, strict=True):
        columns[column][rows[row]] = number
    assert columns == [{key: float(value.p) for key, value in each.terms.items()} for each in found(products)]


def test_powers_that_have_no_room() -> None:
    with pytest.raises(OverflowError):
        Products([n**17], 17, (), Shape(1, 1), LIMIT)
    (far,) = (n**200).terms
    assert set(found(Products([n], 1, [far], Shape(1, 1), LIMIT))) == {ONE, n}
