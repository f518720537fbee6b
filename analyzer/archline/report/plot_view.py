"""io against Z as data: what a plot shows, as a table for people, as JSON and as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from archline.records import record
from archline.report.json import VERSION
from archline.report.layout import indented, table, wrap
from archline.report.numbers import exact, point_text, readable
from archline.report.view import Number, Point

COLUMNS = ("Z", "lower", "simulated", "upper")


@record
class PlotPoint:
    """Bounds on io with Z words of fast memory, and what optimal replacement fetches in a run, where there was one."""

    words: int
    lower: Number
    upper: Number
    simulated: int | None = None

    @property
    def outside(self) -> bool:
        """Whether the run contradicts the bounds: a defect."""
        return self.simulated is not None and not self.lower <= self.simulated <= self.upper


@record
class PlotRegime:
    """An upper bound that holds from so many words on, as text."""

    words: int
    when: str
    upper: str


@record
class PlotView:
    """io of an algorithm at sizes, against Z at one L; `skipped` says why nothing was simulated."""

    algorithm: str
    at: Point
    line: int
    points: tuple[PlotPoint, ...]
    regimes: tuple[PlotRegime, ...]
    data: str
    skipped: str | None = None

    @property
    def title(self) -> str:
        """What is shown."""
        return f"io of {self.algorithm} at {point_text({**self.at, 'L': self.line})}"

    @property
    def note(self) -> str:
        """Where the simulated points are from, or why there are none."""
        return f"simulated under optimal replacement; {self.data}" if self.skipped is None else self.skipped


def text(view: PlotView, width: int) -> str:
    """The points as a table, the regimes under it."""
    rows = [[*COLUMNS], *([_shown(each) for each in row] for row in _rows(view))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(size) for cell, size in zip(row, widths, strict=True)) for row in rows]
    blocks = [wrap(view.title, width), indented(lines)]
    if view.regimes:
        head = [["from Z", "", "", "io"]]
        listed = [[readable(each.words), each.when, "<=", each.upper] for each in view.regimes]
        blocks.append(indented(table([*head, *listed], width - 2)))
    blocks.append(indented(wrap(view.note, width - 2)))
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def csv(view: PlotView) -> str:
    """The points, a line each; `simulated` is empty where there was no run."""
    lines = [",".join("" if each is None else exact(each) for each in row) for row in _rows(view)]
    return "\n".join([",".join(COLUMNS), *lines]) + "\n"


def document(view: PlotView) -> dict[str, Any]:
    """`archline plot`, for JSON."""
    return {
        "version": VERSION,
        "algorithm": view.algorithm,
        "at": {name: exact(value) for name, value in view.at.items()},
        "L": view.line,
        "metric": "io",
        "points": [
            {name: None if each is None else exact(each) for name, each in zip(COLUMNS, row, strict=True)}
            for row in _rows(view)
        ],
        "regimes": [{"Z": exact(each.words), "when": each.when, "upper": each.upper} for each in view.regimes],
        "data": view.data,
        "skipped": view.skipped,
    }


def _rows(view: PlotView) -> Iterator[tuple[Number | None, ...]]:
    return ((each.words, each.lower, each.simulated, each.upper) for each in view.points)


def _shown(value: Number | None) -> str:
    return "" if value is None else readable(value)
