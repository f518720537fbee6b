"""Real logarithms to base 2, by rational numbers on either side, and how much they fall at the sizes of calls."""

from __future__ import annotations

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove.residues import never_negative
from archline.numbers import fmpq

MOST = 32
"""The largest denominator."""
SHARES = tuple(
    fmpq(part, whole)
    for part, whole in (
        *((1, 16), (1, 8), (1, 4), (1, 3), (2, 5), (1, 2), (3, 5), (2, 3), (3, 4)),
        *((4, 5), (5, 6), (7, 8), (9, 10), (15, 16), (31, 32), (1, 1)),
    )
)


def below(number: fmpq) -> fmpq:
    """The greatest fraction with a small denominator that is at most log2(number), for a number >= 1."""
    # 2^p <= x^q just if 2^p is at most the integer part of x^q.
    tried = (fmpq(int((number**q).floor()).bit_length() - 1, q) for q in range(1, MOST + 1))
    return max(tried)


def above(number: fmpq) -> fmpq:
    """The least fraction with a small denominator that is at least log2(number), for a number >= 1."""
    tried = (fmpq((int((number**q).ceil()) - 1).bit_length(), q) for q in range(1, MOST + 1))
    return min(tried)


def least_fall(whole: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """What log2(whole) - log2(part) is proved to be at least, of two values above 0; None where it may be below 0."""
    share = next((each for each in SHARES if never_negative(whole.scaled(each) - part, facts)), None)
    return None if share is None else below(1 / share)


def most_fall(whole: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """What it is proved to be at most."""
    share = next((each for each in reversed(SHARES) if never_negative(part - whole.scaled(each), facts)), None)
    return None if share is None else above(1 / share)
