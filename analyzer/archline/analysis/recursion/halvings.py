"""How often a size v is halved until it is below k, at least: ceil(log2(floor(v/k) + 1)), a term of lower bounds.

At floor(v/2) it is one less where v >= k, and so at least that at either half of v.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly


def halvings(size: Poly, end: Poly) -> Poly:
    """How often a size is halved until it is below `end`, at least."""
    return a.ceil_log2(a.floor_div(size, end) + 1)


def counted(atom: Atom) -> a.Floor | None:
    """The floor(v/k) of such a number, v being a size."""
    if not isinstance(atom, a.CeilLog2):
        return None
    rest = atom.argument - 1
    found = next((each for each in rest.atoms() if isinstance(each, a.Floor)), None)
    plain = found is not None and rest == Poly.of_atom(found) and a.symbol_of(found.argument) is not None
    return found if plain else None


def without_halvings(value: Poly, facts: Facts) -> Poly:
    """What a value is at least, with ceil(log2(v + 1)) less a number in the place of what it grows with."""
    less = {
        atom: a.positive_part(a.ceil_log2(floor.argument + 1) - a.ceil_log2(floor.modulus))
        for atom, floor in _grows_with(value, facts)
    }
    return value.map_atoms(less.get) if less else value


def _grows_with(value: Poly, facts: Facts) -> Iterator[tuple[Atom, a.Floor]]:
    """The numbers of halvings that have a factor which is known to be at least 0."""
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        floor = counted(atom)
        parts = value.coefficients(atom)
        linear = max(parts, default=0) == 1 and min(parts) >= 0
        if floor is not None and linear:
            slope = parts[1].substitute(facts.rewrites)
            if facts.nonnegative(slope):
                yield atom, floor


def remaining(atom: Atom, floor: a.Floor, given: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """What a number of halvings is at least at the sizes of a call; None where that may have less than half."""
    size = floor.argument
    there = facts.simplify(size.substitute(given))
    if there == size:
        return Poly.of_atom(atom)
    return Poly.of_atom(atom) - 1 if facts.nonnegative(there.scaled(2) - size + 1) else None
