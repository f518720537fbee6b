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
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
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
    assert evaluate(a.nonnegative_indicator(x), point) == (1 if vx >= 0 else 0)


@given(linear(), st.integers(1, 7), points)
def test_division_rounds_as_integers_do(x: Poly, k: int, point: dict[str, int]) -> None:
    value = int(evaluate(x, point))
    assert evaluate(a.floor_div(x, Poly.constant(k)), point) == value // k
    assert evaluate(a.ceil_div(x, Poly.constant(k)), point) == -(-value // k)
    assert evaluate(a.modulo(x, Poly.constant(k)), point) == value % k


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


k, d, half = Poly.symbol("k"), Poly.symbol("d"), fmpq(1, 2)
power = a.exponential(2, k)


@pytest.mark.parametrize(
    "value",
    [
        n,
        n * 2,
        n + m,
        a.positive_part(n - 3),
        a.positive_part(n - 3) * 3,
        a.positive_part(n - m),
        a.nonnegative_indicator(n - m) + 1,
    ],
)
@pytest.mark.parametrize("exponent", [-3, -2, -1, 0, 1, 2, 3, 4])
def test_powers_are_those_of_the_values(value: Poly, exponent: int) -> None:
    assert evaluate(value**exponent, {"n": 7, "m": 3}) == evaluate(value, {"n": 7, "m": 3}) ** exponent
    # A size in a divisor becomes what a call gives for it.
    assert evaluate((b**exponent).substitute({"b": value}), {"n": 7, "m": 3}) == evaluate(
        value**exponent, {"n": 7, "m": 3}
    )


@pytest.mark.parametrize("root", [3, 67, 1009, 10**12 + 39])
@pytest.mark.parametrize("power", [2, 3, 7])
def test_powers_of_powers_are_the_same_however_large_their_base_is(root: int, power: int) -> None:
    n = Poly.symbol("n")
    assert a.exponential(root**power, n) == a.exponential(root, n.scaled(power))


@given(st.integers(-6, 6), st.fractions(min_value=0, max_value=50))
def test_roots_and_logarithms_of_fractions_are_exact(power: int, root: Fraction) -> None:
    n = Poly.symbol("n")
    point = {"n": fmpq(root.numerator, root.denominator)}
    assert evaluate(a.sqrt(n * n), point) == root
    assert evaluate(a.log2(n), {"n": fmpq(2) ** power}) == power


def test_compiled_expressions_without_a_value_say_so() -> None:
    n = Poly.symbol("n")
    compiler = Compiler(["n"])
    for value in (n, n.scaled(2) + ONE, n * n):
        compute = compiler.compile_expression(value)
        with pytest.raises(EvaluationError, match="`n` has no value"):
            compute(compiler.make_environment_at({}))


def test_constant_powers_have_a_limit() -> None:
    assert a.exponential(2, Poly.constant(1000)) == Poly.constant(2**1000)
    with pytest.raises(TooComplexError):
        a.exponential(2, Poly.constant(100_001))
    with pytest.raises(TooComplexError):
        a.exponential(2, Poly.constant(-100_001))
    assert a.find_single_symbol_name(n) == "n"
    assert a.find_single_symbol_name(n * 2) is None
    assert a.compute_content(n * 6 - m * 4) == 2
    assert a.compute_content(n / 6 - m * fmpq(3, 4)) == fmpq(1, 12)
    assert a.compute_content(ZERO) == 1
    assert all(isinstance(atom, a.RealFunction) for atom in (a.sqrt(power) * a.sqrt(power * 2)).atoms())


def test_what_is_too_large_is_refused() -> None:
    with pytest.raises(TooComplexError):
        (n + 1) ** 1000
    with pytest.raises(TooComplexError), limit_effort(100):
        (n + m + 1) ** 40
    with pytest.raises(EvaluationError):
        evaluate(n ** (10**9), {"n": 2})
    assert evaluate(n ** (10**9), {"n": 1}) == 1
    assert evaluate(n**2, {"n": 10**30}) == 10**60


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
        "ceil_log": lambda x, base: next(k for k in range(100) if base**k >= x),
        **point,
    }
    python = eval(_exact_division(text), {"__builtins__": {}, "Fraction": Fraction}, scope)
    assert python == evaluate(x, point)


def _exact_division(text: str) -> str:
    """Integers as Fractions, so that / is exact."""
    import re

    return re.sub(r"(?<![\w.])(\d+)(?![\w.])", r"Fraction(\1)", text)
