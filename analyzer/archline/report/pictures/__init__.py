"""Draw pictures of machines and costs: each module has one kind, its data, and its drawing.

A picture is a `PictureView`, whose data are printed as a table, CSV and JSON; matplotlib is imported only to draw.
drawing.py renders a view as SVG, PNG or PDF. api/pictures.py and papers/ make the views, and the command
`archline plot` prints or draws them. A new kind is a new module that makes a view of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from archline.numbers import format_exact, format_readable
from archline.records import record
from archline.report.json import VERSION, format_csv, render
from archline.report.layout import Columns, render_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell: TypeAlias = float | int | Fraction | str | None


@record
class PictureView:
    """A picture: its title, the table of its points, and notes below it."""

    kind: ClassVar[str] = ""
    height: ClassVar[float] = 4.6
    title: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def draw(self, figure: Figure) -> None:
        """Draw the picture between the title and the notes of a figure."""
        raise NotImplementedError

    @property
    def points(self) -> tuple[Mapping[str, Cell], ...]:
        return tuple(dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def column(self, name: str) -> Any:
        """Return a column as an array of numbers."""
        return np.array([point[name] for point in self.points], dtype=float)

    @property
    def further_tables(self) -> tuple[Columns, ...]:
        """Further tables, below the table of the points."""
        return ()

    @property
    def caption(self) -> str:
        """The caption of the picture in a line."""
        return self.title

    @property
    def notes_below(self) -> Sequence[str]:
        """The notes below the drawn picture."""
        return self.notes

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON document of the points."""
        named = {"version": VERSION, "kind": self.kind, "title": self.title, "notes": self.notes}
        return {**named, "points": self.points}

    def text(self, width: int) -> str:
        """Return the points as a table for people."""
        rows = [self.columns, *([format_cell(cell) for cell in row] for row in self.rows)]
        points = Columns(rows, range(len(self.columns)))
        return render_page(
            width, self.title, [points], *([columns_below] for columns_below in self.further_tables), self.notes
        )

    def csv(self) -> str:
        """Return the points, a line each; unknown values are empty cells."""
        rows = ([format_exact(cell) if isinstance(cell, int | Fraction) else cell for cell in row] for row in self.rows)
        return format_csv([self.columns, *rows])

    def json(self) -> str:
        return render(self.document)


def format_cell(cell: Cell, digits: int = 5) -> str:
    """Format a cell, a number with the given significant digits."""
    match cell:
        case float():
            return f"{cell:.{digits}g}"
        case int() | Fraction():
            return format_readable(cell)
        case _:
            return cell or ""


def find_last(holds: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """Return the largest number from 2^`low` to 2^`high` up to which a condition holds; elementwise for arrays.

    The exponent is bisected 60 times; `holds` is called with the number.
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    for _ in range(60):
        middle = (low + high) / 2
        fine = holds(np.exp2(middle))
        low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    return np.exp2(low)


def format_power_of_two(value: float, _: object) -> str:
    """Format a tick of a logarithmic axis of base 2: `1/4`, `8`."""
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"
