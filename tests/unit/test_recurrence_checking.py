"""The last step before an answer: which sizes it follows the recurrence to, and how far a ratio may move there."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from flint import arb, fmpq

from archline.algebra.reals import OutOfReachError
from archline.recurrences.asymptotic import solve as checking
from archline.recurrences.asymptotic.read import parse_recurrence
from archline.recurrences.asymptotic.univariate import ROOTS, SPLITS, STEPS, Found


def found(shrinking: str, gap: float = math.inf, factor: int | None = 2, **more: fmpq) -> Found:
    return Found("", (), shrinking=shrinking, gap=gap, factor=None if factor is None else fmpq(factor), **more)


def level(last: float, answer: Found, scale: float) -> None:
    checking._check_level([9.0, 0.0, last], answer, [(1.0, 0.0), (scale, 0.0), (2 * scale, 0.0)])


@pytest.mark.parametrize(
    ("answer", "scale", "factor"),
    [
        # Twice as much is a logarithm that has doubled, which may be; three times as much is not.
        (found(STEPS), 32, 2.3), (found(SPLITS), 32, 2.3), (found(ROOTS), 256, 2.3), (found(SPLITS, gap=0.5), 32, 2.3),
        # Exponents close to each other: n^0.4 is 2^12.8 at 2^32, n^0.1 is 2^3.2.
        (found(SPLITS, gap=0.4), 32, 4 * 2.3), (found(SPLITS, gap=5 / 32), 32, 4 * 2.3), (found(SPLITS, gap=0.1), 32, 8 * 2.3), (found(STEPS, gap=0.1), 32, 8 * 2.3),
        # mu = log2(n): mu^0.5 is 2^4 at mu = 2^8.
        (found(ROOTS, gap=0.5), 256, 2 * 2.3), (found(ROOTS, gap=5 / 8), 256, 2.3), (found(ROOTS, gap=1), 256, 2.3), (found(SPLITS, factor=None), 32, 2 * 2.3),
        (found(SPLITS, gap=0.4, factor=None), 32, 8 * 2.3), (found(STEPS, factor=None), 32, 2.3), (found(ROOTS, factor=None), 256, 2.3),
    ],
)  # fmt: skip
def test_how_far_a_ratio_may_move(answer: Found, scale: float, factor: float) -> None:
    for sense in (1, -1):
        level(sense * math.log2(factor * 0.97), answer, scale)
        with pytest.raises(OutOfReachError, match="does not agree"):
            level(sense * math.log2(factor * 1.03), answer, scale)


@pytest.mark.parametrize(
    ("points", "rises"),
    [
        ([(1, 1), (2, 2), (3, 4)], True), ([(9, 0), (1, 1), (2, 2), (3, 4)], True), ([(1, 1), (2, 2), (4, 5)], True), ([(1, 1), (2, 2), (3, 3)], False),
        ([(1, 1), (2, 3), (3, 4)], False), ([(1, 3), (2, 2), (3, 4)], False), ([(1, 2), (2, 2), (3, 4)], False), ([(1, 1), (3, 2), (4, 2.4)], False),
    ],
)  # fmt: skip
def test_what_rises_ever_faster(points: list[tuple[float, float]], rises: bool) -> None:
    if rises:
        checking._check_rising(points)
    else:
        with pytest.raises(OutOfReachError):
            checking._check_rising(points)


@pytest.mark.parametrize(
    ("text", "answer", "sizes"),
    [
        ("T(n) = T(n-1)", found(STEPS), [41, 121, 361]), ("T(n) = T(n-1)", found(STEPS, stride=fmpq(1, 2), start=fmpq(3)), [23, 63, 183]),
        ("T(n) = T(n/2)", found(SPLITS), [2**16, 2**32, 2**64]), ("T(n) = T(n/3)", found(SPLITS, factor=3), [3**10, 3**20, 3**40]),
        ("T(n) = T(n/2)", found(SPLITS, start=fmpq(5, 2)), [Fraction(5, 2) * 2**each for each in (16, 32, 64)]),
        # log(2)/log(3) is irrational: about 40.4 times 109.4, halved, would be the sizes for 64 bits, and 552 are for 32.
        ("T(n) = T(n/3) + T(2*n/3)", found(SPLITS, factor=None), [2**8, 2**16, 2**32]), ("T(n) = T(n/3)", found(SPLITS, factor=None), [2**16, 2**32, 2**64]),
        ("T(n) = T(sqrt(n))", found(ROOTS), [2**16, 2**256, 2**2048]), ("T(n) = T(sqrt(n))", found(ROOTS, start=fmpq(3)), [3**16, 3**256, 3**2048]),
        ("T(n) = T(n^(1/3))", found(ROOTS, factor=3), [2**27, 2**243, 2**2187]),
    ],
)  # fmt: skip
def test_sizes_that_are_tried(text: str, answer: Found, sizes: list[int]) -> None:
    assert checking._sizes(parse_recurrence(text), answer) == sizes


def test_shares_of_calls() -> None:
    problem = parse_recurrence("T(n) = T(n/3) + 2*T(2*n/3) + T(n/3 - 1) + n")
    assert checking._shares(problem) == [pytest.approx(math.log2(1.5)), pytest.approx(math.log2(3))]
    assert checking._shares(parse_recurrence("A(n) = A(n/4) + B(n/8); B(n) = B(n)")) == [2, 3]
    assert checking._shares(parse_recurrence("T(n) = T(2*n) + T(n - 1) + T(log2(n - 2^41))")) == []


def test_symbols_have_values() -> None:
    problem = parse_recurrence("A(n) = A(n/2) + P*n + B(n)/L; B(m) = m*pi + Q + d, A(1) = c")
    assert checking.symbols_of(problem) == {"L": 3, "P": 17, "Q": 101, "c": 3, "d": 17}


def test_equal_numbers() -> None:
    third = arb(1) / 3
    assert checking._equal(fmpq(1, 3), fmpq(1, 3))
    assert not checking._equal(fmpq(1, 3), fmpq(1, 3) + fmpq(1, 10**30))
    assert checking._equal(third, arb(fmpq(1, 3)))
    assert checking._equal(third, third * (1 + arb(2) ** -40))
    assert not checking._equal(third, third * (1 + arb(2) ** -25))
    assert not checking._equal(third, -third)
    assert not checking._equal(-third, -third * (1 + arb(2) ** -25))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("T(n) = T(n-1) - 1, T(0) = 1", "not positive"),
        ("T(n) = 2*T(n) + 1", "could not be followed"),
        ("T(n) = T(n-1) + log2(n - 99), T(0) = 1", "no value"),
    ],
)
def test_what_cannot_be_followed(text: str, reason: str) -> None:
    with pytest.raises(OutOfReachError, match=reason):
        checking.followed(parse_recurrence(text), [8], {})


def test_values_are_followed() -> None:
    assert checking.followed(parse_recurrence("T(n) = 2*T(n/2), T(1) = 1"), [8, 1 << 40], {}) == [3, pytest.approx(40)]
    # Beyond floats.
    assert checking.followed(parse_recurrence("T(n) = 2*T(n-1), T(0) = 1"), [5000], {}) == [pytest.approx(5000)]
