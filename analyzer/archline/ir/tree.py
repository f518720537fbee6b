"""Define the loop tree: the accesses of a program in serial order, from which all io bounds are derived.

Views and parameters of calls are resolved: an element has one subscript for each dimension of the array itself, an
expression in sizes and counters, or None if it depends on data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.expr.tree import Span
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, iterate_declared_costs
from archline.language.model import Module
from archline.records import field, record, replace


class UntracedError(Exception):
    """The accesses of a program cannot be followed; `reason` says why, `span` where."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason, self.span = reason, span


def require_traceable(module: Module, algorithm: s.Algorithm) -> None:
    """Raise UntracedError if an algorithm or a callee declares io, runs on a grid or communicates."""
    for called in (algorithm, *find_reachable(module, algorithm)):
        if called.grid:
            raise UntracedError(
                "io is derived for one processor, not for a grid: choose an algorithm that the processors call",
                called.span,
            )
        for moving in s.find_nodes(called.body, s.Communication, s.Split):
            raise UntracedError("the costs of communication are not derived in this version", moving.span)
        for node, _, metric in iterate_declared_costs(module, called.body):
            if metric == "io":
                raise UntracedError("declared io costs are not supported in this version", node.span)


@record(eq=False)
class Array:
    """An array: an argument, or a local one, which lies on the stack above at most `below` lines.

    `moves` names the loop variables on which the position of a local array depends. An argument of a recursive
    algorithm may be part of an array: if not `aligned`, its rows begin anywhere in a line; if `strided`, no two
    entries share a line. If a local array may occupy different lines in different iterations, `within` names the
    loops around it; `beneath` lists the local arrays under it. If not `exact`, extents are upper bounds.
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
    """A view of an array: `starts` has its first subscript in each dimension of the array.

    `axes` has, for each dimension of the view, the dimension of the array and the step along it. If not `exact`,
    extents are upper bounds.
    """

    array: Array
    starts: tuple[Poly | None, ...]
    axes: tuple[tuple[int, Poly], ...]
    extents: tuple[Poly, ...]
    exact: bool = True

    def map_subscripts(self, subscripts: tuple[Poly | None, ...]) -> tuple[Poly | None, ...]:
        """Map the subscripts of an element of the view to those in the array; None for one that depends on data."""
        result = list(self.starts)
        for (dimension, step), subscript in zip(self.axes, subscripts, strict=True):
            start = result[dimension]
            result[dimension] = None if start is None or subscript is None else start + step * subscript
        return tuple(result)

    @property
    def subscript_intervals(self) -> tuple[tuple[Poly, Poly] | None, ...]:
        """The first and last subscript of the view in each dimension of the array; None for all, or if unknown."""
        intervals: list[tuple[Poly, Poly] | None] = [None] * len(self.starts)
        along = [dimension for dimension, _ in self.axes]
        for (dimension, step), extent in zip(self.axes, self.extents, strict=True):
            start, whole = self.starts[dimension], extent == self.array.extents[dimension]
            if start is not None and step == ONE and along.count(dimension) == 1 and not whole:
                intervals[dimension] = start, start + extent - 1
        return tuple(intervals)


@record
class MonotoneWalk:
    """A monotone movement along a row of a subscript that depends on data, in the loop with variable `loop`.

    Subscripts of equal `course` differ by their `shift`; all lie within `bounds`. The movement begins at `first`, if
    known. If it `rests`, the access comes after the loop, at the final subscript.
    """

    loop: str
    course: tuple[object, ...]
    shift: int
    bounds: tuple[Poly, Poly] | None = None
    first: Poly | None = None
    rests: bool = False


@record
class InlinedCall:
    """A call of the lowered algorithm, at a `line` of its text, in which code of another `algorithm` is executed."""

    algorithm: str
    line: int


@record(eq=False)
class Access:
    """The access of one element at each execution: a read, or if `written` a write; `times` is 2 for both.

    `place` has its subscripts, None for one that depends on data; these lie in the intervals `parts` that are not None,
    and `walk` describes how they move along a row. If `certain`, it is executed in every iteration of the loops around
    it in which all of `when` are nonnegative. In every iteration in which all of `shared` are nonnegative the element
    is accessed: by one of the branches of an `if`, if every branch assigns it, or before an exit may end the loop. The
    loops `steady` do not change the element. It may be `called` from the algorithm that is lowered.
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
    called: InlinedCall | None = None

    @property
    def line(self) -> int:
        """The line of the lowered algorithm at which the element is accessed: that of the call if it is `called`."""
        return self.span.line if self.called is None else self.called.line

    @property
    def sufficient_conditions(self) -> tuple[Poly, ...] | None:
        """Conditions for an access: in each iteration where all are nonnegative, some branch accesses the element.

        None if it depends on data whether the element is accessed.
        """
        if self.shared is not None:
            return self.shared
        return self.when if self.certain else None


@record(eq=False)
class Loop:
    """A loop of at most `trips` iterations with lo <= variable < hi.

    `facts` hold around it, `inside` in its body. All of `holds` are nonnegative in every iteration. It may be `called`
    from the algorithm that is lowered.
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
    called: InlinedCall | None = None

    @property
    def name(self) -> str:
        """The name of the loop in messages, such as "`for i` (line 12)" or "the elements (line 12)"."""
        place = f"line {self.span.line}"
        if self.called is not None:
            place += f" of `{self.called.algorithm}`, called in line {self.called.line}"
        counter = self.variable.partition("'")[0]
        return f"{_name_written_loop(counter, self.span.head)} ({place})"


def _name_written_loop(counter: str, head: Span) -> str:
    """Name a loop as the program text `head` has it; a name that elaboration made stands in no text."""
    text = "\n".join(head.source.lines[head.line - 1 : head.end_line])
    if counter == "while":
        return "`while`"
    if counter in re.findall(r"\w+", text):
        return f"`for {counter}`"
    header = re.match(r"(?:parallel\s+)?(for\s+\w+|repeat\b)", text[head.column - 1 :])
    inside = re.search(rf"\b(for\s+{counter.rstrip('0123456789')})\b", text)
    written = header or inside
    return "the elements" if written is None else f"`{' '.join(written[1].split())}`"


@record(eq=False)
class RecursiveCall:
    """A call of a recursive algorithm, with sizes and views by parameter.

    Its local arrays begin above `base` lines of the stack; None if that varies.
    """

    target: s.Algorithm
    sizes: Mapping[str, Poly]
    views: Mapping[str, View] = field(repr=False)
    span: Span = field(repr=False)
    base: Poly | None = None


@record(eq=False)
class Choice:
    """An `if`, with or without recursive calls in it: the first branch whose condition holds is taken."""

    branches: tuple[ChoiceBranch, ...]


@record(eq=False)
class ChoiceBranch:
    """A branch of a choice, with its condition (None for `else`).

    `taken` is the indicator of the condition, None if it depends on data; `possible` is 0 only where sizes exclude the
    condition. All of `known` are nonnegative where this branch is taken (and only there, if `OneLevelLowering` built
    it); None if not known.
    """

    taken: Poly | None
    possible: Poly
    condition: s.Expr | None
    body: tuple[Node, ...]
    known: tuple[Poly, ...] | None = None


Node = Access | Loop | RecursiveCall | Choice
Chain = tuple[Loop, ...]
"""The loops around a node, the outermost first."""


def iterate_accesses(nodes: tuple[Node, ...], chain: Chain = ()) -> Iterator[tuple[Access, Chain]]:
    """Yield every access with the loops around it."""
    for node in nodes:
        if isinstance(node, Access):
            yield node, chain
        elif not isinstance(node, RecursiveCall | Choice):
            yield from iterate_accesses(node.body, (*chain, node))


def remove_pure_reads(nodes: tuple[Node, ...]) -> Iterator[Node]:
    """Yield the nodes with all accesses removed that only read."""
    for node in nodes:
        match node:
            case Access():
                if node.written:
                    yield node
            case Loop(body=body):
                yield replace(node, body=tuple(remove_pure_reads(body)))
            case Choice(branches=branches):
                yield Choice(tuple(replace(branch, body=tuple(remove_pure_reads(branch.body))) for branch in branches))
            case RecursiveCall():
                yield node


def contiguous_dimension(array: Array) -> int:
    """Return the dimension of an array along which neighbours are adjacent in memory."""
    return 0 if array.layout == "colmajor" else len(array.extents) - 1
