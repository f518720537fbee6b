"""The accesses of a program in serial order, as a tree of loops: what every bound on io is read from.

A place is given by one expression a dimension of the array itself, whatever views and calls lie between; it is None
where the data decides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.call_graph import declared_costs, reachable
from archline.language.model import Module
from archline.records import field, record, replace


class UntracedError(Exception):
    """Accesses that this version cannot follow: why, and where."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


def require_accesses(module: Module, algorithm: s.Algorithm) -> None:
    """Raises UntracedError where an algorithm, or one that it calls, declares io, or moves words otherwise."""
    for each in (algorithm, *reachable(module, algorithm)):
        if each.grid:
            raise UntracedError(
                "io is derived for one processor, not a grid: take an algorithm that processors call", each.span
            )
        for moving in s.find(each.body, s.Communication, s.Split):
            raise UntracedError("the costs of communication are not derived in this version", moving.span)
        for node, _, metric in declared_costs(module, each.body):
            if metric == "io":
                raise UntracedError("declared io costs are not supported in this version", node.span)


@record(eq=False)
class Array:
    """An array: an argument, or a local one, which lies on the stack above `below` lines (an upper bound).

    `moves` names the loop variables that decide where a local array begins. What a recursive algorithm is given may be
    part of an array: not `aligned`, its rows begin anywhere in a line; `strided`, no two entries share one. Local
    arrays that are not the same lines every time have the loops around them in `within`; `beneath` are those below.
    Where not `exact`, extents are upper bounds.
    """

    name: str
    extents: tuple[Poly, ...]
    layout: str
    local: bool = False
    below: Poly = ZERO
    moves: frozenset[str] = frozenset()
    aligned: bool = True
    strided: bool = False
    within: frozenset[str] = frozenset()
    beneath: tuple[Array, ...] = ()
    exact: bool = True


@record(eq=False)
class View:
    """An array as a name sees it: `starts` in the array's own dimensions, and for each own one of the view's
    dimensions which of those it moves along, and how far at a step. Where not `exact`, extents are upper bounds."""

    array: Array
    starts: tuple[Poly | None, ...]
    axes: tuple[tuple[int, Poly], ...]
    extents: tuple[Poly, ...]
    exact: bool = True

    def place(self, subscripts: tuple[Poly | None, ...]) -> tuple[Poly | None, ...]:
        """Where an element of the view lies in the array."""
        found = list(self.starts)
        for (dimension, step), subscript in zip(self.axes, subscripts, strict=True):
            start = found[dimension]
            found[dimension] = None if start is None or subscript is None else start + step * subscript
        return tuple(found)

    @property
    def parts(self) -> tuple[tuple[Poly, Poly] | None, ...]:
        """The first subscript and the last one in each of the array's dimensions; None where that may be all of it."""
        found: list[tuple[Poly, Poly] | None] = [None] * len(self.starts)
        along = [dimension for dimension, _ in self.axes]
        for (dimension, step), extent in zip(self.axes, self.extents, strict=True):
            start, whole = self.starts[dimension], extent == self.array.extents[dimension]
            if start is not None and step == ONE and along.count(dimension) == 1 and not whole:
                found[dimension] = start, start + extent - 1
        return tuple(found)


@record
class MonotoneWalk:
    """How a place moves one way along a row all through a loop, given by its variable.

    Places of one `course` are so many entries apart as their `shift` is, wherever they are; all lie within `bounds`. It
    begins at `first`, where that is known. A place that `rests` is where the loop, which is behind it, came to.
    """

    loop: str
    course: tuple[object, ...]
    shift: int
    bounds: tuple[Poly, Poly] | None = None
    first: Poly | None = None
    rests: bool = False


@record(eq=False)
class Access:
    """One element read or `written`, or read and written (`times` is 2), each time that it is reached.

    A place that the data decides is within `parts` of the array, where these are not None; it may move one way along a
    row, as `walk` describes.
    It stays where it is through the innermost loops that are `steady`, those of these counters.
    Where `certain`, every iteration of the loops around it comes here in which all of `when` are at least 0. Where all
    branches set the element, one of them does in every iteration in which all of `shared` are at least 0.
    """

    array: Array
    place: tuple[Poly | None, ...]
    span: Span = field(repr=False)
    parts: tuple[tuple[Poly, Poly] | None, ...]
    walk: MonotoneWalk | None = None
    certain: bool = False
    when: tuple[Poly, ...] = ()
    shared: tuple[Poly, ...] | None = None
    times: int = 1
    written: bool = False
    steady: frozenset[str] = frozenset()

    @property
    def wherever(self) -> tuple[Poly, ...] | None:
        """In every iteration in which all of these are at least 0 the element is accessed, here or in other branches.

        None where the data decides.
        """
        if self.shared is not None:
            return self.shared
        return self.when if self.certain else None


@record(eq=False)
class Loop:
    """At most `trips` iterations, `variable` from `lo` to `hi` - 1; `facts` hold around it, `inside` in its body.

    In every iteration each of `holds` is at least 0.
    """

    variable: str
    lo: Poly
    hi: Poly
    trips: Poly
    facts: Facts = field(repr=False)
    inside: Facts = field(repr=False)
    body: tuple[Node, ...]
    span: Span = field(repr=False)
    holds: tuple[Poly, ...] = ()

    @property
    def name(self) -> str:
        """As the program has it, and where: `for i` (line 12), or the elements of an assignment of arrays."""
        counter = self.variable.partition("'")[0]
        called = {"while": "`while`", "elements": "the elements"}.get(counter, f"`for {counter}`")
        return f"{called} (line {self.span.line})"


@record(eq=False)
class RecursiveCall:
    """A call of a recursive algorithm at sizes, with views by parameter.

    The arrays that it makes begin above `base` lines of the stack; None where that varies.
    """

    target: s.Algorithm
    sizes: Mapping[str, Poly]
    views: Mapping[str, View] = field(repr=False)
    span: Span = field(repr=False)
    base: Poly | None = None


@record(eq=False)
class Choice:
    """The first branch whose condition is 1 (None: the data decides), where one of them holds a recursive call."""

    branches: tuple[ChoiceBranch, ...]


@record(eq=False)
class ChoiceBranch:
    """A branch: what is 1 where its condition holds and 0 elsewhere, and the condition (None for `else`).

    Where the data decides, `taken` is None, and `possible` is 0 where the sizes alone say that it does not hold. All of
    `known` are at least 0 exactly where this branch is the one taken; None where there are no such.
    """

    taken: Poly | None
    possible: Poly
    condition: s.Expr | None
    body: tuple[Node, ...]
    known: tuple[Poly, ...] | None = None


Node = Access | Loop | RecursiveCall | Choice
Chain = tuple[Loop, ...]
"""The loops around something, from the outermost in."""


def iter_accesses(nodes: tuple[Node, ...], chain: Chain = ()) -> Iterator[tuple[Access, Chain]]:
    """Every access with the loops around it."""
    for node in nodes:
        if isinstance(node, Access):
            yield node, chain
        elif not isinstance(node, RecursiveCall | Choice):
            yield from iter_accesses(node.body, (*chain, node))


def writes_only(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Nodes without the accesses that only read."""
    for node in nodes:
        match node:
            case Access():
                if node.written:
                    yield node
            case Loop(body=body):
                yield replace(node, body=tuple(writes_only(body)))
            case Choice(branches=branches):
                yield Choice(tuple(replace(each, body=tuple(writes_only(each.body))) for each in branches))
            case RecursiveCall():
                yield node


def contiguous_dimension(array: Array) -> int:
    """The dimension along which neighbours share lines."""
    return 0 if array.layout == "colmajor" else len(array.extents) - 1
