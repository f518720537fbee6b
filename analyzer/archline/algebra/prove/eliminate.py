"""Searches for a proof that an expression is at least 0 under facts, by the youngest symbol or atom in it.

Integers that satisfy what is known refute a question first. Most of what is asked about has no proof, and looking for
one until all ways are tried takes far longer than arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from archline.algebra import atoms as a
from archline.algebra.bounds import NO_BOUNDS, Bounds
from archline.algebra.effort import spend
from archline.algebra.evaluate.exact import PointValues
from archline.algebra.factors import divide_terms
from archline.algebra.polynomial import MAX_POWER, ONE, ZERO, Atom, Monomial, Poly, Symbol, total
from archline.expr.intervals import EvaluationError
from archline.numbers import fmpq

if TYPE_CHECKING:
    from archline.algebra.facts import Facts

MAX_STEPS = 400
MAX_LEVEL = 3
"""The least values of rounded logarithms that are looked for."""


class EliminationSearch:
    """One search, with a bound on its steps."""

    def __init__(self, facts: Facts, steps: int = MAX_STEPS) -> None:
        self.facts = facts
        self.steps = steps
        # The same part comes up on many ways through one search.
        self._tried: dict[Poly, bool] = {}

    def holds(self, value: Poly) -> bool:
        count = len(value.terms)
        if count <= 1 and value.is_constant:
            return bool(value.constant_term >= 0)
        self.steps -= 1
        spend(count)
        if self.steps < 0:
            return False
        known = self.facts.at_once(value) if count <= 2 else None
        if known is None:
            known = self.facts.proved.get(value)
        if known is None:
            known = self._tried.get(value)
        if known is None:
            known = self._tried[value] = self._search(value)
        return known

    def _search(self, value: Poly) -> bool:
        if all(each.p > 0 for each in value.terms.values()) and self._all_nonnegative(value):
            return True
        atoms = value.atoms()
        if a.Exponential in map(type, atoms):
            for smaller in (self._without_powers(value), self._without_opposite_powers(value)):
                if smaller is not None and self.holds(smaller):
                    return True
        atom = max(atoms, key=self.facts.ages.__getitem__)
        if isinstance(atom, Symbol):
            return self._by_symbol(value, atom)
        if isinstance(atom, a.PositivePart):
            return self._by_cases(value, atom)
        return self._by_bounds(value, atom)

    def _without_powers(self, value: Poly) -> Poly | None:
        """Replace a term c*2^e with a known e >= 0 by c (or 2^e by 1): what remains is smaller."""
        for monomial, coefficient in value.terms.items():
            if coefficient <= 0 or not monomial or not all(isinstance(atom, a.Exponential) for atom, _ in monomial):
                continue
            power = Poly({monomial: coefficient})
            for factor in (fmpq(1), coefficient):
                exponent = a.exponent_of_two(power.scaled(1 / factor))
                if exponent is not None and self.holds(exponent):
                    return value - power + factor
        return None

    def _without_opposite_powers(self, value: Poly) -> Poly | None:
        """Replace c*2^u*x by c*2^(v + d)*x, known to be smaller, where 2^v*x occurs with a minus."""
        powers: dict[Monomial, list[tuple[Poly, fmpq]]] = {}
        for monomial, coefficient in value.terms.items():
            exponent, others = split_power(monomial)
            powers.setdefault(others, []).append((exponent, coefficient))
        for x, terms in powers.items():
            pairs = [(u, c, v) for u, c in terms if c > 0 and not u.is_constant for v, b in terms if b < 0]
            if not pairs or not self._all_nonnegative(Poly({x: fmpq(1)})):
                continue
            for u, c, v in pairs:
                for more in (1, 0):
                    if self.holds(u - v - more):
                        rest = Poly({x: c})
                        return value - rest * a.exponential(2, u) + rest * a.exponential(2, v + more)
        return None

    def _all_nonnegative(self, value: Poly) -> bool:
        return all(self._atom_nonnegative(atom) for atom in value.atoms())

    def _atom_nonnegative(self, atom: Atom) -> bool:
        match atom:
            case Symbol():
                return any(self.holds(bound) for bound in self._bounds(atom).lower)
            case (
                a.PositivePart()
                | a.Gap()
                | a.Offset()
                | a.CeilLog2()
                | a.Exponential()
                | a.Applied()
                | a.CommonDivisor()
            ):
                return True
            case a.RealFunction(function="log2"):
                return self.holds(atom.argument - 1)
            case a.RealFunction(function="isqrt"):
                return self.holds(atom.argument)
            case a.RealFunction():
                return True
            case a.Quotient():
                return self.holds(atom.argument) and self.holds(atom.divisor)
            case a.Floor():
                return self.holds(atom.argument)
            case a.Data():
                return atom.low is not None and self.holds(atom.low)
            case _:
                return False

    def _bounds(self, atom: Symbol) -> Bounds:
        return self.facts.bounds.get(atom.name, NO_BOUNDS)

    def _by_symbol(self, value: Poly, atom: Symbol) -> bool:
        bounds = self._bounds(atom)
        linear = value.apart(atom)
        if linear is not None:
            number, rest = linear
            ends = bounds.lower if number.p > 0 else bounds.upper
            return any(self.holds(bound.times_plus(number, rest)) for bound in ends)
        parts = value.coefficients(atom)
        if min(parts) < 0 or max(parts) > MAX_POWER:
            return False
        if parts.keys() <= {0, 1}:
            slope, rest = parts[1], parts.get(0, ZERO)
            rises = self.holds(slope)
            if rises or self.holds(-slope):
                return any(self.holds(slope * bound + rest) for bound in (bounds.lower if rises else bounds.upper))
        return any(self._by_shift(value, atom, bound, 1) for bound in bounds.lower) or any(
            self._by_shift(value, atom, bound, -1) for bound in bounds.upper
        )

    def _by_shift(self, value: Poly, atom: Symbol, bound: Poly, direction: int) -> bool:
        """Write v = bound + t (or bound - t) with t >= 0; nonnegative coefficients of every power of t suffice."""
        step = Symbol(f"{atom.name}'")
        shifted = value.substitute({atom.name: bound + Poly.of_atom(step).scaled(direction)})
        coefficients = shifted.coefficients(step)
        return all(power >= 0 and self.holds(each) for power, each in coefficients.items())

    def _by_cases(self, value: Poly, atom: a.PositivePart) -> bool:
        """max(0, e) is 0 where e <= 0 and e where e >= 0."""
        argument = atom.argument
        zero = value.map_atoms(lambda each: ZERO if each == atom else None)
        same = value.map_atoms(lambda each: argument if each == atom else None)
        # With a nonnegative coefficient the expression is at least as large as either branch everywhere.
        if self.holds(value.coefficients(atom)[1]) and (self.holds(same) or self.holds(zero)):
            return True
        below = self.facts.with_nonnegative(-argument)
        above = self.facts.with_nonnegative(argument)
        self.steps //= 2
        return EliminationSearch(below, self.steps).holds(zero) and EliminationSearch(above, self.steps).holds(same)

    def _by_bounds(self, value: Poly, atom: Atom) -> bool:
        parts = value.coefficients(atom)
        if min(parts) < 0:
            return False
        if set(parts) <= {0, 1} and isinstance(atom, a.Floor | a.Quotient):
            exact = self._by_scaled_floor(parts[1], parts.get(0, ZERO), atom)
            if exact:
                return True
        lower, upper = self._atom_bounds(atom)
        if isinstance(atom, a.CeilLog2):
            beside = self._beside(atom, value)
            lower, upper = (*beside[0], *lower), (*beside[1], *upper)
        if set(parts) <= {0, 1}:
            slope, rest = parts[1], parts.get(0, ZERO)
            bounds = lower if self.holds(slope) else upper if self.holds(-slope) else ()
            return any(self.holds(slope * bound + rest) for bound in bounds)
        step = Symbol(f"{atom.key}'")
        for bound in lower:
            shift = bound + Poly.of_atom(step)
            shifted = value.map_atoms(lambda each, shift=shift: shift if each == atom else None)  # type: ignore[misc]
            if all(self.holds(coefficient) for coefficient in shifted.coefficients(step).values()):
                return True
        return False

    def _beside(self, atom: a.CeilLog2, value: Poly) -> tuple[list[Poly], list[Poly]]:
        """Bounds of ceil(log2(x)) by log2(x) or ceil(log2(x + c)) elsewhere in a value, a larger one or a smaller one.

        The latter differ by 1 at most where the larger argument is known to be at most twice the smaller one.
        """
        lower, upper = [], []
        for each in value.atoms():
            if isinstance(each, a.RealFunction) and each.function == "log2" and each.argument == atom.argument:
                if self.holds(atom.argument - 1):
                    lower.append(Poly.of_atom(each))
                    upper.append(Poly.of_atom(each) + 1)
                continue
            more = atom.argument - each.argument if isinstance(each, a.CeilLog2) else ZERO
            if not more or not more.is_constant:
                continue
            level = Poly.of_atom(each)
            if more.constant_term > 0:
                lower.append(level)
                upper += [level + 1] if self.holds(atom.argument - more.scaled(2)) else []
            else:
                upper.append(level)
                lower += [level - 1] if self.holds(atom.argument + more) else []
        return lower, upper

    def _by_scaled_floor(self, slope: Poly, rest: Poly, atom: a.Floor | a.Quotient) -> bool:
        """Where slope = m*s: m*floor(e/m) lies in [e - m + 1, e], and m*(e/m) is e."""
        value, modulus = atom.parts
        # A third of what is divided is divided too.
        share = a.content(modulus) / a.content(slope)
        slope, rest = slope.scaled(share), rest.scaled(share)
        whole = divide_terms(slope, modulus)
        if whole is None or whole[1]:
            return False
        scale = whole[0]
        if isinstance(atom, a.Quotient):
            return self.holds(scale * value + rest)
        if self.holds(scale):
            return self.holds(scale * (value - _slack(atom)) + rest)
        return self.holds(-scale) and self.holds(scale * value + rest)

    def _atom_bounds(self, atom: Atom) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        match atom:
            case a.Floor():
                return self._floor_bounds(atom)
            case a.Quotient():
                # The divisor is not 0; the quotient and the bound change sides where it is negative.
                sure = self.holds(atom.argument) and self.holds(atom.divisor)
                return ((ZERO,), (atom.argument,)) if sure else ((), ())
            case a.CeilLog2():
                level = 0
                while level < MAX_LEVEL and self.holds(atom.argument - 2**level - 1):
                    level += 1
                least = (Poly.constant(level),)
                most = (atom.argument - 1,) if self.holds(atom.argument - 1) else ()
                return least, most
            case a.CommonDivisor():
                # All integers divide 0.
                return (ONE,), tuple(part for part in atom.parts if self.holds(part - 1))
            case a.Gap():
                return (ZERO,), (atom.segments.ceiling,)
            case a.Offset():
                return (ZERO,), (atom.segments.total,)
            case a.Applied():
                return (ZERO,), ()
            case a.Exponential():
                lowest: tuple[Poly, ...] = (atom.exponent + 1, ONE) if self.holds(atom.exponent) else (ZERO,)
                lower, upper = self._power_bounds(atom)
                return (*lower, *lowest), upper
            case a.RealFunction(function="log2"):
                if self.holds(atom.argument - 1):
                    return (ZERO,), (atom.argument - 1,)
                return (), ()
            case a.RealFunction(function="isqrt", argument=inside) if self.holds(inside):
                return (ONE if self.holds(inside - 1) else ZERO,), (inside,)
            case a.RealFunction(function="isqrt"):
                return (Poly.constant(-1),), ()
            case a.RealFunction():
                return (ZERO,), ()
            case a.Data():
                return (
                    () if atom.low is None else (atom.low,),
                    () if atom.high is None else (atom.high,),
                )
            case _:
                return (), ()

    def _power_bounds(self, atom: a.Exponential) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        """Of 2^ceil(log2(e)): e and 2*e - 2, or 2*e - 1 where e may be 1. Of base^v: at the greatest v."""
        inner = a.single_atom(atom.exponent)
        if isinstance(inner, a.CeilLog2) and atom.base == 2 and self.holds(inner.argument - 1):
            slack = 2 if self.holds(inner.argument - 2) else 1
            return (inner.argument,), (inner.argument.scaled(2) - slack,)
        if isinstance(inner, Symbol):
            short = (end for end in self._bounds(inner).upper if abs(end.constant_term) <= a.MAX_CONSTANT_EXPONENT)
            return (), tuple(a.exponential(atom.base, end) for end in short)
        return (), ()

    def _floor_bounds(self, atom: a.Floor) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        value, modulus = atom.argument, atom.modulus
        if modulus.is_constant:
            return ((value - _slack(atom)) / modulus.constant_term,), (value / modulus.constant_term,)
        if self.holds(value):
            return (ONE if self.holds(value - modulus) else ZERO,), (value,)
        return (), ()


def split_power(monomial: Monomial) -> tuple[Poly, Monomial]:
    """The exponent of the power of 2 in a monomial, and its other factors."""
    powers = [(atom, power) for atom, power in monomial if isinstance(atom, a.Exponential) and atom.base == 2]
    exponent = total(atom.exponent.scaled(power) for atom, power in powers)
    return exponent, tuple(pair for pair in monomial if pair not in powers)


def _slack(atom: a.Floor) -> Poly:
    """How far m*floor(e/m) may lie below e: by m - 1 for an integer e, else by less than m."""
    whole = a.is_integral(atom.argument) and a.is_integral(atom.modulus)
    return atom.modulus - 1 if whole else atom.modulus


CORNER = (0,)
APART = (1_000, 3, 50), (3, 1_000, 70, 0, 9), (1,)
"""How far symbols are above the least that they may be, in turn: at a corner, and where sizes lie apart."""
Known = tuple[str, Sequence[Poly], Sequence[Poly]]
"""A symbol, and what it is at least and at most, in symbols before it."""


class Witness:
    """A point at which all bounds hold, if one is found."""

    def __init__(self, offsets: Sequence[int], known: Iterable[Known]) -> None:
        self._offsets, self._count = offsets, 0
        self._place: PointValues | None = PointValues({})
        for each in known:
            self._learn(each)

    def beside(self, known: Known) -> Witness:
        """The point with one more symbol."""
        found = copy(self)
        found._place = None if self._place is None else self._place.copy()
        found._learn(known)
        return found

    def _learn(self, known: Known) -> None:
        name, lower, upper = known
        offset = self._offsets[self._count % len(self._offsets)]
        self._count += 1
        number = None if self._place is None else _number(self._place, lower, upper, offset)
        if self._place is None or number is None:
            self._place = None
        else:
            self._place.learn(name, number)

    def refutes(self, value: Poly) -> bool:
        """Whether the value is below 0 there."""
        return self._place is not None and _negative(value, self._place) and not any(_quotients(value))


def _number(place: PointValues, lower: Sequence[Poly], upper: Sequence[Poly], offset: int) -> int | None:
    """A value of a symbol, given those of the symbols before it; None if none is found."""
    try:
        low = max((int(place.number(each).ceil()) for each in lower), default=None)
        high = min((int(place.number(each).floor()) for each in upper), default=None)
    except EvaluationError:
        return None
    return _between(low, high, offset)


def _between(low: int | None, high: int | None, offset: int) -> int | None:
    """An integer between the ends, as far from one as is wished, if that can be."""
    if low is None:
        return offset if high is None else high - offset
    if high is None:
        return low + offset
    return min(low + offset, high) if low <= high else None


def _negative(value: Poly, place: PointValues) -> bool:
    try:
        return bool(place.number(value).p < 0)
    except EvaluationError:
        return False


def _quotients(value: Poly) -> Iterator[bool]:
    """Divisions that a program promises to be exact: they may be none at the points."""
    return (isinstance(atom, a.Quotient) for atom in value.atoms_within())
