"""Exact quotients as fractions, and logarithms of products as sums: 7^log2(x*y) is the product of two powers then."""

from __future__ import annotations

from math import lcm

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
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


def without_powers(value: Poly, facts: Facts) -> Poly:
    """The value with ceil(log2(x + 1)) - ceil(log2(x)), 1 at powers of 2 and 0 elsewhere, in place of maxima.

    For an integer x >= 1 and 0 < c <= d, max(0, c - d*(x - 2^floor(log2(x)))) is c at powers of 2, else 0.
    """

    def by_logarithms(atom: Atom) -> Poly | None:
        if isinstance(atom, a.PositivePart):
            for argument, more in ((atom.argument, ZERO), (-atom.argument, atom.argument)):
                found = _at_powers(argument, facts)
                if found is not None:
                    return found + more
        return None

    found = value.map_within(by_logarithms)
    return found if found is value else facts.simplify(found)


def _at_powers(value: Poly, facts: Facts) -> Poly | None:
    least = value.constant_term
    for power in value.atoms() if least > 0 else ():
        level = a.single_atom(power.exponent) if isinstance(power, a.Exponential) and power.base == 2 else None
        if isinstance(level, a.CeilLog2):
            size, half = level.argument - 1, value.coefficients(power).get(1, ZERO)
            fits = half.is_constant and half.constant_term * 2 >= least
            fits = fits and value == half * (Poly.of_atom(power) - size.scaled(2)) + least
            if fits and facts.integral(size) and facts.positive(size):
                return (Poly.of_atom(level) - a.ceil_log2(size)).scaled(least)
    return None


def without_halves(value: Poly, facts: Facts) -> Poly:
    """The value with ceil(log2(n)) - 1 for ceil(log2(n/2)), where n >= 2."""

    def doubled(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.CeilLog2):
            return None
        common = lcm(*(int(each.q) for each in atom.argument.terms.values()))
        if common == 1 or common.bit_count() > 1 or not facts.positive(atom.argument.substitute(facts.rewrites)):
            return None
        return a.ceil_log2(atom.argument.scaled(common)) - (common.bit_length() - 1)

    return value.map_within(doubled)
