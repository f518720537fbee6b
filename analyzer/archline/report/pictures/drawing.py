"""Figures without legends: each line is labelled beside it, where there is room. Needs matplotlib (extra `plots`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import product
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from archline.report.pictures import View
from archline.report.plots import LOWER, MARKS, SETTINGS, UPPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["DARK", "LOWER", "MARKS", "UPPER", "Labels", "Sheet", "figure", "picture", "spread"]
WIDTH, LINE, LEFT, RIGHT = 8.0, 0.175, 0.85, 0.25
DARK = "#222222"
BESIDE = ((1, 1), (-1, 1), (1, -1), (-1, -1), (0, 1), (0, -1), (1, 0), (-1, 0))
"""Where a label is tried: right above, left above, right below and so on."""


def picture(view: View, form: str) -> bytes:
    """The picture as SVG, PNG or PDF; the same for the same view."""
    target = BytesIO()
    metadata: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with rc_context(SETTINGS):
        figure(view).savefig(target, format=form, dpi=160, metadata=metadata)
    return target.getvalue()


def figure(view: View) -> Figure:
    """The figure: title, what the view draws, its notes."""
    with rc_context(SETTINGS):
        title = wrap(view.title, 92)
        notes = [line for note in view.notes for line in wrap(note, 122)]
        above, below = 0.35 + 0.2 * len(title), 0.62 + LINE * len(notes)
        height = view.height + above + below
        made = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(made)
        made.text(LEFT / WIDTH, 1 - 0.12 / height, "\n".join(title), va="top", fontsize=11)
        made.text(0.03, (below - 0.5) / height, "\n".join(notes), va="top", fontsize=8, linespacing=1.35)
        view.draw(Sheet(made, height, above, below))
    return made


@dataclass(frozen=True)
class Sheet:
    """A figure to draw on, between its title and its notes."""

    figure: Figure
    height: float
    above: float
    below: float

    def panels(self, *shares: float, right: float = RIGHT, gap: float = 0.16, left: float = LEFT) -> list[Axes]:
        """Panels above each other on one x axis, their heights in these shares; `right` and `left` in inches."""
        room = self.height - self.above - self.below - gap * (len(shares) - 1)
        top = self.height - self.above
        found: list[Axes] = []
        for share in shares:
            tall = room * share / sum(shares)
            rect = (left / WIDTH, (top - tall) / self.height, 1 - (left + right) / WIDTH, tall / self.height)
            axes = self.figure.add_axes(rect, sharex=found[0] if found else None)
            axes.grid(True, which="major", color="#e2e2e2", linewidth=0.6)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            found.append(axes)
            top -= tall + gap
        for axes in found[:-1]:
            axes.tick_params(labelbottom=False)
        return found


@dataclass(frozen=True)
class Labels:
    """Labels of one panel that keep clear of its lines and of each other; limits and scales must be set before."""

    axes: Axes
    texts: list[Bbox] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)

    def line(self, xs: Iterable[float], ys: Iterable[float], style: Any = "-", **look: Any) -> tuple[Any, Any]:
        """Draw a line to keep clear of."""
        x, y = (np.asarray(list(each), dtype=float) for each in (xs, ys))
        self.axes.plot(x, y, linestyle=style, **look)
        places = self.axes.transData.transform(np.column_stack([x, y]))
        places = places[np.isfinite(places).all(axis=1)]
        for start, end in zip(places, places[1:], strict=False):
            count = max(2, int(np.hypot(*(end - start)) / 2))
            self.lines.append(start + np.linspace(0, 1, min(count, 2000))[:, None] * (end - start))
        return x, y

    def along(self, text: str, line: tuple[Any, Any], among: Sequence[int], **look: Any) -> Annotation:
        """A label at the first of these corners of a line where there is room."""
        return self.put(text, [(line[0][each], line[1][each]) for each in among], **look)

    def put(
        self, text: str, anchors: Sequence[tuple[float, float]], beside: Sequence[tuple[int, int]] = BESIDE, **look: Any
    ) -> Annotation:
        """A label beside the first anchor with room; else at the nearest free place, with a line to it."""
        made = self.axes.annotate(
            text, anchors[0], textcoords="offset points", **{"fontsize": 8, "color": DARK, **look}
        )
        for anchor, (dx, dy) in product(anchors, beside):
            made.xy = anchor
            _turn(made, (5 * dx, 4 * dy), dx, dy)
            if self._free(made):
                break
        else:
            made = self._far(made, anchors[0], {"fontsize": 8, "color": DARK, **look})
        self.texts.append(_box(made))
        return made

    def _far(self, near: Annotation, anchor: tuple[float, float], look: dict[str, Any]) -> Annotation:
        text = near.get_text()
        near.remove()
        arrow = {"arrowstyle": "-", "color": MARKS, "linewidth": 0.7, "shrinkA": 1, "shrinkB": 2}
        made = self.axes.annotate(text, anchor, textcoords="axes fraction", arrowprops=arrow, va="center", **look)
        place = self.axes.transAxes.inverted().transform(self.axes.transData.transform(anchor))
        spots = [(x, y) for x in np.linspace(0.01, 0.9, 41) for y in np.linspace(0.04, 0.96, 31)]
        for spot in sorted(spots, key=lambda each: float(np.hypot(each[0] - place[0], each[1] - place[1]))):
            made.set_position(spot)
            if self._free(made):
                return made
        return made

    def _free(self, made: Annotation) -> bool:
        box = _box(made)
        inside = self.axes.bbox
        if box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1:
            return False
        if any(box.overlaps(each) for each in self.texts):
            return False
        return not any(
            ((each >= (box.x0, box.y0)) & (each <= (box.x1, box.y1))).all(axis=1).any() for each in self.lines
        )


def _turn(made: Annotation, offset: tuple[int, int], dx: int, dy: int) -> None:
    made.set_position(offset)
    made.set_horizontalalignment(("right", "center", "left")[dx + 1])
    made.set_verticalalignment(("top", "center", "bottom")[dy + 1])


def _box(made: Annotation) -> Bbox:
    made.update_positions(None)  # type: ignore[arg-type]
    return Text.get_window_extent(made).padded(2.0)


def spread(places: Sequence[float], least: float) -> list[float]:
    """Places moved apart as little as need be, so that neighbours are `least` apart."""
    order = sorted(range(len(places)), key=lambda each: places[each])
    found = list(places)
    for _ in range(200):
        for low, high in zip(order, order[1:], strict=False):
            short = least - (found[high] - found[low])
            if short > 0:
                found[low] -= short / 2
                found[high] += short / 2
    return found
