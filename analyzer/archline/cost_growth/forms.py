"""Convert the closed forms of costs to expressions that the growth prover reads.

These bound the forms within constant factors, without differences, rounding or conditions.
"""

from __future__ import annotations

from itertools import permutations
from math import prod
from typing import cast

from archline.algebra import atoms as a
from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.factors import divide_exactly
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.printing import shorten_expression, to_tree
from archline.algebra.prove.prover import prove_never_negative
from archline.algebra.prove.strong import STRONG_TACTICS
from archline.algebra.relax import find_floor_by_number, replace_atoms_by_bounds
from archline.algebra.sums.blocks import match_condition_pair
from archline.analysis.communication.floors import bound_rounded_powers_above
from archline.analysis.cost import Costs
from archline.expr import build as b
from archline.expr.sequences import RECURSIVE_SEQUENCES
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.base_cases import relax_lower_bound, remove_caps

TRIED_SHARES = (fmpq(1, 4), fmpq(1, 64), fmpq(1, 1024))
MAX_PROOF_EFFORT = 20_000


def build_growth_bounds(costs: Costs, ends: tuple[Poly, Poly], facts: Facts, blocks: bool) -> tuple[s.Expr, s.Expr]:
    """Return expressions that bound a cost within constant factors, from below and from above.

    `ends` are its lower and its upper bound. With `blocks` terms m*floor(e/m) of the upper bound are kept.
    """
    ends = _relax_sequences(ends[0], False, facts), _relax_sequences(ends[1], True, facts)
    below, above = _build_cached_bounds(costs, ends, facts, blocks)
    if any(map(_is_rounded_power, s.iterate_nodes((below, above)))):
        most = drop_conditions(ends[1], facts)
        unrounded = -bound_rounded_powers_above(-ends[0], facts), bound_rounded_powers_above(most, facts)
        below, above = _build_cached_bounds(costs, unrounded, facts, blocks)
    return below, above


SEQUENCE_RATIOS = {"arrangements": ("factorial", 0, 3), "fibonacci": ("fibonacci", 1, 2)}
"""The sequence, and the shift to its argument, of which multiples bound another sequence; the greatest multiple."""


def _relax_sequences(value: Poly, upper: bool, facts: Facts) -> Poly:
    """Write the sequences in a bound by one sequence each, so that no multiple of one is subtracted from another.

    Terms of sequences that no recursion costs are replaced by their bounds.

    For e >= 1, arrangements(e) is from 2*e! to 3*e!, and fibonacci(e + 1) from fibonacci(e) to 2*fibonacci(e).
    """
    value = relax_differences(value, upper, facts)
    value = replace_atoms_by_bounds(value, _find_plain_sequence, facts, upper) or value
    for atom in [atom for atom in value.atoms() if isinstance(atom, a.Sequence) and atom.name in SEQUENCE_RATIOS]:
        name, shift, most = SEQUENCE_RATIOS[atom.name]
        if atom.argument.constant_term != shift or value.degree(atom) != 1:
            continue
        bounding = a.make_sequence_term(name, atom.argument - shift)
        for monomial, coefficient in value.terms.items():
            plain = all(factor is atom or isinstance(factor, Symbol | a.Exponential) for factor, _ in monomial)
            if (atom, 1) in monomial and plain:
                rest = Poly({tuple(pair for pair in monomial if pair[0] is not atom): coefficient})
                ratio = most if (coefficient > 0) == upper else most - 1
                value = value - Poly({monomial: coefficient}) + rest * bounding.scaled(ratio)
    less = value.constant_term
    if upper or less >= 0:
        return value
    for monomial, coefficient in value.terms.items():
        factor, power = monomial[0] if len(monomial) == 1 else (None, 0)
        alone = isinstance(factor, a.Sequence) and factor.name in RECURSIVE_SEQUENCES and power > 0
        if alone and coefficient > -less:
            # A term of a sequence is at least 1: c*s - d >= (c - d)*s.
            return value - less + Poly({monomial: less})
    return value


def relax_differences(value: Poly, upper: bool, facts: Facts) -> Poly:
    """Bound sums of quotients of e that are subtracted from those of e + d: by 0 and d for each term."""
    sums = [atom for atom in value.atoms() if isinstance(atom, a.Sequence) and atom.name == "quotient_sum"]
    for larger, smaller in permutations(sums, 2):
        last, difference = larger.parts[1], larger.argument - smaller.argument
        factor = value.coefficients(smaller).get(1)
        linear = value.degree(smaller) == value.degree(larger) == 1
        # No quotient of e by a number above e is counted.
        alike = smaller.parts[1] in (last, facts.minimum(last, smaller.argument))
        constant = difference.is_constant and difference.constant_term > 0 and alike
        if not linear or not constant or factor is None or not factor.is_constant or not facts.nonnegative(last):
            continue
        value = value - factor * (Poly.of_atom(smaller) - Poly.of_atom(larger))
        # What is left of the term is its factor times the difference, with the opposite sign.
        if (factor.constant_term < 0) == upper:
            value = value - factor * difference * last
    return value


def _find_plain_sequence(value: Poly) -> Atom | None:
    """Return a term of a sequence that is neither one of recursions nor a logarithm; None if there is none."""
    found = (
        atom
        for atom in sorted(value.atoms_within(), key=str)
        if isinstance(atom, a.Sequence) and atom.name not in RECURSIVE_SEQUENCES and atom.name != "ceil_log"
    )
    return next(found, None)


def _is_rounded_power(expr: s.Node) -> bool:
    """Test for a power with a rounded logarithm as exponent, which the prover cannot read."""
    match expr:
        case s.Binary(op="^", right=s.Call(function="ceil", arguments=(s.Call(function="log2"),))):
            return True
        case _:
            return False


def _build_cached_bounds(costs: Costs, ends: tuple[Poly, Poly], facts: Facts, blocks: bool) -> tuple[s.Expr, s.Expr]:
    """Return expressions that bound a cost, which may have powers with rounded exponents. Memoised in `facts`.

    With `blocks` the upper bound keeps terms m*floor(e/m).
    """
    low, high = ends
    cached = cast(dict[object, tuple[s.Expr, s.Expr]], facts.found.setdefault(_build_cached_bounds, {}))
    if (key := (costs.parameters, ends, blocks)) not in cached:
        above = drop_conditions(high, facts)
        above = above if blocks else relax_block_floors(above, facts, floors=False)
        if low == high:
            cached[key] = _build_lower_expression(costs, low, facts), _convert_bound(costs, above, True)
        else:
            cached[key] = build_lower_growth(costs, low, facts), build_upper_growth(costs, above, facts)
    return cached[key]


def drop_conditions(value: Poly, facts: Facts) -> Poly:
    """Return an upper bound on a value in which conditions, as 0 or 1, are replaced by 1; nested maxima may cancel."""
    maxima = sorted((atom for atom in value.atoms_within() if isinstance(atom, a.PositivePart)), key=str)
    for atom in maxima if value.atoms() >= set(maxima) else ():
        pair = match_condition_pair(value, atom, facts)
        if pair is not None and facts.nonnegative(pair.weight):
            return drop_conditions(pair.rest + pair.weight * pair.most, facts)
    for level in sorted((atom for atom in value.atoms() if isinstance(atom, a.CeilLog2)), key=str):
        # ceil(log2(n)) + 1 - ceil(log2(n + 1)) is 0 at powers of 2, else 1.
        smaller, parts = a.ceil_log2(level.argument - 1), value.coefficients(level)
        if smaller.atoms() & value.atoms() and parts.keys() <= {0, 1} and facts.nonnegative(-parts[1]):
            return drop_conditions(value.replace_atom(level, smaller), facts)
    return value


# Bounds of base cases cap sizes by numbers, which the growth prover does not read: the caps are removed.
def build_lower_growth(costs: Costs, value: Poly, known: Facts) -> s.Expr:
    """Return an expression for the growth of a lower bound: a constant factor times it does not exceed `value`.

    `known` are the facts about sizes.
    """
    return _build_lower_expression(costs, relax_lower_bound(value, known), known)


def build_upper_growth(costs: Costs, value: Poly, known: Facts) -> s.Expr:
    """Return an expression for the growth of an upper bound: `value` does not exceed a constant factor times it.

    `known` are the facts about sizes.
    """
    return _convert_bound(costs, remove_caps(value, known, upper=True), True)


def _convert_bound(costs: Costs, value: Poly, upper: bool) -> s.Expr:
    """Convert a value to an expression that is an upper or a lower bound, with b^log2(e) as a power of e."""
    if not upper:
        value = _replace_maxima(value, fmpq(1)) if len(value.terms) <= 2 else value
    merged = _merge_logarithms(value, upper)
    # b*floor((n - 1)/b), which is at most n, must not become b*ceil(n/b): that may be b.
    terms = shorten_expression(merged, blocks=not upper).terms.items()
    return b.sum_terms(
        (number < 0, _convert_term(costs, term, number, upper == (number > 0))) for term, number in terms
    )


def _build_lower_expression(costs: Costs, value: Poly, facts: Facts) -> s.Expr:
    """Return a lower bound on a value without differences, if one is proved; else one that may have some."""
    return bound_below_without_differences(costs, value, facts) or _convert_part_to_lower_bound(
        costs, value, value, facts
    )


def _convert_part_to_lower_bound(costs: Costs, part: Poly, value: Poly, facts: Facts) -> s.Expr:
    """Convert `part`, a lower bound on `value`, to an expression that is one too.

    A negative constant that merging of logarithms adds is removed: e - d >= e/(1 + d) if e - d >= 1.
    """
    merged = _merge_logarithms(part, False)
    less = min(fmpq(0), merged.constant_term)
    if less and merged != part and is_at_least(value, ONE, facts):
        part = (merged - less).scaled(1 / (1 - less))
    return _convert_bound(costs, part, False)


def bound_below_without_differences(costs: Costs, value: Poly, facts: Facts) -> s.Expr | None:
    """Return a lower bound on a value as an expression without differences, proved for integer sizes; else None."""
    inner = _replace_maxima(value, fmpq(1))
    if inner == value and all(coefficient > 0 for coefficient in value.terms.values()):
        return _convert_part_to_lower_bound(costs, value, value, facts)
    # A maximum is at least the mean of its two operands, a bound in which both occur.
    uncapped = remove_caps(value, facts, upper=False)
    first = [] if uncapped == value else [uncapped]
    for whole in dict.fromkeys((*first, _replace_maxima(value, fmpq(1, 2)), value, inner)):
        positive = whole.positive_terms()
        for part in (positive, _select_independent_terms(positive, whole)):
            share = _find_proved_share(value, part, facts) if part else None
            if share is not None:
                return _convert_part_to_lower_bound(costs, part.scaled(share), value, facts)
    whole = -relax_block_floors(-value, facts, floors=True)
    return None if whole == value else bound_below_without_differences(costs, whole, facts)


def relax_block_floors(value: Poly, facts: Facts, floors: bool) -> Poly:
    """Return an upper bound on a value with e in place of m*floor(e/m); with `floors`, in place of floor(e/m) too."""

    def is_nonnegative(bound: Poly) -> bool:
        return facts.nonnegative(bound.substitute(facts.rewrites))

    def as_negated_floor(atom: Atom) -> Poly | None:
        # ceil(n/b) is floor((n - 1)/b) + 1.
        if not isinstance(atom, a.Floor) or atom.modulus.is_constant or not is_nonnegative(-atom.argument - 1):
            return None
        return -a.floor_div(-atom.argument - 1, atom.modulus) - 1

    result, pending = ZERO, list(value.map_atoms(as_negated_floor).terms.items())
    while pending:
        monomial, coefficient = pending.pop()
        term = Poly({monomial: coefficient})
        for atom in (
            term.atoms() if coefficient > 0 and all(is_nonnegative(Poly.of_atom(part)) for part in term.atoms()) else ()
        ):
            if isinstance(atom, a.Floor) and not atom.modulus.is_constant and is_nonnegative(atom.argument):
                ((power, rest),) = term.coefficients(atom).items()
                divided = divide_exactly(rest, atom.modulus) or (rest if floors else None)
                if power > 0 and divided is not None:
                    term = divided * atom.argument * Poly.of_atom(atom, power - 1)
                    break
        else:
            result = result + term
            continue
        pending.extend(term.terms.items())
    return result


def _find_proved_share(value: Poly, part: Poly, facts: Facts) -> fmpq | None:
    """Find the largest of `TRIED_SHARES` for which value >= share*part is proved; None if none is."""
    most, middle, least = TRIED_SHARES
    if is_at_least(value, part.scaled(most), facts):
        return most
    if not is_at_least(value, part.scaled(least), facts):
        return None
    return middle if is_at_least(value, part.scaled(middle), facts) else least


def _select_independent_terms(positive: Poly, whole: Poly) -> Poly:
    """Select the terms of `positive` that no negative term of `whole` can cancel: r of q*b - b + r, as q may be 1."""
    negative = [dict(monomial) for monomial, coefficient in whole.terms.items() if monomial and coefficient < 0]
    return Poly(
        {
            monomial: coefficient
            for monomial, coefficient in positive.terms.items()
            if not any(all(dict(monomial).get(x, 0) >= power for x, power in powers.items()) for powers in negative)
        }
    )


def _replace_maxima(value: Poly, share: fmpq) -> Poly:
    """Return a lower bound on a value in which share*e replaces each max(0, e) with positive coefficient."""
    result = ZERO
    for monomial, coefficient in value.terms.items():
        rest = tuple((atom, power) for atom, power in monomial if not isinstance(atom, a.PositivePart))
        match [(atom, power) for atom, power in monomial if isinstance(atom, a.PositivePart)]:
            case [(a.PositivePart(argument=argument), 1)] if coefficient > 0:
                result = result + Poly({rest: coefficient * share}) * argument
            case _:
                result = result + Poly({monomial: coefficient})
    return result


def is_at_least(value: Poly, part: Poly, facts: Facts) -> bool:
    """Test whether `value` is proved to be at least `part`, with limited effort."""
    try:
        with limit_effort(MAX_PROOF_EFFORT):
            rest = (value - part).substitute(facts.rewrites)
            if prove_never_negative(rest, facts, STRONG_TACTICS):
                return True
            # max(0, e) is at least e; divisors are multiplied out.
            inner = (_replace_maxima(value, fmpq(1)) - part).substitute(facts.rewrites)
            whole = facts.clear_denominators(inner)
            return whole != rest and prove_never_negative(whole, facts, STRONG_TACTICS)
    except TooComplexError:
        return False


def _merge_logarithms(value: Poly, upper: bool) -> Poly:
    """Return a bound on a value with one logarithm of each size: ceil(log2(n)) for all ceil(log2(n + c))."""
    total = ZERO
    for monomial, coefficient in value.terms.items():
        term = Poly.constant(coefficient)
        reduced = False
        for atom, power in monomial:
            factor = Poly.of_atom(atom)
            ends = _bound_logarithm_by_size(atom) if power > 0 else None
            if ends is not None:
                end = ends[upper == (coefficient > 0)]
                less = end.constant_term < 0
                # A bound that may be negative is used in no power, and only once in a product.
                if not less or (power == 1 and not reduced):
                    factor, reduced = end, reduced or less
            term = term * factor**power
        total = total + term
    return total


def _bound_logarithm_by_size(atom: Atom) -> tuple[Poly, Poly] | None:
    """Return bounds on a rounded logarithm of e by ceil(log2(n)) plus constants; None for other atoms.

    They hold if c*n - d <= e <= c*n + d': for n >= 1, c*n/(1 + d) <= max(1, c*n - d), and c*n + d' <= n*(c + d').
    """
    if isinstance(atom, a.Sequence) and (logarithm := a.read_logarithm(atom)) is not None:
        # It is the logarithm to the base 2, divided by the rounded logarithm of its base, or more.
        binary = a.CeilLog2(logarithm[0])
        low, high = _bound_logarithm_by_size(binary) or (Poly.of_atom(binary),) * 2
        return low / (logarithm[1] - 1).bit_length(), high
    if not isinstance(atom, a.CeilLog2):
        return None
    ends = []
    for upper in (False, True):
        value = replace_atoms_by_bounds(atom.argument, find_floor_by_number, Facts(), upper)
        size = ZERO if value is None else value - value.constant_term
        if value is None or len(size.terms) != 1:
            return None
        ((monomial, factor),) = size.terms.items()
        if factor <= 0 or not all(isinstance(symbol, Symbol) and power > 0 for symbol, power in monomial):
            return None
        offset = max(fmpq(0), value.constant_term if upper else -value.constant_term)
        difference = a.ceil_log2(Poly.constant(factor + offset if upper else (1 + offset) / factor))
        ends.append(a.ceil_log2(Poly({monomial: fmpq(1)})) + (difference if upper else -difference))
    return ends[0], ends[1]


def _convert_term(costs: Costs, monomial: Monomial, coefficient: fmpq, upper: bool) -> s.Expr:
    """Convert the absolute value of a term to an expression that is an upper or a lower bound on it."""
    powers: dict[_LogarithmicExponent, list[tuple[int, int]]] = {}
    rest: list[tuple[Atom, int]] = []
    for atom, power in monomial:
        level = _match_logarithmic_exponent(atom)
        if isinstance(atom, a.Exponential) and level is not None:
            powers.setdefault(level, []).append((atom.base, power))
        else:
            rest.append((atom, power))
    scale = abs(coefficient)
    factors = [to_tree(Poly({tuple(rest): fmpq(1)}), costs.parameters)] if rest else []
    for level, bases in powers.items():
        scale *= level.compute_rounding_factor(
            prod((fmpq(number) ** power for number, power in bases), start=fmpq(1)), upper
        )
        logarithms = ((level.rate * power, _write_logarithm(number, level.base)) for number, power in bases)
        exponent = b.sum_terms((False, b.product([b.number(times), logarithm])) for times, logarithm in logarithms)
        factors.append(b.power(to_tree(level.argument, costs.parameters), exponent))
    return b.product(factors if scale == 1 and factors else [b.number(scale), *factors])


def _write_logarithm(number: int, base: int) -> s.Expr:
    """Write the logarithm of a number."""
    if number == base:
        return b.ONE
    logarithm = b.call("log2", b.number(number))
    return logarithm if base == 2 else b.binary("/", logarithm, b.call("log2", b.number(base)))


@record
class _LogarithmicExponent:
    """An exponent rate*log(argument); `rounding` is 1 if it is rounded up, -1 if down, 0 if not rounded."""

    argument: Poly
    rate: fmpq
    rounding: int
    base: int = 2

    def compute_rounding_factor(self, base: fmpq, upper: bool) -> fmpq:
        """Return the factor c for which base^exponent is at most (or least) c*base^(rate*log(argument)).

        b^ceil(y) lies between b^y and b*b^y, and b^floor(y) between b^y/b and b^y, or the reverse if b < 1.
        """
        rises = (base > 1) == (self.rounding > 0)
        return base**self.rounding if rises == upper else fmpq(1)


def _match_logarithmic_exponent(atom: Atom) -> _LogarithmicExponent | None:
    """Return the exponent of an atom b^log2(x), b^ceil(log2(x)) or b^floor(c*log2(x)/m); None for other atoms."""
    if not isinstance(atom, a.Exponential):
        return None
    match a.find_single_atom(atom.exponent):
        case a.CeilLog2(argument=argument):
            return _LogarithmicExponent(argument, fmpq(1), 1)
        case a.Sequence(name="ceil_log", parts=(argument, base)):
            return _LogarithmicExponent(argument, fmpq(1), 1, int(base.constant_term.p))
        case a.RealFunction(function="log2", argument=argument):
            return _LogarithmicExponent(argument, fmpq(1), 0)
        case a.Floor(argument=value, modulus=modulus) if modulus.is_constant and len(value.terms) == 1:
            (factor,) = value.terms.values()
            match a.find_single_atom(value / factor):
                case a.RealFunction(function="log2", argument=argument) if factor > 0:
                    return _LogarithmicExponent(argument, factor / modulus.constant_term, -1)
                case _:
                    pass
        case _:
            pass
    return None
