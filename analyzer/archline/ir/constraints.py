"""Conditions of sizes and loop variables as amounts that are at least 0 where they hold."""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.polynomial import Poly
from archline.ir.scope import OPPOSITE, NotStaticError, Scope, never_negative, static_value
from archline.language import syntax as s


def wanted(condition: s.Expr, scope: Scope) -> tuple[Poly, ...] | None:
    """Integers that are all at least 0 exactly where a condition holds; None where there are no such."""
    match condition:
        case s.Unary(op="not", operand=s.Binary(op="or" | "and") | s.Unary(op="not") as inner):
            return wanted(negated(inner), scope)
        case s.Unary(op="not", operand=s.Binary(op=op) as inner) if op in OPPOSITE:
            return wanted(negated(inner), scope)
        case s.Binary(op="and", left=left, right=right):
            first, second = wanted(left, scope), wanted(right, scope)
            return None if first is None or second is None else (*first, *second)
        case s.Binary(op="or", left=left, right=right):
            first, second = wanted(left, scope), wanted(right, scope)
            if first is None or second is None:
                return None
            return tuple(scope.facts.maximum(one, other) for one in first for other in second)
        case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
            try:
                difference = static_value(left, scope) - static_value(right, scope)
            except NotStaticError:
                return None
            if not a.is_integral(difference):
                return None
            if op == "!=":
                return (scope.facts.maximum(difference, -difference) - 1,)
            return never_negative(op, difference)
        case _:
            return None


def negated(condition: s.Expr) -> s.Expr:
    """The opposite of a condition."""
    match condition:
        case s.Unary(op="not", operand=operand):
            return operand
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            return s.Binary("or" if op == "and" else "and", negated(left), negated(right), span=condition.span)
        case s.Binary(op=op, left=left, right=right) if op in OPPOSITE:
            return s.Binary(OPPOSITE[op], left, right, span=condition.span)
        case _:
            return s.Unary("not", condition, span=condition.span)
