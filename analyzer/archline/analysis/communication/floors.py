"""Bound expressions of costs on a grid by ones without differences of floors, remainders and rounded powers.

The range q*w//p..(q + d)*w//p of d blocks has floor(d*w/p) words or one more, for any q. On an axis of one processor
nothing moves, so that costs contain conditions that a size has its minimum value.

The number of integers below P with a given bit set, P//(2*d)*d + max(0, P%(2*d) - d) for the bit d = 2^s, has
no sum over s in closed form, but lies between (P - d)/2 and P/2: max(0, r - c), of a remainder 0 <= r < m, is
convex in r, so below the chord (1 - c/m)*r from r = 0 to r = m, and above the line (1 - c/m)*(r - c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import lcm
from typing import TypeVar

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.ir.amounts import KnownAmount

MAX_SUBTRACTED = 4


def bound_floor_differences(value: Poly, facts: Facts, sizes: frozenset[str] = frozenset()) -> KnownAmount:
    """Bound a value from both sides, with floor((x - y)/m) and ceil((x - y)/m) in place of floor(x/m) - floor(y/m).

    Differences with names that are not in `sizes` are bounded by fractions instead, so that they can be summed.
    """
    return KnownAmount(
        _replace_floor_pairs(value, facts, sizes, _floor_or_fraction),
        _replace_floor_pairs(value, facts, sizes, _ceiling_or_fraction),
    )


QuotientBound = Callable[[Poly, Poly, Facts, frozenset[str]], Poly]
"""A function that returns the floor or the ceiling of a quotient, or a fraction that bounds it."""


def _replace_floor_pairs(value: Poly, facts: Facts, sizes: frozenset[str], end: QuotientBound) -> Poly:
    """Replace each pair of floors of one modulus with opposite factors by the bound `end` of their difference."""
    pair = _find_opposite_floors(value, facts)
    while pair is not None:
        plus, minus, factor = pair
        difference = facts.simplify(plus.argument - minus.argument)
        both = factor * (Poly.of_atom(plus) - Poly.of_atom(minus))
        value = facts.simplify(value - both + factor * end(difference, plus.modulus, facts, sizes))
        pair = _find_opposite_floors(value, facts)
    return value


def iterate_upper_bounds(value: Poly, facts: Facts, sizes: frozenset[str] = frozenset()) -> Iterator[Poly]:
    """Yield upper bounds of a value that are easier to bound over all processors, sharper ones first."""
    chords = bound_value_above_by_chords(value, facts)
    if chords != value:
        yield chords
    if sizes:
        yield _fraction_upper_bound(value, facts, sizes)
    bound = _fraction_upper_bound(value, facts)
    yield bound
    yield value
    bound = _bound_floors_above_by_fractions(bound, facts)
    yield bound
    subtracted = _find_subtracted_maxima(bound, facts)
    # A subtracted max(0, e) is at least 0, and at least e.
    for choice in product((False, True), repeat=min(len(subtracted), MAX_SUBTRACTED)):
        ends = {atom: atom.argument if taken else ZERO for atom, taken in zip(subtracted, choice, strict=False)}
        yield facts.simplify(bound.map_atoms(lambda atom, ends=ends: ends.get(atom)))  # type: ignore[misc]


def iterate_lower_bounds(value: Poly, facts: Facts) -> Iterator[Poly]:
    """Yield lower bounds of a value that are easier to bound over all processors."""
    chords = -bound_value_above_by_chords(-value, facts)
    if chords != value:
        yield chords
    bound = bound_floor_differences(value, facts).lower
    yield bound
    yield -_bound_floors_above_by_fractions(-bound, facts)


def readable_upper_bound(value: Poly, facts: Facts) -> Poly:
    """Bound a value from above by one without powers 2^ceil(log2(e)); the value itself if that fails.

    Such a power is at least e, and at most 2*e - 1. Floors are bounded by fractions too.
    """
    if not _has_rounded_powers(value):
        return value
    bound = _bound_floors_and_powers_above(value, facts)
    return value if _has_rounded_powers(bound) else bound


def bound_rounded_powers_above(value: Poly, facts: Facts) -> Poly:
    """Bound a value as `readable_upper_bound` does, also inside maxima, even if the bound is far off."""
    if not _has_rounded_powers(value):
        return value
    bound = _bound_rounded_powers_above(value.substitute(facts.rewrites), facts)
    return value if _has_rounded_powers(bound) else facts.restore(bound)


def _bound_rounded_powers_above(value: Poly, facts: Facts) -> Poly:
    """Bound a value from above without rounded powers: added max(0, e) by a bound of e, subtracted ones by 0."""

    def bound_maximum(atom: a.PositivePart, upper: bool) -> Poly | None:
        if not _has_rounded_powers(atom.argument):
            return None
        return facts.positive_part(_bound_rounded_powers_above(atom.argument, facts)) if upper else ZERO

    return _bound_floors_and_powers_above(
        bound_value_above_by_atoms(value, facts, a.PositivePart, bound_maximum), facts
    )


def _bound_floors_and_powers_above(value: Poly, facts: Facts) -> Poly:
    return facts.simplify(_bound_outer_powers_above(_bound_floors_above_by_fractions(value, facts), facts))


def _has_rounded_powers(value: Poly) -> bool:
    return any(_rounded_power_argument(atom) is not None for atom in value.atoms_within())


def _bound_outer_powers_above(value: Poly, facts: Facts) -> Poly:
    for atom in sorted((power for power in value.atoms() if _rounded_power_argument(power) is not None), key=str):
        parts, inner = value.coefficients(atom), _rounded_power_argument(atom)
        if set(parts) <= {0, -1} and inner is not None and len(inner.terms) == 1 and facts.nonnegative(parts[-1]):
            value = parts.get(0, ZERO) + parts[-1] * inner**-1
            continue
        if set(parts) - {0, 1}:
            continue
        whole = facts.nonnegative(parts[1]) or facts.nonnegative(-parts[1])
        signed = (parts[1],) if whole else (Poly({m: c}) for m, c in parts[1].terms.items())
        value = parts.get(0, ZERO) + sum(
            (term * _bound_power_by_factor_sign(atom, term, facts) for term in signed), ZERO
        )
    return value


def _bound_power_by_factor_sign(atom: Atom, factor: Poly, facts: Facts) -> Poly:
    """Bound 2^ceil(log2(e)) from above if its factor is nonnegative, else from below."""
    inner = _rounded_power_argument(atom)
    assert inner is not None
    if not facts.nonnegative(inner - 1):
        return Poly.of_atom(atom)
    if facts.nonnegative(factor):
        return inner.scaled(2) - 1
    return inner if facts.nonnegative(-factor) else Poly.of_atom(atom)


def _rounded_power_argument(atom: Atom) -> Poly | None:
    """Return the e of 2^ceil(log2(e)); None for other atoms."""
    if not isinstance(atom, a.Exponential) or atom.base != 2:
        return None
    inner = a.find_single_atom(atom.exponent)
    return inner.argument if isinstance(inner, a.CeilLog2) else None


def fold_ceilings(value: Poly) -> Poly:
    """Write -floor(-x/m), which is ceil(x/m), as floor((x + m - 1)/m), for integers."""

    def as_ceiling(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.Floor) or any(coefficient > 0 for coefficient in atom.argument.terms.values()):
            return None
        integral = a.is_integral(atom.argument) and a.is_integral(atom.modulus)
        return -a.ceil_div(-atom.argument, atom.modulus) if integral else None

    return value.map_atoms(as_ceiling)


def _fraction_upper_bound(value: Poly, facts: Facts, sizes: frozenset[str] = frozenset()) -> Poly:
    """Bound a value from above, with bounds of differences of floors, by fractions, also inside max(0, e)."""

    def bound_maximum(atom: a.PositivePart, upper: bool) -> Poly | None:
        if not upper:
            return None
        most = bound_floor_differences(atom.argument, facts, sizes).upper
        return most if is_nonnegative(most, facts) else facts.positive_part(most)

    return bound_floor_differences(
        bound_value_above_by_atoms(value, facts, a.PositivePart, bound_maximum), facts, sizes
    ).upper


def _bound_floors_above_by_fractions(value: Poly, facts: Facts) -> Poly:
    """Bound a value from above, with fractions in place of floors whose modulus is a single term."""

    def as_fraction(atom: a.Floor, upper: bool) -> Poly | None:
        if len(atom.modulus.terms) != 1:
            return None
        slack = ZERO if upper else _max_remainder(atom.argument, atom.modulus, facts)
        return (atom.argument - slack) * atom.modulus**-1

    return facts.simplify(bound_value_above_by_atoms(value, facts, a.Floor, as_fraction))


def _find_subtracted_maxima(value: Poly, facts: Facts) -> list[a.PositivePart]:
    result = []
    for atom in sorted(value.atoms(), key=str):
        if isinstance(atom, a.PositivePart):
            parts = value.coefficients(atom)
            if not set(parts) - {0, 1} and facts.nonnegative(-parts[1]):
                result.append(atom)
    return result


def _find_opposite_floors(value: Poly, facts: Facts) -> tuple[a.Floor, a.Floor, Poly] | None:
    """Find two floors of one modulus with factors f >= 0 and -f; return them and f, or None."""
    floors = sorted((atom for atom in value.atoms() if isinstance(atom, a.Floor)), key=str)
    for plus in floors:
        parts = value.coefficients(plus)
        factor = parts.get(1, ZERO)
        if set(parts) - {0, 1} or not _is_nonnegative_factor(factor, facts):
            continue
        for minus in floors:
            if minus.modulus == plus.modulus and value.coefficients(minus).get(1) == -factor and factor:
                return plus, minus, factor
    return None


def _is_nonnegative_factor(value: Poly, facts: Facts) -> bool:
    """Test whether a factor is proved nonnegative, by bounds of differences of floors in it if needed."""
    if facts.nonnegative(value):
        return True
    floors = any(isinstance(atom, a.Floor) for atom in value.atoms())
    return floors and is_nonnegative(bound_floor_differences(value, facts, value.names).lower, facts)


def _floor_or_fraction(value: Poly, modulus: Poly, facts: Facts, sizes: frozenset[str]) -> Poly:
    quotient = a.floor_div(value, modulus)
    return (
        (value - _max_remainder(value, modulus, facts)) * modulus**-1
        if _needs_fraction(quotient, modulus, sizes)
        else quotient
    )


def _ceiling_or_fraction(value: Poly, modulus: Poly, facts: Facts, sizes: frozenset[str]) -> Poly:
    quotient = fold_ceilings(-a.floor_div(-value, modulus))
    return (
        (value + _max_remainder(value, modulus, facts)) * modulus**-1
        if _needs_fraction(quotient, modulus, sizes)
        else quotient
    )


def _max_remainder(value: Poly, modulus: Poly, facts: Facts) -> Poly:
    """Return an upper bound of the remainder e - m*floor(e/m): m - 1 for integers, else m."""
    return modulus - 1 if facts.integral(value) and facts.integral(modulus) else modulus


def _needs_fraction(quotient: Poly, modulus: Poly, sizes: frozenset[str]) -> bool:
    """Test whether a quotient is to be bounded by a fraction: it has floors, and depends on names not in `sizes`."""
    rounded = any(isinstance(atom, a.Floor) for atom in quotient.atoms())
    fixed = quotient.names <= sizes and not any(isinstance(atom, a.Exponential) for atom in quotient.atoms_within())
    return rounded and len(modulus.terms) == 1 and not fixed


def is_nonnegative(value: Poly, facts: Facts) -> bool:
    """Test whether a value is proved nonnegative; it may have fractions of sizes such as 1 - 1/p as terms."""
    return facts.nonnegative(facts.clear_denominators(value))


def is_positive(value: Poly, facts: Facts) -> bool:
    """Test whether a value is proved positive; it may have fractions of sizes: (w - p + 1)/p is positive if w >= p."""
    whole = facts.clear_denominators(value)
    common = lcm(*(int(coefficient.q) for coefficient in whole.terms.values()))
    return facts.positive(whole.scaled(common))


def reduce_size_maxima(value: Poly, facts: Facts) -> Poly:
    """Rewrite a value in fewer terms: for a size x >= c, q = max(0, x - c - 1) equals x - c - 1 + [x = c].

    As x*[x = c] is c*[x = c], and [x = c] is idempotent, q remains only to the first power and without the factor x.
    """
    for atom in sorted(value.atoms(), key=str):
        if not isinstance(atom, a.PositivePart):
            continue
        least, size = _match_size_maximum(atom, facts)
        if size is not None:
            value = _reduce_maximum(value, atom, size, least)
    return value


def _match_size_maximum(atom: a.PositivePart, facts: Facts) -> tuple[Poly, Symbol | None]:
    """Return c and x if an atom is max(0, x - c - 1) for a size x >= c; else 0 and None."""
    symbols = [part for part in atom.argument.atoms() if isinstance(part, Symbol)]
    if len(symbols) != 1:
        return ZERO, None
    rest = atom.argument - Poly.of_atom(symbols[0])
    if not rest.is_constant or not facts.nonnegative(atom.argument + 1):
        return ZERO, None
    return -rest - 1, symbols[0]


def _reduce_maximum(value: Poly, atom: a.PositivePart, size: Symbol, least: Poly) -> Poly:
    x, q = Poly.of_atom(size), Poly.of_atom(atom)
    total = ZERO
    for power, factor in value.coefficients(atom).items():
        if power == 0:
            total = total + factor
            continue
        if power < 0:
            return value
        # At x = c, where (x - c - 1)^k is (-1)^k, q is 0.
        unclamped = factor * (x - least - 1) ** power
        factor_at_least = factor.substitute({size.name: least})
        indicator = q - x + least + 1
        total = total + unclamped - factor_at_least * (-ONE) ** power * indicator
    return total


Kind = TypeVar("Kind")


def bound_value_above_by_atoms(
    value: Poly, facts: Facts, kind: type[Kind], bound: Callable[[Kind, bool], Poly | None]
) -> Poly:
    """Bound a value from above, with bounds in place of atoms of a kind that it is linear and monotone in.

    `bound(atom, upper)` returns an upper or a lower bound of an atom; None to leave the atom unchanged.
    """

    def bound_of_atom(atom: Atom) -> Poly | None:
        if not isinstance(atom, kind):
            return None
        parts = value.coefficients(atom)
        increasing = facts.nonnegative(parts.get(1, ZERO))
        if set(parts) - {0, 1} or not (increasing or facts.nonnegative(-parts[1])):
            return None
        return bound(atom, increasing)

    return value.map_atoms(bound_of_atom)


def bound_value_above_by_chords(value: Poly, facts: Facts) -> Poly:
    """Bound a value from above, with chords in place of maxima of remainders."""

    def chord_of_maximum(atom: a.PositivePart, upper: bool) -> Poly | None:
        chord = _chord_bounds(atom.argument, facts)
        return None if chord is None else chord[0 if upper else 1]

    return facts.simplify(bound_value_above_by_atoms(value, facts, a.PositivePart, chord_of_maximum))


def _chord_bounds(argument: Poly, facts: Facts) -> tuple[Poly, Poly] | None:
    """Bound max(0, k*r - c), or max(0, c - k*r), for a remainder r modulo m and 0 < c < |k|*m.

    Returns an upper and a lower bound; None for arguments of other forms.
    """
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
