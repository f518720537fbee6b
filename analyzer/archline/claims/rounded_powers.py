"""Bounds of costs without powers of rounded logarithms that stand inside of maxima, minima and floors.

x <= 2^ceil(log2(x)) < 2*x for an integer x >= 1. A factor 2^ceil(log2(x)) of a term is Theta(x), and the growth prover
uses that; inside a maximum it is replaced by x or 2*x, whichever preserves the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Monomial, Poly, Symbol
from archline.algebra.printing import Shown, shortened
from archline.numbers import fmpq

MAX_ATOMS = 1000
"""Maxima of maxima that have more take seconds to bound."""


def without_rounded_powers(value: Poly, facts: Facts, upper: bool) -> Poly:
    """What the value is at most (upper) or at least; itself where no such power stands inside, or none is bounded."""
    if value.has_more_atoms_than(MAX_ATOMS):
        return value
    if not any(_is_rough(atom) and not _is_power(atom) for atom in value.atoms()):
        return value
    found = _Bounds(facts).bound(value, upper)
    return value if found is None else _in_algebra(found)


def _is_power(atom: Atom) -> bool:
    """Whether it is a number to a rounded logarithm."""
    return isinstance(atom, a.Exponential) and isinstance(a.single_atom(atom.exponent), a.CeilLog2)


def _is_rough(atom: Atom) -> bool:
    return _is_power(atom) or any(_is_power(inner) for part in atom.parts for inner in part.atoms_within())


def _in_algebra(value: Poly) -> Poly:
    """The value with the atoms of the algebra in place of those that are there for reading."""

    def atom(each: Atom) -> Poly | None:
        if not any(isinstance(inner, Shown) for inner in Poly.of_atom(each).atoms_within()):
            return None
        parts = tuple(map(_in_algebra, each.parts))
        match each:
            case Shown(form="min"):
                return reduce(lambda one, other: one - a.positive_part(one - other), parts)
            case Shown(form="max"):
                return reduce(lambda one, other: other + a.positive_part(one - other), parts)
            case Shown(form="ceil"):
                return a.ceil_div(*parts)
            case Shown():
                return a.modulo(*parts)
            case _:
                return each.rebuild(parts)

    return value.map_atoms(atom)


@dataclass(frozen=True)
class _Bounds:
    """Bounds under facts. All of them hold where sizes are as the facts say; None where a part has no bound."""

    facts: Facts

    def bound(self, value: Poly, upper: bool) -> Poly | None:
        """A bound of a sum, term by term."""
        total = ZERO
        for monomial, coefficient in shortened(value).terms.items():
            rises = upper == (coefficient > 0)
            term = self._term(monomial, rises)
            if term is not None:
                total = total + term.scaled(coefficient)
            elif rises or not all(self._counts(atom) for atom, _ in monomial):
                return None
            # What is at least 0 need not be added to a lower bound, nor taken from an upper one.
        return total

    def _term(self, monomial: Monomial, upper: bool) -> Poly | None:
        """A bound of a product of what is never negative."""
        if not any(_is_rough(atom) for atom, _ in monomial):
            return Poly({monomial: fmpq(1)})
        product = ONE
        for atom, power in monomial:
            if not self._counts(atom):
                return None
            end = self._end(atom, upper == (power > 0)) if _is_rough(atom) else Poly.of_atom(atom)
            if end is None or (power < 0 and len(end.terms) != 1):
                return None
            product = product * end**power
        return product

    def _counts(self, atom: Atom) -> bool:
        """Whether it is never negative."""
        match atom:
            case Symbol() | a.PositivePart() | a.CeilLog2() | a.Exponential():
                return True
            case Shown(form="min" | "max" | "ceil", arguments=parts):
                return all(map(self._nonnegative, parts))
            case a.Floor() | a.Quotient():
                return all(map(self._nonnegative, atom.parts))
            case _:
                return False

    def _nonnegative(self, value: Poly) -> bool:
        plain = all(
            coefficient > 0 and all(self._counts(atom) for atom, _ in monomial)
            for monomial, coefficient in value.terms.items()
        )
        return plain or self.facts.nonnegative(value.substitute(self.facts.rewrites))

    def _end(self, atom: Atom, upper: bool) -> Poly | None:
        """A bound of something that is never negative, itself never negative; a lower one may be None for 0."""
        match atom:
            case a.Exponential(base=2):
                return self._power(atom, upper)
            case a.PositivePart(argument=argument):
                return self._positive(argument) if upper else self._surely(self.bound(argument, False))
            case Shown(form="min", arguments=parts):
                # What holds of one of them holds of the least of all from above.
                return self._first([self.bound(part, True) for part in self._plain_first(parts)]) if upper else None
            case Shown(form="max", arguments=parts):
                if not upper:
                    return self._surely(self._first([self.bound(part, False) for part in self._plain_first(parts)]))
                bounds = [self._positive(part) for part in parts]
                return None if None in bounds else sum((each for each in bounds if each is not None), ZERO)
            case a.Floor(argument=above, modulus=below) | a.Quotient(argument=above, divisor=below):
                return self._share(above, below, upper, rounded=isinstance(atom, a.Floor))
            case Shown(form="ceil", arguments=(above, below)):
                share = self._share(above, below, upper, rounded=False)
                return share if share is None or not upper else share + 1
            case _:
                return None

    def _power(self, atom: a.Exponential, upper: bool) -> Poly | None:
        level = a.single_atom(atom.exponent)
        if not isinstance(level, a.CeilLog2):
            return None
        size = level.argument
        if not self.facts.nonnegative(size.substitute(self.facts.rewrites) - 1):
            return None
        return size.scaled(2) if upper else size

    def _positive(self, value: Poly) -> Poly | None:
        """What max(0, value) is at most: the terms that are added."""
        bound = self.bound(value, True)
        if bound is None:
            return None
        kept = {monomial: coefficient for monomial, coefficient in bound.terms.items() if coefficient > 0}
        return Poly(kept) if all(self._counts(atom) for monomial in bound.terms for atom, _ in monomial) else None

    def _share(self, above: Poly, below: Poly, upper: bool, rounded: bool) -> Poly | None:
        """A bound of a quotient by one term, rounded down or not."""
        bound = self.bound(above, upper)
        if bound is None or len(below.terms) != 1 or any(_is_rough(each) for each in below.atoms()):
            return None
        share = bound * below**-1
        return share if upper or not rounded else self._surely(share - 1)

    def _surely(self, value: Poly | None) -> Poly | None:
        """A lower bound, if it is known to be no less than 0."""
        return value if value is not None and self._nonnegative(value) else None

    @staticmethod
    def _plain_first(parts: tuple[Poly, ...]) -> list[Poly]:
        return sorted(parts, key=lambda part: any(map(_is_rough, part.atoms())))

    @staticmethod
    def _first(bounds: list[Poly | None]) -> Poly | None:
        return next((each for each in bounds if each is not None), None)
