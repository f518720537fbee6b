"""Sums expressions over a loop variable in closed form.

Polynomials by Faulhaber's formula; max and indicators by splitting the range where they change; floors by residues or
blocks; ceil(log2) and powers by geometric sums, floor(sqrt) by squares; gaps of offsets, and tiles cut off at an edge,
by telescoping. Other sums raise `UnresolvedError`; `archline.algebra.relax` then bounds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from math import gcd, lcm
from weakref import WeakKeyDictionary

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol, sum_polynomials
from archline.algebra.reduce import reduce_expression
from archline.algebra.sums.blocks import (
    evaluate_antidifference,
    expand_overlap,
    match_condition_pair,
    solve_geometric_weight,
    sum_by_blocks,
    sum_by_parity,
    sum_logarithms,
    sum_residue_condition,
    sum_square_roots,
)
from archline.algebra.sums.quotients import find_divisor, split_quotients, sum_quotients
from archline.numbers import fmpq
from archline.records import record

MAX_RESIDUES = 24
MAX_UNROLLED = 8
"""The number of iterations up to which sums of rounded logarithms are taken term by term."""


class UnresolvedError(Exception):
    """A sum or maximum over `variable` has no closed form here because of `atom`."""

    def __init__(self, atom: Atom, variable: str) -> None:
        super().__init__(f"{atom.key} over {variable}")
        self.atom = atom
        self.variable = variable


RangeOperation = Callable[[Poly, str, Poly, Poly, Facts], Poly]
"""A sum or maximum of a value over lo <= variable < hi under facts. Raises UnresolvedError."""


def cache_by_facts(operation: RangeOperation) -> RangeOperation:
    """Cache the results and failures of an operation for each `Facts`, since analyses of caches repeat sums."""
    caches: WeakKeyDictionary[Facts, dict[object, Poly | UnresolvedError]] = WeakKeyDictionary()

    @wraps(operation)
    def run(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
        results = caches.setdefault(facts, {})
        key = value, variable, lo, hi
        if key not in results:
            try:
                results[key] = operation(value, variable, lo, hi, facts)
            except UnresolvedError as problem:
                results[key] = UnresolvedError(problem.atom, problem.variable)
        result = results[key]
        if isinstance(result, UnresolvedError):
            raise UnresolvedError(result.atom, result.variable)
        return result

    return run


@cache_by_facts
def sum_over(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Return the sum of `value` for lo <= variable < hi. Needs lo <= hi. Raises UnresolvedError."""
    total = _sum_unreduced(value, variable, lo, hi, facts)
    # Counts of lines are bounded soon after, so reducing them is wasted.
    return total if "L" in total.names else reduce_expression(total, facts)


def _sum_unreduced(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Sum without reducing the result, for parts of a larger sum."""
    if lo == hi:
        return ZERO
    inside = facts.with_symbol(variable, (lo,), (hi - 1,))
    flat = split_quotients(inside.simplify(value), variable).map_atoms(
        lambda atom: expand_overlap(atom, inside) if is_composite_in(atom, variable) else None
    )
    return _sum_one_by_one(flat, variable, lo, hi, facts) or _sum_simplified(flat, variable, lo, hi, facts, inside)


def _sum_simplified(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts) -> Poly:
    hard, easy = separate_composites(value, variable)
    period = _find_common_period(hard, variable)
    if period is not None:
        return _sum_by_residues(value, period, variable, lo, hi, facts)
    if _has_floor_products(hard, variable):
        # The terms of remainders cancel only if they stay together.
        hard, easy = value, ZERO
    result = _sum_polynomial(easy, variable, lo, hi)
    if not hard:
        return result
    for atom in _iterate_atoms_with_powers(hard, variable):
        chosen, remaining = _split_value_by_atom(hard, atom)
        telescoped = _telescope_sum(chosen, atom, variable, lo, hi, facts, inside)
        if telescoped is not None:
            return result + telescoped + _sum_simplified(remaining, variable, lo, hi, facts, inside)
    for atom in hard.atoms():
        if (divisor := find_divisor(atom, variable)) is None:
            continue
        slope = divisor.coefficients(Symbol(variable)).get(1, ZERO)
        if slope.is_constant and slope.constant_term < 0:
            backwards = value.substitute({variable: -Poly.symbol(variable)})
            return _sum_unreduced(backwards, variable, 1 - hi, 1 - lo, facts)
        chosen, remaining = _split_value_by_atom(hard, atom)
        if (closed := sum_quotients(chosen, atom, variable, lo, hi, facts)) is not None:
            return result + closed + _sum_simplified(remaining, variable, lo, hi, facts, inside)
    for atom in hard.atoms():
        inner = atom.argument.atoms() if isinstance(atom, a.PositivePart) else ()
        if any(isinstance(factor, a.Floor) and is_composite_in(factor, variable) for factor in inner):
            chosen, remaining = _split_value_by_atom(hard, atom)
            if (cut := cut_where_positive(chosen, atom, variable, lo, hi, facts)) is not None:
                result = result + _sum_of_parts(cut, variable, lo, hi, facts)
                return result + _sum_simplified(remaining, variable, lo, hi, facts, inside) if remaining else result
    atom = find_innermost_atom(hard, variable)
    if (cut := cut_at_condition(hard, atom, variable, lo, hi, facts, inside)) is not None:
        return result + _sum_of_parts(cut, variable, lo, hi, facts)
    chosen, remaining = _split_value_by_atom(hard, atom)
    if isinstance(atom, a.Offset | a.PositivePart | a.Floor):
        paired = _telescope_pair(chosen, remaining, atom, variable, lo, hi)
        if paired is not None:
            return result + paired[0] + _sum_simplified(paired[1], variable, lo, hi, facts, inside)
    if isinstance(atom, a.Floor):
        return result + _sum_of_floors(hard, atom, variable, lo, hi, facts, inside)
    if remaining:
        result = result + _sum_simplified(remaining, variable, lo, hi, facts, inside)
    telescoped = _telescope_sum(chosen, atom, variable, lo, hi, facts, inside)
    if telescoped is not None:
        return result + telescoped
    match atom:
        case a.PositivePart():
            if (cut := cut_where_positive(chosen, atom, variable, lo, hi, facts)) is None:
                raise UnresolvedError(atom, variable)
            return result + _sum_of_parts(cut, variable, lo, hi, facts)
        case a.RealFunction(function="isqrt"):
            return result + _sum_of_roots(chosen, atom, variable, lo, hi, inside)
        case a.CeilLog2() | a.Sequence(name="ceil_log"):
            return result + _sum_of_logs(chosen, atom, variable, lo, hi, facts)
        case a.Exponential():
            return result + _sum_of_powers(chosen, atom, variable, lo, hi)
        case _:
            raise UnresolvedError(atom, variable)


def _sum_one_by_one(value: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly | None:
    """Sum few iterations with rounded logarithms term by term, as closed forms are longer; None for other sums."""
    count = hi - lo
    if not count.is_constant or count.constant_term > MAX_UNROLLED:
        return None
    if not any(isinstance(atom, a.CeilLog2) and is_composite_in(atom, variable) for atom in value.atoms_within()):
        return None
    return sum_polynomials(
        facts.simplify(value.substitute({variable: lo + number})) for number in range(int(count.constant_term))
    )


def _iterate_atoms_with_powers(value: Poly, variable: str) -> Iterator[Atom]:
    """Yield max(0, e) and floor(e/m) with powers in e or m.

    The maximum may be decided except in the last iteration, as in 2^s <= P < 2^(s + 1); such floors may telescope.
    """
    for atom in value.atoms():
        inner = atom.parts[-1].atoms() if isinstance(atom, a.PositivePart | a.Floor) else ()
        if any(isinstance(factor, a.Exponential) and is_composite_in(factor, variable) for factor in inner):
            yield atom


# Parts of an expression
def is_composite_in(atom: Atom, variable: str) -> bool:
    """Test whether a composite atom contains the variable."""
    return not isinstance(atom, Symbol) and variable in atom.names


def separate_composites(value: Poly, variable: str) -> tuple[Poly, Poly]:
    """Split a value into terms with a composite atom in the variable, and the rest."""
    hard = {m: c for m, c in value.terms.items() if any(is_composite_in(atom, variable) for atom, _ in m)}
    easy = {m: c for m, c in value.terms.items() if m not in hard}
    return Poly(hard), Poly(easy)


def _split_value_by_atom(value: Poly, atom: Atom) -> tuple[Poly, Poly]:
    """Split a value into terms in which the atom occurs, at any depth, and the rest."""
    chosen = {m: c for m, c in value.terms.items() if any(contains_atom(factor, atom) for factor, _ in m)}
    return Poly(chosen), Poly({m: c for m, c in value.terms.items() if m not in chosen})


def contains_atom(outer: Atom, atom: Atom) -> bool:
    """Test whether an atom equals or contains another one."""
    return outer == atom or any(contains_atom(inner, atom) for part in outer.parts for inner in part.atoms())


def find_innermost_atom(value: Poly, variable: str) -> Atom:
    """Return a composite atom in the variable without another one inside; logarithms are chosen last."""

    def search(atom: Atom) -> Iterator[Atom]:
        below = [inner for part in atom.parts for inner in part.atoms() if is_composite_in(inner, variable)]
        if not below:
            yield atom
        for inner in below:
            yield from search(inner)

    candidates = {inner for atom in value.atoms() if is_composite_in(atom, variable) for inner in search(atom)}
    return min(candidates, key=lambda atom: (_PRIORITY.get(type(atom), 9), atom.key))


_PRIORITY: dict[type, int] = {a.Gap: 0, a.Offset: 1, a.PositivePart: 2, a.Floor: 3, a.CeilLog2: 5, a.Exponential: 4}


# Polynomials
def _sum_polynomial(value: Poly, variable: str, lo: Poly, hi: Poly) -> Poly:
    if not value:
        return ZERO
    if value.degree(Symbol(variable)) == 0 and variable not in value.names:
        return value * (hi - lo)
    return evaluate_antidifference(value, variable, hi) - evaluate_antidifference(value, variable, lo)


# Telescoping
def _telescope_sum(
    value: Poly, atom: Atom, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts
) -> Poly | None:
    """Sum c*A(v), c free of v, for a gap A, or for an A with a simpler A(v - 1) on the range; else return None."""
    parts = value.coefficients(atom)
    if set(parts) != {1} or variable in parts[1].names:
        return None
    coefficient = parts[1]
    itself = Poly.of_atom(atom)
    if isinstance(atom, a.Gap):
        covered = find_covered_segments(atom, variable, lo, hi)
        if covered is None:
            return None
        start, end = (a.offset(atom.segments, index) for index in covered)
        return coefficient * (end - start)
    now = Poly.symbol(variable)
    if isinstance(atom, a.Floor):
        # floor((e + m/2)/m) -> floor(2*e/m) - floor(e/m), which telescopes if m doubles
        half, rest = atom.modulus / 2, atom.argument - atom.modulus / 2
        if variable in rest.names or atom.modulus.substitute({variable: now - 1}) != half:
            return None
        first, last = (a.floor_div(rest, half.substitute({variable: end})) for end in (lo, hi))
        return coefficient * facts.simplify(first - last)
    if not isinstance(atom, a.PositivePart | a.Offset):
        return None
    before = inside.simplify(itself.substitute({variable: now - 1}))
    if any(is_composite_in(inner, variable) and not isinstance(inner, a.Exponential) for inner in before.atoms()):
        return None
    last = facts.simplify(itself.substitute({variable: hi - 1}))
    first = facts.simplify(itself.substitute({variable: lo - 1}))
    return coefficient * (last - first + _sum_simplified(before, variable, lo, hi, facts, inside))


def find_covered_segments(gap: a.Gap, variable: str, lo: Poly, hi: Poly) -> tuple[Poly, Poly] | None:
    """Return the segments [start, end) of gap(c + v) or gap(c - v) for lo <= v < hi; None for other indices."""
    if any(variable in part.names for part in gap.segments.parts):
        return None
    now = Poly.symbol(variable)
    if variable not in (gap.index - now).names:
        return gap.index.substitute({variable: lo}), gap.index.substitute({variable: hi})
    if variable not in (gap.index + now).names:
        return gap.index.substitute({variable: hi - 1}), gap.index.substitute({variable: lo - 1})
    return None


def _telescope_pair(
    value: Poly, others: Poly, atom: a.Offset | a.PositivePart | a.Floor, variable: str, lo: Poly, hi: Poly
) -> tuple[Poly, Poly] | None:
    """Sum c*(A(v + 1) - A(v)); return the sum and the terms that are not part of it, None if A(v + 1) is missing."""
    parts = value.coefficients(atom)
    if set(parts) != {1} or variable in parts[1].names:
        return None
    now, itself = Poly.symbol(variable), Poly.of_atom(atom)
    for shift in (1, -1):
        partner = itself.substitute({variable: now + shift})
        remaining = others + parts[1] * partner
        if len(remaining.atoms()) < len(others.atoms()):
            # A(v) - A(v + shift), with A(v + shift) among the other terms, runs from one end to the other.
            lower = itself if shift == 1 else partner
            ends = lower.substitute({variable: lo}) - lower.substitute({variable: hi})
            return (parts[1] * ends).scaled(shift), remaining
    return None


# Sign changes
@record(slots=True)
class Cut:
    """A range cut at `middle`, which is `point` clamped into it; `below` and `above` are the values on the parts."""

    point: Poly
    middle: Poly
    below: Poly
    above: Poly


def cut_at_condition(
    value: Poly, atom: Atom, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts
) -> Cut | None:
    """Return the cut where a condition changes, if `atom` and another atom form its indicator, else None."""
    pair = match_condition_pair(value, atom, inside)
    if pair is None or pair.modulus is not None or pair.width != ONE or not facts.integral(pair.argument):
        return None
    change = find_sign_change(a.PositivePart(pair.argument - 1), variable, facts)
    ends = pair.rest, pair.rest + pair.weight
    return None if change is None else _make_cut(change, (change[0],), ends, lo, hi, facts)


def cut_where_positive(value: Poly, atom: Atom, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Cut | None:
    """Return the cut where the argument of a max(0, e) changes its sign, else None."""
    if not isinstance(atom, a.PositivePart):
        return None
    root = _find_root_of_quotient(atom.argument, variable, facts) if facts.positive(lo) else None
    change = find_sign_change(atom, variable, facts) if root is None else (root, False)
    if change is None:
        return None
    point, rising = change
    # At argument 0 both branches agree, so a unit slope may change one step later; the shorter point is chosen.
    points = (point, point + (1 if rising else -1)) if _has_unit_slope(atom, variable) else (point,)
    ends = value.replace_atom(atom, ZERO), value.replace_atom(atom, atom.parts[0])
    return _make_cut(change, points, ends, lo, hi, facts)


def _make_cut(
    change: tuple[Poly, bool], points: tuple[Poly, ...], ends: tuple[Poly, Poly], lo: Poly, hi: Poly, facts: Facts
) -> Cut:
    clamped = {
        reduce_expression(facts.minimum(facts.maximum(facts.simplify(point), lo), hi), facts): point for point in points
    }
    middle = min(clamped, key=measure_complexity)
    return Cut(clamped[middle], middle, *(ends if change[1] else ends[::-1]))


def find_sign_change(atom: a.PositivePart, variable: str, facts: Facts) -> tuple[Poly, bool] | None:
    """Return (t, rising): the argument is nonnegative from t on if rising, else below t; None if unknown."""
    parts = clear_single_floor(atom.argument, facts, variable).coefficients(Symbol(variable))
    if 1 not in parts or set(parts) - {0, 1} or any(variable in part.names for part in parts.values()):
        return None
    slope, rest = parts[1], parts.get(0, ZERO)
    if facts.positive(slope):
        return -a.floor_div(rest, slope), True
    if facts.positive(-slope):
        return a.floor_div(rest, -slope) + 1, False
    return None


def _find_root_of_quotient(value: Poly, variable: str, facts: Facts) -> Poly | None:
    """Return the first v >= 1 with floor(e/v) - v + 1 <= 0, which is isqrt(e) + 1; None for other values."""
    now = Poly.symbol(variable)
    quotient = a.find_single_atom(value + now - 1)
    if not isinstance(quotient, a.Floor) or quotient.modulus != now or variable in quotient.argument.names:
        return None
    return a.floor_sqrt(quotient.argument) + 1 if facts.nonnegative(quotient.argument) else None


def clear_single_floor(value: Poly, facts: Facts, variable: str = "") -> Poly:
    """Return an integer of the same sign without the only floor, or the only floor in a variable.

    floor(e/m) + c -> e + c*m, and c - floor(e/m) -> c*m + m - 1 - e
    """
    rounded = [
        atom
        for atom in value.atoms()
        if isinstance(atom, a.Floor) and (not variable or is_composite_in(atom, variable))
    ]
    if len(rounded) != 1 or not facts.integral((atom := rounded[0]).argument):
        return value
    parts = value.coefficients(atom)
    sign, rest = parts.get(1, ZERO), parts.get(0, ZERO)
    if sign not in (ONE, -ONE) or parts.keys() - {0, 1} or not facts.integral(rest):
        return value
    return rest * atom.modulus + (atom.argument if sign == ONE else atom.modulus - 1 - atom.argument)


def measure_complexity(value: Poly) -> tuple[int, int, int]:
    """Measure the length of an expression: composite atoms first, then terms."""
    composite = sum(1 for atom in value.atoms() if atom.parts)
    return composite, len(value.terms), len(value.key)


def _has_unit_slope(atom: Atom, variable: str) -> bool:
    """Test whether the argument moves by 1 with the variable, which excludes rounded arguments."""
    now, argument = Poly.symbol(variable), atom.parts[0]
    return any(variable not in (argument - slope * now).names for slope in (ONE, -ONE))


def _sum_of_parts(cut: Cut, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    result = ZERO
    for part, start, end in ((cut.below, lo, cut.middle), (cut.above, cut.middle, hi)):
        if start != end and part:
            within = facts.with_symbol(variable, (start, lo), (end - 1, hi - 1))
            part = within.simplify(part)
            if separate_composites(part, variable)[0] and facts.nonnegative(start + 1 - end):
                result = result + (end - start) * facts.simplify(part.substitute({variable: start}))
            else:
                result = result + _sum_simplified(part, variable, start, end, facts, within)
    return result


# Residues
def _find_common_period(value: Poly, variable: str) -> int | None:
    """Return the step at which all floors grow by integers, if floors are multiplied by each other; else None."""
    floors = [atom for atom in value.atoms() if is_composite_in(atom, variable)]
    if not _has_floor_products(value, variable) or not all(isinstance(atom, a.Floor) for atom in floors):
        return None
    periods = [compute_floor_period(atom, variable) for atom in floors if isinstance(atom, a.Floor)]
    common = lcm(*(period or MAX_RESIDUES + 1 for period in periods))
    return common if common <= MAX_RESIDUES else None


def _has_floor_products(value: Poly, variable: str) -> bool:
    """Test whether two floors in the variable are multiplied by each other."""
    return any(
        sum(isinstance(atom, a.Floor) and is_composite_in(atom, variable) for atom, _ in monomial) > 1
        for monomial in value.terms
    )


def _sum_by_residues(value: Poly, period: int, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Sum each class of iterations a period apart; as a difference of two sums from 0 if `lo` is symbolic and
    nonnegative and floors contain no name but the variable.
    """
    rounded = [atom for atom in value.atoms_within() if isinstance(atom, a.Floor) and variable in atom.names]
    if not lo.is_constant and facts.nonnegative(lo) and all(atom.names == {variable} for atom in rounded):
        # In sums from 0 remainders are numbers; in sums from lo they depend on lo, also in products.
        whole, before = (_sum_by_residues(value, period, variable, ZERO, end, facts) for end in (hi, lo))
        return whole - before
    result = ZERO
    for residue in range(period):
        start = lo + residue
        count = facts.simplify(a.floor_div(hi - start + (period - 1), Poly.constant(period)))
        shifted = value.substitute({variable: start + Poly.symbol(variable).scaled(period)})
        result = result + _sum_unreduced(shifted, variable, ZERO, count, facts)
    return result


def _sum_of_floors(value: Poly, atom: a.Floor, variable: str, lo: Poly, hi: Poly, facts: Facts, inside: Facts) -> Poly:
    """Sum terms with floor((v + c)/m) and further terms, which may contain a second such floor."""
    chosen, remaining = _split_value_by_atom(value, atom)
    closed = sum_by_parity(chosen, atom, variable, lo, hi)
    if closed is None:
        floors = [floor for floor in value.atoms() if isinstance(floor, a.Floor) and variable in floor.names]
        if floors and all(_is_floor_of_negated_variable(floor, variable) for floor in floors):
            backwards = value.substitute({variable: -Poly.symbol(variable)})
            return _sum_unreduced(backwards, variable, 1 - hi, 1 - lo, facts)
        pair = match_condition_pair(value, atom, inside)
        if pair is not None:
            closed = sum_residue_condition(pair, variable, lo, hi, facts)
            remaining = remaining if closed is None else pair.rest
    if closed is None:
        period = compute_floor_period(atom, variable)
        if period is None:
            closed = sum_by_blocks(chosen, atom, variable, lo, hi, facts)
        else:
            closed = _sum_by_residues(chosen, period, variable, lo, hi, facts)
    if closed is None and not any(
        isinstance(floor, a.Floor) and variable in floor.names for floor in remaining.atoms()
    ):
        # Differences of such floors have sharper bounds than differences of their sums.
        closed = sum_quotients(chosen, atom, variable, lo, hi, facts)
    if closed is None:
        raise UnresolvedError(atom, variable)
    return closed + _sum_simplified(remaining, variable, lo, hi, facts, inside) if remaining else closed


def _is_floor_of_negated_variable(atom: a.Floor, variable: str) -> bool:
    """Whether an atom is floor((c - v)/m), also written floor((c + (m-1)*v)/m), with c and m free of v, m not 2."""
    now = Poly.symbol(variable)
    return (
        {variable}.isdisjoint(atom.modulus.names)
        and atom.modulus != 2 * ONE
        and any(variable not in (atom.argument + term).names for term in (now, now * (1 - atom.modulus)))
    )


def compute_floor_period(atom: a.Floor, variable: str) -> int | None:
    """Return the step after which floor(e/m) grows by an integer in the variable; None unless it is small."""
    if not atom.modulus.is_constant or atom.modulus.constant_term.q != 1:
        return None
    parts = atom.argument.coefficients(Symbol(variable))
    if any(variable in part.names for part in parts.values()) or any(power < 0 for power in parts):
        return None
    modulus = int(atom.modulus.constant_term.p)
    slopes = [part for power, part in parts.items() if power > 0]
    if not all(a.is_integral(part) for part in slopes):
        return None
    period = modulus // gcd(modulus, *(int(c.p) for part in slopes for c in part.terms.values()))
    return period if period <= MAX_RESIDUES else None


# Logarithms, roots and powers
def _weight_by_argument(
    value: Poly, atom: a.CeilLog2 | a.Sequence | a.RealFunction, variable: str, lo: Poly, hi: Poly
) -> tuple[Poly, Poly, Poly]:
    """Rewrite p(v)*f(r + v) or p(v)*f(r - v) by t, the argument of f: return p in terms of t, and the first and last t.

    Raises UnresolvedError for other forms.
    """
    parts = atom.argument.coefficients(Symbol(variable))
    slope = parts.get(1, ZERO)
    factor = value.coefficients(atom)
    clean = not any(is_composite_in(inner, variable) for part in factor.values() for inner in part.atoms())
    if set(parts) - {0, 1} or slope not in (ONE, -ONE) or set(factor) != {1} or not clean:
        raise UnresolvedError(atom, variable)
    rest = parts.get(0, ZERO)
    if not a.is_integral(rest):
        # The sums run over integers t.
        raise UnresolvedError(atom, variable)
    now = Poly.symbol(variable)
    if slope == ONE:
        return factor[1].substitute({variable: now - rest}), lo + rest, hi - 1 + rest
    return factor[1].substitute({variable: rest - now}), rest - hi + 1, rest - lo


def _sum_of_logs(value: Poly, atom: a.CeilLog2 | a.Sequence, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly:
    """Sum p(v)*ceil(log_b(t)) by G(N) = sum for 1 <= t <= N (`sum_logarithms`)."""
    logarithm = a.read_logarithm(atom)
    assert logarithm is not None
    weight, first, last = _weight_by_argument(value, atom, variable, lo, hi)
    last, before = facts.positive_part(last), facts.positive_part(first - 1)
    return sum_logarithms(weight, variable, last, logarithm[1]) - sum_logarithms(weight, variable, before, logarithm[1])


def _sum_of_roots(value: Poly, atom: a.RealFunction, variable: str, lo: Poly, hi: Poly, inside: Facts) -> Poly:
    """Sum p(v)*floor(sqrt(t)) for t >= 0, by sums from 0 on (`sum_square_roots`)."""
    weight, first, last = _weight_by_argument(value, atom, variable, lo, hi)
    if not inside.nonnegative(atom.argument):
        raise UnresolvedError(atom, variable)
    return sum_square_roots(weight, variable, last) - sum_square_roots(weight, variable, first - 1)


def _sum_of_powers(value: Poly, atom: a.Exponential, variable: str, lo: Poly, hi: Poly) -> Poly:
    """Sum p(v)*base^(k*v + r): find q with q(v + 1)*ratio - q(v) = p(v); the sum is q*ratio^v between the ends."""
    parts = atom.exponent.coefficients(Symbol(variable))
    slope = parts.get(1, ZERO)
    factors = value.coefficients(atom)
    clean = not any(is_composite_in(inner, variable) for part in factors.values() for inner in part.atoms())
    integral = slope.is_constant and slope.constant_term.q == 1
    if set(parts) - {0, 1} or not integral or not clean or 0 in factors:
        raise UnresolvedError(atom, variable)
    result = ZERO
    for power, weight in factors.items():
        ratio = fmpq(atom.base) ** (int(slope.constant_term.p) * power)
        closed = solve_geometric_weight(weight, variable, ratio)
        for end, sign in ((hi, 1), (lo, -1)):
            scale = a.exponential(atom.base, atom.exponent.substitute({variable: end}).scaled(power))
            result = result + (closed.substitute({variable: end}) * scale).scaled(sign)
    return result
