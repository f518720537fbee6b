"""Names in generated code denote the values of this module, which are numbers, registers and views."""

from __future__ import annotations

from archline.execution.slots import NAME_LIMIT
from archline.language.model import Kind
from archline.records import record

Atom = str
"""A name that is assigned once before its use, or an integer literal: it may be written repeatedly."""


@record(slots=True)
class Code:
    """An expression of generated code. `bound`: its absolute value is at most this (None if unknown).

    `depth` counts nested brackets; `atom` marks an expression that may be written repeatedly.
    """

    text: str
    bound: int | None = None
    depth: int = 0
    atom: bool = False


def make_atomic(text: str, bound: int | None = None) -> Code:
    """Return a name or literal."""
    return Code(text, bound, atom=True)


@record(slots=True)
class IntegerValue:
    """A size, index, loop variable or `let` name of an integer."""

    code: str
    bound: int = NAME_LIMIT
    least: int | None = None
    """A known lower limit, which makes a bounds check superfluous."""
    below: str | None = None
    """An atom that the value is known to stay below."""


@record(slots=True)
class Register:
    """A scalar parameter or local.

    `flag` is the variable that marks whether it has a value, if that is uncertain, and `shadow` records its accesses if
    iterations of a parallel loop share it. `fixed`: it is never assigned.
    """

    code: str
    kind: Kind
    flag: str | None = None
    shadow: str | None = None
    fixed: bool = False


@record(slots=True)
class Linear:
    """Addresses base + sum of stride * index."""

    strides: tuple[Atom, ...]


@record(slots=True)
class Morton:
    """Addresses base + the bits of a row and a column in turn, the row's first.

    The row is `row` + the sum of rows[d] * index d, the column likewise.
    """

    row: Atom
    column: Atom
    rows: tuple[Atom, ...]
    columns: tuple[Atom, ...]


@record(slots=True)
class ArrayValue:
    """An array or a view of one. `facts`: of offsets, total and longest gap; of an index array, a bound above all.

    `shared` is a global array of a grid, which is not in the processor's memory.
    """

    element: Kind
    base: Atom
    extents: tuple[Atom, ...]
    place: Linear | Morton
    facts: tuple[Atom, ...] = ()
    shared: bool = False

    @property
    def form(self) -> str:
        """The properties of a view that a function depends on: which strides are 1, or that it is Z-Morton."""
        if isinstance(self.place, Morton):
            return "z" * len(self.extents)
        return "".join("1" if stride == "1" else "s" for stride in self.place.strides)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The arguments that are passed for this view, in the order in which `view_parameter` names them."""
        match self.place:
            case Linear(strides):
                place = tuple(stride for stride in strides if stride != "1")
            case Morton(row, column, rows, columns):
                place = (row, column, *rows, *columns)
        return (self.base, *self.extents, *place, *self.facts)


@record(slots=True)
class Operator:
    """An operator parameter: + * min or max."""

    symbol: str


Meaning = IntegerValue | Register | ArrayValue | Operator


def view_parameter(stem: str, element: Kind, form: str, facts: int) -> ArrayValue:
    """Return the view that a function's parameter with a name `stem` denotes, given the form of its argument."""
    extents = tuple(f"{stem}e{d}" for d in range(len(form)))
    place: Linear | Morton
    if "z" in form:
        rows = tuple(f"{stem}r{d}" for d in range(len(form)))
        columns = tuple(f"{stem}c{d}" for d in range(len(form)))
        place = Morton(f"{stem}r", f"{stem}c", rows, columns)
    else:
        place = Linear(tuple("1" if kind == "1" else f"{stem}s{d}" for d, kind in enumerate(form)))
    return ArrayValue(element, f"{stem}b", extents, place, tuple(f"{stem}f{k}" for k in range(facts)))
