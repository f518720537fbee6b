"""Leading terms: what is left of an expression, in the ratio, as all sizes grow and the cache stays as it is."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, UNIT, ZERO, Atom, Monomial, Poly, Symbol, product

CACHE = frozenset(("Z", "L"))
MAX_DEGREE = 1 << 12
KNOWN = Facts().with_symbol("L", (Poly.constant(2),)).with_symbol("Z", (Poly.symbol("L"),))
"""What is known of them: lines of one word are left out."""
LARGE = 2**20
"""Sizes from which on all that is said of large ones may hold: they grow without end."""
Degrees = Mapping[str, tuple[Fraction, int]]
"""Of each size 2 to the power of its exponent, which is rational for 7^ceil(log2(n)) too, and that of its logarithm."""
NONE = (Fraction(1), 0)


def leading(value: Poly, slow: Collection[str] = ()) -> Poly | None:
    """The terms whose ratio to the expression tends to 1 as all sizes grow, Z, P and L >= 2 fixed.

    The `slow` sizes grow more slowly than any power of the others. Quotients lose their rounding. None where that is
    not known: what remains may cancel, or an atom, such as the maximum of two sizes, has no degree.
    """
    value = value.map_atoms(partial(_in_the_limit, slow))
    smooth = value.map_atoms(_without_rounding)
    terms = {monomial: _degrees(monomial) for monomial in smooth.terms}
    lost = [each for monomial in value.terms for each in _rounding(monomial)]
    if None in terms.values() or any(None in few for few in lost):
        return None
    known = {monomial: degrees for monomial, degrees in terms.items() if degrees is not None}
    lead = {m: d for m, d in known.items() if not any(_dominates(other, d, slow) for other in known.values() if other)}

    def is_less(parts: Sequence[Degrees] | None) -> bool:
        return all(any(_dominates(each, d, slow) for each in lead.values()) for d in parts or ())

    if not all(any(map(is_less, few)) for few in lost):
        return None
    found = Poly({monomial: smooth.terms[monomial] for monomial in lead})
    return found if not found or _positive(found) is not None else None


def _positive(lead: Poly) -> bool | None:
    """Whether leading terms are positive or negative; None where they may cancel, for some L >= 2.

    n^2 - m^2 is 0 at n = m, where what is left out decides, and so is n - 2*n/L at L = 2. Those of the same degrees
    count together.
    """
    of_terms = {coefficient > 0 for coefficient in lead.terms.values()}
    if len(of_terms) == 1:
        return of_terms.pop()
    groups: dict[frozenset[tuple[str, tuple[Fraction, int]]], Poly] = {}
    for monomial, coefficient in lead.terms.items():
        of_cache = tuple((atom, power) for atom, power in monomial if atom.names <= CACHE)
        group = frozenset((_degrees(monomial) or {}).items())
        groups[group] = groups.get(group, ZERO) + Poly({of_cache: coefficient})
    signs = {_sign(each) for each in groups.values()}
    return signs.pop() if len(signs) == 1 else None


def _sign(coefficient: Poly) -> bool | None:
    """Whether a sum of powers of L, Z and P is positive, L >= 2 and Z >= L, or negative; None if that is not known."""
    if not coefficient.names <= CACHE:
        return None
    for name in sorted(coefficient.names):
        least = min(coefficient.coefficients(Symbol(name)))
        coefficient = coefficient * Poly.symbol(name) ** -least if least < 0 else coefficient
    if KNOWN.positive(coefficient):
        return True
    return False if KNOWN.positive(-coefficient) else None


def _in_the_limit(slow: Collection[str], atom: Atom) -> Poly | None:
    """What an atom is at all large sizes, L >= 2: `n - 1` for `max(0, n - 1)`, 0 for `floor(1/L)`."""
    match atom:
        case a.Floor(argument=argument, modulus=modulus) if argument == ONE and modulus == Poly.symbol("L"):
            return ZERO
        case a.PositivePart(argument=argument):
            large = grown(argument.names)
            if large.nonnegative(argument):
                return argument.map_atoms(partial(_in_the_limit, slow))
            if large.nonnegative(-argument):
                return ZERO
            lead = leading(argument, slow)
            if lead is None or lead.is_constant or not lead.names - CACHE:
                return None
            positive = _positive(lead)
            return None if positive is None else argument.map_atoms(partial(_in_the_limit, slow)) if positive else ZERO
        case _:
            parts = tuple(part.map_atoms(partial(_in_the_limit, slow)) for part in atom.parts)
            return None if parts == atom.parts else atom.rebuild(parts)


@cache
def grown(sizes: frozenset[str]) -> Facts:
    """What is known once all sizes are large, and L >= 2: `max(n, 16)` is n."""
    facts = KNOWN
    for name in sorted(sizes - CACHE):
        facts = facts.with_symbol(name, (Poly.constant(LARGE),))
    return facts


def _without_rounding(atom: Atom) -> Poly | None:
    """e/m for floor(e/m), m of one term, without what divides L in e, and the logarithm of n for that of n - 2."""
    match atom:
        case a.Floor() if len(atom.modulus.terms) == 1 and atom.names - CACHE:
            return atom.argument.map_atoms(_without_divisors).map_atoms(_without_rounding) * atom.modulus**-1
        case a.CeilLog2() if len(atom.argument.terms) > 1:
            lead = leading(atom.argument)
            size = None if lead is None else a.symbol_of(lead)
            return None if size is None else a.ceil_log2(Poly.symbol(size))
        case _:
            return None


def _without_divisors(atom: Atom) -> Poly | None:
    """0 for what is L at most."""
    return ZERO if isinstance(atom, a.CommonDivisor) and Poly.symbol("L") in atom.parts else None


def _degrees(monomial: Monomial) -> Degrees | None:
    """The degrees of a product; None where a factor has none."""
    found: dict[str, tuple[Fraction, int]] = {}
    for atom, power in monomial:
        if abs(power) > MAX_DEGREE:
            return None
        match atom:
            case Symbol(name=name):
                own, log = Fraction(2) ** power, 0
            case a.CeilLog2(argument=argument) if (size := _proportional(argument)) is not None:
                name, own, log = size, Fraction(1), power
            case a.Exponential(base=base, exponent=exponent) if (size := _logarithm(exponent)) is not None:
                name, own, log = size, Fraction(base) ** power, 0
            case _ if atom.names <= CACHE:
                continue
            case _:
                return None
        if name not in CACHE:
            before = found.get(name, NONE)
            found[name] = (before[0] * own, before[1] + log)
    return found


def _proportional(value: Poly) -> str | None:
    """The name of the size that an expression tends to a positive multiple of."""
    lead = leading(value)
    match [] if lead is None else list(lead.terms.items()):
        case [(((Symbol(name=name), 1),), coefficient)] if coefficient > 0 and name not in CACHE:
            return name
        case _:
            return None


def _logarithm(exponent: Poly) -> str | None:
    """N of ceil(log2(n)), or of ceil(log2(ceil((n + 1)/17)))."""
    level = a.single_atom(exponent)
    return _proportional(level.argument) if isinstance(level, a.CeilLog2) else None


def _rounding(monomial: Monomial) -> Iterator[tuple[tuple[Degrees, ...] | None, ...]]:
    """The degrees of what rounding changes a product by at most: those of the product without the rounded factor.

    And those of the product itself, where a quotient that is not negative is rounded down.
    """
    nested = [(atom, power) for atom, power in monomial if isinstance(atom, a.Floor) and _error(atom) != ONE]
    error = product(_error(atom) for atom, _ in nested if isinstance(atom, a.Floor))
    for index, (atom, power) in enumerate(monomial):
        if isinstance(atom, a.Floor | a.CeilLog2) and _without_rounding(atom) is not None:
            rest: Collection[tuple[Atom, int]] = ((atom, power - 1),) if power > 1 else ()
            others = Poly({(*monomial[:index], *rest, *monomial[index + 1 :]): UNIT})
            without = None if any(power > 1 for _, power in nested) else _upper(others * error)
            down = not nested and isinstance(atom, a.Floor) and grown(atom.names).nonnegative(atom.argument)
            yield (without, _upper(Poly({monomial: UNIT}))) if down else (without,)


def _error(atom: a.Floor) -> Poly:
    """What rounding changes at most, in its order: more than 1 where a quotient inside is, as in m - b*floor(m/b)."""
    inside = [(powers, atom) for powers in atom.argument.terms for atom, _ in powers if isinstance(atom, a.Floor)]
    return ONE + sum((Poly({tuple(each for each in powers if each[0] != one): UNIT}) for powers, one in inside), ZERO)


def _upper(value: Poly) -> tuple[Degrees, ...] | None:
    """The degrees of the terms of a product in which quotients count as what is divided."""
    whole = value.map_atoms(_without_rounding)
    degrees = [_degrees(each) for each in whole.terms]
    known = tuple(each for each in degrees if each is not None)
    return known if len(known) == len(degrees) else None


def _dominates(first: Degrees, second: Degrees, slow: Collection[str]) -> bool:
    """Whether the ratio of the first to the second tends to infinity as all sizes grow."""
    pairs = {name: (first.get(name, NONE), second.get(name, NONE)) for name in {*first, *second}}
    for names in (pairs.keys() - set(slow), pairs.keys() & set(slow)):
        if not all(pairs[name][0] >= pairs[name][1] for name in names):
            return False
        if any(pairs[name][0] > pairs[name][1] for name in names):
            return True
    return False
