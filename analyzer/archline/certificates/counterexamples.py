"""Check counterexamples, by computing their values and the growth of f/g along their curves again.

Sizes of points may be as large as 2^(2^1024); values there are exact or enclosed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any, TypeAlias

from archline.certificates.constants import RejectedError, require, track_place
from archline.expr.text import format_expression
from archline.language import syntax as s
from archline.language.parser import parse_expression, parse_facts
from archline.numbers import arb, ctx, fmpz

# An arb is an interval that contains the value, at the precision of the caller.
Value: TypeAlias = Fraction | arb
Point: TypeAlias = Mapping[str, Value]
_MAX_BITS = 300_000
_ARITHMETIC_OPERATIONS: dict[str, Callable[[Any, Any], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def evaluate(expr: s.Expr, point: Point, shift: int = 2) -> Value:
    """Return the value at a point; log2(w) means log2(shift + w), or log2(w) for a constant w. Raises RejectedError."""
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
            return _apply_operator(op, evaluate(left, point, shift), evaluate(right, point, shift))
        case s.Call(function="min" | "max" as function, arguments=arguments) if arguments:
            values = [evaluate(argument, point, shift) for argument in arguments]
            return _select_extreme(function, values)
        case s.Call(function=function, arguments=(inner,)):
            return _apply_function(function, evaluate(inner, point, shift), shift if s.find_names(inner) else 0)
        case _:
            raise RejectedError(f"`{format_expression(expr)}` has no value at these sizes")


def convert_to_ball(value: Value) -> arb:
    """Convert a value to an interval."""
    return value if isinstance(value, arb) else arb(fmpz(value.numerator)) / fmpz(value.denominator)


def is_at_most(left: Value, right: Value) -> bool | None:
    """Test whether left <= right; None if undecided."""
    if isinstance(left, Fraction) and isinstance(right, Fraction):
        return left <= right
    a, b = convert_to_ball(left), convert_to_ball(right)
    return True if a <= b else False if a > b else None


def _apply_operator(op: str, left: Value, right: Value) -> Value:
    if op in ("//", "%"):
        whole = _round_down(_apply_operator("/", left, right))
        return whole if op == "//" else _apply_operator("-", left, _apply_operator("*", right, whole))
    if op == "^":
        return _raise_to_power(left, right)
    if op == "/" and is_at_most(right, Fraction(0)) is not False and is_at_most(Fraction(0), right) is not False:
        raise RejectedError("a division by zero")
    if op not in _ARITHMETIC_OPERATIONS:
        raise RejectedError(f"the operator `{op}` is not supported")
    a, b = (left, right) if _has_short_rationals(left, right) else (convert_to_ball(left), convert_to_ball(right))
    return _ARITHMETIC_OPERATIONS[op](a, b)


def _has_short_rationals(*values: Value) -> bool:
    """Test whether all values are rational and short enough for exact arithmetic."""
    return all(isinstance(value, Fraction) and _count_bits(value) < _MAX_BITS for value in values)


def _count_bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _raise_to_power(base: Value, by: Value) -> Value:
    if isinstance(base, Fraction) and isinstance(by, Fraction):
        if base == 0 and by <= 0:
            raise RejectedError("a power of zero")
        root = _compute_rational_root(base, by.denominator) if by.denominator < 1000 else None
        if root is not None and _count_bits(base) * abs(by) < _MAX_BITS:
            return Fraction(root**by.numerator)
        if base == 2 and by.denominator == 1:
            return arb((1, by.numerator))
    return convert_to_ball(base) ** convert_to_ball(by)


def _compute_rational_root(value: Fraction, degree: int) -> Fraction | None:
    """Return the root if it is rational, else None."""
    if degree == 1:
        return value
    if value < 0:
        return None
    above, below = (int(fmpz(part).root(degree)) for part in (value.numerator, value.denominator))
    return Fraction(above, below) if (above**degree, below**degree) == (value.numerator, value.denominator) else None


def _apply_function(function: str, value: Value, shift: int) -> Value:
    match function:
        case "floor":
            return _round_down(value)
        case "ceil":
            return -_round_down(-value)
        case "abs":
            return _select_extreme("max", [value, -value])
        case "sqrt":
            return _raise_to_power(value, Fraction(1, 2))
        case "exp":
            return convert_to_ball(value).exp()
        case "log2" | "log":
            shifted = _apply_operator("+", value, Fraction(shift))
            if is_at_most(shifted, Fraction(0)) is not False:
                raise RejectedError("a logarithm of a number that is not positive")
            if function == "log2" and isinstance(shifted, Fraction) and shifted.denominator == 1:
                exponent = shifted.numerator.bit_length() - 1
                if shifted == 1 << exponent:
                    return Fraction(exponent)
            return convert_to_ball(shifted).log() / (arb(2).log() if function == "log2" else 1)
        case _:
            raise RejectedError(f"`{function}` is not a function of sizes")


def _select_extreme(function: str, values: list[Value]) -> Value:
    rational = [value for value in values if isinstance(value, Fraction)]
    if len(rational) == len(values):
        return max(rational) if function == "max" else min(rational)
    result, *rest = map(convert_to_ball, values)
    for ball in rest:
        result = result.max(ball) if function == "max" else result.min(ball)
    return result


def _round_down(value: Value) -> Value:
    return Fraction(floor(value)) if isinstance(value, Fraction) else value.floor()


def evaluate_fact(fact: s.Fact, point: Point) -> bool | None:
    """Test whether a fact is true at a point; None if undecided."""
    match fact:
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            sides = (evaluate_fact(left, point), evaluate_fact(right, point))
            decisive = op == "or"
            return decisive if decisive in sides else None if None in sides else not decisive
        case s.Binary(op="!=", left=left, right=right):
            equal = _compare_values("==", evaluate(left, point), evaluate(right, point))
            return None if equal is None else not equal
        case s.Binary(op="<=" | "<" | ">=" | ">" | "==" as op, left=left, right=right):
            a, b = evaluate(left, point), evaluate(right, point)
            return _compare_values(op, a, b)
        case s.IsSquare(value=value):
            number = evaluate(value, point)
            return _compute_rational_root(number, 2) is not None if isinstance(number, Fraction) else None
        case s.Divides(divisor=divisor, value=value):
            quotient = _apply_operator("/", evaluate(value, point), evaluate(divisor, point))
            return quotient.denominator == 1 if isinstance(quotient, Fraction) else None
        case s.IsPower(value=value, base=base):
            return _is_power(evaluate(value, point), evaluate(base, point))
        case _:
            return None


def _compare_values(op: str, a: Value, b: Value) -> bool | None:
    below, above = is_at_most(a, b), is_at_most(b, a)
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


Data: TypeAlias = Mapping[str, Any]
_PRECISION = 4000
# Values of T on a curve that are checked in addition to the samples; the near ones if f or g cancel at the far ones.
_FAR_TIMES = tuple(Fraction(1 << exponent) for exponent in (256, 512, 1024))
_NEAR_TIMES = tuple(map(Fraction, (256, 1024, 2048)))
_ZERO = Fraction(0)
# Values in counterexamples have six digits.
_RELATIVE_TOLERANCE = Fraction(1, 10_000)
_MAX_TEXT = 2000
# The ratio of the logarithms of the computed and the claimed growth is between this and its inverse.
_MIN_GROWTH_SHARE = arb(3) / 4


class _CancelledError(RejectedError):
    """Raised if the sign of f or g is undecided at a far point, as terms nearly cancel."""


class CounterexampleChecker:
    """Checks counterexamples to f = O(g) under facts: points exactly, curves only at some far points."""

    def __init__(self, f: str, g: str, facts: Sequence[str]) -> None:
        self._f, self._g = parse_expression(f), parse_expression(g)
        self._facts: list[s.Fact] = [fact for text in facts for fact in parse_facts(text)]
        self._names = s.find_names((self._f, self._g, *self._facts))

    def check(self, data: Data) -> None:
        """Raise RejectedError unless the counterexample `data` shows that f is not O(g)."""
        with ctx.workprec(_PRECISION):
            if data["kind"] == "point":
                with track_place("at"):
                    f, g = self._evaluate_both(self._read_point(data["at"]))
                self._require_close_values(data, {"f": f, "g": g})
                require(_is_positive(f) and is_at_most(g, _ZERO) is True, "f > 0 >= g does not hold at this point")
            else:
                self._check_curve(data)

    def _check_curve(self, data: Data) -> None:
        ratios: list[Value] = []
        for index, sample in enumerate(data["samples"]):
            with track_place("samples", index):
                f, g = self._evaluate_both(self._read_point(sample["at"]))
                require(_is_positive(f), "f is not positive")
                if is_at_most(g, _ZERO) is True:
                    # This point alone is a counterexample.
                    self._require_close_values(sample, {"f": f, "g": g})
                    return
                ratio = convert_to_ball(f) / convert_to_ball(g)
                self._require_close_values(sample, {"f": f, "g": g, "ratio": ratio})
                ratios.append(ratio)
        require(_is_increasing(ratios), "f/g does not grow from sample to sample")
        with track_place("curve"):
            try:
                self._check_curve_at(data, _FAR_TIMES, certain=len(ratios) < 2)
            except _CancelledError:
                self._check_curve_at(data, _NEAR_TIMES, certain=True)

    def _check_curve_at(self, data: Data, times: Sequence[Fraction], *, certain: bool) -> None:
        """Check at `times` on the curve that f/g grows about as the claimed `ratio`, which increases, or f > 0 >= g.

        If `certain`, facts must be proved at these points, not only be possible, and f > 0 >= g suffices.
        """
        curve = {name: parse_expression(text) for name, text in data["curve"].items()}
        growth = parse_expression(data["ratio"])
        variables = s.find_names(tuple(curve.values()))
        require(len(variables) == 1, "the sizes on the curve are not functions of one variable")
        (variable,) = variables
        ratios, expected = [], []
        for time in times:
            point = {name: evaluate(size, {variable: time}, shift=0) for name, size in curve.items()}
            self._require_allowed(point, certain=certain)
            values = self._evaluate_both(point)
            signs = tuple(map(_decide_positivity, values))
            if certain and signs == (1, 0):
                return
            if None in signs:
                raise _CancelledError("f or g cannot be evaluated on the curve")
            require(signs == (1, 1), "f or g is not positive on the curve")
            ratios.append(convert_to_ball(values[0]) / convert_to_ball(values[1]))
            expected.append(evaluate(growth, {variable: time}, shift=0))
        require(_is_increasing(expected), "the claimed growth of f/g does not increase")
        for index in (1, 2):
            claimed = (convert_to_ball(expected[index]) / convert_to_ball(expected[index - 1])).log()
            share = (ratios[index] / ratios[index - 1]).log() / claimed
            require(share > _MIN_GROWTH_SHARE and share < 1 / _MIN_GROWTH_SHARE, "f/g does not grow as claimed")

    def _read_point(self, sizes: Mapping[str, str]) -> Point:
        require(all(len(text) < _MAX_TEXT for text in sizes.values()), "a size is too long")
        exprs = {name: parse_expression(text) for name, text in sizes.items()}
        require(not s.find_names(tuple(exprs.values())), "a size is not a number")
        point = {name: evaluate(size, {}, shift=0) for name, size in exprs.items()}
        self._require_allowed(point, certain=True)
        return point

    def _require_allowed(self, point: Point, *, certain: bool) -> None:
        """Raise RejectedError if a size is missing or below 1, or a fact is false; if `certain`, also if one may be."""
        require(point.keys() >= self._names, "a size is missing")
        claims = [is_at_most(Fraction(1), size) for size in point.values()]
        if {"L", "Z"} <= self._names:
            claims.append(is_at_most(point["L"], point["Z"]))
        allowed = (True,) if certain else (True, None)
        require(all(claim in allowed for claim in claims), "a size is less than 1, or Z is less than L")
        require(all(evaluate_fact(fact, point) in allowed for fact in self._facts), "a fact is false at this point")

    def _evaluate_both(self, point: Point) -> tuple[Value, Value]:
        return evaluate(self._f, point), evaluate(self._g, point)

    def _require_close_values(self, data: Data, values: Mapping[str, Value]) -> None:
        for name, value in values.items():
            require(_is_close(data[name], value), f"the value of {name} is not {data[name]}")


def _is_increasing(values: Sequence[Value]) -> bool:
    return all(is_at_most(later, earlier) is False for earlier, later in pairwise(values))


def _decide_positivity(value: Value) -> int | None:
    """Return 1 if the value is positive, 0 if it is not, None if that is undecided."""
    below = is_at_most(value, _ZERO)
    return None if below is None else int(not below)


def _is_positive(value: Value) -> bool:
    return _decide_positivity(value) == 1


def _is_close(text: str, value: Value) -> bool:
    """Test whether a number in a text, such as `1.5e+20` or `2^1.5e+20`, is close to the value."""
    if len(text) > _MAX_TEXT:
        raise RejectedError("a value is too long")
    if text.startswith("2^"):
        return _is_positive(value) and _is_close_to_number(
            Fraction(text[2:]), convert_to_ball(value).log() / arb(2).log()
        )
    return _is_close_to_number(Fraction(text), value)


def _is_close_to_number(shown: Fraction, value: Value) -> bool:
    gap = convert_to_ball(value) - convert_to_ball(shown)
    return (
        is_at_most(abs(gap), convert_to_ball(abs(shown) * _RELATIVE_TOLERANCE)) is True
        if shown
        else is_at_most(value, _ZERO) is True
    )
