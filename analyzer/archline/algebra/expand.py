"""Exact quotients as fractions, and logarithms of products as sums: 7^log2(x*y) is the product of two powers then."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.polynomial import ZERO, Atom, Poly
from archline.numbers import fmpq


def expanded(value: Poly) -> Poly:
    """The value with log2(x) + log2(y) for log2(x*y), of factors that are positive, and fractions for quotients."""

    def rewritten(atom: Atom) -> Poly | None:
        match atom:
            case a.RealFunction(function="log2", argument=argument) if len(argument.terms) == 1:
                ((monomial, coefficient),) = argument.terms.items()
                if not monomial:
                    return None
                return sum((_log2_of_atom(inner).scaled(power) for inner, power in monomial), log2(coefficient))
            case a.Quotient(argument=argument, divisor=divisor) if len(divisor.terms) == 1:
                return expanded(argument) * expanded(divisor) ** -1
            case _:
                return None

    return value.map_within(rewritten) if any(map(_expands, value.atoms_within())) else value


def as_fractions(value: Poly) -> Poly:
    """With fractions in place of exact quotients by one term: (m/h)*n is m*n/h."""

    def fraction(atom: Atom) -> Poly | None:
        parts = tuple(map(as_fractions, atom.parts))
        if isinstance(atom, a.Quotient) and len(parts[1].terms) == 1:
            return parts[0] * parts[1] ** -1
        return None if parts == atom.parts else atom.rebuild(parts)

    return value.map_atoms(fraction)


def log2(number: fmpq) -> Poly:
    """The logarithm of a positive number, that of its denominator taken from that of its numerator."""
    above, below = (a.log2(Poly.constant(fmpq(part))) if part != 1 else ZERO for part in (number.p, number.q))
    return above - below


def _expands(atom: Atom) -> bool:
    """Whether it is a quotient, or a logarithm of a product."""
    match atom:
        case a.Quotient():
            return True
        case a.RealFunction(function="log2", argument=argument):
            return len(argument.terms) == 1 and a.symbol_of(argument) is None and not argument.is_constant
        case _:
            return False


def _log2_of_atom(atom: Atom) -> Poly:
    if isinstance(atom, a.Exponential):
        return expanded(atom.exponent) * a.log2(Poly.constant(fmpq(atom.base)))
    return a.log2(Poly.of_atom(atom))
