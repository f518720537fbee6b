"""Integers of the data that only rise, or only fall, in a loop: what they point at passes each line once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.language import syntax as s
from archline.language.model import Kind, Module

Around = tuple[s.Loop | s.While, str]
"""A loop of the program, and its variable in the tree of accesses."""


def stream(subscript: s.Expr, around: Sequence[Around], module: Module, fixed: frozenset[str]) -> str | None:
    """The outermost loop in which a subscript of the data rises or falls only; None where there is none.

    `fixed` are the names that no loop changes.
    """
    names = list(_summands(subscript, module))
    if None in names:
        return None
    found = None
    for loop, variable in reversed(around):
        ways = {_way(name, loop) for name in names if name is not None and name not in fixed}
        if not ways <= {"rises", "stays"} and not ways <= {"falls", "stays"}:
            break
        found = variable
    return found


def _summands(expr: s.Expr, module: Module) -> Iterator[str | None]:
    """The names whose sum the expression is, numbers apart; None for anything else."""
    match expr:
        case s.Integer():
            return
        case s.Name(id=name):
            yield name
        case s.Binary(op="+", left=left, right=right):
            yield from _summands(left, module)
            yield from _summands(right, module)
        case s.Binary(op="-", left=left, right=right) if module.types.get(right) is Kind.STATIC:
            yield from _summands(left, module)
            yield from _summands(right, module)
        case _:
            yield None


def _way(name: str, loop: s.Loop | s.While) -> str:
    """What a loop does to an integer: it rises, falls, stays, or is set."""
    ways = set()
    if isinstance(loop, s.Loop) and loop.variable == name:
        ways.add("falls" if loop.down else "rises")
    for node in s.nodes(loop.body):
        match node:
            case s.Local(name=own) | s.Let(name=own) | s.Loop(variable=own) if own == name:
                ways.add("set")
            case s.Assign(target=s.Name(id=own), op=op, value=value) if own == name:
                ways.add(_step(name, op, value))
    return ways.pop() if len(ways) == 1 else "set" if ways else "stays"


def _step(name: str, op: str, value: s.Expr) -> str:
    match op, value:
        case ("+=" | "-=") as sign, s.Integer():
            return "rises" if sign == "+=" else "falls"
        case "=", s.Binary(op="+" | "-" as sign, left=s.Name(id=own), right=s.Integer()) if own == name:
            return "rises" if sign == "+" else "falls"
    return "set"
