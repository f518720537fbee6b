"""The parts of the solver of recurrences in one size: exponents and sums of terms, from what mathematics says of them."""

from __future__ import annotations

import re

import pytest
import sympy
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from archline.algebra.recurrences import exponents, multi_numbers
from archline.algebra.recurrences.reading_terms import TermReader
from archline.algebra.recurrences.sequences import Piece, fibonacci, solve_sequence
from archline.algebra.recurrences.splits import integrated
from archline.algebra.recurrences.terms import Term, nonnegative_from
from archline.language.parser import parse_expression


def terms(text: str) -> tuple[Term, ...]:
    return TermReader("n").read(parse_expression(text))


# Exponents.
def test_tables_of_primes() -> None:
    assert tuple(sympy.primerange(3, 100)) == multi_numbers.PRIMES
    assert tuple(sympy.primerange(2, 62)) == exponents._PRIMES


@pytest.mark.parametrize("root", [fmpq(2), fmpq(6), fmpq(3, 2), fmpq(12, 5), fmpq(10**9 + 7)])
@pytest.mark.parametrize("power", [1, 2, 3, 5, 12, 17, 31])
def test_primitive_roots(root: fmpq, power: int) -> None:
    assert exponents.primitive(root**power) == (root, power)
    assert exponents.primitive(1 / root**power) == (root, -power)


# Sums of terms.
@pytest.mark.parametrize(
    ("text", "least", "known"),
    [
        ("n - 4", 4, True),
        ("n - 4", 3, False),
        ("n^2 + n - 5*n", 4, True),
        ("n^2 + n - 5*n", 3, False),
        ("n - n", 1, True),
        ("n + 1 - 3", 2, True),
        ("n - n^2", 1, False),
        # log2(2 + n) is 2 at n = 2, log2(3) = 1.58 at 1, and log2(2 + log2(2 + n)) is 2 at 2.
        ("10*n*log2(n) - 19*n", 2, True),
        ("10*n*log2(n) - 21*n", 2, False),
        ("10*n*log2(log2(n)) - 19*n", 2, True),
        ("10*n*log2(log2(n)) - 21*n", 2, False),
        ("10*n^2*log2(n) - 39*n", 2, True),
        ("10*n^2*log2(n) - 41*n", 2, False),
        ("n - log2(n)", 1, False),
        # One share of n for each of the two.
        ("2*n - 3 - 1/n", 2, True),
        ("2*n - 3 - 9*n^(1/2)", 2, False),
        ("n*P - P", 1, True),
        ("n*P - n", 1, False),
    ],
)
def test_sums_that_are_never_negative(text: str, least: int, known: bool) -> None:
    assert nonnegative_from(terms(text), fmpq(least)) is known


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("log2(n)", True),
        ("log2(log2(n))", True),
        ("log2(P)", True),
        # log2(2 + n^2) is not 2*log2(2 + n), though it grows alike.
        ("log2(n^2)", False),
        ("log2(2*n)", False),
        ("log2(n + 1)", False),
        ("log2(n*log2(n))", False),
        ("log2(log2(n)^2)", False),
        ("log2(2*log2(n))", False),
        ("log2(P^2)", False),
        ("log2(2*P)", False),
        ("log(n)", False),
    ],
)
def test_logarithms_that_are_terms(text: str, exact: bool) -> None:
    (term,) = terms(text)
    assert term.exact is exact


# Exponents written out, and their values.
RATIOS = st.builds(exponents.log_ratio, st.sampled_from([fmpq(3), fmpq(9), fmpq(8, 27), fmpq(5, 2), fmpq(1), fmpq(4)]),
                   st.sampled_from([fmpq(2), fmpq(4), fmpq(1, 8), fmpq(3), fmpq(9, 4)]))  # fmt: skip
RATIONALS = st.fractions(-4, 4, max_denominator=70).map(lambda each: fmpq(each.numerator, each.denominator))


def valued(text: str) -> mpf:
    """What an exponent's text means."""
    return eval(re.sub(r"\b(\d+)", r"mpf(\1)", text), {"mpf": mpf, "log2": lambda x: mp.log(x, 2)})


@given(RATIOS, RATIONALS, RATIONALS)
def test_exponents_are_written_as_what_they_are(ratio: exponents.Exponent, factor: fmpq, added: fmpq) -> None:
    found = ratio.times(factor).plus(exponents.rational(added))
    expected = mpf(ratio.ball().mid().str(15, radius=False)) * int(factor.p) / int(factor.q) + mpf(int(added.p)) / int(
        added.q
    )
    assert abs(valued(found.text()) - expected) < 1e-9
    assert found.is_zero == (abs(expected) < 1e-9)
    sign = exponents.compare(found, exponents.ZERO)
    assert sign == 0 if found.is_zero else sign == (1 if expected > 0 else -1)
    assert exponents.compare(exponents.ZERO, found) == -sign


@pytest.mark.parametrize(
    ("of", "to", "value"),
    [
        (fmpq(8), fmpq(2), fmpq(3)), (fmpq(8), fmpq(4), fmpq(3, 2)), (fmpq(1, 9), fmpq(3), fmpq(-2)),
        (fmpq(9), fmpq(1, 3), fmpq(-2)), (fmpq(8, 27), fmpq(9, 4), fmpq(-3, 2)), (fmpq(1), fmpq(7), fmpq(0)),
    ],
)  # fmt: skip
def test_logarithms_that_are_rational(of: fmpq, to: fmpq, value: fmpq) -> None:
    assert exponents.log_ratio(of, to) == exponents.rational(value)


# Sequences.
SMALL = st.integers(-3, 3).map(fmpq)


@settings(max_examples=150)
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


def at(piece: Piece, k: int) -> fmpq:
    base = fmpq(fibonacci(k + piece.shift)) if piece.ratio is None else fmpq(k) ** piece.power * piece.ratio**k
    return piece.coefficient * base


def test_sequences_that_are_known() -> None:
    one, two = fmpq(1), fmpq(2)
    # 2^k - 1; and no rational roots in x^2 - 2*x - 2 and x^2 - x - 3.
    assert set(solve_sequence([(two, 1)], lambda _: fmpq(0), {one: [one]}) or ()) == {
        Piece(one, 0, two),
        Piece(-one, 0, one),
    }
    assert solve_sequence([(two, 1), (two, 2)], lambda _: one, {}) is None
    assert solve_sequence([(one, 1), (fmpq(3), 2)], lambda _: one, {}) is None
    # 1, 2, 3, 5, ... in one piece; and Fibonacci's numbers backwards.
    assert solve_sequence([(one, 1), (one, 2)], lambda _: one, {}) == (Piece(one, 0, None, 2),)
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
