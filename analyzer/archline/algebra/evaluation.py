"""Exact evaluation of an expression at a point."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor, isqrt

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol

MAX_BITS = 4_000_000


class EvaluationError(Exception):
    """The expression has no exact value at the point: an unknown size, a logarithm that is not rational, a value too
    large to write down."""


def evaluate(value: Poly, point: Mapping[str, int | Fraction]) -> Fraction:
    """The exact value with every symbol given; raises EvaluationError."""
    cache: dict[Atom, Fraction] = {}
    result = Fraction(0)
    for monomial, coefficient in value.terms.items():
        result += _fraction(coefficient) * _product(monomial, cache, point)
    return result


def _product(monomial: Monomial, cache: dict[Atom, Fraction], point: Mapping[str, int | Fraction]) -> Fraction:
    """The product of the factors. A factor that is 0 (a guard that fails) rules out one without a value."""
    product = Fraction(1)
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


def _fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _power(base: Fraction, exponent: int) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if abs(base) != 1 and bits * abs(exponent) > MAX_BITS:
        raise EvaluationError("the value has more than a million digits")
    if exponent < 0 and not base:
        raise EvaluationError("a division by 0")
    return base**exponent


def _atom(atom: Atom, point: Mapping[str, int | Fraction]) -> Fraction:
    match atom:
        case Symbol():
            if atom.name not in point:
                raise EvaluationError(f"`{atom.name}` has no value")
            return Fraction(point[atom.name])
        case a.PositivePart():
            return max(Fraction(0), evaluate(atom.argument, point))
        case a.Floor() | a.Quotient():
            top, bottom = (evaluate(part, point) for part in atom.parts)
            if not bottom:
                raise EvaluationError("a division by 0")
            return Fraction(floor(top / bottom)) if isinstance(atom, a.Floor) else top / bottom
        case a.CeilLog2():
            number = evaluate(atom.argument, point)
            return Fraction((-(-number.numerator // number.denominator) - 1).bit_length() if number > 1 else 0)
        case a.Exponential():
            exponent = evaluate(atom.exponent, point)
            if exponent.denominator != 1:
                raise EvaluationError("a power with a fraction as exponent")
            return _power(Fraction(atom.base), int(exponent))
        case a.Function():
            return _function(atom.function, evaluate(atom.argument, point))
    raise EvaluationError(f"`{atom.key}` depends on the data")


def _function(name: str, argument: Fraction) -> Fraction:
    if argument.denominator == 1:
        number = argument.numerator
        if name == "log2" and number > 0 and number & (number - 1) == 0:
            return Fraction(number.bit_length() - 1)
        if name == "isqrt":
            return Fraction(isqrt(number) if number >= 0 else -1)
        if name == "sqrt" and number >= 0 and isqrt(number) ** 2 == number:
            return Fraction(isqrt(number))
    raise EvaluationError(f"{name}({argument}) is not rational")
