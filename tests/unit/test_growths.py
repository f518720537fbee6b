"""Growth between bounds: a proof needs the ends that face each other, a refutation the others."""

from __future__ import annotations

import pytest

from archline.growth.growths import Growth, dominated, simplified
from archline.growth.is_big_o import Proved, Refuted, Undecided
from archline.growth.log_domain import Domain
from archline.language.parser import parse_expression

ORDERS = {"n": 1.0, "n*log2(n)": 1.5, "n^2": 2.0, "n^3": 3.0}


def between(lower: str, upper: str) -> Growth:
    return Growth(parse_expression(lower), parse_expression(upper))


@pytest.mark.parametrize("lower", ORDERS)
@pytest.mark.parametrize("upper", ORDERS)
@pytest.mark.parametrize("bound", ORDERS)
def test_bounds_prove_and_refute_what_all_between_them_do(lower: str, upper: str, bound: str) -> None:
    """The orders of growth are ranked by hand; of what lies between two of them all ranks between are possible."""
    if ORDERS[lower] > ORDERS[upper]:
        return
    within = [ORDERS[lower] <= ORDERS[bound], ORDERS[upper] <= ORDERS[bound]]
    expected = Proved if all(within) else Undecided if any(within) else Refuted
    assert isinstance(dominated(between(lower, upper), between(bound, bound), Domain()), expected)
    beyond = [ORDERS[bound] <= ORDERS[lower], ORDERS[bound] <= ORDERS[upper]]
    expected = Proved if all(beyond) else Undecided if any(beyond) else Refuted
    assert isinstance(dominated(between(bound, bound), between(lower, upper), Domain()), expected)


def test_the_first_candidate_of_the_same_order_is_taken() -> None:
    known = between("n^2 + n", "n^2 + n*log2(n)")
    assert simplified(known, map(parse_expression, ("n^3", "n^2", "n")), Domain()).text == "Theta(n^2)"
    open_ends = simplified(between("n + 1", "n^2 + n"), map(parse_expression, ("n^3", "n^2", "n")), Domain())
    assert open_ends.text == "O(n^2), Omega(n)"
