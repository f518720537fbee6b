"""Bounds without sizes that are cut off at a number, for what does not read those: 1 <= min(n, 16) <= 16.

For a number c, max(0, v - c) lies between v - c and v - l, where v is known to be at least l <= c. Which of the two
keeps a bound depends on the sign of its factor; where that is not proved, the maximum stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.maximise import direction
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.sums.summation import replace_atom
from archline.recurrences.exact.at_call import Caller, NotComparableError
from archline.recurrences.exact.base_cases import inside, unclamped
from archline.recurrences.exact.halvings import in_logarithms, without_halvings
from archline.recurrences.exact.leaves import without_pieces

DIVISOR = "common divisor "
"""No program has such a name."""


def uncapped(value: Poly, facts: Facts, upper: bool) -> Poly:
    """What the value is at most (upper) or at least, without such maxima of sizes and of logarithms."""
    value = without_divisors(value, facts, upper)
    value = inside(value, lambda each: without_pieces(each, upper))
    value = value if upper else inside(value, lambda each: without_halvings(each, facts))
    value = value if upper else unclamped(value)
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        if not isinstance(atom, a.PositivePart):
            continue
        parts = value.coefficients(atom)
        least = _least(atom.argument, facts)
        if least is None or max(parts, default=0) != 1 or min(parts) < 0:
            # Of no use, or gone with another one.
            continue
        slope, rest = parts[1], parts.get(0, ZERO)
        known = slope.substitute(facts.rewrites)
        rises = facts.nonnegative(known)
        if rises or facts.nonnegative(-known):
            most = atom.argument - min(least, 0)
            value = slope * (most if rises == upper else atom.argument) + rest
    return value


def without_divisors(value: Poly, facts: Facts, upper: bool) -> Poly:
    """What the value is at most (upper) or at least, without common divisors where it rises or falls with them."""
    for atom in dict.fromkeys(value.atoms_within()):
        if not isinstance(atom, a.CommonDivisor) or not facts.positive(atom.right):
            continue
        free = replace_atom(value, atom, Poly.symbol(DIVISOR))
        among = facts.with_symbol(DIVISOR, (ONE,), (atom.right,))
        sense = direction(free, DIVISOR, atom.right + 1, facts, among)
        if sense is not None:
            value = free.substitute({DIVISOR: atom.right if (sense == 1) == upper else ONE})
    return value


def growing(low: Poly, facts: Facts) -> Poly:
    """What a lower bound is at least, in logarithms of sizes in place of numbers of leaves and of halvings."""
    plain = inside(low, lambda each: without_pieces(each, upper=False))
    return inside(plain, lambda each: without_halvings(in_logarithms(_decided(each, facts), facts), facts))


def _decided(value: Poly, facts: Facts) -> Poly:
    """The value without maxima of which the facts tell that they are not 0."""

    def decided(atom: Atom) -> Poly | None:
        known = isinstance(atom, a.PositivePart) and facts.nonnegative(atom.argument.substitute(facts.rewrites))
        return atom.parts[0] if known else None

    return value.map_atoms(decided)


def _least(argument: Poly, facts: Facts) -> int | None:
    """What v - c is at least, for a size or a logarithm v and a number c >= 0."""
    limit = argument.constant_term
    atoms = list(argument.atoms())
    if limit > 0 or len(atoms) != 1 or argument - limit != Poly.of_atom(atoms[0]):
        return None
    match atoms[0]:
        case Symbol(name=name):
            known = facts.bounds.get(name)
            least = None if known is None else known.least
        case a.CeilLog2():
            least = 0
        case _:
            least = None
    return None if least is None else int((least + limit).floor())


def without_maxima(found: Poly, given: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """A bound at the sizes of a call, where the facts decide all maxima in it; else None."""
    try:
        there = Caller(facts, ()).at(found, given)
    except NotComparableError:
        return None
    return None if any(isinstance(each, a.PositivePart) for each in there.atoms()) else there
