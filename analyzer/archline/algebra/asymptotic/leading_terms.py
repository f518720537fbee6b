"""Leading terms: what is left of an expression, in the ratio, as all sizes grow and the cache stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain

from archline.algebra import atoms as a
from archline.algebra.polynomial import ONE, UNIT, ZERO, Atom, Monomial, Poly, Symbol

CACHE = frozenset(("Z", "L", "P"))
Degrees = Mapping[str, tuple[int, int]]
"""Of each size the exponents of itself and of its logarithm."""


def leading(value: Poly) -> Poly | None:
    """The terms whose ratio to the expression tends to 1 as all sizes grow, Z, P and L >= 2 fixed.

    Quotients lose their rounding. None where that is not known: what remains may cancel, or an atom, such as the
    maximum of two sizes, has no degree.
    """
    value = value.map_atoms(_in_the_limit)
    smooth = value.map_atoms(_without_rounding)
    terms = {monomial: _degrees(monomial) for monomial in smooth.terms}
    lost = [each for monomial in value.terms for each in _rounding(monomial)]
    if any(each is None for each in chain(terms.values(), lost)):
        return None
    lead = {m: d for m, d in terms.items() if d is not None and not any(_dominates(o, d) for o in terms.values() if o)}
    if not all(any(_dominates(each, d) for each in lead.values()) for d in lost if d is not None):
        return None
    return Poly({monomial: smooth.terms[monomial] for monomial in lead})


def _in_the_limit(atom: Atom) -> Poly | None:
    """What an atom is at all large sizes, L >= 2: `n - 1` for `max(0, n - 1)`, 0 for `floor(1/L)`."""
    match atom:
        case a.Floor(argument=argument, modulus=modulus) if argument == ONE and modulus == Poly.symbol("L"):
            return ZERO
        case a.PositivePart(argument=argument):
            lead = leading(argument)
            if lead is None or lead.is_constant or not lead.names - CACHE:
                return None
            if all(each > 0 for each in lead.terms.values()):
                return argument.map_atoms(_in_the_limit)
            return ZERO if all(each < 0 for each in lead.terms.values()) else None
        case _:
            return None


def _without_rounding(atom: Atom) -> Poly | None:
    """e/m for floor(e/m), m of one term, and the logarithm of n for that of n - 2."""
    match atom:
        case a.Floor() if len(atom.modulus.terms) == 1 and atom.names - CACHE:
            return atom.argument * atom.modulus**-1
        case a.CeilLog2() if len(atom.argument.terms) > 1:
            lead = leading(atom.argument)
            size = None if lead is None else _size(lead)
            return None if size is None else a.ceil_log2(Poly.symbol(size))
        case _:
            return None


def _degrees(monomial: Monomial) -> Degrees | None:
    """The degrees of a product; None where a factor has none."""
    found: dict[str, tuple[int, int]] = {}
    for atom, power in monomial:
        match atom:
            case Symbol(name=name):
                own, log = power, 0
            case a.CeilLog2(argument=argument) if (size := _size(argument)) is not None:
                name, own, log = size, 0, power
            case a.Exponential(base=2, exponent=exponent) if (size := _logarithm(exponent)) is not None:
                name, own, log = size, power, 0
            case _ if atom.names <= CACHE:
                continue
            case _:
                return None
        if name not in CACHE:
            before = found.get(name, (0, 0))
            found[name] = (before[0] + own, before[1] + log)
    return found


def _size(value: Poly) -> str | None:
    """The name of an expression that is a size."""
    match list(value.terms.items()):
        case [(((Symbol(name=name), 1),), coefficient)] if coefficient == 1:
            return name
        case _:
            return None


def _logarithm(exponent: Poly) -> str | None:
    """N of ceil(log2(n))."""
    match list(exponent.terms.items()):
        case [(((a.CeilLog2(argument=argument), 1),), coefficient)] if coefficient == 1:
            return _size(argument)
        case _:
            return None


def _rounding(monomial: Monomial) -> Iterator[Degrees | None]:
    """The degrees of what rounding changes a product by at most: that of the product without the rounded factor."""
    for index, (atom, power) in enumerate(monomial):
        if isinstance(atom, a.Floor | a.CeilLog2) and _without_rounding(atom) is not None:
            rest: Collection[tuple[Atom, int]] = ((atom, power - 1),) if power > 1 else ()
            yield _upper((*monomial[:index], *rest, *monomial[index + 1 :]))


def _upper(monomial: Monomial) -> Degrees | None:
    """The degrees of a product in which quotients count as what is divided."""
    whole = Poly({monomial: UNIT}).map_atoms(_without_rounding)
    degrees = [_degrees(each) for each in whole.terms]
    if any(each is None for each in degrees):
        return None
    names = {name for each in degrees for name in each or ()}
    return {name: max((each or {}).get(name, (0, 0)) for each in degrees) for name in names}


def _dominates(first: Degrees, second: Degrees) -> bool:
    """Whether the ratio of the first to the second tends to infinity as all sizes grow."""
    names = {*first, *second}
    pairs = [(first.get(name, (0, 0)), second.get(name, (0, 0))) for name in names]
    return all(one >= other for one, other in pairs) and any(one > other for one, other in pairs)
