"""Expressions on reals. Every operation is one flop; negation, literals and `real_of` are free."""

from __future__ import annotations

import math

from archline.execution.codegen.elements import call_extern, read, read_register
from archline.execution.codegen.integers import bracket, integer
from archline.execution.codegen.scope import Function, is_extern
from archline.execution.codegen.values import Code, Register, named
from archline.language import syntax as s
from archline.language.model import Kind

KINDS = {"+": "add", "-": "sub", "*": "mul", "/": "div", "^": "pow"}
COMPARISON = "compare"
_FUNCTIONS = {
    "sqrt": "real_sqrt",
    "rsqrt": "real_rsqrt",
    "exp": "real_exp",
    "log": "real_log",
    "log2": "real_log2",
    "sin": "real_sin",
    "cos": "real_cos",
    "abs": "abs",
    "floor": "real_floor",
    "ceil": "real_ceil",
}


def real(fn: Function, expr: s.Expr) -> Code:
    """The value of an expression of kind REAL, or of an integer where a real is wanted."""
    match expr:
        case s.Integer(value=value):
            return Code(_literal(_rounded(value)))
        case s.Real(text=text):
            return Code(_literal(float(text)))
        case s.Name(id="pi"):
            return Code(repr(math.pi))
        case s.Unary(op="-", operand=operand):
            inner = real(fn, operand)
            return bracket(fn, f"-{inner.text}", inner)
        case _:
            pass
    if fn.kind(expr) is not Kind.REAL:
        whole = integer(fn, expr)
        return bracket(fn, f"float({whole.text})", whole)
    match expr:
        case s.Name(id=name):
            register = fn.names[name]
            assert isinstance(register, Register)
            return Code(read_register(fn, expr, register))
        case s.Binary(op=op, left=left, right=right):
            return _binary(fn, op, left, right)
        case s.Call():
            return _call(fn, expr)
        case s.Element():
            return named(read(fn, expr))
        case s.Unary() | s.Reshape():
            raise AssertionError(f"not a real expression: {expr}")


def _rounded(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _literal(value: float) -> str:
    if math.isinf(value):
        return "infinity" if value > 0 else "(-infinity)"
    return repr(value) if value >= 0 else f"({value!r})"


def combine(fn: Function, op: str, left: Code, right: Code) -> Code:
    """`left op right` on reals, not counted here."""
    if op == "/":
        return bracket(fn, f"divide({left.text}, {right.text})", left, right)
    return bracket(fn, f"{left.text} {op} {right.text}", left, right)


def _binary(fn: Function, op: str, left: s.Expr, right: s.Expr) -> Code:
    base = real(fn, left)
    if op == "^":
        exponent = integer(fn, right)
        fn.operation(KINDS[op], real=True)
        return bracket(fn, f"power({base.text}, float({exponent.text}))", base, exponent)
    other = real(fn, right)
    fn.operation(KINDS[op], real=True)
    return combine(fn, op, base, other)


def extreme(fn: Function, function: str, left: Code, right: Code) -> Code:
    """`min` or `max` of two reals, not counted here."""
    return bracket(fn, f"real_{function}({left.text}, {right.text})", left, right)


def _call(fn: Function, expr: s.Call) -> Code:
    if is_extern(fn, expr):
        return named(call_extern(fn, expr))
    function = expr.function
    if function == "real_of":
        whole = integer(fn, expr.arguments[0])
        return bracket(fn, f"float({whole.text})", whole)
    values = [real(fn, argument) for argument in expr.arguments]
    if function in ("min", "max"):
        result = values[0]
        for value in values[1:]:
            fn.operation(function, real=True)
            result = extreme(fn, function, result, value)
        return result
    fn.operation(function, real=True)
    return bracket(fn, f"{_FUNCTIONS[function]}({values[0].text})", values[0])
