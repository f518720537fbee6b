"""Bounds where there is no closed form: replace the atom that stands in the way by what it is known to lie between."""

from __future__ import annotations

from collections.abc import Callable

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, TooComplexError, budget
from archline.algebra.facts import Facts
from archline.algebra.maximise import largest, max_over, peaks
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.sums.blocks import pair_of
from archline.algebra.sums.summation import Over, UnresolvedError, contains, depends, separate, sum_over
from archline.numbers import fmpq

MAX_ROUNDS = 12
MAX_PRODUCTS = 20_000
"""How much is spent on one bound; where that is not enough, there is none."""
MAX_REPLACED = 1_000
"""Atoms that are replaced in one expression; bounds of two symbols may be each other."""


def bounded_sum(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool) -> Poly | None:
    """A bound on the sum of a nonnegative `value` over lo <= variable < hi; None where none is found."""
    first = _bounded(sum_over, value, variable, lo, hi, facts, upper, 0)
    if first is None and upper:
        largest = _bounded(max_over, value, variable, lo, hi, facts, True, 0)
        return None if largest is None else (hi - lo) * largest
    if first is None:
        # Terms that have no bound are left out where they, with what is added in each iteration, are at least 0.
        hard, easy = separate(value, variable)
        hard, easy = hard + easy.constant_term, easy - easy.constant_term
        kept = easy and facts.with_symbol(variable, (lo,), (hi - 1,)).nonnegative(hard)
        return _bounded(sum_over, easy, variable, lo, hi, facts, False, 0) if kept else None
    gaps = [atom for atom in value.atoms() if isinstance(atom, a.Gap) and variable in atom.names]
    if upper and len(gaps) == 1 and _is_apart(gaps[0], variable):
        # Segments that are not the same have no more than all together.
        parts = value.coefficients(gaps[0])
        rest = bounded_sum(parts.get(0, ZERO), variable, lo, hi, facts, True)
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
    second = _bounded(sum_over, value, variable, lo, hi, facts, upper, -1)
    if second is None or second == first:
        return first
    return facts.minimum(first, second) if upper else facts.maximum(first, second)


def _is_apart(gap: a.Gap, variable: str) -> bool:
    """Whether each value of the variable has a segment of its own, and some belong to none: gap(2*v + c)."""
    slope = gap.index - gap.index.substitute({variable: Poly.symbol(variable) - 1})
    return slope.is_constant and abs(slope.constant_term) > 1


def bounded_max(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool) -> Poly | None:
    """A bound on the maximum of a nonnegative `value` over the nonempty range; None where none is found."""
    found = bounded_peak(value, variable, lo, hi, facts, upper)
    if found is not None:
        return found
    if upper:
        # The largest of nonnegative values is at most their sum.
        return _bounded(sum_over, value, variable, lo, hi, facts, True, 0)
    # Any value that is taken is a lower bound of the largest.
    return facts.simplify(value.substitute({variable: lo})) if _is_settled(value, variable) else None


def bounded_peak(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool) -> Poly | None:
    """A bound on the maximum of a `value` of any sign over the nonempty range; None where none is found."""
    return _bounded(max_over, value, variable, lo, hi, facts, upper, 0)


def _is_settled(value: Poly, variable: str) -> bool:
    return not any(isinstance(atom, a.Gap | a.Data) for atom in value.atoms() if variable in atom.names)


_Ends = tuple[Poly | None, Poly | None]


def _bounded(
    operation: Over, value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool, prefer: int
) -> Poly | None:
    try:
        with budget(MAX_PRODUCTS):
            return _by_rounds(operation, value, variable, lo, hi, facts, upper, prefer)
    except OutOfBudgetError:
        return None


def _by_rounds(
    operation: Over, value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool, prefer: int
) -> Poly | None:
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    for _ in range(MAX_ROUNDS):
        try:
            return operation(value, variable, lo, hi, facts)
        except UnresolvedError as problem:
            if variable != problem.variable:
                return None
            # From above each part between conditions may have iterations, from below those that do.
            parts = peaks(value, variable, lo, hi, facts) if operation is max_over else []
            if known := [each for each, some in parts if upper or some == ONE]:
                return largest(known, facts)
            value = inside.simplify(value)
            relaxed = None
            if operation is sum_over and isinstance(problem.atom, a.Gap):
                relaxed = _ease_gaps(value, variable, lo, hi, inside, upper, prefer)
            elif (pair := pair_of(value, problem.atom, inside)) is not None:
                relaxed = pair.bound(inside, upper)
            if relaxed is None or relaxed == value:
                relaxed = bound_atom(value, problem.atom, inside, upper)
        except TooComplexError:
            return None
        if relaxed is None or relaxed == value:
            return None
        value = relaxed
    return None


def _ease_gaps(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, upper: bool, prefer: int) -> Poly | None:
    """Leave one gap a term, with a coefficient free of the variable, so that the sum telescopes.

    Upper: gap^d <= longest^(d - 1)*gap, other gaps are at most their longest, and v <= hi - 1. Lower: gap^d >= gap
    for integers, other gaps are at least 0, and v >= lo.
    """
    result = ZERO
    for monomial, coefficient in value.terms.items():
        powers = dict(monomial)
        gaps = sorted((g for g in powers if isinstance(g, a.Gap) and variable in g.names), key=lambda each: each.key)
        if not gaps:
            result = result + Poly({monomial: coefficient})
            continue
        others = {atom: power for atom, power in powers.items() if atom not in gaps}
        if not all(facts.nonnegative(Poly.of_atom(each)) for each in others) or any(
            depends(each, variable) for each in others
        ):
            return None
        growing = upper == (coefficient > 0)
        if len(gaps) > 1 and not growing:
            continue
        term = Poly({tuple(others.items()): coefficient})
        if Symbol(variable) in others:
            term = term.substitute({variable: hi - 1 if growing else lo})
        kept = gaps[prefer]
        if growing:
            for gap in gaps:
                term = term * gap.segments.ceiling ** (powers[gap] - (gap is kept))
        result = result + term * Poly.of_atom(kept)
    return result


def _bound_offsets(value: Poly, atom: a.Offset, facts: Facts, upper: bool) -> Poly | None:
    """c*(array[e + w] - array[e]) with w >= 0 lies between 0 and c*min(total, w*longest); `atom` is one of the two."""
    parts = value.coefficients(atom)
    if 1 not in parts or set(parts) - {0, 1}:
        # It stands inside another atom, or in a power.
        return None
    slope, rest = parts[1], parts.get(0, ZERO)
    for partner in sorted(rest.atoms(), key=str):
        if not isinstance(partner, a.Offset) or partner.segments != atom.segments:
            continue
        width = facts.simplify(atom.index - partner.index)
        left = rest + slope * Poly.of_atom(partner)
        if len(left.terms) >= len(rest.terms):
            continue
        if facts.nonnegative(width):
            factor = slope
        elif facts.nonnegative(-width):
            width, factor = -width, -slope
        else:
            continue
        most = facts.minimum(atom.segments.total, width * atom.segments.ceiling)
        if facts.nonnegative(factor):
            return left + factor * most if upper else left
        if facts.nonnegative(-factor):
            return left if upper else left + factor * most
    return None


def bound_away(value: Poly, find: Callable[[Poly], Atom | None], facts: Facts, upper: bool) -> Poly | None:
    """The value with the atoms that `find` returns replaced, one after the other, by their least or greatest values.

    It is done when `find` returns None; None where an atom has no bound.
    """
    for _ in range(MAX_REPLACED):
        atom = find(value)
        if atom is None:
            return value
        bounded = bound_atom(value, atom, facts, upper)
        if bounded is None:
            return None
        value = bounded
    return None


def floor_by_number(value: Poly, names: frozenset[str] | None = None) -> Atom | None:
    """A floor(e/m) for a number m, with one of the names if some are given: what `bound_away` is to replace."""
    floors = (each for each in sorted(value.atoms(), key=str) if isinstance(each, a.Floor) and each.modulus.is_constant)
    return next((each for each in floors if names is None or names & each.names), None)


def bound_atom(value: Poly, atom: Atom, facts: Facts, upper: bool) -> Poly | None:
    """The expression with an atom replaced by its least or greatest value, term by term.

    Where the atom stands inside another one, that one is replaced first; a bound of it may still hold the atom.
    """
    if isinstance(atom, a.Offset) and (bounded := _bound_offsets(value, atom, facts, upper)) is not None:
        return bounded
    outer = next((each for each in sorted(value.atoms(), key=str) if each != atom and contains(each, atom)), None)
    if outer is None:
        return _replaced(value, atom, atom_range(atom, facts), facts, upper)
    low, high = _range_around(outer, atom, facts)
    if low is None and not upper and isinstance(outer, a.CeilLog2 | a.PositivePart | a.Exponential):
        # Where nothing is known of the argument, a level, a maximum or a power is at least 0 all the same. From above
        # other ways of bounding are sharper than to leave out what is subtracted.
        low = ZERO
    return _replaced(value, outer, (low, high), facts, upper)


def _replaced(value: Poly, atom: Atom, ends: _Ends, facts: Facts, upper: bool) -> Poly | None:
    low, high = ends
    result = ZERO
    for monomial, coefficient in value.terms.items():
        term = Poly({monomial: coefficient})
        power = dict(monomial).get(atom, 0)
        if power == 0:
            result = result + term
            continue
        if power < 0 or not all(facts.nonnegative(Poly.of_atom(each)) for each, _ in monomial if each != atom):
            return None
        end = high if upper == (coefficient > 0) else low
        if end is None or (power > 1 and (low is None or not facts.nonnegative(low))):
            return None
        result = result + term.with_atom(atom, end)
    return result


def _range_around(outer: Atom, atom: Atom, facts: Facts) -> _Ends:
    """The range of a nondecreasing function of an expression with the atom, from the range of that expression.

    That of a floor by a power holds the power still.
    """
    if isinstance(atom, a.Gap) and isinstance(outer, a.PositivePart | a.Floor):
        # Linear in the argument, so that gaps still telescope.
        return atom_range(outer, facts)
    monotone = isinstance(outer, a.PositivePart | a.CeilLog2 | a.Exponential) or (
        isinstance(outer, a.Floor) and outer.modulus.is_constant
    )
    if not monotone:
        by_power = isinstance(outer, a.Floor) and isinstance(atom, a.Exponential) and atom in outer.modulus.atoms()
        return atom_range(outer, facts) if by_power else (None, None)
    argument, *others = outer.parts
    ends = []
    for upper in (False, True):
        end = bound_atom(argument, atom, facts, upper)
        ends.append(None if end is None else outer.rebuild((end, *others)))
    return ends[0], ends[1]


def atom_range(atom: Atom, facts: Facts) -> _Ends:
    """The least and the greatest value an atom is known to have."""
    match atom:
        case Symbol():
            bounds = facts.bounds[atom.name]
            return (bounds.lower or (None,))[0], (bounds.upper or (None,))[0]
        case a.PositivePart():
            return ZERO, _upper_of_positive(atom, facts)
        case a.Floor():
            argument, modulus = atom.parts
            power = a.exponent_of_two(modulus)
            if len(modulus.terms) == 1 and (power is not None or _is_older(modulus, argument, facts)):
                share = modulus**-1
                return (argument - modulus + 1) * share, argument * share
            least = ONE if facts.nonnegative(argument - modulus) else ZERO
            return (least, argument) if facts.nonnegative(argument) else (None, None)
        case a.CeilLog2():
            youngest = max(map(Symbol, atom.names), key=facts.ages.__getitem__)
            low, high = _range_around(atom, youngest, facts)
            return low or ZERO, high or (atom.argument if facts.nonnegative(atom.argument) else None)
        case a.RealFunction(function="isqrt" | "sqrt") if facts.nonnegative(atom.argument):
            # Of integers: the root of 0 is 0, that of others at most themselves.
            return (ZERO, atom.argument) if facts.integral(atom.argument) else (ZERO, None)
        case a.RealFunction(function="log2") if facts.positive(atom.argument):
            return ZERO, atom.argument - 1
        case a.CommonDivisor():
            return Poly.constant(1), next((part for part in atom.parts if facts.positive(part)), None)
        case a.Gap():
            return ZERO, atom.segments.ceiling
        case a.Offset():
            return ZERO, atom.segments.total
        case a.Data():
            return atom.low, atom.high
        case a.Applied():
            return ZERO, None
        case a.Quotient() if facts.nonnegative(atom.argument) and facts.nonnegative(atom.divisor):
            return ZERO, atom.argument
        case _:
            return None, None


def _is_older(value: Poly, other: Poly, facts: Facts) -> bool:
    """Whether the youngest symbol, over which a sum is sought, is one of another value alone.

    Lines of L words are no such value: counts of them are compared, which fractions of lines are not.
    """
    if "L" in value.names:
        return False
    youngest = max(value.names | other.names, key=lambda name: facts.ages[Symbol(name)], default="")
    return youngest not in value.names


def _upper_of_positive(atom: a.PositivePart, facts: Facts) -> Poly | None:
    """max(0, e) is at most the positive terms of e, where those are nonnegative."""
    positive = atom.argument.positive_terms()
    rest = atom.argument - positive
    return positive if facts.nonnegative(positive) and facts.nonnegative(-rest) else None


HALF = fmpq(1, 2)


def real(value: Poly) -> Poly:
    """A value without rounding, and no less beyond: n//2 and n - n//2 are n/2, max(0, n - 1) is n."""

    def unrounded(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant:
                return real(atom.argument).scaled(1 / atom.modulus.constant_term)
            case a.Quotient(argument=argument, divisor=divisor) if len(real(divisor).terms) == 1:
                return real(argument) * real(divisor) ** -1
            case a.Exponential(base=2, exponent=exponent):
                return _power_of_two(real(exponent))
            case a.PositivePart(argument=argument):
                terms = real(argument).terms
                return Poly({term: share for term, share in terms.items() if term and share > 0})
            case _:
                return None

    return value.map_atoms(unrounded)


def beyond(value: Poly) -> Poly:
    """No less, without rounding: what is subtracted may be rounded down, and is left away first."""
    added = value.positive_terms()

    def unrounded(atom: Atom) -> Poly | None:
        match atom:
            case a.Floor() if atom.modulus.is_constant or len(atom.modulus.terms) == 1:
                return beyond(atom.argument) * atom.modulus**-1
            case a.Quotient(argument=argument, divisor=divisor) if len(real(divisor).terms) == 1:
                return beyond(argument) * real(divisor) ** -1
            case a.PositivePart(argument=argument):
                return beyond(argument)
            case _:
                return None

    return real(added.map_atoms(unrounded))


def _power_of_two(exponent: Poly) -> Poly | None:
    """sqrt(w) for 2^(log2(w)/2)."""
    match list(exponent.terms.items()):
        case [(((a.RealFunction(function="log2", argument=argument), 1),), share)] if share == HALF:
            return a.sqrt(argument)
        case _:
            return None
