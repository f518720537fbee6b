"""Divides polynomials exactly, and factors counts that are products of extents, such as 2*k*(n - k + 1)."""

from __future__ import annotations

from functools import lru_cache

from archline.algebra.polynomial import ONE, ZERO, Monomial, Poly, Symbol, sum_polynomials
from archline.numbers import fmpq, fmpq_mpoly_ctx

MAX_TERMS = 64
MAX_STEPS_PER_TERM = 4
"""Steps of a division for each term of the dividend."""


@lru_cache(maxsize=1024)
def factor_into_extents(value: Poly) -> tuple[fmpq, tuple[tuple[Poly, int], ...]] | None:
    """Factor a polynomial into a number and powers, if all factors are of degree 1 and at least one is a difference.

    A difference has several sizes and a term that is subtracted; products without one are easier to read as sums. None
    if it has other factors or only one, or too many terms.
    """
    names, terms = sorted(value.names), value.terms
    if len(names) < 2 or not 2 < len(terms) <= MAX_TERMS or min(terms.values()) > 0:
        return None
    if not all(isinstance(atom, Symbol) and power > 0 for monomial in terms for atom, power in monomial):
        return None
    powers = [(coefficient, {atom.key: power for atom, power in monomial}) for monomial, coefficient in terms.items()]
    rows = {tuple(exponents.get(name, 0) for name in names): coefficient for coefficient, exponents in powers}
    number, parts = fmpq_mpoly_ctx.get(names, "lex").from_dict(rows).factor()
    factors: list[tuple[Poly, int]] = []
    for part, power in parts:
        linear = part.to_dict()
        if part.total_degree() > 1:
            return None
        extent = sum_polynomials(
            (Poly.symbol(names[row.index(1)]) if 1 in row else ONE).scaled(c) for row, c in linear.items()
        )
        # The sign is chosen so that most terms are positive.
        sign = -1 if 2 * sum(c < 0 for c in linear.values()) > len(linear) else 1
        scale = sign * min(map(abs, linear.values()))
        number *= scale**power
        factors.append((extent / scale, power))
    differs = any(len(extent.names) > 1 and min(extent.terms.values()) < 0 for extent, _ in factors)
    return (number, tuple(factors)) if differs and number > 0 and sum(power for _, power in factors) > 1 else None


def divide_exactly(value: Poly, divisor: Poly) -> Poly | None:
    """Return value / divisor if the polynomial division leaves no remainder, else None."""
    if not divisor:
        raise ZeroDivisionError
    lead = max(divisor.terms, key=_reversed_monomial_key)
    powers = dict(lead)
    whole = ZERO
    for _ in range(len(value.terms) * MAX_STEPS_PER_TERM):
        if not value:
            return whole
        monomial = max(value.terms, key=_reversed_monomial_key)
        have = dict(monomial)
        if any(have.get(atom, 0) < power for atom, power in powers.items()):
            return None
        left = tuple((atom, power - powers.get(atom, 0)) for atom, power in monomial if power > powers.get(atom, 0))
        step = Poly({left: value.terms[monomial] / divisor.terms[lead]})
        whole = whole + step
        value = value - step * divisor
    return None


def divide_terms(value: Poly, divisor: Poly, exact: bool = False) -> tuple[Poly, Poly] | None:
    """Split value = whole*divisor + rest, where `whole` has integer coefficients, or return None.

    If the division is `exact`, coefficients may be fractions, and exponents negative. None if the divisor is 0, or a
    sum that does not divide the value.
    """
    if not divisor:
        return None
    if len(divisor.terms) != 1:
        quotient_ = divide_exactly(value, divisor)
        return None if quotient_ is None else (quotient_, ZERO)
    ((factor, scale),) = divisor.terms.items()
    whole: dict[Monomial, fmpq] = {}
    rest: dict[Monomial, fmpq] = {}
    for monomial, coefficient in value.terms.items():
        left = _monomial_quotient(monomial, factor, exact)
        if left is not None and (exact or (coefficient / scale).q == 1):
            whole[left] = coefficient / scale
        else:
            rest[monomial] = coefficient
    return Poly(whole), Poly(rest)


def _monomial_quotient(monomial: Monomial, factor: Monomial, exact: bool) -> Monomial | None:
    """Return the quotient of monomials, or None; if `exact`, powers such as 2^d may be in the denominator."""
    powers = dict(monomial)
    for atom, power in factor:
        powers[atom] = powers.get(atom, 0) - power
        if powers[atom] < 0 and not (exact and atom.divides):
            return None
    return tuple(sorted(((atom, power) for atom, power in powers.items() if power), key=lambda pair: pair[0].key))


def _reversed_monomial_key(monomial: Monomial) -> tuple[tuple[str, int], ...]:
    """Return the key of a monomial order that products preserve: by the power of the last atom, then the one before."""
    return monomial_key(monomial[::-1])


def monomial_key(monomial: Monomial) -> tuple[tuple[str, int], ...]:
    """Return a sort key of monomials by their atoms, first atom first."""
    return tuple((atom.key, power) for atom, power in monomial)
