"""Compute with exact constants: quotients of polynomials in logarithms of primes and roots, with rational coefficients.

Two constants are equal if their difference cancels formally; enclosures decide signs. If neither decides a question,
RejectedError is raised, so that a wrong answer is impossible.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cache, reduce
from typing import TypeAlias

from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.numbers import arb, ctx, fmpz
from archline.records import record


class RejectedError(Exception):
    """Raised for a `reason` to reject a certificate at `place`, the path of entries in the data, outermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place: list[str] = []


def require(condition: bool, reason: str) -> None:
    """Raise RejectedError with a reason unless the condition holds."""
    if not condition:
        raise RejectedError(reason)


@contextmanager
def track_place(*place: str | int) -> Iterator[None]:
    """Prepend entries of a certificate to the place of a RejectedError that is raised inside the `with` block."""
    try:
        yield
    except RejectedError as problem:
        problem.place[:0] = [f"[{entry}]" if isinstance(entry, int) else f".{entry}" for entry in place]
        raise


# A generator is ("log2", p) for log2(p), ("exp", 1), ("root", p, q) for p^(1/q), or ("^", base, exponent).
Generator: TypeAlias = "tuple[str, int | Number] | tuple[str, int, int] | tuple[str, Number, Number]"
Powers: TypeAlias = tuple[tuple[Generator, int], ...]
Terms: TypeAlias = tuple[tuple[Powers, Fraction], ...]
_PRECISIONS = (64, 256, 1024, 4096)
_MAX_BITS, _MAX_TERMS, _MAX_ROOT = 20_000, 400, 1000
_ONE: Terms = (((), Fraction(1)),)


@record
class Number:
    """An exact real number, a quotient of two polynomials; `make_rational` and `evaluate_constant` make numbers."""

    above: Terms
    below: Terms = _ONE

    def __add__(self, other: Number) -> Number:
        if self.below == other.below:
            return _make_quotient(_add_polynomials(self.above, other.above), self.below)
        above = _add_polynomials(
            _multiply_polynomials(self.above, other.below), _multiply_polynomials(other.above, self.below)
        )
        return _make_quotient(above, _multiply_polynomials(self.below, other.below))

    def __neg__(self) -> Number:
        return self * make_rational(-1)

    def __sub__(self, other: Number) -> Number:
        return self + -other

    def __mul__(self, other: Number) -> Number:
        return _make_quotient(
            _multiply_polynomials(self.above, other.above), _multiply_polynomials(self.below, other.below)
        )

    def __truediv__(self, other: Number) -> Number:
        if other.sign == 0:
            raise RejectedError("a division by zero")
        return self * _make_quotient(other.below, other.above)

    @property
    def is_zero(self) -> bool:
        """Whether the number cancels formally, so that it is certainly 0; other numbers may be 0 too."""
        return not self.above

    @property
    def sign(self) -> int:
        """The sign -1, 0 or 1. Raises RejectedError if it is undecided."""
        if self.is_zero:
            return 0
        for precision in _PRECISIONS:
            value = self.enclose(precision)
            if value > 0 or value < 0:
                return 1 if value > 0 else -1
        raise RejectedError("the sign of a constant is not decided")

    def __le__(self, other: Number) -> bool:
        return (other - self).sign >= 0

    def __lt__(self, other: Number) -> bool:
        return (other - self).sign > 0

    @property
    def fraction(self) -> Fraction | None:
        """The value if the form of the number is rational, else None."""
        if self.is_zero:
            return Fraction(0)
        return self.above[0][1] if self.below == _ONE and len(self.above) == 1 and not self.above[0][0] else None

    def __str__(self) -> str:
        value = self.fraction
        return f"{float(self.enclose(64).mid()):.6g}" if value is None else str(value)

    def enclose(self, precision: int) -> arb:
        """Return an interval that contains the number."""
        with ctx.workprec(precision):
            return _enclose_terms(self.above) / _enclose_terms(self.below)


def make_rational(value: Fraction | int) -> Number:
    """Convert a rational number to a Number."""
    return Number((((), Fraction(value)),)) if value else Number(())


def evaluate_constant(expr: s.Expr) -> Number:
    """Return the value of an expression without names; log2(x) is not log2(2 + x) here. Raises RejectedError."""
    match expr:
        case s.Integer(value=value) if value.bit_length() <= _MAX_BITS:
            return make_rational(value)
        case s.Real(text=text) if len(text) < 500 and abs(int(text.lower().partition("e")[2] or 0)) < 500:
            return make_rational(Fraction(text))
        case s.Unary(op="-", operand=operand):
            return -evaluate_constant(operand)
        case s.Binary(op="+" | "-" | "*" | "/" | "^" as op, left=left, right=right):
            return _BINARY_OPERATIONS[op](evaluate_constant(left), evaluate_constant(right))
        case s.Call(function="sqrt", arguments=(inner,)):
            return raise_to_power(evaluate_constant(inner), make_rational(Fraction(1, 2)))
        case s.Call(function="exp", arguments=(s.Integer(value=1),)):
            return _make_generator_power(("exp", 1))
        case s.Call(function="exp", arguments=(inner,)):
            return raise_to_power(_make_generator_power(("exp", 1)), evaluate_constant(inner))
        case s.Call(function="log2", arguments=(inner,)):
            return log2(evaluate_constant(inner))
        case s.Binary(op="//" | "%" as op, left=left, right=right):
            above, below = evaluate_constant(left), evaluate_constant(right)
            whole = floor(above / below)
            return whole if op == "//" else above - below * whole
        case s.Call(function="floor" | "ceil" | "abs" | "min" | "max" as function, arguments=arguments) if arguments:
            return _apply_function(function, [evaluate_constant(argument) for argument in arguments])
        case _:
            raise RejectedError(f"`{format_expression(expr)}` is not a constant that can be checked")


@cache
def read_constant(text: str) -> Number:
    """Parse a constant of a certificate. Raises RejectedError."""
    return evaluate_constant(parse_expression(text))


def log2(value: Number) -> Number:
    """Return the binary logarithm of a positive number. Raises RejectedError."""
    if value.sign <= 0:
        raise RejectedError("a logarithm of a constant that is not positive")
    fraction = value.fraction
    if fraction is None:
        return _add_logarithms_of_roots(value) or _make_generator_power(("log2", value))
    total: dict[Powers, Fraction] = {}
    for part, sign in ((fraction.numerator, 1), (fraction.denominator, -1)):
        for prime, times in _factor_integer(part):
            powers: Powers = () if prime == 2 else ((("log2", prime), 1),)
            total[powers] = total.get(powers, Fraction(0)) + sign * times
    return Number(_sort_terms(total))


def _add_logarithms_of_roots(value: Number) -> Number | None:
    """Return the logarithm of a rational times roots of primes; None for another constant."""
    if value.below != _ONE or len(value.above) != 1:
        return None
    ((powers, by),) = value.above
    total = log2(make_rational(by))
    for generator, times in powers:
        match generator:
            case ("root", int(prime), int(degree)):
                total += log2(make_rational(prime)) * make_rational(Fraction(times, degree))
            case _:
                return None
    return total


def floor(value: Number) -> Number:
    """Return the largest integer that is at most the value. Raises RejectedError if it is undecided."""
    fraction = value.fraction
    if fraction is not None:
        return make_rational(math.floor(fraction))
    whole = value.enclose(_PRECISIONS[-1]).floor().unique_fmpz()
    if whole is None:
        raise RejectedError("the rounding of a constant is not decided")
    return make_rational(int(whole))


def _apply_function(function: str, values: list[Number]) -> Number:
    match function:
        case "floor":
            return floor(values[0])
        case "ceil":
            return -floor(-values[0])
        case "abs":
            return values[0] if values[0].sign >= 0 else -values[0]
        case "min":
            return reduce(lambda a, b: a if a <= b else b, values)
        case _:
            return reduce(lambda a, b: b if a <= b else a, values)


def raise_to_power(base: Number, exponent: Number) -> Number:
    """Return a power. Raises RejectedError for a root or an irrational power of a number that is not positive."""
    by = exponent.fraction
    if by is not None and by.denominator == 1:
        return _raise_to_integer(base, by.numerator)
    if base == make_rational(1) or (base.is_zero and exponent.sign > 0):
        return base
    if base.sign <= 0:
        raise RejectedError("a root of a constant that is not positive")
    value = base.fraction
    if by is None or value is None or by.denominator > _MAX_ROOT:
        return _exponentiate_logarithms(log2(base) * exponent) or _make_generator_power(("^", base, exponent))
    result = make_rational(1)
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        for prime, times in _factor_integer(part):
            whole = times * sign * by
            floor = whole.numerator // whole.denominator
            result *= _raise_to_integer(make_rational(prime), floor)
            if whole != floor:
                rest = (whole - floor) * whole.denominator
                result *= _make_generator_power(("root", prime, whole.denominator), rest.numerator)
    return result


def _exponentiate_logarithms(value: Number) -> Number | None:
    """Return 2^value as a product of powers if the value is linear in logarithms of integers, else None."""
    result = make_rational(1)
    if value.below != _ONE:
        return None
    for powers, by in value.above:
        match powers:
            case ():
                result *= raise_to_power(make_rational(2), make_rational(by))
            case ((("log2", int(prime)), 1),):
                result *= raise_to_power(make_rational(prime), make_rational(by))
            case _:
                return None
    return result


def _raise_to_integer(base: Number, exponent: int) -> Number:
    value = base.fraction
    bits = 1 if value is None else max(value.numerator.bit_length(), value.denominator.bit_length())
    if abs(exponent) * bits > _MAX_BITS or (value is None and abs(exponent) > 64):
        if value in (0, 1):
            return base
        raise RejectedError("a power of a constant is too large")
    if exponent < 0:
        return make_rational(1) / _raise_to_integer(base, -exponent)
    result = make_rational(1)
    for _ in range(0 if value is not None else exponent):
        result *= base
    return result if value is None else make_rational(value**exponent)


_BINARY_OPERATIONS: dict[str, Callable[[Number, Number], Number]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "^": raise_to_power,
}


def _make_generator_power(generator: Generator, times: int = 1) -> Number:
    return Number(((((generator, times),), Fraction(1)),))


def _factor_integer(value: int) -> list[tuple[int, int]]:
    """Return factors of an integer with exponents: small primes and a rest that may be composite, which is sound."""
    factors = [(int(p), int(k)) for p, k in fmpz(value).factor(trial_limit=10_000)] if value > 1 else []
    return [(p, k) for p, k in factors if p > 1]


# Polynomials
def _sort_terms(total: dict[Powers, Fraction]) -> Terms:
    sorted_terms = tuple(sorted(((key, value) for key, value in total.items() if value), key=repr))
    if len(sorted_terms) > _MAX_TERMS:
        raise RejectedError("a constant is too long")
    return sorted_terms


def _add_polynomials(a: Terms, b: Terms) -> Terms:
    total = dict(a)
    for powers, value in b:
        total[powers] = total.get(powers, Fraction(0)) + value
    return _sort_terms(total)


def _multiply_polynomials(a: Terms, b: Terms) -> Terms:
    total: dict[Powers, Fraction] = {}
    for left, x in a:
        for right, y in b:
            powers, extra = _multiply_powers(left, right)
            total[powers] = total.get(powers, Fraction(0)) + x * y * extra
    return _sort_terms(total)


def _multiply_powers(left: Powers, right: Powers) -> tuple[Powers, Fraction]:
    """Return the product of powers of generators, and a rational factor for powers of roots such as (p^(1/q))^q."""
    total, extra = dict(left), Fraction(1)
    for generator, times in right:
        total[generator] = total.get(generator, 0) + times
    for generator in total:
        match generator:
            case ("root", int(prime), int(degree)):
                whole, total[generator] = divmod(total[generator], degree)
                extra *= Fraction(prime) ** whole
            case _:
                pass
    return tuple(sorted((pair for pair in total.items() if pair[1]), key=repr)), extra


def _make_quotient(above: Terms, below: Terms) -> Number:
    """Return above/below in a standard form; the inverse of a divisor of one term is multiplied into the numerator."""
    if len(below) == 1:
        ((powers, value),) = below
        inverse = tuple((generator, -times) for generator, times in powers)
        return Number(_multiply_polynomials(_multiply_polynomials(above, ((inverse, 1 / value),)), _ONE))
    if above == below:
        return make_rational(1)
    scale: Terms = (((), 1 / below[0][1]),)
    return Number(_multiply_polynomials(above, scale), _multiply_polynomials(below, scale)) if above else Number(())


def _enclose_terms(terms: Terms) -> arb:
    total = arb(0)
    for powers, value in terms:
        product = arb(value.numerator) / value.denominator
        for generator, times in powers:
            product *= _enclose_generator(generator) ** times
        total += product
    return total


def _enclose_generator(generator: Generator) -> arb:
    match generator:
        case ("log2", int(prime)):
            return arb(prime).log() / arb(2).log()
        case ("log2", Number() as inner):
            return inner.enclose(ctx.prec).log() / arb(2).log()
        case ("exp", int(power)):
            return arb(power).exp()
        case ("root", int(prime), int(degree)):
            return arb(prime) ** (arb(1) / degree)
        case ("^", Number() as base, Number() as exponent):
            return base.enclose(ctx.prec) ** exponent.enclose(ctx.prec)
        case _:
            raise AssertionError("unknown generator")
