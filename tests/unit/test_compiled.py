"""Compiled expressions against their evaluation one by one."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra_strategies import SIZES, expressions
from archline.algebra import atoms as a
from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ONE, Poly
from archline.expr.intervals import EvaluationError

N, M = (Poly.symbol(name) for name in SIZES)


def value(expression: Poly, *numbers: int | Fraction) -> int | Fraction:
    compiler = Compiler(SIZES)
    compute = compiler.of(expression)
    return compute(compiler.environment(numbers))


@given(expressions(SIZES), expressions(SIZES), st.integers(-6, 40), st.integers(1, 40))
def test_compiled_expressions_have_their_values(first: Poly, second: Poly, n: int, m: int) -> None:
    compiler = Compiler(SIZES)
    wanted = [first, second, first * second / 3, second + first]
    computed = [compiler.of(each) for each in wanted]
    environment = compiler.environment((n, m))
    for expression, compute in zip(wanted, computed, strict=True):
        try:
            expected = evaluate(expression, {"n": n, "m": m})
        except EvaluationError:
            with pytest.raises(EvaluationError):
                compute(environment)
        else:
            assert compute(environment) == expected


def test_fractions_powers_roots_and_logarithms() -> None:
    assert value(a.exponential(2, N) / 3, 5, 1) == Fraction(32, 3)
    assert value(a.exponential(2, -N), 3, 1) == Fraction(1, 8)
    assert value(N**-2 * M, 3, 18) == 2
    assert value(a.log2(N) + a.sqrt(M), 64, 49) == 13
    assert value(a.isqrt_of(N), 99, 1) == 9
    assert value(a.quotient(N, M), 7, 2) == Fraction(7, 2)
    assert value(a.common_divisor(N * 2, M), 6, 8) == 4
    assert value(a.ceil_log2(N), 0, 1) == 0
    assert value(a.ceil_log2(N), Fraction(17, 4), 1) == 3
    assert value(a.floor_div(N, M), Fraction(15, 2), 2) == 3


@pytest.mark.parametrize(
    ("expression", "numbers"),
    [
        (a.floor_div(N, M), (1, 0)),
        (N**-1, (0, 1)),
        (a.log2(N), (3, 1)),
        (Poly.symbol("k"), (1, 1)),
        (a.exponential(2, N), (Fraction(1, 2), 1)),
        (a.exponential(3, N), (10**7, 1)),
        (Poly.of_atom(a.Data("d", ONE, None)), (1, 1)),
        (Poly.of_atom(a.Applied("f", (N,))), (1, 1)),
    ],
    ids=str,
)
def test_no_value(expression: Poly, numbers: tuple[int | Fraction, ...]) -> None:
    with pytest.raises(EvaluationError):
        value(expression, *numbers)
    with pytest.raises(EvaluationError):
        evaluate(expression, dict(zip(SIZES, numbers, strict=True)))


def test_a_factor_of_0_rules_out_one_without_a_value() -> None:
    guarded = a.at_least_zero(N - 2) * a.floor_div(M * 3, N)
    assert value(guarded, 0, 5) == 0
    assert value(guarded, 2, 5) == 7
    assert value(M * N**-1, 0, 0) == 0
