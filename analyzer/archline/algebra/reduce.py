"""Reduced forms: the shortest that is found of an expression with maxima and floors, the same at every point.

Maxima and floors are resolved by cases, in each of which what is left is mostly a polynomial: at the least numbers of a
size one by one and from there on; on either side of a sign; for n = m*q + r with 0 <= r < m. Where all cases give one
polynomial it is the form. Where few small sizes differ, max(0, k - n) makes up for them; where remainders do, it is
the polynomial in r through all of them. So a form is proved by how it is found.
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
from archline.algebra.effort import TooComplexError, budget, late
from archline.algebra.expand import without_halves, without_powers
from archline.algebra.factors import divide_exactly, monomial_key
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.printing import to_text
from archline.records import record, replace

MAX_CASES = 150
MAX_PRODUCTS = 12_000
MAX_SMALL = 8
MAX_LONGER = 2
MAX_REMAINDERS = 64
MAX_DEGREE = 4
Piece: TypeAlias = a.PositivePart | a.Floor
_Vain: TypeAlias = frozenset[object]


def reduced_in_sizes(value: Poly, facts: Facts) -> Poly:
    """The same of a value in the sizes of an algorithm, some of which are written otherwise in what is known."""
    found = reduced(facts.simplify(value.substitute(facts.rewrites)), facts)
    return without_halves(facts.restore(found), facts)


def reduced(value: Poly, facts: Facts) -> Poly:
    """The value under facts, in a form that is no longer."""
    value = without_powers(_divided_out(value), facts)
    if not any(isinstance(atom, Piece) for atom in value.atoms()):
        return value
    facts, scale = facts.oldest(value.names), a.content(value)
    plain = value.scaled(1 / scale)
    key = reduced, plain
    if key not in facts.found:
        if late():
            return value
        facts.found[key] = plain
        # What is divided by a size less one has no value in some case: it stays as it is.
        with suppress(TooComplexError, ZeroDivisionError), budget(MAX_PRODUCTS):
            form = _Cases().form(plain, facts)
            if form is not plain and _better(form, plain, facts):
                facts.found[key] = form
    found = facts.found[key]
    assert isinstance(found, Poly)
    return value if found is plain else found.scaled(scale)


def _better(form: Poly, plain: Poly, facts: Facts) -> bool:
    """Whether a form reads better: it is shorter, or of a lower degree and not much longer."""
    # What texts are kept of earlier ones is not to decide what is found.
    with budget(maxsize, own=True):
        more = len(to_text(facts.restore(form))) / len(to_text(facts.restore(plain)))
    return more < 1 if _degree(form) == _degree(plain) else _degree(form) < _degree(plain) and more < MAX_LONGER


def _length(value: Poly) -> tuple[int, ...]:
    """How long a form is to read: its degree first, then the maxima, floors and the like in it."""
    powers = sum(abs(power) for monomial in value.terms for _, power in monomial)
    pieces = {atom for atom in value.atoms_within() if atom.parts}
    return _degree(value), len(pieces), len(value.terms), powers, len(value.key)


def _degree(value: Poly) -> int:
    """The degree of the form as it is written, quotients and maxima as what they are made of."""
    return max((sum(power * _degree_of(atom) for atom, power in monomial) for monomial in value.terms), default=0)


def _degree_of(atom: Atom) -> int:
    match atom:
        case a.PositivePart():
            return _degree(atom.argument)
        case a.Floor():
            return _degree(atom.argument) - _degree(atom.modulus)
        case _:
            return 0 if atom.parts else 1


def _divided_out(value: Poly) -> Poly:
    """The value with e for d*(e/d), which the program promises to be exact."""
    for atom in [each for each in value.atoms() if isinstance(each, a.Quotient) and each.divisor]:
        lead = max((m for m in atom.divisor.terms), key=lambda each: (sum(p for _, p in each), str(each)))
        if any(power < 0 for _, power in lead):
            continue
        rest = (atom.argument - Poly.of_atom(atom) * (atom.divisor - _term(lead, atom.divisor))) / (
            atom.divisor.terms[lead]
        )
        while chosen := {m: c for m, c in value.terms.items() if _holds(m, (*lead, (atom, 1)))}:
            share = Poly({_without(m, (*lead, (atom, 1))): c for m, c in chosen.items()})
            value = Poly({m: c for m, c in value.terms.items() if m not in chosen}) + share * rest
    return value


def _term(monomial: Monomial, value: Poly) -> Poly:
    return Poly({monomial: value.terms[monomial]})


def _holds(monomial: Monomial, factor: Monomial) -> bool:
    powers = dict(monomial)
    return all(powers.get(atom, 0) >= power for atom, power in factor)


def _without(monomial: Monomial, factor: Monomial) -> Monomial:
    less = dict(factor)
    return tuple((atom, power - less.get(atom, 0)) for atom, power in monomial if power != less.get(atom, 0))


class _Cases:
    """The search for one form; it stops after so many cases."""

    def __init__(self) -> None:
        self.left = MAX_CASES

    def form(self, value: Poly, facts: Facts, vain: _Vain = frozenset()) -> Poly:
        """The shortest form that is found; nothing is split in a way that was in vain before.

        Nor is an atom split inside a case that says nothing of it: outside it is as good.
        """
        equal = {name: end for name in value.names for end in _only(facts.bounds.get(name))}
        value = facts.simplify(value.substitute(equal) if equal else value)
        for key, split in self._splits(value, facts, vain):
            if key not in vain:
                self.left -= 1
                if self.left < 0:
                    raise TooComplexError("too many cases")
                vain |= {key}
                found = split(vain)
                if found is not None and _length(found) < _length(value):
                    return self.form(found, facts)
        return value

    def _splits(
        self, value: Poly, facts: Facts, vain: _Vain
    ) -> Iterator[tuple[object, Callable[[_Vain], Poly | None]]]:
        """Ways to take the value apart, each with what distinguishes it from others, those that resolve most first."""
        atoms = sorted(set(_innermost(value)) - vain, key=lambda atom: atom.key)
        for name in sorted(value.names):
            few = _values(facts.bounds.get(name))
            if few is not None and (
                any(name in atom.names for atom in atoms) or value.degree(Symbol(name)) >= len(few)
            ):
                yield name, partial(self._by_values, value, name, few, facts)
                return
        families: dict[Poly, list[_Change]] = {}
        for atom in atoms:
            if (change := _change(atom, facts)) is not None:
                change = _from_where(change, facts) or change
                families.setdefault(change.along, []).append(change)
        for along in sorted(families, key=lambda each: (len(each.names), -len(families[each]), each.key)):
            changes = families[along]
            if len(changes) > 1 or not _alone(value, changes[0].atom, along.names):
                key = along, *sorted({each.start for each in changes})
                yield key, partial(self._by_parts, value, along, changes, facts)
        floors = [atom for atom in atoms if isinstance(atom, a.Floor)]
        for name in sorted({name for atom in floors for name in atom.argument.names}):
            for modulus in _moduli(value, name, facts):
                of_name = [atom for atom in floors if name in atom.names]
                if not (
                    _unrelated(value, name, modulus)
                    or all(_alone(value, atom, {name, *modulus.names}) for atom in of_name)
                ):
                    for up in (False, True):
                        key = name, modulus, up
                        yield key, partial(self._by_blocks, value, *key, facts)

    # Remainders
    def _by_blocks(self, value: Poly, name: str, modulus: Poly, up: bool, facts: Facts, vain: _Vain) -> Poly | None:
        """The form in q and r where n = m*q + r, or m*q - r for rounding `up`, with 0 <= r < m."""
        block, rest = facts.unused("block'"), facts.unused("rest'")
        whole, left = Poly.symbol(block) * modulus, Poly.symbol(rest)
        size = whole - left if up else whole + left
        known = in_blocks(facts, name, modulus, up, size, (block, rest))
        found = self.form(value.substitute({name: size}), known, vain.union(_innermost(value)))
        if any(rest in atom.names for atom in found.atoms() if atom.parts):
            return None
        now = Poly.symbol(name)
        number = a.ceil_div(now, modulus) if up else a.floor_div(now, modulus)
        found = found.substitute({rest: whole - now if up else now - whole})
        return facts.simplify(found.substitute({block: number}))

    def _by_values(self, value: Poly, name: str, numbers: range, facts: Facts, vain: _Vain) -> Poly | None:
        """The polynomial in a symbol of few values through what the form is at each of them."""
        found, power, vain = ZERO, ONE, vain.union(_innermost(value))
        for degree, number in enumerate(numbers):
            at = {name: Poly.constant(number)}
            known = pinned(facts, name, number)
            if known is None:
                return None
            more = self.form(value.substitute(at), known, vain) - found.substitute(at)
            if more and degree > MAX_DEGREE:
                return None
            # What is added at a number is 0 at those before.
            found = found + more * power
            power = power * (Poly.symbol(name) - number) / (degree + 1)
        return found

    # Signs
    def _by_parts(self, value: Poly, along: Poly, changes: list[_Change], facts: Facts, vain: _Vain) -> Poly | None:
        """The form on the last part of a line between changes, with what makes up for it on the parts below."""
        parts = list[_Part]()
        for low, high in pairwise((None, *sorted({each.start for each in changes}), None)):
            known = facts if low is None else facts.with_nonnegative(along - low)
            known = known if high is None else known.with_nonnegative(high - 1 - along)
            if known is facts:
                return None
            part = value
            for each in changes:
                part = part.with_atom(each.atom, each.below if low is None or low < each.start else each.above)
            parts.append(_Part(known.simplify(part), low, (known,)))
        outside = set(_innermost(value)) - {each.atom for each in changes}
        vain |= outside.intersection(*(set(_innermost(each.value)) for each in parts))
        parts = self._joined([replace(each, value=self.form(each.value, each.facts[0], vain)) for each in parts])
        found = parts[-1].value
        if len(parts) > 1 and (small := self._at_small(parts, along, facts, vain)) is not None:
            return small
        for lower, upper in pairwise(parts):
            assert upper.start is not None
            found = found + _below(lower.value - upper.value, upper.start - along)
        return found

    def _joined(self, parts: list[_Part]) -> list[_Part]:
        """The parts, neighbours as one for which the form of either will do."""
        done: list[_Part] = []
        for lower in reversed(parts):
            if done:
                upper = done[0]
                less = lower.value - upper.value
                whole = _Part(upper.value, lower.start, lower.facts + upper.facts)
                if self._nothing(less, lower):
                    done[0] = whole
                    continue
                if self._nothing(less, upper):
                    done[0] = replace(whole, value=lower.value)
                    continue
            done.insert(0, lower)
        return done

    def _nothing(self, value: Poly, part: _Part) -> bool:
        # Most differences are not 0 at a point, which saves their search.
        if any(facts.refutes(value) or facts.refutes(-value) for facts in part.facts):
            return False
        return not value or all(not self.form(value, facts) for facts in part.facts)

    def _at_small(self, parts: list[_Part], along: Poly, facts: Facts, vain: _Vain) -> Poly | None:
        """The form on the last part, with max(0, k - n) where it is another at few smaller numbers; None for many."""
        start = parts[-1].start
        assert start is not None
        few = next((few for few in range(1, MAX_SMALL + 1) if facts.nonnegative(along - start + few)), None)
        if few is None:
            return None
        found, bends = parts[-1].value, list[Poly]()
        for number in range(start - 1, start - few - 1, -1):
            at = facts.with_nonnegative(along - number).with_nonnegative(number - along)
            part = next(each for each in reversed(parts) if each.start is None or each.start <= number)
            more = self.form(part.value - found, at, vain)
            for distance, bend in enumerate(reversed(bends), 2):
                more = more - bend.scaled(distance)
            bends.append(more)
        if not all(_dominates(found, bend) for bend in bends):
            # What makes up for small sizes would hide that the form grows more slowly.
            return None
        for number, bend in zip(range(start, start - few, -1), bends, strict=True):
            found = found + bend * a.positive_part(number - along)
        return found


@record
class _Part:
    """A value from a number on, None where there is none, up to the next part; what is known on the pieces of it."""

    value: Poly
    start: int | None
    facts: tuple[Facts, ...]


def _below(value: Poly, last: Poly) -> Poly:
    """A value where the integer `last` is positive, else 0."""
    for end in (last, last - 1):
        times = divide_exactly(value, end)
        if times is not None:
            return times * a.positive_part(end)
    return value * (a.positive_part(last) - a.positive_part(last - 1))


@record
class _Change:
    """An atom that is one of two expressions, by whether `along` is at least a number."""

    atom: Piece
    along: Poly
    start: int
    below: Poly
    above: Poly


def _change(atom: Piece, facts: Facts) -> _Change | None:
    """Where a maximum changes, or a floor of two values; None for other floors."""
    if isinstance(atom, a.PositivePart):
        # At 0 it is both: from 1 on, more is known of others.
        return _along(atom, atom.argument - 1, ZERO, atom.argument)
    argument, modulus = atom.argument, atom.modulus
    if not a.is_integral(argument) or not a.is_integral(modulus):
        return None
    for low in (0, -1):
        over = argument - modulus.scaled(low)
        if facts.nonnegative(over) and facts.nonnegative(modulus.scaled(2) - 1 - over):
            return _along(atom, over - modulus, Poly.constant(low), Poly.constant(low + 1))
    return None


def _along(atom: Piece, argument: Poly, below: Poly, above: Poly) -> _Change | None:
    """An atom that is `below` where the argument is negative, else `above`."""
    shift = argument.constant_term
    rest = argument - shift
    if not rest:
        return None
    scale = a.content(rest)
    if rest.terms[min(rest.terms, key=monomial_key)] < 0:
        scale = -scale
    along = rest.scaled(1 / scale)
    if not a.is_integral(along):
        return None
    start = -shift / scale
    if scale > 0:
        return _Change(atom, along, int(start.ceil()), below, above)
    return _Change(atom, along, int(start.floor()) + 1, above, below)


def _from_where(change: _Change, facts: Facts) -> _Change | None:
    """The change of an atom that is known from a small number of a symbol on, though not by the symbol alone."""
    if a.single_atom(change.along) is not None:
        return None
    for name in sorted(change.along.names):
        least = facts.bounds[name].least if name in facts.bounds else None
        if least is None:
            continue
        for start in (least + MAX_SMALL, *range(least + 1, least + MAX_SMALL)):
            known = facts.with_nonnegative(Poly.symbol(name) - start)
            over = change.along - change.start
            decided = change.above if known.nonnegative(over) else change.below if known.positive(-over) else None
            if decided is None and start == least + MAX_SMALL:
                break
            if decided is not None and start < least + MAX_SMALL:
                return _Change(change.atom, Poly.symbol(name), start, Poly.of_atom(change.atom), decided)
    return None


def _innermost(value: Poly) -> Iterator[Piece]:
    """The maxima and floors, not those in logarithms and the like, in which there is no other one."""
    for atom in value.atoms():
        if isinstance(atom, Piece):
            inside = [each for part in atom.parts for each in _innermost(part)]
            yield from inside or [atom]


def _alone(value: Poly, atom: Atom, names: Set[str]) -> bool:
    """Whether nothing else that the names are in can go with an atom: no other atom, and no factor of it."""
    for monomial in value.terms:
        for each, power in monomial:
            if each is atom:
                if power > 1 or any(other.names & names for other, _ in monomial if other is not atom):
                    return False
            elif each.parts and each.names & names:
                return False
    return True


def _unrelated(value: Poly, name: str, modulus: Poly) -> bool:
    """Whether a symbol is in one floor only, of which the remainder has no powers that others of its powers make."""
    within = {atom for atom in value.atoms_within() if atom.parts and name in atom.names}
    powers = (sum(power for atom, power in monomial if name in atom.names) for monomial in value.terms)
    return len(within) == 1 and (not modulus.is_constant or modulus.constant_term > max(powers))


def _dominates(large: Poly, small: Poly) -> bool:
    """Whether each term of an expression is a factor of a term of another one, apart from rounding."""
    many, few = ([dict(each) for each in _smooth(value).terms] for value in (large, small))
    return all(any(all(m.get(atom, 0) >= f.get(atom, 0) for atom in {**m, **f}) for m in many) for f in few)


def _smooth(value: Poly) -> Poly:
    """The value with what is divided, or cut off at 0, in place of floors and maxima: no less, for its terms."""
    whole = Poly({monomial: abs(coefficient) for monomial, coefficient in value.terms.items()})
    return whole.map_atoms(_smoothed)


def _smoothed(atom: Atom) -> Poly | None:
    match atom:
        case a.PositivePart():
            # max(0, 2 - n) is no more than 2.
            return _smooth(atom.argument.positive_terms())
        case a.Floor():
            return _smooth(atom.argument)
        case _:
            return None


def _only(known: Bounds | None) -> Iterator[Poly]:
    """What a symbol is, where it is bounded by it from both sides."""
    return iter(()) if known is None else (end for end in known.lower if end in known.upper)


def _values(known: Bounds | None) -> range | None:
    """The numbers that a symbol may be, where they are few."""
    if known is None or known.least is None or known.most is None:
        return None
    return range(known.least, known.most + 1) if 1 <= known.most - known.least < MAX_REMAINDERS else None


def _moduli(value: Poly, name: str, facts: Facts) -> Iterator[Poly]:
    """The m of n = m*q + r for which all floors with n in them are floors of q and r; none if n is in other atoms."""
    found: set[Poly] = set()
    for atom in value.atoms_within():
        if name not in atom.names or not atom.parts or isinstance(atom, a.PositivePart):
            continue
        if not isinstance(atom, a.Floor) or name in atom.modulus.names or not a.is_integral(atom.modulus):
            return
        parts = atom.argument.coefficients(Symbol(name))
        if any(power < 0 or name in part.names or not a.is_integral(part) for power, part in parts.items()):
            return
        found.add(atom.modulus)
    if all(each.is_constant for each in found):
        found.add(Poly.constant(lcm(*(int(each.constant_term.p) for each in found))))
    now = Poly.symbol(name)
    for modulus in sorted(found, key=lambda each: (-each.constant_term, each.key)):
        whole = [divide_exactly(each, modulus) for each in found]
        left = facts.nonnegative(now) and facts.nonnegative(modulus - 1 - now)
        known = name in facts.bounds and facts.positive(modulus) and not left
        if known and (modulus.is_constant or all(each is not None and a.is_integral(each) for each in whole)):
            yield modulus


def pinned(facts: Facts, name: str, number: int) -> Facts | None:
    """What is known where a symbol is a number; None where it cannot be."""
    at = {name: Poly.constant(number)}
    bounds = {
        other: Bounds(*(tuple(end.substitute(at) for end in ends) for ends in (each.lower, each.upper)))
        for other, each in facts.bounds.items()
        if other != name
    }
    known = facts.with_bounds(bounds)
    own = facts.bounds[name]
    for value in (*(at[name] - each for each in own.lower), *(each - at[name] for each in own.upper)):
        if known.nonnegative(-value - 1):
            return None
        known = known.with_nonnegative(value)
    return known


def in_blocks(facts: Facts, name: str, modulus: Poly, up: bool, size: Poly, names: tuple[str, str]) -> Facts:
    """What is known where a symbol is written by its block and what is left."""
    block, rest = names
    own, at = facts.bounds[name], {name: size}
    kept: dict[str, Bounds] = {}
    later: list[Poly] = [*(size - each for each in own.lower), *(each - size for each in own.upper)]
    for other, each in facts.bounds.items():
        if other == name:
            continue
        now = Poly.symbol(other)
        later += [(now - end).substitute(at) for end in each.lower if name in end.names]
        later += [(end - now).substitute(at) for end in each.upper if name in end.names]
        ends = (tuple(end for end in side if name not in end.names) for side in (each.lower, each.upper))
        kept[other] = Bounds(*ends)
    known = facts.with_bounds(kept)
    divide = a.ceil_div if up else a.floor_div
    lower, upper = ([known.simplify(divide(end, modulus)) for end in side] for side in (own.lower, own.upper))
    known = known.with_symbol(block, lower, upper).with_symbol(rest, (ZERO,), (modulus - 1,))
    for value in later:
        known = known.with_nonnegative(value)
    return known
