"""What is known of one symbol, and what follows from an expression that is at least 0."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import lcm

from archline.algebra import atoms as a
from archline.algebra.polynomial import UNIT, Atom, Monomial, Poly, Symbol, product, total
from archline.numbers import fmpq
from archline.records import record

MAX_LEVELS = 64


@record
class Bounds:
    """Polynomials that bound a symbol from below and from above."""

    lower: tuple[Poly, ...] = ()
    upper: tuple[Poly, ...] = ()

    @cached_property
    def least(self) -> int | None:
        """The largest number among the lower bounds, rounded up, as symbols are integers."""
        return max((int(each.constant_term.ceil()) for each in self.lower if each.is_constant), default=None)

    @cached_property
    def most(self) -> int | None:
        """The smallest number among the upper bounds, rounded down."""
        return min((int(each.constant_term.floor()) for each in self.upper if each.is_constant), default=None)

    def nearest(self, value: int) -> int:
        """The number between the least and the most that is nearest to a value."""
        found = value if self.least is None else max(value, self.least)
        return found if self.most is None else min(found, self.most)

    @cached_property
    def numbers(self) -> tuple[fmpq | None, fmpq | None]:
        """The largest number among the lower bounds, and the smallest among the upper ones, as they are."""
        low, high = ([each.constant_term for each in ends if each.is_constant] for ends in (self.lower, self.upper))
        return max(low, default=None), min(high, default=None)

    @cached_property
    def plain(self) -> tuple[bool, bool]:
        """Whether all lower bounds are numbers, and whether all upper ones are."""
        return all(each.is_constant for each in self.lower), all(each.is_constant for each in self.upper)


NO_BOUNDS = Bounds()


@record
class Power:
    """The size `name` is 2^(every*k) for the integer that the symbol `exponent` stands for."""

    name: str
    exponent: str
    every: int

    def restored(self, value: Poly) -> Poly:
        """Write powers of 2^k as powers of the size, as far as they go."""
        root, size = Poly.symbol(self.exponent), Poly.symbol(self.name)
        ((((step, _),), _),) = a.exponential(2, root).terms.items()
        rest = a.sqrt(size) if self.every == 2 else a.exponential(2, a.log2(size) / self.every)

        def inside(poly: Poly) -> Poly:
            return total(
                product((factor(atom, power) for atom, power in monomial), coefficient)
                for monomial, coefficient in poly.terms.items()
            )

        def factor(atom: Atom, power: int) -> Poly:
            if atom == step:
                whole, left = divmod(power, self.every)
                return size**whole * rest**left
            if atom.parts and self.exponent in atom.names:
                return atom.rebuild(tuple(inside(part) for part in atom.parts)) ** power
            return Poly.of_atom(atom, power)

        return inside(value) if self.exponent in value.names else value


def scaled_to_one(value: Poly) -> Poly:
    """The polynomial times a positive constant, the same for its multiples: flops of each kind differ by one.

    Its coefficients are integers without a common divisor: an integer stays one.
    """
    return value if not value or (size := a.content(value)) == UNIT else value.scaled(1 / size)


def common_multiple(numbers: Iterable[fmpq]) -> fmpq:
    """A common multiple of positive integers."""
    return fmpq(lcm(*(int(each.p) for each in numbers)))


def of_leaves(value: Poly, depth: a.CeilLog2) -> Poly | None:
    """What is at least 0 of the e leaves of a tree where ceil(log2(e)) - c is, or c - ceil(log2(e)), for a small c."""
    less, more = (value - Poly.of_atom(depth), value + Poly.of_atom(depth))
    if less.is_constant and less.constant_term.q == 1 and -MAX_LEVELS <= less.constant_term <= -1:
        return depth.argument - a.exponential(2, -less - 1) - 1
    small = more.is_constant and more.constant_term.q == 1 and 0 <= more.constant_term <= MAX_LEVELS
    return a.exponential(2, more) - depth.argument if small else None


def of_exponent(value: Poly, power: a.Exponential) -> Poly | None:
    """What is at least 0 of an integer exponent x where c*b^x + d is."""
    between = _between_powers(value)
    if between is not None:
        return between
    parts = value.coefficients(power)
    if set(parts) != {0, 1} or not all(each.is_constant for each in parts.values()):
        return None
    if not a.is_integral(power.exponent):
        return None
    slope, rest = parts[1].constant_term, parts[0].constant_term
    least, limit = 0, -rest / slope
    if limit <= 0:
        return None
    if slope > 0:
        while power.base**least < limit:
            least += 1
        return power.exponent - least
    while power.base ** (least + 1) <= limit:
        least += 1
    return least - power.exponent if limit >= 1 else None


def common_factor(value: Poly) -> Monomial:
    """The symbols that all terms have in common, with the least of their powers."""
    terms = [{atom: power for atom, power in monomial if isinstance(atom, Symbol)} for monomial in value.terms]
    if len(terms) < 2:
        return ()
    first, *others = terms
    least = {atom: min(power, *(each.get(atom, 0) for each in others)) for atom, power in first.items()}
    return tuple((atom, power) for atom, power in least.items() if power > 0)


def _between_powers(value: Poly) -> Poly | None:
    """What is at least 0 where 2^x - 2^y is: x - y."""
    if len(value.terms) != 2:
        return None
    signs = {coefficient > 0: Poly({monomial: abs(coefficient)}) for monomial, coefficient in value.terms.items()}
    exponents = {sign: a.exponent_of_two(term) for sign, term in signs.items()}
    above, below = exponents.get(True), exponents.get(False)
    return None if above is None or below is None else above - below


def tightened(bound: Poly, lower: bool) -> Poly:
    """Round a constant bound of an integer inwards."""
    if not bound.is_constant:
        return bound
    number = bound.constant_term
    return Poly.constant(int(number.ceil() if lower else number.floor()))
