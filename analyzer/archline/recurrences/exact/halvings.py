"""How often a size v is halved until it is below k, at least: ceil(log2(floor(v/k) + 1)), a term of lower bounds.

At floor(v/2) it is one less where v >= k, and so at least that at either half of v. Until it is at most k, that is
ceil(log2(ceil(v/k))) at most, a term of upper bounds: one less at ceil(v/2) where v > k.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly


def halvings(size: Poly, end: Poly) -> Poly:
    """How often a size is halved until it is below `end`, at least."""
    return a.ceil_log2(a.floor_div(size, end) + 1)


def most_halvings(size: Poly, end: Poly) -> Poly:
    """How often a size is halved until it is at most `end`, at most."""
    return a.ceil_log2(a.ceil_div(size, end))


def counted(atom: Atom) -> a.Floor | None:
    """The floor(v/k) of such a number at least, v being a size."""
    return _floor(atom, 1)


def counted_at_most(atom: Atom) -> a.Floor | None:
    """The floor((v + k - 1)/k) of such a number at most, which is ceil(v/k)."""
    return _floor(atom, 0)


def _floor(atom: Atom, more: int) -> a.Floor | None:
    if not isinstance(atom, a.CeilLog2):
        return None
    rest = atom.argument - more
    found = next((each for each in rest.atoms() if isinstance(each, a.Floor)), None)
    if found is None or rest != Poly.of_atom(found):
        return None
    size = found.argument if more else found.argument + 1 - found.modulus
    return None if a.symbol_of(size) is None else found


def without_halvings(value: Poly, facts: Facts) -> Poly:
    """What a value is at least, with ceil(log2(v + 1)) less a number in the place of what it grows with."""
    less = {
        atom: a.positive_part(a.ceil_log2(floor.argument + 1) - a.ceil_log2(floor.modulus))
        for atom, floor in _grows_with(value, facts)
    }
    return value.map_atoms(less.get) if less else value


def in_logarithms(value: Poly, facts: Facts) -> Poly:
    """What a value is at least, with ceil(log2(v + 1))/(d + 1) where v >= k is known, d = ceil(log2(k)).

    That is at most 1 up to d + 1, and above that at most ceil(log2(v + 1)) - d; it grows as the number of halvings.
    """
    less = {
        atom: a.ceil_log2(floor.argument + 1) / (a.ceil_log2(floor.modulus).constant_term + 1)
        for atom, floor in _grows_with(value, facts)
        if facts.nonnegative(floor.argument.substitute(facts.rewrites) - floor.modulus)
    }
    return value.map_atoms(less.get) if less else value


def at_halves(value: Poly, facts: Facts, given: Mapping[str, Poly], there: Facts) -> Poly:
    """What a value is at least at the sizes of a call from another function, of which `there` is known.

    Of a part of a size that has about half of it, the number of halvings is that of the size less 1 at least; of other
    sizes what stands for it is taken.
    """
    found = dict(_grows_with(value, facts))
    names = {atom: f"halvings {index}" for index, atom in enumerate(found)}
    less = {
        names[atom]: _of_half(there.simplify(floor.argument.substitute(given)), floor.modulus, there)
        for atom, floor in found.items()
    }
    symbols = {atom: Poly.symbol(name) for atom, name in names.items()}
    return value.map_atoms(symbols.get).substitute({**given, **less})


def _of_half(size: Poly, end: Poly, facts: Facts) -> Poly:
    whole = next((each for each in map(Poly.symbol, sorted(size.names)) if _holds_half(each, size, end, facts)), None)
    if whole is not None:
        return halvings(whole, end) - 1
    return a.positive_part(a.ceil_log2(size + 1) - a.ceil_log2(end))


def _holds_half(whole: Poly, size: Poly, end: Poly, facts: Facts) -> bool:
    return size != whole and facts.nonnegative(whole - end) and facts.nonnegative(size.scaled(2) - whole + 1)


def _grows_with(value: Poly, facts: Facts) -> Iterator[tuple[Atom, a.Floor]]:
    """The numbers of halvings all of whose powers have factors that are known to be at least 0."""
    for atom in sorted(value.atoms(), key=lambda each: each.key):
        floor = counted(atom)
        if floor is None:
            continue
        parts = value.coefficients(atom)
        slopes = [part.substitute(facts.rewrites) for power, part in parts.items() if power]
        if min(parts) >= 0 and slopes and all(map(facts.nonnegative, slopes)):
            yield atom, floor


def remaining(atom: Atom, given: Mapping[str, Poly], facts: Facts) -> Poly | None:
    """What a number of halvings is at least, or at most, at the sizes of a call; None where that is not known."""
    number = Poly.of_atom(atom)
    least, most = counted(atom), counted_at_most(atom)
    if least is not None:
        size = least.argument
        there = facts.simplify(size.substitute(given))
        if there == size:
            return number
        return number - 1 if facts.nonnegative(there.scaled(2) - size + 1) else None
    if most is not None:
        size, end = most.argument + 1 - most.modulus, most.modulus
        there = facts.simplify(size.substitute(given))
        if facts.nonnegative(size + 1 - there.scaled(2)) and facts.nonnegative(size - end - 1):
            return number - 1
        return number if facts.nonnegative(size - there) else None
    return None
