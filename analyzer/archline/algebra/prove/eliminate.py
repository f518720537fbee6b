"""Searches for a proof that an expression is at least 0 under facts, by the youngest symbol or atom in it.

Integers that satisfy the facts refute a query first: most queries have no proof, and an exhaustive search for one
takes far longer than arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

from archline.algebra import atoms as a
from archline.algebra.bounds import NO_BOUNDS, Bounds
from archline.algebra.effort import spend_effort
from archline.algebra.enclosures import enclose_sequence
from archline.algebra.evaluate.exact import PointValues
from archline.algebra.factors import divide_terms
from archline.algebra.polynomial import MAX_POWER, ONE, ZERO, Atom, Monomial, Poly, Symbol, sum_polynomials
from archline.expr.intervals import EvaluationError
from archline.numbers import fmpq

if TYPE_CHECKING:
    from archline.algebra.facts import Facts

MAX_STEPS = 400
MAX_MINIMUM_LEVEL = 3
"""The largest lower bound of a rounded logarithm that is tried."""
NATURAL_LOG_OF_2 = fmpq(69, 100)
"""A number below ln(2), the slope of 2^x at 0."""


class EliminationSearch:
    """One search for a proof that an expression is >= 0: it eliminates the youngest symbol first, in limited steps."""

    def __init__(self, facts: Facts, steps: int = MAX_STEPS) -> None:
        self.facts = facts
        self.steps = steps
        # Results by value, since the same value occurs in many branches of a search.
        self._tried: dict[Poly, bool] = {}

    def prove_nonnegative(self, value: Poly) -> bool:
        count = len(value.terms)
        if count <= 1 and value.is_constant:
            return bool(value.constant_term >= 0)
        self.steps -= 1
        spend_effort(count)
        if self.steps < 0:
            return False
        proved = self.facts.decide_sign_by_constants(value) if count <= 2 else None
        if proved is None:
            proved = self.facts.proved.get(value)
        if proved is None:
            proved = self._tried.get(value)
        if proved is None:
            proved = self._tried[value] = self._prove_untried(value)
        return proved

    def _prove_untried(self, value: Poly) -> bool:
        if all(coefficient.p > 0 for coefficient in value.terms.values()) and self._are_atoms_nonnegative(value):
            return True
        atoms = value.atoms()
        if a.Exponential in map(type, atoms):
            for smaller in (self._without_powers(value), self._without_opposite_powers(value)):
                if smaller is not None and self.prove_nonnegative(smaller):
                    return True
        atom = max(atoms, key=self.facts.ages.__getitem__)
        if isinstance(atom, Symbol):
            return self._prove_by_symbol_bounds(value, atom)
        if isinstance(atom, a.PositivePart):
            return self._prove_by_cases(value, atom)
        return self._prove_by_atom_bounds(value, atom)

    def _without_powers(self, value: Poly) -> Poly | None:
        """Replace a term c*2^e with a known e >= 0 by c (or 2^e by 1), which gives a smaller value.

        None if no term is of this form.
        """
        for monomial, coefficient in value.terms.items():
            if coefficient <= 0 or not monomial or not all(isinstance(atom, a.Exponential) for atom, _ in monomial):
                continue
            power = Poly({monomial: coefficient})
            for factor in (fmpq(1), coefficient):
                exponent = a.find_exponent_of_two(power.scaled(1 / factor))
                if exponent is not None and self.prove_nonnegative(exponent):
                    return value - power + factor
        return None

    def _without_opposite_powers(self, value: Poly) -> Poly | None:
        """Replace c*2^u*x by c*2^(v + d)*x, where u >= v + d for d = 1 or 0, if 2^v*x occurs with a minus sign.

        None if no pair of terms is of this form.
        """
        powers: dict[Monomial, list[tuple[Poly, fmpq]]] = {}
        for monomial, coefficient in value.terms.items():
            exponent, cofactor = split_power(monomial)
            powers.setdefault(cofactor, []).append((exponent, coefficient))
        for x, terms in powers.items():
            pairs = [(u, c, v) for u, c in terms if c > 0 and not u.is_constant for v, b in terms if b < 0]
            if not pairs or not self._are_atoms_nonnegative(Poly({x: fmpq(1)})):
                continue
            for u, c, v in pairs:
                for shift in (1, 0):
                    if self.prove_nonnegative(u - v - shift):
                        rest = Poly({x: c})
                        return value - rest * a.exponential(2, u) + rest * a.exponential(2, v + shift)
        return None

    def _are_atoms_nonnegative(self, value: Poly) -> bool:
        return all(self._is_atom_nonnegative(atom) for atom in value.atoms())

    def _is_atom_nonnegative(self, atom: Atom) -> bool:
        match atom:
            case Symbol():
                return any(self.prove_nonnegative(bound) for bound in self._bounds_of(atom).lower)
            case (
                a.PositivePart()
                | a.Gap()
                | a.Offset()
                | a.CeilLog2()
                | a.Exponential()
                | a.AppliedFunction()
                | a.CommonDivisor()
            ):
                return True
            case a.Sequence():
                return atom.name != "floor_sum" or all(map(self.prove_nonnegative, atom.parts))
            case a.RealFunction(function="log2"):
                return self.prove_nonnegative(atom.argument - 1)
            case a.RealFunction(function="isqrt"):
                return self.prove_nonnegative(atom.argument)
            case a.RealFunction():
                return True
            case a.Quotient():
                return self.prove_nonnegative(atom.argument) and self.prove_nonnegative(atom.divisor)
            case a.Floor():
                return self.prove_nonnegative(atom.argument)
            case a.Data():
                return atom.low is not None and self.prove_nonnegative(atom.low)
            case _:
                return False

    def _bounds_of(self, atom: Symbol) -> Bounds:
        return self.facts.bounds.get(atom.name, NO_BOUNDS)

    def _prove_by_symbol_bounds(self, value: Poly, atom: Symbol) -> bool:
        bounds = self._bounds_of(atom)
        linear = value.split_linear_term(atom)
        if linear is not None:
            number, rest = linear
            ends = bounds.lower if number.p > 0 else bounds.upper
            return any(self.prove_nonnegative(bound.times_plus(number, rest)) for bound in ends)
        parts = value.coefficients(atom)
        if min(parts) < 0 or max(parts) > MAX_POWER:
            return False
        if parts.keys() <= {0, 1}:
            slope, rest = parts[1], parts.get(0, ZERO)
            rises = self.prove_nonnegative(slope)
            if rises or self.prove_nonnegative(-slope):
                return any(
                    self.prove_nonnegative(slope * bound + rest) for bound in (bounds.lower if rises else bounds.upper)
                )
        return any(self._prove_by_shift(value, atom, bound, 1) for bound in bounds.lower) or any(
            self._prove_by_shift(value, atom, bound, -1) for bound in bounds.upper
        )

    def _prove_by_shift(self, value: Poly, atom: Symbol, bound: Poly, direction: int) -> bool:
        """Prove value >= 0 for v = bound + t (or bound - t), t >= 0, by proving that all coefficients in t are >= 0."""
        step = Symbol(f"{atom.name}'")
        shifted = value.substitute({atom.name: bound + Poly.of_atom(step).scaled(direction)})
        coefficients = shifted.coefficients(step)
        return all(power >= 0 and self.prove_nonnegative(coefficient) for power, coefficient in coefficients.items())

    def _prove_by_cases(self, value: Poly, atom: a.PositivePart) -> bool:
        """Prove both cases of max(0, e): it is 0 if e <= 0, and e if e >= 0."""
        argument = atom.argument
        zero = value.map_atoms(lambda candidate: ZERO if candidate == atom else None)
        positive = value.map_atoms(lambda candidate: argument if candidate == atom else None)
        # With a nonnegative coefficient the expression is at least either branch everywhere.
        if self.prove_nonnegative(value.coefficients(atom)[1]) and (
            self.prove_nonnegative(positive) or self.prove_nonnegative(zero)
        ):
            return True
        below = self.facts.with_nonnegative(-argument)
        above = self.facts.with_nonnegative(argument)
        self.steps //= 2
        return EliminationSearch(below, self.steps).prove_nonnegative(zero) and EliminationSearch(
            above, self.steps
        ).prove_nonnegative(positive)

    def _prove_by_atom_bounds(self, value: Poly, atom: Atom) -> bool:
        parts = value.coefficients(atom)
        if min(parts) < 0:
            return False
        if set(parts) <= {0, 1} and isinstance(atom, a.Floor | a.Quotient):
            exact = self._prove_by_scaled_floor(parts[1], parts.get(0, ZERO), atom)
            if exact:
                return True
        lower, upper = self._atom_bounds(atom)
        if isinstance(atom, a.CeilLog2):
            by_levels = self._bound_by_logarithms(atom, value)
            lower, upper = (*by_levels[0], *lower), (*by_levels[1], *upper)
        if set(parts) <= {0, 1}:
            slope, rest = parts[1], parts.get(0, ZERO)
            bounds = lower if self.prove_nonnegative(slope) else upper if self.prove_nonnegative(-slope) else ()
            return any(self.prove_nonnegative(slope * bound + rest) for bound in bounds)
        step = Symbol(f"{atom.key}'")
        for bound in lower:
            shift = bound + Poly.of_atom(step)
            shifted = value.map_atoms(lambda candidate, shift=shift: shift if candidate == atom else None)  # type: ignore[misc]
            if all(self.prove_nonnegative(coefficient) for coefficient in shifted.coefficients(step).values()):
                return True
        return False

    def _bound_by_logarithms(self, atom: a.CeilLog2, value: Poly) -> tuple[list[Poly], list[Poly]]:
        """Return bounds of ceil(log2(x)) by log2(x) or ceil(log2(x + c)) that occur in a value.

        Rounded logarithms differ by at most 1 if the larger argument is known to be at most twice the smaller one.
        """
        lower, upper = [], []
        for log in value.atoms():
            if isinstance(log, a.RealFunction) and log.function == "log2" and log.argument == atom.argument:
                if self.prove_nonnegative(atom.argument - 1):
                    lower.append(Poly.of_atom(log))
                    upper.append(Poly.of_atom(log) + 1)
                continue
            difference = atom.argument - log.argument if isinstance(log, a.CeilLog2) else ZERO
            if not difference or not difference.is_constant:
                continue
            level = Poly.of_atom(log)
            if difference.constant_term > 0:
                lower.append(level)
                upper += [level + 1] if self.prove_nonnegative(atom.argument - difference.scaled(2)) else []
            else:
                upper.append(level)
                lower += [level - 1] if self.prove_nonnegative(atom.argument + difference) else []
        return lower, upper

    def _prove_by_scaled_floor(self, slope: Poly, rest: Poly, atom: a.Floor | a.Quotient) -> bool:
        """Prove slope*atom + rest >= 0 for a slope s*m: m*floor(e/m) lies in [e - m + 1, e], and m*(e/m) is e."""
        value, modulus = atom.parts
        # Both are scaled so that the slope is a multiple of the modulus: n/3 is divided as n is.
        share = a.compute_content(modulus) / a.compute_content(slope)
        slope, rest = slope.scaled(share), rest.scaled(share)
        whole = divide_terms(slope, modulus)
        if whole is None or whole[1]:
            return False
        scale = whole[0]
        if isinstance(atom, a.Quotient):
            return self.prove_nonnegative(scale * value + rest)
        if self.prove_nonnegative(scale):
            return self.prove_nonnegative(scale * (value - _compute_floor_slack(atom)) + rest)
        return self.prove_nonnegative(-scale) and self.prove_nonnegative(scale * value + rest)

    def _atom_bounds(self, atom: Atom) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        match atom:
            case a.Floor():
                return self._floor_bounds(atom)
            case a.Quotient():
                # The divisor is not 0; bounds need its sign.
                sure = self.prove_nonnegative(atom.argument) and self.prove_nonnegative(atom.divisor)
                return ((ZERO,), (atom.argument,)) if sure else ((), ())
            case a.CeilLog2():
                level = 0
                while level < MAX_MINIMUM_LEVEL and self.prove_nonnegative(atom.argument - 2**level - 1):
                    level += 1
                minimum = (Poly.constant(level),)
                # ceil(log2(3)) <= 3 - 1, but ceil(log2(3/2)) > 3/2 - 1
                less = 1 if a.is_integral(atom.argument) else 0
                return minimum, ((atom.argument - less,) if self.prove_nonnegative(atom.argument - less) else ())
            case a.CommonDivisor():
                # Only positive parts are bounds, since gcd(0, n) = n.
                return (ONE,), tuple(part for part in atom.parts if self.prove_nonnegative(part - 1))
            case a.Gap():
                return (ZERO,), (atom.segments.ceiling,)
            case a.Offset():
                return (ZERO,), (atom.segments.total,)
            case a.AppliedFunction():
                return (ZERO,), ()
            case a.Sequence():
                return enclose_sequence(atom, self.prove_nonnegative)
            case a.Exponential():
                # 2^3 >= 3 + 1, but 2^(1/2) < 1/2 + 1
                slope = 1 if a.is_integral(atom.exponent) else NATURAL_LOG_OF_2
                lowest = (atom.exponent.scaled(slope) + 1, ONE) if self.prove_nonnegative(atom.exponent) else (ZERO,)
                lower, upper = self._power_bounds(atom)
                return (*lower, *lowest), upper
            case a.RealFunction(function="log2"):
                if self.prove_nonnegative(atom.argument - 1):
                    return (ZERO,), (a.tangent_of_log2(atom.argument),)
                return (), ()
            case a.RealFunction(function="isqrt", argument=inside) if self.prove_nonnegative(inside):
                return (ONE if self.prove_nonnegative(inside - 1) else ZERO,), (inside,)
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
        """Return lower and upper bounds of b^ceil(log_b(e)) by e, or of b^v by the upper bounds of the symbol v.

        b^ceil(log_b(e)) is from e to b*(e - 1), or b*(e - 1) + 1 if e may be 1; for a fraction e it is at most b*e.
        """
        inner = a.find_single_atom(atom.exponent)
        logarithm = None if inner is None else a.read_logarithm(inner)
        if logarithm is not None and atom.base == logarithm[1] and self.prove_nonnegative(logarithm[0] - 1):
            leaves, base = logarithm
            slack = base - (0 if self.prove_nonnegative(leaves - 2) else 1) if a.is_integral(leaves) else 0
            return (leaves,), (leaves.scaled(base) - slack,)
        if isinstance(inner, Symbol):
            short = (end for end in self._bounds_of(inner).upper if abs(end.constant_term) <= a.MAX_CONSTANT_EXPONENT)
            return (), tuple(a.exponential(atom.base, end) for end in short)
        return (), ()

    def _floor_bounds(self, atom: a.Floor) -> tuple[tuple[Poly, ...], tuple[Poly, ...]]:
        value, modulus = atom.argument, atom.modulus
        if modulus.is_constant:
            return ((value - _compute_floor_slack(atom)) / modulus.constant_term,), (value / modulus.constant_term,)
        if self.prove_nonnegative(value):
            return (ONE if self.prove_nonnegative(value - modulus) else ZERO,), (value,)
        return (), ()


def split_power(monomial: Monomial) -> tuple[Poly, Monomial]:
    """Return the exponent of the power of 2 in a monomial, and its other factors."""
    powers = [(atom, power) for atom, power in monomial if isinstance(atom, a.Exponential) and atom.base == 2]
    exponent = sum_polynomials(atom.exponent.scaled(power) for atom, power in powers)
    return exponent, tuple(pair for pair in monomial if pair not in powers)


def _compute_floor_slack(atom: a.Floor) -> Poly:
    """Return the greatest distance of m*floor(e/m) below e: m - 1 for an integer e, else less than m."""
    is_integer_quotient = a.is_integral(atom.argument) and a.is_integral(atom.modulus)
    return atom.modulus - 1 if is_integer_quotient else atom.modulus


CORNER_OFFSETS = (0,)
SPREAD_OFFSETS = (1_000, 3, 50), (3, 1_000, 70, 0, 9), (1,)
"""Offsets of symbols from their minima, in turn: at the corner, and at points with sizes of different magnitude."""
SymbolBounds = tuple[str, Sequence[Poly], Sequence[Poly]]
"""A symbol with its lower and upper bounds in earlier symbols."""


class Witness:
    """Integer values of symbols at which all their bounds hold, if found; a negative value there refutes a claim."""

    def __init__(self, offsets: Sequence[int], symbols: Iterable[SymbolBounds]) -> None:
        self._offsets, self._count = offsets, 0
        self._place: PointValues | None = PointValues({})
        for symbol in symbols:
            self._add_symbol(symbol)

    def with_symbol(self, known: SymbolBounds) -> Witness:
        """Return the point extended by one more symbol."""
        extended = copy(self)
        extended._place = None if self._place is None else self._place.copy()
        extended._add_symbol(known)
        return extended

    def _add_symbol(self, known: SymbolBounds) -> None:
        name, lower, upper = known
        offset = self._offsets[self._count % len(self._offsets)]
        self._count += 1
        number = None if self._place is None else _choose_number(self._place, lower, upper, offset)
        if self._place is None or number is None:
            self._place = None
        else:
            self._place.set_symbol(name, number)

    def refutes(self, value: Poly) -> bool:
        """Test whether the value is negative at the point and has no exact quotients."""
        return (
            self._place is not None and _is_negative_at(value, self._place) and not any(_iterate_quotient_flags(value))
        )


def _choose_number(place: PointValues, lower: Sequence[Poly], upper: Sequence[Poly], offset: int) -> int | None:
    """Return a value of a symbol between bounds, given values of earlier symbols; None if none is found."""
    try:
        low = max((int(place.evaluate_expression(bound).ceil()) for bound in lower), default=None)
        high = min((int(place.evaluate_expression(bound).floor()) for bound in upper), default=None)
    except EvaluationError:
        return None
    return _clamp_offset(low, high, offset)


def _clamp_offset(low: int | None, high: int | None, offset: int) -> int | None:
    """Return an integer within bounds, at `offset` from the lower one if possible, else from the upper one.

    With both bounds it is at most the upper one; None if they contradict.
    """
    if low is None:
        return offset if high is None else high - offset
    if high is None:
        return low + offset
    return min(low + offset, high) if low <= high else None


def _is_negative_at(value: Poly, place: PointValues) -> bool:
    try:
        return bool(place.evaluate_expression(value).p < 0)
    except EvaluationError:
        return False


def _iterate_quotient_flags(value: Poly) -> Iterator[bool]:
    """Yield for each atom whether it is an exact quotient, which may not be an integer at the point."""
    return (isinstance(atom, a.Quotient) for atom in value.atoms_within())
