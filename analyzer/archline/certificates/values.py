"""Values of expressions and truth of facts at points whose sizes may be as large as 2^(2^1024): exact, or enclosed."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor
from typing import Any, TypeAlias

from archline.certificates.places import RejectedError
from archline.certificates.terms import names
from archline.language import syntax as s
from archline.language.format_expressions import format_expression
from archline.numbers import arb, fmpz

# An arb is an interval that holds the value; its precision is the caller's.
Value: TypeAlias = Fraction | arb
Point: TypeAlias = Mapping[str, Value]
_MAX_BITS = 300_000
_ARITHMETIC: dict[str, Callable[[Any, Any], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def evaluate(expr: s.Expr, point: Point, shift: int = 2) -> Value:
    """The value at a point; log2(w) is log2(shift + w), or log2(w) for a constant w."""
    match expr:
        case s.Integer(value=value):
            return Fraction(value)
        case s.Real(text=text) if len(text) < 500 and abs(int(text.lower().partition("e")[2] or 0)) < 500:
            return Fraction(text)
        case s.Name(id=name) if name in point:
            return point[name]
        case s.Unary(op="-", operand=operand):
            return -evaluate(operand, point, shift)
        case s.Binary(op=op, left=left, right=right):
            return _binary(op, evaluate(left, point, shift), evaluate(right, point, shift))
        case s.Call(function="min" | "max" as function, arguments=arguments) if arguments:
            values = [evaluate(each, point, shift) for each in arguments]
            return _extreme(function, values)
        case s.Call(function=function, arguments=(inner,)):
            return _call(function, evaluate(inner, point, shift), shift if names(inner) else 0)
        case _:
            raise RejectedError(f"`{format_expression(expr)}` has no value here")


def ball(value: Value) -> arb:
    """As an interval."""
    return value if isinstance(value, arb) else arb(fmpz(value.numerator)) / fmpz(value.denominator)


def at_most(left: Value, right: Value) -> bool | None:
    """Whether left <= right; None: not decided."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left <= right
    a, b = ball(left), ball(right)
    return True if a <= b else False if a > b else None


def _binary(op: str, left: Value, right: Value) -> Value:
    if op in ("//", "%"):
        whole = _floor(_binary("/", left, right))
        return whole if op == "//" else _binary("-", left, _binary("*", right, whole))
    if op == "^":
        return _power(left, right)
    if op == "/" and at_most(right, Fraction(0)) is not False and at_most(Fraction(0), right) is not False:
        raise RejectedError("a division by zero")
    if op not in _ARITHMETIC:
        raise RejectedError(f"`{op}` has no value")
    a, b = (left, right) if _exact(left, right) else (ball(left), ball(right))
    return _ARITHMETIC[op](a, b)


def _exact(*values: Value) -> bool:
    """Whether all are rational and short enough to go on with."""
    return all(isinstance(value, Fraction) and _bits(value) < _MAX_BITS for value in values)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _power(base: Value, by: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(by, Fraction):
        if base == 0 and by <= 0:
            raise RejectedError("a power of zero")
        root = _root(base, by.denominator) if by.denominator < 1000 else None
        if root is not None and _bits(base) * abs(by) < _MAX_BITS:
            return Fraction(root**by.numerator)
        if base == 2 and by.denominator == 1:
            return arb((1, by.numerator))
    return ball(base) ** ball(by)


def _root(value: Fraction, degree: int) -> Fraction | None:
    """The root where it is rational."""
    if degree == 1:
        return value
    if value < 0:
        return None
    above, below = (int(fmpz(each).root(degree)) for each in (value.numerator, value.denominator))
    return Fraction(above, below) if (above**degree, below**degree) == (value.numerator, value.denominator) else None


def _call(function: str, value: Value, shift: int) -> Value:
    match function:
        case "floor":
            return _floor(value)
        case "ceil":
            return -_floor(-value)
        case "abs":
            return _extreme("max", [value, -value])
        case "sqrt":
            return _power(value, Fraction(1, 2))
        case "log2" | "log":
            shifted = _binary("+", value, Fraction(shift))
            if at_most(shifted, Fraction(0)) is not False:
                raise RejectedError("a logarithm of what is not positive")
            if function == "log2" and isinstance(shifted, Fraction) and shifted.denominator == 1:
                exponent = shifted.numerator.bit_length() - 1
                if shifted == 1 << exponent:
                    return Fraction(exponent)
            return ball(shifted).log() / (arb(2).log() if function == "log2" else 1)
        case _:
            raise RejectedError(f"`{function}` is not a function of sizes")


def _extreme(function: str, values: list[Value]) -> Value:
    rational = [value for value in values if isinstance(value, Fraction)]
    if len(rational) == len(values):
        return max(rational) if function == "max" else min(rational)
    result, *others = map(ball, values)
    for each in others:
        result = result.max(each) if function == "max" else result.min(each)
    return result


def _floor(value: Value) -> Value:
    return Fraction(floor(value)) if isinstance(value, Fraction) else value.floor()


def holds(fact: s.Fact, point: Point) -> bool | None:
    """Whether a fact is true at a point; None: not decided."""
    match fact:
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            sides = (holds(left, point), holds(right, point))
            decisive = op == "or"
            return decisive if decisive in sides else None if None in sides else not decisive
        case s.Binary(op="!=", left=left, right=right):
            equal = _compared("==", evaluate(left, point), evaluate(right, point))
            return None if equal is None else not equal
        case s.Binary(op="<=" | "<" | ">=" | ">" | "==" as op, left=left, right=right):
            a, b = evaluate(left, point), evaluate(right, point)
            return _compared(op, a, b)
        case s.IsSquare(value=value):
            number = evaluate(value, point)
            return _root(number, 2) is not None if isinstance(number, Fraction) else None
        case s.Divides(divisor=divisor, value=value):
            quotient = _binary("/", evaluate(value, point), evaluate(divisor, point))
            return quotient.denominator == 1 if isinstance(quotient, Fraction) else None
        case s.IsPower(value=value, base=base):
            return _is_power(evaluate(value, point), evaluate(base, point))
        case _:
            return None


def _compared(op: str, a: Value, b: Value) -> bool | None:
    below, above = at_most(a, b), at_most(b, a)
    match op:
        case "<=":
            return below
        case ">=":
            return above
        case "<":
            return None if above is None else not above
        case ">":
            return None if below is None else not below
        case _:
            return False if False in (below, above) else None if None in (below, above) else True


def _is_power(value: Value, base: Value) -> bool | None:
    if not isinstance(value, Fraction) or not isinstance(base, Fraction) or base < 2:
        return None
    while value > 1:
        value /= base
    return value == 1
