"""Expressions at arrays of points against their evaluation one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from algebra_strategies import SIZES, expressions
from archline.algebra import atoms as a
from archline.algebra.evaluate.compiled import Compiler
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.evaluate.vectors import Column, Vectors, fits_integer_arrays
from archline.algebra.polynomial import ONE, Poly
from archline.expr.intervals import EvaluationError
from effort import drawn

N, M = (Poly.symbol(name) for name in SIZES)
numbers = st.one_of(st.integers(-6, 40), st.integers(-(10**12), 10**12), st.integers(-(2**70), 2**70))


def floors(expression: Poly, rows: Sequence[tuple[int, int]]) -> Column:
    columns = [np.array(each, object) for each in zip(*rows, strict=True)]
    points = dict(zip(SIZES, columns, strict=True))
    return Vectors(points, len(rows)).evaluate_floor(expression)


def agrees(expression: Poly, rows: Sequence[tuple[int, int]]) -> None:
    found = floors(expression, rows)
    missing = [False] * len(rows) if found.missing is None else found.missing.tolist()
    for (n, m), value, none in zip(rows, found.values.tolist(), missing, strict=True):
        try:
            expected = evaluate(expression, {"n": n, "m": m}).__floor__()
        except EvaluationError:
            assert none
        else:
            assert not none
            assert value == expected
            assert type(value) is int


@settings(max_examples=drawn(60))
@given(expressions(SIZES), expressions(SIZES), st.lists(st.tuples(numbers, numbers), min_size=1, max_size=6))
def test_columns_have_the_values_of_expressions(first: Poly, second: Poly, rows: list[tuple[int, int]]) -> None:
    for expression in (first, second, first * second / 3, a.floor_div(first, N), first * a.floor_div(second, M)):
        agrees(expression, rows)


@pytest.mark.parametrize("near", [-1, 0, 1])
@pytest.mark.parametrize(
    ("expression", "edge"),
    [
        (N * N, 3037000499),
        (N * N * N, 2097151),
        (N * N + N * 3, 3037000498),
        (N * (2**62), 1),
        (N * (2**63), 0),
        (N * (2**64) - N * (2**64 - 1), 2**62),
        (N - M, -(2**63) + 5),
        (a.positive_part(N) * a.positive_part(N + 1), 3037000499),
        (a.ceil_log2(N), 2**62),
        (a.ceil_log2(N), 2**63),
        (a.ceil_log2(N), 2**64),
        (a.common_divisor(a.positive_part(N) + 1, M), 2**63),
        (a.floor_div(-N, M), -(2**63)),
        (a.floor_div(N / 7 + M / 3, M / 5 + 2), 2**61),
    ],
    ids=str,
)
def test_nothing_overflows_at_the_edge_of_64_bits(expression: Poly, edge: int, near: int) -> None:
    agrees(expression, [(edge + near, 5), (-edge - near, 5), (0, 5), (1, 5), (edge, 7)])


@pytest.mark.parametrize(
    "expression",
    [
        a.exponential(2, N),
        a.exponential(2, -N) * 8,
        N**-1,
        a.log2(N),
        a.sqrt(N) / 2,
        a.exact_quotient(N, M),
        a.floor_sqrt(N),
        Poly.of_atom(a.Data("d", ONE, None)),
    ],
    ids=str,
)
def test_what_arrays_cannot_do_is_done_one_by_one(expression: Poly) -> None:
    assert not fits_integer_arrays(expression)
    agrees(expression, [(0, 1), (1, 2), (3, 4), (16, 3), (25, 0), (4, 4)])


@pytest.mark.parametrize("power", [a.ceil_log2(N), a.ceil_log2(N * N + 1) * 2 + a.ceil_log2(M) + 3], ids=str)
@pytest.mark.parametrize("base", [2, 3, 7])
def test_powers_of_rounded_logarithms(base: int, power: Poly) -> None:
    expression = a.exponential(base, power) * M - N
    assert fits_integer_arrays(expression)
    agrees(expression, [(0, 1), (1, 2), (3, 4), (16, 3), (25, 0), (2**30, 4), (2**62, 2**61), (-5, -3)])


def test_negative_powers_are_divided_by_at_the_end() -> None:
    rows = [(7, 2), (-7, 2), (10**12 + 1, 3), (2**62, 5), (2**62, -5), (9, 10**6)]
    for expression in (N / 3 + N * M**-1, N**2 * M**-2 - M**-1, M**-1 * a.floor_div(N, M) * 5 + N**3):
        agrees(expression, rows)
        agrees(expression, [*rows, (0, 0), (5, 0), (0, 4)])


def test_a_factor_of_0_rules_out_one_without_a_value() -> None:
    guarded = a.nonnegative_indicator(N - 2) * a.floor_div(M * 3, N)
    agrees(guarded, [(0, 5), (2, 5), (1, 1)])
    agrees(guarded + a.floor_div(M, N), [(0, 5), (2, 5)])
    agrees(a.positive_part(a.floor_div(M, N) - 3) * N, [(0, 5), (2, 50)])


# Compiled expressions against their evaluation one by one


def value(expression: Poly, *numbers: int | Fraction) -> int | Fraction:
    compiler = Compiler(SIZES)
    compute = compiler.compile_expression(expression)
    return compute(compiler.make_environment(numbers))


@given(expressions(SIZES), expressions(SIZES), st.integers(-6, 40), st.integers(1, 40))
def test_compiled_expressions_have_their_values(first: Poly, second: Poly, n: int, m: int) -> None:
    compiler = Compiler(SIZES)
    wanted = [first, second, first * second / 3, second + first]
    computed = [compiler.compile_expression(each) for each in wanted]
    environment = compiler.make_environment((n, m))
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
    assert value(a.floor_sqrt(N), 99, 1) == 9
    assert value(a.exact_quotient(N, M), 7, 2) == Fraction(7, 2)
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
        (Poly.of_atom(a.AppliedFunction("f", (N,))), (1, 1)),
    ],
    ids=str,
)
def test_no_value(expression: Poly, numbers: tuple[int | Fraction, ...]) -> None:
    with pytest.raises(EvaluationError):
        value(expression, *numbers)
    with pytest.raises(EvaluationError):
        evaluate(expression, dict(zip(SIZES, numbers, strict=True)))


def test_a_factor_of_0_rules_out_one_without_a_value_in_compiled() -> None:
    guarded = a.nonnegative_indicator(N - 2) * a.floor_div(M * 3, N)
    assert value(guarded, 0, 5) == 0
    assert value(guarded, 2, 5) == 7
    assert value(M * N**-1, 0, 0) == 0
