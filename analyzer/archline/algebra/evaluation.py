"""Exact evaluation of an expression at a point."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol, rational

MAX_BITS = 4_000_000


class EvaluationError(Exception):
    """The expression has no exact value at the point: an unknown size, a logarithm that is not rational, a value too
    large to write down."""


Apply = Callable[[str, tuple[fmpq, ...]], fmpq]
"""The value of a function that the expression leaves open, at its arguments."""


@dataclass(frozen=True)
class _Point:
    symbols: Mapping[str, fmpq]
    apply: Apply | None


def evaluate(value: Poly, point: Mapping[str, int | Fraction], apply: Apply | None = None) -> Fraction:
    """The exact value with every symbol given; raises EvaluationError. `apply` gives the values of open functions."""
    found = _evaluate(value, _Point({name: rational(given) for name, given in point.items()}, apply))
    return Fraction(int(found.p), int(found.q))


def _evaluate(value: Poly, point: _Point) -> fmpq:
    cache: dict[Atom, fmpq] = {}
    result = fmpq(0)
    for monomial, coefficient in value.terms.items():
        result += coefficient * _product(monomial, cache, point)
    return result


def _product(monomial: Monomial, cache: dict[Atom, fmpq], point: _Point) -> fmpq:
    """The product of the factors. A factor that is 0 (a guard that fails) rules out one without a value."""
    product = fmpq(1)
    failure: EvaluationError | None = None
    for atom, exponent in monomial:
        try:
            if atom not in cache:
                cache[atom] = _atom(atom, point)
            product *= _power(cache[atom], exponent)
        except EvaluationError as problem:
            failure = failure or problem
    if failure is not None and product:
        raise failure
    return product


def _power(base: fmpq, exponent: int) -> fmpq:
    if exponent == 1:
        return base
    bits = max(int(base.p).bit_length(), int(base.q).bit_length())
    if abs(base) != 1 and bits * abs(exponent) > MAX_BITS:
        raise EvaluationError("the value has more than a million digits")
    if exponent < 0 and not base:
        raise EvaluationError("a division by 0")
    return _unit_power(base, exponent) if abs(base) == 1 else base**exponent


def _unit_power(base: fmpq, exponent: int) -> fmpq:
    """1 or -1 to a power, which may be beyond what the library takes."""
    return base if exponent % 2 else fmpq(1)


def _atom(atom: Atom, point: _Point) -> fmpq:
    match atom:
        case Symbol():
            if atom.name not in point.symbols:
                raise EvaluationError(f"`{atom.name}` has no value")
            return point.symbols[atom.name]
        case a.Applied() if point.apply is not None:
            return point.apply(atom.function, tuple(_evaluate(part, point) for part in atom.arguments))
        case a.PositivePart():
            return max(fmpq(0), _evaluate(atom.argument, point))
        case a.Floor() | a.Quotient():
            top, bottom = (_evaluate(part, point) for part in atom.parts)
            if not bottom:
                raise EvaluationError("a division by 0")
            return fmpq((top / bottom).floor()) if isinstance(atom, a.Floor) else top / bottom
        case a.CeilLog2():
            number = _evaluate(atom.argument, point)
            return fmpq(max(0, int(number.ceil()) - 1).bit_length())
        case a.Exponential():
            exponent = _evaluate(atom.exponent, point)
            if exponent.q != 1:
                raise EvaluationError("a power with a fraction as exponent")
            return _power(fmpq(atom.base), int(exponent.p))
        case a.Function():
            return function_value(atom.function, _evaluate(atom.argument, point))
    raise EvaluationError(f"`{atom.key}` depends on the data")


def function_value(name: str, argument: fmpq) -> fmpq:
    """log2, sqrt or isqrt at a number. Raises EvaluationError where that is not rational."""
    if argument.q == 1:
        number = int(argument.p)
        if name == "log2" and number > 0 and number & (number - 1) == 0:
            return fmpq(number.bit_length() - 1)
        if name == "isqrt":
            return fmpq(isqrt(number) if number >= 0 else -1)
        if name == "sqrt" and number >= 0 and isqrt(number) ** 2 == number:
            return fmpq(isqrt(number))
    raise EvaluationError(f"{name}({argument}) is not rational")
