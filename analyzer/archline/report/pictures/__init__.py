"""Pictures of machines and costs: each module has one kind, its data, and how it is drawn.

A picture is a `PictureView`, whose data are printed as a table, CSV and JSON; matplotlib is imported only to draw. A
new kind is a new module that makes a view of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from archline.numbers import exact, readable
from archline.records import record
from archline.report.json import VERSION, csv_text, render
from archline.report.layout import Columns, page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell: TypeAlias = float | int | Fraction | str | None


@record
class PictureView:
    """What a picture shows: its title, the table of its points, notes that stand below it."""

    kind: ClassVar[str] = ""
    height: ClassVar[float] = 4.6
    title: str
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def draw(self, figure: Figure) -> None:
        """Draw it between the title and the notes of a figure."""
        raise NotImplementedError

    @property
    def points(self) -> tuple[Mapping[str, Cell], ...]:
        """The rows of the table, by column."""
        return tuple(dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def column(self, name: str) -> Any:
        """A column as an array of numbers."""
        return np.array([each[name] for each in self.points], dtype=float)

    @property
    def more(self) -> tuple[Columns, ...]:
        """Tables below that of the points."""
        return ()

    @property
    def caption(self) -> str:
        """What is said of it in a line."""
        return self.title

    @property
    def below(self) -> Sequence[str]:
        """What stands below it where it is drawn."""
        return self.notes

    @property
    def document(self) -> Mapping[str, Any]:
        """The points as JSON has them."""
        named = {"version": VERSION, "kind": self.kind, "title": self.title, "notes": self.notes}
        return {**named, "points": self.points}

    def text(self, width: int) -> str:
        """The points for people."""
        rows = [self.columns, *([short_text(each) for each in row] for row in self.rows)]
        points = Columns(rows, range(len(self.columns)))
        return page(width, self.title, [points], *([each] for each in self.more), self.notes)

    def csv(self) -> str:
        """The points, a line each; an empty cell where there is no value."""
        rows = ([exact(each) if isinstance(each, int | Fraction) else each for each in row] for row in self.rows)
        return csv_text([self.columns, *rows])

    def json(self) -> str:
        """The points as a JSON document."""
        return render(self.document)


def short_text(cell: Cell, digits: int = 5) -> str:
    """Format a cell, a number with the given significant digits."""
    match cell:
        case float():
            return f"{cell:.{digits}g}"
        case int() | Fraction():
            return readable(cell)
        case _:
            return cell or ""


def last(holds: Callable[[Any], Any], low: Any, high: Any) -> Any:
    """The largest numbers between powers of two up to which a condition holds; of arrays, each by itself."""
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    for _ in range(60):
        middle = (low + high) / 2
        fine = holds(np.exp2(middle))
        low, high = np.where(fine, middle, low), np.where(fine, high, middle)
    return np.exp2(low)


def power_of_two(value: float, _: object) -> str:
    """How an axis of powers of two is labelled."""
    return f"{value:g}" if value >= 1 else f"1/{1 / value:g}"
