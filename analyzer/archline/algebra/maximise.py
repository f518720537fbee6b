"""Derives the maximum of an expression over a loop variable, which the span of a parallel loop needs.

The range is cut where a max changes its branch and where a floor repeats; on each part a monotone expression has its
maximum at an end. The ends, clamped into the range, are the candidates: each is a value that is taken, and together
they include the maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.sums.blocks import match_condition_pair
from archline.algebra.sums.summation import (
    UnresolvedError,
    cache_by_facts,
    compute_floor_period,
    cut_at_condition,
    cut_where_positive,
    find_covered_segments,
    find_sign_change,
    is_composite_in,
    measure_complexity,
)

MAX_CANDIDATES = 24
MAX_PERIOD = 6
MAX_PRODUCTS = 10_000
"""The limit of term products for the maxima on parts of a range; beyond it, bounds are coarser."""
MAX_CUTS = 8
"""Nested cuts of a range; each one can double the number of parts."""


@cache_by_facts
def max_over(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Return the maximum of `value` for lo <= variable < hi, given lo < hi. Raises UnresolvedError.

    Parts of the range with values <= 0 may count as 0, so the result is only an upper bound if all values are
    negative.
    """
    if variable not in value.names:
        return value
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    value = inside.simplify(value)
    if variable not in value.names:
        return value
    value = _replace_covered_gap(value, variable, lo, hi, facts)
    slope = find_direction(value, variable, hi, inside)
    if slope is not None:
        return facts.simplify(value.substitute({variable: hi - 1 if slope > 0 else lo}))
    reached = _maximum_by_condition(value, variable, lo, hi, facts, inside)
    if reached is not None:
        return reached
    try:
        return _maximum_of_candidates(value, variable, lo, hi, facts, inside)
    except UnresolvedError:
        candidates = [peak * nonempty for peak, nonempty in derive_part_maxima(value, variable, lo, hi, facts)]
        for candidate in candidates:
            if all(facts.nonnegative(candidate - rival) for rival in candidates):
                return candidate
        raise


def derive_part_maxima(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> list[tuple[Poly, Poly]]:
    """Return the maxima on the parts of a range between conditions, each with 1 if that part is not empty, else 0.

    Empty if a maximum is unknown or not known to be nonnegative, or if the range has one part only.
    """
    try:
        with limit_effort(MAX_PRODUCTS):
            return _derive_maxima_in_budget(value, variable, lo, hi, facts)
    except OutOfBudgetError:
        return []


def _derive_maxima_in_budget(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> list[tuple[Poly, Poly]]:
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    parts = list(_split_range(value, variable, lo, hi, facts, inside, MAX_CUTS))
    maxima = []
    for part, start, end in parts if len(parts) > 1 else ():
        trips = facts.simplify(end - start)
        # A part lies within the parts it was cut from, so they are not empty if it is not.
        nonempty = facts.simplify(facts.positive_part(trips) - facts.positive_part(trips - 1))
        within = facts.with_nonnegative(trips - 1)
        try:
            maximum = max_over(part, variable, start, end, within)
        except UnresolvedError:
            return []
        if not within.nonnegative(maximum):
            return []
        maxima.append((maximum, nonempty))
    return maxima


def _split_range(
    value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts, cuts: int
) -> Iterator[tuple[Poly, Poly, Poly]]:
    """Yield (value, start, end) of parts where no condition or argument of a max changes sign; values <= 0 become 0.

    `inside` are the facts for a value of the variable in the range.
    """
    value = inside.simplify(value)
    if inside.nonnegative(-value):
        yield ZERO, lo, hi
        return
    if facts.nonnegative(lo + 1 - hi):
        value = inside.simplify(value.substitute({variable: min(lo, hi - 1, key=measure_complexity)}))
    atoms = sorted((atom for atom in value.atoms() if is_composite_in(atom, variable)), key=str)
    possible = [cut for atom in atoms if (cut := cut_at_condition(value, atom, variable, lo, hi, facts, inside))]
    if not possible:
        possible = [cut for atom in atoms if (cut := cut_where_positive(value, atom, variable, lo, hi, facts))]
    if not possible or not cuts:
        yield value, lo, hi
        return
    cut = min(possible, key=lambda candidate: measure_complexity(candidate.middle))
    if cut.middle != lo:
        below = facts.with_symbol(variable, (lo,), (cut.middle - 1, hi - 1, cut.point - 1))
        yield from _split_range(cut.below, variable, lo, cut.middle, facts, below, cuts - 1)
    if cut.middle != hi:
        above = facts.with_symbol(variable, (cut.middle, lo, cut.point), (hi - 1,))
        yield from _split_range(cut.above, variable, cut.middle, hi, facts, above, cuts - 1)


def _maximum_by_condition(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts) -> Poly | None:
    """Return the greater of two values between which (variable + c) mod m < t selects, if it is attained; else None."""
    atom = next((candidate for candidate in sorted(value.atoms(), key=str) if isinstance(candidate, a.Floor)), None)
    pair = None if atom is None else match_condition_pair(value, atom, inside)
    if pair is None or pair.modulus is None:
        return None
    shift = pair.argument - Poly.symbol(variable)
    if variable in shift.names | pair.modulus.names | pair.width.names | pair.weight.names | pair.rest.names:
        return None
    added = facts.nonnegative(pair.weight)
    if not added and not facts.nonnegative(-pair.weight):
        return None
    residues = pair.width if added else pair.modulus - pair.width
    reaches_all = facts.nonnegative(hi - lo - (pair.modulus - residues + 1)) and facts.positive(residues)
    greater = pair.rest + (pair.weight if added else ZERO)
    if reaches_all or any(facts.simplify(value.substitute({variable: end})) == greater for end in (lo, hi - 1)):
        return greater
    return None


def maximum_of_values(values: list[Poly], facts: Facts) -> Poly:
    """Return the maximum of several expressions, leaving out each that is proved to be at most another one."""
    maximal: list[Poly] = []
    for value in dict.fromkeys(values):
        if any(facts.nonnegative(rival - value) for rival in maximal):
            continue
        maximal = [rival for rival in maximal if not facts.nonnegative(value - rival)]
        maximal.append(value)
    result, *rest = maximal
    for value in rest:
        result = facts.maximum(result, value)
    return result


def find_direction(value: Poly, variable: str, hi: Poly, inside: Facts) -> int | None:
    """Return 1 if the expression is nondecreasing in the variable, -1 if nonincreasing, None if unknown."""
    now = Poly.symbol(variable)
    # These facts hold where both v and v + 1 lie in the range.
    pair = inside.with_nonnegative(hi - 2 - now)
    by_atom = _find_single_atom_direction(value, variable, pair)
    if by_atom is not None:
        return by_atom
    step = pair.simplify(value.substitute({variable: now + 1})) - value
    if pair.nonnegative(step):
        return 1
    if pair.nonnegative(-step):
        return -1
    signs = {
        _find_term_direction(monomial, coefficient > 0, variable, pair) for monomial, coefficient in value.terms.items()
    }
    signs.discard(0)
    if signs == {1}:
        return 1
    return -1 if signs == {-1} else None


def _find_single_atom_direction(value: Poly, variable: str, facts: Facts) -> int | None:
    """Return the direction if the variable occurs in one power of one atom only, else None."""
    inside = [atom for atom in value.atoms() if variable in atom.names]
    if len(inside) != 1:
        return None
    (atom,) = inside
    parts = value.coefficients(atom)
    sign = _find_atom_direction(atom, variable, facts)
    powers = parts.keys() - {0}
    if sign is None or len(powers) != 1 or not (isinstance(atom, a.Exponential) or powers == {1}):
        return None
    (power,) = powers
    sign = sign if power > 0 else -sign
    if facts.nonnegative(parts[power]):
        return sign
    return -sign if facts.nonnegative(-parts[power]) else None


def _find_term_direction(
    monomial: tuple[tuple[Atom, int], ...], positive: bool, variable: str, facts: Facts
) -> int | None:
    """Return 1 if a term does not decrease with `variable`, -1 if it does not increase, 0 if constant; None if unknown.

    `positive` is the sign of its coefficient. It is known if all factors are nonnegative and change the same way.
    """
    signs = set()
    for atom, power in monomial:
        if variable in atom.names:
            if power < 0 or not facts.nonnegative(Poly.of_atom(atom)):
                return None
            signs.add(_find_atom_direction(atom, variable, facts))
        elif not facts.nonnegative(Poly.of_atom(atom)):
            return None
    if not signs:
        return 0
    if len(signs) > 1 or None in signs:
        return None
    (sign,) = signs
    return sign if positive else -(sign or 0)


def _find_atom_direction(atom: Atom, variable: str, facts: Facts) -> int | None:
    """Return 1 or -1 as the first part of an atom rises or falls, if the atom is nondecreasing in it; else None."""
    if isinstance(atom, Symbol):
        return 1
    rising = a.PositivePart | a.Floor | a.CeilLog2 | a.Exponential | a.RealFunction | a.Offset
    if isinstance(atom, rising) or (isinstance(atom, a.Sequence) and atom.name not in ("digit_sum", "floor_sum")):
        if any(variable in part.names for part in atom.parts[1:]):
            return None
        argument = atom.parts[0]
        step = argument.substitute({variable: Poly.symbol(variable) + 1}) - argument
        if facts.nonnegative(step):
            return 1
        return -1 if facts.nonnegative(-step) else None
    return None


def _replace_covered_gap(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Replace the only gap in a value by the longest one if the range covers all segments; else raise UnresolvedError.

    A value without a gap, or with several, is returned unchanged.
    """
    gaps = [atom for atom in value.atoms() if isinstance(atom, a.Gap) and variable in atom.names]
    if len(gaps) != 1:
        return value
    (gap,) = gaps
    parts = value.coefficients(gap)
    all_segments = (Poly.constant(0), gap.segments.count)
    attained = find_covered_segments(gap, variable, lo, hi) == all_segments and gap.segments.attained
    constant = all(variable not in part.names for part in parts.values())
    rising = all(facts.nonnegative(part) for power, part in parts.items() if power)
    if not (attained and constant and rising):
        raise UnresolvedError(gap, variable)
    return value.replace_atom(gap, gap.segments.ceiling)


def _maximum_of_candidates(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts) -> Poly:
    cuts, period = _find_cuts_and_period(value, variable, facts)
    _require_monotone_parts(value, variable, period, hi, inside)
    last = hi - 1
    points: list[Poly] = []
    for shift in range(period):
        points.extend((facts.minimum(lo + shift, last), facts.maximum(last - shift, lo)))
        for cut in cuts:
            for point in (cut + shift, cut - 1 - shift):
                points.append(facts.minimum(facts.maximum(point, lo), last))
    points = list(dict.fromkeys(points))
    if len(points) > MAX_CANDIDATES:
        raise UnresolvedError(Symbol(variable), variable)
    return maximum_of_values([facts.simplify(value.substitute({variable: point})) for point in points], facts)


def _find_cuts_and_period(value: Poly, variable: str, facts: Facts) -> tuple[list[Poly], int]:
    """Return the points where a maximum changes branch and the common period of floors. Raises UnresolvedError."""
    cuts: list[Poly] = []
    period = 1
    for atom in _list_composite_atoms(value, variable):
        if isinstance(atom, a.PositivePart):
            if any(is_composite_in(inner, variable) for inner in atom.argument.atoms()):
                raise UnresolvedError(atom, variable)
            change = find_sign_change(atom, variable, facts)
            if change is None:
                raise UnresolvedError(atom, variable)
            cuts.append(facts.simplify(change[0]))
        elif isinstance(atom, a.Floor):
            step = compute_floor_period(atom, variable)
            if step is None or lcm(period, step) > MAX_PERIOD:
                raise UnresolvedError(atom, variable)
            period = lcm(period, step)
        else:
            raise UnresolvedError(atom, variable)
    return cuts, period


def _list_composite_atoms(value: Poly, variable: str) -> list[Atom]:
    composites: list[Atom] = []
    for atom in sorted(
        (inner for inner in value.atoms() if is_composite_in(inner, variable)), key=lambda inner: inner.key
    ):
        composites.append(atom)
        for part in atom.parts:
            composites.extend(_list_composite_atoms(part, variable))
    return composites


def _require_monotone_parts(value: Poly, variable: str, period: int, hi: Poly, inside: Facts) -> None:
    """Raise UnresolvedError unless the expression is monotone on every branch, in steps of the period."""
    branches = [value]
    for atom in _list_composite_atoms(value, variable):
        if isinstance(atom, a.PositivePart):
            branches = [
                branch.replace_atom(atom, chosen) for branch in branches for chosen in (Poly.constant(0), atom.argument)
            ]
    if len(branches) > MAX_CANDIDATES:
        raise UnresolvedError(Symbol(variable), variable)
    now = Poly.symbol(variable)
    within = inside.with_nonnegative(hi - 1 - period - now)
    for branch in dict.fromkeys(branches):
        step = branch.substitute({variable: now + period}) - branch
        if not (within.nonnegative(step) or within.nonnegative(-step)):
            raise UnresolvedError(Symbol(variable), variable)
