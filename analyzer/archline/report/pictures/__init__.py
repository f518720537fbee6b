"""Pictures of machines and comparisons, a module each: the data, as a table, CSV and JSON, and how they are drawn."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from io import StringIO
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from archline.records import record
from archline.report.json import VERSION, render
from archline.report.layout import indented, table, wrap

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Cell: TypeAlias = float | int | str | None


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

    def text(self, width: int) -> str:
        """The points for people."""
        rows = [self.columns, *([_short(each) for each in row] for row in self.rows)]
        body = indented(table(rows, width - 2, right=frozenset(range(len(self.columns)))))
        notes = indented([line for note in self.notes for line in wrap(note, width - 2)])
        return "\n".join([*wrap(self.title, width), "", *body, "", *notes]) + "\n"

    def csv(self) -> str:
        """The points, a line each; an empty cell where there is no value."""
        target = StringIO()
        csv.writer(target, lineterminator="\n").writerows([self.columns, *self.rows])
        return target.getvalue()

    def json(self) -> str:
        """The points as a JSON document."""
        document: dict[str, Any] = {"version": VERSION, "kind": self.kind, "title": self.title, "notes": self.notes}
        return render({**document, "points": self.points})


def _short(cell: Cell) -> str:
    return f"{cell:.5g}" if isinstance(cell, float) else str("" if cell is None else cell)


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
