"""Defines the tree of expressions and facts: frozen nodes, each with its place in the source, and walks and rewriting.

Nodes compare by identity, so that passes can keep facts about them in dictionaries; `has_same_structure` compares what
they say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields
from functools import cache, cached_property
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar, dataclass_transform

from archline.records import record, replace

T = TypeVar("T")


@record(eq=False)
class Source:
    """A file's text and the name it is reported under."""

    path: str
    text: str = field(repr=False)
    original: str | None = field(default=None, repr=False)
    """What the author wrote where `text` differs from it: lines and columns of code are the same. Messages show it."""

    @property
    def written(self) -> str:
        """The text as its author wrote it."""
        return self.text if self.original is None else self.original

    @cached_property
    def written_lines(self) -> list[str]:
        """The lines that the author wrote."""
        return self.written.split("\n")

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines without their ends; line k of a span is ``lines[k - 1]``."""
        return self.text.split("\n")


@record(slots=True)
class Span:
    """A stretch of source: lines and columns count from 1, the end is exclusive."""

    source: Source = field(repr=False)
    line: int
    column: int
    end_line: int
    end_column: int
    header: Span | None = field(default=None, repr=False)
    """The span of the header, if this is the span of a block."""

    def __str__(self) -> str:
        return f"{self.source.path}:{self.line}:{self.column}"

    @property
    def head(self) -> Span:
        """The span of the header of a block; the span itself if it is not that of a block."""
        return self.header or self

    @property
    def text(self) -> str:
        """The text of the head, or of its first line."""
        head = self.head
        end = head.end_column - 1 if head.end_line == head.line else None
        return self.source.lines[self.line - 1][self.column - 1 : end]

    def extend_to(self, last: Span) -> Span:
        """Return the span of a block with the head of this one for its header; it ends where `last` ends."""
        return Span(self.source, self.line, self.column, last.end_line, last.end_column, self.head)


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def tree_node(cls: type[T]) -> type[T]:
    """Make a class a frozen node of the tree, with slots and comparison by identity."""
    return record(eq=False, slots=True)(cls)


@tree_node
class Node:
    """A node of the tree, with its location in the source."""

    span: Span = field(repr=False, kw_only=True)

    @property
    def head(self) -> Span:
        """The place at which messages show the node: the header of a block, or all of the node."""
        return self.span.head


# Expressions. A view of an array is an `Element` with at least one `Slice`, a `Name`, or a `Reshape`.
@tree_node
class Integer(Node):
    """A decimal integer literal."""

    value: int


@tree_node
class Real(Node):
    """A real literal; its text is that of the source."""

    text: str


@tree_node
class Name(Node):
    """A size, index, scalar, array, grid coordinate, machine symbol or `pi`."""

    id: str


@tree_node
class Unary(Node):
    """`-x` (op "-") or `not x` (op "not")."""

    op: str
    operand: Expr


@tree_node
class Binary(Node):
    """`left op right`, op one of + - * / // % @ ^ == != < <= > >= and or."""

    op: str
    left: Expr
    right: Expr


@tree_node
class Call(Node):
    """An intrinsic, an extern, or an algorithm with a result.

    In a claim also `metric(algorithm, size = value, ...)`, which sets `sizes` of that algorithm. `as_method`: it is
    written `first.function(rest)`.
    """

    function: str
    arguments: tuple[Expr, ...]
    sizes: tuple[tuple[str, Expr], ...] = ()
    as_method: bool = False


@tree_node
class Slice(Node):
    """`lo..hi`, `lo ..+ hi` (then `by_length`, and hi is the length), `:` (no bounds), each with an optional step."""

    lo: Expr | None
    hi: Expr | None
    step: Expr | None
    by_length: bool


@tree_node
class Element(Node):
    """`array[subscripts]`: an element where every subscript is an expression, else a view."""

    array: str
    subscripts: tuple[Expr | Slice, ...]


@tree_node
class Reshape(Node):
    """`base as [shape]`: a one-dimensional view seen row-major in more dimensions."""

    base: Expr
    shape: tuple[Expr, ...]


@tree_node
class Comprehension(Node):
    """`value for variable in lo..hi step step if condition`: what `sum`, `min` and `max` combine."""

    value: Expr
    variable: str
    lo: Expr
    hi: Expr
    step: Expr | None
    condition: Expr | None


Expr: TypeAlias = Integer | Real | Name | Unary | Binary | Call | Element | Reshape


# Facts about sizes; a plain expression is a comparison.
@tree_node
class IsPower(Node):
    """`value is power of base`."""

    value: Expr
    base: Expr


@tree_node
class IsSquare(Node):
    """`value is square`."""

    value: Expr


@tree_node
class Divides(Node):
    """`divisor divides value`."""

    divisor: Expr
    value: Expr


Fact: TypeAlias = Expr | IsPower | IsSquare | Divides


# Walks
@cache
def _list_fields_with_nodes(kind: type[Node]) -> tuple[str, ...]:
    """Return the fields of a kind of node that may contain nodes, last first."""
    bare = {declared.name for declared in fields(kind) if declared.type in ("str", "str | None", "int", "bool", "Span")}
    return tuple(declared.name for declared in reversed(fields(kind)) if declared.name not in bare)


def _make_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that lists the values of attributes of an object."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda node: tuple(getattr(node, name) for name in names)


@cache
def _make_child_getter(kind: type[Node]) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return a function that lists the fields of a node that may contain nodes, last first; None if there are none."""
    names = _list_fields_with_nodes(kind)  # type: ignore[arg-type]
    return _make_getter(names) if names else None


def iterate_nodes(value: object) -> Iterator[Node]:
    """Yield a part of a program, or several in a tuple, and every node inside, in the order of the text."""
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, Node):
            yield part
            list_children = _make_child_getter(type(part))  # type: ignore[arg-type]
            if list_children is not None:
                pending += list_children(part)
        elif isinstance(part, tuple):
            pending += part[::-1]


MAX_DEPTH = 200
"""The maximum nesting of expressions; a chain of operators counts one level for each operator."""


def measure_nesting_depth(root: object) -> int:
    """Return the nesting depth of a part of a program."""
    deepest, pending = 0, list[tuple[object, int]]([(root, 1)])
    while pending:
        part, level = pending.pop()
        if isinstance(part, Node):
            deepest = max(deepest, level)
            pending += [(getattr(part, name), level + 1) for name in _list_fields_with_nodes(type(part))]  # type: ignore[arg-type]
        elif isinstance(part, tuple):
            pending += [(element, level) for element in part]
    return deepest


def find_nodes(value: object, *kinds: type[T]) -> Iterator[T]:
    """Return the nodes of some kinds in a tree, or in several."""
    return (node for node in iterate_nodes(value) if isinstance(node, kinds))


def find_names(value: object) -> frozenset[str]:
    """Return the names in a part of a program, or in several in a tuple."""
    return frozenset(node.id for node in iterate_nodes(value) if isinstance(node, Name))


@cache
def list_compared_fields(kind: type[Node]) -> tuple[str, ...]:
    """List the names of the fields of a kind of nodes, in their order, without spans."""
    return tuple(declared.name for declared in fields(kind) if declared.name not in ("span", "name_span"))


Change = Callable[[Node], "Node | tuple[Node, ...] | None"]
"""Returns what takes the place of a node; None if it stays, and its parts are changed."""


def rewrite_tree(value: Any, change: Change) -> Any:
    """Replace nodes in a part of a program by what `change` returns, outermost first; None keeps a node.

    A tuple of nodes takes the place of a node in a sequence, such as a statement in its block.
    """
    if isinstance(value, tuple):
        parts: list[Any] = []
        for part in value:
            changed = rewrite_tree(part, change)
            if isinstance(part, Node) and isinstance(changed, tuple):
                parts.extend(changed)
            else:
                parts.append(changed)
        same = len(parts) == len(value) and all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else tuple(parts)
    if not isinstance(value, Node):
        return value
    replacement = change(value)
    return rewrite_fields(value, change) if replacement is None else replacement


def rewrite_fields(node: Node, change: Change) -> Any:
    """Replace the nodes inside a node, not the node itself, as `rewrite_tree` does."""
    parts = {}
    for name in list_compared_fields(type(node)):  # type: ignore[arg-type]
        old = getattr(node, name)
        new = rewrite_tree(old, change)
        if new is not old:
            parts[name] = new
    return replace(node, **parts) if parts else node


@cache
def _make_field_getter(kind: type[Node]) -> Callable[[Any], tuple[Any, ...]]:
    """Return a function that lists the values of the fields of a node, without its span."""
    return _make_getter(kind.__match_args__)


def move_tree(value: T, source: Source, lines: int) -> T:
    """Return a copy of a part of a program, with spans in another source, and `lines` further down."""

    def move_span(span: Span) -> Span:
        header = None if span.header is None else move_span(span.header)
        return Span(source, span.line + lines, span.column, span.end_line + lines, span.end_column, header)

    def move_part(part: Any) -> Any:
        if isinstance(part, Node):
            values = _make_field_getter(type(part))(part)  # type: ignore[arg-type]
            return type(part)(*map(move_part, values), span=move_span(part.span))
        if isinstance(part, tuple):
            return tuple(map(move_part, part))
        return move_span(part) if isinstance(part, Span) else part

    return move_part(value)  # type: ignore[no-any-return]


def make_structural_key(value: object) -> object:
    """Return the tree as nested tuples without spans, equal for two parts of the same meaning."""
    if isinstance(value, Node):
        parts = (getattr(value, name) for name in list_compared_fields(type(value)))  # type: ignore[arg-type]
        return (type(value).__name__, *(make_structural_key(part) for part in parts))
    if isinstance(value, tuple):
        return tuple(make_structural_key(part) for part in value)
    return value


def has_same_structure(left: Node | None, right: Node | None) -> bool:
    """Test whether two parts of programs have the same structure."""
    return left is right or (
        left is not None and right is not None and make_structural_key(left) == make_structural_key(right)
    )


# Rewriting
def rewrite_parts(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Replace parts of an expression by what `change` returns, outermost first; a part stays if it returns None."""
    replacement = change(expr)
    if replacement is not None:
        return replacement
    match expr:
        case Unary(operand=operand):
            return replace(expr, operand=rewrite_parts(operand, change))
        case Binary(left=left, right=right):
            return replace(expr, left=rewrite_parts(left, change), right=rewrite_parts(right, change))
        case Call(arguments=arguments, sizes=sizes):
            changed = tuple((name, rewrite_parts(value, change)) for name, value in sizes)
            return replace(
                expr, arguments=tuple(rewrite_parts(argument, change) for argument in arguments), sizes=changed
            )
        case Integer() | Real() | Name() | Element() | Reshape():
            return expr


def substitute_names(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace names in an expression by values."""
    return rewrite_parts(expr, lambda part: values.get(part.id) if isinstance(part, Name) else None)


def substitute_in_fact(fact: Fact, values: Mapping[str, Expr]) -> Fact:
    """Replace names in a fact by values."""
    match fact:
        case IsPower(value=value, base=base):
            return replace(fact, value=substitute_names(value, values), base=substitute_names(base, values))
        case IsSquare(value=value):
            return replace(fact, value=substitute_names(value, values))
        case Divides(divisor=divisor, value=value):
            return replace(fact, divisor=substitute_names(divisor, values), value=substitute_names(value, values))
        case _:
            return substitute_names(fact, values)


def iterate_conjuncts(fact: Fact) -> Iterator[Fact]:
    """Yield the facts that a fact joins by `and`."""
    if isinstance(fact, Binary) and fact.op == "and":
        yield from (*iterate_conjuncts(fact.left), *iterate_conjuncts(fact.right))
    else:
        yield fact


def iterate_defined_sizes(facts: Iterable[Fact]) -> Iterator[tuple[str, Expr]]:
    """Yield the sizes that facts define by an expression, and the expression, as in s == n*m/P."""
    for fact in facts:
        match fact:
            case Binary(op="==", left=Name(id=name), right=right):
                yield name, right
            case _:
                # Other facts define no size.
                pass


def find_stated_minima(facts: Iterable[Fact]) -> dict[str, int]:
    """Return the minimum values of sizes that facts compare with a number."""
    minima: dict[str, int] = {}
    for fact in facts:
        match fact:
            case Binary(op=">=" | ">" | "==" as op, left=Name(id=name), right=Integer(value=value)):
                minima[name] = max(minima.get(name, 0), value + (op == ">"))
            case Binary(op="<=" | "<" | "==" as op, left=Integer(value=value), right=Name(id=name)):
                minima[name] = max(minima.get(name, 0), value + (op == "<"))
            case _:
                # Other facts state no minimum.
                pass
    return minima


def find_divisions(expr: Expr, rounded: bool = False) -> Iterator[Binary | Call]:
    """Yield the parts of an expression of sizes that must be integers; `floor` and `ceil` allow fractions inside.

    `rounded` tells that the expression itself is an argument of `floor` or `ceil`.
    """
    match expr:
        case Binary(op=op, left=left, right=right):
            yield from (*find_divisions(left), *find_divisions(right))
            if op in ("//", "%") or (op == "/" and not rounded):
                yield expr
        case Call(function=function, arguments=arguments):
            for argument in arguments:
                yield from find_divisions(argument, function in ("floor", "ceil"))
            if function in ("log2", "sqrt") and not rounded:
                yield expr
        case Unary(operand=operand):
            yield from find_divisions(operand)
        case Integer() | Real() | Name() | Element() | Reshape():
            pass
