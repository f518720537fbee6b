"""Write sequences of integers as expressions of the same order, by the formulas of Stirling and Binet.

For sizes n >= 1 the terms `factorial(n)` and `arrangements(n)`, which is between n! and 3*n!, are Theta of
sqrt(n)*(n/e)^n, with logarithms of the order of n*log(n), and `fibonacci(n)` is Theta of ((1 + sqrt(5))/2)^n.
"""

from __future__ import annotations

from archline.expr import build as b
from archline.expr.sequences import SEQUENCES
from archline.expr.tree import rewrite_parts
from archline.growth.normal_form import has_minus
from archline.language import syntax as s

GOLDEN_RATIO = b.binary("/", b.binary("+", b.ONE, b.call("sqrt", b.number(5))), b.number(2))


def replace_sequences(expr: s.Expr, upper: bool = False) -> s.Expr:
    """Replace the sequences in an expression in which only orders count; others stay as they are.

    In a subtraction and in an exponent constant factors count too. With `upper` the expression may become larger:
    numbers that are subtracted are left out. exp(x) is written as exp(1)^x.
    """
    expr = rewrite_parts(expr, _replace_exponential)
    powers = (node.right for node in s.iterate_nodes(expr) if isinstance(node, s.Binary) and node.op == "^")
    if not _has_sequence(expr) or any(map(_has_sequence, powers)):
        return expr
    while upper and isinstance(expr, s.Binary) and expr.op == "-" and isinstance(expr.right, s.Integer):
        expr = expr.left
    return expr if has_minus(expr) else rewrite_parts(expr, _replace_sequence)


def _has_sequence(expr: s.Expr) -> bool:
    return any(isinstance(node, s.Call) and node.function in SEQUENCES for node in s.iterate_nodes(expr))


def _replace_sequence(expr: s.Expr) -> s.Expr | None:
    match expr:
        case s.Call(function="fibonacci", arguments=(argument,)):
            return b.power(GOLDEN_RATIO, argument)
        case s.Call(function="factorial" | "arrangements", arguments=(argument,)):
            above = b.binary("*", b.call("sqrt", argument), b.power(argument, argument))
            return b.binary("/", above, b.power(b.call("exp", b.ONE), argument))
        case s.Call(function="log2" | "log", arguments=(s.Call(function="factorial", arguments=(s.Name() as size,)),)):
            return b.binary("*", size, b.call("log2", size))
        case _:
            return None


def _replace_exponential(expr: s.Expr) -> s.Expr | None:
    match expr:
        case s.Call(function="exp", arguments=(argument,)) if s.find_names(argument):
            return b.power(b.call("exp", b.ONE), rewrite_parts(argument, _replace_exponential))
        case _:
            return None
