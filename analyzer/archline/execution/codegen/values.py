"""Define the values that names of an algorithm have in generated code: integers, registers and views."""

from __future__ import annotations

from archline.execution.slots import MAX_UNCHECKED_SIZE
from archline.language.model import Kind
from archline.records import record

Atom = str
"""A name that is assigned once, before its use, or an integer literal: generated code may repeat it."""


@record(slots=True)
class Code:
    """An expression of generated code, with an upper bound on its absolute value (None if unknown).

    `depth` counts nested brackets; `atom` is True for a name or literal, which generated code may repeat.
    """

    text: str
    bound: int | None = None
    depth: int = 0
    atom: bool = False


def make_primary_code(text: str, bound: int | None = None) -> Code:
    """Return the code of a name or literal."""
    return Code(text, bound, atom=True)


@record(slots=True)
class IntegerValue:
    """A size, index, loop variable or `let` name of an integer."""

    code: str
    bound: int = MAX_UNCHECKED_SIZE
    least: int | None = None
    """A number that the value is never below, which makes a bounds check superfluous."""
    below: str | None = None
    """An atom that the value is always below."""


@record(slots=True)
class Register:
    """A scalar parameter or local.

    `flag` is the variable that tells whether it has a value, if that is uncertain; `shadow` is the variable that
    records its accesses if iterations of a parallel loop share it. `fixed` registers are never assigned.
    """

    code: str
    kind: Kind
    flag: str | None = None
    shadow: str | None = None
    fixed: bool = False


@record(slots=True)
class Linear:
    """Addresses of the form base + sum of stride * subscript."""

    strides: tuple[Atom, ...]


@record(slots=True)
class Morton:
    """Addresses in Z-Morton order: base + the interleaved bits of a row and a column, the row's the higher.

    The row is `row` + the sum of rows[d] * subscript d, and likewise the column.
    """

    row: Atom
    column: Atom
    rows: tuple[Atom, ...]
    columns: tuple[Atom, ...]


@record(slots=True)
class ArrayValue:
    """An array or a view of one. `facts` of offsets are total and longest gap, of an index array the maximum + 1.

    `shared` marks a global array of a grid, which is not in the processor's memory.
    """

    element: Kind
    base: Atom
    extents: tuple[Atom, ...]
    place: Linear | Morton
    facts: tuple[Atom, ...] = ()
    shared: bool = False

    @property
    def form(self) -> str:
        """The form for which functions are generated: for each dimension 1 (stride 1), s (other) or z (Z-Morton)."""
        if isinstance(self.place, Morton):
            return "z" * len(self.extents)
        return "".join("1" if stride == "1" else "s" for stride in self.place.strides)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """The arguments that are passed for this view, in the order in which `make_view_parameter` names them."""
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


def make_view_parameter(stem: str, element: Kind, form: str, facts: int) -> ArrayValue:
    """Return the view for a parameter whose names begin with `stem`, given the form of its argument."""
    extents = tuple(f"{stem}e{d}" for d in range(len(form)))
    place: Linear | Morton
    if "z" in form:
        rows = tuple(f"{stem}r{d}" for d in range(len(form)))
        columns = tuple(f"{stem}c{d}" for d in range(len(form)))
        place = Morton(f"{stem}r", f"{stem}c", rows, columns)
    else:
        place = Linear(tuple("1" if kind == "1" else f"{stem}s{d}" for d, kind in enumerate(form)))
    return ArrayValue(element, f"{stem}b", extents, place, tuple(f"{stem}f{k}" for k in range(facts)))
