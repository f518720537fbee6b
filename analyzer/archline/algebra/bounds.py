"""Holds the bounds of one symbol, and derives bounds from expressions that are nonnegative."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.polynomial import RATIONAL_ONE, Atom, Monomial, Poly, Symbol, product, sum_polynomials
from archline.numbers import fmpq
from archline.records import record

MAX_TREE_LEVELS = 64
"""The largest depth of a tree whose bound becomes a bound of its number of leaves, which has as many bits."""


@record
class Bounds:
    """Polynomials that bound a symbol from below and from above."""

    lower: tuple[Poly, ...] = ()
    upper: tuple[Poly, ...] = ()

    @cached_property
    def minimum(self) -> int | None:
        """The largest number among the lower bounds, rounded up, as symbols are integers.

        None if no lower bound is a number.
        """
        return max((int(bound.constant_term.ceil()) for bound in self.lower if bound.is_constant), default=None)

    @cached_property
    def maximum(self) -> int | None:
        """The smallest number among the upper bounds, rounded down. None if no upper bound is a number."""
        return min((int(bound.constant_term.floor()) for bound in self.upper if bound.is_constant), default=None)

    def clamp_value(self, value: int) -> int:
        """Return the integer within the constant bounds that is nearest to a value."""
        raised = value if self.minimum is None else max(value, self.minimum)
        return raised if self.maximum is None else min(raised, self.maximum)

    @cached_property
    def constant_bounds(self) -> tuple[fmpq | None, fmpq | None]:
        """The largest number among the lower bounds and the smallest among the upper ones, not rounded.

        None for a side that has no number.
        """
        low, high = ([bound.constant_term for bound in ends if bound.is_constant] for ends in (self.lower, self.upper))
        return max(low, default=None), min(high, default=None)

    @cached_property
    def all_constant(self) -> tuple[bool, bool]:
        """Two flags: all lower bounds are numbers, and all upper bounds are."""
        return all(bound.is_constant for bound in self.lower), all(bound.is_constant for bound in self.upper)


NO_BOUNDS = Bounds()


@record
class PowerOfTwoSize:
    """The fact that the size `name` is 2^(every*k), where the symbol `exponent` stands for the integer k."""

    name: str
    exponent: str
    every: int

    def restore_size(self, value: Poly) -> Poly:
        """Write powers of 2^k as powers of the size and of a root of it; for n = 4^k: (2^k)^5 -> n^2*sqrt(n)."""
        root, size = Poly.symbol(self.exponent), Poly.symbol(self.name)
        ((((step, _),), _),) = a.exponential(2, root).terms.items()
        rest = a.sqrt(size) if self.every == 2 else a.exponential(2, a.log2(size) / self.every)

        def rewrite_poly(poly: Poly) -> Poly:
            return sum_polynomials(
                product((rewrite_factor(atom, power) for atom, power in monomial), coefficient)
                for monomial, coefficient in poly.terms.items()
            )

        def rewrite_factor(atom: Atom, power: int) -> Poly:
            if atom == step:
                whole, remainder = divmod(power, self.every)
                return size**whole * rest**remainder
            if atom.parts and self.exponent in atom.names:
                return atom.rebuild(tuple(rewrite_poly(part) for part in atom.parts)) ** power
            return Poly.of_atom(atom, power)

        return rewrite_poly(value) if self.exponent in value.names else value


def make_primitive(value: Poly) -> Poly:
    """Scale a polynomial by a positive constant to coprime integer coefficients: 2/3*n - 4/3 -> n - 2.

    The result is the same for all positive multiples of a polynomial, so proofs about one are cached for all.
    """
    return value if not value or (size := a.compute_content(value)) == RATIONAL_ONE else value.scaled(1 / size)


def least_common_multiple(numbers: Iterable[fmpq]) -> fmpq:
    """Return the least common multiple of positive integers."""
    return fmpq(lcm(*(int(number.p) for number in numbers)))


def derive_leaf_bound(value: Poly, depth: a.CeilLog2) -> Poly | None:
    """Turn `value` >= 0, a bound on the `depth` ceil(log2(e)) of a binary tree, into one on its number of leaves e.

    The result is >= 0 too: e - 2^(c - 1) - 1 for ceil(log2(e)) - c, 2^c - e for c - ceil(log2(e)); else None.
    """
    less, more = (value - Poly.of_atom(depth), value + Poly.of_atom(depth))
    if less.is_constant and less.constant_term.q == 1 and -MAX_TREE_LEVELS <= less.constant_term <= -1:
        # More than 2^(c - 1) leaves are at least one more, if their number is whole.
        return depth.argument - a.exponential(2, -less - 1) - (1 if a.is_integral(depth.argument) else 0)
    small = more.is_constant and more.constant_term.q == 1 and 0 <= more.constant_term <= MAX_TREE_LEVELS
    return a.exponential(2, more) - depth.argument if small else None


def derive_exponent_bound(value: Poly, power: a.Exponential) -> Poly | None:
    """Turn c*b^x + d >= 0 into a bound on the exponent x, an expression >= 0: 3*2^x - 5 -> x - 1. Else return None."""
    between = _match_exponent_difference(value)
    if between is not None:
        return between
    parts = value.coefficients(power)
    if set(parts) != {0, 1} or not all(part.is_constant for part in parts.values()):
        return None
    if not a.is_integral(power.exponent):
        return None
    slope, rest = parts[1].constant_term, parts[0].constant_term
    limit = -rest / slope
    if limit <= 0:
        return None
    if slope > 0:
        return power.exponent - ceil_log(power.base, limit)
    return floor_log(power.base, limit) - power.exponent


def ceil_log(base: int, limit: fmpq) -> int:
    """Return the least integer e with base^e >= limit, for base >= 2 and limit > 0."""
    exponent = 0
    while fmpq(base) ** exponent < limit:
        exponent += 1
    while fmpq(base) ** (exponent - 1) >= limit:
        exponent -= 1
    return exponent


def floor_log(base: int, limit: fmpq) -> int:
    """Return the greatest integer e with base^e <= limit, for base >= 2 and limit > 0."""
    above = ceil_log(base, limit)
    return above if fmpq(base) ** above == limit else above - 1


def common_symbol_powers(value: Poly) -> Monomial:
    """Return the symbols that all terms share, with the minimum of their powers."""
    terms = [{atom: power for atom, power in monomial if isinstance(atom, Symbol)} for monomial in value.terms]
    if len(terms) < 2:
        return ()
    first, *rest = terms
    shared = {atom: min(power, *(powers.get(atom, 0) for powers in rest)) for atom, power in first.items()}
    return tuple((atom, power) for atom, power in shared.items() if power > 0)


def _match_exponent_difference(value: Poly) -> Poly | None:
    """Return x - y, which has the sign of the value, if the value is 2^x - 2^y, else None."""
    if len(value.terms) != 2:
        return None
    signs = {coefficient > 0: Poly({monomial: abs(coefficient)}) for monomial, coefficient in value.terms.items()}
    exponents = {sign: a.find_exponent_of_two(term) for sign, term in signs.items()}
    above, below = exponents.get(True), exponents.get(False)
    return None if above is None or below is None else above - below


def round_bound_inward(bound: Poly, lower: bool) -> Poly:
    """Round a constant bound of an integer inward: up if `lower`, else down."""
    if not bound.is_constant:
        return bound
    number = bound.constant_term
    return Poly.constant(int(number.ceil() if lower else number.floor()))
