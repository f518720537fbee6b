"""Following recurrences down to their bases, against values that are known otherwise."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from archline.recurrences.asymptotic.evaluate import EvaluationRefusedError, evaluate
from archline.recurrences.asymptotic.read import parse_recurrence


def value(text: str, *, exact_logs: bool = False, limit: int = 100_000, **point: float) -> Fraction | float:
    return evaluate(parse_recurrence(text), point, exact_logs=exact_logs, limit=limit)


def test_merge_sort_is_exact_far_out() -> None:
    assert value("T(n) = 2*T(n/2) + n, T(1) = 1", n=2**40) == 2**40 * 41


def test_sizes_are_real_numbers() -> None:
    # 10, 5, 5/2, 5/4, 5/8: four sizes above 1.
    assert value("T(n) = T(n/2) + n, T(1) = 1", n=10) == Fraction(10 + 5) + Fraction(5, 2) + Fraction(5, 4) + 1


def test_every_smaller_size_has_the_base_value() -> None:
    assert value("T(n) = T(n-2) + n^2, T(0) = 7", n=3) == 9 + 1 + 7
    assert value("F(n) = F(n-1) + F(n-2), F(0) = 0, F(1) = 1", n=90) == 2880067194370816120
    assert value("T(n) = T(n/2), T(2) = 5, T(1) = 3", n=Fraction(3, 2)) == 5


def test_the_base_that_goes_without_saying() -> None:
    assert value("T(n) = 2*T(n/2)", n=8) == 8
    assert value("T(n) = T(sqrt(n)) + 1", n=16) == 3
    assert value("T(n) = T(n^(1/2)) + 1", n=2) == 1
    assert value("A(n) = B(sqrt(n)) + 1; B(n) = A(sqrt(n)) + 10", n=256) == 1 + 10 + 1 + 1


def test_logarithms_are_those_of_two_more() -> None:
    assert value("T(n) = log2(n)", n=14) == 4
    assert value("T(n) = log2(n)", n=16, exact_logs=True) == 4
    assert value("T(n) = n^log2(4)", n=3) == pytest.approx(9)
    assert value("T(n) = log(n)", n=3) == pytest.approx(math.log(5))


def test_huge_sizes_by_roots() -> None:
    assert value("T(n) = T(sqrt(n)) + log2(n), T(2) = 1", n=2 ** (2**12), exact_logs=True) == 2**13 - 1
    found = value("T(n) = 2*sqrt(n)*T(sqrt(n)) + n, T(2) = 1", n=3 ** (2**6), exact_logs=True)
    assert found / 3.0 ** (2**6) == pytest.approx(2**6 * found_at_three() - 1)


def found_at_three() -> float:
    """(T(3)/3 + 1) for T(3) = 2*sqrt(3) + 3, from U(mu) = 2*U(mu/2) + 1."""
    return (2 * math.sqrt(3) + 3) / 3 + 1


def test_cases_symbols_and_several_sizes() -> None:
    text = "Q(n, m) = n*m/L when n*m <= Z; 2*Q(n/2, m) + 1 when n >= m; 2*Q(n, m/2) + 1"
    # 8 x 4 halves to 4 x 4, 2 x 4 and, as m is greater, 2 x 2.
    assert value(text, n=8, m=4, Z=4, L=2) == 1 + 2 * (1 + 2 * (1 + 2 * 2))
    conditions = "T(n) = 1 when not (n > 4 and n != 6) or n == 9; T(n - 1) + 1"
    assert [value(conditions, n=n) for n in (4, 5, 6, 8, 9, 10)] == [1, 2, 1, 3, 1, 2]


def test_maxima_and_systems() -> None:
    assert value("T(n) = max(T(n/2), T(n/4)) + 1", n=64) == 7
    assert value("A(n) = 2*B(n/2) + n; B(n) = A(n/2) + 1", n=8) == 2 * (2 * 1 + 2 + 1) + 8


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("T(n) = T(n) + 1", "calls itself at the same size"),
        ("A(n) = B(n); B(n) = A(n)", "calls itself at the same size"),
        ("T(n) = T(2*n) + 1", "more than 1000 sizes"),
        ("T(n) = T(n/2) + 1, T(0) = 0", "more than 1000 sizes"),
        ("T(n) = T(n-1) + n/(n - 5)", "division by zero"),
        ("T(n) = T(n/2) + sqrt(3 - n)", "negative|not real"),
        ("T(n) = T(n/2) + m", "`m` has no value"),
        ("T(n) = 1 when n is square; 2", "comparisons"),
    ],
)
def test_what_has_no_value_is_refused(text: str, said: str) -> None:
    with pytest.raises(EvaluationRefusedError, match=said):
        value(text, n=9, limit=1000)


def test_a_missing_size_is_named() -> None:
    with pytest.raises(EvaluationRefusedError, match="`n` has no value"):
        value("T(n) = n")


def test_depth_is_no_limit() -> None:
    n = 20_000
    assert value("T(n) = T(n-1) + n, T(0) = 0", n=n) == n * (n + 1) // 2
