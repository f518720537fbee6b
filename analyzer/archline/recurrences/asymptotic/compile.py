"""Expressions of recurrences as closures of the names' values and the values of recursive calls."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from archline.language import syntax as s
from archline.recurrences.asymptotic.arithmetic import EXACT, Arithmetic
from archline.recurrences.asymptotic.problem import EquationCase

Number: TypeAlias = Any
"""A number of an arithmetic: fmpq, float or arb."""
Code: TypeAlias = Callable[[Mapping[str, Number], list[Number]], Number]


class EvaluationRefusedError(Exception):
    """A recurrence that cannot be followed at a size: it does not end, takes too long, or has no value there."""


@dataclass(frozen=True)
class CompiledCase:
    """A case: its condition, the calls in its value by function and argument, and the value from the calls' values."""

    condition: Callable[[Mapping[str, Number]], bool] | None
    calls: tuple[tuple[str, tuple[Code, ...]], ...]
    value: Code


class Compiler:
    """Turns expressions into closures of the names' values and the calls' values."""

    def __init__(self, arithmetic: Arithmetic, functions: frozenset[str], exact_logs: bool) -> None:
        self._arithmetic = arithmetic
        self._functions = functions
        self._shift = arithmetic.number(0 if exact_logs else 2)

    def case(self, case: EquationCase) -> CompiledCase:
        calls: list[s.Call] = []
        value = self.compile(case.value, calls)
        arguments = tuple((each.function, tuple(self.compile(a, []) for a in each.arguments)) for each in calls)
        condition = None if case.condition is None else self._condition(case.condition)
        return CompiledCase(condition, arguments, value)

    def compile(self, expr: s.Expr, calls: list[s.Call]) -> Code:
        """The expression's closure; recursive calls in it are appended to `calls`, their values come in that order."""
        match expr:
            case s.Binary(op=op, left=s.Integer(), right=s.Integer()):
                code = self._binary(op, self.compile(expr.left, calls), self.compile(expr.right, calls))
                return _constant(code({}, []))
            case s.Integer(value=value):
                return _constant(self._arithmetic.number(value))
            case s.Real(text=text):
                return _constant(self._arithmetic.number(Fraction(text)))
            case s.Name(id="pi"):
                return _constant(self._arithmetic.pi())
            case s.Name(id=name):
                return _lookup(name)
            case s.Unary(op="-", operand=operand):
                inner = self.compile(operand, calls)
                return lambda names, values: -inner(names, values)
            case s.Binary(op=op, left=left, right=right):
                return self._binary(op, self.compile(left, calls), self.compile(right, calls))
            case s.Call(function=function, arguments=arguments) if function in self._functions:
                calls.append(expr)
                at = len(calls) - 1
                return lambda names, values: values[at]
            case s.Call(function=function, arguments=arguments):
                varies = any(isinstance(node, s.Name) and node.id != "pi" for node in s.nodes(arguments))
                return self._call(function, [self.compile(each, calls) for each in arguments], varies)
            case _:
                raise EvaluationRefusedError("not an expression in sizes")

    def _binary(self, op: str, left: Code, right: Code) -> Code:
        match op:
            case "+":
                return lambda names, values: left(names, values) + right(names, values)
            case "-":
                return lambda names, values: left(names, values) - right(names, values)
            case "*":
                return lambda names, values: left(names, values) * right(names, values)
            case _:
                pass
        function = getattr(self._arithmetic, _SPECIAL[op])
        return lambda names, values: function(left(names, values), right(names, values))

    def _call(self, function: str, arguments: list[Code], varies: bool) -> Code:
        if function in ("min", "max"):
            choose = min if function == "min" else max
            return lambda names, values: choose(each(names, values) for each in arguments)
        (inner,) = arguments
        if function in ("log2", "log") and varies:
            shift = self._shift
            log = getattr(self._arithmetic, function)
            return lambda names, values: log(inner(names, values) + shift)
        apply = abs if function == "abs" else getattr(self._arithmetic, function)
        return lambda names, values: apply(inner(names, values))

    def _condition(self, fact: s.Fact) -> Callable[[Mapping[str, Number]], bool]:
        match fact:
            case s.Unary(op="not", operand=operand):
                inner = self._condition(operand)
                return lambda names: not inner(names)
            case s.Binary(op="and" | "or" as op, left=left, right=right):
                first, second = self._condition(left), self._condition(right)
                if op == "and":
                    return lambda names: first(names) and second(names)
                return lambda names: first(names) or second(names)
            case s.Binary(op=op, left=left, right=right) if op in _COMPARISONS:
                compare, lower, upper = _COMPARISONS[op], self.compile(left, []), self.compile(right, [])
                difference = self._arithmetic.difference
                return lambda names: bool(compare(difference(lower(names, []), upper(names, [])), 0))
            case _:
                raise EvaluationRefusedError("conditions of cases are comparisons")


_SPECIAL = {"/": "divide", "^": "power", "//": "floor_divide", "%": "remainder"}
_COMPARISONS: dict[str, Callable[[Number, Number], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def _constant(value: Number) -> Code:
    return lambda names, values: value


def _lookup(name: str) -> Code:
    def look(names: Mapping[str, Number], values: list[Number]) -> Number:
        try:
            return names[name]
        except KeyError:
            raise EvaluationRefusedError(f"`{name}` has no value") from None

    return look


class Formula:
    """An expression without recursive calls, such as a closed form, ready to be evaluated at many points."""

    def __init__(self, expr: s.Expr, arithmetic: Arithmetic = EXACT, *, exact_logs: bool = True) -> None:
        self._arithmetic = arithmetic
        self._code = Compiler(arithmetic, frozenset(), exact_logs).compile(expr, [])

    def at(self, point: Mapping[str, int | Fraction | float]) -> Number:
        """The value. Raises NoValueError, and EvaluationRefusedError where a name has none."""
        return self._code({name: self._arithmetic.number(value) for name, value in point.items()}, [])


def value_at(
    expr: s.Expr,
    point: Mapping[str, int | Fraction | float],
    arithmetic: Arithmetic = EXACT,
    *,
    exact_logs: bool = True,
) -> Number:
    """The value of an expression without recursive calls at one point. Raises as `Formula.at` does."""
    return Formula(expr, arithmetic, exact_logs=exact_logs).at(point)
