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
from archline.growth.normal_form import expand, sum_text
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
                raise OutOfReachError(f"the exponent {format_expression(varying)} is no constant")
            case _:
                raise OutOfReachError(f"{format_expression(base)} is no sum of products of powers and logarithms")
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
        raise OutOfReachError(f"{format_expression(expr)} is no plain constant")
    return number_of(value)
