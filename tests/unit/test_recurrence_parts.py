"""The parts of the solver of recurrences in one size: exponents and sums of terms, from what mathematics says of them."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from archline.algebra.evaluate.formulas import EXACT, WIDE, Arithmetic, NoValueError
from archline.algebra.reals import Constant, OutOfReachError
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic.normal_form import TermReader
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import _System, check_answer
from archline.recurrences.asymptotic.terms import GrowthTerm, leading
from archline.recurrences.asymptotic.theorems import excess, exponent_of, gathered
from archline.recurrences.closed.geometric import ClosedTerm, fibonacci, solve_sequence
from effort import drawn


def terms(text: str) -> tuple[GrowthTerm, ...]:
    return TermReader("n").read(parse_expression(text))


@pytest.mark.parametrize(
    ("text", "growth"),
    [
        # What is subtracted grows more slowly, or alike and less.
        ("max(n^2 - n, 1)", "n^2"), ("ceil(n - 1)", "n"), ("max(n - 3*log2(n), log2(n))", "n"), ("max(2*n - n, 1)", "n"), ("sqrt(n^2 - n)", "n"), ("min(n^2 - n, n^3)", "n^2"),
        ("max(n - n^2, 1)", None), ("max(n/2 - n^2/3, 1)", None), ("ceil(n - 5*n^2)", None), ("max(n*P - n, 1)", None), ("max(n*P - P, 1)", None),
        ("max(n + P - 1, 1)", None), ("max(n - n, 1)", None), ("max(1 - 2, 3)", "1"), ("1/(n^2 - n)", None), ("log2(n^2 - n)", None), ("rsqrt(n - 1)", None),
        # Of negative numbers there is no root; 0 has no inverse.
        ("sqrt(-n)", None), ("1/(n - n)", None), ("(n - n)^2", ""), ("(n - n)^(-1)", None), ("(n - 1)^2", "n^2"), ("(n + 1)^(-2)", "1/n^2"), ("(n + 1)^9", "n^9"),
        ("(n + log2(n))^(1/2)", "sqrt(n)"), ("rsqrt(n^2)", "1/n"), ("min(n, log2(n)^5, n^2)", "log2(n)^5"), ("min(n, P)", None), ("max(n, log2(n))", "n"),
        # log2(2 + w) of a power, of something small, of a logarithm.
        ("log2(n^3)", "log2(n)"), ("log2(1/n)", "1"), ("log2(n^log2(3))", "log2(n)"), ("log2(log2(n)^2)", "log2(log2(n))"), ("log2(1/log2(n))", "1"),
        ("log2(log2(log2(n)))", "log2(log2(log2(n)))"), ("log2(7)", "1"), ("log2(n*P)", None), ("log2(n + P)", None), ("log2(P*Q)", None), ("log2(1/P)", None), ("log2(n + n^2)", "log2(n)"),
        ("n^P", None), ("(2*n)^log2(3)", "n^log2(3)"), ("(n^2)^log2(3)", "n^(2*log2(3))"), ("n^log2(3)", "n^log2(3)"), ("abs(n)", None), ("pi*n", "n"),
    ],
)  # fmt: skip
def test_functions_of_terms(text: str, growth: str | None) -> None:
    if growth is None:
        with pytest.raises(OutOfReachError):
            terms(text)
    else:
        assert {each.kind for each in leading(terms(text))} == {each.kind for each in (terms(growth) if growth else ())}


def valued(text: str) -> mpf:
    """What an exponent's text means."""
    return eval(re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)", r"mpf('\1')", text), {"mpf": mpf, "log2": lambda x: mp.log(x, 2)})


# Sequences.
SMALL = st.integers(-3, 3).map(fmpq)


@settings(max_examples=drawn(150))
@given(
    st.lists(st.tuples(st.integers(1, 3).map(fmpq), st.integers(1, 3)), min_size=1, max_size=3),
    st.lists(SMALL, min_size=3, max_size=3),
    st.dictionaries(st.sampled_from([fmpq(1), fmpq(2), fmpq(-1), fmpq(1, 2)]), st.lists(SMALL, max_size=3), max_size=2),
)
def test_sequences_are_those_of_their_recurrences(
    calls: list[tuple[fmpq, int]], before: list[fmpq], forcing: dict[fmpq, list[fmpq]]
) -> None:
    pieces = solve_sequence(calls, lambda k: before[-k], forcing)
    if pieces is None:
        return
    known = {-index: value for index, value in enumerate(before)}
    for k in range(1, 25):
        added = sum((c * fmpq(k) ** i * r**k for r, cs in forcing.items() for i, c in enumerate(cs)), fmpq(0))
        known[k] = added + sum((weight * known[k - step] for weight, step in calls), fmpq(0))
        assert sum((at(piece, k) for piece in pieces), fmpq(0)) == known[k]


def at(piece: ClosedTerm, k: int) -> fmpq:
    base = fmpq(fibonacci(k + piece.shift)) if piece.ratio is None else fmpq(k) ** piece.power * piece.ratio**k
    return piece.coefficient * base


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
        with pytest.raises(OutOfReachError, match="does not agree"):
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
        with pytest.raises(OutOfReachError, match="does not agree"):
            check_answer(problem, replace(found, growth=parse_expression(growth), closed=None))
    with pytest.raises(OutOfReachError, match="does not agree"):
        check_answer(parse_recurrence("T(n) = T(n-1) + 1/n"), replace(found, growth=None, closed=None))


def float_of(value: fmpq | int) -> float:
    return int(fmpq(value).p) / int(fmpq(value).q)


# Exponents of one size, and bases of exponential growth.
WEIGHTS = st.fractions(Fraction(1, 4), 6, max_denominator=4).map(lambda each: fmpq(each.numerator, each.denominator))
SHARES = st.sampled_from([fmpq(1, 2), fmpq(1, 4), fmpq(1, 3), fmpq(2, 3), fmpq(3, 4), fmpq(1, 8), fmpq(1, 9)])


@settings(max_examples=drawn(120))
@given(st.lists(st.tuples(WEIGHTS, SHARES), min_size=1, max_size=3), st.integers(-3, 5))
def test_exponents_solve_their_equation(drawn: list[tuple[fmpq, fmpq]], other: int) -> None:
    parts = gathered(drawn)
    assert len({share for _, share in parts}) == len(parts)
    p = exponent_of(parts)
    near = float(p.enclosure().mid())
    assert sum(float_of(weight) * float_of(share) ** near for weight, share in parts) == pytest.approx(1, rel=1e-9)
    assert float(valued(str(p))) == pytest.approx(near, rel=1e-8, abs=1e-12)
    assert not p.is_rational or excess(parts, p) == 0
    assert excess(parts, Constant.of(other)) == (near > other + 1e-9) - (near < other - 1e-9)


# Arithmetic.
E = 2.718281828459045


@pytest.mark.parametrize("numbers", [EXACT, WIDE], ids=["exact", "wide"])
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
    if expected is None and numbers is EXACT:
        with pytest.raises(NoValueError):
            getattr(numbers, operation)(*given)
        return
    irrational = {"power": 8**-0.5, "log2": 2.584962500721156, "log": 2.0794415416798357, "exp": E}
    found = float(numbers.plain(getattr(numbers, operation)(*given)))
    assert found == pytest.approx(irrational[operation] if expected is None else float(expected), rel=1e-14)


@pytest.mark.parametrize("numbers", [EXACT, WIDE], ids=["exact", "wide"])
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
