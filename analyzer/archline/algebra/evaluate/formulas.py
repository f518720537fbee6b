"""Evaluates expressions of the language in any arithmetic: rationals, or floats of any magnitude.

Expressions are compiled to closures of the values of names and of recursive calls.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from archline.expr.intervals import EvaluationError
from archline.expr.values import ARITHMETIC, fold
from archline.language import syntax as s
from archline.numbers import arb, fmpq, fmpz

Number: TypeAlias = Any
"""A number of an arithmetic: fmpq or arb."""
CompiledCode: TypeAlias = Callable[[Mapping[str, Number], list[Number]], Number]
PythonNumber: TypeAlias = int | Fraction | float
MAX_BITS = 1 << 16
MAX_SIZE_BITS = 1 << 12
_RELATIVE_TOLERANCE = 1e-9


class EvaluationRefusedError(Exception):
    """A recurrence cannot be evaluated at a size: it does not end, takes too long, or has no value there."""


class NoValueError(Exception):
    """An operation has no value in an arithmetic, such as an irrational root among rationals."""


def exact_root(value: fmpq, degree: int) -> fmpq | None:
    """Return the root of a number >= 0 if it is rational, else None."""
    # For degrees from its number of bits on, the root of a number above 1 lies between 1 and 2.
    degree = min(degree, 1 + max(int(value.p).bit_length(), int(value.q).bit_length()))
    top, bottom = fmpz(value.p).root(degree), fmpz(value.q).root(degree)
    return fmpq(top, bottom) if top**degree == value.p and bottom**degree == value.q else None


class Arithmetic:
    """Operations on rationals except + - * and comparisons, which numbers define themselves.

    Irrational results have no value among rationals; subclasses have other numbers.
    """

    def number(self, value: PythonNumber) -> Number:
        fraction = Fraction(value)
        return fmpq(fraction.numerator, fraction.denominator)

    def to_python_number(self, value: Number) -> Fraction | float:
        return Fraction(int(value.p), int(value.q))

    def normalise_size(self, value: Number) -> Number:
        """Return the size of a recursive call with rounding errors removed. Raises NoValueError if it is too long."""
        if int(value.p).bit_length() + int(value.q).bit_length() > MAX_SIZE_BITS:
            raise NoValueError("a size has too many digits")
        return value

    def key(self, value: Number) -> object:
        """Return a key that is equal for sizes that differ only by rounding."""
        return value

    def difference(self, left: Number, right: Number) -> Number:
        """Return left - right for a comparison: 0 for numbers that differ only by rounding."""
        return left - right

    def min(self, values: Sequence[Number]) -> Number:
        return min(values)

    def max(self, values: Sequence[Number]) -> Number:
        return max(values)

    def pi(self) -> Number:
        raise NoValueError("pi is irrational")

    def divide(self, left: Number, right: Number) -> Number:
        if right == 0:
            raise NoValueError("division by zero")
        return left / right

    def floor_divide(self, left: Number, right: Number) -> Number:
        return self.floor(self.divide(left, right))

    def remainder(self, left: Number, right: Number) -> Number:
        return left - right * self.floor_divide(left, right)

    def floor(self, value: Number) -> Number:
        return fmpq(value.floor())

    def ceil(self, value: Number) -> Number:
        return -self.floor(-value)

    def power(self, base: Number, exponent: Number) -> Number:
        degree, power = int(exponent.q), int(exponent.p)
        if degree > 1:
            if base < 0 or degree > 64:
                raise NoValueError("a power that is not rational")
            root = exact_root(base, degree)
            if root is None:
                raise NoValueError("a power that is not rational")
            base = root
        if base == 0 and power < 0:
            raise NoValueError("division by zero")
        bits = max(int(base.p).bit_length(), int(base.q).bit_length())
        if base not in (0, 1, -1) and bits * abs(power) > MAX_BITS:
            raise NoValueError("a power has too many digits")
        return base**power

    def sqrt(self, value: Number) -> Number:
        return self.power(value, self.number(Fraction(1, 2)))

    def rsqrt(self, value: Number) -> Number:
        return self.divide(self.number(1), self.sqrt(value))

    def fibonacci(self, value: Number) -> Number:
        """Return the Fibonacci number of an integer >= 0."""
        return self.number(int(fmpz.fib_ui(fmpz(self._to_small_integer(value)))))

    def factorial(self, value: Number) -> Number:
        """Return the factorial of an integer >= 0."""
        if (size := self._to_small_integer(value)) > MAX_SIZE_BITS:
            raise NoValueError("a factorial has too many digits")
        return self.number(math.factorial(size))

    def harmonic(self, value: Number) -> Number:
        """Return 1 + 1/2 + ... + 1/value of an integer >= 0."""
        total = fmpq.harmonic(self._to_small_integer(value))
        return self.number(Fraction(int(total.p), int(total.q)))

    def _to_small_integer(self, value: Number) -> int:
        size = float(self.normalise_size(value))
        if not (size.is_integer() and 0 <= size <= MAX_BITS):
            raise NoValueError(f"factorials, Fibonacci and harmonic numbers need an integer from 0 to {MAX_BITS}")
        return int(size)

    def exp(self, value: Number) -> Number:
        if value != 0:
            raise NoValueError("an irrational number")
        return fmpq(1)

    def log(self, value: Number) -> Number:
        if value != 1:
            raise NoValueError("an irrational number")
        return fmpq(0)

    def log2(self, value: Number) -> Number:
        if value <= 0:
            raise NoValueError("logarithm of a number that is not positive")
        top, bottom = int(value.p), int(value.q)
        if top & (top - 1) or bottom & (bottom - 1):
            raise NoValueError("a logarithm that is not rational")
        return fmpq(top.bit_length() - bottom.bit_length())


class BallArithmetic(Arithmetic):
    """Arithmetic on real numbers as flint's balls, whose exponents are unbounded; sizes are rounded to midpoints."""

    def number(self, value: PythonNumber) -> arb:
        fraction = Fraction(value)
        return arb(fmpq(fraction.numerator, fraction.denominator))

    def to_python_number(self, value: arb) -> float:
        return float(value)

    def normalise_size(self, value: arb) -> arb:
        near = float(value)
        if -math.inf < near < 1e6:
            nearest = round(near)
            if abs(near - nearest) <= _RELATIVE_TOLERANCE * abs(near):
                return arb(nearest)
        return value.mid()

    def key(self, value: arb) -> object:
        near = float(value)
        if 0 < near < math.inf:
            return round(math.log(near) * 4e10)
        return round(float(value.log()) * 4e10) if value > 0 else (near,)

    def difference(self, left: arb, right: arb) -> arb | float:
        first, second = float(left), float(right)
        if abs(first) < math.inf and abs(second) < math.inf:
            return 0.0 if abs(first - second) <= _RELATIVE_TOLERANCE * abs(first) else first - second
        difference = (left - right).mid()
        return arb(0) if abs(difference) <= _RELATIVE_TOLERANCE * abs(left.mid()) else difference

    def pi(self) -> arb:
        return arb.pi()

    def floor(self, value: arb) -> arb:
        return self.normalise_size(value).floor()

    def power(self, base: arb, exponent: arb) -> arb:
        if base == 0:
            if exponent < 0:
                raise NoValueError("division by zero")
            return arb(0 if exponent > 0 else 1)
        result = base ** (self.normalise_size(exponent) if base < 0 else exponent)
        if not result.is_finite():
            raise NoValueError("a power that is not real")
        return result

    def sqrt(self, value: arb) -> arb:
        if value < 0:
            raise NoValueError("square root of a negative number")
        return value.sqrt()

    def factorial(self, value: arb) -> arb:
        return (value + 1).gamma()

    def exp(self, value: arb) -> arb:
        return value.exp()

    def log2(self, value: arb) -> arb:
        return self.log(value) / arb.const_log2()

    def log(self, value: arb) -> arb:
        if not value > 0:
            raise NoValueError("logarithm of a number that is not positive")
        return value.log()


class WholeSizeArithmetic(BallArithmetic):
    """Arithmetic on balls that rounds the sizes of calls down, so that many calls are at the same size."""

    def normalise_size(self, value: arb) -> arb:
        return super().normalise_size(value).floor().mid()


EXACT_ARITHMETIC = Arithmetic()
BALL_ARITHMETIC: Arithmetic = BallArithmetic()
WHOLE_SIZE_ARITHMETIC: Arithmetic = WholeSizeArithmetic()


class FormulaCompiler:
    """Compiles expressions to closures that take the values of names and of the recursive calls listed in `calls`."""

    def __init__(self, arithmetic: Arithmetic, functions: frozenset[str], exact_logs: bool) -> None:
        self._arithmetic, self._functions = arithmetic, functions
        self._shift = arithmetic.number(0 if exact_logs else 2)
        self.calls: list[tuple[str, tuple[CompiledCode, ...]]] = []

    def compile(self, expr: s.Expr) -> CompiledCode:
        self.calls = []
        try:
            return fold(expr, self)
        except EvaluationError as problem:
            raise EvaluationRefusedError(str(problem)) from None

    def number(self, value: int | Fraction, expr: s.Expr) -> CompiledCode:
        return _compile_constant(self._arithmetic.number(value))

    def name(self, name: s.Name) -> CompiledCode:
        return _compile_constant(self._arithmetic.pi()) if name.id == "pi" else _compile_lookup(name.id)

    def negated(self, value: CompiledCode, expr: s.Unary) -> CompiledCode:
        return lambda names, values: -value(names, values)

    def binary(self, op: str, left: CompiledCode, right: CompiledCode, expr: s.Binary) -> CompiledCode:
        operation = ARITHMETIC.get(op) if op != "/" else None
        function = operation or getattr(self._arithmetic, _SPECIAL[op])
        if isinstance(expr.right, s.Integer) and isinstance(expr.left, s.Integer):
            return _compile_constant(function(left({}, []), right({}, [])))
        if op == "/" and isinstance(expr.right, s.Integer) and expr.right.value:
            divisor = right({}, [])
            return lambda names, values: left(names, values) / divisor
        return lambda names, values: function(left(names, values), right(names, values))

    def call(self, function: str, arguments: Sequence[CompiledCode], expr: s.Call) -> CompiledCode:
        if function in self._functions:
            index = len(self.calls)
            self.calls.append((function, tuple(arguments)))
            return lambda names, values: values[index]
        if function in ("min", "max"):
            choose = self._arithmetic.min if function == "min" else self._arithmetic.max
            return lambda names, values: choose([argument(names, values) for argument in arguments])
        (inner,) = arguments
        apply = abs if function == "abs" else getattr(self._arithmetic, function)
        if function in ("log2", "log") and not s.find_names(expr.arguments) <= {"pi"}:
            shift = self._shift
            return lambda names, values: apply(inner(names, values) + shift)
        return lambda names, values: apply(inner(names, values))

    def condition(self, fact: s.Fact) -> Callable[[Mapping[str, Number]], bool]:
        """Return the closure of a condition. Raises EvaluationRefusedError unless it consists of comparisons."""
        match fact:
            case s.Unary(op="not", operand=operand):
                inner = self.condition(operand)
                return lambda names: not inner(names)
            case s.Binary(op="and" | "or" as op, left=left, right=right):
                first, second = self.condition(left), self.condition(right)
                if op == "and":
                    return lambda names: first(names) and second(names)
                return lambda names: first(names) or second(names)
            case s.Binary(op=op, left=left, right=right) if op in _COMPARISONS:
                compare, lower, upper = _COMPARISONS[op], self.compile(left), self.compile(right)
                difference = self._arithmetic.difference
                return lambda names: bool(compare(difference(lower(names, []), upper(names, [])), 0))
            case _:
                raise EvaluationRefusedError("a condition of a case must consist of comparisons")


_SPECIAL = {"/": "divide", "^": "power", "//": "floor_divide", "%": "remainder"}
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _compile_constant(value: Number) -> CompiledCode:
    return lambda names, values: value


def _compile_lookup(name: str) -> CompiledCode:
    def find(names: Mapping[str, Number], values: list[Number]) -> Number:
        try:
            return names[name]
        except KeyError:
            raise EvaluationRefusedError(f"`{name}` has no value") from None

    return find


class CompiledFormula:
    """An expression without recursive calls, such as a closed form, ready to be evaluated at many points."""

    def __init__(self, expr: s.Expr, arithmetic: Arithmetic = EXACT_ARITHMETIC, *, exact_logs: bool = True) -> None:
        self._arithmetic = arithmetic
        self._code = FormulaCompiler(arithmetic, frozenset(), exact_logs).compile(expr)

    def at(self, point: Mapping[str, Any]) -> Number:
        """Return the value. Raises NoValueError, and EvaluationRefusedError if a name has none."""
        return self._code({name: self._arithmetic.number(value) for name, value in point.items()}, [])


def value_at(
    expr: s.Expr, point: Mapping[str, int | Fraction | float], arithmetic: Arithmetic = EXACT_ARITHMETIC
) -> Number:
    """Return the value of an expression without recursive calls at a point. Raises as `CompiledFormula.at` does."""
    return CompiledFormula(expr, arithmetic).at(point)
