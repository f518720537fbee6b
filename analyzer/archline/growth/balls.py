"""Values of expressions at points, enclosed; logarithms are read as log2(2 + w), as growth reads them."""

from __future__ import annotations

from collections.abc import Mapping

from archline.algebra.reals import OutOfReachError
from archline.growth import normal_form as e
from archline.language import syntax as s
from archline.numbers import arb, ctx, fmpq

PRECISION = 256
FAR = 1024
"""Bits for sizes too long to be integers."""
LONGEST_DECIMAL = 1 << 20
"""Numbers of more bits are shown as powers of 2."""


def value_at(expr: s.Expr, point: Mapping[str, int | arb]) -> arb:
    """The value of an expression at a point. OutOfReachError where it has none, or a rounding is not certain."""
    bits = (value.bit_length() if isinstance(value, int) else FAR for value in point.values())
    with ctx.workprec(PRECISION + max(bits, default=0)):
        return _value(expr, point)


def _value(expr: s.Expr, point: Mapping[str, int | arb]) -> arb:
    constant = e.constant(expr)
    if constant is not None:
        return constant.enclosure()
    match expr:
        case s.Name(id=name):
            return arb(point[name])
        case s.Unary(operand=operand):
            return -_value(operand, point)
        case s.Binary(op=op, left=left, right=right):
            return _binary(op, _value(left, point), _value(right, point), right)
        case s.Call(function=function, arguments=arguments):
            return _call(function, [_value(each, point) for each in arguments])
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            raise OutOfReachError("not an expression in sizes")


def _binary(op: str, left: arb, right: arb, exponent: s.Expr) -> arb:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return _divided(left, right)
        case "//":
            return _whole(_divided(left, right).floor())
        case "%":
            return left - right * _whole(_divided(left, right).floor())
        case _:
            pass
    constant = e.constant(exponent)
    if constant is not None and constant.is_rational and constant.rational.q == 1:
        return left ** int(constant.rational.p)
    if not left > 0:
        raise OutOfReachError("a power of what may be negative")
    return (left.log() * right).exp()


def _divided(left: arb, right: arb) -> arb:
    if right.contains(0):
        raise OutOfReachError("division by zero")
    return left / right


def _whole(value: arb) -> arb:
    whole = value.unique_fmpz()
    if whole is None:
        raise OutOfReachError("a rounding that is not certain")
    return arb(whole)


def _call(function: str, values: list[arb]) -> arb:
    first, *others = values
    match function:
        case "min" | "max":
            for other in others:
                first = first.min(other) if function == "min" else first.max(other)
            return first
        case "sqrt":
            return first.sqrt()
        case "rsqrt":
            return _divided(arb(1), first.sqrt())
        case "log2" | "log":
            natural = (first + 2).log()
            return natural if function == "log" else natural / arb.const_log2()
        case "floor":
            return _whole(first.floor())
        case "ceil":
            return _whole(first.ceil())
        case "abs":
            return abs(first)
        case _:
            raise OutOfReachError(f"`{function}` at a point")


def digits(value: arb, count: int = 6) -> str:
    """A few digits of an enclosed number, for people."""
    exact = value.unique_fmpz()
    if exact is not None and abs(exact) < 10**12:
        return str(exact)
    if abs(value) > arb(2) ** LONGEST_DECIMAL:
        return f"2^{(value.log() / arb.const_log2()).str(count, radius=False)}"
    return str(value.str(count, radius=False))


def exact_text(value: fmpq | int) -> str:
    """An integer in the language's syntax; a long power of 2 as one."""
    whole = int(value)
    if whole > 1 << 20 and whole.bit_count() == 1:
        return f"2^{whole.bit_length() - 1}"
    return str(whole)
