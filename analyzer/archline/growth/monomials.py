"""Represent products of powers: of sizes and logarithms in growth orders, of factors of any kind in normal forms.

Every growth that is shown is written here, in the language's syntax.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from math import gcd, lcm, prod
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from archline.algebra.reals import ONE_CONSTANT, ZERO_CONSTANT, Constant
from archline.expr import build as b
from archline.expr import tree as s
from archline.expr.text import format_expression
from archline.numbers import fmpq
from archline.records import record

MAX_TIMES = 12
"""The highest power of a prime in a number that is raised to sizes."""


class PowerBase(Protocol):
    """A hashable, ordered value that is raised to powers; `str` writes it."""

    def __hash__(self) -> int: ...

    def __lt__(self, other: Any, /) -> bool: ...


B = TypeVar("B", bound=PowerBase)


@record(eq=False)
class Monomial(Generic[B]):
    """A product of bases to nonzero powers."""

    powers: Mapping[B, Constant]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Monomial) and self.powers == other.powers

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.powers.items()))

    def __mul__(self, other: Monomial[B]) -> Monomial[B]:
        if not other.powers:
            return self
        if not self.powers:
            return other
        powers = dict(self.powers)
        for base, power in other.powers.items():
            total = powers.get(base, ZERO_CONSTANT) + power
            if total:
                powers[base] = total
            else:
                del powers[base]
        return Monomial(powers)

    def __truediv__(self, other: Monomial[B]) -> Monomial[B]:
        return self * other.inverse()

    def inverse(self) -> Monomial[B]:
        return Monomial({base: -power for base, power in self.powers.items()})

    def power(self, exponent: Constant) -> Monomial[B]:
        if exponent == ONE_CONSTANT:
            return self
        return Monomial({base: new for base, power in self.powers.items() if (new := power * exponent)})

    @property
    def never_grows(self) -> bool:
        """Whether no power is positive; the monomial is at most 1 where all bases are at least 1."""
        return all(power.sign() <= 0 for power in self.powers.values())

    @property
    def never_shrinks(self) -> bool:
        """Whether no power is negative; the monomial is at least 1 where all bases are at least 1."""
        return all(power.sign() >= 0 for power in self.powers.values())

    @property
    def is_rational(self) -> bool:
        return all(power.is_rational for power in self.powers.values())

    def rational_power(self, base: B) -> fmpq:
        """Return the power of a base, which must be rational."""
        return self.powers.get(base, ZERO_CONSTANT).rational

    def encode_powers(self) -> dict[str, str]:
        """Encode each base with its power, in the language's syntax, for certificates."""
        return {str(base): str(power) for base, power in sorted(self.powers.items(), key=lambda pair: str(pair[0]))}

    def __str__(self) -> str:
        return self.text(sorted(self.powers))

    def tree(self, order: Iterable[B] | None = None, coefficient: Constant = ONE_CONSTANT) -> s.Expr:
        """Build a multiple as an expression, its bases in the given order or as they are stored."""
        bases = list(self.powers if order is None else order)
        above = [_build_power(base, self.powers[base]) for base in bases if not self.powers[base].has_no_positive_term]
        below = [_build_power(base, -self.powers[base]) for base in bases if self.powers[base].has_no_positive_term]
        rational, irrationals = coefficient.factors()
        return b.rational_multiple(rational, [*irrationals, *above], below)

    def text(self, order: Iterable[B] | None = None, coefficient: Constant = ONE_CONSTANT) -> str:
        """Format a multiple in the language's syntax: `2*n^3/(P*sqrt(M))`.

        `order` has the bases in the order in which they are written; `coefficient` is a further factor.
        """
        return format_expression(self.tree(order, coefficient))


@record(eq=False, slots=True)
class Factor:
    """A size, or a subexpression `expr` that is not a sum of terms; `key` is its text."""

    key: str
    expr: s.Expr

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Factor) -> bool:
        return self.key < other.key

    def __str__(self) -> str:
        return self.key


Term: TypeAlias = Monomial[Factor]


@lru_cache(maxsize=4096)
def make_size_factor(name: str) -> Factor:
    """Return a size as a base of powers."""
    return Factor(name, b.name(name))


def make_monomial(base: B) -> Monomial[B]:
    """Return a base to the power 1."""
    return Monomial({base: ONE_CONSTANT})


def _build_base(base: PowerBase) -> s.Expr:
    if isinstance(base, Factor):
        return base.expr
    size = str(base).removeprefix("2^")
    return b.name(size) if size == str(base) else b.binary("^", b.number(2), b.name(size))


def _build_power(base: PowerBase, power: Constant) -> s.Expr:
    match _build_base(base):
        case s.Binary(op="^", left=s.Integer(value=2), right=size) if power != ONE_CONSTANT:
            number, times = _shorten_power(power) or (fmpq(2), None)
            if times is None:
                return b.power(b.number(2), b.product([power.tree, size]))
            return b.power(b.number(number), b.rational_multiple(times, [size], []))
        case expr:
            return b.power(expr, power.tree)


def _shorten_power(power: Constant) -> tuple[fmpq, fmpq] | None:
    """Write 2^(power*n) as a short number to a positive multiple of n; None if that is impossible."""
    shares = power.logarithm_multiples
    if not shares:
        return None
    denominator = lcm(*(int(share.q) for share in shares.values()))
    common = fmpq(gcd(*(int((share * denominator).p) for share in shares.values())), denominator)
    times = {prime: int((share / common).p) for prime, share in shares.items()}
    if max(map(abs, times.values())) > MAX_TIMES:
        return None
    return prod((fmpq(prime) ** exponent for prime, exponent in times.items()), start=fmpq(1)), common
