"""Shorter forms with ceil(log2(x)): in place of 2^floor(log2(x)) where that tells powers of 2; of n in place of n/2."""

from __future__ import annotations

from math import lcm

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly


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
            wanted = half.is_constant and half.constant_term * 2 >= least
            wanted = wanted and value == half * (Poly.of_atom(power) - size.scaled(2)) + least
            if wanted and facts.integral(size) and facts.positive(size):
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
