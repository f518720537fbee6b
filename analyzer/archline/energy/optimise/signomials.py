"""Formulas as quotients of sums of products of powers: what geometric programs are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil, floor, log2

from archline.energy import rules
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.format_expressions import format_expression
from archline.records import record

Monomial = tuple[tuple[int, float], ...]
"""Powers of variables, by their numbers."""
Sum = Mapping[Monomial, float]
ONE: Sum = {(): 1.0}
MOST_TERMS = 400
SHORT, MOST_SIGNED = 3, 12
"""Powers of sums up to these are multiplied out: of sums of positive terms, and of others, which have to be."""


@record
class Signomial:
    """A quotient of two sums of products of powers; what is below is above 0."""

    top: Sum
    bottom: Sum

    @property
    def constant(self) -> float | None:
        """Its value, where nothing in it varies."""
        if set(self.top) <= {()} and set(self.bottom) == {()}:
            return self.top.get((), 0.0) / self.bottom[()]
        return None


@record
class Auxiliary:
    """A variable of its own for the largest or the smallest of some values; of one value, for that."""

    variable: int
    function: str
    values: tuple[Signomial, ...]


def times(one: Sum, other: Sum) -> Sum:
    """The product of two sums."""
    found: dict[Monomial, float] = {}
    for left, a in one.items():
        for right, b in other.items():
            powers = dict(left)
            for variable, power in right:
                powers[variable] = powers.get(variable, 0.0) + power
            key = tuple(sorted((variable, power) for variable, power in powers.items() if power))
            found[key] = found.get(key, 0.0) + a * b
    return {key: value for key, value in found.items() if value}


def plus(one: Sum, other: Sum, sign: int = 1) -> Sum:
    """The sum, or the difference."""
    found = dict(one)
    for key, value in other.items():
        found[key] = found.get(key, 0.0) + sign * value
    return {key: value for key, value in found.items() if value}


class Reader:
    """A number domain of formulas in which some names vary; others have values."""

    def __init__(self, variables: Mapping[str, int], values: Mapping[str, float]) -> None:
        self._variables, self._values = variables, values
        self.count = len(variables)
        self.definitions: list[Auxiliary] = []

    def number(self, value: Fraction, expr: s.Expr) -> Signomial:
        return _constant(float(value))

    def name(self, name: s.Name) -> Signomial:
        if name.id in self._variables:
            return Signomial({((self._variables[name.id], 1.0),): 1.0}, ONE)
        return _constant(self._values[name.id])

    def negated(self, value: Signomial) -> Signomial:
        return Signomial({key: -each for key, each in value.top.items()}, value.bottom)

    def binary(self, op: str, left: Signomial, right: Signomial, expr: s.Binary) -> Signomial:
        match op:
            case "+" | "-":
                sign = 1 if op == "+" else -1
                if left.bottom == right.bottom:
                    return Signomial(plus(left.top, right.top, sign), left.bottom)
                first, second = times(left.top, right.bottom), times(right.top, left.bottom)
                return _reduced(plus(first, second, sign), times(left.bottom, right.bottom), expr)
            case "*":
                return _reduced(times(left.top, right.top), times(left.bottom, right.bottom), expr)
            case "/":
                if not right.top or min(right.top.values()) < 0:
                    raise _refused(expr, "what is divided by is no sum of positive terms")
                return _reduced(times(left.top, right.bottom), times(left.bottom, right.top), expr)
            case _:
                if right.constant is None:
                    raise _refused(expr, "an exponent varies")
                return self._power(left, right.constant, expr)

    def _power(self, base: Signomial, exponent: float, expr: s.Expr) -> Signomial:
        if base.constant is not None:
            return _constant(base.constant**exponent)
        if not exponent:
            return _constant(1.0)
        if exponent < 0:
            swapped = self.binary("/", _constant(1.0), base, s.Binary("/", expr, expr, span=expr.span))
            return self._power(swapped, -exponent, expr)
        top, bottom = (self._raised(each, exponent, expr) for each in (base.top, base.bottom))
        return _reduced(times(top.top, bottom.bottom), times(top.bottom, bottom.top), expr)

    def _raised(self, base: Sum, exponent: float, expr: s.Expr) -> Signomial:
        if len(base) == 1:
            ((monomial, coefficient),) = base.items()
            if coefficient < 0 and exponent != int(exponent):
                raise _refused(expr, "a negative number has no such power")
            return Signomial(
                {tuple((variable, power * exponent) for variable, power in monomial): coefficient**exponent}, ONE
            )
        signed = min(base.values()) < 0
        if exponent == int(exponent) and exponent <= (MOST_SIGNED if signed else SHORT):
            return Signomial(reduce(times, [base] * int(exponent)), ONE)
        # A variable of its own is above 0, so that of a sum of any sign it would have other powers.
        if signed:
            raise _refused(expr, "the sign of what is raised to a power is not known")
        return self._raised(self._defined("max", [Signomial(base, ONE)]).top, exponent, expr)

    def _defined(self, function: str, values: Sequence[Signomial]) -> Signomial:
        """A variable of its own, which is bounded by the values."""
        self.definitions.append(Auxiliary(self.count, function, tuple(values)))
        self.count += 1
        return Signomial({((self.count - 1, 1.0),): 1.0}, ONE)

    def call(self, function: str, values: Sequence[Signomial], expr: s.Call) -> Signomial:
        constants = [each.constant for each in values]
        known = [each for each in constants if each is not None]
        if len(known) == len(values):
            if function in ("max", "min"):
                return _constant(max(known) if function == "max" else min(known))
            return _constant(_FUNCTIONS[function](known[0]))
        match function:
            case "sqrt":
                return self._power(values[0], 0.5, expr)
            case "max" | "min":
                # A constant that is 0 is the smallest of all, and no largest one.
                left = [each for each in values if each.top]
                if len(left) < len(values) and function == "min":
                    return _constant(0.0)
                return left[0] if len(left) == 1 else self._defined(function, left)
            case _:
                raise _refused(expr, f"`{function}` of what varies")


_FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "sqrt": lambda value: value**0.5,
    "log2": log2,
    "floor": lambda value: float(floor(value)),
    "ceil": lambda value: float(ceil(value)),
}


def _constant(value: float) -> Signomial:
    return Signomial({(): value} if value else {}, ONE)


def _refused(expr: s.Expr, reason: str) -> Exception:
    message = f"`{format_expression(expr)}` cannot be minimised over real numbers: {reason}"
    hint = "name what varies in --integer, with ranges"
    return error(rules.NOT_SIGNOMIAL, message, span=expr.span, hint=hint)


def _reduced(top: Sum, bottom: Sum, expr: s.Expr) -> Signomial:
    """A quotient, without what is below where that is one product."""
    if len(top) + len(bottom) > MOST_TERMS:
        raise _refused(expr, "it has too many terms")
    if len(bottom) == 1:
        ((monomial, coefficient),) = bottom.items()
        inverse = {tuple((variable, -power) for variable, power in monomial): 1 / coefficient}
        return Signomial(times(top, inverse), ONE)
    return Signomial(top, bottom)


def inequality(left: Signomial, right: Signomial) -> tuple[Sum, Sum]:
    """Both sides of `left <= right` as sums of positive terms."""
    difference = plus(times(left.top, right.bottom), times(right.top, left.bottom), -1)
    return (
        {key: value for key, value in difference.items() if value > 0},
        {key: -value for key, value in difference.items() if value < 0},
    )


def uses(sums: Iterator[tuple[Sum, int]], variable: int) -> set[int]:
    """In which directions sums that are to be small (1) or large (-1) grow with a variable."""
    return {
        side * (1 if power > 0 else -1)
        for each, side in sums
        for monomial in each
        for other, power in monomial
        if other == variable
    }
