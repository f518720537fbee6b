"""Logarithms and powers of them as symbols between bounds, ordered as what they are of: what a proof knows of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, product
from archline.algebra.prove.prover import first
from archline.numbers import fmpq

MAX_LEAST = 12


Logarithm = a.CeilLog2 | a.RealFunction
"""A logarithm, rounded or real."""


def counted(atom: Atom) -> a.Floor | None:
    """The floor(v/k) of such a number at least, v being a size."""
    return _floor(atom, 1)


def counted_at_most(atom: Atom) -> a.Floor | None:
    """The floor((v + k - 1)/k) of such a number at most, which is ceil(v/k)."""
    return _floor(atom, 0)


def _floor(atom: Atom, more: int) -> a.Floor | None:
    if not isinstance(atom, a.CeilLog2):
        return None
    rest = atom.argument - more
    found = next((each for each in rest.atoms() if isinstance(each, a.Floor)), None)
    if found is None or rest != Poly.of_atom(found):
        return None
    size = found.argument if more else found.argument + 1 - found.modulus
    return None if a.symbol_of(size) is None else found


def counts_halvings(atom: Atom) -> bool:
    """Whether it is a number of halvings, at least or at most."""
    return counted(atom) is not None or counted_at_most(atom) is not None


def symbol_name(atom: Logarithm) -> str:
    """The symbol for a logarithm; another text than its own key, as atoms that hold either are to differ."""
    return f"[{atom.key}]"


class LogarithmOrder:
    """Facts that grow by symbols for logarithms.

    With `tangents` a logarithm is at most its tangent at the least size, not only that at 1.
    """

    def __init__(self, facts: Facts, tangents: bool = False) -> None:
        self.facts, self._tangents = facts, tangents
        self._ordered = list[Logarithm]()
        # What atoms became; more symbols change nothing about those that were written before.
        self._order = cache(self._in_order)

    def ordered(self, value: Poly) -> Poly:
        """The value with the logarithms of several sizes as symbols that are ordered as the sizes are."""
        return value.map_atoms(self._order)

    def _in_order(self, atom: Atom) -> Poly | None:
        match atom:
            case a.CeilLog2():
                return self._reference(atom)
            case a.PositivePart():
                return a.positive_part(self.ordered(atom.argument))
            case _:
                return None

    def without_powers(self, value: Poly) -> Poly:
        """The value with a symbol for b^ceil(log2(v)), b also a fraction, between what the least and most v make it."""
        result = ZERO
        for monomial, coefficient in value.terms.items():
            powers = [(atom, power) for atom, power in monomial if isinstance(atom, a.Exponential)]
            rest = tuple(pair for pair in monomial if pair not in powers)
            bases: dict[a.CeilLog2, fmpq] = {}
            for atom, power in powers:
                level = next(iter(atom.exponent.atoms()))
                if not isinstance(level, a.CeilLog2) or atom.exponent != Poly.of_atom(level):
                    return value
                bases[level] = bases.get(level, fmpq(1)) * fmpq(atom.base) ** power
            named = (self._power(base, level) for level, base in bases.items())
            result = result + product(named, coefficient) * Poly({rest: fmpq(1)})
        return result

    def _power(self, base: fmpq, level: a.CeilLog2) -> Poly:
        name = f"({base})^{level.key}"
        if name not in self.facts.bounds:
            most = self._most(level.argument)
            ends = [base ** self._least(level.argument), *([] if most is None else [base**most])]
            lower, upper = ([ends[0]], ends[1:]) if base > 1 else ([fmpq(0), *ends[1:]], [ends[0]])
            self.facts = self.facts.with_symbol(name, map(Poly.constant, lower), map(Poly.constant, upper))
        return Poly.symbol(name)

    def _reference(self, atom: a.CeilLog2) -> Poly:
        name = symbol_name(atom)
        if counts_halvings(atom) and self._most(atom.argument) == 0:
            # At leaves.
            return ZERO
        if name not in self.facts.bounds:
            facts, argument = self.facts, atom.argument
            least = self._least(argument)
            lower, upper = [Poly.constant(least)], []
            if facts.nonnegative(argument):
                # That of 0 is 0, as that of 1 is.
                level = max(0, least - 1) if self._tangents else 0
                upper.append(level + (argument - 1) / (1 << level) if facts.nonnegative(argument - 1) else argument)
            if (most := self._most(argument)) is not None:
                upper.append(Poly.constant(most))
            self._with_ordered(atom, lower, [*upper, *self._beside_powers(argument)])
        return Poly.symbol(name)

    def _beside_powers(self, argument: Poly) -> Iterator[Poly]:
        """What the logarithm of a size and a number is at most, in exponents of the powers of two that bound the size.

        Of x <= 2^e it is e, of x <= 2*2^e one more, and of any x it is at most e + x/2^e, as ceil(log2(y)) <= y.
        """
        facts = self.facts
        known = facts.bounds.get(a.symbol_of(argument - argument.constant_term) or "")
        if known is None:
            return
        for high in known.upper:
            exponent = a.exponent_of_two(high)
            if exponent is not None and facts.nonnegative(exponent):
                over = (more for more in (0, 1) if facts.nonnegative(high.scaled(1 << more) - argument))
                yield from (exponent + more for more in islice(over, 1))
        powers = dict.fromkeys(atom for each in (*known.lower, *known.upper) for atom in each.atoms())
        for power in powers:
            if isinstance(power, a.Exponential) and power.base == 2 and facts.nonnegative(power.exponent):
                yield power.exponent + argument * Poly.of_atom(power, -1)

    def _with_ordered(self, atom: Logarithm, lower: list[Poly], upper: list[Poly]) -> None:
        """A symbol for a logarithm with its bounds, those in the ones before it among them."""
        for other in self._ordered:
            symbol = Poly.symbol(symbol_name(other))
            if self._at_least(atom, other):
                lower.append(symbol)
            elif self._at_least(atom, other, 1):
                lower.append(symbol - 1)
            if self._at_least(other, atom):
                upper.append(symbol)
            elif self._at_least(other, atom, 1):
                upper.append(symbol + 1)
        self.facts = self.facts.with_symbol(symbol_name(atom), lower, upper)
        self._ordered.append(atom)

    def _at_least(self, large: Logarithm, small: Logarithm, less: int = 0) -> bool:
        """Whether one logarithm is known to be at least another one less 0 or 1."""
        if isinstance(large, a.RealFunction) and isinstance(small, a.CeilLog2):
            # ceil(log2(x)) <= log2(2*x - 2) for an integer x >= 2.
            return self.facts.nonnegative(large.argument - (small.argument if less else small.argument.scaled(2) - 2))
        return self.facts.nonnegative(large.argument.scaled(1 << less) - small.argument)

    def _least(self, argument: Poly) -> int:
        """What ceil(log2(argument)) is at least."""
        least = 0
        while least < MAX_LEAST and self.facts.nonnegative(argument - (1 << least) - 1):
            least += 1
        return least

    def _most(self, argument: Poly) -> int | None:
        """What ceil(log2(argument)) is at most, where that is a number."""
        return first(MAX_LEAST, lambda most: self.facts.nonnegative((1 << most) - argument))
