"""Polyhedral cones by their extreme rays, cut by half-spaces (the double description method), with exact numbers.

A point is the logarithms of the sizes and symbols at the root; a cone is a region of them. A linear form is a vector.

Numbers are rational, as they nearly always are, or else quotients of polynomials in log2(3), log2(5), ... in lowest
terms, so that equal ones have one form. One that is not the zero quotient is shown to be positive or negative by an
enclosure, or its sign stays open: no logarithms are assumed to be independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, reduce
from math import log2
from typing import TypeAlias, Union

from archline.algebra.reals import Constant, OutOfReachError, sign_of
from archline.numbers import arb, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, primes
from archline.records import record

Number: TypeAlias = Union[fmpq, "Irrational"]
ZERO, ONE = fmpq(0), fmpq(1)
PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
"""The primes whose binary logarithms are the polynomials' variables."""
_POLYNOMIALS = fmpq_mpoly_ctx.get([f"log2({prime})" for prime in PRIMES], "lex")
_UNIT = _POLYNOMIALS.constant(1)
_LOGARITHMS = tuple(log2(prime) for prime in PRIMES)


class Irrational:
    """A quotient of polynomials in lowest terms that is not written as a rational; the divisor's first term has 1."""

    __slots__ = ("_hash", "bottom", "top")

    def __init__(self, top: fmpq_mpoly, bottom: fmpq_mpoly) -> None:
        self.top = top
        self.bottom = bottom
        self._hash: int | None = None

    def __add__(self, other: Number) -> Number:
        if not isinstance(other, Irrational):
            return Irrational(self.top + other * self.bottom, self.bottom)
        if self.bottom == other.bottom:
            return _quotient(self.top + other.top, self.bottom)
        return _quotient(self.top * other.bottom + other.top * self.bottom, self.bottom * other.bottom)

    def __mul__(self, other: Number) -> Number:
        if isinstance(other, Irrational):
            return _quotient(self.top * other.top, self.bottom * other.bottom)
        return Irrational(self.top * other, self.bottom) if other else ZERO

    def __truediv__(self, other: Number) -> Number:
        return self * reciprocal(other)

    def __rtruediv__(self, other: fmpq) -> Number:
        return reciprocal(self) * other

    def __neg__(self) -> Number:
        return Irrational(-self.top, self.bottom)

    def __sub__(self, other: Number) -> Number:
        return self + (-other)

    def __rsub__(self, other: Number) -> Number:
        return (-self) + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Irrational) and self.top == other.top and self.bottom == other.bottom

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((str(self.top), str(self.bottom)))
        return self._hash

    def __str__(self) -> str:
        """In the language's syntax, what is subtracted last."""
        below = list(self.bottom.terms())
        if len(below) > 1:
            return f"({_sum_text(self.top, ())})/({_sum_text(self.bottom, ())})"
        return _sum_text(self.top, below[0][0])

    __repr__ = __str__


def _quotient(top: fmpq_mpoly, bottom: fmpq_mpoly) -> Number:
    """top/bottom in lowest terms."""
    if not bottom.is_constant():
        common = top.gcd(bottom)
        top, bottom = top / common, bottom / common
    lead = bottom.leading_coefficient()
    top, bottom = top / lead, bottom / lead
    if top.is_constant() and bottom.is_constant():
        return top.leading_coefficient() if top else ZERO
    return Irrational(top, bottom)


def _sum_text(polynomial: fmpq_mpoly, divisor: tuple[int, ...]) -> str:
    """The terms, each over the product of variables to the powers `divisor`, the positive ones first."""
    text = ""
    for powers, coefficient in sorted(polynomial.terms(), key=lambda term: term[1] < 0):
        left = [int(a) - int(b) for a, b in zip(powers, divisor or (0,) * len(powers), strict=True)]
        above = [_power_text(prime, power) for prime, power in zip(PRIMES, left, strict=True) if power > 0]
        below = [_power_text(prime, -power) for prime, power in zip(PRIMES, left, strict=True) if power < 0]
        size = abs(coefficient)
        if size.p != 1 or not above:
            above.insert(0, str(size.p))
        if size.q != 1:
            below.insert(0, str(size.q))
        joint = (" - " if text else "-") if coefficient < 0 else (" + " if text else "")
        text += joint + "/".join(["*".join(above), *below])
    return text


def _power_text(prime: int, power: int) -> str:
    return f"log2({prime})" + (f"^{power}" if power > 1 else "")


def reciprocal(value: Number) -> Number:
    """1/value, which is not 0. Raises OutOfReachError where it may be."""
    if not isinstance(value, Irrational):
        return ONE / value
    sign(value)
    return _quotient(value.bottom, value.top)


def sign(value: Number) -> int:
    """-1, 0 or 1, proved. Raises OutOfReachError where enclosures leave it open."""
    if not isinstance(value, Irrational):
        return (value > 0) - (value < 0)
    return _sign_of(value.top) * _sign_of(value.bottom)


def _sign_of(polynomial: fmpq_mpoly) -> int:
    parts = list(_parts(polynomial))
    total = sum(parts)
    # Each part is right to 40 bits, so that a sum this far from zero has its sign.
    if abs(total) > 1e-9 * sum(map(abs, parts)):
        return 1 if total > 0 else -1
    sign = sign_of(lambda: _enclosure(polynomial))
    if sign is None:
        raise OutOfReachError(f"whether {_sum_text(polynomial, ())} is 0 could not be decided")
    return sign


def _parts(polynomial: fmpq_mpoly) -> Iterator[float]:
    for powers, coefficient in polynomial.terms():
        part = _nearby(coefficient)
        for logarithm_, power in zip(_LOGARITHMS, powers, strict=True):
            if power:
                part *= logarithm_ ** int(power)
        yield part


def _enclosure(polynomial: fmpq_mpoly) -> arb:
    total = arb(0)
    for powers, coefficient in polynomial.terms():
        part = arb(coefficient)
        for prime, power in zip(PRIMES, powers, strict=True):
            if power:
                part *= (arb(prime).log() / arb.const_log2()) ** int(power)
        total += part
    return total


def _nearby(value: fmpq) -> float:
    return int(value.p) / int(value.q)


def approximate(value: Number) -> float:
    """A floating-point number beside it: for proposals and checks only."""
    return _approximated(value) if isinstance(value, Irrational) else _nearby(value)


@lru_cache(maxsize=4096)
def _approximated(value: Irrational) -> float:
    return sum(_parts(value.top)) / sum(_parts(value.bottom))


def rational(value: Number) -> fmpq:
    """A number that is rational. Raises OutOfReachError where it is not."""
    if isinstance(value, Irrational):
        raise OutOfReachError(f"the irrational number {value} where a rational one is needed")
    return value


@lru_cache(maxsize=1024)
def logarithm(value: fmpq, base: fmpq) -> Number:
    """log_base(value) for positive rationals, base other than 1. Raises OutOfReachError for other primes."""
    return _log2(value) / _log2(base)


def _log2(value: fmpq) -> Number:
    total: Number = ZERO
    for part, direction in ((value.p, 1), (value.q, -1)):
        if part.bit_length() > 96:
            raise OutOfReachError(f"the constant {part} is too large to be factored")
        for prime, power in primes(part):
            total = total + _log2_of_prime(prime) * fmpq(direction * power)
    return total


@cache
def _log2_of_prime(prime: int) -> Number:
    if prime == 2:
        return ONE
    if prime not in PRIMES:
        raise OutOfReachError(f"the logarithm of {prime}: primes above {PRIMES[-1]} are not covered")
    return Irrational(_POLYNOMIALS.gens()[PRIMES.index(prime)], _UNIT)


def number_of(value: Constant) -> Number | None:
    """A constant made of logarithms of primes; None for others."""
    total: Number = value.rational
    for basis, coefficient in value.terms.items():
        part: Number = coefficient
        for unit, power in basis:
            if not isinstance(unit.of, int) or unit.kind != "log2":
                return None
            for _ in range(abs(power)):
                each = _log2_of_prime(unit.of)
                part = part * each if power > 0 else part / each
        total = total + part
    return total


Vector: TypeAlias = tuple[Number, ...]
MAX_RAYS = 400


def dot(a: Vector, b: Vector) -> Number:
    """The value of a form at a point."""
    total: Number = ZERO
    for x, y in zip(a, b, strict=True):
        if x and y:
            total = total + x * y
    return total


def plus(a: Vector, b: Vector, factor: Number = ONE) -> Vector:
    """The form a + factor*b."""
    return tuple(x + factor * y for x, y in zip(a, b, strict=True))


def unit(index: int, count: int) -> Vector:
    """The form that is one of `count` coordinates."""
    return tuple(fmpq(i == index) for i in range(count))


def rank(vectors: Sequence[Vector]) -> int:
    """The dimension of what vectors span."""
    return len(reduced(vectors))


def reduced(vectors: Sequence[Vector]) -> list[Vector]:
    """The reduced echelon form, without zero rows."""
    rows, done = list(vectors), 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(done, len(rows)) if sign(rows[i][column])), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done][column]
        rows[done] = tuple(x / lead for x in rows[done])
        rows = [row if i == done else plus(row, rows[done], -row[column]) for i, row in enumerate(rows)]
        done += 1
    return rows[:done]


@record
class Cone:
    """The nonnegative combinations of `rays`, those where every form of `rows` is nonnegative.

    `edges` holds for each ray the numbers of the rows that are zero on it.
    """

    rays: tuple[Vector, ...]
    edges: tuple[frozenset[int], ...]
    rows: tuple[Vector, ...]

    def signs(self, form: Vector) -> tuple[int, ...]:
        """The form's sign on each ray."""
        return tuple(sign(dot(form, ray)) for ray in self.rays)

    def sign(self, form: Vector) -> int | None:
        """0 where the form is zero on the whole cone, 1 or -1 where it has one sign, None where it has both."""
        found = set(self.signs(form)) - {0}
        if len(found) > 1:
            return None
        return next(iter(found), 0)

    def cut(self, form: Vector) -> Cone:
        """The part where the form is nonnegative."""
        values = [dot(form, ray) for ray in self.rays]
        signs = [sign(value) for value in values]
        if -1 not in signs:
            return self
        number = len(self.rows)
        kept = [
            (ray, edge | {number} if s == 0 else edge)
            for ray, edge, s in zip(self.rays, self.edges, signs, strict=True)
            if s >= 0
        ]
        for i, s in enumerate(signs):
            for j, t in enumerate(signs):
                if s > 0 > t and self._adjacent(i, j):
                    ray = _scaled(plus(tuple(values[i] * y for y in self.rays[j]), self.rays[i], -values[j]))
                    kept.append((ray, (self.edges[i] & self.edges[j]) | {number}))
        if len(kept) > MAX_RAYS:
            raise OutOfReachError("the sizes' regions have too many corners")
        return Cone(tuple(ray for ray, _ in kept), tuple(edge for _, edge in kept), (*self.rows, form))

    def face(self, form: Vector) -> Cone:
        """The part where the form is zero."""
        return self.cut(form).cut(tuple(-x for x in form))

    def facets(self) -> list[Vector]:
        """The rows that are not implied by the others."""
        dimension = rank(self.rays)
        return [
            row
            for number, row in enumerate(self.rows)
            if rank([ray for ray, edge in zip(self.rays, self.edges, strict=True) if number in edge]) == dimension - 1
        ]

    def _adjacent(self, i: int, j: int) -> bool:
        """Whether two rays span a face: no third ray lies on all the edges they share."""
        common = self.edges[i] & self.edges[j]
        return not any(common <= edge for k, edge in enumerate(self.edges) if k not in (i, j))

    def inner(self) -> Vector:
        """A point of the relative interior."""
        total, *others = self.rays
        for ray in others:
            total = plus(total, ray)
        return total


def orthant(count: int) -> Cone:
    """All points with nonnegative coordinates."""
    axes = tuple(unit(i, count) for i in range(count))
    return Cone(axes, tuple(frozenset(j for j in range(count) if j != i) for i in range(count)), axes)


def _scaled(ray: Vector) -> Vector:
    """The same ray in small whole numbers, where it is rational."""
    return ray if any(isinstance(x, Irrational) for x in ray) else whole(ray)


def whole(vector: Vector) -> Vector:
    """The positive multiple of a vector in small whole numbers; where there is none, its first part is 1 or -1."""
    if any(isinstance(x, Irrational) for x in vector):
        first = next(x for x in vector if x)
        vector = tuple(x / (first if sign(first) > 0 else -first) for x in vector)
    if any(isinstance(x, Irrational) for x in vector):
        return vector
    parts = [rational(x) for x in vector]
    divisor = reduce(fmpq.gcd, parts, ZERO)
    return tuple(x / divisor for x in parts) if divisor else tuple(parts)
