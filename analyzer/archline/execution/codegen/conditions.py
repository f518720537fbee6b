"""Write the code for conditions, for facts, and for formulas whose values may be real.

`and` and `or` evaluate their right side only if the left one does not decide; a side that is not evaluated has no cost
and no accesses.
"""

from __future__ import annotations

from archline.execution.codegen.expressions import COMPARISON_KIND, make_atom, write_integer, write_real
from archline.execution.codegen.scope import AlgorithmWriter
from archline.execution.codegen.values import Code
from archline.execution.slots import INT_LIMIT
from archline.language import syntax as s
from archline.language.model import Kind

COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


def write_condition(fn: AlgorithmWriter, expr: s.Expr) -> str:
    """Write the code of a condition; return its expression, a name or in brackets."""
    match expr:
        case s.Unary(op="not", operand=operand):
            return f"(not {write_condition(fn, operand)})"
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            return _write_short_circuit(fn, op, left, right)
        case s.Binary(op=op, left=left, right=right) if op in COMPARISONS:
            return _write_comparison(fn, op, left, right)
        case _:
            # What is declared as `bool` is a condition without an operation.
            return f"({write_integer(fn, expr).text} != 0)"


def _write_short_circuit(fn: AlgorithmWriter, op: str, left: s.Expr, right: s.Expr) -> str:
    result = fn.assign_name(write_condition(fn, left), "c")
    header = f"if {result}:" if op == "and" else f"if not {result}:"
    if fn.free:
        with fn.indented(header, right.span):
            fn.emit(f"{result} = {write_condition(fn, right)}")
    else:
        with fn.counted(header, right.span):
            fn.emit(f"{result} = {write_condition(fn, right)}")
    return result


def _write_comparison(fn: AlgorithmWriter, op: str, left: s.Expr, right: s.Expr) -> str:
    kinds = (fn.get_expression_kind(left), fn.get_expression_kind(right))
    if Kind.REAL in kinds:
        first, second = write_real(fn, left), write_real(fn, right)
        fn.count_operation(COMPARISON_KIND, real=True)
    else:
        first, second = write_integer(fn, left), write_integer(fn, right)
        if Kind.INT in kinds:
            fn.count_operation(op, real=False)
    return f"({first.text} {op} {second.text})"


def write_fact(fn: AlgorithmWriter, expr: s.Fact) -> str:
    """Write the test of a fact, which has no cost; return its expression. Call it inside `uncounted`."""
    match expr:
        case s.IsPower(value=value, base=base):
            return f"is_power({write_integer_atom(fn, value)}, {write_integer_atom(fn, base)})"
        case s.IsSquare(value=value):
            return f"(exact_sqrt({write_integer_atom(fn, value)}) >= 0)"
        case s.Divides(divisor=divisor, value=value):
            atom = write_integer_atom(fn, divisor)
            return f"({atom} != 0 and {write_integer_atom(fn, value)} % {atom} == 0)"
        case s.Unary(op="not", operand=operand):
            return f"(not {write_fact(fn, operand)})"
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            result = fn.assign_name(write_fact(fn, left), "c")
            with fn.indented(f"if {result}:" if op == "and" else f"if not {result}:", right.span):
                fn.emit(f"{result} = {write_fact(fn, right)}")
            return result
        case s.Binary(op=op, left=left, right=right) if op in COMPARISONS:
            if Kind.REAL in (fn.get_expression_kind(left), fn.get_expression_kind(right)):
                return _write_comparison(fn, op, left, right)
            (first, _), (second, _) = write_quantity(fn, left), write_quantity(fn, right)
            return f"({first.text} {op} {second.text})"
        case _:
            raise AssertionError(f"not a fact: {expr}")


def write_integer_atom(fn: AlgorithmWriter, expr: s.Expr) -> str:
    """Write an atom for an integer in a fact."""
    return make_atom(fn, write_integer(fn, expr))


def write_quantity(fn: AlgorithmWriter, expr: s.Expr) -> tuple[Code, bool]:
    """Write a formula that may be real, in a fact or `at most`; return it and whether it is an integer.

    `/`, `log2` and `sqrt` are computed on reals, and make the whole formula real.
    """
    match expr:
        case s.Unary(op="-", operand=operand):
            inner, exact = write_quantity(fn, operand)
            return Code(f"(-{inner.text})", inner.bound), exact
        case s.Binary(op=op, left=left, right=right) if op in ("+", "-", "*", "/", "^"):
            return _write_real_binary(fn, expr, op, left, right)
        case s.Call(function="log2" | "sqrt" as function, arguments=(argument,)):
            inner, _ = write_quantity(fn, argument)
            return Code(f"real_{function}(float({inner.text}))"), False
        case s.Call(function="min" | "max" as function, arguments=arguments):
            parts = [write_quantity(fn, argument) for argument in arguments]
            if all(exact for _, exact in parts):
                return write_integer(fn, expr), True
            result = f"float({parts[0][0].text})"
            for part, _ in parts[1:]:
                result = f"real_{function}({result}, float({part.text}))"
            return Code(result), False
        case s.Call(function="floor" | "ceil" as function, arguments=(argument,)):
            inner, exact = write_quantity(fn, argument)
            return (inner, True) if exact else (Code(f"real_{function}({inner.text})"), False)
        case s.Call(function="abs", arguments=(argument,)):
            inner, exact = write_quantity(fn, argument)
            return Code(f"abs({inner.text})", inner.bound), exact
        case s.Real():
            return write_real(fn, expr), False
        case _:
            return write_integer(fn, expr), True


def _write_real_binary(fn: AlgorithmWriter, expr: s.Expr, op: str, left: s.Expr, right: s.Expr) -> tuple[Code, bool]:
    (a, a_exact), (b, b_exact) = write_quantity(fn, left), write_quantity(fn, right)
    if op == "/":
        return Code(f"divide(float({a.text}), float({b.text}))"), False
    if op == "^":
        if a_exact and b.text.isdigit():
            return write_integer(fn, expr), True
        return Code(f"power(float({a.text}), float({b.text}))"), False
    if not (a_exact and b_exact):
        return Code(f"(float({a.text}) {op} float({b.text}))"), False
    if fn.options.compiled and (a.bound is None or b.bound is None or a.bound * b.bound > INT_LIMIT // 2):
        return write_integer(fn, expr), True
    return Code(f"({a.text} {op} {b.text})", (a.bound or 1) * (b.bound or 1) * 2), True
