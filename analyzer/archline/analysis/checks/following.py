"""Runs followed without data: as far as the sizes decide them, and the integers that a program computes from these.

Of a loop the first iterations and the last are followed; of what the data decides nothing, unless a check says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod

from archline.analysis.sampling import offsets_rules
from archline.ir.scope import declared
from archline.language import syntax as s
from archline.language.checking.points import Free, Path, Requirement, Sampler
from archline.language.evaluate import EvaluationError, evaluate_static, holds
from archline.language.model import Module

SCALES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 32, 33, 64, 65)
SMALL, MAX_SMALL = 8, 24
"""Short runs have sizes up to this, and so many of them are tried."""
MAX_FREE = 5
"""Of so many sizes, all that are small are tried."""
Extents = tuple[int | None, ...]
Sizes = Mapping[str, int]


class StoppedError(Exception):
    """A followed run ends: it fails, or is too long to follow."""


# Sizes
@lru_cache(maxsize=64)
def points(module: Module, algorithm: s.Algorithm, indices: bool = True) -> tuple[Sizes, ...]:
    """Sizes that the `where` allows, the smallest first; equal ones come before those that differ.

    With `indices` they have values of `index` parameters too; on a grid P and the extents of the axes fit.
    """
    signature = module.signatures[algorithm]
    names = (*signature.size_names, *(signature.indices if indices else ()), *(("P",) if algorithm.grid else ()))
    at_least = {**signature.at_least, "P": 1} if algorithm.grid else signature.at_least
    implied = offsets_rules(declared(module, algorithm))

    def allowed(values: tuple[int, ...]) -> bool:
        point = dict(zip(names, values, strict=True))
        return (
            all(point[name] >= least for name, least in at_least.items())
            and all(holds(fact, point) is not False for fact in algorithm.where)
            and all(rule(point) for rule in implied)
            and (not algorithm.grid or prod(extents(algorithm, point)) == point["P"])
        )

    frames: Path = [Free(name, at_least.get(name)) for name in names]
    frames += [Requirement(fact) for fact in algorithm.where]
    drawn = (tuple(point[name] for name in names) for point in Sampler().points(frames))
    few = product((1, 2, 3), repeat=len(names)) if len(names) <= MAX_FREE else ()
    candidates = dict.fromkeys((*_ladder(len(names)), *few, *drawn))
    chosen = sorted(filter(allowed, candidates), key=lambda each: (len(set(each)), max(each, default=0), sum(each)))
    return tuple(dict(zip(names, values, strict=True)) for values in chosen)


def small(module: Module, algorithm: s.Algorithm, indices: bool = False) -> tuple[Sizes, ...]:
    """Sizes of short runs."""
    every = points(module, algorithm, indices)
    return tuple(each for each in every if max(each.values(), default=0) <= SMALL)[:MAX_SMALL] or every[:1]


def extents(algorithm: s.Algorithm, point: Sizes) -> tuple[int, ...]:
    """Those of the axes of a grid; that of an axis which has none at these sizes is 0."""
    try:
        return tuple(evaluate_static(axis.extent, point) for axis in algorithm.grid)
    except EvaluationError:
        return (0,)


def _ladder(count: int) -> Iterator[tuple[int, ...]]:
    """Sizes of one magnitude: equal, rising, falling and doubling; and one that is not of that of the others."""
    for scale in SCALES:
        yield (scale,) * count
        yield tuple(scale + place for place in range(count))
        yield tuple(scale + place for place in reversed(range(count)))
        yield tuple(scale << place for place in range(count))
    for one, others in product((1, *SCALES[-6:]), repeat=2):
        for place in range(count if one != others else 0):
            yield tuple(one if each == place else others for each in range(count))


# Runs
@dataclass
class Frame:
    """What is known in a call: values of names, extents of arrays. `integers` are the registers of ints.

    No name is hidden by another in the language, so that blocks need no frames of their own.
    """

    values: dict[str, int]
    extents: dict[str, Extents] = field(default_factory=dict)
    integers: set[str] = field(default_factory=set)

    def value(self, expr: s.Expr) -> int | None:
        """The value; None where the data decides it. A run stops where it has none."""
        match expr:
            case s.Integer(value=value):
                return value
            case s.Name(id=name):
                return self.values.get(name)
            case s.Binary(op="+" | "-" | "*" as op, left=left, right=right):
                x, y = self.value(left), self.value(right)
                if x is None or y is None:
                    return None
                return x + y if op == "+" else x - y if op == "-" else x * y
            case _ if any(
                isinstance(node, s.Element) or (isinstance(node, s.Name) and node.id not in self.values)
                for node in s.nodes(expr)
            ):
                return None
            case _:
                try:
                    return evaluate_static(expr, self.values)
                except EvaluationError:
                    raise StoppedError from None

    def known(self, expr: s.Expr | None) -> int | None:
        """The value of an integer of the data, where it is known."""
        try:
            return None if expr is None else self.value(expr)
        except StoppedError:
            return None

    def all(self, exprs: Iterable[s.Expr]) -> Extents:
        """The values of several expressions."""
        return tuple(map(self.value, exprs))

    def define(self, name: str, value: int | None) -> None:
        """Give a name a value; None where the data decides it."""
        self.values.pop(name, None)
        if value is not None:
            self.values[name] = value

    def forget(self, part: object) -> None:
        """What a part of the program sets is no longer known."""
        for name in s.set_names(part):
            self.values.pop(name, None)


class Follower:
    """Follows the statements of runs; a check says what it makes of accesses, calls and what the data decides."""

    def __init__(self, module: Module, statements: int, first: int = 1) -> None:
        self.module, self.left, self._first = module, statements, first

    def block(self, body: tuple[s.Stmt, ...], frame: Frame) -> None:
        """Follow the statements of a block."""
        for statement in body:
            self.left -= 1
            if self.left < 0:
                raise StoppedError
            self.statement(statement, frame)

    def statement(self, statement: s.Stmt, frame: Frame) -> None:
        """Follow a statement."""
        match statement:
            case s.Let(name=name, value=value):
                self.evaluate(value, frame)
                if self.module.is_view(value):
                    frame.extents[name] = self.shape(value, frame)
                else:
                    frame.define(name, frame.value(value))
            case s.Local(name=name, type=type_, value=value):
                self.evaluate(value, frame)
                frame.extents[name] = frame.all(type_.shape) if isinstance(type_, s.ArrayType) else ()
                frame.define(name, frame.known(value) if statement.is_integer else None)
                if statement.is_integer:
                    frame.integers.add(name)
            case s.While():
                self._while(statement, frame)
            case s.Assume(facts=facts):
                if any(holds(fact, frame.values) is False for fact in facts):
                    raise StoppedError
            case s.Loop():
                self.loop(statement, frame)
            case s.If(branches=branches):
                self._if(branches, frame)
            case s.Simple():
                for each in s.evaluated(statement):
                    self.evaluate(each, frame)
                if isinstance(statement, s.Assign) and isinstance(statement.target, s.Name):
                    name = statement.target.id
                    frame.define(name, frame.known(_assigned(statement)) if name in frame.integers else None)
                elif isinstance(statement, s.Communication | s.Invoke):
                    # On a grid, what is received may be a register.
                    for name in s.names(statement) & frame.integers:
                        frame.define(name, None)
            case s.Split():
                self.undecided((statement.body,), frame)

    def _while(self, loop: s.While, frame: Frame) -> None:
        self.evaluate(loop.limit, frame)
        rounds = 0
        while True:
            self.evaluate(loop.condition, frame)
            goes_on = holds(loop.condition, frame.values)
            if goes_on is None:
                self.undecided((loop.body,), frame)
            if not goes_on:
                return
            rounds += 1
            begun = s.Integer(rounds, span=loop.span)
            if holds(s.Binary("<=", begun, loop.limit, span=loop.span), frame.values) is False:
                self.passed(loop, rounds)
            self.block(loop.body, frame)

    def loop(self, loop: s.Loop, frame: Frame) -> None:
        """Follow a loop."""
        self.evaluate(loop.lo, frame)
        self.evaluate(loop.hi, frame)
        lo, hi = frame.value(loop.lo), frame.value(loop.hi)
        step = 1 if loop.step is None else frame.value(loop.step)
        if lo is None or hi is None or step is None:
            self.unbounded(loop, frame)
            return
        if step < 1:
            raise StoppedError
        values = range(lo, hi - 1, -step) if loop.down else range(lo, hi, step)
        for value in values[: self._first]:
            self.iteration(loop, value, frame)
        for value in values[self._first :][-1:]:
            if values[self._first : -1]:
                frame.forget(loop.body)
            self.iteration(loop, value, frame)

    def iteration(self, loop: s.Loop, value: int, frame: Frame) -> None:
        """Follow an iteration of a loop."""
        frame.define(loop.variable, value)
        self.block(loop.body, frame)

    def unbounded(self, loop: s.Loop, frame: Frame) -> None:
        """A loop whose range the data decides."""
        self.undecided((loop.body,), frame)

    def _if(self, branches: tuple[s.Branch, ...], frame: Frame) -> None:
        possible: list[tuple[s.Stmt, ...]] = []
        for branch in branches:
            if not possible:
                self.evaluate(branch.condition, frame)
            taken = True if branch.condition is None else holds(branch.condition, frame.values)
            if taken and not possible:
                self.block(branch.body, frame)
                return
            if taken is not False:
                possible.append(branch.body)
            if taken:
                break
        self.undecided(tuple(possible), frame)

    def undecided(self, bodies: tuple[tuple[s.Stmt, ...], ...], frame: Frame) -> None:
        """Blocks that the data may enter."""
        frame.forget(bodies)

    def passed(self, loop: s.While, iteration: int) -> None:
        """An iteration begins that the bound of a `while` does not allow."""
        raise StoppedError

    # Expressions
    def evaluate(self, expr: s.Expr | None, frame: Frame) -> None:
        """The accesses and calls of an evaluation."""
        match expr:
            case s.Unary(operand=inner) | s.Reshape(base=inner) | s.Binary(op="and" | "or", left=inner):
                # The right side of `and` and `or` may not be evaluated.
                self.evaluate(inner, frame)
            case s.Binary(left=left, right=right):
                self.evaluate(left, frame)
                self.evaluate(right, frame)
            case s.Call(arguments=arguments):
                for argument in arguments:
                    self.evaluate(argument, frame)
                target = self.module.targets.get(expr)
                if isinstance(target, s.Algorithm):
                    self.call(expr, target, frame)
            case s.Element(subscripts=subscripts):
                known = frame.extents.get(expr.array) or (None,) * len(subscripts)
                place = [self._subscript(expr, *each, frame) for each in zip(subscripts, known, strict=True)]
                self.accessed(expr, tuple(place))
            case s.Name():
                self.accessed(expr, ())
            case s.Integer() | s.Real() | None:
                pass

    def _subscript(
        self, access: s.Element, subscript: s.Expr | s.Slice, extent: int | None, frame: Frame
    ) -> int | None:
        if not isinstance(subscript, s.Slice):
            self.evaluate(subscript, frame)
            lo = frame.value(subscript)
            hi = None if lo is None else lo + 1
        elif subscript.hi is not None:
            lo = 0 if subscript.lo is None else frame.value(subscript.lo)
            hi = frame.value(subscript.hi)
            if subscript.by_length and hi is not None:
                hi = None if lo is None else lo + hi
        else:
            return None
        if lo is not None and hi is not None and extent is not None and not 0 <= lo <= hi <= extent:
            self.outside(access, subscript, f"{lo}..{hi}" if isinstance(subscript, s.Slice) else f"index {lo}", extent)
        return None if isinstance(subscript, s.Slice) else lo

    def shape(self, view: s.Expr, frame: Frame) -> Extents:
        """The extents of a view."""
        if isinstance(view, s.Name):
            return frame.extents.get(view.id, ())
        return frame.all(self.module.shapes.get(view, ()))

    def accessed(self, access: s.Name | s.Element, place: Extents) -> None:
        """An element, register or view is accessed; `place` has the values of subscripts that are known."""

    def outside(self, access: s.Element, subscript: s.Expr | s.Slice, found: str, extent: int) -> None:
        """A subscript or slice lies outside."""
        raise StoppedError

    def call(self, call: s.Call, callee: s.Algorithm, frame: Frame) -> None:
        """An algorithm is called."""


def _assigned(statement: s.Assign) -> s.Expr:
    """The value that an assignment gives."""
    target, value, op = statement.target, statement.value, statement.op[:-1]
    if op in ("min", "max"):
        return s.Call(op, (target, value), span=statement.span)
    return s.Binary(op, target, value, span=statement.span) if op else value


def at(sizes: Sizes) -> str:
    """`n = 1, m = 2`."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def shape_of(parameter: s.Parameter) -> tuple[s.Expr, ...]:
    """The extents of a parameter."""
    match parameter.type:
        case s.ArrayType(shape=shape) | s.IndexArrayType(shape=shape):
            return shape
        case s.OffsetsType(count=count):
            return (s.Binary("+", count, s.Integer(1, span=count.span), span=count.span),)
        case s.SizeType() | s.IndexType() | s.ScalarType() | s.OperatorType():
            return ()
