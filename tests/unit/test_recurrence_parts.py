"""The solver of recurrences in one size checks what it answers, and computes as mathematics does."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, EXACT_ARITHMETIC, Arithmetic, NoValueError
from archline.algebra.reals import OutOfReachError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import _System, check_answer


# The check that may veto an answer.
@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("T(n) = 2*T(n/2) + n", ["n/log2(n)", "n*log2(n)^3", "n^1.1*log2(n)", "n^0.9"]),
        ("T(n) = 7*T(n/2) + n^2", ["n^2", "n^3", "n^2*log2(n)", "n^log2(6)", "n^log2(7)*log2(n)^2"]),
        ("T(n) = T(n/3) + T(2*n/3) + n", ["n^0.8", "n^1.2", "n*log2(n)^5"]),
        ("T(n) = T(n-1) + n", ["n", "n^3"]),
        ("T(n) = T(sqrt(n)) + 1", ["log2(n)"]),
        ("T(n) = 2*T(sqrt(n)) + log2(n)", ["log2(n)^2"]),
        ("T(n) = 2*T(n/2) + n/L + 1", ["n^2/L", "n/L*log2(n)^3"]),
        ("T(n) = n^2 + 3", ["n", "n^3", "n^1.9", "n^2.1"]),
    ],
)
def test_wrong_growth_is_vetoed(text: str, wrong: list[str]) -> None:
    problem = parse_recurrence(text)
    found = _System(problem).solve(problem.asked.name)
    check_answer(problem, found)
    for growth in wrong:
        with pytest.raises(OutOfReachError, match=r"do(es)? not (confirm|agree)"):
            check_answer(problem, replace(found, growth=parse_expression(growth), closed=None))


@pytest.mark.parametrize(
    ("text", "closed", "wrong"),
    [
        ("T(n) = 2*T(n/2) + n", "n*log2(n) + n", ["n*log2(n)", "n*log2(n) + n + 1", "n*log2(n) + n^1.0001"]),
        ("T(n) = T(n-1) + n, T(0) = 0", "n^2/2 + n/2", ["n^2/2", "n^2/2 + n/2 + 1"]),
        ("T(n) = 3*T(n/2) + n", "3*n^log2(3) - 2*n", ["3*n^log2(3) - n", "3*n^1.585 - 2*n"]),
    ],
)
def test_wrong_closed_forms_are_vetoed(text: str, closed: str, wrong: list[str]) -> None:
    problem = parse_recurrence(text)
    found = _System(problem).solve(problem.asked.name)
    check_answer(problem, replace(found, closed=replace(found.closed, expr=parse_expression(closed))))
    for each in wrong:
        with pytest.raises(OutOfReachError, match="closed form"):
            check_answer(problem, replace(found, closed=replace(found.closed, expr=parse_expression(each))))


@pytest.mark.parametrize(
    ("text", "wrong"), [("T(n) = 2*T(n-1) + 1", ["3^n", "1.5^n", "(2*n)^2"]), ("T(n) = 4*T(n-2)", ["4^n", "1.9^n"])]
)
def test_wrong_exponential_growth_is_vetoed(text: str, wrong: list[str]) -> None:
    problem = parse_recurrence(text)
    found = _System(problem).solve(problem.asked.name)
    check_answer(problem, found)
    for growth in wrong:
        with pytest.raises(OutOfReachError, match=r"do(es)? not (confirm|agree)"):
            check_answer(problem, replace(found, growth=parse_expression(growth), closed=None))
    with pytest.raises(OutOfReachError, match=r"do(es)? not (confirm|agree)"):
        check_answer(parse_recurrence("T(n) = T(n-1) + 1/n"), replace(found, growth=None, closed=None))


# Arithmetic.
E = 2.718281828459045


@pytest.mark.parametrize("numbers", [EXACT_ARITHMETIC, BALL_ARITHMETIC], ids=["exact", "wide"])
@pytest.mark.parametrize(
    ("operation", "values", "expected"),
    [
        ("divide", (7, 2), 3.5), ("floor_divide", (7, 2), 3), ("floor_divide", (-7, 2), -4), ("remainder", (7, 3), 1), ("remainder", (-7, 3), 2),
        ("remainder", (7.5, 2), 1.5), ("floor", (2.5,), 2), ("floor", (-2.5,), -3), ("floor", (3,), 3), ("ceil", (2.5,), 3), ("ceil", (3,), 3),
        ("ceil", (-2.5,), -2), ("power", (3, 4), 81), ("power", (4, 0.5), 2), ("power", (2, -3), 0.125), ("power", (-2, 3), -8), ("power", (0, 2), 0),
        ("power", (0, 0), 1), ("power", (8, -0.5), None), ("power", (-1, 5000), 1), ("power", (1, -5000), 1), ("sqrt", (49,), 7), ("sqrt", (0,), 0),
        ("sqrt", (0.25,), 0.5), ("rsqrt", (4,), 0.5), ("log2", (8,), 3), ("log2", (0.25,), -2), ("log2", (1,), 0), ("log2", (6,), None), ("log", (1,), 0),
        ("log", (8,), None), ("exp", (0,), 1), ("exp", (1,), None), ("fibonacci", (10,), 55), ("fibonacci", (0,), 0), ("harmonic", (4,), Fraction(25, 12)),
        ("harmonic", (0,), 0), ("difference", (7, 5), 2), ("difference", (5, 5), 0),
    ],
)  # fmt: skip
def test_operations(numbers: Arithmetic, operation: str, values: tuple[float, ...], expected: float | None) -> None:
    given = [numbers.number(Fraction(each)) for each in values]
    if expected is None and numbers is EXACT_ARITHMETIC:
        with pytest.raises(NoValueError):
            getattr(numbers, operation)(*given)
        return
    irrational = {"power": 8**-0.5, "log2": 2.584962500721156, "log": 2.0794415416798357, "exp": E}
    found = float(numbers.plain(getattr(numbers, operation)(*given)))
    assert found == pytest.approx(irrational[operation] if expected is None else float(expected), rel=1e-14)


@pytest.mark.parametrize("numbers", [EXACT_ARITHMETIC, BALL_ARITHMETIC], ids=["exact", "wide"])
@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("divide", (1, 0)), ("floor_divide", (1, 0)), ("power", (0, -1)), ("power", (-2, 0.5)), ("sqrt", (-1,)), ("rsqrt", (0,)), ("log2", (0,)),
        ("log2", (-4,)), ("log", (0,)), ("log", (-1,)), ("fibonacci", (-1,)), ("fibonacci", (2.5,)), ("harmonic", (-1,)), ("harmonic", (1 << 17,)),
    ],
)  # fmt: skip
def test_operations_without_a_value(numbers: Arithmetic, operation: str, values: tuple[float, ...]) -> None:
    with pytest.raises(NoValueError):
        getattr(numbers, operation)(*(numbers.number(Fraction(each)) for each in values))
