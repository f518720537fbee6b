"""Find the terms of an expression that dominate as all sizes grow and the cache parameters stay fixed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, partial

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, RATIONAL_ONE, ZERO, Atom, Monomial, Poly, Symbol, product

CACHE_PARAMETERS = frozenset(("Z", "L"))
MAX_DEGREE = 1 << 12
CACHE_FACTS = Facts().with_symbol("L", (Poly.constant(2),)).with_symbol("Z", (Poly.symbol("L"),))
"""Facts about the cache parameters: L >= 2, Z >= L; lines of one word are excluded."""
MIN_LARGE_SIZE = 2**20
"""Sizes from this one on count as large: they grow without end."""
Degrees = Mapping[str, tuple[Fraction, int]]
"""For each size, 2 to its exponent, which is rational even for 7^ceil(log2(n)), and its logarithm's exponent."""
NO_DEGREES = (Fraction(1), 0)


def find_leading_terms(value: Poly, slow: Collection[str] = ()) -> Poly | None:
    """Return the terms whose ratio to the expression tends to 1 as all sizes and P grow, with Z and L >= 2 fixed.

    The `slow` sizes grow more slowly than any power of the other sizes. Quotients lose their rounding. None if it is
    unknown: the rest may cancel, or an atom, such as the maximum of two sizes, has no degree.
    """
    value = value.map_atoms(partial(_replace_atom_by_limit, slow))
    smooth = value.map_atoms(_drop_rounding)
    terms = {monomial: _compute_degrees(monomial) for monomial in smooth.terms}
    lost = [errors for monomial in value.terms for errors in _iterate_rounding_errors(monomial)]
    if None in terms.values() or any(None in alternatives for alternatives in lost):
        return None
    graded = {monomial: degrees for monomial, degrees in terms.items() if degrees is not None}
    lead = {m: d for m, d in graded.items() if not any(_is_dominating(e, d, slow) for e in graded.values() if e)}

    def is_dominated_by_lead(parts: Sequence[Degrees] | None) -> bool:
        return all(any(_is_dominating(degrees, d, slow) for degrees in lead.values()) for d in parts or ())

    if not all(any(map(is_dominated_by_lead, alternatives)) for alternatives in lost):
        return None
    result = Poly({monomial: smooth.terms[monomial] for monomial in lead})
    return result if not result or _is_lead_positive(result) is not None else None


def _is_lead_positive(lead: Poly) -> bool | None:
    """Return True if a sum of leading terms is positive, False if it is negative; None if it may cancel, for L >= 2.

    n^2 - m^2 is 0 at n = m, where the omitted terms decide, and so is n - 2*n/L at L = 2. Terms of the same degrees
    count together.
    """
    of_terms = {coefficient > 0 for coefficient in lead.terms.values()}
    if len(of_terms) == 1:
        return of_terms.pop()
    groups: dict[frozenset[tuple[str, tuple[Fraction, int]]], Poly] = {}
    for monomial, coefficient in lead.terms.items():
        of_cache = tuple((atom, power) for atom, power in monomial if atom.names <= CACHE_PARAMETERS)
        group = frozenset((_compute_degrees(monomial) or {}).items())
        groups[group] = groups.get(group, ZERO) + Poly({of_cache: coefficient})
    signs = {_is_coefficient_positive(coefficient_sum) for coefficient_sum in groups.values()}
    return signs.pop() if len(signs) == 1 else None


def _is_coefficient_positive(coefficient: Poly) -> bool | None:
    """Return True if a sum of powers of L and Z is positive for all L >= 2 and Z >= L, False if it is negative.

    None if neither is proved.
    """
    if not coefficient.names <= CACHE_PARAMETERS:
        return None
    for name in sorted(coefficient.names):
        least = min(coefficient.coefficients(Symbol(name)))
        coefficient = coefficient * Poly.symbol(name) ** -least if least < 0 else coefficient
    if CACHE_FACTS.positive(coefficient):
        return True
    return False if CACHE_FACTS.positive(-coefficient) else None


def _replace_atom_by_limit(slow: Collection[str], atom: Atom) -> Poly | None:
    """Return the value of an atom at all large sizes, L >= 2: `n - 1` for `max(0, n - 1)`, 0 for `floor(1/L)`.

    None if it does not change, or if the sign is unknown.
    """
    match atom:
        case a.Floor(argument=argument, modulus=modulus) if argument == ONE and modulus == Poly.symbol("L"):
            return ZERO
        case a.PositivePart(argument=argument):
            large = assume_large_sizes(argument.names)
            if large.nonnegative(argument):
                return argument.map_atoms(partial(_replace_atom_by_limit, slow))
            if large.nonnegative(-argument):
                return ZERO
            lead = find_leading_terms(argument, slow)
            if lead is None or lead.is_constant or not lead.names - CACHE_PARAMETERS:
                return None
            positive = _is_lead_positive(lead)
            return (
                None
                if positive is None
                else argument.map_atoms(partial(_replace_atom_by_limit, slow))
                if positive
                else ZERO
            )
        case _:
            parts = tuple(part.map_atoms(partial(_replace_atom_by_limit, slow)) for part in atom.parts)
            return None if parts == atom.parts else atom.rebuild(parts)


@cache
def assume_large_sizes(sizes: frozenset[str]) -> Facts:
    """Return the facts that all sizes are large, and L >= 2: `max(n, 16)` is n."""
    facts = CACHE_FACTS
    for name in sorted(sizes - CACHE_PARAMETERS):
        facts = facts.with_symbol(name, (Poly.constant(MIN_LARGE_SIZE),))
    return facts


def _drop_rounding(atom: Atom) -> Poly | None:
    """Return e/m for floor(e/m), m of one term, without divisors of L in e; ceil(log2(n - 2)) -> ceil(log2(n)).

    None for other atoms.
    """
    match atom:
        case a.Floor() if len(atom.modulus.terms) == 1 and atom.names - CACHE_PARAMETERS:
            return atom.argument.map_atoms(_drop_line_divisors).map_atoms(_drop_rounding) * atom.modulus**-1
        case a.CeilLog2() if len(atom.argument.terms) > 1:
            lead = find_leading_terms(atom.argument)
            size = None if lead is None else a.find_single_symbol_name(lead)
            return None if size is None else a.ceil_log2(Poly.symbol(size))
        case _:
            return None


def _drop_line_divisors(atom: Atom) -> Poly | None:
    """Return 0 for a common divisor with L, which is at most L; None for other atoms."""
    return ZERO if isinstance(atom, a.CommonDivisor) and Poly.symbol("L") in atom.parts else None


def _compute_degrees(monomial: Monomial) -> Degrees | None:
    """Return the degrees of a product; None if a factor has none."""
    degrees: dict[str, tuple[Fraction, int]] = {}
    for atom, power in monomial:
        if abs(power) > MAX_DEGREE:
            return None
        match atom:
            case Symbol(name=name):
                exponential, log = Fraction(2) ** power, 0
            case a.CeilLog2(argument=argument) if (size := _find_proportional_size(argument)) is not None:
                name, exponential, log = size, Fraction(1), power
            case a.Exponential(base=base, exponent=exponent) if (size := _find_size_of_logarithm(exponent)) is not None:
                name, exponential, log = size, Fraction(base) ** power, 0
            case _ if atom.names <= CACHE_PARAMETERS:
                continue
            case _:
                return None
        if name not in CACHE_PARAMETERS:
            before = degrees.get(name, NO_DEGREES)
            degrees[name] = (before[0] * exponential, before[1] + log)
    return degrees


def _find_proportional_size(value: Poly) -> str | None:
    """Return the name of the size n if the expression tends to c*n with c > 0. None for other expressions."""
    lead = find_leading_terms(value)
    match [] if lead is None else list(lead.terms.items()):
        case [(((Symbol(name=name), 1),), coefficient)] if coefficient > 0 and name not in CACHE_PARAMETERS:
            return name
        case _:
            return None


def _find_size_of_logarithm(exponent: Poly) -> str | None:
    """Return n of ceil(log2(n)), or of ceil(log2(ceil((n + 1)/17))). None for other exponents."""
    level = a.find_single_atom(exponent)
    return _find_proportional_size(level.argument) if isinstance(level, a.CeilLog2) else None


def _iterate_rounding_errors(monomial: Monomial) -> Iterator[tuple[tuple[Degrees, ...] | None, ...]]:
    """Yield degrees that bound the change of a product by rounding: those of the product without the rounded factor.

    Also those of the product itself, where a nonnegative quotient is rounded down.
    """
    nested = [
        (atom, power)
        for atom, power in monomial
        if isinstance(atom, a.Floor) and _bound_rounding_error_above(atom) != ONE
    ]
    error = product(_bound_rounding_error_above(atom) for atom, _ in nested if isinstance(atom, a.Floor))
    for index, (atom, power) in enumerate(monomial):
        if isinstance(atom, a.Floor | a.CeilLog2) and _drop_rounding(atom) is not None:
            rest: Collection[tuple[Atom, int]] = ((atom, power - 1),) if power > 1 else ()
            others = Poly({(*monomial[:index], *rest, *monomial[index + 1 :]): RATIONAL_ONE})
            without = None if any(power > 1 for _, power in nested) else _compute_upper_degrees(others * error)
            down = (
                not nested and isinstance(atom, a.Floor) and assume_large_sizes(atom.names).nonnegative(atom.argument)
            )
            yield (without, _compute_upper_degrees(Poly({monomial: RATIONAL_ONE}))) if down else (without,)


def _bound_rounding_error_above(atom: a.Floor) -> Poly:
    """Bound the order of a rounding error: more than 1 where a quotient is nested, as in m - b*floor(m/b)."""
    inside = [(powers, atom) for powers in atom.argument.terms for atom, _ in powers if isinstance(atom, a.Floor)]
    return ONE + sum(
        (Poly({tuple(part for part in powers if part[0] != q): RATIONAL_ONE}) for powers, q in inside), ZERO
    )


def _compute_upper_degrees(value: Poly) -> tuple[Degrees, ...] | None:
    """Return the degrees of the terms of a product without rounding. None if a term has other factors."""
    unrounded = value.map_atoms(_drop_rounding)
    degrees = [_compute_degrees(monomial) for monomial in unrounded.terms]
    terms = tuple(degree for degree in degrees if degree is not None)
    return terms if len(terms) == len(degrees) else None


def _is_dominating(first: Degrees, second: Degrees, slow: Collection[str]) -> bool:
    """Whether the ratio of the first to the second tends to infinity as all sizes grow."""
    pairs = {name: (first.get(name, NO_DEGREES), second.get(name, NO_DEGREES)) for name in {*first, *second}}
    for names in (pairs.keys() - set(slow), pairs.keys() & set(slow)):
        if not all(pairs[name][0] >= pairs[name][1] for name in names):
            return False
        if any(pairs[name][0] > pairs[name][1] for name in names):
            return True
    return False
