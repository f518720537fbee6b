"""Differences of two floors or two maxima with arguments a known distance apart: what conditions on sizes come to.

max(0, e + 1) - max(0, e) is 1 where e >= 0; floor(e/m) - floor((e - t)/m), 0 <= t <= m, is 1 where e mod m < t.
"""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, total
from archline.records import record


@record(slots=True)
class Pair:
    """An expression as weight*(f(argument) - f(argument - width)) + rest.

    The function f is max(0, _), or floor(_/modulus) with 0 <= width <= modulus; the difference is from 0 to `most`.
    """

    weight: Poly
    argument: Poly
    width: Poly
    modulus: Poly | None
    rest: Poly

    @property
    def most(self) -> Poly:
        """The greatest value of the difference."""
        return self.width if self.modulus is None else ONE

    def bound(self, facts: Facts, upper: bool) -> Poly | None:
        """An expression without this pair that is at least (`upper`) or at most the whole; None if no sign is known."""
        if facts.nonnegative(self.weight):
            return self.rest + self.weight * self.most if upper else self.rest
        if facts.nonnegative(-self.weight):
            return self.rest if upper else self.rest + self.weight * self.most
        return None


def clipped(atom: Atom, facts: Facts) -> Poly | None:
    """The length of [a, b) within [c, d) as where b is in it less where a is, maxima without others in them.

    It is max(0, e - max(0, x) - max(0, y)) with e = d - a, x = d - b and y = c - a; None for other atoms.
    """
    if not isinstance(atom, a.PositivePart):
        return None
    argument = atom.argument
    ends = [each for each in argument.atoms() if isinstance(each, a.PositivePart)]
    if len(ends) != 2 or not all(each == ONE for each in (-argument.coefficients(end).get(1, ZERO) for end in ends)):
        return None
    x, y = (end.argument for end in ends)
    whole = argument + Poly.of_atom(ends[0]) + Poly.of_atom(ends[1])
    for x, whole in ((x, whole), (-x, whole - x)):  # noqa: B020
        if facts.nonnegative(whole - x) and facts.nonnegative(whole - y):
            sides = (whole - x - y, 1), (-x, -1), (-y, -1), (-whole, 1)
            return total(facts.positive_part(value).scaled(sign) for value, sign in sides)
    return None


def pair_of(value: Poly, atom: Atom, facts: Facts) -> Pair | None:
    """The expression by an atom and one that goes with it; None where there is none."""
    if not isinstance(atom, a.PositivePart | a.Floor):
        return None
    parts = value.coefficients(atom)
    if 1 not in parts or set(parts) - {0, 1}:
        # It stands inside another atom, or in a power.
        return None
    weight, others = parts[1], parts.get(0, ZERO)
    for partner in sorted(others.atoms(), key=str):
        if type(partner) is not type(atom) or partner.parts[1:] != atom.parts[1:]:
            continue
        if others.coefficients(partner).get(1) not in (-weight, weight.scaled(-2)):
            continue
        rest = others + weight * Poly.of_atom(partner)
        width = atom.parts[0] - partner.parts[0]
        for argument, sign in ((atom.parts[0], 1), (partner.parts[0], -1)):
            pair = Pair(weight.scaled(sign), argument, width.scaled(sign), _modulus(atom), rest)
            if _is_narrow(pair, facts):
                return _narrower(pair)
    return _alone(atom, weight, others, facts)


def _alone(atom: Atom, weight: Poly, others: Poly, facts: Facts) -> Pair | None:
    """Of a pair the facts may decide one: max(0, e + 1) is e + 1 where e >= -1, and max(0, e - 1) is 0 where e <= 1."""
    if not isinstance(atom, a.PositivePart):
        return None
    rest = others + weight * (atom.argument + 1)
    if len(rest.terms) < len(others.terms) and facts.nonnegative(atom.argument + 1):
        return Pair(-weight, atom.argument + 1, ONE, None, rest)
    if facts.nonnegative(1 - atom.argument):
        return Pair(weight, atom.argument, ONE, None, others)
    return None


def _narrower(pair: Pair) -> Pair:
    """Where it takes more than half of a number of residues, or away: 1 less the pair that takes the others."""
    modulus, width = pair.modulus, pair.width
    if modulus is None or not modulus.is_constant or not width.is_constant:
        return pair
    others = modulus - width
    negative = all(coefficient < 0 for coefficient in pair.weight.terms.values())
    if others.constant_term > width.constant_term or (others == width and not negative):
        return pair
    return Pair(-pair.weight, pair.argument + others, others, modulus, pair.rest + pair.weight)


def _modulus(atom: Atom) -> Poly | None:
    return atom.modulus if isinstance(atom, a.Floor) else None


def _is_narrow(pair: Pair, facts: Facts) -> bool:
    return facts.nonnegative(pair.width) and (pair.modulus is None or facts.nonnegative(pair.modulus - pair.width))
