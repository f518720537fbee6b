"""Exact values of expressions in sizes at integer points, and the truth of facts there.

`+ - * / // % ^`, `min max abs floor ceil` are exact in integers and fractions. `log2`, `sqrt` and powers with
other than integer exponents are exact where the result is rational and otherwise an `Enclosure`, so that
comparisons and floors are decided or not, never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from fractions import Fraction

from archline.expr import tree as s
from archline.expr.tree import defined_sizes
from archline.records import record

MAX_BITS = 1 << 16
"""The longest number that is computed; beyond it evaluation is refused."""
_MAX_DECIMAL_EXPONENT = 4000
MAX_DEGREE = 12
"""The highest degree of a root that is looked for among the rationals."""
# The C library's functions err by at most a few units in the last place (2^-52), and rounding an exponent
# below 1000 moves a power by 2^-43 at most; this leaves a margin.
_RELATIVE_ERROR = Fraction(1, 1 << 40)


class EvaluationError(Exception):
    """An expression without a value at a point: what is wrong, and the sub-expression it is wrong with."""

    def __init__(self, message: str, expr: s.Expr | None = None) -> None:
        super().__init__(message)
        self.expr = expr


@record
class Enclosure:
    """A real number known only to lie in [lo, hi], lo < hi."""

    lo: Fraction
    hi: Fraction


Value = int | Fraction | Enclosure
Point = Mapping[str, Value]
Rounds = Callable[[s.Expr], bool]
"""Whether the value of an expression is rounded to a floating-point number of 64 bits, as a run does."""


def evaluate(expr: s.Expr, point: Point, rounds: Rounds | None = None) -> Value:
    """The value of an expression at a point; `/` is division of rationals. Raises EvaluationError."""
    return _Evaluator(point, False, rounds).value(expr)


def evaluate_static(expr: s.Expr, point: Point) -> int:
    """The value of an integer expression of a body.

    Raises EvaluationError where a `/` does not divide, a `log2` or `sqrt` is no integer, a name has no value.
    """
    value = _Evaluator(point, strict=True).value(expr)
    if not isinstance(value, int):
        raise EvaluationError("the value is not an integer", expr)
    return value


def given_by_facts(facts: Iterable[s.Fact], point: Point) -> dict[str, int]:
    """The sizes that facts give by those of a point, as s == n*m/P does: those that are whole numbers there."""
    found: dict[str, int] = {}
    defined = list(defined_sizes(facts))
    # A fact may have sizes that a later one gives.
    for _ in defined:
        for name, expr in defined:
            if name not in point and name not in found:
                with suppress(EvaluationError):
                    found[name] = evaluate_static(expr, {**found, **point})
    return found


def real_function(name: str, value: Fraction) -> Value:
    """sqrt, log2, floor or ceil of a number, enclosed where it is irrational; ValueError where it is undefined."""
    match name:
        case "sqrt" if value >= 0:
            return _sqrt(value)
        case "log2" if value > 0:
            return _log2(value)
        case "floor":
            return math.floor(value)
        case "ceil":
            return math.ceil(value)
        case _:
            raise ValueError(f"{name}({value}) is not defined")


def real_power(base: Fraction, exponent: Fraction) -> Value:
    """A positive number to a rational power, enclosed where it is irrational. Raises EvaluationError beyond 2^1000."""
    if exponent == Fraction(1, 2):
        return _sqrt(base)
    lo, hi = (end * exponent for end in _ends(_log2(base)))
    return _power_of_two(min(lo, hi), max(lo, hi))


def _power_of_two(lo: Fraction, hi: Fraction, expr: s.Expr | None = None) -> Value:
    if max(abs(lo), abs(hi)) > 1000:
        raise EvaluationError("the power is too large or too small", expr)
    low, high = (Fraction(2.0 ** float(end)) for end in (lo, hi))
    return Enclosure(low * (1 - _RELATIVE_ERROR), high * (1 + _RELATIVE_ERROR))


def holds(fact: s.Fact, point: Point, rounds: Rounds | None = None) -> bool | None:
    """Whether a fact is true at a point. None: not decided, since a name, a value or precision is missing."""
    try:
        match fact:
            case s.IsPower(value=value, base=base):
                return _is_power(_exact(value, point), _exact(base, point))
            case s.IsSquare(value=value):
                number = _exact(value, point)
                return number >= 0 and _root(number) is not None
            case s.Divides(divisor=divisor, value=value):
                by = _exact(divisor, point)
                return by != 0 and (Fraction(_exact(value, point)) / by).denominator == 1
            case _:
                return _truth(fact, point, rounds)
    except EvaluationError:
        return None


def _truth(condition: s.Expr, point: Point, rounds: Rounds | None) -> bool | None:
    match condition:
        case s.Unary(op="not", operand=operand):
            inner = holds(operand, point, rounds)
            return None if inner is None else not inner
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            settled = op == "or"
            sides = (holds(left, point, rounds), holds(right, point, rounds))
            if settled in sides:
                return settled
            return None if None in sides else not settled
        case s.Binary(op=op, left=left, right=right) if op in _COMPARISONS:
            return _compare(op, evaluate(left, point, rounds), evaluate(right, point, rounds))
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
    if not isinstance(left, Enclosure) and not isinstance(right, Enclosure):
        return _COMPARISONS[op](left, right)
    (a, b), (c, d) = _ends(left), _ends(right)
    # Disjoint enclosures compare as any two of their points do.
    return _COMPARISONS[op](a, c) if b < c or d < a else None


def _exact(expr: s.Expr, point: Point) -> int | Fraction:
    value = evaluate(expr, point)
    if isinstance(value, Enclosure):
        raise EvaluationError("the value is not rational", expr)
    return value


def _is_power(value: int | Fraction, base: int | Fraction) -> bool:
    if base < 2 or value < 1:
        return value == 1
    while value > 1:
        value = Fraction(value) / base
    return value == 1


def _levels(value: Value, base: Value) -> int | None:
    """The k of a value that is base^k, k >= 0; None for others."""
    if isinstance(value, Enclosure) or isinstance(base, Enclosure) or base < 2 or not _is_power(value, base):
        return None
    levels = 0
    while value > 1:
        value, levels = Fraction(value) / base, levels + 1
    return levels


def _ends(value: Value) -> tuple[int | Fraction, int | Fraction]:
    return (value.lo, value.hi) if isinstance(value, Enclosure) else (value, value)


def _span(lo: int | Fraction, hi: int | Fraction) -> Value:
    return _tidy(lo) if lo == hi else Enclosure(Fraction(lo), Fraction(hi))


def _tidy(value: int | Fraction) -> int | Fraction:
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _around(value: float) -> Enclosure:
    centre = Fraction(value)
    margin = max(abs(centre), Fraction(1)) * _RELATIVE_ERROR
    return Enclosure(centre - margin, centre + margin)


def _floor(value: Value, expr: s.Expr) -> int:
    lo, hi = _ends(value)
    if math.floor(lo) != math.floor(hi):
        raise EvaluationError("the value is too close to an integer to be rounded", expr)
    return math.floor(lo)


def _root(value: int | Fraction) -> int | Fraction | None:
    """The square root of a number >= 0 where it is rational."""
    number = Fraction(value)
    top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
    if top * top == number.numerator and bottom * bottom == number.denominator:
        return _tidy(Fraction(top, bottom))
    return None


def _exact_root(value: Fraction, degree: int) -> int | Fraction | None:
    """The root of a positive number where it is rational; None for high degrees too."""
    if degree > MAX_DEGREE:
        return None
    top, bottom = (_whole_root(part, degree) for part in (value.numerator, value.denominator))
    return None if top is None or bottom is None else _tidy(Fraction(top, bottom))


def _whole_root(value: int, degree: int) -> int | None:
    low, high = 1, 1 << -(-value.bit_length() // degree)
    while low < high:
        middle = (low + high) // 2
        if middle**degree < value:
            low = middle + 1
        else:
            high = middle
    return low if low**degree == value else None


class _Evaluator:
    """Evaluates at one point. `strict`: as in a body, where every intermediate value is an integer."""

    def __init__(self, point: Point, strict: bool, rounds: Rounds | None = None) -> None:
        self._point = point
        self._strict = strict
        self._rounds = rounds

    def value(self, expr: s.Expr) -> Value:
        return self._checked(expr, self._unchecked(expr))

    def _unchecked(self, expr: s.Expr) -> Value:
        match expr:
            case s.Integer(value=number):
                return number
            case s.Real(text=text):
                return self._real(expr, text)
            case s.Name(id=name):
                if name not in self._point:
                    raise EvaluationError(f"`{name}` has no value here", expr)
                return self._point[name]
            case s.Unary(op="-", operand=operand):
                lo, hi = _ends(self.value(operand))
                return _span(-hi, -lo)
            case s.Binary(op="^", left=left, right=s.Binary(op="/", left=above, right=s.Call("log2", (inner,)))) if (
                levels := _levels(self.value(left), self.value(inner))
            ) is not None:
                # (b^k)^(e/log2(b)) is 2^(k*e), which no enclosure tells from a number beside it.
                return self._power(expr, 2, self._binary(expr, "*", levels, self.value(above)))
            case s.Binary(op=op, left=left, right=right) if op in _ARITHMETIC:
                return self._binary(expr, op, self.value(left), self.value(right))
            case s.Call(function="real_of", arguments=(inner,)) if self._rounds is not None:
                return self.value(inner)
            case s.Call(function="floor" | "ceil" as function, arguments=(inner,)):
                # What is rounded need not be an integer itself.
                return self._call(expr, function, [self._unchecked(inner)])
            case s.Call(function=function, arguments=arguments) if function in _FUNCTIONS and arguments:
                return self._call(expr, function, [self.value(each) for each in arguments])
            case s.Unary() | s.Binary() | s.Call() | s.Element() | s.Reshape():
                raise EvaluationError("not an expression in sizes", expr)

    def _checked(self, expr: s.Expr, value: Value) -> Value:
        if isinstance(value, int) and value.bit_length() <= MAX_BITS and self._rounds is None:
            return value
        if self._strict and not isinstance(value, int):
            raise EvaluationError(_STRICT_FAILURES.get(_operation(expr), "the value is not an integer"), expr)
        for end in _ends(value) if not isinstance(value, int) else (value,):
            if max(end.numerator.bit_length(), end.denominator.bit_length()) > MAX_BITS:
                raise EvaluationError(f"the value has more than {MAX_BITS} bits", expr)
        return value if self._rounds is None or not self._rounds(expr) else self._rounded(expr, value)

    def _rounded(self, expr: s.Expr, value: Value) -> Value:
        """The value of an operation as a run rounds it; powers need not be rounded correctly."""
        if isinstance(value, Enclosure):
            return value
        try:
            nearest = float(value)
        except OverflowError:
            raise EvaluationError("the number is too large", expr) from None
        return _around(nearest) if _operation(expr) == "^" else _tidy(Fraction(nearest))

    def _real(self, expr: s.Expr, text: str) -> Value:
        exponent = text.lower().partition("e")[2]
        huge = len(exponent) > 6 or abs(int(exponent or "0")) > _MAX_DECIMAL_EXPONENT
        if huge or len(text) > MAX_BITS // 4:
            raise EvaluationError("the number is too large or too small", expr)
        return _tidy(Fraction(text))

    def _binary(self, expr: s.Expr, op: str, left: Value, right: Value) -> Value:
        if op == "^":
            return self._power(expr, left, right)
        if op in ("//", "%"):
            if right == 0:
                raise EvaluationError("division by zero", expr)
            if isinstance(left, int) and isinstance(right, int):
                return left // right if op == "//" else left % right
            quotient = _floor(self._binary(expr, "/", left, right), expr)
            if op == "//":
                return quotient
            return self._binary(expr, "-", left, self._binary(expr, "*", quotient, right))
        (a, b), (c, d) = _ends(left), _ends(right)
        if op == "/" and c <= 0 <= d:
            raise EvaluationError("division by zero", expr)
        if a is b and c is d and op != "/":
            return _tidy(a + c if op == "+" else a - c if op == "-" else a * c)
        match op:
            case "+":
                return _span(a + c, b + d)
            case "-":
                return _span(a - d, b - c)
            case "*":
                corners = [a * c, a * d, b * c, b * d]
            case _:
                corners = [Fraction(above) / below for above in {a, b} for below in {c, d}]
        return _span(min(corners), max(corners))

    def _power(self, expr: s.Expr, base: Value, exponent: Value) -> Value:
        if isinstance(base, Enclosure) or not isinstance(exponent, int):
            return self._real_power(expr, base, exponent)
        if base == 0 and exponent < 0:
            raise EvaluationError("division by zero", expr)
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if base not in (0, 1, -1) and bits * abs(exponent) > MAX_BITS:
            raise EvaluationError(f"the power has more than {MAX_BITS} bits", expr)
        if base in (0, 1, -1):
            return int(base) if exponent % 2 else int(exponent == 0 or base != 0)
        return _tidy(Fraction(base) ** exponent)

    def _real_power(self, expr: s.Expr, base: Value, exponent: Value) -> Value:
        if exponent == Fraction(1, 2):
            return self._call(expr, "sqrt", [base])
        if _ends(base)[0] <= 0:
            raise EvaluationError("a power of this kind needs a positive base", expr)
        if isinstance(exponent, Fraction) and not isinstance(base, Enclosure):
            root = _exact_root(Fraction(base), exponent.denominator)
            if root is not None:
                return self._power(expr, root, exponent.numerator)
        lo, hi = _ends(self._binary(expr, "*", self._call(expr, "log2", [base]), exponent))
        return _power_of_two(Fraction(lo), Fraction(hi), expr)

    def _call(self, expr: s.Expr, function: str, values: list[Value]) -> Value:
        lows, highs = zip(*map(_ends, values), strict=True)
        lo, hi = lows[0], highs[0]
        match function:
            case "min":
                return _span(min(lows), min(highs))
            case "max":
                return _span(max(lows), max(highs))
            case "abs":
                return _span(max(lo, -hi, 0), max(-lo, hi))
            case "floor":
                return _floor(values[0], expr)
            case "ceil":
                return -_floor(self._binary(expr, "-", 0, values[0]), expr)
            case "sqrt":
                if lo < 0:
                    raise EvaluationError("square root of a negative number", expr)
                return _hull(_sqrt(lo), _sqrt(hi))
            case "gcd":
                whole = [each for each in values if isinstance(each, int)]
                if len(whole) < len(values):
                    raise EvaluationError("a common divisor of what is not an integer", expr)
                return math.gcd(*whole)
            case _:
                if lo <= 0:
                    raise EvaluationError("logarithm of a number that is not positive", expr)
                return _hull(_log2(lo), _log2(hi))


def _hull(low: Value, high: Value) -> Value:
    return _span(_ends(low)[0], _ends(high)[1])


def _sqrt(value: Fraction) -> Value:
    exact = _root(value)
    if exact is not None:
        return exact
    scale = value.denominator << 64
    root = math.isqrt((value.numerator * value.denominator) << 128)
    return Enclosure(Fraction(root, scale), Fraction(root + 1, scale))


def _log2(value: Fraction) -> Value:
    top, bottom = value.numerator, value.denominator
    if top & (top - 1) == 0 and bottom & (bottom - 1) == 0:
        return top.bit_length() - bottom.bit_length()
    parts = _around(math.log2(top)), _around(math.log2(bottom))
    return Enclosure(parts[0].lo - parts[1].hi, parts[0].hi - parts[1].lo)


_ARITHMETIC = frozenset(("+", "-", "*", "/", "//", "%", "^"))
_FUNCTIONS = frozenset(("min", "max", "abs", "floor", "ceil", "gcd", "sqrt", "log2"))
_STRICT_FAILURES = {
    "/": "`/` between sizes must divide",
    "log2": "`log2` of a size that is not a power of 2",
    "sqrt": "`sqrt` of a size that is not a square",
    "^": "a negative power of a size is not an integer",
}


def _operation(expr: s.Expr) -> str:
    match expr:
        case s.Binary(op=name) | s.Call(function=name):
            return name
        case s.Integer() | s.Real() | s.Name() | s.Unary() | s.Element() | s.Reshape():
            return ""
