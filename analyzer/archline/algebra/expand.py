"""Writes exact quotients as fractions, logarithms of products as sums, and maxima at powers of 2 as logarithms."""

from __future__ import annotations

from math import lcm

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly
from archline.numbers import fmpq


def expand_logarithms(value: Poly) -> Poly:
    """Write log2(x*y) as log2(x) + log2(y) for x, y > 0, so 7^log2(x*y) is a product, and quotients as fractions."""

    def expand_atom(atom: Atom) -> Poly | None:
        match atom:
            case a.RealFunction(function="log2", argument=argument) if len(argument.terms) == 1:
                ((monomial, coefficient),) = argument.terms.items()
                if not monomial:
                    return None
                return sum(
                    (_log2_of_atom(inner).scaled(power) for inner, power in monomial), log2_of_number(coefficient)
                )
            case a.Quotient(argument=argument, divisor=divisor) if len(divisor.terms) == 1:
                return expand_logarithms(argument) * expand_logarithms(divisor) ** -1
            case _:
                return None

    return value.map_within(expand_atom) if any(map(_can_expand_atom, value.atoms_within())) else value


def write_quotients_as_fractions(value: Poly) -> Poly:
    """Write fractions for exact quotients by one term: (m/h)*n -> m*n/h."""

    def without_quotient(atom: Atom) -> Poly | None:
        parts = tuple(map(write_quotients_as_fractions, atom.parts))
        if isinstance(atom, a.Quotient) and len(parts[1].terms) == 1:
            return parts[0] * parts[1] ** -1
        return None if parts == atom.parts else atom.rebuild(parts)

    return value.map_atoms(without_quotient)


def log2_of_number(number: fmpq) -> Poly:
    """Return the logarithm of a positive rational: that of its numerator less that of its denominator."""
    above, below = (a.log2(Poly.constant(fmpq(part))) if part != 1 else ZERO for part in (number.p, number.q))
    return above - below


def _can_expand_atom(atom: Atom) -> bool:
    match atom:
        case a.Quotient():
            return True
        case a.RealFunction(function="log2", argument=argument):
            return len(argument.terms) == 1 and a.find_single_symbol_name(argument) is None and not argument.is_constant
        case _:
            return False


def _log2_of_atom(atom: Atom) -> Poly:
    if isinstance(atom, a.Exponential):
        return expand_logarithms(atom.exponent) * a.log2(Poly.constant(fmpq(atom.base)))
    return a.log2(Poly.of_atom(atom))


def rewrite_maxima_at_powers(value: Poly, facts: Facts) -> Poly:
    """Replace maxima that are nonzero only at powers of 2 by ceil(log2(x + 1)) - ceil(log2(x)), 1 there, 0 elsewhere.

    For an integer x >= 1 and 0 < c <= d, max(0, c - d*(x - 2^floor(log2(x)))) is c at powers of 2, else 0.
    """

    def by_logarithms(atom: Atom) -> Poly | None:
        if isinstance(atom, a.PositivePart):
            for argument, more in ((atom.argument, ZERO), (-atom.argument, atom.argument)):
                replacement = _match_step_at_powers(argument, facts)
                if replacement is not None:
                    return replacement + more
        return None

    rewritten = value.map_within(by_logarithms)
    return rewritten if rewritten is value else facts.simplify(rewritten)


def _match_step_at_powers(value: Poly, facts: Facts) -> Poly | None:
    """Return c*(ceil(log2(x + 1)) - ceil(log2(x))) if it equals max(0, value), for c the constant term of the value.

    None if `value` is not a linear form in 2^ceil(log2(x + 1)) and x for which that holds.
    """
    constant = value.constant_term
    for power in value.atoms() if constant > 0 else ():
        level = a.find_single_atom(power.exponent) if isinstance(power, a.Exponential) and power.base == 2 else None
        if isinstance(level, a.CeilLog2):
            size, half = level.argument - 1, value.coefficients(power).get(1, ZERO)
            fits = half.is_constant and half.constant_term * 2 >= constant
            fits = fits and value == half * (Poly.of_atom(power) - size.scaled(2)) + constant
            if fits and facts.integral(size) and facts.positive(size):
                return (Poly.of_atom(level) - a.ceil_log2(size)).scaled(constant)
    return None


def extract_halvings(value: Poly, facts: Facts) -> Poly:
    """Write ceil(log2(n/2)) as ceil(log2(n)) - 1 where n >= 2."""

    def without_half(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.CeilLog2):
            return None
        common = lcm(*(int(coefficient.q) for coefficient in atom.argument.terms.values()))
        if common == 1 or common.bit_count() > 1 or not facts.positive(atom.argument.substitute(facts.rewrites)):
            return None
        return a.ceil_log2(atom.argument.scaled(common)) - (common.bit_length() - 1)

    return value.map_within(without_half)
