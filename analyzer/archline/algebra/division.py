"""Division of polynomials that leaves no remainder."""

from __future__ import annotations

from archline.algebra.polynomial import ZERO, Monomial, Poly

MAX_DIVISION = 4
"""Steps of a division for each term of what is divided."""


def divide_exactly(value: Poly, divisor: Poly) -> Poly | None:
    """Value / divisor where the division of polynomials leaves no remainder, else None."""
    lead = max(divisor.terms, key=_rank)
    powers = dict(lead)
    whole = ZERO
    for _ in range(len(value.terms) * MAX_DIVISION):
        if not value:
            return whole
        monomial = max(value.terms, key=_rank)
        have = dict(monomial)
        if any(have.get(atom, 0) < power for atom, power in powers.items()):
            return None
        left = tuple((atom, power - powers.get(atom, 0)) for atom, power in monomial if power > powers.get(atom, 0))
        step = Poly({left: value.terms[monomial] / divisor.terms[lead]})
        whole = whole + step
        value = value - step * divisor
    return None


def _rank(monomial: Monomial) -> tuple[tuple[str, int], ...]:
    """An order of monomials that products keep: by the power of the last atom, then of the one before it."""
    return monomial_key(monomial[::-1])


def monomial_key(monomial: Monomial) -> tuple[tuple[str, int], ...]:
    """An order of monomials by their atoms, the first one first."""
    return tuple((atom.key, power) for atom, power in monomial)
