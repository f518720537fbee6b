"""Represents logarithms and their powers as symbols with bounds, ordered as their arguments are, for proofs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, product
from archline.algebra.prove.prover import find_first_true
from archline.numbers import fmpq

MAX_LEVEL = 12


Logarithm = a.CeilLog2 | a.RealFunction
"""A logarithm, rounded or real."""


def match_minimum_halvings(atom: Atom) -> a.Floor | None:
    """Return floor(v/k) if the atom is ceil(log2(floor(v/k) + 1)), a minimum number of halvings of v; else None."""
    return _match_halving(atom, 1)


def match_maximum_halvings(atom: Atom) -> a.Floor | None:
    """Return ceil(v/k), as a floor, if the atom is ceil(log2(ceil(v/k))), a maximum number of halvings; else None."""
    return _match_halving(atom, 0)


def _match_halving(atom: Atom, offset: int) -> a.Floor | None:
    if not isinstance(atom, a.CeilLog2):
        return None
    rest = atom.argument - offset
    floor = next((candidate for candidate in rest.atoms() if isinstance(candidate, a.Floor)), None)
    if floor is None or rest != Poly.of_atom(floor):
        return None
    size = floor.argument if offset else floor.argument + 1 - floor.modulus
    return None if a.find_single_symbol_name(size) is None else floor


def is_halving_count(atom: Atom) -> bool:
    """Test whether the atom is a minimum or maximum number of halvings."""
    return match_minimum_halvings(atom) is not None or match_maximum_halvings(atom) is not None


def make_log_symbol_name(atom: Logarithm) -> str:
    """Return the name of the symbol for a logarithm, which differs from the key of the logarithm's atom."""
    return f"[{atom.key}]"


class LogarithmOrder:
    """Facts to which symbols for logarithms are added, with bounds in terms of each other.

    With `tangents` a logarithm is at most its tangent at the minimum size, not only its tangent at 1.
    """

    def __init__(self, facts: Facts, tangents: bool = False) -> None:
        self.facts, self._tangents = facts, tangents
        self._ordered = list[Logarithm]()
        # Cached by atom: later symbols do not change earlier replacements.
        self._order = cache(self._replace_logarithm)

    def replace_logarithms(self, value: Poly) -> Poly:
        """Replace the logarithms of several sizes by symbols that are ordered as the sizes are."""
        return value.map_atoms(self._order)

    def _replace_logarithm(self, atom: Atom) -> Poly | None:
        match atom:
            case a.CeilLog2():
                return self._make_log_symbol(atom)
            case a.PositivePart():
                return a.positive_part(self.replace_logarithms(atom.argument))
            case _:
                return None

    def replace_powers(self, value: Poly) -> Poly:
        """Replace b^ceil(log2(v)), also with a fraction b, by a symbol between its values at the bounds of v."""
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
            named = (self._power_symbol(base, level) for level, base in bases.items())
            result = result + product(named, coefficient) * Poly({rest: fmpq(1)})
        return result

    def _power_symbol(self, base: fmpq, level: a.CeilLog2) -> Poly:
        name = f"({base})^{level.key}"
        if name not in self.facts.bounds:
            maximum = self._find_maximum_level(level.argument)
            ends = [base ** self._find_minimum_level(level.argument), *([] if maximum is None else [base**maximum])]
            lower, upper = ([ends[0]], ends[1:]) if base > 1 else ([fmpq(0), *ends[1:]], [ends[0]])
            self.facts = self.facts.with_symbol(name, map(Poly.constant, lower), map(Poly.constant, upper))
        return Poly.symbol(name)

    def _make_log_symbol(self, atom: a.CeilLog2) -> Poly:
        name = make_log_symbol_name(atom)
        if is_halving_count(atom) and self._find_maximum_level(atom.argument) == 0:
            # At leaves the number of halvings is 0.
            return ZERO
        if name not in self.facts.bounds:
            facts, argument = self.facts, atom.argument
            minimum = self._find_minimum_level(argument)
            lower, upper = [Poly.constant(minimum)], []
            if facts.nonnegative(argument):
                # The rounded logarithm of 0 counts as 0.
                level = max(0, minimum - 1) if self._tangents else 0
                less = 1 if a.is_integral(argument) and facts.nonnegative(argument - 1) else 0
                upper.append(level + (argument - less) / (1 << level))
            if (maximum := self._find_maximum_level(argument)) is not None:
                upper.append(Poly.constant(maximum))
            self._add_ordered(atom, lower, [*upper, *self._bounds_by_exponents(argument)])
        return Poly.symbol(name)

    def _bounds_by_exponents(self, argument: Poly) -> Iterator[Poly]:
        """Yield upper bounds of the logarithm of a size plus a number, in exponents of powers of two that bound it.

        x <= 2^e -> e, x <= 2*2^e -> e + 1, and e + x/2^e for any x, since ceil(log2(y)) <= y.
        """
        facts = self.facts
        bounds = facts.bounds.get(a.find_single_symbol_name(argument - argument.constant_term) or "")
        if bounds is None:
            return
        for high in bounds.upper:
            exponent = a.find_exponent_of_two(high)
            if exponent is not None and facts.nonnegative(exponent):
                over = (shift for shift in (0, 1) if facts.nonnegative(high.scaled(1 << shift) - argument))
                yield from (exponent + shift for shift in islice(over, 1))
        powers = dict.fromkeys(atom for bound in (*bounds.lower, *bounds.upper) for atom in bound.atoms())
        for power in powers:
            if isinstance(power, a.Exponential) and power.base == 2 and facts.nonnegative(power.exponent):
                yield power.exponent + argument * Poly.of_atom(power, -1)

    def _add_ordered(self, atom: Logarithm, lower: list[Poly], upper: list[Poly]) -> None:
        """Add a symbol for a logarithm with its bounds, including bounds by the symbols before it."""
        for earlier in self._ordered:
            symbol = Poly.symbol(make_log_symbol_name(earlier))
            if self._is_at_least(atom, earlier):
                lower.append(symbol)
            elif self._is_at_least(atom, earlier, 1):
                lower.append(symbol - 1)
            if self._is_at_least(earlier, atom):
                upper.append(symbol)
            elif self._is_at_least(earlier, atom, 1):
                upper.append(symbol + 1)
        self.facts = self.facts.with_symbol(make_log_symbol_name(atom), lower, upper)
        self._ordered.append(atom)

    def _is_at_least(self, large: Logarithm, small: Logarithm, less: int = 0) -> bool:
        """Test whether one logarithm is known to be at least another one minus `less`, which is 0 or 1."""
        if isinstance(large, a.RealFunction) and isinstance(small, a.CeilLog2):
            # ceil(log2(x)) <= log2(2*x - 2) for an integer x >= 2.
            # For a fraction x, ceil(log2(x)) < log2(2*x).
            margin = 2 if a.is_integral(small.argument) else 0
            less_rounding = small.argument if less else small.argument.scaled(2) - margin
            return self.facts.nonnegative(large.argument - less_rounding)
        return self.facts.nonnegative(large.argument.scaled(1 << less) - small.argument)

    def _find_minimum_level(self, argument: Poly) -> int:
        """Return a lower bound of ceil(log2(argument)), at most `MAX_LEVEL`."""
        level = 0
        while level < MAX_LEVEL and self.facts.nonnegative(argument - (1 << level) - 1):
            level += 1
        return level

    def _find_maximum_level(self, argument: Poly) -> int | None:
        return find_first_true(MAX_LEVEL, lambda level: self.facts.nonnegative((1 << level) - argument))
