"""Growth and closed forms of recurrences beyond the corpus; expected values are derived in the comments or well known."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
import sympy
from flint import arb

from archline.algebra.evaluate.formulas import BALL_ARITHMETIC, value_at
from archline.api.growth import recurrence
from archline.expr.text import format_expression
from archline.growth.is_big_o import Proved
from archline.recurrences.asymptotic.evaluate import Evaluator, evaluate
from archline.recurrences.asymptotic.problem import Answer, Refused, SolvedGrowth, Superpolynomial
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.solve import solve
from archline.recurrences.closed.geometric import compute_fibonacci
from growth_questions import order_texts


def answer(text: str) -> Answer:
    return solve(parse_recurrence(text))


GROWTH = [
    # Every level of T = a*T(n/b) + n^log_b(a)*log^k costs log^k: k > -1, k = -1, k < -1.
    ("T(n) = 9*T(n/3) + n^2*log2(n)^2", "n^2*log2(n)^3"),
    ("T(n) = 9*T(n/3) + n^2*sqrt(log2(n))", "n^2*log2(n)^(3/2)"),
    ("T(n) = 9*T(n/3) + n^2/log2(n)*log2(log2(n))", "n^2*log2(log2(n))^2"),
    ("T(n) = 9*T(n/3) + n^2/log2(n)/log2(log2(n))^2", "n^2"),
    ("T(n) = 2*T(n/2) + n/log2(n)/log2(log2(n))", "n*log2(log2(log2(n)))"),
    # The second branch makes it positive, the first makes that grow.
    ("T(n) = max(2*T(n/2), T(n/2) + 1), T(1) = 0", "n"),
    ("T(n) = 9*T(n/3) + n^2/log2(n)^2", "n^2"),
    ("T(n) = 5*T(n/2) + n^log2(5)", "n^log2(5)*log2(n)"),
    ("T(n) = 5*T(n/4) + n^(log2(5)/2)*log2(n)", "n^(log2(5)/2)*log2(n)^2"),
    ("T(n) = 2*T(n/4) + n^0.5", "sqrt(n)*log2(n)"),
    # 2*(1/4)^p + (1/2)^p = 1 at p = 1: x = 2^-p solves 2*x^2 + x = 1.
    ("T(n) = 2*T(n/4) + T(n/2) + n", "n*log2(n)"),
    # (1/9)^(1/2) + (4/9)^(1/2) = 1/3 + 2/3.
    ("T(n) = T(n/9) + T(4*n/9) + sqrt(n)", "sqrt(n)*log2(n)"),
    # (3/5)^2 + (4/5)^2 = 1.
    ("T(n) = T(3*n/5) + T(4*n/5) + n^2", "n^2*log2(n)"),
    ("T(n) = T(3*n/5) + T(4*n/5) + n", "n^2"),
    ("T(n) = 1/4*T(n/2) + 1/n", "1/n"),
    ("T(n) = 1/4*T(n/2) + 1/n^3", "1/n^2"),
    ("T(n) = 2*T(n/2) + n + n*log2(n) + sqrt(n)", "n*log2(n)^2"),
    ("T(n) = 2*T(n/2) + (n + 1)*(n + 2)/(n + 3)", "n*log2(n)"),
    ("T(n) = 2*T(n/2) + n*log2(n^3/7)", "n*log2(n)^2"),
    ("T(n) = 2*T(n/2) + ceil(log2(n)) + min(n, n^2)", "n*log2(n)"),
    ("T(n) = 2*T(n/2) + n - 1, T(1) = 0", "n*log2(n)"),
    ("T(n) = 2*(T(n/2) + n)/3 + T(n/2)/3", "n"),
    ("T(n) = T(n/2) + exp(0)", "log2(n)"),
    # Base values without a closed form of the whole.
    ("T(n) = 2*T(n/2) + n, T(1) = sqrt(2)", "n*log2(n)"),
    ("T(n) = 2*T(n/2) + n, T(1) = 1, T(2) = 7", "n*log2(n)"),
    ("T(n) = T(n/2) + 1, T(1) = log2(3)", "log2(n)"),
    ("T(n) = 2*T(n/2) + n*exp(1)", "n*log2(n)"),
    # Symbols are carried along; n^p comes with the base.
    ("T(P) = T(P/2) + b^2, T(1) = 1", "b^2*log2(P)"),
    ("T(n) = 2*T(n/2) + n/L + 1", "n + n/L*log2(n)"),
    ("T(n) = T(n/2) + n/L + log2(L), T(1) = c", "n/L + log2(L)*log2(n) + c"),
    ("T(n) = T(n-1) + n/L + b, T(0) = 0", "n^2/L + n*b"),
    # Constants beside a share do not matter, if sizes reach the base.
    ("T(n) = 2*T(n/2 + 17) + n, T(35) = 1", "n*log2(n)"),
    ("T(n) = 2*T(n/2 - 3) + n", "n*log2(n)"),
    # Spans.
    ("S(n) = max(S(n/2), S(n/4)) + 1", "log2(n)"),
    ("S(n) = max(S(2*n/3), S(n/3)) + log2(n)", "log2(n)^2"),
    ("S(n) = max(2*S(n/2), 3*S(n/4)) + n", "n*log2(n)"),
    ("S(n) = max(S(n-1), S(n-2)) + 1", "n"),
    ("S(n) = S(n/2) + max(n, log2(n)^3)", "n"),
    # Steps.
    ("T(n) = T(n-1) + log2(n)", "n*log2(n)"),
    ("T(n) = T(n-1) + 1/n^2", "1"),
    ("T(n) = T(n-1) + 1/(n*log2(n))", "log2(log2(n))"),
    ("T(n) = T(n-3) + n^(1/2)", "n^(3/2)"),
    ("T(n) = T(n-1/2) + n", "n^2"),
    ("T(n) = 1/2*T(n-1) + 1/2*T(n-2) + n", "n^2"),
    ("T(n) = 1/3*T(n-1) + 1/3*T(n-2) + n*log2(n)", "n*log2(n)"),
    # With mu = log2(n): U = 3*U(mu/2) + mu; U = U(mu/3) + 1; U = 4*U(mu/2) + mu^2.
    ("T(n) = 3*T(sqrt(n)) + log2(n)", "log2(n)^log2(3)"),
    ("T(n) = n^(2/3)*T(n^(1/3)) + n", "n*log2(log2(n))"),
    ("T(n) = 4*sqrt(n)*T(sqrt(n)) + n*log2(n)^2", "n*log2(n)^2*log2(log2(n))"),
    ("T(n) = 2*T(sqrt(n)) + n/log2(n)", "n/log2(n)"),
    ("T(n) = 2*sqrt(n)*T(sqrt(n)) + sqrt(n)*log2(n)", "n*log2(n)"),
    ("T(n) = T(sqrt(n)) + T(n^(1/4)) + 1", "log2(n)^0.694241914"),
    ("T(n) = T(sqrt(n)) + log2(log2(n))", "log2(log2(n))^2"),
    ("T(n) = T(ceil(sqrt(n))) + 1", "log2(log2(n))"),
    # Systems: B first; then A.
    ("A(n) = 2*A(n/2) + B(n/2); B(n) = 2*B(n/2) + C(n); C(n) = 2*C(n/2) + n", "n*log2(n)^3"),
    ("A(n) = A(n-1) + B(n); B(n) = B(n/2) + n", "n^2"),
    ("A(n) = 2*A(n/2) + B(n); B(n) = B(sqrt(n)) + 1", "n"),
    ("A(n) = 2*A(n/4) + B(n); B(n) = C(sqrt(n)); C(n) = C(n/2) + n", "sqrt(n)*log2(n)"),
    # A = 3*A(n/9) + 6*(n/3)^2 - 3*n/3 + n: what is subtracted is known exactly at n/3.
    ("A(n) = 3*B(n/3) + n; B(n) = A(n/3) + 2*n^2 - n, A(1) = 1, B(1) = 1", "n^2"),
    # A = 2*(A(n/4) + 1) + n; and with sqrt(n) every second level costs alike.
    ("A(n) = 2*B(n/2) + n; B(n) = A(n/2) + 1", "n"),
    ("A(n) = 2*B(n/2) + sqrt(n); B(n) = A(n/2)", "sqrt(n)*log2(n)"),
    ("A(n) = B(n) + 1; B(n) = 2*A(n/2) + n", "n*log2(n)"),
    ("A(n) = B(sqrt(n)) + 1; B(n) = A(sqrt(n)) + log2(n)", "log2(n)"),
    # Spectral radii: [[1, 1], [1, 1]] has 2, [[1, 2], [3, 2]] has 4, [[2, 1], [1, 2]] has 3.
    ("A(n) = A(n/2) + B(n/2) + n; B(n) = A(n/2) + B(n/2) + 1", "n*log2(n)"),
    ("A(n) = A(n/2) + 2*B(n/2); B(n) = 3*A(n/2) + 2*B(n/2) + n^2", "n^2*log2(n)"),
    ("A(n) = 2*A(n/2) + B(n/2); B(n) = A(n/2) + 2*B(n/2) + n", "n^log2(3)"),
    # x^2 = 3*x - 1 at the square of the golden ratio: twice its exponent 0.694241913631.
    ("A(n) = 2*A(n/2) + B(n/2); B(n) = A(n/2) + B(n/2)", "n^1.38848383"),
    # With T(1) = 1, S(n) = T(0) + ... + T(n - 1) is 2 at 2, and (n + c - 1)/(n - 1) times S(n - 1) above.
    ("T(n) = 1/n*sum(T(i))", "1"),
    ("T(n) = 2/n*sum(T(i))", "n"),
    ("T(n) = 3/n*sum(T(i)), T(1) = 5", "n^2"),
    ("T(n) = n^2 + 3", "n^2"),
]


@pytest.mark.parametrize(("text", "growth"), GROWTH, ids=[text for text, _ in GROWTH])
def test_growth(text: str, growth: str) -> None:
    found = answer(text)
    assert isinstance(found, SolvedGrowth), found
    assert isinstance(order_texts(format_expression(found.growth), growth), Proved), found.growth
    assert isinstance(order_texts(growth, format_expression(found.growth)), Proved), found.growth


EXACT: list[tuple[str, Callable[[int], object], Callable[[int], int]]] = [
    # n = 3^k: 3^k*(1 + 2*k). The logarithm to base 3 appears as log2(n)/log2(3).
    ("T(n) = 3*T(n/3) + 2*n", lambda k: 3**k * (1 + 2 * k), lambda k: 3**k),
    ("T(n) = T(n/2) + 2*T(n/4)", lambda k: (2 ** (k + 2) - (-1) ** k) // 3 if k else 1, lambda k: 2**k),
    ("T(n) = 2*T(n/2) + n, T(3) = 5", lambda k: 2**k * (5 + 3 * k), lambda k: 3 * 2**k),
    ("T(n) = T(n/2) + log2(n), T(8) = 6", lambda k: (k + 3) * (k + 4) // 2, lambda k: 8 * 2**k),
    ("T(n) = T(n/2) + T(n/4), T(1) = 1", lambda k: compute_fibonacci(k + 2), lambda k: 2**k),
    # Several base values: of sizes up to 1 and from there to 2.
    ("T(n) = 2*T(n/2) + n, T(1) = 1, T(2) = 7", lambda k: 2**k * (7 + 2 * k), lambda k: 2 * 2**k),
    ("T(n) = T(n/2) + T(n/4), T(1) = 1, T(2) = 2", lambda k: compute_fibonacci(k + 3), lambda k: 2 * 2**k),
    ("T(n) = 2*T(n-1) + 1, T(0) = 0", lambda k: 2**k - 1, lambda k: k),
    ("T(n) = T(n-1) + 2*T(n-2), T(0) = 2, T(1) = 1", lambda k: 2**k + (-1) ** k, lambda k: k),
    ("F(n) = F(n-1) + F(n-2), F(0) = 0, F(1) = 1", compute_fibonacci, lambda k: k),
    ("T(n) = T(n-1) + n^3, T(0) = 0", lambda k: (k * (k + 1) // 2) ** 2, lambda k: k),
    ("T(n) = T(n-3) + n, T(2) = 2", lambda k: (k + 1) * (3 * k + 4) // 2, lambda k: 3 * k + 2),
    ("T(n) = 4*T(n-2), T(0) = 1", lambda k: 4**k, lambda k: 2 * k),
    ("T(n) = 3*T(sqrt(n)) + 2, T(4) = 1", lambda k: 2 * 3**k - 1, lambda k: 4 ** (2**k)),
    # log2(log2(n)) is k + 1 at 4^(2^k): the sum of 2, 3, ..., k + 1, and 1.
    ("T(n) = T(sqrt(n)) + log2(log2(n)), T(4) = 1", lambda k: k * (k + 3) // 2 + 1, lambda k: 4 ** (2**k)),
    ("T(n) = T(n-1) + 1/n + 1, T(1) = 0", lambda k: sympy.harmonic(k + 1) + k - 1, lambda k: k + 1),
]


@pytest.mark.parametrize(("text", "known", "size"), EXACT, ids=[each[0] for each in EXACT])
def test_exact_solutions(text: str, known: Callable[[int], object], size: Callable[[int], int]) -> None:
    problem = parse_recurrence(text)
    found = solve(problem)
    assert isinstance(found, SolvedGrowth | Superpolynomial), found
    assert found.exact is not None
    assert found.domain
    closed = found.exact
    (name,) = problem.asked.parameters
    for k in range(1, 8):
        point = {name: size(k)}
        expected = sympy.Rational(known(k))
        assert sympy.Rational(str(evaluate(problem, point))) == expected
        assert float(value_at(closed, point, BALL_ARITHMETIC)) == pytest.approx(float(expected), rel=1e-12)


def test_closed_forms_with_symbols_over_steps() -> None:
    found = solve(parse_recurrence("T(n) = T(n-1) + n/L + b, T(0) = P"))
    assert isinstance(found, SolvedGrowth)
    n, b, processors, line = sympy.symbols("n b P L")
    known = n * (n + 1) / (2 * line) + b * n + processors
    assert sympy.expand(sympy.sympify(format_expression(found.exact).replace("^", "**")) - known) == 0


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("T(n) = 4*T(n-2), T(0) = 1", "n is even"), ("T(n) = 4*T(n-2), T(1) = 1", "n is odd"), ("T(n) = T(n-3) + n, T(2) = 2", "n = 2 + 3*k"),
        ("T(n) = T(n-1) + n, T(0) = 0", "n is an integer >= 0"), ("T(n) = T(n-1) + n", "n is an integer >= 1"), ("T(n) = 2*T(n/2) + n, T(3) = 5", "n = 3*2^k"),
        ("T(n) = 3*T(n/3)", "n = 3^k"), ("T(n) = T(2*n/3) + 1", "n = (3/2)^k"), ("T(n) = 3*T(sqrt(n)) + 2, T(4) = 1", "n = 4^(2^k)"),
    ],
)  # fmt: skip
def test_domains_of_closed_forms(text: str, domain: str) -> None:
    found = answer(text)
    assert isinstance(found, SolvedGrowth | Superpolynomial)
    assert found.domain == domain


def test_closed_forms_have_no_factor_1() -> None:
    found = answer("T(n) = T(n-1) + T(n-2) + n, T(0) = 0, T(1) = 1")
    assert isinstance(found, Superpolynomial)
    assert format_expression(found.exact) == "5*fibonacci(n) + 3*fibonacci(n - 1) - n - 3"


@pytest.mark.parametrize("text", ["T(n) = T(n/2) + 1, T(0) = 0", "T(n) = 0 when n <= 0; T(n/2) + 1"])
def test_a_base_that_is_assumed_further_up_gives_growth_only(text: str) -> None:
    # With floors T(1) is T(0) + 1, and not 0.
    solution = recurrence(text)
    assert (solution.growth, solution.exact) == ("log2(n)", None)
    assert solution.assumptions == ("T(n) = 0 for n <= 1, as sizes shrink only above",)


FOLLOWED: list[tuple[str, Callable[[int], int | Fraction]]] = [
    # Logarithms to other bases, roots of the characteristic polynomial below 0, amounts that fall, symbols, late starts.
    ("T(n) = 4*T(n/4) + n*log2(n)", lambda k: 4**k), ("T(n) = 3*T(n/3) + n*log2(n)", lambda k: 3**k), ("T(n) = T(n/2) + 6*T(n/4) + n", lambda k: 2**k),
    ("T(n) = T(n/4) + 1", lambda k: 4**k), ("T(n) = 2*T(2*n/3)", lambda k: Fraction(3, 2) ** k), ("T(n) = T(n/8) + T(n/64)", lambda k: 8**k),
    ("T(n) = T(n/4) + T(n/16)", lambda k: 4**k), ("T(n) = T(n/3) + T(n/9), T(9) = 2", lambda k: 9 * 3**k),
("T(n) = 9*T(n/3) + 1/n", lambda k: 3**k), ("T(n) = 1/2*T(n/2) + 1", lambda k: 2**k), ("T(n) = 5*T(n/6) + log2(n), T(36) = 7", lambda k: 36 * 6**k),
    ("T(n) = 2*T(n/2) + n*P + Q", lambda k: 2**k), ("T(n) = 4*T(n/2) + n^2*P^2/L, T(3) = c", lambda k: 3 * 2**k), ("T(n) = T(3*n/4) + 2, T(5) = 3", lambda k: 5 * Fraction(4, 3) ** k),
    ("T(n) = T(n/4) + n^(1/2), T(1) = 1", lambda k: 4**k), ("T(n) = 3*T(n/2) + n^log2(3)", lambda k: 2**k), ("T(n) = 3*T(n/2) + n^log2(5)", lambda k: 2**k),
    ("T(n) = 3*T(n/4) + n^(log2(5)/2)*log2(n)", lambda k: 4**k), ("T(n) = 8*T(n/2) + n^2*log2(n)^2 + 3*log2(n), T(4) = 1", lambda k: 4 * 2**k),
    # Roots.
    ("T(n) = 2*T(sqrt(n)) + log2(n)^2, T(2) = 1", lambda k: 2 ** 2**k), ("T(n) = sqrt(n)*T(sqrt(n)) + n, T(2) = 2", lambda k: 2 ** 2**k),
    ("T(n) = 2*T(n^(1/3)) + log2(n), T(8) = 3", lambda k: 8 ** 3**min(k, 4)), ("T(n) = sqrt(n)*T(sqrt(n)) + n*P*log2(n), T(4) = Q", lambda k: 4 ** 2**k),
    # Steps.
    ("T(n) = T(n-2) + n, T(1) = 1", lambda k: 2 * k + 1), ("T(n) = 3*T(n-2) + 2*T(n-1), T(0) = 1", lambda k: k), ("T(n) = 1/2*T(n-1) + n^2, T(3) = 2", lambda k: k + 3),
    ("T(n) = T(n-1) + 3/n + n^2, T(2) = 5", lambda k: k + 2), ("F(n) = F(n-1) + F(n-2) + 1, F(0) = 2, F(1) = 5", lambda k: k + 1), ("T(n) = T(n-4) + n^2, T(3) = 1", lambda k: 4 * k + 3),
    ("T(n) = 8*T(n-3), T(1) = 5", lambda k: 3 * k + 1), ("T(n) = 2*T(n-1) + 3*T(n-2), T(1) = 2", lambda k: k), ("T(n) = T(n-1) + T(n-2), T(2) = 4, T(1) = 2", lambda k: k + 2),
    ("T(n) = 1/3*T(n-2) + 2/3*T(n-1), T(0) = 0, T(1) = 1", lambda k: k + 1), ("T(n) = 9*T(n-2) + n^3, T(4) = 1", lambda k: 2 * k + 4), ("T(n) = T(n-1) + 2/n, T(0) = 3", lambda k: k),
    *((f"F(n) = F(n-1) + F(n-2), F(0) = {first}, F(1) = {second}", lambda k: k) for first, second in ((0, 3), (2, 3), (3, 5), (2, 1))),
    ("F(n) = F(n-1) + F(n-2), F(3) = 1, F(4) = 1", lambda k: k + 4),
]  # fmt: skip


@pytest.mark.parametrize(("text", "size"), FOLLOWED, ids=[each[0] for each in FOLLOWED])
def test_closed_forms_are_what_the_recurrence_comes_to(text: str, size: Callable[[int], int | Fraction]) -> None:
    problem = parse_recurrence(text)
    found = solve(problem)
    assert isinstance(found, SolvedGrowth | Superpolynomial), found
    assert found.exact is not None
    closed = found.exact
    (name,) = problem.asked.parameters
    symbols = {"P": 5, "Q": 7, "L": 3, "c": 2}
    for k in range(1, 8):
        value = Evaluator(problem, symbols, BALL_ARITHMETIC, exact_logs=True).evaluate_call(problem.asked.name, size(k))
        formula = value_at(closed, {**symbols, name: size(k)}, BALL_ARITHMETIC)
        assert arb(formula).overlaps(arb(value))
        assert abs(arb(formula) - arb(value)) < 1e-9 * abs(arb(value))


BEYOND = [
    ("T(n) = 3*T(n-2) + n", "3^(n/2)"),
    ("T(n) = 2*T(n-1/2) + 1", "2^(2*n)"),
    ("T(n) = 3/2*T(n-1) + n^3", "(3/2)^n"),
    ("T(n) = 2*T(n-1) + 2*T(n-2)", "(1 + sqrt(3))^n"),
    ("T(n) = 2*T(n-1) + T(n-2)", "(1 + sqrt(2))^n"),
    ("T(n) = 4*T(n-1) + 4*T(n-2)", "(2 + 2*sqrt(2))^n"),
    ("T(n) = T(n-1) + 1/4*T(n-2)", "((1 + sqrt(2))/2)^n"),
    ("T(n) = T(n-1) + 2*T(n-2)", "2^n"),
    ("T(n) = 1/2*T(n-1) + T(n-2)", "((1 + sqrt(17))/4)^n"),
    ("T(n) = T(n-1) + T(n-3)", "1.46557123^n"),
    ("T(n) = max(2*T(n-1), 3*T(n-2)) + 1", "2^n"),
    ("A(n) = A(n-1) + B(n-1); B(n) = A(n-1)", "((1 + sqrt(5))/2)^n"),
    ("T(n) = T(n-1) + T(n/2) + n", None),
    ("T(n) = n*T(n-1), T(0) = 1", "factorial(n)"),
    # Derangements: one base value is 0, from 2 on they are positive.
    ("D(n) = (n-1)*(D(n-1) + D(n-2)), D(0) = 1, D(1) = 0", "factorial(n)"),
    ("T(n) = T(n-2) + T(n-3), T(0) = 1, T(1) = 0, T(2) = 0", "1.32471796^n"),
    ("T(n) = 2*sum(T(i))", "3^n"),
    ("T(n) = T(n-1) + T(n-2) - 1, T(0) = 2, T(1) = 2", "((1 + sqrt(5))/2)^n"),
    ("T(n) = 3*T(n-1) - 1, T(0) = 1", "3^n"),
    ("T(n) = 2*T(n/2) + 2^n", "2^n"),
    ("T(n) = T(n-1) + T(n/2) + 1/2, T(1) = 0", None),
    ("T(n) = sqrt(n)*T(n/2) + 1", None),
    ("T(n) = log2(n)*T(n/2)", None),
    ("A(n) = A(n/2) + B(n); B(n) = 2*B(n-1) + 1", "2^n"),
]


@pytest.mark.parametrize(("text", "growth"), BEYOND, ids=[text for text, _ in BEYOND])
def test_growth_beyond_polynomials(text: str, growth: str | None) -> None:
    found = answer(text)
    assert isinstance(found, Superpolynomial), found
    assert format_expression(found.growth) == growth


REFUSED = [
    ("T(n) = T(n) + 1", "same size"),
    ("A(n) = B(n) + 1; B(n) = A(n)", "same size"),
    ("T(n) = T(2*n) + 1", "does not shrink"),
    ("T(n) = T(n+1) + 1", "does not shrink"),
    ("T(n) = T(n^2) + 1", "does not shrink"),
    ("T(n) = T(n/log2(n)) + 1", "neither a part"),
    ("T(n) = T(n/2)*T(n/3)", "not linear"),
    ("T(n) = T(n/2)^2 + 1", "not linear"),
    ("T(n) = log2(T(n/2))", "not linear"),
    ("T(n) = min(T(n/2), T(n/3))", "not linear"),
    ("T(n) = 3*T(n-1) - 2*T(n-2)", "subtracted"),
    ("T(n) = (1 - 2)*T(n/2) + n", "subtracted"),
    ("T(n) = (1 - 2)*max(T(n/2), T(n/3)) + n^2", "a recursive call is subtracted"),
    ("T(n) = a*T(n/2) + n", "symbol in the number of calls"),
    ("T(n) = T(n/2)/n + 1", "shrinks"),
    ("T(n) = 2*T(n/2) - 1, T(1) = 1", "may be negative"),
    ("T(n) = 2*T(n/2) + n, T(1) = -1", "base value may be negative"),
    ("T(n) = 2*T(n/2) - 1, T(1) = 0", "may be negative"),
    ("T(n) = T(n-1) + T(n-2) - 1, T(0) = 0, T(1) = 0", "may be negative"),
    ("T(n) = 2*T(n/2), T(1) = 0", "is 0"),
    ("T(n) = T(n-1), T(0) = 0", "is 0"),
    ("T(n) = sum(T(i)), T(0) = 0", "is 0"),
    ("A(n) = A(n/2) + B(n/2), A(1) = 0, B(1) = 0; B(n) = A(n/2) + B(n/2)", "is 0"),
    # The first is 1 at even sizes and 0 at odd ones, the second is 1.
    ("T(n) = T(n-2), T(0) = 1, T(1) = 0", "some base values are 0"),
    ("T(n) = T(n/2), T(1) = 0, T(2) = 1", "some base values are 0"),
    ("A(n) = B(n/2), A(1) = 0, B(1) = 1; B(n) = A(n/2)", "some base values are 0"),
    ("T(n) = 1/2*T(n-1)", "tends to 0"),
    ("T(n) = T(sqrt(n)) + T(n/2)", "different ways"),
    ("T(n) = max(T(n/2) + n, 3*T(n/3))", "maximum whose branches differ"),
    ("T(n) = 2*max(T(n/2), n)", "maximum whose branches differ"),
    # Near 1, 1/(n - 1) has no bound; nor has 1/n near 0.
    ("T(n) = T(n/2) + 1/(n - 1)", "function of a difference"),
    ("T(n) = T(n/2) + 1/log2(n - 2)", "function of a difference"),
    ("T(n) = T(n/2 - 1) + 1/n, T(0) = 1", "without bound"),
    ("T(n) = T(n-1) + n, T(-3) = 0", "not positive"),
    # log2(2 + w^2) is less than 2*log2(2 + w), by about 4/w: every level costs n/log2(n), and not 0.
    ("T(n) = 2*T(n/2) + 2*n*log2(log2(n)) - n*log2(log2(n)^2)", "of the same growth"),
    ("T(n) = 2*T(n/2) + 2*n*log2(P) - n*log2(P^2)", "of the same growth"),
    # Which base value a size meets depends on the size.
    ("A(n) = B(n/2), A(1) = 1/L; B(n) = A(n/2)", "different symbols"),
    ("A(n) = A(n/2) + B(n/3); B(n) = A(n/2) + B(n/2)", "different shares"),
    ("A(n) = A(n/2) + max(B(n/2), 1); B(n) = A(n/2) + B(n/2)", "with a maximum"),
    ("A(n) = A(n/2) + a*B(n/2); B(n) = A(n/2) + B(n/2)", "weights that vary"),
    ("A(n) = B(sqrt(n)) + 1; B(n) = A(n/2) + 1", "at roots and at parts"),
    ("A(n) = B(n/2) + 1; B(n) = A(sqrt(n)) + 1", "at roots and at parts"),
    ("A(n) = B(n/2 + 1) + n^2, A(9) = 1; B(n) = A(n/2) + n^2 - n, B(9) = 1", "may be negative"),
    ("T(n) = T(n-1) + n - 3*n^2", "may be negative"),
    ("T(n) = 1/2*T(n-1) + T(n/2) + 1", "different ways"),
    ("T(n) = T(n-1)/2 + 1/4*T(n-2) + 3*T(n/3) + n", "different ways"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_out_of_reach_is_named(text: str, said: str) -> None:
    found = answer(text)
    assert isinstance(found, Refused), found
    assert said in found.reason


EXPLAINED = [
    ("T(n) = T(n/2) + 1, T(4) = 2, T(8) = 3", ["T(n) = T(n/2) + 1 for n > 8", "T(n) = 2 for n <= 4", "T(n) = 3 for 4 < n <= 8"]),
    # Amounts beside what the calls alone make grow; what is subtracted has no line of its own.
    ("T(n) = 2*T(n/2) + n*log2(n) + n^2 - n",
     ["n*log2(n) is n times log2(n): no level dominates, and the sum over levels is log2(n)^2", "n^2 dominates n: the root of the recursion tree dominates"]),
    ("T(n) = T(n/2) + P", ["P is 1 times 1: no level dominates, and the sum over levels is log2(n)"]),
    ("T(n) = 2*T(sqrt(n)) + log2(n)", ["mu is mu times 1: no level dominates, and the sum over levels is log2(mu)"]),
    ("T(n) = T(n-1) + 2*T(n-2)", ["characteristic equation x^(-1) + 2*x^(-2) = 1: the positive solution is x = 2"]),
    ("T(n) = T(n-1) + n + log2(n)", ["the weights of the calls sum to 1: the base value plus the sum of n + log2(n) over the sizes"]),
    ("A(n) = 2*A(n/2) + B(n/2); B(m) = 2*B(m/2) + m", ["so B(m) is Theta(m*log2(m))", "A(n) = 2*A(n/2) + B(n/2) for n > 1, where n is large:"]),
    ("A(n) = 2*B(n/2) + n; B(n) = A(n/2) + 1", ["A(n) = 2*B(n/2) + n for n > 1", "B(n) = A(n/2) + 1 for n > 1", "substituted into each other:", "2*(1/4)^p = 1 at p = 1/2"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), EXPLAINED, ids=[text for text, _ in EXPLAINED])
def test_solutions_are_explained(text: str, lines: list[str]) -> None:
    found = answer(text)
    assert isinstance(found, SolvedGrowth | Superpolynomial), found
    assert [each for each in lines if each not in found.steps] == []
    assert not any(each.startswith(("-", "n is")) for each in found.steps)


def test_an_irrational_exponent_is_printed_to_nine_digits_with_its_equation() -> None:
    # AFP's foo_cost: p in [1.1519623, 1.1519624].
    found = answer("T(n) = T(n/3) + T(3*n/4) + n")
    assert isinstance(found, SolvedGrowth)
    assert format_expression(found.growth) == "n^1.15196237"
    assert any("(1/3)^p + (3/4)^p = 1" in line and "1.15196237" in line for line in found.steps)


def test_near_misses_of_the_critical_case_are_told_apart() -> None:
    """The exponent of 2000001/1000000 calls is above 1, by about 7e-7: no logarithm."""
    above = answer("T(n) = 2.000001*T(n/2) + n")
    assert isinstance(above, Refused) or format_expression(above.growth).startswith("n^")
    assert isinstance(above, Refused) or "log2(n)" not in format_expression(above.growth).replace(
        "log2(2000001/1000000)", ""
    )
    below = answer("T(n) = 1.999999*T(n/2) + n")
    assert isinstance(below, Refused) or format_expression(below.growth) == "n"


def test_several_sizes_and_cases_go_to_the_solver_for_them() -> None:
    found = answer("Q(n) = 1 when n <= L; 2*Q(n/2) + 1")
    assert isinstance(found, SolvedGrowth)
    assert isinstance(order_texts(format_expression(found.growth), "1 + n/L"), Proved)
