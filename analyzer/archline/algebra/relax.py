"""Bounds sums and maxima without closed form by replacing the unresolved atom with its known bounds."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError, limit_effort
from archline.algebra.enclosures import enclose_sequence
from archline.algebra.facts import Facts
from archline.algebra.maximise import derive_part_maxima, max_over, maximum_of_values
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.sums.blocks import match_condition_pair
from archline.algebra.sums.summation import (
    RangeOperation,
    UnresolvedError,
    contains_atom,
    is_composite_in,
    separate_composites,
    sum_over,
)
from archline.numbers import fmpq

MAX_ROUNDS = 12
MAX_PRODUCTS = 20_000
"""Term products for one bound; if they do not suffice, no bound is found."""
MAX_REPLACED = 1_000
"""Atoms that are replaced in one expression; two symbols may bound each other."""


def bound_sum(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool) -> Poly | None:
    """Return a bound on the sum of a nonnegative `value` over lo <= variable < hi, or None."""
    first = _bound_in_budget(sum_over, value, variable, lo, hi, facts, upper, 0)
    common = _bound_minima_by_common_side(value, variable, facts) if upper else None
    if common is not None and (first is None or facts.nonnegative(first - (hi - lo) * common)):
        return (hi - lo) * common
    if first is None and upper:
        maximum = _bound_in_budget(max_over, value, variable, lo, hi, facts, True, 0)
        return None if maximum is None else (hi - lo) * maximum
    if first is None:
        # Terms without a bound are dropped if, together with the constant term, they are nonnegative.
        hard, easy = separate_composites(value, variable)
        hard, easy = hard + easy.constant_term, easy - easy.constant_term
        droppable = easy and facts.with_symbol(variable, (lo,), (hi - 1,)).nonnegative(hard)
        return _bound_in_budget(sum_over, easy, variable, lo, hi, facts, False, 0) if droppable else None
    gaps = [atom for atom in value.atoms() if isinstance(atom, a.Gap) and variable in atom.names]
    if upper and len(gaps) == 1 and _has_distinct_segments(gaps[0], variable):
        # Distinct segments together have at most `total` entries.
        parts = value.coefficients(gaps[0])
        rest = bound_sum(parts.get(0, ZERO), variable, lo, hi, facts, True)
        if (
            rest is not None
            and parts.keys() <= {0, 1}
            and facts.nonnegative(parts[1])
            and variable not in parts[1].names
        ):
            return facts.minimum(first, rest + parts[1] * gaps[0].segments.total)
    if len(gaps) < 2:
        return first
    # Products of gaps are bounded by summing over either one.
    second = _bound_in_budget(sum_over, value, variable, lo, hi, facts, upper, -1)
    if second is None or second == first:
        return first
    return facts.minimum(first, second) if upper else facts.maximum(first, second)


def _bound_minima_by_common_side(value: Poly, variable: str, facts: Facts) -> Poly | None:
    """Bound max(0, min(e, f)) by max(0, e) where e is free of the variable; None unless the whole value then is."""

    def bound_outer(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.PositivePart) or variable not in atom.names:
            return None
        # min(e, f) is f - max(0, f - e).
        inner = atom.argument
        for part in [part for part in inner.atoms() if isinstance(part, a.PositivePart)]:
            if inner.coefficients(part).get(1) == -ONE:
                inner = facts.simplify(inner.replace_atom(part, part.argument))
        return facts.positive_part(inner)

    added = all(coefficient > 0 for coefficient in value.terms.values())
    bound = value.map_atoms(bound_outer) if added else value
    return None if variable in bound.names else bound


def _has_distinct_segments(gap: a.Gap, variable: str) -> bool:
    """Test whether values of the variable have distinct segments and skip some, as in gap(2*v + c)."""
    slope = gap.index - gap.index.substitute({variable: Poly.symbol(variable) - 1})
    return slope.is_constant and abs(slope.constant_term) > 1


def bound_nonnegative_maximum(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool) -> Poly | None:
    """Return a bound on the maximum of a nonnegative `value` over the nonempty range, or None."""
    bound = bound_signed_maximum(value, variable, lo, hi, facts, upper)
    if bound is not None:
        return bound
    if upper:
        # The maximum of nonnegative values is at most their sum.
        return _bound_in_budget(sum_over, value, variable, lo, hi, facts, True, 0)
    # Any value that is taken is a lower bound of the maximum.
    return facts.simplify(value.substitute({variable: lo})) if _is_independent_of_data(value, variable) else None


def bound_signed_maximum(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool) -> Poly | None:
    """Return a bound on the maximum of a `value` of any sign over the nonempty range, or None.

    If all values are negative, a lower bound may be 0: it bounds the maximum of max(0, value).
    """
    return _bound_in_budget(max_over, value, variable, lo, hi, facts, upper, 0)


def _is_independent_of_data(value: Poly, variable: str) -> bool:
    return not any(isinstance(atom, a.Gap | a.Data) for atom in value.atoms() if variable in atom.names)


_Range = tuple[Poly | None, Poly | None]


def _bound_in_budget(
    operation: RangeOperation, value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool, prefer: int
) -> Poly | None:
    try:
        with limit_effort(MAX_PRODUCTS):
            return _relax_until_resolved(operation, value, variable, lo, hi, facts, upper, prefer)
    except OutOfBudgetError:
        return None


def _relax_until_resolved(
    operation: RangeOperation, value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool, prefer: int
) -> Poly | None:
    """Apply a sum or maximum, replacing each atom that it cannot resolve by a bound; None if an atom has no bound."""
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    for _ in range(MAX_ROUNDS):
        try:
            return operation(value, variable, lo, hi, facts)
        except UnresolvedError as problem:
            if variable != problem.variable:
                return None
            # An upper bound includes every part between conditions, a lower bound only nonempty parts.
            parts = derive_part_maxima(value, variable, lo, hi, facts) if operation is max_over else []
            if maxima := [peak for peak, nonempty in parts if upper or nonempty == ONE]:
                return maximum_of_values(maxima, facts)
            value = inside.simplify(value)
            relaxed = None
            if operation is sum_over and isinstance(problem.atom, a.Gap):
                relaxed = _relax_gaps(value, variable, lo, hi, inside, upper, prefer)
            elif (pair := match_condition_pair(value, problem.atom, inside)) is not None:
                relaxed = pair.bound(inside, upper)
            if relaxed is None or relaxed == value:
                relaxed = replace_atom_by_bound(value, problem.atom, inside, upper)
        except TooComplexError:
            return None
        if relaxed is None or relaxed == value:
            return None
        value = relaxed
    return None


def _relax_gaps(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool, prefer: int) -> Poly | None:
    """Reduce each term to one gap with a coefficient free of the variable, so that the sum telescopes.

    Upper: gap^d <= longest^(d - 1)*gap, other gaps are at most their longest, and v <= hi - 1. Lower: gap^d >= gap for
    integers, other gaps are at least 0, and v >= lo. `prefer` is the index of the gap that remains. None if another
    factor may be negative, or is an atom with the variable inside.
    """
    result = ZERO
    for monomial, coefficient in value.terms.items():
        powers = dict(monomial)
        gaps = sorted((g for g in powers if isinstance(g, a.Gap) and variable in g.names), key=lambda gap: gap.key)
        if not gaps:
            result = result + Poly({monomial: coefficient})
            continue
        cofactors = {atom: power for atom, power in powers.items() if atom not in gaps}
        if not all(facts.nonnegative(Poly.of_atom(atom)) for atom in cofactors) or any(
            is_composite_in(atom, variable) for atom in cofactors
        ):
            return None
        growing = upper == (coefficient > 0)
        if len(gaps) > 1 and not growing:
            continue
        term = Poly({tuple(cofactors.items()): coefficient})
        if Symbol(variable) in cofactors:
            term = term.substitute({variable: hi - 1 if growing else lo})
        preferred = gaps[prefer]
        if growing:
            for gap in gaps:
                term = term * gap.segments.ceiling ** (powers[gap] - (gap is preferred))
        result = result + term * Poly.of_atom(preferred)
    return result


def _bound_offsets(value: Poly, atom: a.Offset, facts: Facts, upper: bool) -> Poly | None:
    """Bound c*(array[e + w] - array[e]) for w >= 0 by 0 and c*min(total, w*longest); `atom` is one of the two.

    None if `value` is not linear in it, if the other one is missing, or if a sign is unknown.
    """
    parts = value.coefficients(atom)
    if 1 not in parts or set(parts) - {0, 1}:
        # The atom occurs inside another atom, or in a power.
        return None
    slope, rest = parts[1], parts.get(0, ZERO)
    for partner in sorted(rest.atoms(), key=str):
        if not isinstance(partner, a.Offset) or partner.segments != atom.segments:
            continue
        width = facts.simplify(atom.index - partner.index)
        remainder = rest + slope * Poly.of_atom(partner)
        if len(remainder.terms) >= len(rest.terms):
            continue
        if facts.nonnegative(width):
            factor = slope
        elif facts.nonnegative(-width):
            width, factor = -width, -slope
        else:
            continue
        maximum = facts.minimum(atom.segments.total, width * atom.segments.ceiling)
        if facts.nonnegative(factor):
            return remainder + factor * maximum if upper else remainder
        if facts.nonnegative(-factor):
            return remainder if upper else remainder + factor * maximum
    return None


def replace_atoms_by_bounds(value: Poly, find: Callable[[Poly], Atom | None], facts: Facts, upper: bool) -> Poly | None:
    """Replace the atoms that `find` returns, one after the other, by their minimum or maximum values.

    Ends when `find` returns None; the result is None if an atom has no bound, or after MAX_REPLACED atoms.
    """
    for _ in range(MAX_REPLACED):
        atom = find(value)
        if atom is None:
            return value
        bounded = replace_atom_by_bound(value, atom, facts, upper)
        if bounded is None:
            return None
        value = bounded
    return None


def find_floor_by_number(value: Poly, names: frozenset[str] | None = None) -> Atom | None:
    """Return a floor(e/m) with a constant m, and with one of the `names` if given; None if none occurs.

    `replace_atoms_by_bounds` replaces it by a bound.
    """
    floors = (atom for atom in sorted(value.atoms(), key=str) if isinstance(atom, a.Floor) and atom.modulus.is_constant)
    return next((floor for floor in floors if names is None or names & floor.names), None)


def replace_atom_by_bound(value: Poly, atom: Atom, facts: Facts, upper: bool) -> Poly | None:
    """Replace an atom by its minimum or maximum value, term by term; None if it has no bound.

    If the atom occurs inside another one, that one is replaced first; a bound of it may still contain the atom.
    """
    if isinstance(atom, a.Offset) and (bounded := _bound_offsets(value, atom, facts, upper)) is not None:
        return bounded
    outer = next(
        (whole for whole in sorted(value.atoms(), key=str) if whole != atom and contains_atom(whole, atom)), None
    )
    if outer is None:
        return _replace_atom_by_range(value, atom, find_atom_range(atom, facts), facts, upper)
    low, high = _find_outer_range(outer, atom, facts)
    if low is None and not upper and isinstance(outer, a.CeilLog2 | a.PositivePart | a.Exponential):
        # A level, a maximum or a power is at least 0 even if nothing is known of the argument. For upper bounds,
        # other methods are sharper than dropping subtracted terms.
        low = ZERO
    return _replace_atom_by_range(value, outer, (low, high), facts, upper)


def _replace_atom_by_range(value: Poly, atom: Atom, ends: _Range, facts: Facts, upper: bool) -> Poly | None:
    low, high = ends
    result = ZERO
    for monomial, coefficient in value.terms.items():
        term = Poly({monomial: coefficient})
        power = dict(monomial).get(atom, 0)
        if power == 0:
            result = result + term
            continue
        if power < 0 or not all(facts.nonnegative(Poly.of_atom(factor)) for factor, _ in monomial if factor != atom):
            return None
        end = high if upper == (coefficient > 0) else low
        if end is None or (power > 1 and (low is None or not facts.nonnegative(low))):
            return None
        result = result + term.replace_atom(atom, end)
    return result


def _find_outer_range(outer: Atom, atom: Atom, facts: Facts) -> _Range:
    """Return the range of `outer`, a nondecreasing function of an argument that contains `atom`, from the argument's.

    If `outer` is a floor and `atom` a power in its modulus, the range still contains the power.
    """
    if isinstance(outer, a.Sequence) or (isinstance(atom, a.Gap) and isinstance(outer, a.PositivePart | a.Floor)):
        # The range of a maximum or floor is linear in the argument, so that gaps still telescope.
        return find_atom_range(outer, facts)
    monotone = isinstance(outer, a.PositivePart | a.CeilLog2 | a.Exponential) or (
        isinstance(outer, a.Floor) and outer.modulus.is_constant
    )
    if not monotone:
        by_power = isinstance(outer, a.Floor) and isinstance(atom, a.Exponential) and atom in outer.modulus.atoms()
        return find_atom_range(outer, facts) if by_power else (None, None)
    argument, *rest = outer.parts
    ends = []
    for upper in (False, True):
        end = replace_atom_by_bound(argument, atom, facts, upper)
        ends.append(None if end is None else outer.rebuild((end, *rest)))
    return ends[0], ends[1]


def find_atom_range(atom: Atom, facts: Facts) -> _Range:
    """Return a lower and an upper bound on an atom that follow from the facts; None for one that is not found. They
    need not be attained.
    """
    match atom:
        case Symbol():
            bounds = facts.bounds[atom.name]
            return (bounds.lower or (None,))[0], (bounds.upper or (None,))[0]
        case a.PositivePart():
            return ZERO, _bound_positive_part_above(atom, facts)
        case a.Floor():
            argument, modulus = atom.parts
            if (by_multiples := _divide_by_multiples(argument, modulus, facts)) is not None:
                return by_multiples
            power = a.find_exponent_of_two(modulus)
            if len(modulus.terms) == 1 and (power is not None or _lacks_youngest_symbol(modulus, argument, facts)):
                inverse = modulus**-1
                return (argument - modulus + 1) * inverse, argument * inverse
            minimum = ONE if facts.nonnegative(argument - modulus) else ZERO
            return (minimum, argument) if facts.nonnegative(argument) else (None, None)
        case a.CeilLog2():
            youngest = max(map(Symbol, atom.names), key=facts.ages.__getitem__)
            low, high = _find_outer_range(atom, youngest, facts)
            return low or ZERO, high or (atom.argument if facts.nonnegative(atom.argument) else None)
        case a.RealFunction(function="isqrt") if (split := _split_square(atom.argument)) is not None and all(
            facts.integral(part) and facts.nonnegative(part) for part in split
        ):
            # g*isqrt(e) <= isqrt(g^2*e) <= g*isqrt(e) + g
            whole = split[0] * a.floor_sqrt(split[1])
            return whole, whole + split[0]
        case a.RealFunction(function="isqrt" | "sqrt") if facts.nonnegative(atom.argument):
            # 0 <= sqrt(e) <= e for integers e >= 0
            return (ZERO, atom.argument) if facts.integral(atom.argument) else (ZERO, None)
        case a.RealFunction(function="log2") if facts.positive(atom.argument):
            # log2(1/2) < 0
            rises = a.is_integral(atom.argument) or facts.nonnegative(atom.argument - 1)
            return ZERO if rises else None, a.tangent_of_log2(atom.argument)
        case a.CommonDivisor():
            return Poly.constant(1), next((part for part in atom.parts if facts.positive(part)), None)
        case a.Gap():
            return ZERO, atom.segments.ceiling
        case a.Offset():
            return ZERO, atom.segments.total
        case a.Data():
            return atom.low, atom.high
        case a.Sequence():
            lower, upper = enclose_sequence(atom, facts.nonnegative)
            return lower[0] if lower else None, upper[0] if upper else None
        case a.AppliedFunction():
            return ZERO, None
        case a.Quotient() if facts.nonnegative(atom.argument) and facts.nonnegative(atom.divisor):
            return ZERO, atom.argument
        case _:
            return None, None


def _divide_by_multiples(argument: Poly, modulus: Poly, facts: Facts) -> _Range | None:
    """Bound floor(e/(s*v + c)), for the youngest symbol v >= lo, by quotients by multiples of w = v - lo + 1.

    For the value d = s*lo + c of the divisor at lo it is from min(s, d)*w to max(s, d)*w. None for other quotients.
    """
    youngest = max(modulus.names, key=lambda name: facts.ages[Symbol(name)], default="")
    line = modulus.coefficients(Symbol(youngest))
    lows = facts.bounds[youngest].lower if youngest in facts.bounds else ()
    if set(line) != {0, 1} or len(lows) != 1 or youngest in argument.names or not facts.nonnegative(argument):
        return None
    slope, first = line[1], line[1] * lows[0] + line[0]
    if not slope.is_constant or not first.is_constant or min(slope.constant_term, first.constant_term) < 1:
        return None
    place = Poly.symbol(youngest) - lows[0] + 1
    ends = sorted((slope.constant_term, first.constant_term), reverse=True)
    low, high = (a.floor_div(argument, place.scaled(number)) for number in ends)
    return None if Poly.of_atom(a.Floor(argument, modulus)) in (low, high) else (low, high)


def _split_square(value: Poly) -> tuple[Poly, Poly] | None:
    """Return g and e of g^2*e for the greatest product g of symbols; None if the value is not such a product."""
    if len(value.terms) != 1:
        return None
    ((monomial, _),) = value.terms.items()
    root = Poly({tuple((atom, power // 2) for atom, power in monomial if power > 1): fmpq(1)})
    return None if root.is_constant else (root, value * root**-2)


def _lacks_youngest_symbol(value: Poly, other: Poly, facts: Facts) -> bool:
    """Test whether the youngest symbol, the variable of a sum, occurs only in `other`, and `value` lacks L.

    Quotients by the line length L stay whole numbers of lines.
    """
    if "L" in value.names:
        return False
    youngest = max(value.names | other.names, key=lambda name: facts.ages[Symbol(name)], default="")
    return youngest not in value.names


def _bound_positive_part_above(atom: a.PositivePart, facts: Facts) -> Poly | None:
    """Return the positive terms of e, a bound of max(0, e), if they are >= 0 and the rest is <= 0; else None."""
    positive = atom.argument.positive_terms()
    rest = atom.argument - positive
    return positive if facts.nonnegative(positive) and facts.nonnegative(-rest) else None


HALF = fmpq(1, 2)


def remove_rounding(value: Poly) -> Poly:
    """Drop rounding and lower terms of maxima, for growth: n//2 and n - n//2 -> n/2, max(0, n - 1) -> n."""

    def without_rounding(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant:
                return remove_rounding(atom.argument).scaled(1 / atom.modulus.constant_term)
            case a.Quotient(argument=argument, divisor=divisor) if len(remove_rounding(divisor).terms) == 1:
                return remove_rounding(argument) * remove_rounding(divisor) ** -1
            case a.Exponential(base=2, exponent=exponent):
                return _rewrite_power_as_root(remove_rounding(exponent))
            case a.PositivePart(argument=argument):
                terms = remove_rounding(argument).terms
                return Poly({term: share for term, share in terms.items() if term and share > 0})
            case _:
                return None

    return value.map_atoms(without_rounding)


def bound_without_rounding(value: Poly) -> Poly:
    """Return an upper bound without rounding; subtracted terms may be rounded down, so they are dropped first."""
    positive = value.positive_terms()

    def without_rounding(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant or len(atom.modulus.terms) == 1:
                return bound_without_rounding(atom.argument) * atom.modulus**-1
            case a.Quotient(argument=argument, divisor=divisor) if len(remove_rounding(divisor).terms) == 1:
                return bound_without_rounding(argument) * remove_rounding(divisor) ** -1
            case a.PositivePart(argument=argument):
                return bound_without_rounding(argument)
            case _:
                return None

    return remove_rounding(positive.map_atoms(without_rounding))


def _rewrite_power_as_root(exponent: Poly) -> Poly | None:
    """Return sqrt(w) for 2^(log2(w)/2), else None."""
    match list(exponent.terms.items()):
        case [(((a.RealFunction(function="log2", argument=argument), 1),), share)] if share == HALF:
            return a.sqrt(argument)
        case _:
            return None
