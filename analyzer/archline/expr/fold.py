"""Values of an expression in a domain: what its numbers, names, operators and functions mean there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from operator import add, mul, sub, truediv
from typing import Any, Protocol, TypeVar

from archline.expr import tree as s
from archline.expr.intervals import MAX_BITS, EvaluationError

T = TypeVar("T")
MAX_DECIMAL_EXPONENT = 4000
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}
"""The operators on values that have Python's; `^` differs from one domain to another."""


class Domain(Protocol[T]):
    """A domain of values; operators and functions that it lacks raise EvaluationError."""

    def number(self, value: int | Fraction, expr: s.Expr) -> T: ...
    def name(self, name: s.Name) -> T: ...
    def negated(self, value: T, expr: s.Unary) -> T: ...
    def binary(self, op: str, left: T, right: T, expr: s.Binary) -> T: ...
    def call(self, function: str, values: Sequence[T], expr: s.Call) -> T: ...


def fold(expr: s.Expr, domain: Domain[T]) -> T:
    """The value of an expression in a domain, its parts first. Raises EvaluationError for what is no arithmetic."""
    match expr:
        case s.Integer(value=value):
            return domain.number(value, expr)
        case s.Name():
            return domain.name(expr)
        case s.Unary(op="-", operand=operand):
            return domain.negated(fold(operand, domain), expr)
        case s.Binary(op=op, left=left, right=right):
            return domain.binary(op, fold(left, domain), fold(right, domain), expr)
        case s.Call(function=function, arguments=arguments) if arguments:
            return domain.call(function, [fold(each, domain) for each in arguments], expr)
        case s.Real(text=text):
            return domain.number(decimal(text, expr), expr)
        case s.Unary() | s.Call() | s.Element() | s.Reshape():
            raise EvaluationError("not an expression in sizes", expr)


def decimal(text: str, expr: s.Expr) -> Fraction:
    """The value of a decimal. Raises EvaluationError where that is too long to write down."""
    exponent = text.lower().partition("e")[2]
    huge = len(exponent) > 6 or abs(int(exponent or "0")) > MAX_DECIMAL_EXPONENT
    if huge or len(text) > MAX_BITS // 4:
        raise EvaluationError("the number is too large or too small", expr)
    return Fraction(text)
