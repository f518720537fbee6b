"""Draw the figures of papers again, from their own forms: lines and bands over one axis, and the marks of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from archline.records import record
from archline.report.pictures import PictureView
from archline.report.pictures.drawing import LINE_LOOKS, SHADES, make_panels, place_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK_COLOR = "#4d7a33"


@record
class Series:
    """A line over the x axis, in all panels or in one; with `upper`, a band from `values` to `upper`."""

    label: str
    values: Any
    upper: Any = None
    panel: int | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The values by the name of their column in the table; a band has two columns."""
        if self.upper is None:
            return {self.label: self.values}
        return {f"{self.label}, least": self.values, f"{self.label}, most": self.upper}


@record
class Mark:
    """A mark that a paper prints: a point, a vertical or a horizontal line of a panel."""

    label: str
    x: float | None
    y: float | None
    panel: int = 0


@record
class RedrawnFigure(PictureView):
    """A figure of panels over one x axis, of numbers or named cases; `log` names the logarithmic axes, x or y."""

    kind: ClassVar[str] = "figure"
    axis: str
    panels: Sequence[str]
    series: Sequence[Series]
    log: Sequence[str] = ()
    inside: tuple[float, float] | None = None

    @property
    def height(self) -> float:  # type: ignore[override]
        """The height in inches, by the number of panels."""
        return 1.2 + 2.8 * len(self.panels)

    def draw(self, figure: Figure) -> None:
        """Draw each series in its panel, with a legend at the right."""
        named = isinstance(self.rows[0][0], str)
        x = range(len(self.rows)) if named else self.column(self.columns[0])
        for number, axes in enumerate(make_panels(figure, *[1] * len(self.panels))):
            axes.set_ylabel(self.panels[number])
            axes.set(xscale="log" if "x" in self.log else "linear", yscale="log" if "y" in self.log else "linear")
            shown = [series for series in self.series if series.panel in (None, number)]
            for series, look in zip(
                (series for series in shown if named or series.upper is None), LINE_LOOKS * 2, strict=False
            ):
                if named and series.upper is not None:
                    reach = (series.upper - series.values) / 2
                    bars = {**look, "linestyle": "", "marker": "", "elinewidth": 2.5, "capsize": 6, "capthick": 2.5}
                    axes.errorbar(x, series.values + reach, reach, **bars, label=f"{series.label}, bounds")
                elif named:
                    axes.plot(x, series.values, **{**look, "linestyle": "", "markersize": 6}, label=series.label)
                else:
                    axes.plot(x, series.values, **{**look, "marker": ""}, label=series.label)
            for series, shade in zip(
                (band for band in shown if not named and band.upper is not None), SHADES, strict=False
            ):
                axes.fill_between(
                    x, series.values, series.upper, color=shade, alpha=0.75, linewidth=0, label=series.label
                )
            if named:
                axes.set_xticks(x, [str(row[0]) for row in self.rows], rotation=30, ha="right")
            if self.inside is not None:
                axes.set_ylim(self.inside)
            place_legend(axes)
        axes.set_xlabel(self.axis)


@record
class Marked(PictureView):
    """A picture with the points and lines that a paper marks in its figure."""

    kind: ClassVar[str] = "figure"
    picture: PictureView
    marks: Sequence[Mark]

    @property
    def height(self) -> float:  # type: ignore[override]
        """The height of the picture."""
        return self.picture.height

    def draw(self, figure: Figure) -> None:
        """Draw the picture, then the marks."""
        self.picture.draw(figure)
        for number, mark in enumerate(self.marks):
            axes, style = figure.axes[mark.panel], ("--", "-.", ":")[number % 3]
            if mark.x is not None and mark.y is not None:
                axes.plot(mark.x, mark.y, "*", color=MARK_COLOR, markersize=11, label=mark.label)
            elif mark.x is not None:
                axes.axvline(mark.x, color=MARK_COLOR, linestyle=style, label=mark.label)
            elif mark.y is not None:
                axes.axhline(mark.y, color=MARK_COLOR, linestyle=style, label=mark.label)
            place_legend(axes)
