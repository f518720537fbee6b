"""Algorithms compared, drawn: lines between bounds over a sweep with crossovers marked, or bars of terms at a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from archline.compare.results import ComparedPoint, Comparison
from archline.energy.intervals import Interval
from archline.energy.model import Estimate
from archline.energy.units import format_si
from archline.report.energies.shown import cache_text, sizes_text
from archline.report.pictures import Cell, View

if TYPE_CHECKING:
    from archline.report.pictures.drawing import Sheet

MOST = 6
"""Series that can be told apart in grey."""
UNITS = {"energy": "J", "time": "s", "power": "W", "energy_delay": "J*s"}
LOOKS: tuple[tuple[str, Any, str], ...] = (
    ("#2f6db2", "-", "o"), ("#b2402f", (0, (6, 2)), "s"), ("#1b1b1b", (0, (1, 1.5)), "^"),
    ("#5b8c3a", (0, (6, 2, 1, 2)), "D"), ("#8458a6", (0, (3, 1)), "v"), ("#8a6d00", (0, (8, 2, 1, 2, 1, 2)), "P"),
)  # fmt: skip
SHADES = ("#8fa9c4", "#d9b38c", "#e8e6e1", "#b7c9a8", "#c9b7d4")


def _name(key: tuple[str, str], several: bool) -> str:
    short = shorten(key[0], 30, placeholder="...") if " " in key[0] else key[0] if len(key[0]) < 31 else f"{key[0][:27]}..."
    return f"{short}\n{key[1]}" if several else short


@dataclass(frozen=True)
class Lines(View):
    """A quantity against the swept size, for each algorithm and machine."""

    kind: ClassVar[str] = "comparison"
    found: Comparison

    def draw(self, sheet: Sheet) -> None:
        """A line a series, a band between its bounds, its name at its end; crossovers as brackets."""
        from archline.report.pictures.drawing import DARK, MARKS, Labels, spread

        (axes,) = sheet.panels(1.0, right=1.95)
        series: dict[tuple[str, str], list[Any]] = {}
        for each in self.points:
            series.setdefault((str(each["algorithm"]), str(each["machine"])), []).append(each)
        ...
