"""Reduces expressions with maxima and floors to the shortest form that is found, equal at every point.

Maxima and floors are resolved by cases, in each of which the expression is usually a polynomial: at the smallest
values of a size one by one and beyond them; on either side of a sign change; for n = m*q + r with 0 <= r < m. If all
cases give one polynomial, it is the form. If a few small sizes differ, max(0, k - n) corrects them; if remainders
differ, the form is the polynomial in r through all of them. The derivation of a form is therefore its proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from functools import partial
from itertools import pairwise
from math import lcm
from sys import maxsize
from typing import TypeAlias

from archline.algebra import atoms as a
from archline.algebra.bounds import Bounds
from archline.algebra.effort import TooComplexError, is_out_of_time, limit_effort
from archline.algebra.expand import extract_halvings, rewrite_maxima_at_powers
from archline.algebra.factors import divide_exactly, monomial_key
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.printing import to_text
from archline.records import record, replace

MAX_CASES = 150
MAX_PRODUCTS = 12_000
MAX_SMALL_SIZES = 8
MAX_LENGTH_RATIO = 2
MAX_REMAINDERS = 64
MAX_DEGREE = 4
PiecewiseAtom: TypeAlias = a.PositivePart | a.Floor
_TriedSplits: TypeAlias = frozenset[object]


def reduce_in_sizes(value: Poly, facts: Facts) -> Poly:
    """Reduce a value in the sizes of an algorithm; the facts may rewrite sizes."""
    form = reduce_expression(facts.simplify(value.substitute(facts.rewrites)), facts)
    return extract_halvings(facts.restore(form), facts)


def reduce_expression(value: Poly, facts: Facts) -> Poly:
    """Return an equal value under the facts, in a form that is not longer."""
    value = rewrite_maxima_at_powers(_cancel_quotients(value), facts)
    if not any(isinstance(atom, PiecewiseAtom) for atom in value.atoms()):
        return value
    facts, scale = facts.without_younger_symbols(value.names), a.compute_content(value)
    primitive = value.scaled(1 / scale)
    key = reduce_expression, primitive
    if key not in facts.found:
        if is_out_of_time():
            return value
        facts.found[key] = primitive
        # A division by n - 1 has no value in the case n = 1; then the value is not reduced.
        with suppress(TooComplexError, ZeroDivisionError), limit_effort(MAX_PRODUCTS):
            form = _FormSearch().find_shortest(primitive, facts)
            if form is not primitive and _is_better_form(form, primitive, facts):
                facts.found[key] = form
    reduced_form = facts.found[key]
    assert isinstance(reduced_form, Poly)
    return value if reduced_form is primitive else reduced_form.scaled(scale)


def _is_better_form(form: Poly, plain: Poly, facts: Facts) -> bool:
    """Test whether a form is shorter, or of a lower degree and not much longer."""
    # An own budget, because cached texts must not influence the result.
    with limit_effort(maxsize, own=True):
        ratio = len(to_text(facts.restore(form))) / len(to_text(facts.restore(plain)))
    return (
        ratio < 1
        if _measure_written_degree(form) == _measure_written_degree(plain)
        else _measure_written_degree(form) < _measure_written_degree(plain) and ratio < MAX_LENGTH_RATIO
    )


def _measure_length(value: Poly) -> tuple[int, ...]:
    """Measure how long a form is to read: its degree first, then the number of maxima, floors and other composites."""
    powers = sum(abs(power) for monomial in value.terms for _, power in monomial)
    pieces = {atom for atom in value.atoms_within() if atom.parts}
    return _measure_written_degree(value), len(pieces), len(value.terms), powers, len(value.key)


def _measure_written_degree(value: Poly) -> int:
    """Return the degree of the form as written; quotients and maxima have the degrees of their parts."""
    return max(
        (sum(power * _measure_atom_degree(atom) for atom, power in monomial) for monomial in value.terms), default=0
    )


def _measure_atom_degree(atom: Atom) -> int:
    match atom:
        case a.PositivePart():
            return _measure_written_degree(atom.argument)
        case a.Floor():
            return _measure_written_degree(atom.argument) - _measure_written_degree(atom.modulus)
        case _:
            return 0 if atom.parts else 1


def _cancel_quotients(value: Poly) -> Poly:
    """Replace d*(e/d) by e, since the program promises that the division is exact: (k + 1)*(n/(k + 1)) -> n."""
    for atom in [atom for atom in value.atoms() if isinstance(atom, a.Quotient) and atom.divisor]:
        lead = max((m for m in atom.divisor.terms), key=lambda monomial: (sum(p for _, p in monomial), str(monomial)))
        if any(power < 0 for _, power in lead):
            continue
        rest = (atom.argument - Poly.of_atom(atom) * (atom.divisor - _single_term(lead, atom.divisor))) / (
            atom.divisor.terms[lead]
        )
        while chosen := {m: c for m, c in value.terms.items() if _is_multiple(m, (*lead, (atom, 1)))}:
            share = Poly({_divide_monomial(m, (*lead, (atom, 1))): c for m, c in chosen.items()})
            value = Poly({m: c for m, c in value.terms.items() if m not in chosen}) + share * rest
    return value


def _single_term(monomial: Monomial, value: Poly) -> Poly:
    return Poly({monomial: value.terms[monomial]})


def _is_multiple(monomial: Monomial, factor: Monomial) -> bool:
    powers = dict(monomial)
    return all(powers.get(atom, 0) >= power for atom, power in factor)


def _divide_monomial(monomial: Monomial, factor: Monomial) -> Monomial:
    divisor = dict(factor)
    return tuple((atom, power - divisor.get(atom, 0)) for atom, power in monomial if power != divisor.get(atom, 0))


class _FormSearch:
    """The search for the shortest form of an expression; it stops after MAX_CASES cases."""

    def __init__(self) -> None:
        self.left = MAX_CASES

    def find_shortest(self, value: Poly, facts: Facts, vain: _TriedSplits = frozenset()) -> Poly:
        """Return the shortest equal form that is found, without trying splits whose keys are in `vain`.

        Such splits failed before, or concern atoms that the current case does not affect.
        """
        equal = {name: end for name in value.names for end in _find_equal_bounds(facts.bounds.get(name))}
        value = facts.simplify(value.substitute(equal) if equal else value)
        for key, split in self._iterate_splits(value, facts, vain):
            if key not in vain:
                self.left -= 1
                if self.left < 0:
                    raise TooComplexError("too many cases")
                vain |= {key}
                candidate = split(vain)
                if candidate is not None and _measure_length(candidate) < _measure_length(value):
                    return self.find_shortest(candidate, facts)
        return value

    def _iterate_splits(
        self, value: Poly, facts: Facts, vain: _TriedSplits
    ) -> Iterator[tuple[object, Callable[[_TriedSplits], Poly | None]]]:
        """Yield splits of the value, each with a key and a function that tries it; the most useful come first."""
        atoms = sorted(set(_find_innermost_piecewise(value)) - vain, key=lambda atom: atom.key)
        for name in sorted(value.names):
            numbers = _find_small_range(facts.bounds.get(name))
            if numbers is not None and (
                any(name in atom.names for atom in atoms) or value.degree(Symbol(name)) >= len(numbers)
            ):
                yield name, partial(self._interpolate_values, value, name, numbers, facts)
                return
        families: dict[Poly, list[_Change]] = {}
        for atom in atoms:
            if (change := _find_change(atom, facts)) is not None:
                change = _find_change_by_symbol(change, facts) or change
                families.setdefault(change.along, []).append(change)
        for along in sorted(families, key=lambda line: (len(line.names), -len(families[line]), line.key)):
            changes = families[along]
            if len(changes) > 1 or not _is_isolated(value, changes[0].atom, along.names):
                key = along, *sorted({crossing.start for crossing in changes})
                yield key, partial(self._reduce_by_parts, value, along, changes, facts)
        floors = [atom for atom in atoms if isinstance(atom, a.Floor)]
        for name in sorted({name for atom in floors for name in atom.argument.names}):
            for modulus in _find_moduli(value, name, facts):
                of_name = [atom for atom in floors if name in atom.names]
                if not (
                    _has_independent_floor(value, name, modulus)
                    or all(_is_isolated(value, atom, {name, *modulus.names}) for atom in of_name)
                ):
                    for up in (False, True):
                        key = name, modulus, up
                        yield key, partial(self._reduce_by_blocks, value, *key, facts)

    # Remainders
    def _reduce_by_blocks(
        self, value: Poly, name: str, modulus: Poly, up: bool, facts: Facts, vain: _TriedSplits
    ) -> Poly | None:
        """Return the form in q and r where n = m*q + r, or n = m*q - r if `up`, with 0 <= r < m; None if r remains."""
        block, rest = facts.make_unused_name("block'"), facts.make_unused_name("rest'")
        whole, offset = Poly.symbol(block) * modulus, Poly.symbol(rest)
        size = whole - offset if up else whole + offset
        within = split_in_blocks(facts, name, modulus, up, size, (block, rest))
        form = self.find_shortest(value.substitute({name: size}), within, vain.union(_find_innermost_piecewise(value)))
        if any(rest in atom.names for atom in form.atoms() if atom.parts):
            return None
        now = Poly.symbol(name)
        number = a.ceil_div(now, modulus) if up else a.floor_div(now, modulus)
        form = form.substitute({rest: whole - now if up else now - whole})
        return facts.simplify(form.substitute({block: number}))

    def _interpolate_values(
        self, value: Poly, name: str, numbers: range, facts: Facts, vain: _TriedSplits
    ) -> Poly | None:
        """Interpolate the forms at the few values of a symbol by a polynomial; None if its degree is high."""
        interpolant, power, vain = ZERO, ONE, vain.union(_find_innermost_piecewise(value))
        for degree, number in enumerate(numbers):
            point = {name: Poly.constant(number)}
            pinned_facts = pin_symbol(facts, name, number)
            if pinned_facts is None:
                return None
            error = self.find_shortest(value.substitute(point), pinned_facts, vain) - interpolant.substitute(point)
            if error and degree > MAX_DEGREE:
                return None
            # The added term is 0 at the numbers before.
            interpolant = interpolant + error * power
            power = power * (Poly.symbol(name) - number) / (degree + 1)
        return interpolant

    # Signs
    def _reduce_by_parts(
        self, value: Poly, along: Poly, changes: list[_Change], facts: Facts, vain: _TriedSplits
    ) -> Poly | None:
        """Return the form where `along` is above all changes, with corrections on the parts between and below them.

        None if the conditions of some part add nothing to the facts.
        """
        parts = list[_Part]()
        for low, high in pairwise((None, *sorted({change.start for change in changes}), None)):
            within = facts if low is None else facts.with_nonnegative(along - low)
            within = within if high is None else within.with_nonnegative(high - 1 - along)
            if within is facts:
                return None
            part = value
            for change in changes:
                part = part.replace_atom(
                    change.atom, change.below if low is None or low < change.start else change.above
                )
            parts.append(_Part(within.simplify(part), low, (within,)))
        outside = set(_find_innermost_piecewise(value)) - {change.atom for change in changes}
        vain |= outside.intersection(*(set(_find_innermost_piecewise(piece.value)) for piece in parts))
        parts = self._merge_parts(
            [replace(piece, value=self.find_shortest(piece.value, piece.facts[0], vain)) for piece in parts]
        )
        form = parts[-1].value
        if len(parts) > 1 and (small := self._correct_small_sizes(parts, along, facts, vain)) is not None:
            return small
        for lower, upper in pairwise(parts):
            assert upper.start is not None
            form = form + _multiply_by_indicator(lower.value - upper.value, upper.start - along)
        return form

    def _merge_parts(self, parts: list[_Part]) -> list[_Part]:
        """Merge neighbouring parts if the form of either is right on both."""
        merged: list[_Part] = []
        for lower in reversed(parts):
            if merged:
                upper = merged[0]
                difference = lower.value - upper.value
                whole = _Part(upper.value, lower.start, lower.facts + upper.facts)
                if self._is_zero_on(difference, lower):
                    merged[0] = whole
                    continue
                if self._is_zero_on(difference, upper):
                    merged[0] = replace(whole, value=lower.value)
                    continue
            merged.insert(0, lower)
        return merged

    def _is_zero_on(self, value: Poly, part: _Part) -> bool:
        # Most differences are refuted at a sample point, which saves the search.
        if any(facts.refutes(value) or facts.refutes(-value) for facts in part.facts):
            return False
        return not value or all(not self.find_shortest(value, facts) for facts in part.facts)

    def _correct_small_sizes(self, parts: list[_Part], along: Poly, facts: Facts, vain: _TriedSplits) -> Poly | None:
        """Return the form on the last part, corrected by max(0, k - n) at a few smaller sizes; None if many differ."""
        start = parts[-1].start
        assert start is not None
        count = next(
            (count for count in range(1, MAX_SMALL_SIZES + 1) if facts.nonnegative(along - start + count)), None
        )
        if count is None:
            return None
        form, bends = parts[-1].value, list[Poly]()
        for number in range(start - 1, start - count - 1, -1):
            within = facts.with_nonnegative(along - number).with_nonnegative(number - along)
            part = next(piece for piece in reversed(parts) if piece.start is None or piece.start <= number)
            difference = self.find_shortest(part.value - form, within, vain)
            for distance, bend in enumerate(reversed(bends), 2):
                difference = difference - bend.scaled(distance)
            bends.append(difference)
        if not all(_dominates_termwise(form, bend) for bend in bends):
            # Corrections of higher growth would hide that the form grows more slowly.
            return None
        for number, bend in zip(range(start, start - count, -1), bends, strict=True):
            form = form + bend * a.positive_part(number - along)
        return form


@record
class _Part:
    """A value from `start` on (None: unbounded below) up to the next part, with facts for each piece of the part."""

    value: Poly
    start: int | None
    facts: tuple[Facts, ...]


def _multiply_by_indicator(value: Poly, last: Poly) -> Poly:
    """Return an expression that is `value` where the integer `last` is positive, else 0; n, n -> max(0, n)."""
    for end in (last, last - 1):
        factor = divide_exactly(value, end)
        if factor is not None:
            return factor * a.positive_part(end)
    return value * (a.positive_part(last) - a.positive_part(last - 1))


@record
class _Change:
    """The fact that an atom equals `below` where `along` < `start`, and `above` elsewhere."""

    atom: PiecewiseAtom
    along: Poly
    start: int
    below: Poly
    above: Poly


def _find_change(atom: PiecewiseAtom, facts: Facts) -> _Change | None:
    """Return the change of a maximum, or of a floor that takes two values; None for other floors."""
    if isinstance(atom, a.PositivePart):
        # At argument 0 both branches agree; starting at 1 gives stronger facts.
        return _make_change(atom, atom.argument - 1, ZERO, atom.argument)
    argument, modulus = atom.argument, atom.modulus
    if not a.is_integral(argument) or not a.is_integral(modulus):
        return None
    for low in (0, -1):
        excess = argument - modulus.scaled(low)
        if facts.nonnegative(excess) and facts.nonnegative(modulus.scaled(2) - 1 - excess):
            return _make_change(atom, excess - modulus, Poly.constant(low), Poly.constant(low + 1))
    return None


def _make_change(atom: PiecewiseAtom, argument: Poly, below: Poly, above: Poly) -> _Change | None:
    """Return the change of an atom that is `below` where the argument is negative, else `above`; None if constant."""
    shift = argument.constant_term
    rest = argument - shift
    if not rest:
        return None
    scale = a.compute_content(rest)
    if rest.terms[min(rest.terms, key=monomial_key)] < 0:
        scale = -scale
    along = rest.scaled(1 / scale)
    if not a.is_integral(along):
        return None
    start = -shift / scale
    if scale > 0:
        return _Change(atom, along, int(start.ceil()), below, above)
    return _Change(atom, along, int(start.floor()) + 1, above, below)


def _find_change_by_symbol(change: _Change, facts: Facts) -> _Change | None:
    """Return a change along one symbol that leaves the atom below a small number and decides it above; else None."""
    if a.find_single_atom(change.along) is not None:
        return None
    for name in sorted(change.along.names):
        minimum = facts.bounds[name].minimum if name in facts.bounds else None
        if minimum is None:
            continue
        for start in (minimum + MAX_SMALL_SIZES, *range(minimum + 1, minimum + MAX_SMALL_SIZES)):
            within = facts.with_nonnegative(Poly.symbol(name) - start)
            excess = change.along - change.start
            decided = change.above if within.nonnegative(excess) else change.below if within.positive(-excess) else None
            if decided is None and start == minimum + MAX_SMALL_SIZES:
                break
            if decided is not None and start < minimum + MAX_SMALL_SIZES:
                return _Change(change.atom, Poly.symbol(name), start, Poly.of_atom(change.atom), decided)
    return None


def _find_innermost_piecewise(value: Poly) -> Iterator[PiecewiseAtom]:
    """Yield the maxima and floors that contain no other one, except those in logarithms and other composites."""
    for atom in value.atoms():
        if isinstance(atom, PiecewiseAtom):
            inside = [piece for part in atom.parts for piece in _find_innermost_piecewise(part)]
            yield from inside or [atom]


def _is_isolated(value: Poly, atom: Atom, names: Set[str]) -> bool:
    """Test whether no other atom and no cofactor of the atom contains one of the names."""
    for monomial in value.terms:
        for factor, power in monomial:
            if factor is atom:
                if power > 1 or any(cofactor.names & names for cofactor, _ in monomial if cofactor is not atom):
                    return False
            elif factor.parts and factor.names & names:
                return False
    return True


def _has_independent_floor(value: Poly, name: str, modulus: Poly) -> bool:
    """Test whether a symbol is in one floor only, whose modulus is symbolic or exceeds all powers of the symbol."""
    within = {atom for atom in value.atoms_within() if atom.parts and name in atom.names}
    powers = (sum(power for atom, power in monomial if name in atom.names) for monomial in value.terms)
    return len(within) == 1 and (not modulus.is_constant or modulus.constant_term > max(powers))


def _dominates_termwise(large: Poly, small: Poly) -> bool:
    """Test whether each term of `small` divides a term of `large`, apart from rounding."""
    many, few = ([dict(monomial) for monomial in _drop_rounding(value).terms] for value in (large, small))
    return all(any(all(m.get(atom, 0) >= f.get(atom, 0) for atom in {**m, **f}) for m in many) for f in few)


def _drop_rounding(value: Poly) -> Poly:
    """Replace floors and maxima by their arguments without rounding and clipping, an upper bound termwise."""
    magnitudes = Poly({monomial: abs(coefficient) for monomial, coefficient in value.terms.items()})
    return magnitudes.map_atoms(_drop_atom_rounding)


def _drop_atom_rounding(atom: Atom) -> Poly | None:
    match atom:
        case a.PositivePart():
            # max(0, 2 - n) <= 2
            return _drop_rounding(atom.argument.positive_terms())
        case a.Floor():
            return _drop_rounding(atom.argument)
        case _:
            return None


def _find_equal_bounds(bounds: Bounds | None) -> Iterator[Poly]:
    """Iterate over values that are both lower and upper bounds, which the symbol equals."""
    return iter(()) if bounds is None else (end for end in bounds.lower if end in bounds.upper)


def _find_small_range(bounds: Bounds | None) -> range | None:
    """Return the numbers that a symbol may be, if they are few, else None."""
    if bounds is None or bounds.minimum is None or bounds.maximum is None:
        return None
    return range(bounds.minimum, bounds.maximum + 1) if 1 <= bounds.maximum - bounds.minimum < MAX_REMAINDERS else None


def _find_moduli(value: Poly, name: str, facts: Facts) -> Iterator[Poly]:
    """Yield moduli m for n = m*q + r by which floors of n become floors of q and r; none if n is in other atoms."""
    moduli: set[Poly] = set()
    for atom in value.atoms_within():
        if name not in atom.names or not atom.parts or isinstance(atom, a.PositivePart):
            continue
        if not isinstance(atom, a.Floor) or name in atom.modulus.names or not a.is_integral(atom.modulus):
            return
        parts = atom.argument.coefficients(Symbol(name))
        if any(power < 0 or name in part.names or not a.is_integral(part) for power, part in parts.items()):
            return
        moduli.add(atom.modulus)
    if all(divisor.is_constant for divisor in moduli):
        moduli.add(Poly.constant(lcm(*(int(divisor.constant_term.p) for divisor in moduli))))
    now = Poly.symbol(name)
    for modulus in sorted(moduli, key=lambda candidate: (-candidate.constant_term, candidate.key)):
        shares = [divide_exactly(divisor, modulus) for divisor in moduli]
        is_remainder = facts.nonnegative(now) and facts.nonnegative(modulus - 1 - now)
        valid = name in facts.bounds and facts.positive(modulus) and not is_remainder
        if valid and (modulus.is_constant or all(share is not None and a.is_integral(share) for share in shares)):
            yield modulus


def pin_symbol(facts: Facts, name: str, number: int) -> Facts | None:
    """Return the facts where a symbol equals a number, or None if it cannot."""
    at = {name: Poly.constant(number)}
    bounds = {
        symbol: Bounds(*(tuple(end.substitute(at) for end in ends) for ends in (sides.lower, sides.upper)))
        for symbol, sides in facts.bounds.items()
        if symbol != name
    }
    remaining = facts.with_bounds(bounds)
    limits = facts.bounds[name]
    for value in (*(at[name] - bound for bound in limits.lower), *(bound - at[name] for bound in limits.upper)):
        if remaining.nonnegative(-value - 1):
            return None
        remaining = remaining.with_nonnegative(value)
    return remaining


def split_in_blocks(facts: Facts, name: str, modulus: Poly, up: bool, size: Poly, names: tuple[str, str]) -> Facts:
    """Return the facts where a symbol is replaced by its block and its remainder (n = m*q + r).

    `size` is n in terms of q and r, which have these `names`. The bounds of n divided by m are bounds of q, rounded up
    if `up`, else down.
    """
    block, rest = names
    limits, at = facts.bounds[name], {name: size}
    unaffected: dict[str, Bounds] = {}
    later: list[Poly] = [*(size - bound for bound in limits.lower), *(bound - size for bound in limits.upper)]
    for symbol, sides in facts.bounds.items():
        if symbol == name:
            continue
        position = Poly.symbol(symbol)
        later += [(position - end).substitute(at) for end in sides.lower if name in end.names]
        later += [(end - position).substitute(at) for end in sides.upper if name in end.names]
        ends = (tuple(end for end in side if name not in end.names) for side in (sides.lower, sides.upper))
        unaffected[symbol] = Bounds(*ends)
    result = facts.with_bounds(unaffected)
    divide = a.ceil_div if up else a.floor_div
    lower, upper = ([result.simplify(divide(end, modulus)) for end in side] for side in (limits.lower, limits.upper))
    result = result.with_symbol(block, lower, upper).with_symbol(rest, (ZERO,), (modulus - 1,))
    for value in later:
        result = result.with_nonnegative(value)
    return result
