"""Expressions as sums of terms: a term is a product of powers of names and of powers of logarithms of such products.

Constant factors are left out, a max is the sum of its arguments, and log2(w) stands for log2(2 + w): all of these are
the same up to a constant factor.
"""

from __future__ import annotations

from itertools import product
from typing import TypeAlias

from archline.algebra.reals import OutOfReachError
from archline.expr.text import format_expression
from archline.growth.normal_form import constant as read_constant
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.asymptotic.logspace.cones import (
    ONE,
    ZERO,
    Irrational,
    Number,
    Vector,
    number_of,
    plus,
    sign,
    whole,
)

Logs: TypeAlias = tuple[tuple[Vector, fmpq], ...]
MAX_TERMS = 200


@record
class LogMonomial:
    """exp(powers . y) times the product of log2(2 + exp(form . y))^power; y holds the names' logarithms."""

    powers: Vector
    logs: Logs = ()

    def times(self, other: LogMonomial) -> LogMonomial:
        """The product."""
        return LogMonomial(plus(self.powers, other.powers), _merged(self.logs + other.logs))

    def to_the(self, power: Number) -> LogMonomial:
        """A power; one with logarithms has a rational exponent."""
        if self.logs and isinstance(power, Irrational):
            raise OutOfReachError("a logarithm to an irrational power")
        logs = tuple((form, each * power) for form, each in self.logs)
        return LogMonomial(tuple(power * x for x in self.powers), _merged(logs))  # type: ignore[arg-type]

    def normal(self) -> LogMonomial:
        """The term with its logarithms of small whole powers: log2(2 + w) and log2(2 + w^k) are within a factor."""
        return LogMonomial(self.powers, _merged(tuple((whole(form), power) for form, power in self.logs)))

    def at(self, state: tuple[Vector, ...]) -> LogMonomial:
        """The term where each name has the logarithm that `state` gives, a form in the root's."""
        return LogMonomial(
            at_state(self.powers, state), _merged(tuple((at_state(form, state), n) for form, n in self.logs))
        )


def logs_of(form: Vector, power: fmpq) -> LogMonomial:
    """log2(2 + exp(form . y))^power."""
    return LogMonomial((ZERO,) * len(form), _merged(((whole(form), power),)))


def at_state(form: Vector, state: tuple[Vector, ...]) -> Vector:
    """A form in the current sizes as a form in the root's."""
    total: Vector = (ZERO,) * len(state[0])
    for factor, each in zip(form, state, strict=True):
        if factor:
            total = plus(total, each, factor)
    return total


def _merged(logs: Logs) -> Logs:
    powers: dict[Vector, fmpq] = {}
    for form, power in logs:
        if any(form):
            powers[form] = powers.get(form, ZERO) + power
    return tuple(sorted(((form, n) for form, n in powers.items() if n), key=str))


@record
class Names:
    """The names in order: the function's parameters, then the symbols."""

    all: tuple[str, ...]
    parameters: int

    def terms(self, expr: s.Expr) -> tuple[LogMonomial, ...]:
        """The expression as a sum of terms. Raises OutOfReachError."""
        value = _constant(expr)
        if value is not None:
            return self._of_constant(value, expr)
        match expr:
            case s.Name(id=name) if name in self.all:
                return (LogMonomial(tuple(fmpq(name == each) for each in self.all)),)
            case s.Name(id="pi"):
                return (self.one,)
            case s.Binary(op="+", left=left, right=right):
                return _limited((*self.terms(left), *self.terms(right)))
            case s.Binary(op="-", right=less) | s.Unary(op="-", operand=less):
                raise OutOfReachError(f"the subtraction of {format_expression(less)}")
            case s.Binary(op="*", left=left, right=right):
                pairs = product(self.terms(left), self.terms(right))
                return _limited(tuple(a.times(b) for a, b in pairs))
            case s.Binary(op="/", left=left, right=right):
                below = self._single(right, "a division by the sum").to_the(-ONE)
                return tuple(each.times(below) for each in self.terms(left))
            case s.Binary(op="^", left=base, right=exponent):
                return self._power(base, exponent)
            case s.Call(function="sqrt", arguments=(argument,)):
                return tuple(each.to_the(ONE / 2) for each in self.terms(argument))
            case s.Call(function="rsqrt", arguments=(argument,)):
                return (self._single(argument, "a division by the sum").to_the(-ONE / 2),)
            case s.Call(function="log2" | "log", arguments=(argument,)):
                return self._logarithm(argument)
            case s.Call(function="max", arguments=arguments):
                return _limited(tuple(term for each in arguments for term in self.terms(each)))
            case _:
                raise OutOfReachError(f"{format_expression(expr)} is no sum of products of powers and logarithms")

    def _of_constant(self, value: Number, expr: s.Expr) -> tuple[LogMonomial, ...]:
        if sign(value) < 0:
            less = expr.operand if isinstance(expr, s.Unary) else expr
            what = "negative cost" if less is expr else "subtraction of"
            raise OutOfReachError(f"the {what} {format_expression(less)}")
        return (self.one,) if sign(value) else ()

    @property
    def one(self) -> LogMonomial:
        """The constant term."""
        return LogMonomial((ZERO,) * len(self.all))

    def _single(self, expr: s.Expr, what: str) -> LogMonomial:
        terms = self.terms(expr)
        if len(terms) != 1:
            raise OutOfReachError(f"{what} {format_expression(expr)}")
        return terms[0]

    def _power(self, base: s.Expr, exponent: s.Expr) -> tuple[LogMonomial, ...]:
        power = _constant(exponent)
        if power is None:
            raise OutOfReachError(f"the exponent {format_expression(exponent)} is no constant")
        if sign(power) < 0:
            return (self._single(base, "a division by the sum").to_the(power),)
        return tuple(each.to_the(power) for each in self.terms(base))

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
    value = _constant(expr)
    if value is None:
        raise OutOfReachError(f"{format_expression(expr)} is no plain constant")
    return value


def _constant(expr: s.Expr) -> Number | None:
    """The value of an expression without names, of which pi is one."""
    value = None if s.names(expr) else read_constant(expr)
    return None if value is None else number_of(value)
