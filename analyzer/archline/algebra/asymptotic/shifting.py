"""Differences as sums in what factors exceed their least values: n^2 - n + 1 = x^2 + x + 1 for n = 1 + x.

Where no coefficient of such a sum is negative, the difference is never negative, and it is at least so many times
a term as its coefficients are at least those of the term, written in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import TypeAlias

from archline.algebra.asymptotic import normal_form as e
from archline.algebra.asymptotic.constants import ONE, ZERO, Constant, OutOfReachError
from archline.numbers import fmpq
from archline.records import record

MAX_TERMS = 300

Least: TypeAlias = Callable[[e.Factor], fmpq]
_Shifted: TypeAlias = "dict[frozenset[tuple[e.Factor, int]], fmpq]"


@record(slots=True)
class Shifted:
    """A difference is never negative, and at least `share` times the sum of the terms in `left`."""

    left: tuple[e.Term, ...]
    share: fmpq


def shifted(positive: e.Sum, negative: e.Sum, least: Least) -> Shifted | None:
    """None where a coefficient is negative, or the terms are no polynomial with rational coefficients."""
    try:
        whole = _sum(positive, least, ONE)
        for term, value in _sum(negative, least, -ONE).items():
            whole[term] = whole.get(term, ZERO) + value
        if min(whole.values()) < 0:
            return None
        shares = {term: _share(whole, _sum({term: coefficient}, least, ONE)) for term, coefficient in positive.items()}
    except OutOfReachError:
        return None
    kept = tuple(term for term, share in shares.items() if share > 0)
    # At least each, it is at least the mean.
    amounts = (shares[term] * positive[term].rational for term in kept)
    return Shifted(kept, min(amounts, default=ZERO) / max(1, len(kept)))


def _share(whole: _Shifted, part: _Shifted) -> fmpq:
    """The largest multiple of the part that the whole is at least in every coefficient."""
    return min(whole.get(term, ZERO) / value for term, value in part.items() if value)


def _sum(terms: e.Sum, least: Least, sign: fmpq) -> _Shifted:
    total: _Shifted = {}
    for term, coefficient in terms.items():
        product: _Shifted = {frozenset(): sign * _rational(coefficient)}
        for factor, power in term:
            product = _multiplied(product, factor, _whole(power), least(factor))
        for each, value in product.items():
            total[each] = total.get(each, ZERO) + value
        if len(total) > MAX_TERMS:
            raise OutOfReachError("the expression has too many terms")
    return total


def _multiplied(product: _Shifted, factor: e.Factor, power: int, least: fmpq) -> _Shifted:
    """The product times (least + x)^power."""
    found: _Shifted = {}
    for times in range(power + 1) if least else (power,):
        scale = comb(power, times) * least ** (power - times)
        for term, value in product.items():
            found[term | {(factor, times)} if times else term] = value * scale
    return found


def _rational(value: Constant) -> fmpq:
    if not value.is_rational:
        raise OutOfReachError("a coefficient that is not rational")
    return value.rational


def _whole(power: Constant) -> int:
    value = _rational(power)
    if value.q != 1 or not 0 < value.p <= e.MAX_WHOLE_POWER:
        raise OutOfReachError("a power that is no small natural number")
    return int(value.p)
