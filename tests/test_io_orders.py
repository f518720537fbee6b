"""Growth of io of recursion, against the textbooks: Frigo, Leiserson, Prokop, Ramachandran (FOCS 1999) and followers."""

from __future__ import annotations

import pytest

from archline.algebra.growth.order import Proved, is_O
from archline.analysis.io.orders import order
from archline.analysis.io.recursion import Recursions
from archline.language.parser import parse_expression, parse_facts
from stdlib_cases import load

TALL = parse_facts("Z >= L^2")
PRODUCT = "n + m + p + (n*m + m*p + n*p)/L + n*m*p/(L*sqrt(Z))"
SOLVE = "n + m + (n^2 + n*m)/L + n^2*m/(L*sqrt(Z))"
FACTOR = "n + n^2/L + n^3/(L*sqrt(Z))"
KNOWN = [
    # FOCS 1999, theorem 1, for rectangular products; its transposition is theorem 3.
    ("dense.matmul::matmul_co", PRODUCT),
    ("dense.matmul_recursive::matmul_subtract_transposed_co", PRODUCT),
    ("dense.transpose_recursive::transpose_co", "n + m + n*m/L"),
    ("dense.strassen::strassen", "n + n^2/L + n^log2(7)/(L*Z^(log2(7)/2 - 1))"),
    ("dense.trisolv_recursive::trisolv_right_co", SOLVE),
    # S. Toledo, Locality of Reference in LU Decomposition with Partial Pivoting (1997).
    ("dense.lu_recursive::lu_co", FACTOR),
    ("dense.cholesky_recursive::cholesky_co", FACTOR),
    ("sort.mergesort::mergesort", "1 + n*log2(2 + n/Z)/L"),
    ("arithmetic.karatsuba::karatsuba", "1 + n/L + n^log2(3)/(L*Z^(log2(3) - 1))"),
    ("scan.recursive::prefix_sum_pairs", "1 + n/L"),
]


@pytest.mark.parametrize(("target", "known"), KNOWN)
def test_io_of_recursion_grows_as_is_known(target: str, known: str) -> None:
    module, algorithm = load(target)
    facts = (*algorithm.where, *TALL)
    for condition, growth in order(Recursions(module, algorithm), facts).regimes:
        assert not condition
        assert isinstance(is_O(parse_expression(growth), parse_expression(known), facts), Proved)


def test_a_square_product_is_no_less() -> None:
    """The recurrence's own growth: no bound below the paper's for n = m = p."""
    module, algorithm = load("dense.matmul::matmul_co")
    ((_, growth),) = order(Recursions(module, algorithm), TALL).regimes
    facts = (*TALL, *parse_facts("n == m, m == p"))
    assert isinstance(is_O(parse_expression(PRODUCT), parse_expression(growth), facts), Proved)
