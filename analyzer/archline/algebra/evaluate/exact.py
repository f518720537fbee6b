"""Evaluates an expression at a point, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from math import gcd, isqrt

from archline.algebra import atoms as a
from archline.algebra.polynomial import RATIONAL_ZERO, Atom, Monomial, Number, Poly, Symbol, to_rational
from archline.algebra.reals import ONE_CONSTANT, Constant, OutOfReachError
from archline.expr.intervals import EvaluationError, Point
from archline.expr.sequences import compute_sequence
from archline.numbers import fmpq

MAX_BITS = 4_000_000


Apply = Callable[[str, tuple[fmpq, ...]], fmpq]
"""The value of a function that the expression leaves open, at its arguments."""


class IrrationalValueError(EvaluationError):
    """A logarithm, a root or a power is not rational by itself, though a product of several may be."""


class PointValues:
    """A point at which expressions are evaluated; their common parts are computed once."""

    def __init__(self, point: Mapping[str, Number], apply: Apply | None = None) -> None:
        self._symbols = dict(point)
        self._apply = apply
        self._known: dict[Atom, fmpq] = {}

    def copy(self) -> PointValues:
        """Return an equal point, to which other symbols can be added."""
        twin = PointValues(self._symbols, self._apply)
        twin._known = dict(self._known)
        return twin

    def set_symbol(self, name: str, number: Number) -> None:
        self._symbols[name] = number

    def evaluate_expression(self, value: Poly) -> fmpq:
        """Return the exact value. Raises EvaluationError."""
        result = RATIONAL_ZERO
        for monomial, coefficient in value.terms.items():
            term = coefficient
            for atom, exponent in monomial:
                number = self._known.get(atom)
                if number is None or exponent != 1:
                    term = coefficient * self._multiply_factors(monomial)
                    break
                # Most terms are products of known atoms.
                term *= number
            result += term
        return result

    def _multiply_factors(self, monomial: Monomial) -> fmpq:
        """Return the product of the factors; if one is 0 (a failed guard), it is 0 even if another has no value."""
        product = fmpq(1)
        failure: EvaluationError | None = None
        for atom, exponent in monomial:
            try:
                number = self._known.get(atom)
                if number is None:
                    number = self._known[atom] = self._evaluate_atom(atom)
                product *= number if exponent == 1 else _power_within_limit(number, exponent)
            except EvaluationError as problem:
                failure = failure or problem
        if failure is None or not product:
            return product
        if not isinstance(failure, IrrationalValueError):
            raise failure
        try:
            real = self._real_product(monomial)
        except OutOfReachError:
            raise failure from None
        if not real.is_rational:
            raise failure
        return real.rational

    def _real_product(self, monomial: Monomial) -> Constant:
        """Return a product with irrational factors: 4^(log2(P)/log2(7)) is 16 at P = 49. Raises OutOfReachError.

        Powers of one number are combined: 7^(log2(n))/7^(log2(m)) is 7 at n = 28, m = 14.
        """
        product, exponents = ONE_CONSTANT, dict[int, Constant]()
        for atom, power in monomial:
            match atom:
                case a.Exponential(base=base, exponent=exponent):
                    terms = (self._real_product(term).scaled(factor * power) for term, factor in exponent.terms.items())
                    exponents[base] = sum(terms, exponents.get(base, Constant.of(0)))
                case a.RealFunction(function="log2", argument=argument):
                    product *= Constant(self.evaluate_expression(argument)).log2().power(Constant.of(power))
                case _:
                    product *= Constant(_power_within_limit(self._evaluate_atom(atom), power))
        for base, total in exponents.items():
            if not total.is_rational or total.rational.q != 1:
                raise OutOfReachError("an irrational power")
            product *= Constant(_power_within_limit(fmpq(base), int(total.rational.p)))
        return product

    def _evaluate_atom(self, atom: Atom) -> fmpq:
        match atom:
            case Symbol():
                if atom.name not in self._symbols:
                    raise EvaluationError(f"`{atom.name}` has no value")
                return to_rational(self._symbols[atom.name])
            case a.AppliedFunction() if self._apply is not None:
                return self._apply(atom.function, tuple(map(self.evaluate_expression, atom.arguments)))
            case a.PositivePart():
                return max(fmpq(0), self.evaluate_expression(atom.argument))
            case a.Floor() | a.Quotient():
                top, bottom = map(self.evaluate_expression, atom.parts)
                if not bottom:
                    raise EvaluationError("a division by 0")
                return fmpq((top / bottom).floor()) if isinstance(atom, a.Floor) else top / bottom
            case a.CommonDivisor():
                return fmpq(gcd(*(int(self.evaluate_expression(part).p) for part in atom.parts)))
            case a.CeilLog2():
                number = self.evaluate_expression(atom.argument)
                return fmpq(max(0, int(number.ceil()) - 1).bit_length())
            case a.Exponential():
                exponent = self.evaluate_expression(atom.exponent)
                if exponent.q != 1:
                    raise IrrationalValueError("a power with a fraction as exponent")
                return _power_within_limit(fmpq(atom.base), int(exponent.p))
            case a.Sequence():
                return fmpq(evaluate_sequence(atom.name, map(self.evaluate_expression, atom.parts)))
            case a.RealFunction():
                return evaluate_function(atom.function, self.evaluate_expression(atom.argument))
            case _:
                raise EvaluationError(f"`{atom.key}` depends on the data")


def evaluate(value: Poly, point: Point, apply: Apply | None = None) -> Fraction:
    """Return the exact value with every symbol given; `apply` evaluates open functions. Raises EvaluationError."""
    number = PointValues(point, apply).evaluate_expression(value)
    return Fraction(int(number.p), int(number.q))


def _power_within_limit(base: fmpq, exponent: int) -> fmpq:
    bits = max(int(base.p).bit_length(), int(base.q).bit_length())
    if abs(base) != 1 and bits * abs(exponent) > MAX_BITS:
        raise EvaluationError("the value has more than a million digits")
    if exponent < 0 and not base:
        raise EvaluationError("a division by 0")
    return _power_of_unit(base, exponent) if abs(base) == 1 else base**exponent


def _power_of_unit(base: fmpq, exponent: int) -> fmpq:
    """Return base^exponent for a base 1 or -1, with an exponent that may exceed the limit of python-flint."""
    return base if exponent % 2 else fmpq(1)


def evaluate_sequence(name: str, arguments: Iterable[fmpq]) -> int:
    """Return a term of a sequence of integers. Raises EvaluationError if there is none, or if it is too large."""
    numbers = tuple(arguments)
    whole = all(number.q == 1 for number in numbers)
    value = compute_sequence(name, *(int(number.p) for number in numbers)) if whole else None
    if value is None:
        raise EvaluationError(f"`{name}` of a number that is negative, a fraction or too large")
    return value


def evaluate_function(name: str, argument: fmpq) -> fmpq:
    """Return log2 or sqrt of a number, or isqrt of an integer. Raises IrrationalValueError if it is not rational."""
    top, bottom = int(argument.p), int(argument.q)
    if name == "log2" and top > 0 and top.bit_count() == bottom.bit_count() == 1:
        return fmpq(top.bit_length() - bottom.bit_length())
    if name == "sqrt" and top >= 0 and isqrt(top) ** 2 == top and isqrt(bottom) ** 2 == bottom:
        return fmpq(isqrt(top), isqrt(bottom))
    if name == "isqrt" and bottom == 1:
        return fmpq(isqrt(top) if top >= 0 else -1)
    raise IrrationalValueError(f"{name}({argument}) is not rational")
