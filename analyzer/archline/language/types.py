"""Headers declare the types of parameters, which local arrays and registers have too, and the axes of grids."""

from __future__ import annotations

from typing import TypeAlias

from archline.expr.tree import Expr, Node, tree_node


@tree_node
class SizeType(Node):
    """`size`: an integer known to the analysis, at least 1 or what a `where` allows."""


@tree_node
class IndexType(Node):
    """`index`: an integer of any sign known to the analysis."""


@tree_node
class ScalarType(Node):
    """`real`, `int`, `bool` or `char`; the last two hold integers of 8 bits."""

    element: str


@tree_node
class OperatorType(Node):
    """`operator`: one of + * min max, for updates `x[i] op= y[i]`."""


@tree_node
class ArrayType(Node):
    """`real[shape] layout`, `int[shape] layout` or `any[shape]`; layout is rowmajor, colmajor or zmorton."""

    element: str
    shape: tuple[Expr, ...]
    layout: str


@tree_node
class OffsetsType(Node):
    """`offsets[count] into total longest longest`: count + 1 nondecreasing ints from 0 to total."""

    count: Expr
    into: Expr
    longest: Expr | None


@tree_node
class IndexArrayType(Node):
    """`index[shape] below bound`: ints in [0, bound)."""

    shape: tuple[Expr, ...]
    below: Expr


Type: TypeAlias = SizeType | IndexType | ScalarType | OperatorType | ArrayType | OffsetsType | IndexArrayType


@tree_node
class Parameter(Node):
    """`name: mode local type`; `local` arrays are each processor's own."""

    name: str
    mode: str
    local: bool
    type: Type


@tree_node
class Axis(Node):
    """One axis of a processor grid, `name: extent within group`."""

    name: str
    extent: Expr
    within: str | None
