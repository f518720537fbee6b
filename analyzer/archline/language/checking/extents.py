"""Extents of views as expressions: built, compared, shown."""

from __future__ import annotations

from collections.abc import Mapping

from archline.expr.text import format_expression
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.checking.context import CheckedFacts
from archline.language.model import Kind


def length(facts: CheckedFacts, piece: s.Slice, extent: s.Expr) -> s.Expr:
    """How many entries of a dimension of the given extent a slice keeps."""
    if piece.lo is None or piece.hi is None:
        count = extent
    elif piece.by_length:
        count = piece.hi
    else:
        count = combine(facts, "-", piece.hi, piece.lo, piece.span)
    if piece.step is None:
        return count
    one = integer(facts, 1, piece.span)
    above = combine(facts, "-", combine(facts, "+", count, piece.step, piece.span), one, piece.span)
    # `lo ..+ length step k` is `lo..lo + length step k`.
    return combine(facts, "//", above, piece.step, piece.span)


def integer(facts: CheckedFacts, value: int, span: Span) -> s.Expr:
    """A literal."""
    node = s.Integer(value, span=span)
    facts.types[node] = Kind.STATIC
    return node


def combine(facts: CheckedFacts, op: str, left: s.Expr, right: s.Expr, span: Span) -> s.Expr:
    """`left op right`, one of + - * //, without neutral operands."""
    match op, left, right:
        case "+" | "-", _, s.Integer(value=0):
            return left
        case "*" | "//", _, s.Integer(value=1):
            return left
        case "*", s.Integer(value=1), _:
            return right
        case "-", s.Integer(value=a), s.Integer(value=b):
            return integer(facts, a - b, span)
        case "+", s.Integer(value=a), s.Integer(value=b):
            return integer(facts, a + b, span)
        case _:
            pass
    node = s.Binary(op, left, right, span=span)
    facts.depth[node] = 1 + max(facts.depth.get(left, 0), facts.depth.get(right, 0))
    kinds = (facts.types.get(left), facts.types.get(right))
    facts.types[node] = Kind.INT if Kind.INT in kinds else Kind.STATIC
    return node


def same(expected: s.Expr, actual: s.Expr, names: Mapping[str, s.Expr | None]) -> bool:
    """Whether two expressions are equal as written, the names of the first replaced as told."""
    if expected is actual and not names:
        return True
    match expected, actual:
        case s.Name(id=name), _ if name in names:
            value = names[name]
            return value is not None and same(value, actual, {})
        case s.Name(id=a), s.Name(id=b):
            return a == b
        case s.Integer(value=a), s.Integer(value=b):
            return a == b
        case s.Unary(op=a, operand=x), s.Unary(op=b, operand=y):
            return a == b and same(x, y, names)
        case s.Binary(op=a, left=x, right=u), s.Binary(op=b, left=y, right=v):
            return a == b and same(x, y, names) and same(u, v, names)
        case s.Call(function=a, arguments=xs), s.Call(function=b, arguments=ys):
            return a == b and len(xs) == len(ys) and all(same(x, y, names) for x, y in zip(xs, ys, strict=True))
        case _:
            return False


_LONGEST_SHOWN = 72


def shown(expr: s.Expr) -> str:
    """An expression as messages show it, cut where it is very long."""
    text = format_expression(expr)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."
