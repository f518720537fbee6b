"""Sums of powers, k^0 + ... + k^p over a range, as polynomials in its ends."""

from __future__ import annotations

from functools import cache
from math import comb

from archline.algebra.effort import TooComplexError
from archline.algebra.polynomial import ONE, ZERO, Poly, Symbol
from archline.numbers import fmpq

MAX_DEGREE = 48


@cache
def _faulhaber(power: int) -> tuple[fmpq, ...]:
    """Coefficients of S(x) = sum of k^power for 0 <= k < x, from the constant up."""
    if power > MAX_DEGREE:
        raise TooComplexError(f"a sum of a degree above {MAX_DEGREE}")
    # (x+1)^(p+1) - x^(p+1) = sum over j <= p of C(p+1, j) x^j, summed over x and solved for S_p.
    result = [fmpq(0)] * (power + 2)
    result[power + 1] = fmpq(1)
    for lower in range(power):
        for exponent, coefficient in enumerate(_faulhaber(lower)):
            result[exponent] -= comb(power + 1, lower) * coefficient
    return tuple(coefficient / (power + 1) for coefficient in result)


def antidifference(value: Poly, variable: str, at: Poly) -> Poly:
    """F(at) where F(x) is the sum of the polynomial `value` over 0 <= variable < x, extended to every x."""
    if not at:
        return ZERO
    result = ZERO
    powers = [ONE]
    for exponent, coefficient in sorted(value.coefficients(Symbol(variable)).items()):
        if exponent < 0:
            raise TooComplexError("a sum of reciprocals")
        closed = ZERO
        for degree, factor in enumerate(_faulhaber(exponent)):
            while len(powers) <= degree:
                powers.append(powers[-1] * at)
            if factor:
                closed = closed + powers[degree].scaled(factor)
        result = result + coefficient * closed
    return result
