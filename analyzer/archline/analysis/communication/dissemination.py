"""Collectives through which the longest path reaches every processor, whichever it came from.

In step s of a dissemination (Hensgen, Finkel, Manber 1988; Bruck et al. 1997) each processor sends to that 2^s further
on. Of ceil(log2(P)) steps, in any order, a path takes or leaves each: it ends at any distance from 0 to P - 1 from
where it began. Where a step costs all processors the same, so does every path through all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from archline.expr import build as b
from archline.expr.text import format_expression
from archline.expr.tree import same
from archline.language import syntax as s

PROCESSORS = b.name("P")
LEVELS = "ceil(log2(P))"
WHOLE, BUT_LAST, LAST = {("0", LEVELS)}, {("0", f"{LEVELS} - 1")}, f"2^({LEVELS} - 1)"
WHOLE_DOWN, BUT_LAST_DOWN = {(f"{LEVELS} - 1", "0")}, {(f"{LEVELS} - 2", "0")}


def disseminates(algorithm: s.Algorithm) -> bool:
    """Whether the steps of an algorithm on a line of P processors are those of a dissemination, and no others."""
    if len(algorithm.grid) != 1 or not same(algorithm.grid[0].extent, PROCESSORS):
        return False
    steps = list(_steps(tuple(_opened(algorithm.body)), algorithm.grid[0].name))
    directions = {direction for _, direction in steps}
    found = sorted(part for part, _ in steps)
    every = [node for node in s.nodes(algorithm.body) if isinstance(node, s.Communicate | s.Split | s.While | s.Invoke)]
    complete = found in (["whole"], ["but last", "last"])
    return complete and len(directions) == 1 and "" not in directions and len(every) == len(steps)


def _opened(body: tuple[s.Stmt, ...]) -> Iterator[s.Stmt]:
    """The statements, those under `if P > 1` as they stand: one processor has nobody to send to."""
    for statement in body:
        first = statement.branches[0] if isinstance(statement, s.If) and len(statement.branches) == 1 else None
        if first is not None and first.condition is not None and format_expression(first.condition) == "P > 1":
            yield from _opened(first.body)
        else:
            yield statement


def _steps(body: tuple[s.Stmt, ...], coordinate: str, loop: s.Loop | None = None) -> Iterator[tuple[str, str]]:
    """The distances that each step, or loop of steps, covers, and the direction: "" where they are no such steps."""
    part, wanted = ("last", LAST) if loop is None else (_levels(loop), f"2^{loop.variable}")
    distances = {each.name: format_expression(each.value) for each in body if isinstance(each, s.Let)}
    for statement in body:
        if isinstance(statement, s.Communicate):
            distance, direction = _moved(statement, coordinate)
            yield part, direction if distances.get(distance) == wanted else ""
        elif isinstance(statement, s.Loop) and loop is None and statement.step is None and not statement.parallel:
            # What else communicates is counted by the caller.
            yield from _steps(statement.body, coordinate, statement)


def _levels(loop: s.Loop) -> str:
    """Which distances a loop goes through."""
    ends = (format_expression(loop.lo), format_expression(loop.hi))
    whole, but_last = (WHOLE_DOWN, BUT_LAST_DOWN) if loop.down else (WHOLE, BUT_LAST)
    return "whole" if ends in whole else "but last" if ends in but_last else ""


def _moved(exchange: s.Communicate, coordinate: str) -> tuple[str, str]:
    """The name of the distance around the line by which all send, and the direction; "" for other exchanges."""
    clauses = {clause.keyword: clause for clause in exchange.clauses}
    to, origin = clauses.get("to"), clauses.get("from")
    if exchange.operation != "exchange" or to is None or origin is None or to.when or origin.when:
        return "", ""
    ends = [_around(each.values[0], coordinate) for each in (to, origin)]
    (distance, direction), (back, opposite) = ends
    return (distance, direction) if distance == back and {direction, opposite} == {"+", "-"} else ("", "")


def _around(value: s.Expr, coordinate: str) -> tuple[str, str]:
    match value:
        case s.Binary(
            op="%",
            left=s.Binary(op="+" | "-" as direction, left=s.Name(id=start), right=s.Name(id=distance)),
            right=s.Name(id="P"),
        ) if start == coordinate:
            return distance, direction
        case _:
            return "", ""
