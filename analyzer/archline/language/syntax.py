"""The syntax tree: frozen dataclasses, each with the span it came from. docs/reference/language.md says what they mean.

Nodes compare by identity, so that passes can keep facts about them in dictionaries; `structure` compares meaning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TypeAlias, TypeVar, dataclass_transform

from archline.language.source import Source, Span

T = TypeVar("T")


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def tree(cls: type[T]) -> type[T]:
    """Make a class a node of the tree."""
    return dataclass(frozen=True, eq=False, slots=True)(cls)


@tree
class Node:
    """What every node has: where it stands in the source."""

    span: Span = field(repr=False, kw_only=True)


# Expressions. A view of an array is an `Element` with at least one `Slice`, a `Name`, or a `Reshape`.
@tree
class Integer(Node):
    """A decimal integer literal."""

    value: int


@tree
class Real(Node):
    """A real literal, kept as written."""

    text: str


@tree
class Name(Node):
    """A size, index, scalar, array, grid coordinate, machine symbol or `pi`."""

    id: str


@tree
class Unary(Node):
    """`-x` (op "-") or `not x` (op "not")."""

    op: str
    operand: Expr


@tree
class Binary(Node):
    """`left op right`, op one of + - * / // % ^ == != < <= > >= and or."""

    op: str
    left: Expr
    right: Expr


@tree
class Call(Node):
    """An intrinsic, an extern, or an algorithm with a result; in a claim also `metric(algorithm)`."""

    function: str
    arguments: tuple[Expr, ...]


@tree
class Slice(Node):
    """`lo..hi`, `lo ..+ hi` (then `by_length`, and hi is the length), `:` (no bounds), each with an optional step."""

    lo: Expr | None
    hi: Expr | None
    step: Expr | None
    by_length: bool


@tree
class Element(Node):
    """`array[subscripts]`: an element where every subscript is an expression, else a view."""

    array: str
    subscripts: tuple[Expr | Slice, ...]


@tree
class Reshape(Node):
    """`base as [shape]`: a one-dimensional view seen row-major in more dimensions."""

    base: Expr
    shape: tuple[Expr, ...]


Expr: TypeAlias = Integer | Real | Name | Unary | Binary | Call | Element | Reshape


# Facts about sizes; a plain expression is a comparison.
@tree
class IsPower(Node):
    """`value is power of base`."""

    value: Expr
    base: Expr


@tree
class IsSquare(Node):
    """`value is square`."""

    value: Expr


@tree
class Divides(Node):
    """`divisor divides value`."""

    divisor: Expr
    value: Expr


Fact: TypeAlias = Expr | IsPower | IsSquare | Divides


# Types and parameters.
@tree
class SizeType(Node):
    """`size`: an integer >= 1 known to the analysis."""


@tree
class IndexType(Node):
    """`index`: an integer of any sign known to the analysis."""


@tree
class ScalarType(Node):
    """`real` or `int`."""

    element: str


@tree
class OperatorType(Node):
    """`operator`: + * min or max, which updates with it take as `x[i] op= y[i]`."""


@tree
class ArrayType(Node):
    """`real[shape] layout`, `int[shape] layout` or `any[shape]`; layout is rowmajor, colmajor or zmorton."""

    element: str
    shape: tuple[Expr, ...]
    layout: str


@tree
class OffsetsType(Node):
    """`offsets[count] into total longest longest`: count + 1 nondecreasing ints from 0 to total."""

    count: Expr
    into: Expr
    longest: Expr | None


@tree
class IndexArrayType(Node):
    """`index[shape] below bound`: ints in [0, bound)."""

    shape: tuple[Expr, ...]
    below: Expr


Type: TypeAlias = SizeType | IndexType | ScalarType | OperatorType | ArrayType | OffsetsType | IndexArrayType


@tree
class Parameter(Node):
    """`name: mode local type`; `local` arrays are each processor's own."""

    name: str
    mode: str
    local: bool
    type: Type


@tree
class Axis(Node):
    """One axis of a processor grid, `name: extent within group`."""

    name: str
    extent: Expr
    within: str | None


# Statements.
@tree
class Let(Node):
    """`let name = value`: names a size or a view."""

    name: str
    value: Expr


@tree
class Local(Node):
    """`local name: type = value when condition`: a register or an array that lives to the end of its block."""

    name: str
    type: ScalarType | ArrayType
    value: Expr | None
    when: Expr | None


@tree
class Assign(Node):
    """`target op value`, op one of = += -= *= /= min= max= or `NAME=`, where NAME is a parameter of type operator.

    It may be atomic; a view as target fills or copies.
    """

    target: Name | Element
    op: str
    value: Expr
    atomic: bool


@tree
class Invoke(Node):
    """A call as a statement, or `spawn` of one; `along` are the axes of the grid whose processors it joins."""

    call: Call
    spawned: bool
    along: tuple[Name, ...] = ()


@tree
class Sync(Node):
    """`sync`: wait for this body's spawned calls."""


@tree
class Pass(Node):
    """`pass`."""


@tree
class Return(Node):
    """`return value`."""

    value: Expr


@tree
class Assume(Node):
    """`assume facts`: checked by the executor, used by the analysis, reported as declared."""

    facts: tuple[Fact, ...]


@tree
class Costs(Node):
    """`costs amount metric, ...`: declared costs."""

    amounts: tuple[tuple[Expr, str], ...]


@tree
class Loop(Node):
    """`for variable in lo..hi step step:`; with `down`, `lo downto hi` with hi inclusive; perhaps parallel."""

    variable: str
    lo: Expr
    hi: Expr
    step: Expr | None
    down: bool
    parallel: bool
    body: tuple[Stmt, ...]


@tree
class While(Node):
    """`while condition at most limit times:`."""

    condition: Expr
    limit: Expr
    body: tuple[Stmt, ...]


@tree
class Branch(Node):
    """One arm of an `if`: condition (None for `else`) and body."""

    condition: Expr | None
    body: tuple[Stmt, ...]


@tree
class If(Node):
    """`if` / `elif` / `else`."""

    branches: tuple[Branch, ...]


@tree
class Transfer(Node):
    """`input local = global when c` (direction "input") or `output global = local when c`."""

    direction: str
    target: Expr
    value: Expr
    when: Expr | None


@tree
class Clause(Node):
    """One clause of a communication: keyword (along, by, into, from, to, onto, with, counts, using) and its values.

    `when` is the condition under which an exchange sends (`to`) or receives (`from`).
    """

    keyword: str
    values: tuple[Expr, ...]
    when: Expr | None = None


@tree
class Communicate(Node):
    """A communication: an exchange, send or receive, or a collective operation."""

    operation: str
    buffer: Expr | None
    clauses: tuple[Clause, ...]


@tree
class Split(Node):
    """`split axis by parts as group:`."""

    axis: str
    parts: Expr
    group: str
    body: tuple[Stmt, ...]


Stmt: TypeAlias = (
    Let
    | Local
    | Assign
    | Invoke
    | Sync
    | Pass
    | Return
    | Assume
    | Costs
    | Loop
    | While
    | If
    | Transfer
    | Communicate
    | Split
)


# Contracts and the file's items.
@tree
class Ensures(Node):
    """`ensures metric relation bound when facts`; relation is == <= >= Theta O or Omega.

    `processors` is the P of `ensures time(P) ...`.
    """

    metric: str
    processors: Name | None
    relation: str
    bound: Expr
    when: tuple[Fact, ...]

    @property
    def subject(self) -> str:
        """What is bounded, as it is written: `work`, `time(P)`."""
        return self.metric if self.processors is None else f"{self.metric}({self.processors.id})"


@tree
class Use(Node):
    """`use dense.matmul`."""

    path: tuple[str, ...]


@tree
class Extern(Node):
    """`extern name(parameters) -> result costs amounts`."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None
    costs: tuple[tuple[Expr, str], ...]


@tree
class Claim(Node):
    """`claim "title": left relation right where facts on "machine" at name = value, ...`."""

    title: str | None
    left: Expr
    relation: str
    right: Expr
    where: tuple[Fact, ...]
    machine: str | None
    at: tuple[tuple[str, Expr], ...]


@tree
class Algorithm(Node):
    """An algorithm: header, contract, body. `name_span` is the name alone, for diagnostics."""

    name: str
    parameters: tuple[Parameter, ...]
    result: str | None
    grid: tuple[Axis, ...]
    doc: str | None
    where: tuple[Fact, ...]
    ensures: tuple[Ensures, ...]
    decreases: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    name_span: Span


Item: TypeAlias = Use | Extern | Claim | Algorithm


@dataclass(frozen=True)
class Comment:
    """A `#` comment: its text with the sign, and whether it has a line to itself."""

    line: int
    column: int
    text: str
    alone: bool


@dataclass(frozen=True, eq=False)
class Program:
    """A parsed file. `broken` names the algorithms that had syntax errors and were repaired to go on."""

    source: Source = field(repr=False)
    items: tuple[Item, ...]
    comments: tuple[Comment, ...] = ()
    broken: frozenset[str] = frozenset()

    @property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """The file's algorithms, in order."""
        return tuple(item for item in self.items if isinstance(item, Algorithm))


@cache
def _parts(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that may hold nodes."""
    return tuple(each.name for each in fields(kind) if each.name not in ("span", "name_span"))


@cache
def _inner(kind: type[Node]) -> tuple[str, ...]:
    """Those but for the ones that hold a bare value, the last first."""
    bare = {each.name for each in fields(kind) if each.type in ("str", "str | None", "int", "bool")}
    return tuple(name for name in reversed(_parts(kind)) if name not in bare)  # type: ignore[arg-type]


def structure(value: object) -> object:
    """The tree as nested tuples without spans: equal for two programs of the same meaning."""
    if isinstance(value, Node):
        parts = (getattr(value, name) for name in _parts(type(value)))  # type: ignore[arg-type]
        return (type(value).__name__, *(structure(part) for part in parts))
    if isinstance(value, Program):
        return tuple(structure(item) for item in value.items)
    if isinstance(value, tuple):
        return tuple(structure(part) for part in value)
    return value


def same(one: Node | None, other: Node | None) -> bool:
    """Whether two parts of programs are written the same; nodes themselves are compared by identity."""
    return one is other or (one is not None and other is not None and structure(one) == structure(other))


def nodes(value: object) -> Iterator[Node]:
    """A part of a program, or several in a tuple, and every node inside, in the order of the text."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, Node):
            yield part
            pending += [getattr(part, name) for name in _inner(type(part))]  # type: ignore[arg-type]
        elif isinstance(part, tuple):
            pending += part[::-1]


def blocks(statement: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside a statement."""
    match statement:
        case Loop(body=body) | While(body=body) | Split(body=body):
            return (body,)
        case If(branches=branches):
            return tuple(each.body for each in branches)
        case (
            Let()
            | Local()
            | Assign()
            | Invoke()
            | Sync()
            | Pass()
            | Return()
            | Assume()
            | Costs()
            | Transfer()
            | Communicate()
        ):
            return ()


def own_parts(statement: Stmt) -> tuple[Node, ...]:
    """The parts of a statement that are no blocks inside it: the statement itself where there are none."""
    match statement:
        case Loop(lo=lo, hi=hi, step=step):
            return (lo, hi) if step is None else (lo, hi, step)
        case While(condition=condition, limit=limit):
            return condition, limit
        case If(branches=branches):
            return tuple(each.condition for each in branches if each.condition is not None)
        case Split(parts=parts):
            return (parts,)
        case (
            Let()
            | Local()
            | Assign()
            | Invoke()
            | Sync()
            | Pass()
            | Return()
            | Assume()
            | Costs()
            | Transfer()
            | Communicate()
        ):
            return (statement,)


def names(value: object) -> frozenset[str]:
    """The names in a part of a program, or in several in a tuple."""
    return frozenset(node.id for node in nodes(value) if isinstance(node, Name))
