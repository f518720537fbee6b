"""Amounts over real sizes: without rounding."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Poly
from archline.numbers import fmpq

HALF = fmpq(1, 2)


def real(value: Poly) -> Poly:
    """A value without rounding, and no less beyond: n//2 and n - n//2 are n/2, max(0, n - 1) is n."""

    def unrounded(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant:
                return real(atom.argument).scaled(1 / atom.modulus.constant_term)
            case a.Quotient(argument=argument, divisor=divisor) if len(real(divisor).terms) == 1:
                return real(argument) * real(divisor) ** -1
            case a.Exponential(base=2, exponent=exponent):
                return _power_of_two(real(exponent))
            case a.PositivePart(argument=argument):
                terms = real(argument).terms
                return Poly({term: share for term, share in terms.items() if term and share > 0})
            case _:
                return None

    return value.map_atoms(unrounded)


def beyond(value: Poly) -> Poly:
    """No less, without rounding: what is subtracted may be rounded down, and is left away first."""
    added = value.positive_terms()

    def unrounded(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant or len(atom.modulus.terms) == 1:
                return beyond(atom.argument) * atom.modulus**-1
            case a.Quotient(argument=argument, divisor=divisor) if len(real(divisor).terms) == 1:
                return beyond(argument) * real(divisor) ** -1
            case a.PositivePart(argument=argument):
                return beyond(argument)
            case _:
                return None

    return real(added.map_atoms(unrounded))


def _power_of_two(exponent: Poly) -> Poly | None:
    """sqrt(w) for 2^(log2(w)/2)."""
    match list(exponent.terms.items()):
        case [(((a.RealFunction(function="log2", argument=argument), 1),), share)] if share == HALF:
            return a.sqrt(argument)
        case _:
            return None
