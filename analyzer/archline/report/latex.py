"""Render the LaTeX of expressions, facts and growths."""

from __future__ import annotations

from dataclasses import replace

from archline.expr.text import Formula, format_fact, split_into_pieces
from archline.language import syntax as s
from archline.numbers import format_exact

_ESCAPES = {
    **{character: f"\\{character}" for character in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": "$<$",
    ">": "$>$",
}
_BRACKETS = {"floor": (r"\lfloor ", r" \rfloor"), "ceil": (r"\lceil ", r" \rceil"), "abs": ("|", "|")}
_FUNCTIONS = {
    "min": r"\min", "max": r"\max", "gcd": r"\gcd", "log2": r"\log_2", "Theta": r"\Theta", "Omega": r"\Omega", "O": "O",
}  # fmt: skip
_RELATIONS = {
    ">=": r"\ge", "<=": r"\le", "==": "=", "=": "=", "!=": r"\ne", "<": "<", ">": ">", "~": r"{\sim}\,",
    "and": r"\text{ and }", "or": r"\text{ or }",
}  # fmt: skip
_NO_PRECEDENCE, _LOWEST_PRECEDENCE, _SUM, _PRODUCT, _POWER = range(5)


def render_formula(marked: Formula) -> str:
    """Render a formula with its relation, if it has one."""
    before = [_RELATIONS.get(word) or _render_name(word) for word in marked.relation.split()]
    return "".join(word if word.endswith(",") else f"{word} " for word in before) + render_expression(marked.tree)


def render_expression(expr: s.Fact) -> str:
    """Render an expression, a fact, or the growth `Theta(...)`, without dollars."""
    parts: list[str] = []
    while isinstance(expr, s.Binary) and expr.op in ("+", "-"):
        parts += [_render_operand(expr.right, _PRODUCT), expr.op]
        expr = expr.left
    return " ".join([_render_operand(expr, _SUM if parts else _NO_PRECEDENCE), *reversed(parts)])


def _render_name(text: str) -> str:
    return text if len(text) == 1 else rf"\mathit{{{escape_text(text)}}}"


def _render_operand(expr: s.Fact, least: int) -> str:
    """Render an expression, in parentheses if its operator binds less than `least`."""
    text, strength = _render_with_precedence(expr)
    return text if strength >= least else rf"\left({text}\right)"


def _remove_sign(expr: s.Expr) -> s.Expr | None:
    """Remove the minus from the first factor of a negation, product or quotient; None without a minus."""
    match expr:
        case s.Unary(op="-", operand=operand):
            return operand
        case s.Binary(op="*" | "/", left=left) if (positive := _remove_sign(left)) is not None:
            return replace(expr, left=positive)
        case _:
            return None


def _render_with_precedence(expr: s.Fact) -> tuple[str, int]:
    """Return the LaTeX of an expression, and the precedence of its outermost operator."""
    match expr:
        case s.Integer(value=value):
            return format_exact(value), _POWER
        case s.Real(text=text):
            return text, _POWER
        case s.Name(id=name):
            return _render_name(name), _POWER
        case s.Unary(op="-", operand=operand):
            return f"-{_render_operand(operand, _PRODUCT)}", _SUM
        case s.Binary(op="*" | "/") if (positive := _remove_sign(expr)) is not None:
            # A sign binds its factor alone; as that of the whole product it needs no parentheses.
            return f"-{_render_operand(positive, _PRODUCT)}", _SUM
        case s.Binary(op="/", left=left, right=right):
            return rf"\frac{{{_render_operand(left, _SUM)}}}{{{_render_operand(right, _SUM)}}}", _POWER
        case s.Binary(op="*", left=left, right=right):
            sign = r" \cdot " if isinstance(right, s.Integer) or _starts_with_digit(right) else r"\,"
            return f"{_render_operand(left, _PRODUCT)}{sign}{_render_operand(right, _PRODUCT)}", _PRODUCT
        case s.Binary(op="^", left=left, right=right):
            base = _render_operand(left, _POWER)
            if isinstance(left, s.Binary) and left.op == "/":
                # An exponent after a fraction would look like one of its numerator.
                base = rf"\left({base}\right)"
            simple = isinstance(left, s.Name | s.Integer)
            return f"{base if simple else rf'{{{base}}}'}^{{{_render_operand(right, _SUM)}}}", _PRODUCT
        case s.Binary(op="%", left=left, right=right):
            # Brackets show its extent next to any operator.
            return rf"{_render_operand(left, _POWER)} \bmod {_render_operand(right, _POWER)}", _LOWEST_PRECEDENCE
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            return f"{_render_operand(left, _SUM)} {op} {_render_operand(right, _PRODUCT)}", _SUM
        case s.Binary(op=op, left=left, right=right) if op in _RELATIONS:
            least = _NO_PRECEDENCE if op == "or" else _LOWEST_PRECEDENCE
            return f"{_render_operand(left, least)} {_RELATIONS[op]} {_render_operand(right, least)}", _NO_PRECEDENCE
        case s.IsPower(value=value, base=base):
            return (
                rf"{_render_operand(value, _SUM)} \text{{ is power of }} {_render_operand(base, _SUM)}",
                _NO_PRECEDENCE,
            )
        case s.IsSquare(value=value):
            return rf"{_render_operand(value, _SUM)} \text{{ is square}}", _NO_PRECEDENCE
        case s.Divides(divisor=divisor, value=value):
            return (
                rf"{_render_operand(divisor, _SUM)} \text{{ divides }} {_render_operand(value, _SUM)}",
                _NO_PRECEDENCE,
            )
        case s.Call(function="sqrt", arguments=(argument,)):
            return rf"\sqrt{{{_render_operand(argument, _SUM)}}}", _POWER
        case s.Call(function=function, arguments=arguments):
            inner = ", ".join(_render_operand(argument, _LOWEST_PRECEDENCE) for argument in arguments)
            if function in _BRACKETS:
                opening, closing = _BRACKETS[function]
                return rf"\left{opening}{inner}\right{closing.strip()}", _POWER
            if function == "log2" and isinstance(arguments[0], s.Name | s.Integer):
                return rf"\log_2 {inner}", _PRODUCT
            return rf"{_FUNCTIONS.get(function) or _render_name(function)}\left({inner}\right)", _POWER
        case _:
            return rf"\text{{{escape_text(format_fact(expr))}}}", _POWER


def _starts_with_digit(expr: s.Expr) -> bool:
    match expr:
        case s.Integer():
            return True
        case s.Binary(op="^" | "*", left=left):
            return _starts_with_digit(left)
        case _:
            return False


def render_display_text(text: str) -> str:
    """Return the LaTeX of a text with formulas, for a displayed equation."""
    return " ".join(_render_piece(piece) for piece in split_into_pieces(text))


def _render_piece(text: str) -> str:
    if isinstance(text, Formula):
        return render_formula(text)
    return text if text.isdecimal() else _RELATIONS.get(text) or rf"\text{{{escape_text(text)}}}"


def escape_text(text: str) -> str:
    """Escape the characters of plain text that LaTeX interprets."""
    return "".join(_ESCAPES.get(character, character) for character in text)
