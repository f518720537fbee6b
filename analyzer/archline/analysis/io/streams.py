"""Integers of the data that only rise, or only fall, in a loop: what they point at passes each line once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.language import syntax as s

Around = tuple[s.Loop | s.While, str]
"""A loop of the program, and its variable in the tree of accesses."""


BACK = {"rises": "falls", "falls": "rises"}


def stream(view: str, subscript: s.Expr, around: Sequence[Around], fixed: frozenset[str]) -> str | None:
    """The outermost loop in which a subscript of a view rises or falls only; None where there is none.

    Where a loop makes the view or the array anew, it may begin elsewhere. `fixed` are the names that no loop changes.
    """
    terms = list(_terms(subscript, True))
    names = [each for each in terms if each is not None and each[0] not in fixed]
    if None in terms:
        return None
    found = None
    for loop, variable in reversed(around):
        ways = {way if added else BACK.get(way, way) for name, added in names for way in (_way(name, loop),)}
        one_way = ways <= {"rises", "stays"} or ways <= {"falls", "stays"}
        if not one_way or _way(view, loop) != "stays":
            break
        found = variable
    return found


def _terms(expr: s.Expr, added: bool) -> Iterator[tuple[str, bool] | None]:
    """The names that the expression adds, and those that it subtracts, numbers apart; None for anything else."""
    match expr:
        case s.Integer():
            return
        case s.Name(id=name):
            yield name, added
        case s.Binary(op="+" | "-" as op, left=left, right=right):
            yield from _terms(left, added)
            yield from _terms(right, added == (op == "+"))
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
