"""Costs in programs that bound io in parts of 1/L of a line: what loops walk along shares lines, all else has its own.

Lines that the innermost loop walks along are kept while it runs, one for each array that it does so in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod

from archline.analysis.io.accessed import Counting
from archline.analysis.recursion.graph import reachable, recurses
from archline.language import syntax as s
from archline.language.format_expressions import format_expression
from archline.language.model import Module
from archline.language.source import Span

FEW = 8
"""The lines of a call that are kept at most."""
Rows = Mapping[s.Algorithm, frozenset[str]]
"""The arrays of algorithms of which neighbours in a row are neighbours in memory."""


@dataclass(frozen=True)
class Walk:
    """How many words a loop walks along in each iteration, and how many it may begin with beside those."""

    words: int
    first: int


class Streamed(Counting):
    """L for an access, for those that a loop walks along 1, and for ends of what is walked along another 2*L - 2.

    `lines` are kept at most at a time. `sharing`: whether lines are kept at all.
    """

    def __init__(self, module: Module, line: int, rows: Rows, sharing: bool) -> None:
        super().__init__(module)
        self.lines = 1
        self._line, self._rows, self._sharing = line, rows, sharing
        self._own: frozenset[str] = frozenset()
        self._walked: Mapping[str, Walk] = {}

    def copy(self, algorithm: s.Algorithm) -> s.Algorithm:
        self._own = self._rows[algorithm]
        return super().copy(algorithm)

    def _counted(self, statement: s.Stmt) -> Iterator[s.Stmt]:
        match statement:
            case s.Loop() if self._sharing and _is_innermost(statement):
                yield from self._walked_along(statement)
            case s.Invoke(call=call) if self._sharing and (words := self._few(call)) is not None:
                self.lines = max(self.lines, -(-words // self._line))
                yield from self._costs(call, statement.span)
                yield _cost(_number(words, statement.span))
            case _:
                yield from super()._counted(statement)

    def _few(self, call: s.Call) -> int | None:
        """The words of the lines that a call touches, if its sizes are numbers, which are then all that it fetches."""
        target = self._module.targets.get(call)
        if not isinstance(target, s.Algorithm) or target.result is not None or recurses(self._module, target):
            return None
        if any(makes_arrays(each) for each in (target, *reachable(self._module, target))):
            return None
        total = 0
        for each in filter(self._is_view, call.arguments):
            shape = self._module.shapes.get(each, ())
            extents = [extent.value for extent in shape if isinstance(extent, s.Integer)]
            if not extents or len(extents) < len(shape):
                return None
            *outer, row = extents
            total += prod(outer) * (row + 2 * self._line - 2 if in_rows(each, self._own) else row * self._line)
        return total if total <= FEW * self._line else None

    def _walked_along(self, statement: s.Loop) -> Iterator[s.Stmt]:
        """A loop, with what it walks along."""
        span = statement.span
        yield from self._costs((statement.lo, statement.hi), span)
        self._walked = dict(self._walks(statement))
        self.lines = max(self.lines, len(self._walked) + 1)
        ends = sum(walk.first + 2 * self._line - 2 for walk in self._walked.values())
        words = sum(walk.words for walk in self._walked.values())
        yield _cost(_number(ends, span))
        yield replace(statement, body=(_cost(_number(words, span)), *self.block(statement.body)))
        self._walked = {}

    def _costs(self, part: object, span: Span) -> Iterator[s.Stmt]:
        named = (each for each in s.nodes(part) if isinstance(each, s.Element) and not self._is_view(each))
        count = sum(1 for each in named if format_expression(each) not in self._walked)
        if count:
            yield _cost(_number(count * self._line, span))

    def _filled(self, statement: s.Stmt, shape: tuple[s.Expr, ...], value: s.Expr) -> Iterator[s.Stmt]:
        span = statement.span
        yield from self._costs(statement, span)
        views = [
            each for each in (getattr(statement, "target", None), value) if each is not None and self._is_view(each)
        ]
        walked = [in_rows(each, self._own) for each in views]
        if isinstance(statement, s.Local):
            walked.append(_is_by_rows(statement.type))
        along = sum(walked) if self._sharing else 0
        self.lines = max(self.lines, along + 1)
        *outer, row = shape
        words = _number(along + (len(walked) - along) * self._line, span)
        ends = _number(along * (2 * self._line - 2), span)
        inner: s.Stmt = _cost(_both("+", _both("*", words, row), ends))
        for depth, extent in reversed(tuple(enumerate(outer))):
            inner = s.Loop(f"element {depth}", _number(0, span), extent, None, False, False, (inner,), span=span)
        yield inner
        yield statement

    def _walks(self, loop: s.Loop) -> Iterator[tuple[str, Walk]]:
        """The elements of rows that each stand beside the one before, or are the same."""
        changing = frozenset(_settled(loop.body)) | {loop.variable}
        steady = [each for part in _always(loop.body) for each in s.nodes(part)]
        counters = _counters(loop.body)
        for each in s.nodes(loop.body):
            if not isinstance(each, s.Element) or each.array not in self._own - changing:
                continue
            counter = _moved_by(each, changing)
            if counter == loop.variable and each in steady:
                yield format_expression(each), Walk(1, 0)
            elif counter in counters:
                # Whether it is accessed or not, its place moves by no more than the steps of the counter.
                yield format_expression(each), Walk(counters[counter], 1)


class Made(Counting):
    """The words of local arrays, each filled up to whole lines, and nothing else.

    Those that each iteration of a loop makes again count once, if it has no part in their shapes.
    """

    def __init__(self, module: Module, line: int) -> None:
        super().__init__(module)
        self._line = line
        self._before: frozenset[s.Local] = frozenset()

    def _counted(self, statement: s.Stmt) -> Iterator[s.Stmt]:
        match statement:
            case s.Local(type=s.ArrayType(shape=shape)):
                if statement not in self._before:
                    yield self._words(statement, shape)
                yield statement
            case s.Loop(body=body) | s.While(body=body):
                outer, changing = self._before, frozenset(_named(statement))
                for each in s.nodes(body):
                    match each:
                        case s.Local(type=s.ArrayType(shape=shape)) if changing.isdisjoint(s.names(shape)):
                            if each not in self._before:
                                yield self._words(each, shape)
                            self._before |= {each}
                yield from super()._counted(statement)
                self._before = outer
            case s.Assign():
                yield statement
            case _:
                yield from super()._counted(statement)

    def _costs(self, part: object, span: Span) -> Iterator[s.Stmt]:
        yield from ()

    def _words(self, local: s.Local, shape: tuple[s.Expr, ...]) -> s.Stmt:
        return _cost(_both("+", reduce(lambda x, y: _both("*", x, y), shape), _number(self._line - 1, local.span)))


def rows(module: Module, reached: Sequence[s.Algorithm]) -> Rows:
    """The arrays of algorithms that call each other alone, but the first, which is given whole ones."""
    known = {each: frozenset(_in_rows(each)) for each in reached}
    while True:
        apart = {
            (target, parameter.name)
            for each in reached
            for call in s.nodes(each.body)
            if isinstance(call, s.Call) and isinstance(target := module.targets.get(call), s.Algorithm)
            for parameter, argument in zip(target.parameters, call.arguments, strict=True)
            if parameter.name in known[target] and not in_rows(argument, known[each])
        }
        if not apart:
            return known
        known = {each: frozenset(name for name in names if (each, name) not in apart) for each, names in known.items()}


def makes_arrays(algorithm: s.Algorithm) -> bool:
    """Whether the body of an algorithm makes local arrays."""
    local = (each.type for each in s.nodes(algorithm.body) if isinstance(each, s.Local))
    return any(isinstance(each, s.ArrayType) for each in local)


def in_rows(view: s.Expr, names: frozenset[str]) -> bool:
    """Whether a view of some array of the names has its rows in theirs, none of whose elements is left out."""
    match view:
        case s.Name(id=name):
            return name in names
        case s.Element(array=name, subscripts=(*_, s.Slice(step=None))):
            return name in names
        case s.Reshape(base=base):
            return in_rows(base, names)
    return False


def _in_rows(algorithm: s.Algorithm) -> Iterator[str]:
    """The arrays of an algorithm that are no views, and those it is given, if these are none either."""
    for each in (*algorithm.parameters, *s.nodes(algorithm.body)):
        if isinstance(each, s.Parameter | s.Local) and _is_by_rows(each.type):
            yield each.name


def _is_by_rows(type_: s.Type) -> bool:
    match type_:
        case s.ArrayType(layout=layout, shape=shape):
            return layout == "rowmajor" or len(shape) == 1
        case s.OffsetsType() | s.IndexArrayType():
            return True
    return False


def _is_innermost(loop: s.Loop) -> bool:
    """Whether a loop steps by 1, and holds no others, nor calls, nor whole arrays."""
    apart = (s.Loop, s.While, s.Call, s.Slice, s.ArrayType, s.Reshape)
    return loop.step is None and not any(isinstance(each, apart) for each in s.nodes(loop.body))


def _settled(body: tuple[s.Stmt, ...]) -> Iterator[str]:
    """The names that get values in a body."""
    for each in s.nodes(body):
        match each:
            case s.Assign(target=s.Name(id=name)) | s.Local(name=name) | s.Let(name=name):
                yield name


def _named(loop: s.Loop | s.While) -> Iterator[str]:
    """The names that get values in a loop."""
    yield from _settled(loop.body)
    yield from (each.variable for each in s.nodes(loop) if isinstance(each, s.Loop))


def _always(body: tuple[s.Stmt, ...]) -> Iterator[s.Node]:
    """Parts of a body that are executed whenever it is."""
    for statement in body:
        match statement:
            case s.Assign() | s.Local(when=None):
                yield statement
            case s.If(branches=(s.Branch(condition=s.Node() as condition), *_)):
                yield _first(condition)


def _first(condition: s.Node) -> s.Node:
    """What of a condition is always looked at."""
    match condition:
        case s.Binary(op="and" | "or", left=left):
            return _first(left)
        case s.Unary(operand=operand):
            return _first(operand)
    return condition


def _counters(body: tuple[s.Stmt, ...]) -> dict[str, int]:
    """The integers that a body moves by 1 in one direction alone, each with how often it may do so."""
    moves: dict[str, list[str | None]] = {}
    for each in s.nodes(body):
        match each:
            case s.Assign(target=s.Name(id=name), op="+=" | "-=" as op, value=s.Integer(value=1)):
                moves.setdefault(name, []).append(op)
            case s.Assign(target=s.Name(id=name)) | s.Local(name=name) | s.Let(name=name):
                moves.setdefault(name, []).append(None)
    return {name: len(found) for name, found in moves.items() if found[0] and len(set(found)) == 1}


def _moved_by(element: s.Element, changing: frozenset[str]) -> str | None:
    """The integer that with something that stays is the last subscript, where all else stays."""
    *others, last = element.subscripts
    inner = [each for each in s.nodes(element.subscripts) if isinstance(each, s.Element)]
    if inner or not changing.isdisjoint(s.names(tuple(others))):
        return None
    match last:
        case s.Name(id=name):
            return name
        case (
            s.Binary(op="+" | "-", left=s.Name(id=name), right=other)
            | s.Binary(op="+", left=other, right=s.Name(id=name))
        ) if changing.isdisjoint(s.names(other)):
            return name
    return None


def _number(value: int, span: Span) -> s.Expr:
    return s.Integer(value, span=span)


def _both(op: str, left: s.Expr, right: s.Expr) -> s.Expr:
    return s.Binary(op, left, right, span=left.span)


def _cost(words: s.Expr) -> s.Costs:
    return s.Costs(((words, "flops"),), span=words.span)
