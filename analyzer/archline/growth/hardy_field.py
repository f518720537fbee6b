"""Compute growth along a curve exactly: sums of c * 2^(aT) * T^b * log2(T)^c * log2(log2(T))^d as T grows.

A value is known exactly, as such a sum, or by its leading term alone, up to a factor that tends to 1. Comparisons that
depend on more than the leading terms are refused (OutOfReachError).

Along a `Curve` on which sizes grow, expressions have leading terms, and facts hold or do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cmp_to_key, reduce
from typing import TypeAlias

from archline.algebra.reals import HALF, ONE, ONE_CONSTANT, ZERO_CONSTANT, Constant, OutOfReachError
from archline.growth import normal_form as e
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record

PRECISION = 192
LEVEL_COUNT = 5
"""The number of levels of a scale: 2^T, T, log2(T), and the first two iterates of the logarithm."""

Scale: TypeAlias = tuple[Constant, ...]
CONSTANT_SCALE: Scale = (ZERO_CONSTANT,) * LEVEL_COUNT


@record(slots=True)
class ScaledTerm:
    """A term coefficient*scale; the coefficient is not zero."""

    coefficient: Constant
    scale: Scale


@record(slots=True)
class AsymptoticValue:
    """A sum of terms of different scales, the largest first, if `exact`; else its leading term. No terms: zero."""

    terms: tuple[ScaledTerm, ...]
    exact: bool

    @property
    def leading(self) -> ScaledTerm:
        return self.terms[0]

    @property
    def sign(self) -> int:
        return self.leading.coefficient.sign() if self.terms else 0


ZERO = AsymptoticValue((), exact=True)


def compare_scales(left: Scale, right: Scale) -> int:
    """Return 1 if the left scale grows faster, -1 if the right does, 0 if neither."""
    for a, b in zip(left, right, strict=True):
        sign = (a - b).sign()
        if sign:
            return sign
    return 0


def make_constant(value: Constant) -> AsymptoticValue:
    """Return a constant as a value."""
    return AsymptoticValue((ScaledTerm(value, CONSTANT_SCALE),), exact=True) if value else ZERO


def make_number(value: fmpq) -> AsymptoticValue:
    """Return a rational as a value."""
    return make_constant(Constant(value))


def make_level_value(scale: Iterable[fmpq], coefficient: fmpq = ONE) -> AsymptoticValue:
    """Return coefficient * 2^(aT) * T^b * log2(T)^c * ... for the powers a, b, c, ... in `scale`."""
    padded = [*(Constant(power) for power in scale), *CONSTANT_SCALE][:LEVEL_COUNT]
    return AsymptoticValue((ScaledTerm(Constant(coefficient), tuple(padded)),), exact=True)


def negate_value(value: AsymptoticValue) -> AsymptoticValue:
    """Return minus the value."""
    return AsymptoticValue(tuple(ScaledTerm(-term.coefficient, term.scale) for term in value.terms), value.exact)


def add_values(left: AsymptoticValue, right: AsymptoticValue) -> AsymptoticValue:
    """Return left + right. Raises OutOfReachError where leading terms cancel."""
    if not left.terms or not right.terms:
        return left if left.terms else right
    if left.exact and right.exact:
        return _add_exactly([*left.terms, *right.terms])
    sign = compare_scales(left.leading.scale, right.leading.scale)
    if sign:
        return AsymptoticValue(((left if sign > 0 else right).leading,), exact=False)
    total = left.leading.coefficient + right.leading.coefficient
    if not total.sign():
        raise OutOfReachError("leading terms cancel")
    return AsymptoticValue((ScaledTerm(total, left.leading.scale),), exact=False)


def _add_exactly(terms: list[ScaledTerm]) -> AsymptoticValue:
    merged: dict[Scale, Constant] = {}
    for term in terms:
        total = merged.pop(term.scale, ZERO_CONSTANT) + term.coefficient
        if total:
            merged[term.scale] = total
    scales = sorted(merged, key=cmp_to_key(compare_scales), reverse=True)
    return AsymptoticValue(tuple(ScaledTerm(merged[scale], scale) for scale in scales), exact=True)


def multiply_values(left: AsymptoticValue, right: AsymptoticValue) -> AsymptoticValue:
    """Return left * right."""
    if not left.terms or not right.terms:
        return ZERO
    if left.exact and right.exact and len(left.terms) * len(right.terms) <= 64:
        return _add_exactly([_multiply_terms(a, b) for a in left.terms for b in right.terms])
    return AsymptoticValue((_multiply_terms(left.leading, right.leading),), exact=False)


def _multiply_terms(left: ScaledTerm, right: ScaledTerm) -> ScaledTerm:
    scale = tuple(a + b for a, b in zip(left.scale, right.scale, strict=True))
    return ScaledTerm(left.coefficient * right.coefficient, scale)


def power_of_value(value: AsymptoticValue, exponent: Constant) -> AsymptoticValue:
    """Return value^exponent. Raises OutOfReachError for 1/0 and roots of negative numbers."""
    if not exponent:
        return make_number(ONE)
    if not value.terms:
        if exponent.sign() < 0:
            raise OutOfReachError("division by zero")
        return ZERO
    is_integer_power = exponent.is_rational and exponent.rational.q == 1
    if is_integer_power and value.exact and 0 < exponent.rational.p <= 4:
        return reduce(multiply_values, [value] * int(exponent.rational.p))
    if value.sign < 0 and not is_integer_power:
        raise OutOfReachError("a power of a negative number")
    scale = tuple(power * exponent for power in value.leading.scale)
    single = value.exact and len(value.terms) == 1
    return AsymptoticValue((ScaledTerm(value.leading.coefficient.power(exponent), scale),), exact=single)


def take_log2(value: AsymptoticValue) -> AsymptoticValue:
    """Return the binary logarithm of 2 + value. Raises OutOfReachError for a negative value or too many logarithms."""
    if not value.terms:
        return make_number(ONE)
    if value.sign < 0:
        raise OutOfReachError("a logarithm of a negative number")
    term = value.leading
    for level, power in enumerate(term.scale):
        sign = power.sign()
        if sign < 0:
            return AsymptoticValue((ScaledTerm(ONE_CONSTANT, CONSTANT_SCALE),), exact=False)
        if sign > 0:
            if level + 1 == LEVEL_COUNT:
                raise OutOfReachError("too many logarithms")
            scale = tuple(ONE_CONSTANT if index == level + 1 else ZERO_CONSTANT for index in range(LEVEL_COUNT))
            return AsymptoticValue((ScaledTerm(power, scale),), exact=False)
    return AsymptoticValue((ScaledTerm((term.coefficient + Constant.of(2)).log2(), CONSTANT_SCALE),), exact=False)


def power_of_two(value: AsymptoticValue) -> AsymptoticValue:
    """Return 2^value for a constant or an exact multiple of T or of an iterated logarithm. Raises OutOfReachError."""
    if not value.exact or len(value.terms) != 1:
        raise OutOfReachError("an exponent that is not known exactly")
    (term,) = value.terms
    for level, power in enumerate(term.scale):
        if power:
            above = tuple(term.coefficient if index == level - 1 else ZERO_CONSTANT for index in range(LEVEL_COUNT))
            if not level or power != ONE_CONSTANT or any(term.scale[level + 1 :]):
                raise OutOfReachError("an exponent that grows otherwise than 2^T or its logarithms")
            return AsymptoticValue((ScaledTerm(ONE_CONSTANT, above),), exact=True)
    return make_constant(Constant.of(2).power(term.coefficient))


def compare_values(left: AsymptoticValue, right: AsymptoticValue) -> int:
    """Return the sign of left - right for all large T."""
    return add_values(left, negate_value(right)).sign


def round_value(value: AsymptoticValue, up: bool) -> AsymptoticValue:
    """Return the ceil (`up`) or floor of a nonnegative value. Raises OutOfReachError near an integer."""
    if not value.terms:
        return ZERO
    if value.sign < 0:
        raise OutOfReachError("rounding of a negative number")
    sign = compare_scales(value.leading.scale, CONSTANT_SCALE)
    if sign > 0:
        return AsymptoticValue((value.leading,), exact=False)
    if sign < 0:
        return make_number(ONE) if up else ZERO
    coefficient = value.leading.coefficient
    if coefficient.is_rational and value.exact and len(value.terms) == 1:
        return make_number(fmpq(coefficient.rational.ceil() if up else coefficient.rational.floor()))
    near = coefficient.enclose_at_precision(PRECISION)
    whole = (near.ceil() if up else near.floor()).unique_fmpz()
    if whole is None or near.contains_integer():
        raise OutOfReachError("rounding near an integer")
    return make_number(fmpq(whole))


MINUS_ONE = Constant(fmpq(-1))


@record
class Curve:
    """A curve on which each size is coefficient * 2^(aT) * T^b * log2(T)^c * ...; `scales` has a, b, c, ... of each."""

    scales: Mapping[str, tuple[fmpq, ...]]
    coefficients: Mapping[str, fmpq]

    def value(self, name: str) -> AsymptoticValue:
        return make_level_value(self.scales.get(name, ()), self.coefficients.get(name, fmpq(1)))


def evaluate_along(expr: s.Expr, curve: Curve) -> AsymptoticValue:
    """Evaluate an expression along the curve. Raises OutOfReachError where leading terms do not decide."""
    value = e.evaluate_constant(expr)
    if value is not None:
        return make_constant(value)
    match expr:
        case s.Name(id=name):
            return curve.value(name)
        case s.Unary(operand=operand):
            return negate_value(evaluate_along(operand, curve))
        case s.Binary(op="^", left=left, right=right):
            return _evaluate_power(left, right, curve)
        case s.Binary(op=op, left=left, right=right):
            return _apply_operator(op, evaluate_along(left, curve), evaluate_along(right, curve))
        case s.Call(function=function, arguments=arguments):
            return _apply_function(function, [evaluate_along(argument, curve) for argument in arguments])
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            raise OutOfReachError("not an expression in sizes")


def _apply_operator(op: str, left: AsymptoticValue, right: AsymptoticValue) -> AsymptoticValue:
    match op:
        case "+":
            return add_values(left, right)
        case "-":
            return add_values(left, negate_value(right))
        case "*":
            return multiply_values(left, right)
        case "/":
            return multiply_values(left, power_of_value(right, MINUS_ONE))
        case "//":
            return round_value(_apply_operator("/", left, right), up=False)
        case _:
            raise OutOfReachError(f"`{op}` along a curve")


def _evaluate_power(base: s.Expr, exponent: s.Expr, curve: Curve) -> AsymptoticValue:
    value = e.evaluate_constant(exponent)
    if value is not None:
        return power_of_value(evaluate_along(base, curve), value)
    base_value = e.evaluate_constant(base)
    if base_value is None:
        raise OutOfReachError("an exponent that is not constant")
    result = make_number(fmpq(1))
    for term, coefficient in e.expand(exponent).items():
        if not term.powers:
            result = multiply_values(result, make_constant(base_value.power(coefficient)))
            continue
        match e.find_single_factor(term):
            case s.Call(function="log2", arguments=(inner,)):
                # b^(c*log2(2 + w)) is (2 + w)^(c*log2(b)).
                power_base = add_values(evaluate_along(inner, curve), make_number(fmpq(2)))
            case s.Name(id=name):
                power_base = power_of_two(curve.value(name))
            case _:
                raise OutOfReachError("an exponent that is not constant")
        result = multiply_values(result, power_of_value(power_base, coefficient * base_value.log2()))
    return result


def evaluate_log_along(expr: s.Expr, curve: Curve) -> AsymptoticValue:
    """Return log2 of a positive expression, up to smaller terms or a constant. Raises OutOfReachError near 0 or 1."""
    match expr:
        case s.Binary(op="*" | "/" as op, left=left, right=right):
            return _apply_operator(
                "+" if op == "*" else "-", evaluate_log_along(left, curve), evaluate_log_along(right, curve)
            )
        case s.Call(function="sqrt", arguments=(inner,)):
            return multiply_values(make_constant(HALF), evaluate_log_along(inner, curve))
        case s.Binary(op="^", left=left, right=right):
            return multiply_values(evaluate_along(right, curve), evaluate_log_along(left, curve))
        case s.Binary(op="+", left=left, right=right) | s.Call(function="max", arguments=(left, right)):
            return _take_extreme(evaluate_log_along(left, curve), evaluate_log_along(right, curve), 1)
        case _ if (value := e.evaluate_constant(expr)) is not None:
            return make_constant(value.log2())
        case _:
            limit = evaluate_along(expr, curve)
            if not limit.terms or (growing := compare_scales(limit.leading.scale, CONSTANT_SCALE)) < 0:
                raise OutOfReachError("a logarithm of a value that tends to 0")
            if growing:
                return take_log2(limit)
            if not limit.exact or len(limit.terms) > 1:
                raise OutOfReachError("a logarithm of a value that tends to a constant")
            return make_constant(limit.leading.coefficient.log2())


def _apply_function(function: str, values: list[AsymptoticValue]) -> AsymptoticValue:
    first, *rest = values
    match function:
        case "min" | "max":
            for candidate in rest:
                first = _take_extreme(first, candidate, 1 if function == "max" else -1)
            return first
        case "sqrt" | "rsqrt":
            return power_of_value(first, HALF if function == "sqrt" else -HALF)
        case "log2" | "log":
            return take_log2(first)
        case "floor" | "ceil":
            return round_value(first, up=function == "ceil")
        case "abs":
            return negate_value(first) if first.sign < 0 else first
        case _:
            raise OutOfReachError(f"`{function}` along a curve")


def _take_extreme(left: AsymptoticValue, right: AsymptoticValue, sign: int) -> AsymptoticValue:
    """Return the maximum (`sign` 1) or the minimum (-1) of two values."""
    try:
        return left if compare_values(left, right) * sign >= 0 else right
    except OutOfReachError:
        if left.terms and right.terms and left.leading == right.leading:
            # Both have this leading term, and so have their maximum and minimum.
            return AsymptoticValue((left.leading,), exact=False)
        raise


def is_true_along(fact: s.Fact, curve: Curve) -> bool:
    """Whether the fact is certain at points of the curve with arbitrarily large T."""
    try:
        return _is_true_along(fact, curve)
    except OutOfReachError:
        return False


def _is_true_along(fact: s.Fact, curve: Curve) -> bool:
    match fact:
        case s.Binary(op="and", left=left, right=right):
            return _is_true_along(left, curve) and _is_true_along(right, curve)
        case s.Binary(op="or", left=left, right=right):
            return is_true_along(left, curve) or is_true_along(right, curve)
        case s.Binary(op=op, left=left, right=right):
            sign = compare_values(evaluate_along(left, curve), evaluate_along(right, curve))
            return {"<=": sign <= 0, "<": sign < 0, ">=": sign >= 0, ">": sign > 0, "==": not sign, "!=": bool(sign)}[
                op
            ]
        case s.IsPower(value=value, base=base):
            step = e.evaluate_constant(base)
            is_root_of_16 = step is not None and step.is_rational and step.rational in (2, 4, 16)
            return is_root_of_16 and _is_power_of_two_infinitely_often(evaluate_along(value, curve), even=True)
        case s.IsSquare(value=value):
            return _is_power_of_two_infinitely_often(evaluate_along(value, curve), even=True)
        case s.Divides(divisor=divisor, value=value):
            parts = evaluate_along(divisor, curve), evaluate_along(value, curve)
            return (
                all(_is_power_of_two_infinitely_often(part, even=False) for part in parts)
                and compare_values(*parts) <= 0
            )
        case s.Integer() | s.Real() | s.Name() | s.Unary() | s.Call() | s.Element() | s.Reshape():
            return False


def _is_power_of_two_infinitely_often(value: AsymptoticValue, *, even: bool) -> bool:
    """Whether a value is a power of 2, of 16 if `even`, at T = 2^(2^i) for infinitely many i."""
    if not (value.exact and len(value.terms) == 1):
        return False
    if not value.leading.coefficient.is_rational:
        return False
    exact = value.leading.coefficient.rational
    if compare_scales(value.leading.scale, CONSTANT_SCALE) < 0:
        return False
    if value.leading.scale == CONSTANT_SCALE or all(power == ZERO_CONSTANT for power in value.leading.scale):
        return exact.q == 1 and int(exact).bit_count() == 1 and (not even or exact == 1)
    # At these T all levels are powers of 2.
    powers = [power.rational for power in value.leading.scale if power]
    dyadic = all(int(power.q).bit_count() == 1 for power in powers)
    return dyadic and all(power.is_rational for power in value.leading.scale) and exact == 1
