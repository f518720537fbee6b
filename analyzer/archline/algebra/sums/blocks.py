"""Sums polynomials by Faulhaber's formula, and floor(v/m) over v, for any m, by blocks of m values of v.

Differences of two floors or two maxima with arguments a known distance apart are conditions: max(0, e + 1) - max(0, e)
is 1 where e >= 0; floor(e/m) - floor((e - t)/m), 0 <= t <= m, is 1 where e mod m < t.
"""

from __future__ import annotations

from functools import cache
from math import comb

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol, sum_polynomials
from archline.numbers import fmpq
from archline.records import record

MAX_DEGREE = 48


@record(slots=True)
class ConditionPair:
    """An expression as weight*(f(argument) - f(argument - width)) + rest.

    The function f is max(0, _), or floor(_/modulus) with 0 <= width <= modulus; the difference is from 0 to `most`.
    """

    weight: Poly
    argument: Poly
    width: Poly
    modulus: Poly | None
    rest: Poly

    @property
    def most(self) -> Poly:
        return self.width if self.modulus is None else ONE

    def bound(self, facts: Facts, upper: bool) -> Poly | None:
        """Bound the expression by the range of the difference, from above if `upper`, else from below.

        None if the sign of the weight is unknown.
        """
        if facts.nonnegative(self.weight):
            return self.rest + self.weight * self.most if upper else self.rest
        if facts.nonnegative(-self.weight):
            return self.rest if upper else self.rest + self.weight * self.most
        return None


def expand_overlap(atom: Atom, facts: Facts) -> Poly | None:
    """Write the length of the overlap of [a, b) and [c, d) by four maxima that are not nested; None for other atoms.

    It is max(0, e - max(0, x) - max(0, y)) with e = d - a, x = d - b and y = c - a.
    """
    if not isinstance(atom, a.PositivePart):
        return None
    argument = atom.argument
    ends = [atom for atom in argument.atoms() if isinstance(atom, a.PositivePart)]
    if len(ends) != 2 or not all(c == ONE for c in (-argument.coefficients(end).get(1, ZERO) for end in ends)):
        return None
    x, y = (end.argument for end in ends)
    whole = argument + Poly.of_atom(ends[0]) + Poly.of_atom(ends[1])
    for x, whole in ((x, whole), (-x, whole - x)):  # noqa: B020
        if facts.nonnegative(whole - x) and facts.nonnegative(whole - y):
            sides = (whole - x - y, 1), (-x, -1), (-y, -1), (-whole, 1)
            return sum_polynomials(facts.positive_part(value).scaled(sign) for value, sign in sides)
    return None


def match_condition_pair(value: Poly, atom: Atom, facts: Facts) -> ConditionPair | None:
    """Write the expression as a pair of the atom and a partner of equal form; None if it has no partner."""
    if not isinstance(atom, a.PositivePart | a.Floor):
        return None
    parts = value.coefficients(atom)
    if 1 not in parts or set(parts) - {0, 1}:
        # The atom occurs inside another atom, or in a power.
        return None
    weight, remainder = parts[1], parts.get(0, ZERO)
    for partner in sorted(remainder.atoms(), key=str):
        if type(partner) is not type(atom) or partner.parts[1:] != atom.parts[1:]:
            continue
        if remainder.coefficients(partner).get(1) not in (-weight, weight.scaled(-2)):
            continue
        rest = remainder + weight * Poly.of_atom(partner)
        width = atom.parts[0] - partner.parts[0]
        for argument, sign in ((atom.parts[0], 1), (partner.parts[0], -1)):
            pair = ConditionPair(weight.scaled(sign), argument, width.scaled(sign), _modulus_of(atom), rest)
            if _has_valid_width(pair, facts):
                return _narrow_pair(pair)
    return _match_pair_by_facts(atom, weight, remainder, facts)


def _match_pair_by_facts(atom: Atom, weight: Poly, remainder: Poly, facts: Facts) -> ConditionPair | None:
    """Make a pair if the facts decide its partner: max(0, e + 1) -> e + 1 if e >= -1, max(0, e - 1) -> 0 if e <= 1.

    None if they do not decide it.
    """
    if not isinstance(atom, a.PositivePart):
        return None
    rest = remainder + weight * (atom.argument + 1)
    if len(rest.terms) < len(remainder.terms) and facts.nonnegative(atom.argument + 1):
        return ConditionPair(-weight, atom.argument + 1, ONE, None, rest)
    if facts.nonnegative(1 - atom.argument):
        return ConditionPair(weight, atom.argument, ONE, None, remainder)
    return None


def _narrow_pair(pair: ConditionPair) -> ConditionPair:
    """Write a condition on most residues by its complement: (e mod 3 < 2) -> 1 - ((e + 1) mod 3 < 1)."""
    modulus, width = pair.modulus, pair.width
    if modulus is None or not modulus.is_constant or not width.is_constant:
        return pair
    remaining = modulus - width
    negative = all(coefficient < 0 for coefficient in pair.weight.terms.values())
    if remaining.constant_term > width.constant_term or (remaining == width and not negative):
        return pair
    return ConditionPair(-pair.weight, pair.argument + remaining, remaining, modulus, pair.rest + pair.weight)


def _modulus_of(atom: Atom) -> Poly | None:
    return atom.modulus if isinstance(atom, a.Floor) else None


def _has_valid_width(pair: ConditionPair, facts: Facts) -> bool:
    return facts.nonnegative(pair.width) and (pair.modulus is None or facts.nonnegative(pair.modulus - pair.width))


@cache
def _faulhaber_coefficients(power: int) -> tuple[fmpq, ...]:
    """Return the coefficients of S(x) = sum of k^power for 0 <= k < x, constant first. Raises TooComplexError."""
    if power > MAX_DEGREE:
        raise TooComplexError(f"a sum has a degree above {MAX_DEGREE}")
    # (x+1)^(p+1) - x^(p+1) = sum over j <= p of C(p+1, j) x^j, summed over x and solved for S_p.
    result = [fmpq(0)] * (power + 2)
    result[power + 1] = fmpq(1)
    for lower in range(power):
        for exponent, coefficient in enumerate(_faulhaber_coefficients(lower)):
            result[exponent] -= comb(power + 1, lower) * coefficient
    return tuple(coefficient / (power + 1) for coefficient in result)


def evaluate_antidifference(value: Poly, variable: str, at: Poly) -> Poly:
    """Return F(at), where F(x) is the sum of the polynomial `value` over 0 <= variable < x, extended to every x.

    Raises TooComplexError for negative or high powers of the variable.
    """
    if not at:
        return ZERO
    result = ZERO
    powers = [ONE]
    for exponent, coefficient in sorted(value.coefficients(Symbol(variable)).items()):
        if exponent < 0:
            raise TooComplexError("a sum of reciprocals has no closed form here")
        closed = ZERO
        for degree, factor in enumerate(_faulhaber_coefficients(exponent)):
            while len(powers) <= degree:
                powers.append(powers[-1] * at)
            if factor:
                closed = closed + powers[degree].scaled(factor)
        result = result + coefficient * closed
    return result


# Variables of inner sums; names of programs have no quotes.
_BLOCK, _REMAINDER = "block'", "place'"


def sum_by_blocks(value: Poly, atom: a.Floor, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly | None:
    """Return the sum for lo <= v < hi of a polynomial in v and floor((v + c)/m); None for other forms.

    For v + c = m*q + r it is the sum over the blocks before q, of m values each, and over the first r values of block
    q. Both are polynomials in q and r, valid for every integer q, so the sum is a difference of values at its ends.
    """
    shift = atom.argument - Poly.symbol(variable)
    parts = value.coefficients(atom)
    if variable in shift.names | atom.modulus.names or min(parts) < 0:
        return None
    if not facts.integral(shift) or not facts.integral(atom.modulus):
        return None
    if not all(is_polynomial(part, variable) for part in parts.values()):
        return None
    block, modulus = Poly.symbol(_BLOCK), _positive_modulus(atom.modulus, facts)
    place = {variable: modulus * block + Poly.symbol(_REMAINDER) - shift}
    inside = ZERO
    for power, weight in parts.items():
        inside = inside + weight.substitute(place) * block**power
    whole = evaluate_antidifference(inside, _REMAINDER, modulus)

    def sum_up_to(end: Poly) -> Poly:
        count = facts.simplify(end + shift)
        # At most m values lie in the first block, including all of it.
        first = count.is_constant and facts.nonnegative(count) and facts.nonnegative(modulus - count)
        number = ZERO if first else facts.simplify(a.floor_div(count, modulus))
        rest = facts.simplify(count - modulus * number)
        return evaluate_antidifference(whole, _BLOCK, number) + evaluate_antidifference(
            inside, _REMAINDER, rest
        ).substitute({_BLOCK: number})

    return sum_up_to(hi) - sum_up_to(lo)


def _positive_modulus(modulus: Poly, facts: Facts) -> Poly:
    """Return max(1, modulus); it is the modulus in a nonempty range, and any modulus will do for an empty one."""
    return facts.maximum(modulus, ONE)


def is_polynomial(value: Poly, variable: str) -> bool:
    """Test whether a value is a polynomial in the variable, with other values as coefficients."""
    return all(isinstance(atom, Symbol) or variable not in atom.names for atom in value.atoms()) and not any(
        power < 0 for power in value.coefficients(Symbol(variable))
    )


def sum_by_parity(value: Poly, atom: a.Floor, variable: str, lo: Poly, hi: Poly) -> Poly | None:
    """Return the sum for lo <= v < hi of w*floor((v + c)/2), w free of v; None for other forms.

    It is half of the sum of v + c, less half of the number of odd v + c.
    """
    shift = atom.argument - Poly.symbol(variable)
    parts = value.coefficients(atom)
    if atom.modulus != 2 * ONE or variable in shift.names or set(parts) != {1} or variable in parts[1].names:
        return None
    if not a.is_integral(shift):
        return None
    unrounded = evaluate_antidifference(atom.argument, variable, hi) - evaluate_antidifference(
        atom.argument, variable, lo
    )
    odd = a.floor_div(hi + shift, 2 * ONE) - a.floor_div(lo + shift, 2 * ONE)
    return parts[1] * (unrounded - odd) / 2


def sum_residue_condition(pair: ConditionPair, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly | None:
    """Return the sum for lo <= v < hi of w*(floor((v + c)/m) - floor((v + c - t)/m)), t free of v; else None.

    If w is free of v it telescopes: the remainder at an end v + c = m*q + r is the sum of floor(j/m) over the t values
    of j below it, t*q - max(0, t - r). If t is 1, it is the sum of the polynomial w at v = m*q - c.
    """
    shift = pair.argument - Poly.symbol(variable)
    modulus, width = pair.modulus, pair.width
    if modulus is None or variable in shift.names | modulus.names | width.names:
        return None
    if not all(facts.integral(part) for part in (shift, modulus, width)):
        return None
    modulus = _positive_modulus(modulus, facts)
    if variable in pair.weight.names:
        if width != ONE or not is_polynomial(pair.weight, variable):
            return None
        at_multiples = pair.weight.substitute({variable: modulus * Poly.symbol(_BLOCK) - shift})
        ends = [_count_residues_below(end + shift, width, modulus, facts) + 1 for end in (lo, hi)]
        return evaluate_antidifference(at_multiples, _BLOCK, ends[1]) - evaluate_antidifference(
            at_multiples, _BLOCK, ends[0]
        )
    before, after = (_count_residues_below(end + shift, width, modulus, facts) for end in (lo, hi))
    return pair.weight * (after - before)


def _count_residues_below(end: Poly, width: Poly, modulus: Poly, facts: Facts) -> Poly:
    """Return the number of j in [0, end) with j mod modulus < width, less the constant `width`."""
    if width == ONE:
        return facts.simplify(a.floor_div(end - 1, modulus))
    number = facts.simplify(a.floor_div(end, modulus))
    rest = facts.simplify(end - modulus * number)
    return width * number - facts.positive_part(width - rest)


def sum_square_roots(weight: Poly, variable: str, last: Poly) -> Poly:
    """Return the sum of weight(t)*floor(sqrt(t)) for 0 <= t <= last (>= -1); the root counts k >= 1 with k^2 <= t."""
    root = a.floor_sqrt(last)
    number = Symbol("k'")
    below = evaluate_antidifference(weight, variable, Poly.of_atom(number, 2))
    squares = evaluate_antidifference(below, number.name, root + 1) - evaluate_antidifference(below, number.name, ONE)
    return root * evaluate_antidifference(weight, variable, last + 1) - squares


def sum_logarithms(weight: Poly, variable: str, count: Poly, base: int) -> Poly:
    """Return the sum of weight(t)*ceil(log_b(t)) for 1 <= t <= count; the logarithm counts j >= 0 with t > b^j."""
    if not count:
        return ZERO
    depth = a.make_sequence_term("ceil_log", count, Poly.constant(base))
    result = depth * evaluate_antidifference(weight, variable, count + 1)
    power = Symbol("b^j")
    inner = evaluate_antidifference(weight, variable, Poly.of_atom(power) + 1)
    for degree, coefficient in inner.coefficients(power).items():
        geometric = (a.exponential(base, depth.scaled(degree)) - 1) / (base**degree - 1) if degree else depth
        result = result - coefficient * geometric
    return result


def solve_geometric_weight(weight: Poly, variable: str, ratio: fmpq) -> Poly:
    """Return the q with q(v + 1)*ratio - q(v) = weight(v). Raises TooComplexError for high degrees."""
    symbol = Symbol(variable)
    parts = weight.coefficients(symbol)
    degree = max(parts)
    if min(parts) < 0 or degree > MAX_DEGREE:
        raise TooComplexError("a geometric sum has a factor of too high a degree")
    solution: dict[int, Poly] = {}
    for exponent in range(degree, -1, -1):
        rest = parts.get(exponent, ZERO)
        for higher, coefficient in solution.items():
            rest = rest - coefficient.scaled(ratio * comb(higher, exponent))
        solution[exponent] = rest.scaled(1 / (ratio - 1))
    result = ZERO
    for exponent, coefficient in solution.items():
        result = result + coefficient * Poly.of_atom(symbol, exponent)
    return result
