"""Redrawn and bands over one axis, and what a paper marks: its figures drawn again, from its own forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from archline.records import record
from archline.report.pictures import PictureView
from archline.report.pictures.drawing import LOOKS, SHADES, legend, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOR = "#4d7a33"


@record
class Series:
    """Values over the axis, in all panels or in one; with `upper` a band."""

    label: str
    values: Any
    upper: Any = None
    panel: int | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The values by name: a band has two."""
        if self.upper is None:
            return {self.label: self.values}
        return {f"{self.label}, least": self.values, f"{self.label}, most": self.upper}


@record
class Mark:
    """What a paper prints: a point, a vertical or a horizontal line of a panel."""

    label: str
    x: float | None
    y: float | None
    panel: int = 0


@record
class Redrawn(PictureView):
    """Panels over one axis, of numbers or of named cases; `log` names those that are logarithmic."""

    kind: ClassVar[str] = "figure"
    axis: str
    panels: Sequence[str]
    series: Sequence[Series]
    log: Sequence[str] = ()
    inside: tuple[float, float] | None = None

    @property
    def height(self) -> float:  # type: ignore[override]
        """By the number of panels."""
        return 1.2 + 2.8 * len(self.panels)

    def draw(self, figure: Figure) -> None:
        """Each series in its panel, with a legend at the right."""
        named = isinstance(self.rows[0][0], str)
        x = range(len(self.rows)) if named else self.column(self.columns[0])
        for number, axes in enumerate(panels(figure, *[1] * len(self.panels))):
            axes.set_ylabel(self.panels[number])
            axes.set(xscale="log" if "x" in self.log else "linear", yscale="log" if "y" in self.log else "linear")
            shown = [each for each in self.series if each.panel in (None, number)]
            for each, look in zip((each for each in shown if named or each.upper is None), LOOKS * 2, strict=False):
                if named and each.upper is not None:
                    reach = (each.upper - each.values) / 2
                    bars = {**look, "linestyle": "", "marker": "", "elinewidth": 2.5, "capsize": 6, "capthick": 2.5}
                    axes.errorbar(x, each.values + reach, reach, **bars, label=f"{each.label}, bounds")
                elif named:
                    axes.plot(x, each.values, **{**look, "linestyle": "", "markersize": 6}, label=each.label)
                else:
                    axes.plot(x, each.values, **{**look, "marker": ""}, label=each.label)
            for each, shade in zip(
                (each for each in shown if not named and each.upper is not None), SHADES, strict=False
            ):
                axes.fill_between(x, each.values, each.upper, color=shade, alpha=0.75, linewidth=0, label=each.label)
            if named:
                axes.set_xticks(x, [str(row[0]) for row in self.rows], rotation=30, ha="right")
            if self.inside is not None:
                axes.set_ylim(self.inside)
            legend(axes)
        axes.set_xlabel(self.axis)


@record
class Marked(PictureView):
    """A picture with what the paper marks in it."""

    kind: ClassVar[str] = "figure"
    picture: PictureView
    marks: Sequence[Mark]

    @property
    def height(self) -> float:  # type: ignore[override]
        """As high as the picture."""
        return self.picture.height

    def draw(self, figure: Figure) -> None:
        """The picture, then the marks."""
        self.picture.draw(figure)
        for number, each in enumerate(self.marks):
            axes, style = figure.axes[each.panel], ("--", "-.", ":")[number % 3]
            if each.x is not None and each.y is not None:
                axes.plot(each.x, each.y, "*", color=COLOR, markersize=11, label=each.label)
            elif each.x is not None:
                axes.axvline(each.x, color=COLOR, linestyle=style, label=each.label)
            elif each.y is not None:
                axes.axhline(each.y, color=COLOR, linestyle=style, label=each.label)
            legend(axes)
