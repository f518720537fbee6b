"""Integers of the data that only rise, or only fall, in a loop: what they point at passes each line once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.language import syntax as s
from archline.records import field, record

BACK = {"rises": "falls", "falls": "rises"}
Terms = tuple[tuple[str, bool], ...]
"""Names, and whether each is added or subtracted."""


@record(eq=False)
class EnclosingLoop:
    """A loop of the program, its variable in the tree of accesses, and what is known where it begins."""

    loop: s.Loop | s.While
    variable: str
    facts: Facts = field(repr=False)
    integers: Mapping[str, Poly] = field(repr=False)


@record
class Stream:
    """A subscript that `rises`, `falls` or `stays` all through a loop: names, and a number.

    `first` is where it begins; None where the data decides.
    """

    around: EnclosingLoop
    terms: Terms
    shift: int
    way: str
    first: Poly | None

    def within(self, extent: Poly) -> tuple[Poly, Poly]:
        """What it is at least, and at most, as an index of an extent; no less than nothing lies between."""
        low, high = ZERO, extent - 1
        if self.first is not None:
            ends = (low if self.way == "falls" else self.first), (high if self.way == "rises" else self.first)
            if self.around.facts.nonnegative(ends[1] - ends[0] + 1):
                return ends
        return low, high


def stream(
    view: str, subscript: s.Expr, around: Sequence[EnclosingLoop], fixed: frozenset[str], values: Mapping[str, Poly]
) -> Stream | None:
    """The outermost loop in which a subscript of a view rises or falls only; None where there is none.

    Where a loop makes the view or the array anew, it may begin elsewhere. `fixed` are the names that no loop changes,
    `values` those of names that are no integers of the data.
    """
    terms = list(_terms(subscript, True))
    names = tuple(sorted(each for each in terms if isinstance(each, tuple)))
    if None in terms:
        return None
    found: tuple[EnclosingLoop, set[str]] | None = None
    for each in reversed(around):
        ways = {
            way if added else BACK.get(way, way)
            for name, added in names
            if name not in fixed
            for way in (_way(name, each.loop),)
        }
        one_way = ways <= {"rises", "stays"} or ways <= {"falls", "stays"}
        if not one_way or _way(view, each.loop) != "stays":
            break
        found = each, ways
    if found is None:
        return None
    outermost, ways = found
    (way,) = ways - {"stays"} or {"stays"}
    shift = sum(each for each in terms if isinstance(each, int))
    return Stream(outermost, names, shift, way, _first(names, shift, outermost, values))


def _first(names: Terms, shift: int, around: EnclosingLoop, values: Mapping[str, Poly]) -> Poly | None:
    """What a subscript is where a loop begins."""
    first = ZERO + shift
    for name, added in names:
        value = values.get(name) if _way(name, around.loop) == "stays" else None
        value = around.integers.get(name) if value is None else value
        if value is None:
            return None
        first = first + value if added else first - value
    return first


def assigned(node: s.Node) -> Iterator[str]:
    """The names that a statement gives other values."""
    for each in s.nodes(node):
        # What a `let` or a loop names is no integer of the data.
        if isinstance(each, s.Simple) and not isinstance(each, s.Let):
            yield from each.sets


def _terms(expr: s.Expr, added: bool) -> Iterator[tuple[str, bool] | int | None]:
    """The names that the expression adds, those that it subtracts, and its numbers; None for anything else."""
    match expr:
        case s.Integer(value=value):
            yield value if added else -value
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
        if isinstance(node, s.Simple) and name in node.sets:
            ways.add(_step(name, node.op, node.value) if isinstance(node, s.Assign) else "set")
        elif isinstance(node, s.Loop) and node.variable == name:
            ways.add("set")
    return ways.pop() if len(ways) == 1 else "set" if ways else "stays"


def _step(name: str, op: str, value: s.Expr) -> str:
    match op, value:
        case ("+=" | "-=") as sign, s.Integer():
            return "rises" if sign == "+=" else "falls"
        case "=", s.Binary(op="+" | "-" as sign, left=s.Name(id=own), right=s.Integer()) if own == name:
            return "rises" if sign == "+" else "falls"
        case _:
            return "set"
