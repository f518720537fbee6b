"""The checked module has the types, shapes, sizes and call targets that every later stage reads."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from archline.expr.tree import Span
from archline.language.diagnostics import Rule
from archline.language.surface import Abbreviation, RecordDefinition
from archline.language.syntax import (
    Algorithm,
    ArrayType,
    Call,
    Communicate,
    Expr,
    Extern,
    Invoke,
    Local,
    Parameter,
    Program,
    Stmt,
)
from archline.records import field, record


class Kind(Enum):
    """The kind of a scalar expression. Arithmetic on STATIC values is free, on INT and REAL it is counted.

    ANY is an element of a buffer `any[w]`, REAL or INT by the call.
    """

    STATIC = "size or index"
    INT = "int"
    REAL = "real"
    BOOL = "condition"
    ANY = "element of any type"
    OPERATOR = "operator"


@record
class ViewType:
    """An array or a view of one: element is INT, REAL or ANY; a rank-1 view of any layout counts as rowmajor."""

    element: Kind
    rank: int
    layout: str = "rowmajor"


ExprType = Kind | ViewType


class BoundBy(Enum):
    """The property of an argument that gives a size its value."""

    VALUE = "the argument itself"
    EXTENT = "an extent of the array"
    COUNT = "the number of segments of the offsets"
    TOTAL = "the last entry of the offsets"
    LONGEST = "the largest gap of the offsets"


@record
class SizeBinding:
    """The source of the size `name`: the argument number `parameter`, for EXTENT its extent number `dimension`.

    That extent is the size plus `offset`, as in `x: real[n + 1]`.
    """

    name: str
    by: BoundBy
    parameter: int
    dimension: int = 0
    offset: int = 0


@record(eq=False)
class Signature:
    """An algorithm's sizes in order of appearance, and its parameters.

    `sizes` holds declared sizes and names bound by shapes; `indices` the `index` parameters. `at_least` is each size's
    lower limit: 1, or 0 if a `where` says so.
    """

    sizes: tuple[SizeBinding, ...]
    indices: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    at_least: Mapping[str, int]

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(binding.name for binding in self.sizes)


@record(eq=False)
class Collective:
    """The call that a collective operation denotes; with `into`, its buffer is copied there first."""

    invoke: Invoke
    into: Expr | None


@record(eq=False)
class RequiredEquality:
    """A value, in the names of an algorithm, that must be equal on all processors along some axes of its grid.

    `rule` is broken by processors whose values differ; `what` begins the message about them.
    """

    value: Expr
    axes: tuple[str, ...]
    rule: Rule
    what: str


@record(eq=False)
class Agreement:
    """The values on which the processors that call an algorithm must agree, and the axes along which it communicates.

    `data` is the first span where data decides which messages exist, `output` where it decides the output.
    """

    needs: tuple[RequiredEquality, ...]
    axes: frozenset[str]
    data: Span | None
    output: Span | None = None


@record(eq=False)
class Module:
    """A checked file with everything it uses.

    `algorithms` are those the file itself defines, `visible` adds the used ones and `externs` the extern functions.
    `types` gives the type of every expression of every reachable algorithm, `targets` the callee of each call, `shapes`
    the extents of every expression that is a view (as expressions in the names of its scope), and `bindings`, for every
    call of an algorithm, the callee's sizes and index parameters as expressions of the caller (None if only the data
    decides; and P if the callee runs on part of the grid). `collectives` has the calls that collective operations mean,
    `agreements` the values that must be the same on the processors of a grid, `shortfalls` for each call the sizes for
    which data may pass less than their lower limit. `records` and `abbreviations` are those that the file defines.
    """

    program: Program = field(repr=False)
    algorithms: Mapping[str, Algorithm]
    visible: Mapping[str, Algorithm] = field(repr=False)
    externs: Mapping[str, Extern] = field(repr=False)
    signatures: Mapping[Algorithm, Signature] = field(repr=False)
    types: Mapping[Expr, ExprType] = field(repr=False)
    targets: Mapping[Call, Algorithm | Extern] = field(repr=False)
    shapes: Mapping[Expr, tuple[Expr, ...]] = field(repr=False)
    bindings: Mapping[Call, Mapping[str, Expr | None]] = field(repr=False)
    collectives: Mapping[Communicate, Collective] = field(repr=False)
    agreements: Mapping[Algorithm, Agreement] = field(repr=False)
    shortfalls: Mapping[Call, tuple[str, ...]] = field(repr=False)
    records: Mapping[str, RecordDefinition] = field(default_factory=dict, repr=False)
    abbreviations: Mapping[str, Abbreviation] = field(default_factory=dict, repr=False)

    def find_algorithm(self, name: str) -> Algorithm | None:
        """Return the algorithm of a name, or the only operation of that name, `queue.push` for `push`; None if none."""
        if name in self.algorithms:
            return self.algorithms[name]
        operations = [found for found in self.algorithms if found.endswith(f".{name}")]
        return self.algorithms[operations[0]] if len(operations) == 1 else None

    def is_view(self, expr: Expr) -> bool:
        return isinstance(self.types.get(expr), ViewType)

    def find_filled_extents(self, statement: Stmt) -> tuple[Expr, ...] | None:
        """Return the extents of the array, or view, that a statement fills or copies to as a whole; None otherwise."""
        if isinstance(statement, Local):
            return statement.type.shape if isinstance(statement.type, ArrayType) and statement.value else None
        views = (target for target in getattr(statement, "writes", ()) if self.is_view(target))
        return next((self.shapes[target] for target in views), None)


def is_buffer(parameter: Parameter) -> bool:
    """Whether a parameter takes a view of any rank, or a register: it is a `local any[w]`."""
    type_ = parameter.type
    return isinstance(type_, ArrayType) and type_.element == "any" and len(type_.shape) == 1 and parameter.local
