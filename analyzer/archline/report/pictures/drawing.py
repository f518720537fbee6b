"""Figures without legends: each line is labelled beside it, where there is room. Needs matplotlib (extra `plots`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from itertools import pairwise, product
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from archline.report.pictures import View
from archline.report.plots import LOWER, MARKS, SETTINGS, UPPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DARK", "LOWER", "MARKS", "UPPER", "Labels", "Sheet", "end_labels", "figure", "picture"]
WIDTH, LINE, LEFT, RIGHT = 8.0, 0.175, 0.85, 0.25
DARK = "#222222"
ARROW: Any = {"arrowstyle": "-|>,head_width=0.12,head_length=0.3", "color": MARKS, "linewidth": 0.7, "shrinkB": 1}
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
        title = wrap(view.title.replace("model ", "model\N{NO-BREAK SPACE}"), 80)
        notes = [line for note in view.notes for line in wrap(note, 122)]
        above, below = 0.35 + 0.2 * len(title), 0.62 + LINE * len(notes)
        height = view.height + above + below
        made = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(made)
        made.text(LEFT / WIDTH, 1 - 0.12 / height, "\n".join(title), va="top", fontsize=10.5)
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
    boxes: list[Any] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)

    def line(self, xs: Iterable[float], ys: Iterable[float], style: Any = "-", **look: Any) -> tuple[Any, Any]:
        """Draw a line to keep clear of."""
        x, y = (np.asarray(list(each), dtype=float) for each in (xs, ys))
        self.axes.plot(x, y, linestyle=style, **look)
        places = self.axes.transData.transform(np.column_stack([x, y]))
        for start, end in pairwise(places):
            if np.isfinite([start, end]).all():
                steps = np.linspace(0, 1, min(2000, 2 + int(np.hypot(*(end - start)) / 2)))
                self.lines.append(start + steps[:, None] * (end - start))
        return x, y

    def along(self, text: str, line: tuple[Any, Any], among: Sequence[int], beside: Any = BESIDE, **look: Any) -> None:
        """A label at the first of these corners of a line where there is room."""
        self.put(text, [(line[0][each], line[1][each]) for each in among], beside, **look)

    def put(
        self, text: str, anchors: Any, beside: Any = BESIDE, avoid: Any = (), near: bool = True, **look: Any
    ) -> bool:
        """A label beside the first anchor with room; else near it, off the points to avoid, with a line to it.

        If it is not to be `near`, there is none without room beside an anchor; says whether there is one.
        """
        look = {"fontsize": 8, "color": DARK, "ha": "center", "va": "center", "textcoords": "axes fraction", **look}
        made = self.axes.annotate(text, anchors[0], (0.5, 0.5), **look)
        canvas: Any = self.axes.figure.canvas
        box = made.get_window_extent(canvas.get_renderer())
        size = np.array([box.width, box.height]) / 2 + 3
        obstacles = np.concatenate(self.lines) if self.lines else np.empty((0, 2))
        for anchor, way in product(self.axes.transData.transform(anchors), np.array(beside)):
            middle = anchor + way * (size + 2)
            if self._free(middle, size, obstacles):
                break
        else:
            if not near:
                made.remove()
                return False
            middle = self._near(self.axes.transData.transform(anchors[0]), size, obstacles, avoid)
            made.remove()
            made = self.axes.annotate(text, anchors[0], (0.5, 0.5), arrowprops=ARROW, **look)
        x, y = self.axes.transAxes.inverted().transform(middle)
        made.set_position((x, y))
        self.boxes.append((middle, size))
        return True

    def _near(self, anchor: Any, size: Any, lines: Any, avoid: Any) -> Any:
        """The free place nearest to an anchor; one whose line to it crosses others counts as further away."""
        inside = self.axes.bbox
        grid = np.array(list(product(np.linspace(inside.x0, inside.x1, 60), np.linspace(inside.y0, inside.y1, 45))))
        distances = np.hypot(*np.maximum(np.abs(grid - anchor) - size, 0).T)
        obstacles = np.concatenate([lines, self.axes.transData.transform(avoid)]) if len(avoid) else lines
        far = lines[(np.abs(lines - anchor) > 6).any(axis=1)] - anchor
        best, least = anchor, np.inf
        for each in np.argsort(distances, kind="stable"):
            if distances[each] >= least:
                break
            if distances[each] > 8 and self._free(grid[each], size, obstacles):
                way = grid[each] - anchor
                share, aside = far @ way / (way @ way), np.abs(far @ (-way[1], way[0])) / np.hypot(*way)
                cost = distances[each] + 120 * bool(((share > 0) & (share < 1) & (aside < 1.5)).any())
                if cost < least:
                    best, least = grid[each], cost
        return best

    def _free(self, middle: Any, size: Any, obstacles: Any) -> bool:
        inside = self.axes.bbox
        if (middle - size < inside.min).any() or (middle + size > inside.max).any():
            return False
        if any((np.abs(middle - other) < size + more).all() for other, more in self.boxes):
            return False
        return not (np.abs(obstacles - middle) < size).all(axis=1).any()


def end_labels(labels: Labels, ends: Sequence[tuple[str, tuple[float, float], str]]) -> None:
    """Names of lines, each with its last point and colour, right of the panel; apart from each other."""
    axes = labels.axes
    heights = axes.transAxes.inverted().transform(axes.transData.transform([end for _, end, _ in ends]))[:, 1]
    apart = 0.15 * (1 + max(name.count("\n") for name, _, _ in ends)) * axes.figure.dpi / axes.bbox.height
    order = np.argsort(heights, kind="stable")
    places = heights.copy()
    for _ in range(300):
        for low, high in pairwise(order):
            short = max(0.0, apart - (places[high] - places[low])) / 2
            places[[low, high]] += (-short, short)
    places -= max(0.0, places.max() + apart / 2 - 1)
    for (name, end, color), place, height in zip(ends, places, heights, strict=True):
        arrow = {"arrowstyle": "-", "color": MARKS, "linewidth": 0.7, "relpos": (0, 0.5)}
        axes.annotate(name, end, (1.025, place), textcoords="axes fraction", va="center", fontsize=8, color=color,
                      arrowprops=arrow if abs(place - height) > 0.01 else None, annotation_clip=False)  # fmt: skip
