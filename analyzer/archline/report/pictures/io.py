"""Draw io against Z: derived bounds as steps, the misses of optimal replacement in a run, and the regimes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from archline.expr.intervals import Number, Point
from archline.numbers import format_exact, format_readable
from archline.records import record
from archline.report.json import VERSION, make_point_document
from archline.report.layout import Columns
from archline.report.pictures import PictureView
from archline.report.pictures.drawing import DARK, LOWER, MARKS, UPPER, make_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("Z", "lower", "simulated", "upper")
MAX_LABEL_LENGTH = 112
MAX_LABELLED_REGIMES = 6
"""The maximum number of regimes that are labelled."""
LETTER_WIDTH = 0.011
"""The width of a letter of a label, as a share of that of the axes."""


class IoPoint(NamedTuple):
    """Bounds on io with Z words of fast memory, and the misses of optimal replacement in a run, if there was one."""

    words: int
    lower: Number
    simulated: int | None
    upper: Number

    @property
    def outside(self) -> bool:
        """Whether the run contradicts the bounds: a defect."""
        return self.simulated is not None and not self.lower <= self.simulated <= self.upper


@record
class IoRegime:
    """An upper bound on io, as text, that holds with at least `words` words of fast memory."""

    words: int
    when: str
    upper: str


@record
class IoCurves(PictureView):
    """The io of an algorithm at sizes, against Z at one L; `skipped` is the reason that no run was simulated."""

    kind: ClassVar[str] = "io"
    rows: tuple[IoPoint, ...]
    algorithm: str
    at: Point
    line: int
    regimes: tuple[IoRegime, ...]
    data: str
    skipped: str | None

    @property
    def further_tables(self) -> tuple[Columns, ...]:
        """The table of regimes: from which Z on each holds, its condition, and its bound; empty if there are none."""
        listed = [[format_readable(regime.words), regime.when, "<=", regime.upper] for regime in self.regimes]
        return (Columns([["from Z", "", "", "io"], *listed]),) if listed else ()

    @property
    def caption(self) -> str:
        """The title and the notes: the source of simulated points, or the reason that there are none."""
        return "; ".join((self.title, *self.notes))

    @property
    def notes_below(self) -> Sequence[str]:
        """The numbered regimes, and the notes."""
        regimes = select_labelled_regimes(self)
        left = len(self.regimes) - len(regimes)
        more = [f"regimes not shown, as they save less: {left} (see --format text)"] if left else []
        return [*(_format_regime(number, regime) for number, regime in enumerate(regimes, 1)), *more, *self.notes]

    @property
    def document(self) -> Mapping[str, Any]:
        """The JSON document of the points and regimes."""
        return {
            "version": VERSION,
            "algorithm": self.algorithm,
            "at": make_point_document(self.at),
            "L": self.line,
            "metric": "io",
            "points": [
                {name: None if value is None else format_exact(value) for name, value in zip(COLUMNS, row, strict=True)}
                for row in self.rows
            ],
            "regimes": [
                {"Z": format_exact(regime.words), "when": regime.when, "upper": regime.upper} for regime in self.regimes
            ],
            "data": self.data,
            "skipped": self.skipped,
        }

    def draw(self, figure: Figure) -> None:
        """Draw the curves, and the regimes numbered at their minimum Z."""
        (axes,) = make_panels(figure, 1)
        _draw_bounds(axes, self)
        _mark_regimes(axes, select_labelled_regimes(self))


def select_labelled_regimes(view: IoCurves) -> tuple[IoRegime, ...]:
    """Return the first regime, the last, and up to four between them at which the upper bound falls most."""
    regimes = list(view.regimes)
    values = [_find_upper_bound(view, regime.words) for regime in regimes]
    while len(regimes) > MAX_LABELLED_REGIMES:
        falls = {index: values[index - 1] / (values[index] or 1) for index in range(1, len(regimes) - 1)}
        least = min(falls, key=lambda index: falls[index])
        del regimes[least], values[least]
    return tuple(regimes)


def _find_upper_bound(view: IoCurves, words: int) -> float:
    """Return the upper bound at the first point with at least this number of words."""
    return float(next((row.upper for row in view.rows if row.words >= words), view.rows[-1].upper))


def _format_regime(number: int, regime: IoRegime) -> str:
    text = f"{number}: {regime.when}, here {format_readable(regime.words)}: io <= {regime.upper}"
    return shorten(text, MAX_LABEL_LENGTH, placeholder=" ...")


def _draw_bounds(axes: Axes, view: IoCurves) -> None:
    words = [float(row.words) for row in view.rows]
    upper = [float(row.upper) for row in view.rows]
    lower = [float(row.lower) for row in view.rows]
    # io decreases as Z grows: between two points it is at most that at the first, at least that at the second.
    axes.step(words, upper, where="post", color=UPPER, linewidth=1.6, label="upper bound")
    axes.step(words, lower, where="pre", color=LOWER, linewidth=1.6, label=_label_lower_bound(lower))
    axes.fill_between(
        _list_step_ends(words),
        _repeat_left_values(upper),
        _repeat_right_values(lower),
        color=MARKS,
        alpha=0.13,
        linewidth=0,
    )
    runs = [(float(row.words), float(row.simulated)) for row in view.rows if row.simulated is not None]
    if runs:
        axes.plot(*zip(*runs, strict=True), "o", color=DARK, markersize=3.2, label="simulated, optimal replacement")
    axes.set_xscale("log", base=2)
    if min(upper) > 0:
        axes.set_yscale("log")
        shown = [value for value in (*upper, *lower, *(io for _, io in runs)) if value > 0]
        axes.set_ylim(min(shown) / 1.5, max(shown) * 1.5)
    axes.set_xlim(words[0] / 1.15, words[-1] * 1.15)
    axes.set_xlabel(f"Z, words of fast memory (lines of L = {view.line})")
    axes.set_ylabel("io, lines fetched")
    axes.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")


def _label_lower_bound(lower: list[float]) -> str:
    if max(lower) <= 0:
        return "lower bound: 0"
    return "lower bound" if min(lower) > 0 else "lower bound (0 where it is not drawn)"


def _list_step_ends(words: list[float]) -> list[float]:
    """Return the x values of each pair of neighbouring points, one after the other."""
    return [end for pair in pairwise(words) for end in pair]


def _repeat_left_values(values: list[float]) -> list[float]:
    """Return each value but the last twice: the ends of steps that have the value of their left point."""
    return [height for value in values[:-1] for height in (value, value)]


def _repeat_right_values(values: list[float]) -> list[float]:
    """Return each value but the first twice: the ends of steps that have the value of their right point."""
    return [height for value in values[1:] for height in (value, value)]


def _mark_regimes(axes: Axes, regimes: Sequence[IoRegime]) -> None:
    """Draw a dotted line at the start of each regime, its number above; numbers of close lines in one text."""
    scale = axes.transData.transform
    left, right = (axes.transAxes.transform((side, 0.0))[0] for side in (0, 1))
    groups: list[tuple[float, list[int]]] = []
    for number, regime in enumerate(regimes, 1):
        axes.axvline(float(regime.words), color=MARKS, linestyle=":", linewidth=0.9, zorder=0.5)
        group = (scale((float(regime.words), 1.0))[0] - left) / (right - left), [number]
        while (
            groups and group[0] - groups[-1][0] < LETTER_WIDTH * (len(_join_numbers(groups[-1][1] + group[1])) + 2) / 2
        ):
            place, numbers = groups.pop()
            together = [*numbers, *group[1]]
            group = (place * len(numbers) + group[0] * len(group[1])) / len(together), together
        groups.append(group)
    for place, numbers in groups:
        axes.text(
            place, 1.01, _join_numbers(numbers), transform=axes.transAxes, ha="center", color="#555555", fontsize=8
        )


def _join_numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
