"""Draw figures: a title, panels with a legend at the right of each, notes. Needs matplotlib (extra `plots`)."""

from __future__ import annotations

from fractions import Fraction
from io import BytesIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from archline.energy.units import format_si
from archline.report.pictures import PictureView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "archline", "pdf.fonttype": 42, "font.size": 9.0}
WIDTH = 9.0
UPPER, LOWER, MARKS, DARK = "#b2402f", "#2f6db2", "#8a8a8a", "#222222"
SHADES = ("#a9bbcf", "#e3c4a3", "#8f959c", "#d3dbc4", "#ece9e4", "#c9b8d6", "#c49a8a")
STYLES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (3, 1)), (0, (9, 2, 1, 2, 1, 2)))
LINE_LOOKS: tuple[dict[str, Any], ...] = tuple(
    {"color": color, "linestyle": style, "marker": marker, "markersize": 4.5, "linewidth": 1.6}
    for color, style, marker in zip(
        (LOWER, UPPER, DARK, "#4d7a33", "#7a4f99", "#8a6d00"), STYLES, ("o", "s", "^", "D", "v", "P"), strict=True
    )
)
"""Six lines that differ in grey as well."""


def render_picture(view: PictureView, form: str) -> bytes:
    """Render the picture as SVG, PNG or PDF; equal views give equal bytes. Raises ImportError without matplotlib."""
    from matplotlib import rc_context

    target = BytesIO()
    metadata: Any = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with rc_context(SETTINGS):
        make_figure(view).savefig(target, format=form, dpi=160, metadata=metadata)
    return target.getvalue()


def make_figure(view: PictureView) -> Figure:
    """Make the figure: the title, the drawing of the view, and its notes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with rc_context(SETTINGS):
        title = wrap(view.title.replace("model ", "model\N{NO-BREAK SPACE}"), 90)
        notes = [line for note in view.notes_below for line in wrap(note, 140)]
        height = view.height + 0.2 * len(title) + 0.17 * len(notes)
        result = Figure(figsize=(WIDTH, height), layout="constrained")
        FigureCanvasAgg(result)
        result.suptitle("\n".join(title), x=0.01, ha="left", fontsize=10.5)
        result.supxlabel("\n".join(notes), x=0.01, ha="left", fontsize=8, linespacing=1.35)
        view.draw(result)
    return result


def make_panels(figure: Figure, *heights: float) -> list[Axes]:
    """Make panels in a column with one x axis, with heights in these ratios."""
    result: list[Axes] = list(figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights).flat)
    for axes in result:
        axes.grid(True, which="major", color="#e2e2e2", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[["top", "right"]].set_visible(False)
    return result


def format_axis_in_unit(axis: Axis, unit: str) -> None:
    """Label the numbers of an axis with the unit and its prefixes: `0.5 mJ`."""
    from matplotlib.ticker import LogLocator, NullFormatter

    class Decades(LogLocator):
        """A locator of ticks at powers of ten, and at 2 and 5 times these if the axis has room."""

        def __init__(self, of: Axis) -> None:
            super().__init__(10)
            self._of = of

        def tick_values(self, vmin: float, vmax: float) -> Any:
            """Return the ticks from one value to another."""
            axes = self._of.axes
            length, text = (axes.bbox.height, 0.3) if self._of is axes.yaxis else (axes.bbox.width, 0.8)
            decades = np.log10(vmax / vmin) if vmin > 0 else np.inf
            self.set_params(subs=(1, 2, 5) if 3 * decades * text * axes.figure.dpi <= length else (1,))
            return super().tick_values(vmin, vmax)

    def format_tick(value: float, _: object) -> str:
        number, _, prefixed = format_si(Fraction(value), unit).partition(" ")
        return f"{float(number):g} {prefixed}"

    if axis.get_scale() == "log":
        axis.set_major_locator(Decades(axis))
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(format_tick)


def place_legend(axes: Axes) -> None:
    """Put the legend at the right of a panel, where it covers nothing."""
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8)
