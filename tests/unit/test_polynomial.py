"""Polynomials and atoms against Python's own integers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, gcd, log2, sqrt

import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from algebra_strategies import POINTS, expressions, linear
from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.algebra.printing import to_text
from archline.expr.intervals import EvaluationError

n, m, b = (Poly.symbol(name) for name in "nmb")
points = st.sampled_from(POINTS)


@given(expressions(("n", "m")), expressions(("n", "m")), points)
def test_arithmetic_is_that_of_the_values(x: Poly, y: Poly, point: dict[str, int]) -> None:
    vx, vy = evaluate(x, point), evaluate(y, point)
    assert evaluate(x + y, point) == vx + vy
    assert evaluate(x - y, point) == vx - vy
    assert evaluate(x * y, point) == vx * vy
    assert evaluate(a.maximum(x, y), point) == max(vx, vy)
    assert evaluate(a.minimum(x, y), point) == min(vx, vy)
    assert evaluate(a.at_least_zero(x), point) == (1 if vx >= 0 else 0)


@given(expressions(("n", "m")))
def test_an_atom_apart(x: Poly) -> None:
    found = x.apart(Symbol("n"))
    parts = x.coefficients(Symbol("n"))
    plain = parts.keys() <= {0, 1} and 1 in parts and parts[1].is_constant
    assert found == ((parts[1].constant_term, parts.get(0, ZERO)) if plain else None)


@given(linear(), st.integers(1, 7), points)
def test_division_rounds_as_integers_do(x: Poly, k: int, point: dict[str, int]) -> None:
    value = int(evaluate(x, point))
    assert evaluate(a.floor_div(x, Poly.constant(k)), point) == value // k
    assert evaluate(a.ceil_div(x, Poly.constant(k)), point) == -(-value // k)
    assert evaluate(a.modulo(x, Poly.constant(k)), point) == value % k


@given(linear(), points)
def test_division_by_a_symbol(x: Poly, point: dict[str, int]) -> None:
    value, by = int(evaluate(x, point)), point["m"]
    assert evaluate(a.floor_div(x * 2, m), point) == value * 2 // by
    assert evaluate(a.floor_div(x * m, m), point) == value


def test_a_quotient_of_polynomials_that_is_a_fraction_is_still_rounded() -> None:
    # (3*(n + 1)) / (2*(n + 1)) has no remainder as polynomials, yet floor(3/2) is 1.
    assert a.floor_div((n + 1) * 3, (n + 1) * 2) == ONE


@given(st.integers(-5, 5000))
def test_ceil_log2_of_numbers(value: int) -> None:
    expected = ceil(log2(value)) if value > 1 else 0
    assert evaluate(a.ceil_log2(Poly.constant(value)), {}) == expected
    assert evaluate(a.ceil_log2(n), {"n": value}) == expected


@given(expressions(("n", "m")), linear(), points)
def test_substitution_is_composition(x: Poly, y: Poly, point: dict[str, int]) -> None:
    inner = evaluate(y, point)
    assert evaluate(x.substitute({"n": y}), point) == evaluate(x, {**point, "n": inner})


@given(expressions(("n", "m")), points)
def test_simplification_keeps_the_value(x: Poly, point: dict[str, int]) -> None:
    facts = Facts().with_symbol("n", (ONE,)).with_symbol("m", (ONE,))
    assert evaluate(facts.simplify(x), point) == evaluate(x, point)


def test_identities_hold_by_normal_form() -> None:
    assert a.maximum(n, m) + a.minimum(n, m) == n + m
    assert a.maximum(n, m) == a.maximum(m, n)
    assert a.positive_part(n - m) * a.positive_part(m - n) == ZERO
    assert a.exponential(2, n + m) == a.exponential(2, n) * a.exponential(2, m)
    assert a.exponential(4, n) == a.exponential(2, n * 2)
    assert a.ceil_log2(a.maximum(n - 1, ONE)) == a.ceil_log2(n - 1)
    assert a.floor_div(n + 1, Poly.constant(2)) + a.floor_div(n, Poly.constant(2)) == n


def test_powers_of_two() -> None:
    k, d = Poly.symbol("k"), Poly.symbol("d")
    power = a.exponential(2, k)
    assert a.log2(power * 8) == k + 3
    assert a.quotient(power, a.exponential(2, d + 1)) == a.exponential(2, k - d - 1)
    assert evaluate(a.exponential(2, k - d), {"k": 3, "d": 5}) == Fraction(1, 4)
    # A rounded quotient of powers is not exact where the divisor is larger.
    assert evaluate(a.floor_div(power, a.exponential(2, d)), {"k": 2, "d": 4}) == 0


k, d, half = Poly.symbol("k"), Poly.symbol("d"), fmpq(1, 2)
power = a.exponential(2, k)
rows = a.Segments("row", n, m, None, attained=False)
TWO = Poly.constant(2)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (a.sqrt(Poly.constant(9)), Poly.constant(3)), (a.sqrt(Poly.constant(fmpq(4, 9))), Poly.constant(fmpq(2, 3))),
        (a.sqrt(power**2), power), (a.sqrt(power**2 * 16), power * 4), (a.sqrt(ZERO), ZERO),
        (a.log2(Poly.constant(8)), Poly.constant(3)), (a.log2(Poly.constant(fmpq(1, 4))), Poly.constant(-2)), (a.log2(ONE), ZERO),
        (a.log2(power**3 * half), k * 3 - 1), (a.exponential(8, k), a.exponential(2, k * 3)), (a.exponential(36, k), a.exponential(6, k * 2)),
        (a.exponential(1, k), ONE), (a.exponential(3, TWO), Poly.constant(9)), (a.exponential(2, k - 3), power / 8),
        (a.exponential(2, a.log2(n) * 3), n**3), (a.exponential(4, a.log2(n) + k), n**2 * power**2), (a.exponential(2, a.log2(n * 3)), n * 3),
        (a.exponential(2, k + d) / 2, a.exponential(2, d - 1) * power),
        (a.quotient(n * 6, Poly.constant(3)), n * 2), (a.quotient(n * m, m), n), (a.quotient(n**2 - m**2, n + m), n - m),
        (a.quotient(n**2 + n * m * 2 + m**2, n + m), n + m), (a.quotient(power * n, power), n), (a.quotient(n, power), n * a.exponential(2, -k)),
        (a.floor_div(n * 6 + 7, Poly.constant(3)), n * 2 + 2), (a.floor_div(n * 4 + 6, Poly.constant(8)), a.floor_div(n + 1, TWO)),
        (a.floor_div(a.floor_div(n, TWO), Poly.constant(3)), a.floor_div(n, Poly.constant(6))), (a.floor_div(n, ONE), n), (a.floor_div(n * a.exponential(2, -k) + m, ONE), n * a.exponential(2, -k) + m),
        (a.floor_div(a.floor_div(n, m), b), a.floor_div(n, m * b)), (a.floor_div(n * m + n, m), n + a.floor_div(n, m)),
        (a.floor_div(n * m - 1, m), n - 1), (a.floor_div(n * m + m * 2, m), n + 2), (a.floor_div(n * -3 - 5, Poly.constant(3)), -n - 2),
        (a.floor_div(n**2 - 1, n + 1), n - 1), (a.floor_div(n * (n + 1), TWO * (n + 1)), a.floor_div(n, TWO)),
        (a.ceil_div(n * m, m), n), (a.ceil_div(n * 4 + 1, Poly.constant(4)), n + 1), (a.modulo(n * 5 + 7, Poly.constant(5)), TWO),
        (a.positive_part(n * 6 - m * 4), a.positive_part(n * 3 - m * 2) * 2), (a.positive_part(n / 2 - m / 3), a.positive_part(n * 3 - m * 2) / 6),
        (a.positive_part(-n), a.positive_part(n) - n), (a.positive_part(Poly.constant(-2)), ZERO), (a.positive_part(TWO), TWO),
        (a.positive_part(n - m) ** 2, (n - m) * a.positive_part(n - m)), (a.at_least_zero(ZERO), ONE), (a.at_least_zero(-ONE), ZERO),
        (a.ceil_log2(Poly.constant(fmpq(5, 2))), TWO), (a.ceil_log2(Poly.constant(half)), ZERO), (a.ceil_log2(ONE), ZERO), (a.ceil_log2(TWO), ONE),
        (a.ceil_log2(power * 4), a.positive_part(k + 2)), (a.ceil_log2(a.maximum(n, ONE)), a.ceil_log2(n)), (a.ceil_log2(a.maximum(ONE, m - n)), a.ceil_log2(m - n)),
        (a.isqrt_of(Poly.constant(15)), Poly.constant(3)), (a.isqrt_of(Poly.constant(-1)), -ONE), (a.isqrt_of(ZERO), ZERO),
        (a.offset(rows, ZERO), ZERO), (a.offset(rows, n), m), (a.offset(rows, k).substitute({"k": n}), m),
        (a.as_gaps((a.offset(rows, k + 1) - a.offset(rows, k)) * n), Poly.of_atom(a.Gap(rows, k)) * n),
        (a.as_gaps(a.offset(rows, k + 1) - a.offset(rows, k) * 2), a.offset(rows, k + 1) - a.offset(rows, k) * 2),
        (a.as_gaps(a.offset(rows, k + 2) - a.offset(rows, k)), a.offset(rows, k + 2) - a.offset(rows, k)),
        ],
)  # fmt: skip
def test_normal_forms(value: Poly, form: Poly) -> None:
    assert value == form


@pytest.mark.parametrize(
    "value",
    [
        a.sqrt(TWO), a.sqrt(power), a.sqrt(power**2 * 2), a.sqrt(Poly.constant(-4)), a.sqrt(n**2), a.log2(Poly.constant(6)), a.log2(power * 3),
        a.log2(-power), a.log2(power * fmpq(2, 3)), a.log2(a.exponential(3, k)), a.quotient(n, m), a.quotient(n + 1, n + m), a.floor_div(n, m),
        a.floor_div(n, n + m), a.exponential(2, k / 2), a.exponential(3, a.log2(n)), a.ceil_log2(a.maximum(n, TWO)), a.isqrt_of(n), a.sqrt(n / 4),
    ],
    ids=to_text,
)  # fmt: skip
def test_what_is_one_atom(value: Poly) -> None:
    ((((atom, exponent),), coefficient),) = [(monomial, each) for monomial, each in value.terms.items() if monomial]
    assert (exponent, coefficient) == (1, 1)
    assert a.symbol_of(value) is None
    assert not isinstance(atom, a.PositivePart)


@pytest.mark.parametrize(
    ("value", "whole"),
    [(n * 2, True), (n / 2, False), (power, True), (a.exponential(2, -k), False), (a.quotient(n, m), False), (a.sqrt(n), False),
     (a.isqrt_of(n), True), (a.log2(n), False), (a.positive_part(n - m), True), (a.floor_div(n, m), True), (n * m**-1, False)],
)  # fmt: skip
def test_integers_by_their_form(value: Poly, whole: bool) -> None:
    assert a.is_integral(value) is whole


@pytest.mark.parametrize(
    "value",
    [
        n,
        n * 2,
        n + m,
        a.positive_part(n - 3),
        a.positive_part(n - 3) * 3,
        a.positive_part(n - m),
        a.at_least_zero(n - m) + 1,
    ],
)
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 4])
def test_powers_are_those_of_the_values(value: Poly, exponent: int) -> None:
    assert evaluate(value**exponent, {"n": 7, "m": 3}) == evaluate(value, {"n": 7, "m": 3}) ** exponent
    # A size in a divisor becomes what a call gives for it.
    assert evaluate((b**exponent).substitute({"b": value}), {"n": 7, "m": 3}) == evaluate(
        value**exponent, {"n": 7, "m": 3}
    )


@pytest.mark.parametrize("modulus", [1, 2, 3, 6])
def test_fractions_in_a_floor_are_not_taken_out_one_by_one(modulus: int) -> None:
    """4*n/2^d + m is whole, and n/2^d is not."""
    value = n * a.exponential(2, -d) * 4 + m * 3 + 5
    found = a.floor_div(value, Poly.constant(modulus))
    for size in range(1, 12):
        for more in range(4):
            expected = (4 * size // 2 + more * 3 + 5) // modulus
            assert evaluate(found, {"n": size, "m": more, "d": 1}) == expected


def test_constant_powers_have_a_limit() -> None:
    assert a.exponential(2, Poly.constant(1000)) == Poly.constant(2**1000)
    with pytest.raises(TooComplexError):
        a.exponential(2, Poly.constant(100_001))
    with pytest.raises(TooComplexError):
        a.exponential(2, Poly.constant(-100_001))
    assert a.symbol_of(n) == "n"
    assert a.symbol_of(n * 2) is None
    assert a.content(n * 6 - m * 4) == 2
    assert a.content(n / 6 - m * fmpq(3, 4)) == fmpq(1, 12)
    assert a.content(ZERO) == 1
    assert all(isinstance(atom, a.RealFunction) for atom in (a.sqrt(power) * a.sqrt(power * 2)).atoms())


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(TooComplexError):
        (n + 1) ** 1000
    with pytest.raises(TooComplexError), budget(100):
        (n + m + 1) ** 40
    with pytest.raises(EvaluationError):
        evaluate(n ** (10**9), {"n": 2})
    assert evaluate(n ** (10**9), {"n": 1}) == 1
    assert evaluate(n**2, {"n": 10**30}) == 10**60


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (n * m * 2, "2*n*m"),
        (n**2 / 2 - n / 2, "1/2*n^2 - 1/2*n"),
        (a.ceil_div(n, b), "ceil(n/b)"),
        (a.minimum(n, b) * m, "m*min(b, n)"),
        (a.ceil_log2(n), "ceil(log2(n))"),
        (a.ceil_log2(n - 1), "ceil(log2(max(1, n - 1)))"),
        (ZERO, "0"),
        (-n, "-n"),
        (a.exponential(2, Poly.symbol("k")) ** 2, "4^k"),
        (a.exponential(2, Poly.symbol("k") / 2 + b), "2^b*2^(1/2*k)"),
        (a.isqrt_of(n - 1), "floor(sqrt(n - 1))"),
        (a.sqrt(n) * 2, "2*sqrt(n)"),
        (a.log2(n) ** 2 + 1, "log2(n)^2 + 1"),
        (a.modulo(n, b), "n%b"),
        (-a.modulo(n, b), "-(n%b)"),
        (a.modulo(n, b) * 2 + m, "m + 2*(n%b)"),
        (a.floor_div(n + 1, Poly.constant(3)), "floor((n + 1)/3)"),
        (a.ceil_div(n, Poly.constant(3)), "ceil(n/3)"),
        (a.quotient(n + 1, b), "(n + 1)/b"),
        (n * b**-2 / 3, "1/3*n/b^2"),
        (b**-1, "1/b"),
        (a.maximum(n, m) * 3 - b, "3*max(m, n) - b"),
        (a.ceil_log2(a.ceil_div(n, b)), "ceil(log2(ceil(n/b)))"),
        (a.ceil_log2(n * m * b), "ceil(log2(n*m*b))"),
        (a.ceil_log2(n * m * b * Poly.symbol("q")), "ceil(log2(max(1, n*m*b*q)))"),
        (n * a.ceil_log2(n) + m * b + m, "m*b + n*ceil(log2(n)) + m"),
        (n**2 + m * n + m**3 + n + m + 2, "m^3 + n^2 + n*m + n + m + 2"),
        (Poly.of_atom(a.Applied("f", (n, m + 1))), "f(n, m + 1)"),
        (Poly.of_atom(a.Gap(a.Segments("row", n, m, None, False), b)), "row[b + 1] - row[b]"),
        (a.offset(a.Segments("row", n, m, None, False), b + 1), "row[b + 1]"),
    ],
)
def test_text(value: Poly, text: str) -> None:
    assert to_text(value, ("n", "m", "b")) == text


@given(expressions(("n", "m")), points)
def test_text_reads_back_as_the_same_value(x: Poly, point: dict[str, int]) -> None:
    # The text is the language's own syntax; Python evaluates it here as an independent reader.
    text = to_text(x).replace("^", "**")
    scope = {
        "floor": floor,
        "ceil": ceil,
        "log2": log2,
        "sqrt": sqrt,
        "max": max,
        "min": min,
        "gcd": lambda x, y: gcd(int(x), int(y)),
        **point,
    }
    python = eval(_exact_division(text), {"__builtins__": {}, "Fraction": Fraction}, scope)
    assert python == evaluate(x, point)


def _exact_division(text: str) -> str:
    """Integers as Fractions, so that / is exact."""
    import re

    return re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"Fraction(\1)", text)
