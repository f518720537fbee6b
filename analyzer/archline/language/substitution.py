"""Expressions with names replaced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from archline.language import syntax as s


def substituted(expr: s.Expr, values: Mapping[str, s.Expr]) -> s.Expr:
    """The expression with values in place of names."""
    match expr:
        case s.Name(id=name):
            return values.get(name, expr)
        case s.Unary(operand=operand):
            return replace(expr, operand=substituted(operand, values))
        case s.Binary(left=left, right=right):
            return replace(expr, left=substituted(left, values), right=substituted(right, values))
        case s.Call(arguments=arguments):
            return replace(expr, arguments=tuple(substituted(each, values) for each in arguments))
        case s.Integer() | s.Real() | s.Element() | s.Reshape():
            return expr
