"""The conditions of cases as a reader of the program's header knows them: in its sizes, without `let` names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Protocol

from archline.ir.scope import OPPOSITE
from archline.language import syntax as s
from archline.language.printer import format_expression


class Decided(Protocol):
    """A condition on sizes, and whether it holds; `branch` tells conditions apart that read the same."""

    @property
    def branch(self) -> s.Branch: ...
    @property
    def taken(self) -> bool: ...
    @property
    def condition(self) -> s.Expr: ...


Path = Sequence[Decided]


def negated(condition: s.Expr) -> s.Expr:
    """What holds where the condition does not."""
    match condition:
        case s.Unary(op="not", operand=operand):
            return operand
        case s.Binary(op="and" | "or" as op, left=left, right=right):
            return replace(condition, op="or" if op == "and" else "and", left=negated(left), right=negated(right))
        case s.Binary(op=op) if op in OPPOSITE:
            return replace(condition, op=OPPOSITE[op])
        case _:
            return s.Unary("not", condition, span=condition.span)


def in_order(path: Path) -> str:
    """The condition of a case where it is the first that holds of all cases; empty where it asks for nothing.

    Cases come as their conditions are met on the way through the body, those with a condition that holds first. So
    where one fails, all cases in which it holds have been ruled out, and what holds in a case is enough.
    """
    return _all(each.condition for each in path if each.taken)


def among(path: Path, skipped: Iterable[Path]) -> str:
    """The condition of a case where it is the first that holds of the cases that are not skipped."""
    skipped = list(skipped)
    wanted = [
        each.condition if each.taken else negated(each.condition)
        for index, each in enumerate(path)
        if each.taken or any(_holds_in(other, path[:index], each) for other in skipped)
    ]
    return _all(wanted)


def _holds_in(path: Path, before: Path, decision: Decided) -> bool:
    """Whether a case has the same decisions before this one, and the opposite outcome here."""
    own = [(each.branch, each.taken) for each in path[: len(before) + 1]]
    other = [*((each.branch, each.taken) for each in before), (decision.branch, not decision.taken)]
    return own == other


def _all(conditions: Iterable[s.Expr]) -> str:
    found = list(conditions)
    if not found:
        return ""
    return format_expression(reduce(lambda x, y: s.Binary("and", x, y, span=x.span), found))
