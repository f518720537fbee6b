"""Derived costs as LaTeX: an `align*` block, ready to paste."""

from __future__ import annotations

import re
from dataclasses import replace

from archline.language import syntax as s
from archline.language.parser import parse_expression
from archline.numbers import exact
from archline.report.layout import split_outside

_ESCAPES = {
    **{character: f"\\{character}" for character in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": "$<$",
    ">": "$>$",
}
_BRACKETS = {"floor": (r"\lfloor ", r" \rfloor"), "ceil": (r"\lceil ", r" \rceil"), "abs": ("|", "|")}
_FUNCTIONS = {"min": r"\min", "max": r"\max", "gcd": r"\gcd", "log2": r"\log_2"}
RELATIONS = {">=": r"\ge", "<=": r"\le", "==": "=", "=": "=", "!=": r"\ne", "<": "<", ">": ">"}
"""Relations as LaTeX."""
_WHOLE, _SUM, _PRODUCT, _POWER = range(4)


def expression(form: s.Expr | str) -> str:
    """An expression, or one in text of a page, as LaTeX, without dollars."""
    if isinstance(form, str):
        # Term by term: a sum may have more terms than the parser takes in one expression.
        first, *rest = split_outside(form)
        terms = [word if word in ("+", "-") else _render(parse_expression(word), _PRODUCT) for word in rest]
        return " ".join([_render(parse_expression(first), _SUM if rest else _WHOLE), *terms])
    parts: list[str] = []
    while isinstance(form, s.Binary) and form.op in ("+", "-"):
        parts += [_render(form.right, _PRODUCT), form.op]
        form = form.left
    return " ".join([_render(form, _SUM if parts else _WHOLE), *reversed(parts)])


def _render(expr: s.Expr, least: int) -> str:
    """An expression in parentheses if it binds less than `least`."""
    text, strength = _bare(expr)
    return text if strength >= least else rf"\left({text}\right)"


def _without_sign(expr: s.Expr) -> s.Expr | None:
    """A product or quotient whose first factor is negated, without that sign; None where there is none."""
    match expr:
        case s.Unary(op="-", operand=operand):
            return operand
        case s.Binary(op="*" | "/", left=left) if (positive := _without_sign(left)) is not None:
            return replace(expr, left=positive)
        case _:
            return None


def _bare(expr: s.Expr) -> tuple[str, int]:
    match expr:
        case s.Integer(value=value):
            return exact(value), _POWER
        case s.Name(id=name):
            return (name if len(name) == 1 else rf"\mathit{{{escaped(name)}}}"), _POWER
        case s.Unary(op="-", operand=operand):
            return f"-{_render(operand, _PRODUCT)}", _SUM
        case s.Binary(op="*" | "/") if (positive := _without_sign(expr)) is not None:
            # A sign binds its factor alone; as that of the whole product it needs no parentheses.
            return f"-{_render(positive, _PRODUCT)}", _SUM
        case s.Binary(op="/", left=left, right=right):
            return rf"\frac{{{_render(left, _SUM)}}}{{{_render(right, _SUM)}}}", _POWER
        case s.Binary(op="*", left=left, right=right):
            sign = r" \cdot " if isinstance(right, s.Integer) or _starts_with_digit(right) else r"\,"
            return f"{_render(left, _PRODUCT)}{sign}{_render(right, _PRODUCT)}", _PRODUCT
        case s.Binary(op="^", left=left, right=right):
            base = _render(left, _POWER)
            if isinstance(left, s.Binary) and left.op == "/":
                # An exponent behind a fraction would be that of its numerator to the eye.
                base = rf"\left({base}\right)"
            simple = isinstance(left, s.Name | s.Integer)
            return f"{base if simple else rf'{{{base}}}'}^{{{_render(right, _SUM)}}}", _PRODUCT
        case s.Binary(op="%", left=left, right=right):
            # Brackets say how far it reaches, wherever something stands next to it.
            return rf"{_render(left, _POWER)} \bmod {_render(right, _POWER)}", _WHOLE
        case s.Binary(op=op, left=left, right=right):
            return f"{_render(left, _SUM)} {op} {_render(right, _PRODUCT)}", _SUM
        case s.Call(function="sqrt", arguments=(argument,)):
            return rf"\sqrt{{{_render(argument, _SUM)}}}", _POWER
        case s.Call(function=function, arguments=arguments):
            inner = ", ".join(_render(each, _WHOLE) for each in arguments)
            if function in _BRACKETS:
                opening, closing = _BRACKETS[function]
                return rf"\left{opening}{inner}\right{closing.strip()}", _POWER
            if function == "log2" and isinstance(arguments[0], s.Name | s.Integer):
                return rf"\log_2 {inner}", _PRODUCT
            return rf"{_FUNCTIONS[function]}\left({inner}\right)", _POWER
        case _:
            raise ValueError(f"a cost holds no {type(expr).__name__}")


def _starts_with_digit(expr: s.Expr) -> bool:
    match expr:
        case s.Integer():
            return True
        case s.Binary(op="^" | "*", left=left):
            return _starts_with_digit(left)
        case _:
            return False


def condition(text: str) -> str:
    """Where a bound holds."""
    if text == "otherwise":
        return r"\quad \text{otherwise}"
    sides = [re.fullmatch(r"(.+) (>=|<=|==|!=|<|>) (.+)", part) for part in text.split(" and ")]
    if " or " in text or not all(sides):
        return rf"\quad \text{{where {escaped(text)}}}"
    shown = (f"{expression(each[1])} {RELATIONS[each[2]]} {expression(each[3])}" for each in sides if each)
    return r"\quad \text{where } " + r" \text{ and } ".join(shown)


def escaped(text: str) -> str:
    """Plain text with the characters that LaTeX gives a meaning escaped."""
    return "".join(_ESCAPES.get(character, character) for character in text)
