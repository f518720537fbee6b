"""Represent polyhedral cones by their extreme rays, cut by half-spaces (double description), with exact numbers.

A point has the logarithms of the sizes and symbols at the root as coordinates, and a cone is a region of points. A
linear form is a vector.

Numbers are rational, as they nearly always are, or else real constants in a canonical form. Enclosures prove a number
to be positive or negative, or its sign is undecided: no logarithms are assumed to be independent.

Expressions are sums of terms: a term is a product of powers of names and of powers of logarithms of such products.

Constant factors are omitted, a sum replaces a max, and log2(w) stands for log2(2 + w): each of these changes an
expression by a constant factor at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import product
from typing import TypeAlias, Union

from archline.algebra.reals import Constant, OutOfReachError
from archline.expr.text import format_expression
from archline.growth.normal_form import evaluate_constant as read_constant
from archline.growth.normal_form import expand, format_sum
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.terms import compute_exact_logarithm

Number: TypeAlias = Union[fmpq, "Irrational"]
ZERO, ONE = fmpq(0), fmpq(1)


class Irrational:
    """A real constant that is not known to be rational."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: Constant) -> None:
        self.value = value
        self._hash = hash(value)

    def __add__(self, other: Number) -> Number:
        return convert_to_number(self.value + as_constant(other))

    def __mul__(self, other: Number) -> Number:
        return convert_to_number(self.value * as_constant(other))

    def __truediv__(self, other: Number) -> Number:
        return convert_to_number(self.value / as_constant(other))

    def __rtruediv__(self, other: fmpq) -> Number:
        return convert_to_number(as_constant(other) / self.value)

    def __neg__(self) -> Number:
        return Irrational(-self.value)

    def __sub__(self, other: Number) -> Number:
        return convert_to_number(self.value - as_constant(other))

    def __rsub__(self, other: fmpq) -> Number:
        return convert_to_number(as_constant(other) - self.value)

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Irrational) and self.value == other.value

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        return str(self.value)

    __repr__ = __str__


def convert_to_number(value: Constant) -> Number:
    """Convert a constant to a rational number, or to an Irrational if it is not known to be rational."""
    return value.rational if value.is_rational else Irrational(value)


def as_constant(value: Number) -> Constant:
    """Convert a number to a constant."""
    return value.value if isinstance(value, Irrational) else Constant.of(value)


def prove_sign(value: Number) -> int:
    """Return the sign of a number: -1, 0 or 1. Raises OutOfReachError if enclosures do not decide it."""
    return _prove_irrational_sign(value) if isinstance(value, Irrational) else (value > 0) - (value < 0)


@lru_cache(maxsize=4096)
def _prove_irrational_sign(value: Irrational) -> int:
    return value.value.sign()


def approximate(value: Number) -> float:
    """Return a floating-point number near a number, for proposals and checks only."""
    return _approximate_irrational(value) if isinstance(value, Irrational) else int(value.p) / int(value.q)


@lru_cache(maxsize=4096)
def _approximate_irrational(value: Irrational) -> float:
    return float(value.value.enclosure().mid())


def require_rational(value: Number) -> fmpq:
    """Return the number if it is rational. Raises OutOfReachError otherwise."""
    if isinstance(value, Irrational):
        raise OutOfReachError(f"the number {value} must be rational")
    return value


@lru_cache(maxsize=1024)
def compute_logarithm(value: fmpq, base: fmpq) -> Number:
    """Return log_base(value) for positive rationals, base other than 1. Raises OutOfReachError for long numbers."""
    return convert_to_number(compute_exact_logarithm(value, base))


Vector: TypeAlias = tuple[Number, ...]
MAX_RAYS = 400


def inner_product(a: Vector, b: Vector) -> Number:
    """Return the value of a form at a point."""
    total: Number = ZERO
    for x, y in zip(a, b, strict=True):
        if x and y:
            total = total + x * y
    return total


def add_scaled(a: Vector, b: Vector, factor: Number = ONE) -> Vector:
    """Return the form a + factor*b."""
    return tuple(x + factor * y for x, y in zip(a, b, strict=True))


def make_unit_vector(index: int, count: int) -> Vector:
    """Return the vector of `count` zeros except for a 1 at `index`."""
    return tuple(fmpq(i == index) for i in range(count))


def compute_rank(vectors: Sequence[Vector]) -> int:
    """Return the dimension of the span of vectors."""
    return len(row_echelon_form(vectors))


def row_echelon_form(vectors: Sequence[Vector]) -> list[Vector]:
    """Return the reduced echelon form, without zero rows."""
    rows, rank = list(vectors), 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if prove_sign(rows[i][column])), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        lead = rows[rank][column]
        rows[rank] = tuple(x / lead for x in rows[rank])
        rows = [row if i == rank else add_scaled(row, rows[rank], -row[column]) for i, row in enumerate(rows)]
        rank += 1
    return rows[:rank]


@record
class RayCone:
    """The nonnegative combinations of `rays`, which are the points where every form of `rows` is nonnegative.

    `edges` has for each ray the indices of the rows that are zero on it.
    """

    rays: tuple[Vector, ...]
    edges: tuple[frozenset[int], ...]
    rows: tuple[Vector, ...]

    def ray_signs(self, form: Vector) -> tuple[int, ...]:
        """Return the form's sign on each ray."""
        return tuple(prove_sign(inner_product(form, ray)) for ray in self.rays)

    def compute_sign(self, form: Vector) -> int | None:
        """Return 0 if the form is 0 on the whole cone, 1 if it is >= 0, -1 if <= 0, None if it has both signs."""
        signs = set(self.ray_signs(form)) - {0}
        if len(signs) > 1:
            return None
        return next(iter(signs), 0)

    def cut(self, form: Vector) -> RayCone:
        """Return the part where the form is nonnegative. Raises OutOfReachError if it has too many rays."""
        values = [inner_product(form, ray) for ray in self.rays]
        signs = [prove_sign(value) for value in values]
        if -1 not in signs:
            return self
        number = len(self.rows)
        rays = [
            (ray, edge | {number} if side == 0 else edge)
            for ray, edge, side in zip(self.rays, self.edges, signs, strict=True)
            if side >= 0
        ]
        for i, side in enumerate(signs):
            for j, other_side in enumerate(signs):
                if side > 0 > other_side and self._is_adjacent(i, j):
                    ray = _simplify_ray(
                        add_scaled(tuple(values[i] * y for y in self.rays[j]), self.rays[i], -values[j])
                    )
                    rays.append((ray, (self.edges[i] & self.edges[j]) | {number}))
        if len(rays) > MAX_RAYS:
            raise OutOfReachError("the sizes' regions have too many corners")
        return RayCone(tuple(ray for ray, _ in rays), tuple(edge for _, edge in rays), (*self.rows, form))

    def compute_face(self, form: Vector) -> RayCone:
        """Return the part where the form is zero."""
        return self.cut(form).cut(tuple(-x for x in form))

    def find_facets(self) -> list[Vector]:
        """Return the rows that define facets of the cone, which no other rows imply."""
        dimension = compute_rank(self.rays)
        return [
            row
            for number, row in enumerate(self.rows)
            if compute_rank([ray for ray, edge in zip(self.rays, self.edges, strict=True) if number in edge])
            == dimension - 1
        ]

    def _is_adjacent(self, i: int, j: int) -> bool:
        """Test whether two rays span a face: no third ray is zero on all rows that are zero on both."""
        common = self.edges[i] & self.edges[j]
        return not any(common <= edge for k, edge in enumerate(self.edges) if k not in (i, j))

    def interior_point(self) -> Vector:
        """Return a point of the relative interior."""
        total, *rest = self.rays
        for ray in rest:
            total = add_scaled(total, ray)
        return total


def make_orthant(count: int) -> RayCone:
    """Return the cone of all points with nonnegative coordinates."""
    axes = tuple(make_unit_vector(i, count) for i in range(count))
    return RayCone(axes, tuple(frozenset(j for j in range(count) if j != i) for i in range(count)), axes)


def _simplify_ray(ray: Vector) -> Vector:
    """Scale a rational ray to coprime integers."""
    return ray if any(isinstance(x, Irrational) for x in ray) else to_integer_vector(ray)


def to_integer_vector(vector: Vector) -> Vector:
    """Return the positive multiple of a vector in coprime integers; if irrational, with 1 or -1 as first part."""
    if any(isinstance(x, Irrational) for x in vector):
        first = next(x for x in vector if x)
        vector = tuple(x / (first if prove_sign(first) > 0 else -first) for x in vector)
    if any(isinstance(x, Irrational) for x in vector):
        return vector
    parts = [require_rational(x) for x in vector]
    divisor = reduce(fmpq.gcd, parts, ZERO)
    return tuple(x / divisor for x in parts) if divisor else tuple(parts)


Logs: TypeAlias = tuple[tuple[Vector, fmpq], ...]
MAX_TERMS = 200


@record
class LogMonomial:
    """A term: exp(powers . y) times the product of log2(2 + exp(form . y))^power, with y the names' logarithms."""

    powers: Vector
    logs: Logs = ()

    def multiply(self, other: LogMonomial) -> LogMonomial:
        """Return the product of two terms."""
        return LogMonomial(add_scaled(self.powers, other.powers), _merge_logs(self.logs + other.logs))

    def raise_to(self, power: Number) -> LogMonomial:
        """Return a power of the term. Raises OutOfReachError if it has logarithms and the exponent is irrational."""
        if self.logs and isinstance(power, Irrational):
            raise OutOfReachError("a logarithm to an irrational power")
        logs = tuple((form, n * power) for form, n in self.logs)
        return LogMonomial(tuple(power * x for x in self.powers), _merge_logs(logs))  # type: ignore[arg-type]

    def normalize(self) -> LogMonomial:
        """Return a term of the same growth whose logarithms have coprime integer powers, log2(w) for log2(w^k)."""
        return LogMonomial(
            self.powers, _merge_logs(tuple((to_integer_vector(form), power) for form, power in self.logs))
        )

    def express_in_root_sizes(self, state: tuple[Vector, ...]) -> LogMonomial:
        """Return the term in the root's sizes; `state` has the current sizes' logarithms as forms in the root's."""
        return LogMonomial(
            substitute_state(self.powers, state),
            _merge_logs(tuple((substitute_state(form, state), n) for form, n in self.logs)),
        )


def make_logarithm_term(form: Vector, power: fmpq) -> LogMonomial:
    """Return the term log2(2 + exp(form . y))^power."""
    return LogMonomial((ZERO,) * len(form), _merge_logs(((to_integer_vector(form), power),)))


def substitute_state(form: Vector, state: tuple[Vector, ...]) -> Vector:
    """Convert a linear form in the current sizes' logarithms to one in the root's, in which `state` expresses them."""
    total: Vector = (ZERO,) * len(state[0])
    for factor, logarithm in zip(form, state, strict=True):
        if factor:
            total = add_scaled(total, logarithm, factor)
    return total


def _merge_logs(logs: Logs) -> Logs:
    powers: dict[Vector, fmpq] = {}
    for form, power in logs:
        if any(form):
            powers[form] = powers.get(form, ZERO) + power
    return tuple(sorted(((form, n) for form, n in powers.items() if n), key=str))


@record
class LogNames:
    """The names of a recurrence in order: the function's parameters, `parameters` in number, then the symbols."""

    all: tuple[str, ...]
    parameters: int

    def read_terms(self, expr: s.Expr) -> tuple[LogMonomial, ...]:
        """Convert an expression to a sum of terms. Raises OutOfReachError."""
        result: list[LogMonomial] = []
        for factors, coefficient in expand(expr).items():
            if coefficient.sign() < 0:
                raise OutOfReachError(f"{format_sum({factors: -coefficient})} is subtracted")
            terms: tuple[LogMonomial, ...] = (self.unit_term,)
            for factor, exponent in factors.powers.items():
                raised = self.read_power(factor.expr, convert_to_number(exponent))
                terms = _limit_terms(tuple(a.multiply(b) for a, b in product(terms, raised)))
            result += terms
        return _limit_terms(tuple(result))

    @property
    def unit_term(self) -> LogMonomial:
        """The term 1: all its exponents are 0."""
        return LogMonomial((ZERO,) * len(self.all))

    def read_power(self, base: s.Expr, exponent: Number) -> tuple[LogMonomial, ...]:
        """Convert base^exponent to a sum of terms; the base is not a product of powers. Raises OutOfReachError."""
        match base:
            case s.Name(id=name) if name in self.all:
                terms: tuple[LogMonomial, ...] = (LogMonomial(tuple(fmpq(name == label) for label in self.all)),)
            case s.Binary(op="+" | "-" | "*" | "/"):
                terms = self.read_terms(base)
            case s.Call(function="log2" | "log", arguments=(argument,)):
                terms = self._read_logarithm(argument)
            case s.Call(function="max", arguments=arguments):
                terms = _limit_terms(tuple(term for operand in arguments for term in self.read_terms(operand)))
            case s.Binary(op="^", right=varying):
                raise OutOfReachError(f"the exponent {format_expression(varying)} is not a constant")
            case _:
                raise OutOfReachError(f"{format_expression(base)} is not a sum of products of powers and logarithms")
        if prove_sign(exponent) < 0 and len(terms) != 1:
            raise OutOfReachError(f"a division by the sum {format_expression(base)}")
        return tuple(term.raise_to(exponent) for term in terms)

    def _read_logarithm(self, argument: s.Expr) -> tuple[LogMonomial, ...]:
        terms = self.read_terms(argument)
        if any(term.logs for term in terms):
            raise OutOfReachError(f"the logarithm of a logarithm in log2({format_expression(argument)})")
        logs = {
            LogMonomial(self.unit_term.powers, ((term.powers, ONE),)) if any(term.powers) else self.unit_term
            for term in terms
        }
        if len(logs) > 1:
            logs.discard(self.unit_term)
        return tuple(sorted(logs, key=str))


def _limit_terms(terms: tuple[LogMonomial, ...]) -> tuple[LogMonomial, ...]:
    if len(terms) > MAX_TERMS:
        raise OutOfReachError("an expression has too many terms")
    return tuple(dict.fromkeys(terms))


def evaluate_constant(expr: s.Expr) -> Number:
    """Return the value of an expression without names. Raises OutOfReachError if it has names."""
    value = read_constant(expr)
    if value is None:
        raise OutOfReachError(f"{format_expression(expr)} is not a constant")
    return convert_to_number(value)
