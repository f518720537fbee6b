"""Formulas as sums of products of powers, of variables and of other such sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil, floor, log2
from typing import Any, TypeVar

from archline.energy import rules
from archline.language import syntax as s
from archline.language.diagnostics import error
from archline.language.format_expressions import format_expression

T = TypeVar("T")
Monomial = tuple[tuple[int, float], ...]
"""Powers of variables, by their numbers."""
Sum = Mapping[Monomial, float]
ONE: Sum = {(): 1.0}
MOST_TERMS = 400
SHORT, MOST_SIGNED = 3, 12
"""Powers of sums up to these are multiplied out: of sums of positive terms, and of others, which have to be."""
Choice = tuple[str, tuple[frozenset[Any], ...]]
"""A max or a min, by its arguments."""


def product_of(left: Monomial, right: Monomial, exponent: float = 1.0) -> Monomial:
    """A product with a power of another one."""
    powers = dict(left)
    for variable, power in right:
        powers[variable] = powers.get(variable, 0.0) + power * exponent
    return tuple(sorted((variable, power) for variable, power in powers.items() if power))


def times(one: Sum, other: Sum) -> Sum:
    """The product of two sums."""
    found: dict[Monomial, float] = {}
    for left, a in one.items():
        for right, b in other.items():
            key = product_of(left, right)
            found[key] = found.get(key, 0.0) + a * b
    return {key: value for key, value in found.items() if value}


def plus(one: Sum, other: Sum, sign: int = 1) -> Sum:
    """The sum, or the difference."""
    found = dict(one)
    for key, value in other.items():
        found[key] = found.get(key, 0.0) + sign * value
    return {key: value for key, value in found.items() if value}


def positive(one: Sum, sign: int = 1) -> Sum:
    """The terms above 0 (or those below, with their sign changed)."""
    return {key: sign * value for key, value in one.items() if sign * value > 0}


def shared(terms: Sum) -> Monomial:
    """The powers that all products of a sum have."""
    every = [dict(each) for each in terms]
    indices = {index for each in every for index in each}
    return tuple((index, min(each.get(index, 0.0) for each in every)) for index in sorted(indices))


def constant(terms: Sum) -> float | None:
    """The value of a sum in which nothing varies."""
    return terms.get((), 0.0) if terms.keys() <= {()} else None


class Reader:
    """A number domain of formulas in which some names vary; others have values.

    `sums` are those that are raised to powers, numbered on from the variables. A max or a min is the argument that
    `chosen` says; where it says nothing, `undecided` is that call and how many arguments it has. `sides` are pairs of
    which the first is at most the second as the choices are right.
    """

    def __init__(
        self, variables: Mapping[str, int], values: Mapping[str, float], chosen: Mapping[Choice, int] | None = None
    ) -> None:
        self._variables, self._values, self._chosen = variables, values, chosen or {}
        self.sums: list[Sum] = []
        self.sides: list[tuple[Sum, Sum]] = []
        self.undecided: tuple[Choice, int] | None = None

    def number(self, value: Fraction, expr: s.Expr) -> Sum:
        return _number(float(value))

    def name(self, name: s.Name) -> Sum:
        if name.id in self._variables:
            return {((self._variables[name.id], 1.0),): 1.0}
        return _number(self._values[name.id])

    def negated(self, value: Sum) -> Sum:
        return {key: -each for key, each in value.items()}

    def binary(self, op: str, left: Sum, right: Sum, expr: s.Binary) -> Sum:
        match op:
            case "+" | "-":
                return plus(left, right, 1 if op == "+" else -1)
            case "*":
                return self._times(left, right, expr)
            case "/":
                return self._times(left, self._power(right, -1.0, expr), expr)
            case _:
                exponent = constant(right)
                if exponent is None:
                    raise _refused(expr, "an exponent varies")
                return self._power(left, exponent, expr)

    def _times(self, one: Sum, other: Sum, expr: s.Expr) -> Sum:
        if len(one) * len(other) > MOST_TERMS:
            raise _refused(expr, "it has too many terms")
        return times(one, other)

    def _power(self, base: Sum, exponent: float, expr: s.Expr) -> Sum:
        whole = exponent == int(exponent)
        if not exponent:
            return ONE
        if not base and exponent > 0:
            return {}
        if not base or (min(base.values()) < 0 and not (whole and (exponent > 0 or len(base) == 1))):
            held = "no sum of positive terms is the divisor" if whole else "what has parts below 0 may have no root"
            raise _refused(expr, held)
        if len(base) == 1:
            ((monomial, coefficient),) = base.items()
            return {product_of((), monomial, exponent): coefficient**exponent}
        if whole and 0 < exponent <= (SHORT if min(base.values()) > 0 else MOST_SIGNED):
            return reduce(lambda one, other: self._times(one, other, expr), [base] * int(exponent))
        if min(base.values()) < 0:
            raise _refused(expr, f"it is raised to a power above {MOST_SIGNED}, and has parts below 0")
        factor, scale = shared(base), max(base.values())
        rest = {product_of(each, factor, -1.0): value / scale for each, value in base.items()}
        if rest not in self.sums:
            self.sums.append(rest)
        own = len(self._variables) + self.sums.index(rest)
        return {product_of((), (*factor, (own, 1.0)), exponent): scale**exponent}

    def call(self, function: str, values: Sequence[Sum], expr: s.Call) -> Sum:
        known = [each for each in map(constant, values) if each is not None]
        if len(known) == len(values):
            return _number(_FUNCTIONS[function](*known))
        match function:
            case "sqrt":
                return self._power(values[0], 0.5, expr)
            case "max" | "min":
                every = {frozenset(each.items()): each for each in values}
                key = function, tuple(every)
                if key not in self._chosen:
                    self.undecided = key, len(every)
                mine = [*every.values()][self._chosen.get(key, 0)]
                others = [each for each in every.values() if each is not mine]
                pairs = [(each, mine) if function == "max" else (mine, each) for each in others]
                self.sides += [pair for pair in pairs if pair not in self.sides]
                return mine
            case _:
                raise _refused(expr, f"`{function}` of what varies")


_FUNCTIONS: Mapping[str, Callable[..., float]] = {
    "sqrt": lambda value: value**0.5,
    "log2": log2,
    "floor": floor,
    "ceil": ceil,
    "max": lambda *values: max(values),
    "min": lambda *values: min(values),
}


def cases(
    variables: Mapping[str, int], values: Mapping[str, float], read: Callable[[Reader], T]
) -> Iterator[tuple[Reader, T]]:
    """What is read, for each choice of the argument that a max or a min is."""
    waiting: list[Mapping[Choice, int]] = [{}]
    while waiting:
        chosen = waiting.pop()
        reader = Reader(variables, values, chosen)
        found = read(reader)
        if reader.undecided is None:
            yield reader, found
        else:
            key, count = reader.undecided
            waiting += [{**chosen, key: index} for index in range(count)]


def _number(value: float) -> Sum:
    return {(): value} if value else {}


def _refused(expr: s.Expr, reason: str) -> Exception:
    message = f"`{format_expression(expr)}` cannot be minimised over real numbers: {reason}"
    hint = "name what varies in --integer, with ranges"
    return error(rules.NOT_SIGNOMIAL, message, span=expr.span, hint=hint)


def inequality(left: Sum, right: Sum) -> tuple[Sum, Sum]:
    """Both sides of `left <= right` as sums of positive terms."""
    difference = plus(left, right, -1)
    return positive(difference), positive(difference, -1)
