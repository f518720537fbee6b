"""The largest value of an expression over a loop variable: what the span of a parallel loop needs.

The range is cut where a max changes its branch and where a floor repeats; on each part a monotone expression has its
maximum at an end. The ends, clamped into the range, are the candidates: each is a value that is taken, and together
they include the largest.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, budget
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.sums.blocks import pair_of
from archline.algebra.sums.summation import (
    UnresolvedError,
    complexity,
    covered_segments,
    cut_at,
    cut_where_positive,
    depends,
    floor_period,
    remembered,
    threshold,
)

MAX_CANDIDATES = 24
MAX_PERIOD = 6
MAX_PRODUCTS = 10_000
"""How much is spent on the parts of a range, without which there are coarser bounds."""
MAX_CUTS = 8
"""Conditions at which a range is cut, which gives up to twice as many parts each time."""


@remembered
def max_over(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """The largest `value` for lo <= variable < hi; needs lo < hi. Raises UnresolvedError."""
    if variable not in value.names:
        return value
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    value = inside.simplify(value)
    if variable not in value.names:
        return value
    value = _whole_gaps(value, variable, lo, hi, facts)
    slope = direction(value, variable, hi, inside)
    if slope is not None:
        return facts.simplify(value.substitute({variable: hi - 1 if slope > 0 else lo}))
    reached = _of_condition(value, variable, lo, hi, facts, inside)
    if reached is not None:
        return reached
    try:
        return _over_candidates(value, variable, lo, hi, facts, inside)
    except UnresolvedError:
        found = [each * some for each, some in peaks(value, variable, lo, hi, facts)]
        for most in found:
            if all(facts.nonnegative(most - other) for other in found):
                return most
        raise


def peaks(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> list[tuple[Poly, Poly]]:
    """The largest values on the parts of a range between conditions; and 1 where that part is not empty, else 0.

    None where one is not known, or not to be at least 0, or where there is one part only.
    """
    try:
        with budget(MAX_PRODUCTS):
            return _peaks(value, variable, lo, hi, facts)
    except OutOfBudgetError:
        return []


def _peaks(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> list[tuple[Poly, Poly]]:
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    parts = list(_parts(value, variable, lo, hi, facts, inside, MAX_CUTS))
    found = []
    for part, start, end in parts if len(parts) > 1 else ():
        trips = facts.simplify(end - start)
        # A part lies within those that it was cut from: where it is not empty, they are not.
        some = facts.simplify(facts.positive_part(trips) - facts.positive_part(trips - 1))
        within = facts.with_nonnegative(trips - 1)
        try:
            most = max_over(part, variable, start, end, within)
        except UnresolvedError:
            return []
        if not within.nonnegative(most):
            return []
        found.append((most, some))
    return found


def _parts(
    value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts, cuts: int
) -> Iterator[tuple[Poly, Poly, Poly]]:
    """A value on the parts of a range between which a condition changes, or the argument of a max its sign."""
    value = inside.simplify(value)
    if inside.nonnegative(-value):
        yield ZERO, lo, hi
        return
    if facts.nonnegative(lo + 1 - hi):
        value = inside.simplify(value.substitute({variable: min(lo, hi - 1, key=complexity)}))
    atoms = sorted((each for each in value.atoms() if depends(each, variable)), key=str)
    possible = [cut for atom in atoms if (cut := cut_at(value, atom, variable, lo, hi, facts, inside))]
    if not possible:
        possible = [cut for atom in atoms if (cut := cut_where_positive(value, atom, variable, lo, hi, facts))]
    if not possible or not cuts:
        yield value, lo, hi
        return
    cut = min(possible, key=lambda each: complexity(each.middle))
    if cut.middle != lo:
        below = facts.with_symbol(variable, (lo,), (cut.middle - 1, hi - 1, cut.point - 1))
        yield from _parts(cut.below, variable, lo, cut.middle, facts, below, cuts - 1)
    if cut.middle != hi:
        above = facts.with_symbol(variable, (cut.middle, lo, cut.point), (hi - 1,))
        yield from _parts(cut.above, variable, cut.middle, hi, facts, above, cuts - 1)


def _of_condition(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts) -> Poly | None:
    """The greater of two values between which a condition (v + c) mod m < t decides, if the range reaches it."""
    atom = next((each for each in sorted(value.atoms(), key=str) if isinstance(each, a.Floor)), None)
    pair = None if atom is None else pair_of(value, atom, inside)
    if pair is None or pair.modulus is None:
        return None
    shift = pair.argument - Poly.symbol(variable)
    if variable in shift.names | pair.modulus.names | pair.width.names | pair.weight.names | pair.rest.names:
        return None
    taken = facts.nonnegative(pair.weight)
    if not taken and not facts.nonnegative(-pair.weight):
        return None
    holding = pair.width if taken else pair.modulus - pair.width
    many = facts.nonnegative(hi - lo - (pair.modulus - holding + 1)) and facts.positive(holding)
    greater = pair.rest + (pair.weight if taken else ZERO)
    if many or any(facts.simplify(value.substitute({variable: end})) == greater for end in (lo, hi - 1)):
        return greater
    return None


def largest(values: list[Poly], facts: Facts) -> Poly:
    """The maximum of several expressions, leaving out those that another one is proved to reach."""
    kept: list[Poly] = []
    for value in dict.fromkeys(values):
        if any(facts.nonnegative(other - value) for other in kept):
            continue
        kept = [other for other in kept if not facts.nonnegative(value - other)]
        kept.append(value)
    result, *others = kept
    for value in others:
        result = facts.maximum(result, value)
    return result


def direction(value: Poly, variable: str, hi: Poly, inside: Facts) -> int | None:
    """+1 where the expression never falls in the variable, -1 where it never rises, None where not known."""
    now = Poly.symbol(variable)
    # Both v and v + 1 lie in the range here.
    pair = inside.with_nonnegative(hi - 2 - now)
    by_atom = _single_direction(value, variable, pair)
    if by_atom is not None:
        return by_atom
    step = pair.simplify(value.substitute({variable: now + 1})) - value
    if pair.nonnegative(step):
        return 1
    if pair.nonnegative(-step):
        return -1
    signs = {
        _term_direction(monomial, coefficient > 0, variable, pair) for monomial, coefficient in value.terms.items()
    }
    signs.discard(0)
    if signs == {1}:
        return 1
    return -1 if signs == {-1} else None


def _single_direction(value: Poly, variable: str, facts: Facts) -> int | None:
    """Where the variable enters through one atom only, in one power: its direction times the coefficient's sign."""
    inside = [atom for atom in value.atoms() if variable in atom.names]
    if len(inside) != 1:
        return None
    (atom,) = inside
    parts = value.coefficients(atom)
    sign = _atom_direction(atom, variable, facts)
    powers = parts.keys() - {0}
    if sign is None or len(powers) != 1 or not (isinstance(atom, a.Exponential) or powers == {1}):
        return None
    (power,) = powers
    sign = sign if power > 0 else -sign
    if facts.nonnegative(parts[power]):
        return sign
    return -sign if facts.nonnegative(-parts[power]) else None


def _term_direction(monomial: tuple[tuple[Atom, int], ...], positive: bool, variable: str, facts: Facts) -> int | None:
    """How a product changes: the factors must be nonnegative and all change the same way."""
    signs = set()
    for atom, power in monomial:
        if variable in atom.names:
            if power < 0 or not facts.nonnegative(Poly.of_atom(atom)):
                return None
            signs.add(_atom_direction(atom, variable, facts))
        elif not facts.nonnegative(Poly.of_atom(atom)):
            return None
    if not signs:
        return 0
    if len(signs) > 1 or None in signs:
        return None
    (sign,) = signs
    return sign if positive else -(sign or 0)


def _atom_direction(atom: Atom, variable: str, facts: Facts) -> int | None:
    """Every composite that is a nondecreasing function of its first part changes the way that part does."""
    if isinstance(atom, Symbol):
        return 1
    if isinstance(atom, a.PositivePart | a.Floor | a.CeilLog2 | a.Exponential | a.RealFunction | a.Offset):
        if any(variable in part.names for part in atom.parts[1:]):
            return None
        argument = atom.parts[0]
        step = argument.substitute({variable: Poly.symbol(variable) + 1}) - argument
        if facts.nonnegative(step):
            return 1
        return -1 if facts.nonnegative(-step) else None
    return None


def _whole_gaps(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Over all segments the largest gap is `longest` itself, where the data binds it; the rest must not change."""
    gaps = [atom for atom in value.atoms() if isinstance(atom, a.Gap) and variable in atom.names]
    if len(gaps) != 1:
        return value
    (gap,) = gaps
    parts = value.coefficients(gap)
    everything = (Poly.constant(0), gap.segments.count)
    whole = covered_segments(gap, variable, lo, hi) == everything and gap.segments.attained
    constant = all(variable not in part.names for part in parts.values())
    rising = all(facts.nonnegative(part) for power, part in parts.items() if power)
    if not (whole and constant and rising):
        raise UnresolvedError(gap, variable)
    return value.with_atom(gap, gap.segments.ceiling)


def _over_candidates(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts) -> Poly:
    cuts, period = _cuts(value, variable, facts)
    _require_monotone_parts(value, variable, period, hi, inside)
    last = hi - 1
    points: list[Poly] = []
    for shift in range(period):
        points.extend((facts.minimum(lo + shift, last), facts.maximum(last - shift, lo)))
        for cut in cuts:
            for near in (cut + shift, cut - 1 - shift):
                points.append(facts.minimum(facts.maximum(near, lo), last))
    points = list(dict.fromkeys(points))
    if len(points) > MAX_CANDIDATES:
        raise UnresolvedError(Symbol(variable), variable)
    return largest([facts.simplify(value.substitute({variable: point})) for point in points], facts)


def _cuts(value: Poly, variable: str, facts: Facts) -> tuple[list[Poly], int]:
    """The points at which some max changes branch, and the common period of the floors."""
    cuts: list[Poly] = []
    period = 1
    for atom in _composites(value, variable):
        if isinstance(atom, a.PositivePart):
            if any(depends(each, variable) for each in atom.argument.atoms()):
                raise UnresolvedError(atom, variable)
            change = threshold(atom, variable, facts)
            if change is None:
                raise UnresolvedError(atom, variable)
            cuts.append(facts.simplify(change[0]))
        elif isinstance(atom, a.Floor):
            step = floor_period(atom, variable)
            if step is None or lcm(period, step) > MAX_PERIOD:
                raise UnresolvedError(atom, variable)
            period = lcm(period, step)
        else:
            raise UnresolvedError(atom, variable)
    return cuts, period


def _composites(value: Poly, variable: str) -> list[Atom]:
    found: list[Atom] = []
    for atom in sorted((each for each in value.atoms() if depends(each, variable)), key=lambda each: each.key):
        found.append(atom)
        for part in atom.parts:
            found.extend(_composites(part, variable))
    return found


def _require_monotone_parts(value: Poly, variable: str, period: int, hi: Poly, inside: Facts) -> None:
    """On every part, with each max on a fixed branch and in steps of the period, the expression must be monotone."""
    branches = [value]
    for atom in _composites(value, variable):
        if isinstance(atom, a.PositivePart):
            branches = [
                each.with_atom(atom, chosen) for each in branches for chosen in (Poly.constant(0), atom.argument)
            ]
    if len(branches) > MAX_CANDIDATES:
        raise UnresolvedError(Symbol(variable), variable)
    now = Poly.symbol(variable)
    apart = inside.with_nonnegative(hi - 1 - period - now)
    for branch in dict.fromkeys(branches):
        step = branch.substitute({variable: now + period}) - branch
        if not (apart.nonnegative(step) or apart.nonnegative(-step)):
            raise UnresolvedError(Symbol(variable), variable)
