"""Costs with a min as several cases: `min(a, b) when c` is `a when c and a <= b; b when c`."""

from __future__ import annotations

from dataclasses import replace

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.language import syntax as s
from archline.language.format_expressions import format_fact
from archline.recurrences.asymptotic.problem import EquationCase

MAX_CASES = 32


def without_minima(cases: tuple[EquationCase, ...]) -> list[EquationCase]:
    """The same cases in order, none with a min in its value. Raises OutOfReachError."""
    result: list[EquationCase] = []
    pending = list(reversed(cases))
    while pending:
        case = pending.pop()
        calls = (node for node in s.nodes(case.value) if isinstance(node, s.Call))
        least = next((call for call in calls if call.function == "min"), None)
        if least is None:
            result.append(case)
        else:
            pending.extend(reversed(_branches(case, least)))
        if len(result) + len(pending) > MAX_CASES:
            raise OutOfReachError("too many minima in the costs")
    return result


def _branches(case: EquationCase, least: s.Call) -> list[EquationCase]:
    """One case for each argument of the min that may be the least; the last one needs no condition for it."""
    branches = []
    for number, chosen in enumerate(least.arguments):
        condition = case.condition
        others = [each for each in least.arguments if each is not chosen]
        for other in others if number < len(others) else ():
            condition = _both(condition, s.Binary("<=", chosen, other, span=least.span))
        branches.append(EquationCase(_replaced(case.value, least, chosen), condition))
    return branches


def _both(condition: s.Fact | None, other: s.Expr) -> s.Fact:
    if condition is None:
        return other
    if isinstance(condition, s.IsPower | s.IsSquare | s.Divides):
        raise OutOfReachError(f"the condition {format_fact(condition)} compares no sizes")
    return s.Binary("and", condition, other, span=other.span)


def _replaced(expr: s.Expr, old: s.Expr, new: s.Expr) -> s.Expr:
    """The expression with a part of it exchanged."""
    if expr is old:
        return new
    match expr:
        case s.Unary(operand=operand):
            return replace(expr, operand=_replaced(operand, old, new))
        case s.Binary(left=left, right=right):
            return replace(expr, left=_replaced(left, old, new), right=_replaced(right, old, new))
        case s.Call(arguments=arguments):
            return replace(expr, arguments=tuple(_replaced(each, old, new) for each in arguments))
        case s.Integer() | s.Real() | s.Name() | s.Element() | s.Reshape():
            return expr
