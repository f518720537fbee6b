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

from archline.algebra.reals import UNITY, Constant, OutOfReachError, enclosed
from archline.language.parser import parse_expression
from archline.recurrences.asymptotic import terms as exponents
from archline.recurrences.asymptotic.arithmetic import EXACT, WIDE, Arithmetic, NoValueError
from archline.recurrences.asymptotic.normal_form import TermReader
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import _System, check_answer
from archline.recurrences.asymptotic.terms import GrowthTerm, leading
from archline.recurrences.asymptotic.theorems import characteristic, excess, exponent_of, gathered, integrated
from archline.recurrences.asymptotic.univariate import Spectrum
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


def test_exponents_known_by_enclosures_are_compared_by_them() -> None:
    root = exponent_of(((fmpq(1), fmpq(1, 2)), (fmpq(1), fmpq(1, 4))))
    assert not root.is_rational
    assert ((root - UNITY).sign(), (UNITY - root).sign(), (root - root).sign()) == (-1, 1, 0)
    assert (root.scaled(2) + UNITY - root - UNITY - root).sign() == 0
    same = enclosed("1.58", exponents.log_ratio(fmpq(3), fmpq(2)).enclosure)
    with pytest.raises(OutOfReachError, match="not decided"):
        (exponents.log_ratio(fmpq(9), fmpq(4)) - same).sign()


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


def test_sequences_that_are_known() -> None:
    one, two = fmpq(1), fmpq(2)
    # 2^k - 1; and no rational roots in x^2 - 2*x - 2 and x^2 - x - 3.
    assert set(solve_sequence([(two, 1)], lambda _: fmpq(0), {one: [one]}) or ()) == {
        ClosedTerm(one, 0, two),
        ClosedTerm(-one, 0, one),
    }
    assert solve_sequence([(two, 1), (two, 2)], lambda _: one, {}) is None
    assert solve_sequence([(one, 1), (fmpq(3), 2)], lambda _: one, {}) is None
    # 1, 2, 3, 5, ... in one piece; and Fibonacci's numbers backwards.
    assert solve_sequence([(one, 1), (one, 2)], lambda _: one, {}) == (ClosedTerm(one, 0, None, 2),)
    assert solve_sequence([(one, 1), (one, 2)], lambda k: two if k else -one, {}) == (ClosedTerm(one, 0, None, -2),)
    assert solve_sequence([(one, 1), (one, 2)], lambda k: fmpq(2) if k else fmpq(3), {}) == (
        ClosedTerm(one, 0, None, 4),
    )
    # The numbers of Lucas are no multiple of one of Fibonacci's.
    assert solve_sequence([(one, 1), (one, 2)], lambda k: -one if k else two, {}) == (
        ClosedTerm(-one, 0, None, 0),
        ClosedTerm(two, 0, None, 1),
    )
    assert [fibonacci(k) for k in range(-6, 8)] == [-8, 5, -3, 2, -1, 1, 0, 1, 1, 2, 3, 5, 8, 13]


@pytest.mark.parametrize(
    ("text", "integral"),
    [
        # Substitute v = log2(u), and w = log2(v) once more.
        ("n*log2(n)", "n*log2(n)^2"), ("n", "n*log2(n)"), ("n/sqrt(log2(n))", "n*sqrt(log2(n))"),
        ("n/log2(n)", "n*log2(log2(n))"), ("n/log2(n)*log2(log2(n))", "n*log2(log2(n))^2"), ("n/log2(n)^2", "n"),
        ("n/log2(n)/log2(log2(n))^2", "n"), ("n/log2(n)/sqrt(log2(log2(n)))", "n*sqrt(log2(log2(n)))"),
        ("n*log2(log2(n))", "n*log2(n)*log2(log2(n))"), ("n/log2(n)^2*log2(log2(n))", "n"),
    ],
)  # fmt: skip
def test_levels_that_cost_alike_together(text: str, integral: str) -> None:
    (term,), (expected,) = terms(text), terms(integral)
    assert integrated(term).kind == expected.kind


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


def test_sizes_that_rounding_has_moved_are_moved_back() -> None:
    numbers = WIDE
    third = numbers.divide(numbers.number(1), numbers.number(3))
    for size in (3, 2_999_997, 27):
        moved = numbers.number(size) * third * numbers.number(3)
        assert numbers.key(moved) == numbers.key(numbers.number(size))
        assert float(numbers.plain(numbers.floor(moved))) == (size if size < 10**6 else pytest.approx(size, abs=1))
        assert numbers.difference(moved, numbers.number(size)) == 0
        near = numbers.number(Fraction(size * 10**11 - 1, 10**11))
        assert float(numbers.plain(numbers.size(near))) == (size if size < 10**6 else pytest.approx(size))
    assert numbers.key(numbers.number(1000)) != numbers.key(numbers.number(Fraction(1000001, 1000)))
    assert numbers.key(numbers.number(0)) != numbers.key(numbers.number(-1))
    assert numbers.difference(numbers.number(1000001), numbers.number(1000000)) == 1


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
            check_answer(problem, replace(found, growth=growth, closed=None))


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
    check_answer(problem, replace(found, closed=replace(found.closed, text=closed)))
    for each in wrong:
        with pytest.raises(OutOfReachError, match="closed form"):
            check_answer(problem, replace(found, closed=replace(found.closed, text=each)))


@pytest.mark.parametrize(
    ("text", "wrong"), [("T(n) = 2*T(n-1) + 1", ["3^n", "1.5^n", "(2*n)^2"]), ("T(n) = 4*T(n-2)", ["4^n", "1.9^n"])]
)
def test_wrong_exponential_growth_is_vetoed(text: str, wrong: list[str]) -> None:
    problem = parse_recurrence(text)
    found = _System(problem).solve(problem.asked.name)
    check_answer(problem, found)
    for growth in wrong:
        with pytest.raises(OutOfReachError, match="does not agree"):
            check_answer(problem, replace(found, growth=growth, closed=None))
    with pytest.raises(OutOfReachError, match="does not agree"):
        check_answer(parse_recurrence("T(n) = T(n-1) + 1/n"), replace(found, growth=None, closed=None))


# Exponents of several sizes.
@pytest.mark.parametrize(
    ("branches", "text"),
    [
        ({2: 2}, "1"), ({2: 7}, "log2(7)"), ({4: 7}, "log2(7)/2"), ({2: 1, 4: 2}, "1"), ({3: 3, 9: 54}, "2"), ({2: 1, 4: 6}, "log2(3)"),
        ({2: 1, 8: 18}, "log2(3)"), ({2: fmpq(1, 2), 4: fmpq(1, 2)}, "0"), ({2: fmpq(1, 2), 3: fmpq(1, 2)}, "0"), ({2: fmpq(1, 4), 4: fmpq(1, 8)}, "-1"),
        ({3: 1, fmpq(3, 2): 1}, "1"), ({3: 3, fmpq(3, 2): fmpq(3, 2)}, "2"), ({3: 9, fmpq(3, 2): fmpq(9, 4)}, "3"),
        ({3: 27, fmpq(3, 2): fmpq(27, 8)}, "4"), ({3: 1, fmpq(3, 2): fmpq(4, 9)}, None), ({2: 1, 4: 1}, None), ({2: 1, 3: 1}, None), ({2: 16, 3: 1}, None),
    ],
)  # fmt: skip
def test_exponents_at_which_calls_weigh_one(branches: dict[fmpq, fmpq], text: str | None) -> None:
    p = exponent_of(tuple((fmpq(count), 1 / fmpq(factor)) for factor, count in branches.items()))
    assert text is None or str(p) == text
    near = float(p.enclosure().mid())
    assert sum(float_of(c) * float_of(f) ** -near for f, c in branches.items()) == pytest.approx(1, rel=1e-12)


def float_of(value: fmpq | int) -> float:
    return int(fmpq(value).p) / int(fmpq(value).q)


# Exponents of one size, and bases of exponential growth.
WEIGHTS = st.fractions(Fraction(1, 4), 6, max_denominator=4).map(lambda each: fmpq(each.numerator, each.denominator))
SHARES = st.sampled_from([fmpq(1, 2), fmpq(1, 4), fmpq(1, 3), fmpq(2, 3), fmpq(3, 4), fmpq(1, 8), fmpq(1, 9)])


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([(2, fmpq(1, 2))], "1"), ([(7, fmpq(1, 2))], "log2(7)"), ([(1, fmpq(1, 2))], "0"), ([(fmpq(1, 4), fmpq(1, 2))], "-2"),
        ([(1, fmpq(1, 2)), (6, fmpq(1, 4))], "log2(3)"), ([(1, fmpq(1, 3)), (1, fmpq(2, 3))], "1"), ([(1, fmpq(9, 25)), (1, fmpq(16, 25))], "1"),
        ([(1, fmpq(1, 9)), (1, fmpq(4, 9))], "1/2"), ([(fmpq(1, 4), fmpq(1, 2)), (fmpq(1, 8), fmpq(1, 4))], "-1"), ([(8, fmpq(1, 4)), (8, fmpq(1, 16))], None),
        ([(fmpq(1, 2), fmpq(1, 2)), (fmpq(1, 2), fmpq(1, 3))], "0"), ([(1, fmpq(1, 2)), (1, fmpq(1, 4))], "0.694241914"), ([(1, fmpq(1, 8)), (1, fmpq(1, 64))], "0.231413971"),
    ],
)  # fmt: skip
def test_exponents_that_are_known(parts: list[tuple[fmpq, fmpq]], text: str | None) -> None:
    found = exponent_of(gathered((fmpq(weight), share) for weight, share in parts))
    assert text is None or str(found) == text


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


@settings(max_examples=drawn(120))
@given(st.lists(st.tuples(WEIGHTS, st.integers(1, 4)), min_size=1, max_size=3, unique_by=lambda each: each[1]))
def test_bases_of_exponential_growth(calls: list[tuple[fmpq, int]]) -> None:
    text, near = characteristic(tuple(calls))
    assert sum(float_of(weight) * near**-step for weight, step in calls) == pytest.approx(1, rel=1e-9)
    plain = re.sub(r"\bsqrt", "mp.sqrt", text)
    assert float(eval(plain, {"mp": mp})) == pytest.approx(near, rel=1e-8)
    # It is the base of a power.
    assert text.isidentifier() or re.fullmatch(r"[\d.]+|\(.*\)|sqrt\(\d+\)", text)


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("n", "n^2"), ("1", "n"), ("1/n", "log2(n)"), ("1/n^2", "1"), ("log2(n)", "n*log2(n)"), ("log2(n)/n", "log2(n)^2"), ("1/(n*log2(n))", "log2(log2(n))"),
        ("1/(n*log2(n)^2)", "1"), ("log2(n)/n^2", "1"), ("1/sqrt(n)", "sqrt(n)"), ("n^2*log2(log2(n))", "n^3*log2(log2(n))"),
    ],
)  # fmt: skip
def test_sums_over_sizes(text: str, total: str) -> None:
    assert leading(_System(parse_recurrence(f"T(n) = T(n-1) + {text}")).solve("T").terms) == leading(terms(total))


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        ([[1, 1], [1, 1]], "1"), ([[1, 2], [3, 2]], "2"), ([[2, 1], [1, 2]], "log2(3)"), ([[0, 2], [2, 0]], "1"), ([[1, 1], [1, 0]], "0.694241914"),
        ([[0, 1, 0], [0, 0, 1], [8, 0, 0]], "1"), ([[2, 1], [1, 1]], "1.38848383"), ([[fmpq(1, 4), fmpq(1, 4)], [fmpq(1, 4), fmpq(1, 4)]], "-1"), ([[fmpq(1, 4), fmpq(1, 4)], [fmpq(1, 4), 0]], "-1.30575809"),
    ],
)  # fmt: skip
def test_spectral_radii(rows: list[list[int]], text: str) -> None:
    """The exponent is the binary logarithm of the greatest eigenvalue."""
    spectrum = Spectrum([[fmpq(each) for each in row] for row in rows], fmpq(1, 2))
    assert str(spectrum.exponent) == text
    eigenvalues = mp.matrix([[float_of(each) for each in row] for row in rows])
    radius = max(abs(each) for each in mp.eig(eigenvalues, left=False, right=False))
    assert float(spectrum.exponent.enclosure().mid()) == pytest.approx(float(mp.log(radius, 2)), rel=1e-12)
    for other in (-2, 0, 1, 2, 3):
        expected = (mp.log(radius, 2) > other + 1e-9) - (mp.log(radius, 2) < other - 1e-9)
        assert spectrum.excess(Constant.of(other)) == expected
    assert spectrum.excess(exponents.log_ratio(fmpq(17), fmpq(2))) == -1
