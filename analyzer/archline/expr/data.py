"""Expressions and facts as data: nested lists such as `["*", 2, "n"]`, from which pages compute values."""

from __future__ import annotations

from typing import TypeAlias

from archline.expr import tree as t

Formula: TypeAlias = "int | str | list[Formula]"
"""A number, the name of a size, or an operator with its arguments; JSON has the same."""
MAX_SAFE_INTEGER = 2**53
"""The integers below have a double each."""


def to_data(expr: t.Fact) -> Formula:
    """Return an expression or a fact as data; elements and views of arrays are operators that pages do not compute."""
    match expr:
        case t.Integer(value=value):
            return value if value <= MAX_SAFE_INTEGER else ["big", str(value)]
        case t.Real(text=text):
            return ["real", text]
        case t.Name(id=name):
            return name
        case t.Unary(op="-", operand=operand):
            return ["neg", to_data(operand)]
        case t.Unary(op=op, operand=operand):
            return [op, to_data(operand)]
        case t.Binary(op=op, left=left, right=right):
            return [op, to_data(left), to_data(right)]
        case t.Call(function=function, arguments=arguments):
            return [function, *map(to_data, arguments)]
        case t.Divides(divisor=divisor, value=value):
            return ["divides", to_data(divisor), to_data(value)]
        case t.IsPower(value=value, base=base):
            return ["power", to_data(value), to_data(base)]
        case t.IsSquare(value=value):
            return ["square", to_data(value)]
        case t.Element(array=array):
            return ["element", array]
        case t.Reshape(base=base):
            return ["view", to_data(base)]
