"""Forms that programs are written in and that elaboration replaces: no later stage sees them.

The rest of what is written has the nodes of `syntax.py`.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

from archline.expr.tree import Comprehension, Element, Expr, Name, Node, tree_node
from archline.language.syntax import Simple, Statement, Stmt
from archline.language.types import Type

__all__ = ["Abbreviation", "Comprehension", "Field", "LoopOver", "Multiple", "RecordDefinition", "RecordType"]


@tree_node
class RecordType(Node):
    """The type `queue[n]` of a record: its name and its sizes."""

    name: str
    sizes: tuple[Expr, ...]


@tree_node
class Multiple(Simple):
    """The assignment `a, b = c, d`: all right sides are evaluated, then stored from left to right."""

    targets: tuple[Name | Element, ...]
    values: tuple[Expr, ...]

    @property
    def reads(self) -> tuple[Expr, ...]:
        return self.values

    @property
    def writes(self) -> tuple[Name | Element, ...]:
        return self.targets


@tree_node
class LoopOver(Statement):
    """The loop `for variable in array:` over the elements of a one-dimensional view, perhaps parallel."""

    variable: str
    over: Expr
    parallel: bool
    body: tuple[Stmt, ...]
    iterations: str | None = None

    iterates: ClassVar[bool] = True


@tree_node
class Abbreviation(Node):
    """`let name(parameters) = value` or `const name = value` before the algorithms: each use is read as the value."""

    name: str
    parameters: tuple[Name, ...]
    value: Expr


@tree_node
class Field(Node):
    """A field `name: type` of a record."""

    name: str
    type: Type | RecordType


@tree_node
class RecordDefinition(Node):
    """The definition `type name[sizes]:` of a type of records, with its fields."""

    name: str
    sizes: tuple[Name, ...]
    doc: str | None
    fields: tuple[Field, ...]


SurfaceStatement: TypeAlias = Multiple | LoopOver
SurfaceItem: TypeAlias = Abbreviation | RecordDefinition
