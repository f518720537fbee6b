"""Evaluates expressions in any domain (`fold`), exactly at integer points, and decides facts there.

`+ - * / // % ^`, `min max abs floor ceil` are exact in integers and fractions. `log2`, `sqrt` and powers with other
than integer exponents are exact where the result is rational and otherwise an `Interval`, so that comparisons are
decided or not, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import reduce
from operator import add, mul, sub, truediv
from typing import Any, Protocol, TypeAlias, TypeVar

from archline.expr import tree as s
from archline.expr.intervals import (
    MAX_BITS,
    EvaluationError,
    Interval,
    UndefinedError,
    enclose_executed_power,
    exact_root,
)
from archline.expr.sequences import SEQUENCES, compute_sequence
from archline.expr.tree import iterate_defined_sizes

T = TypeVar("T")
MAX_DECIMAL_EXPONENT = 4000
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {"+": add, "-": sub, "*": mul, "/": truediv}
"""The operators of domains whose values have Python's operators; `^` differs between domains."""


class Domain(Protocol[T]):
    """A domain of values; operators and functions that it lacks raise EvaluationError."""

    def number(self, value: int | Fraction, expr: s.Expr) -> T: ...
    def name(self, name: s.Name) -> T: ...
    def negated(self, value: T, expr: s.Unary) -> T: ...
    def binary(self, op: str, left: T, right: T, expr: s.Binary) -> T: ...
    def call(self, function: str, values: Sequence[T], expr: s.Call) -> T: ...


def fold(expr: s.Expr, domain: Domain[T]) -> T:
    """Evaluate an expression in a domain, bottom up. Raises EvaluationError for parts that are not arithmetic."""
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
            return domain.call(function, [fold(argument, domain) for argument in arguments], expr)
        case s.Real(text=text):
            return domain.number(parse_decimal(text, expr), expr)
        case s.Unary() | s.Call() | s.Element() | s.Reshape():
            raise EvaluationError("not an expression in sizes", expr)


def parse_decimal(text: str, expr: s.Expr) -> Fraction:
    """Return the value of a decimal. Raises EvaluationError if it is too long to write down."""
    if text == "inf":
        raise EvaluationError("the value is infinite", expr)
    exponent = text.lower().partition("e")[2]
    huge = len(exponent) > 6 or abs(int(exponent or "0")) > MAX_DECIMAL_EXPONENT
    if huge or len(text) > MAX_BITS // 4:
        raise EvaluationError("the number is too large or too small", expr)
    return Fraction(text)


Value: TypeAlias = int | Fraction | Interval
Point: TypeAlias = Mapping[str, Value]
Rounds: TypeAlias = Callable[[s.Expr], bool]
"""Whether the value of an expression is rounded to a floating-point number of 64 bits, as a run does."""


def evaluate(expr: s.Expr, point: Point, rounds: Rounds | None = None) -> Value:
    """Return the value of an expression at a point; `/` is division of rationals. Raises EvaluationError.

    Where `rounds` holds of an expression, its value is rounded to a float, as in a run.
    """
    return _ExactDomain(point, False, rounds).evaluate(expr)


def evaluate_static(expr: s.Expr, point: Point) -> int:
    """Return the value of an integer expression of a body.

    Raises EvaluationError if a `/` does not divide, a `log2` or `sqrt` is not an integer, or a name has no value.
    """
    value = _ExactDomain(point, strict=True).evaluate(expr)
    if not isinstance(value, int):
        raise EvaluationError("the value is not an integer", expr)
    return value


def find_sizes_given_by_facts(facts: Iterable[s.Fact], point: Point) -> dict[str, int]:
    """Return the sizes that facts such as s == n*m/P define by sizes of a point, if they are integers there."""
    sizes: dict[str, int] = {}
    defined = list(iterate_defined_sizes(facts))
    # Repeated, since a fact may use sizes that a later one defines.
    for _ in defined:
        for name, expr in defined:
            if name not in point and name not in sizes:
                with suppress(EvaluationError):
                    sizes[name] = evaluate_static(expr, {**sizes, **point})
    return sizes


def evaluate_fact(fact: s.Fact, point: Point, rounds: Rounds | None = None) -> bool | None:
    """Decide a fact at a point; None if undecided because a name, a value or precision is missing."""
    try:
        match fact:
            case s.IsPower(value=value, base=base):
                return _is_power(_evaluate_rational(value, point), _evaluate_rational(base, point))
            case s.IsSquare(value=value):
                number = _evaluate_rational(value, point)
                return number >= 0 and exact_root(Fraction(number)) is not None
            case s.Divides(divisor=divisor, value=value):
                by = _evaluate_rational(divisor, point)
                return by != 0 and (Fraction(_evaluate_rational(value, point)) / by).denominator == 1
            case _:
                return _evaluate_condition(fact, point, rounds)
    except EvaluationError:
        return None


def _evaluate_condition(condition: s.Expr, point: Point, rounds: Rounds | None) -> bool | None:
    match condition:
        case s.Unary(op="not", operand=operand):
            inner = evaluate_fact(operand, point, rounds)
            return None if inner is None else not inner
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            settled = op == "or"
            sides = (evaluate_fact(left, point, rounds), evaluate_fact(right, point, rounds))
            if settled in sides:
                return settled
            return None if None in sides else not settled
        case s.Binary(op=op, left=left, right=right) if op in _COMPARISONS:
            return _compare(op, evaluate(left, point, rounds), evaluate(right, point, rounds))
        case s.Name() | s.Integer():
            return _compare("!=", evaluate(condition, point, rounds), 0)
        case _:
            return None


_COMPARISONS: dict[str, Callable[[Fraction | int, Fraction | int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _compare(op: str, left: Value, right: Value) -> bool | None:
    if not isinstance(left, Interval) and not isinstance(right, Interval):
        return _COMPARISONS[op](left, right)
    (a, b), (c, d) = bounds_of_value(left), bounds_of_value(right)
    # Disjoint enclosures compare like any two of their points.
    return _COMPARISONS[op](a, c) if b < c or d < a else None


def _evaluate_rational(expr: s.Expr, point: Point) -> int | Fraction:
    value = evaluate(expr, point)
    if isinstance(value, Interval):
        raise EvaluationError("the value is not rational", expr)
    return value


def _is_power(value: int | Fraction, base: int | Fraction) -> bool:
    if base < 2 or value < 1:
        return value == 1
    while value > 1:
        value = Fraction(value) / base
    return value == 1


def _compute_exponent(value: Value, base: Value) -> int | None:
    """Return the k >= 0 of a value that is base^k; None for other values."""
    if isinstance(value, Interval) or isinstance(base, Interval) or base < 2 or not _is_power(value, base):
        return None
    exponent = 0
    while value > 1:
        value, exponent = Fraction(value) / base, exponent + 1
    return exponent


def bounds_of_value(value: Value) -> tuple[Fraction, Fraction]:
    """Return the lower and upper bound of a value; they are equal unless it is only enclosed."""
    return (value.lower, value.upper) if isinstance(value, Interval) else (Fraction(value), Fraction(value))


def _normalise_value(value: Value) -> Value:
    """Return an integer if the value is one, a fraction if it is exact rather than enclosed."""
    if isinstance(value, Interval) and value.exact:
        value = value.lower
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


class _ExactDomain:
    """The domain of rational numbers and intervals. `strict`: unrounded values must be integers, as in a body.

    Operands are checked when an operation takes them, so that `floor` and `ceil` may take fractions.
    """

    def __init__(self, point: Point, strict: bool, rounds: Rounds | None = None) -> None:
        self._point = point
        self._strict = strict
        self._rounds = rounds

    def evaluate(self, expr: s.Expr) -> Value:
        return self._check_value(expr, fold(expr, self))

    def number(self, value: int | Fraction, expr: s.Expr) -> Value:
        return _normalise_value(value)

    def name(self, name: s.Name) -> Value:
        if name.id not in self._point:
            raise EvaluationError(f"`{name.id}` has no value here", name)
        return _normalise_value(self._point[name.id])

    def negated(self, value: Value, expr: s.Unary) -> Value:
        return -self._check_value(expr.operand, value)

    def binary(self, op: str, left: Value, right: Value, expr: s.Binary) -> Value:
        match expr:
            case s.Binary(op="^", right=s.Binary(op="/", left=above, right=s.Call("log2", (inner,)))) if (
                levels := _compute_exponent(self._check_value(expr.left, left), self.evaluate(inner))
            ) is not None:
                # (b^k)^(e/log2(b)) -> 2^(k*e), which enclosures could not distinguish from numbers near it
                return self._apply_operator("^", 2, levels * Fraction(self._evaluate_rational_part(above)), expr)
            case _:
                return self._apply_operator(
                    op, self._check_value(expr.left, left), self._check_value(expr.right, right), expr
                )

    def _evaluate_rational_part(self, expr: s.Expr) -> int | Fraction:
        value = self.evaluate(expr)
        if isinstance(value, Interval):
            raise EvaluationError("the value is not rational", expr)
        return value

    def call(self, function: str, values: Sequence[Value], expr: s.Call) -> Value:
        rounding = function in ("floor", "ceil")
        if not rounding:
            values = [self._check_value(*pair) for pair in zip(expr.arguments, values, strict=True)]
        match function:
            case "real_of" if self._rounds is not None:
                return values[0]
            case "min" | "max" if any(isinstance(value, Interval) for value in values):
                choose = Interval.minimum if function == "min" else Interval.maximum
                return _normalise_value(reduce(choose, map(Interval.of, values)))
            case "min" | "max":
                choice: Callable[..., Value] = min if function == "min" else max
                return choice(values)
            case "abs":
                return _normalise_value(abs(Interval.of(values[0])))
            case "gcd":
                whole = [value for value in values if isinstance(value, int)]
                if len(whole) < len(values):
                    raise EvaluationError("`gcd` of a number that is not an integer", expr)
                return math.gcd(*whole)
            case _ if function in SEQUENCES:
                whole = [value for value in values if isinstance(value, int)]
                term = None if len(whole) < len(values) else compute_sequence(function, *whole)
                if term is None:
                    raise EvaluationError(
                        f"`{function}` of a number that is negative, not an integer or too large", expr
                    )
                return term
            case "floor" | "ceil" | "sqrt" | "log2":
                return self._locate_errors(expr, lambda: Interval.of(values[0]).apply_function(function))
            case _:
                raise EvaluationError("not an expression in sizes", expr)

    def _locate_errors(self, expr: s.Expr, compute: Callable[[], Value]) -> Value:
        """Return a computed value; errors of the computation are reported for the expression."""
        try:
            return _normalise_value(compute())
        except EvaluationError as problem:
            raise type(problem)(str(problem), expr) from None

    def _check_value(self, expr: s.Expr, value: Value) -> Value:
        if isinstance(value, int) and value.bit_length() <= MAX_BITS and self._rounds is None:
            return value
        if self._strict and not isinstance(value, int):
            raise EvaluationError(_STRICT_FAILURES.get(_get_operation_name(expr), "the value is not an integer"), expr)
        for end in bounds_of_value(value):
            if max(end.numerator.bit_length(), end.denominator.bit_length()) > MAX_BITS:
                raise EvaluationError(f"the value has more than {MAX_BITS} bits", expr)
        return value if self._rounds is None or not self._rounds(expr) else self._round_as_run(expr, value)

    def _round_as_run(self, expr: s.Expr, value: Value) -> Value:
        """Return the value of an operation as a run rounds it; powers may be rounded incorrectly."""
        if isinstance(value, Interval):
            return value
        try:
            nearest = float(value)
        except OverflowError:
            raise EvaluationError("the number is too large", expr) from None
        return (
            enclose_executed_power(nearest) if _get_operation_name(expr) == "^" else _normalise_value(Fraction(nearest))
        )

    def _apply_operator(self, op: str, left: Value, right: Value, expr: s.Binary) -> Value:
        if op in ("//", "%"):
            if isinstance(left, int) and isinstance(right, int) and right:
                return left // right if op == "//" else left % right
            quotient = self._apply_operator("/", left, right, expr)
            whole = self._locate_errors(expr, lambda: Interval.of(quotient).apply_function("floor"))
            return (
                whole
                if op == "//"
                else self._apply_operator("-", left, self._apply_operator("*", whole, right, expr), expr)
            )
        if op == "^":
            # Python's powers of integers would be computed before their length is checked.
            return self._locate_errors(expr, lambda: Interval.of(left).power(Interval.of(right)))
        if op not in ARITHMETIC:
            raise EvaluationError("not an expression in sizes", expr)
        if isinstance(left, Interval) or isinstance(right, Interval):
            return self._locate_errors(expr, lambda: ARITHMETIC[op](Interval.of(left), Interval.of(right)))
        if op != "/":
            return _normalise_value(ARITHMETIC[op](left, right))
        if not right:
            raise UndefinedError("division by zero", expr)
        return _normalise_value(Fraction(left) / right)


_STRICT_FAILURES = {
    "/": "`/` between sizes must divide",
    "log2": "`log2` of a size that is not a power of 2",
    "sqrt": "`sqrt` of a size that is not a square",
    "^": "a negative power of a size is not an integer",
}


def _get_operation_name(expr: s.Expr) -> str:
    match expr:
        case s.Binary(op=name) | s.Call(function=name):
            return name
        case s.Integer() | s.Real() | s.Name() | s.Unary() | s.Element() | s.Reshape():
            return ""
