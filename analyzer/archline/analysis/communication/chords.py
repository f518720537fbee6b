"""How many of the numbers below P have a bit set: P//(2*d)*d + max(0, P%(2*d) - d) of them have that of d = 2^s.

That has no sum over s in closed form, but lies between (P - d)/2 and P/2: max(0, r - c), of a remainder 0 <= r < m, is
convex in r, so below the chord (1 - c/m)*r from r = 0 to r = m, and above the line (1 - c/m)*(r - c).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly

Kind = TypeVar("Kind")


def raised(value: Poly, facts: Facts, kind: type[Kind], bound: Callable[[Kind, bool], Poly | None]) -> Poly:
    """An upper bound of a value, with bounds in place of atoms of a kind by which it is known to rise, or to fall.

    `bound(atom, upper)` is an upper or a lower bound of an atom.
    """

    def found(atom: Atom) -> Poly | None:
        if not isinstance(atom, kind):
            return None
        parts = value.coefficients(atom)
        rises = facts.nonnegative(parts.get(1, ZERO))
        if set(parts) - {0, 1} or not (rises or facts.nonnegative(-parts[1])):
            return None
        return bound(atom, rises)

    return value.map_atoms(found)


def above_remainders(value: Poly, facts: Facts) -> Poly:
    """An upper bound of a value, in which chords stand for maxima of remainders."""

    def chord(atom: a.PositivePart, upper: bool) -> Poly | None:
        found = _chord(atom.argument, facts)
        return None if found is None else found[0 if upper else 1]

    return facts.simplify(raised(value, facts, a.PositivePart, chord))


def _chord(argument: Poly, facts: Facts) -> tuple[Poly, Poly] | None:
    """An upper and a lower bound of max(0, k*r - c), or max(0, c - k*r), of a remainder r by m; k > 0, 0 < c < k*m."""
    for floor in argument.atoms():
        if not isinstance(floor, a.Floor) or len(floor.modulus.terms) != 1:
            continue
        parts = argument.coefficients(floor)
        if set(parts) - {0, 1} or len(parts[1].terms) != 1:
            continue
        times = -parts[1] * floor.modulus**-1
        remainder = floor.argument - floor.modulus * Poly.of_atom(floor)
        rest = argument - times * remainder
        # The share of the remainders at which the maximum is 0, or is not.
        share = -rest * (times * floor.modulus) ** -1
        if not share.is_constant or not 0 < share.constant_term < 1:
            continue
        if facts.positive(times):
            return (1 - share) * times * remainder, (1 - share) * argument
        if facts.positive(-times):
            return rest + share * times * remainder, share * argument
    return None
