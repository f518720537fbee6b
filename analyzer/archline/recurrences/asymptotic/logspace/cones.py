"""Polyhedral cones by their extreme rays, cut by half-spaces (the double description method), with exact numbers.

A point is the logarithms of the sizes and symbols at the root; a cone is a region of them. A linear form is a vector.

Numbers are rational, as they nearly always are, or else real constants in lowest terms, so that equal ones have one
form. One that is not zero is shown to be positive or negative by an enclosure, or its sign stays open: no logarithms
are assumed to be independent.

Expressions as sums of terms: a term is a product of powers of names and of powers of logarithms of such products.

Constant factors are left out, a max is the sum of its arguments, and log2(w) stands for log2(2 + w): all of these are
the same up to a constant factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import product
from typing import TypeAlias, Union

from archline.algebra.reals import Constant, OutOfReachError
from archline.expr.text import format_expression
from archline.growth.normal_form import constant as read_constant
from archline.growth.normal_form import expand, sum_text
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.terms import log_ratio

Number: TypeAlias = Union[fmpq, "Irrational"]
ZERO, ONE = fmpq(0), fmpq(1)


class Irrational:
    """A constant that is not written as a rational."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Constant) -> None:
        self.value = value
        self._hash = hash(value)

    def __add__(self, other: Number) -> Number:
        return number_of(self.value + as_constant(other))

    def __mul__(self, other: Number) -> Number:
        return number_of(self.value * as_constant(other))

    def __truediv__(self, other: Number) -> Number:
        return number_of(self.value / as_constant(other))

    def __rtruediv__(self, other: fmpq) -> Number:
        return number_of(as_constant(other) / self.value)

    def __neg__(self) -> Number:
        return Irrational(-self.value)

    def __sub__(self, other: Number) -> Number:
        return number_of(self.value - as_constant(other))

    def __rsub__(self, other: fmpq) -> Number:
        return number_of(as_constant(other) - self.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Irrational) and self.value == other.value

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return str(self.value)

    __repr__ = __str__


def number_of(value: Constant) -> Number:
    """A constant, as a rational where it is one."""
    return value.rational if value.is_rational else Irrational(value)


def as_constant(value: Number) -> Constant:
    """A number as a constant."""
    return value.value if isinstance(value, Irrational) else Constant.of(value)


def sign(value: Number) -> int:
    """-1, 0 or 1, proved. Raises OutOfReachError where enclosures leave it open."""
    return _sign(value) if isinstance(value, Irrational) else (value > 0) - (value < 0)


@lru_cache(maxsize=4096)
def _sign(value: Irrational) -> int:
    return value.value.sign()


def approximate(value: Number) -> float:
    """A floating-point number near it: for proposals and checks only."""
    return _approximated(value) if isinstance(value, Irrational) else int(value.p) / int(value.q)


@lru_cache(maxsize=4096)
def _approximated(value: Irrational) -> float:
    return float(value.value.enclosure().mid())


def rational(value: Number) -> fmpq:
    """A number that is rational. Raises OutOfReachError where it is not."""
    if isinstance(value, Irrational):
        raise OutOfReachError(f"the irrational number {value} where a rational one is needed")
    return value


@lru_cache(maxsize=1024)
def logarithm(value: fmpq, base: fmpq) -> Number:
    """log_base(value) for positive rationals, base other than 1. Raises OutOfReachError for numbers of many digits."""
    return number_of(log_ratio(value, base))


Vector: TypeAlias = tuple[Number, ...]
MAX_RAYS = 400


def inner_product(a: Vector, b: Vector) -> Number:
    """The value of a form at a point."""
    total: Number = ZERO
    for x, y in zip(a, b, strict=True):
        if x and y:
            total = total + x * y
    return total


def add_scaled(a: Vector, b: Vector, factor: Number = ONE) -> Vector:
    """The form a + factor*b."""
    return tuple(x + factor * y for x, y in zip(a, b, strict=True))


def unit(index: int, count: int) -> Vector:
    """The form that is one of `count` coordinates."""
    return tuple(fmpq(i == index) for i in range(count))


def rank(vectors: Sequence[Vector]) -> int:
    """The dimension of what vectors span."""
    return len(row_echelon_form(vectors))


def row_echelon_form(vectors: Sequence[Vector]) -> list[Vector]:
    """The reduced echelon form, without zero rows."""
    rows, done = list(vectors), 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(done, len(rows)) if sign(rows[i][column])), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        lead = rows[done][column]
        rows[done] = tuple(x / lead for x in rows[done])
        rows = [row if i == done else add_scaled(row, rows[done], -row[column]) for i, row in enumerate(rows)]
        done += 1
    return rows[:done]


@record
class RayCone:
    """The nonnegative combinations of `rays`, those where every form of `rows` is nonnegative.

    `edges` holds for each ray the numbers of the rows that are zero on it.
    """

    rays: tuple[Vector, ...]
    edges: tuple[frozenset[int], ...]
    rows: tuple[Vector, ...]

    def signs(self, form: Vector) -> tuple[int, ...]:
        """The form's sign on each ray."""
        return tuple(sign(inner_product(form, ray)) for ray in self.rays)

    def sign(self, form: Vector) -> int | None:
        """0 where the form is zero on the whole cone, 1 or -1 where it has one sign, None where it has both."""
        found = set(self.signs(form)) - {0}
        if len(found) > 1:
            return None
        return next(iter(found), 0)

    def cut(self, form: Vector) -> RayCone:
        """The part where the form is nonnegative."""
        values = [inner_product(form, ray) for ray in self.rays]
        signs = [sign(value) for value in values]
        if -1 not in signs:
            return self
        number = len(self.rows)
        kept = [
            (ray, edge | {number} if side == 0 else edge)
            for ray, edge, side in zip(self.rays, self.edges, signs, strict=True)
            if side >= 0
        ]
        for i, side in enumerate(signs):
            for j, other in enumerate(signs):
                if side > 0 > other and self._adjacent(i, j):
                    ray = _scaled(add_scaled(tuple(values[i] * y for y in self.rays[j]), self.rays[i], -values[j]))
                    kept.append((ray, (self.edges[i] & self.edges[j]) | {number}))
        if len(kept) > MAX_RAYS:
            raise OutOfReachError("the sizes' regions have too many corners")
        return RayCone(tuple(ray for ray, _ in kept), tuple(edge for _, edge in kept), (*self.rows, form))

    def face(self, form: Vector) -> RayCone:
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
            total = add_scaled(total, ray)
        return total


def orthant(count: int) -> RayCone:
    """All points with nonnegative coordinates."""
    axes = tuple(unit(i, count) for i in range(count))
    return RayCone(axes, tuple(frozenset(j for j in range(count) if j != i) for i in range(count)), axes)


def _scaled(ray: Vector) -> Vector:
    """The same ray in small whole numbers, where it is rational."""
    return ray if any(isinstance(x, Irrational) for x in ray) else to_integer_vector(ray)


def to_integer_vector(vector: Vector) -> Vector:
    """The positive multiple of a vector in small whole numbers; where there is none, its first part is 1 or -1."""
    if any(isinstance(x, Irrational) for x in vector):
        first = next(x for x in vector if x)
        vector = tuple(x / (first if sign(first) > 0 else -first) for x in vector)
    if any(isinstance(x, Irrational) for x in vector):
        return vector
    parts = [rational(x) for x in vector]
    divisor = reduce(fmpq.gcd, parts, ZERO)
    return tuple(x / divisor for x in parts) if divisor else tuple(parts)


Logs: TypeAlias = tuple[tuple[Vector, fmpq], ...]
MAX_TERMS = 200


@record
class LogMonomial:
    """exp(powers . y) times the product of log2(2 + exp(form . y))^power; y holds the names' logarithms."""

    powers: Vector
    logs: Logs = ()

    def times(self, other: LogMonomial) -> LogMonomial:
        """The product."""
        return LogMonomial(add_scaled(self.powers, other.powers), _merged(self.logs + other.logs))

    def to_the(self, power: Number) -> LogMonomial:
        """A power; one with logarithms has a rational exponent."""
        if self.logs and isinstance(power, Irrational):
            raise OutOfReachError("a logarithm to an irrational power")
        logs = tuple((form, each * power) for form, each in self.logs)
        return LogMonomial(tuple(power * x for x in self.powers), _merged(logs))  # type: ignore[arg-type]

    def normal(self) -> LogMonomial:
        """The term with its logarithms of small whole powers: log2(2 + w) and log2(2 + w^k) are within a factor."""
        return LogMonomial(self.powers, _merged(tuple((to_integer_vector(form), power) for form, power in self.logs)))

    def at(self, state: tuple[Vector, ...]) -> LogMonomial:
        """The term where each name has the logarithm that `state` gives, a form in the root's."""
        return LogMonomial(
            at_state(self.powers, state), _merged(tuple((at_state(form, state), n) for form, n in self.logs))
        )


def logs_of(form: Vector, power: fmpq) -> LogMonomial:
    """log2(2 + exp(form . y))^power."""
    return LogMonomial((ZERO,) * len(form), _merged(((to_integer_vector(form), power),)))


def at_state(form: Vector, state: tuple[Vector, ...]) -> Vector:
    """A form in the current sizes as a form in the root's."""
    total: Vector = (ZERO,) * len(state[0])
    for factor, each in zip(form, state, strict=True):
        if factor:
            total = add_scaled(total, each, factor)
    return total


def _merged(logs: Logs) -> Logs:
    powers: dict[Vector, fmpq] = {}
    for form, power in logs:
        if any(form):
            powers[form] = powers.get(form, ZERO) + power
    return tuple(sorted(((form, n) for form, n in powers.items() if n), key=str))


@record
class LogNames:
    """The names in order: the function's parameters, then the symbols."""

    all: tuple[str, ...]
    parameters: int

    def terms(self, expr: s.Expr) -> tuple[LogMonomial, ...]:
        """The expression as a sum of terms. Raises OutOfReachError."""
        found: list[LogMonomial] = []
        for factors, coefficient in expand(expr).items():
            if coefficient.sign() < 0:
                raise OutOfReachError(f"the subtraction of {sum_text({factors: -coefficient})}")
            terms: tuple[LogMonomial, ...] = (self.one,)
            for factor, exponent in factors.powers.items():
                raised = self.raised(factor.expr, number_of(exponent))
                terms = _limited(tuple(a.times(b) for a, b in product(terms, raised)))
            found += terms
        return _limited(tuple(found))

    @property
    def one(self) -> LogMonomial:
        """The constant term."""
        return LogMonomial((ZERO,) * len(self.all))

    def raised(self, base: s.Expr, exponent: Number) -> tuple[LogMonomial, ...]:
        """A power of what is no product of powers itself."""
        match base:
            case s.Name(id=name) if name in self.all:
                found: tuple[LogMonomial, ...] = (LogMonomial(tuple(fmpq(name == each) for each in self.all)),)
            case s.Binary(op="+" | "-" | "*" | "/"):
                found = self.terms(base)
            case s.Call(function="log2" | "log", arguments=(argument,)):
                found = self._logarithm(argument)
            case s.Call(function="max", arguments=arguments):
                found = _limited(tuple(term for each in arguments for term in self.terms(each)))
            case s.Binary(op="^", right=varying):
                raise OutOfReachError(f"the exponent {format_expression(varying)} is not a constant")
            case _:
                raise OutOfReachError(f"{format_expression(base)} is not a sum of products of powers and logarithms")
        if sign(exponent) < 0 and len(found) != 1:
            raise OutOfReachError(f"a division by the sum {format_expression(base)}")
        return tuple(each.to_the(exponent) for each in found)

    def _logarithm(self, argument: s.Expr) -> tuple[LogMonomial, ...]:
        terms = self.terms(argument)
        if any(each.logs for each in terms):
            raise OutOfReachError(f"the logarithm of a logarithm in log2({format_expression(argument)})")
        found = {
            LogMonomial(self.one.powers, ((each.powers, ONE),)) if any(each.powers) else self.one for each in terms
        }
        if len(found) > 1:
            found.discard(self.one)
        return tuple(sorted(found, key=str))


def _limited(terms: tuple[LogMonomial, ...]) -> tuple[LogMonomial, ...]:
    if len(terms) > MAX_TERMS:
        raise OutOfReachError("an expression of too many terms")
    return tuple(dict.fromkeys(terms))


def constant(expr: s.Expr) -> Number:
    """The value of an expression without names. Raises OutOfReachError where it has some."""
    value = read_constant(expr)
    if value is None:
        raise OutOfReachError(f"{format_expression(expr)} is not a plain constant")
    return number_of(value)
