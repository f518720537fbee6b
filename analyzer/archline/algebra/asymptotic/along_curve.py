"""Expressions and facts along a curve on which sizes grow: leading terms of the one, truth of the other."""

from __future__ import annotations

from collections.abc import Mapping

from archline.algebra.asymptotic import hardy_field
from archline.algebra.asymptotic import normal_form as e
from archline.algebra.asymptotic.constants import NOTHING, Constant, OutOfReachError
from archline.algebra.asymptotic.hardy_field import Value
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record

MINUS_ONE = Constant(fmpq(-1))


@record
class Curve:
    """Each size as coefficient * 2^(aT) * T^b * log2(T)^c * ..., the powers in this order."""

    scales: Mapping[str, tuple[fmpq, ...]]
    coefficients: Mapping[str, fmpq]

    def value(self, name: str) -> Value:
        return hardy_field.curve(self.scales.get(name, ()), self.coefficients.get(name, fmpq(1)))


def along(expr: s.Expr, curve: Curve) -> Value:
    """The expression's value along the curve. OutOfReachError where leading terms do not tell."""
    value = e.constant(expr)
    if value is not None:
        return hardy_field.constant(value)
    match expr:
        case s.Name(id=name):
            return curve.value(name)
        case s.Unary(operand=operand):
            return hardy_field.negated(along(operand, curve))
        case s.Binary(op="^", left=left, right=right):
            return _power(left, right, curve)
        case s.Binary(op=op, left=left, right=right):
            return _binary(op, along(left, curve), along(right, curve))
        case s.Call(function=function, arguments=arguments):
            return _call(function, [along(each, curve) for each in arguments])
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            raise OutOfReachError("not an expression in sizes")


def _binary(op: str, left: Value, right: Value) -> Value:
    match op:
        case "+":
            return hardy_field.added(left, right)
        case "-":
            return hardy_field.added(left, hardy_field.negated(right))
        case "*":
            return hardy_field.multiplied(left, right)
        case "/":
            return hardy_field.multiplied(left, hardy_field.raised(right, MINUS_ONE))
        case "//":
            return hardy_field.rounded(_binary("/", left, right), up=False)
        case _:
            raise OutOfReachError(f"`{op}` along a curve")


def _power(base: s.Expr, exponent: s.Expr, curve: Curve) -> Value:
    value = e.constant(exponent)
    if value is not None:
        return hardy_field.raised(along(base, curve), value)
    number = e.constant(base)
    if number is None:
        raise OutOfReachError("an exponent that is not constant")
    result = hardy_field.number(fmpq(1))
    for term, coefficient in e.expand(exponent).items():
        if not term:
            result = hardy_field.multiplied(result, hardy_field.constant(number.power(coefficient)))
            continue
        match e.alone(term):
            case s.Call(function="log2", arguments=(inner,)):
                # b^(c*log2(2 + w)) is (2 + w)^(c*log2(b)).
                base_of = hardy_field.added(along(inner, curve), hardy_field.number(fmpq(2)))
            case s.Name(id=name):
                base_of = hardy_field.power_of_two(curve.value(name))
            case _:
                raise OutOfReachError("an exponent that is not constant")
        result = hardy_field.multiplied(result, hardy_field.raised(base_of, coefficient * number.log2()))
    return result


def _call(function: str, values: list[Value]) -> Value:
    first, *others = values
    match function:
        case "min" | "max":
            for other in others:
                first = _extreme(first, other, 1 if function == "max" else -1)
            return first
        case "sqrt" | "rsqrt":
            return hardy_field.raised(first, e.HALF if function == "sqrt" else -e.HALF)
        case "log2" | "log":
            return hardy_field.log2(first)
        case "floor" | "ceil":
            return hardy_field.rounded(first, up=function == "ceil")
        case "abs":
            return hardy_field.negated(first) if first.sign < 0 else first
        case _:
            raise OutOfReachError(f"`{function}` along a curve")


def _extreme(left: Value, right: Value, sign: int) -> Value:
    try:
        return left if hardy_field.compared(left, right) * sign >= 0 else right
    except OutOfReachError:
        # They share their leading term, and so does the larger and the smaller of them.
        if left.terms and right.terms and left.leading.coefficient.overlaps(right.leading.coefficient):
            return Value(
                (
                    hardy_field.ScaledTerm(
                        left.leading.coefficient.union(right.leading.coefficient), left.leading.scale, None
                    ),
                ),
                exact=False,
            )
        raise


def holds(fact: s.Fact, curve: Curve) -> bool:
    """Whether the fact surely holds at points of the curve as far out as one likes."""
    try:
        return _holds(fact, curve)
    except OutOfReachError:
        return False


def _holds(fact: s.Fact, curve: Curve) -> bool:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            return _holds(left, curve) and _holds(right, curve)
        case s.Binary(op="or", left=left, right=right):
            return holds(left, curve) or holds(right, curve)
        case s.Binary(op=op, left=left, right=right):
            sign = hardy_field.compared(along(left, curve), along(right, curve))
            return {"<=": sign <= 0, "<": sign < 0, ">=": sign >= 0, ">": sign > 0, "==": not sign, "!=": bool(sign)}[
                op
            ]
        case s.IsPower(value=value, base=base):
            step = e.constant(base)
            whole = step is not None and step.is_rational and step.rational in (2, 4, 16)
            return whole and _is_power_of_two(along(value, curve), even=True)
        case s.IsSquare(value=value):
            return _is_power_of_two(along(value, curve), even=True)
        case s.Divides(divisor=divisor, value=value):
            parts = along(divisor, curve), along(value, curve)
            return all(_is_power_of_two(each, even=False) for each in parts) and hardy_field.compared(*parts) <= 0
        case s.Integer() | s.Real() | s.Name() | s.Unary() | s.Call() | s.Element() | s.Reshape():
            return False


def _is_power_of_two(value: Value, *, even: bool) -> bool:
    """Whether it is a power of 2, of 16 even, at T = 2^(2^i) for infinitely many i: levels are powers of 2 there."""
    if not (value.exact and len(value.terms) == 1):
        return False
    exact = value.leading.exact
    assert exact is not None
    if hardy_field.order(value.leading.scale, hardy_field.FLAT) < 0:
        return False
    if value.leading.scale == hardy_field.FLAT or all(each == NOTHING for each in value.leading.scale):
        return exact.q == 1 and int(exact).bit_count() == 1 and (not even or exact == 1)
    powers = [each.rational for each in value.leading.scale if each]
    dyadic = all(int(power.q).bit_count() == 1 for power in powers)
    return dyadic and all(each.is_rational for each in value.leading.scale) and exact == 1
