"""Sums quotients that are rounded down: floor(e/v), floor(e/c^v), floor((a*v + b)/m), and logarithms of floor(e/v).

They are terms of sequences with values at integers and bounds (`archline.algebra.enclosures`): `quotient_sum`,
`digit_sum` and `floor_sum`.
"""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.factors import divide_exactly
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.sums.blocks import evaluate_antidifference, is_polynomial
from archline.expr.sequences import MAX_EXPONENT


def sum_quotients(value: Poly, atom: Atom, variable: str, lo: Poly, hi: Poly, facts: Facts) -> Poly | None:
    """Return the sum for lo <= v < hi of a polynomial in v and `atom`, a rounded quotient; None for other forms."""
    parts = value.coefficients(atom)
    if min(parts) < 0 or max(parts) > MAX_EXPONENT or not all(is_polynomial(part, variable) for part in parts.values()):
        return None
    match atom:
        case a.Floor(argument=argument, modulus=modulus) if variable in modulus.names - argument.names:
            if not facts.nonnegative(argument) or not facts.integral(argument):
                return None
            by_divisors = _sum_over_divisors(parts, argument, modulus, variable, lo, hi, facts)
            return by_divisors or _sum_over_powers(parts, argument, modulus, variable, lo, hi, facts)
        case a.Floor():
            return _sum_along_line(parts, atom, variable, lo, hi, facts)
        case _:
            return _sum_logarithms_of_quotients(parts, atom, variable, lo, hi, facts)


def split_quotients(value: Poly, variable: str) -> Poly:
    """Take multiples of divisors out of quotients, so that only divisors contain the variable v.

    floor((n - 2*v)/(m - v)) -> 2 + floor((n - 2*m)/(m - v))
    """

    def split_atom(atom: Atom) -> Poly | None:
        if not isinstance(atom, a.Floor) or len(atom.modulus.terms) < 2:
            return None
        above, below = (part.coefficients(Symbol(variable)).get(1, ZERO) for part in atom.parts)
        if not below or not above.is_constant or not below.is_constant:
            return None
        ratio = above / below.constant_term
        whole = ratio and ratio.constant_term.q == 1
        return ratio + a.floor_div(atom.argument - ratio * atom.modulus, atom.modulus) if whole else None

    return value.map_within(split_atom)


def find_divisor(atom: Atom, variable: str) -> Poly | None:
    """Return the divisor of a floor, or of one in a rounded logarithm, that contains the variable; None for others."""
    logarithm = a.read_logarithm(atom)
    quotient = atom if logarithm is None else a.find_single_atom(logarithm[0] - 1)
    return quotient.modulus if isinstance(quotient, a.Floor) and variable in quotient.modulus.names else None


def _is_single_term(parts: dict[int, Poly], variable: str) -> bool:
    """Test whether an atom occurs once in every term, with a factor without the variable."""
    return set(parts) == {1} and variable not in parts[1].names


def _read_shift(modulus: Poly, variable: str, facts: Facts) -> tuple[Poly, Poly] | None:
    """Return s and c of s*(v + c), with s >= 1; None for other expressions."""
    parts = modulus.coefficients(Symbol(variable))
    scale = parts.get(1, ZERO)
    if set(parts) - {0, 1} or any(variable in part.names for part in parts.values()) or not facts.positive(scale):
        return None
    shift = divide_exactly(parts[0], scale) if 0 in parts else ZERO
    return None if shift is None or not facts.integral(shift) or not facts.integral(scale) else (scale, shift)


def _sum_over_divisors(
    parts: dict[int, Poly], argument: Poly, modulus: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts
) -> Poly | None:
    """Sum w(v)*floor(e/(s*(v + c)))^p as a sum over i = v + c, by the coefficients of w in i."""
    read = _read_shift(modulus, variable, facts)
    if read is None or not facts.positive(lo + read[1]):
        return None
    scale, shift = read
    whole = facts.simplify(a.floor_div(argument, scale))
    ends = [_cap_divisor(end + shift - 1, whole, facts) for end in (hi, lo)]
    result = ZERO
    for power, weight in parts.items():
        if not power:
            for end, sign in ((hi, 1), (lo, -1)):
                result = result + evaluate_antidifference(weight, variable, end).scaled(sign)
            continue
        by_divisor = weight.substitute({variable: Poly.symbol(variable) - shift})
        for degree, coefficient in by_divisor.coefficients(Symbol(variable)).items():
            if not 0 <= degree <= MAX_EXPONENT:
                return None
            powers = Poly.constant(degree), Poly.constant(power)
            after, before = (a.make_sequence_term("quotient_powers", whole, end, *powers) for end in ends)
            result = result + coefficient * (after - before)
    return result


def _cap_divisor(last: Poly, whole: Poly, facts: Facts) -> Poly:
    """Return the last divisor i up to which quotients floor(whole/i) are added: they are 0 above `whole`."""
    return whole if facts.nonnegative(last - whole) else facts.simplify(last)


def _sum_over_powers(
    parts: dict[int, Poly], argument: Poly, modulus: Poly, variable: str, lo: Poly, hi: Poly, facts: Facts
) -> Poly | None:
    """Sum w*floor(e/m(v)) with m(v + 1) = b*m(v): floor(floor(e/m)/b^k) over k, which the digits of floor(e/m) give."""
    now = Poly.symbol(variable)
    ratio = modulus.substitute({variable: now + 1}) * modulus**-1 if len(modulus.terms) == 1 else ZERO
    first = modulus.substitute({variable: lo})
    if not _is_single_term(parts, variable) or not ratio.is_constant or not facts.integral(first):
        return None
    number = ratio.constant_term
    if number.q != 1 or number < 2 or not facts.positive(first):
        return None
    base = int(number.p)
    start, end = (facts.simplify(a.floor_div(argument, modulus.substitute({variable: place}))) for place in (lo, hi))
    return parts[1] * (_sum_shifted(start, base) - _sum_shifted(end, base))


def _sum_shifted(value: Poly, base: int) -> Poly:
    """Return the sum of floor(value/base^k) over all k from 0 on, for a value from 0 on."""
    digits = a.make_sequence_term("digit_sum", value, Poly.constant(base))
    return (value.scaled(base) - digits) / (base - 1)


def _sum_along_line(
    parts: dict[int, Poly], atom: a.Floor, variable: str, lo: Poly, hi: Poly, facts: Facts
) -> Poly | None:
    """Sum w*floor((s*v + c)/m), with s, c and m free of v, as points with whole coordinates below a line."""
    line = atom.argument.coefficients(Symbol(variable))
    slope, modulus = line.get(1, ZERO), atom.modulus
    free = all(variable not in part.names and facts.integral(part) for part in (*line.values(), modulus))
    if not _is_single_term(parts, variable) or set(line) - {0, 1} or not free or not facts.positive(modulus):
        return None
    if not facts.nonnegative(parts[1]) or any(isinstance(inner, a.Exponential) for inner in atom.argument.atoms()):
        # Differences of floors have sharper bounds than differences of sums.
        return None
    start = facts.simplify(atom.argument.substitute({variable: lo}))
    if not facts.nonnegative(slope) or not facts.nonnegative(start):
        return None
    return parts[1] * a.make_sequence_term("floor_sum", facts.simplify(hi - lo), modulus, slope, start)


def _sum_logarithms_of_quotients(
    parts: dict[int, Poly], atom: Atom, variable: str, lo: Poly, hi: Poly, facts: Facts
) -> Poly | None:
    """Sum w*ceil(log_b(floor(e/(v + c)) + 1)): the logarithm counts the k from 0 on with v + c <= floor(e/b^k)."""
    logarithm = a.read_logarithm(atom)
    quotient = None if logarithm is None else a.find_single_atom(logarithm[0] - 1)
    if logarithm is None or not isinstance(quotient, a.Floor) or not _is_single_term(parts, variable):
        return None
    read = _read_shift(quotient.modulus, variable, facts)
    if read is None or variable in quotient.argument.names or not facts.positive(lo + read[1]):
        return None
    whole = facts.simplify(a.floor_div(quotient.argument, read[0]))
    if not facts.nonnegative(whole) or not facts.integral(whole):
        return None

    def sum_up_to(last: Poly) -> Poly | None:
        if not last:
            return ZERO
        if facts.nonnegative(last - whole):
            return _sum_shifted(whole, base)
        if not facts.positive(last):
            return None
        # Up to `level` all of 1, ..., last are counted.
        level = facts.simplify(a.make_sequence_term("ceil_log", a.floor_div(whole, last) + 1, Poly.constant(base)))
        return last * level + _sum_shifted(facts.simplify(a.floor_div(whole, a.exponential(base, level))), base)

    base = logarithm[1]
    after, before = (sum_up_to(facts.simplify(end + read[1] - 1)) for end in (hi, lo))
    return None if after is None or before is None else parts[1] * (after - before)
