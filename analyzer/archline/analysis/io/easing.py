"""Bounds on io without floors, for growth: floor(e/L) is at most e/L, and no less than its constant."""

from __future__ import annotations

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly


def eased(value: Poly, facts: Facts) -> Poly:
    """At least the value, whose other factors are never negative, and of the same growth where sizes are large."""
    total = ZERO
    for monomial, coefficient in facts.simplify(value).terms.items():
        total = total + _term(monomial, coefficient, facts)
    return total


def _term(monomial: Monomial, coefficient: fmpq, facts: Facts) -> Poly:
    floors = [(atom, power) for atom, power in monomial if isinstance(atom, a.Floor)]
    rest = Poly({tuple(pair for pair in monomial if not isinstance(pair[0], a.Floor)): abs(coefficient)})
    if not floors:
        return rest if coefficient > 0 else -rest
    if coefficient < 0 and all(facts.nonnegative(Poly.of_atom(atom)) for atom, _ in monomial):
        return ZERO
    ends = [_ends(atom) for atom, _ in floors]
    if len(floors) == 1 and floors[0][1] == 1:
        high, low = ends[0]
        return rest * (high if coefficient > 0 else low)
    for (high, low), (_, power) in zip(ends, floors, strict=True):
        rest = rest * (high + low) ** power
    return rest


def _ends(atom: a.Floor) -> tuple[Poly, Poly]:
    """What a floor is at most, and what its negative is at most, for arguments with sizes of 0 at least."""
    positive, negative = ZERO, ZERO
    for monomial, coefficient in atom.argument.terms.items():
        term = Poly({monomial: abs(coefficient)})
        if coefficient > 0:
            positive = positive + term
        else:
            negative = negative + term
    return positive * _over(atom.modulus), negative


def _over(modulus: Poly) -> Poly:
    return modulus**-1 if len(modulus.terms) == 1 else Poly.of_atom(_quotient(modulus))


def _quotient(modulus: Poly) -> Atom:
    return a.Quotient(ONE, modulus)
