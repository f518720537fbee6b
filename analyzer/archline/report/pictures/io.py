"""io against Z: derived bounds as steps, what optimal replacement fetches in a run, and where regimes begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from archline.numbers import exact, readable
from archline.records import record
from archline.report.json import VERSION, point
from archline.report.layout import Columns
from archline.report.pictures import PictureView
from archline.report.pictures.drawing import DARK, LOWER, MARKS, UPPER, panels
from archline.report.view import Number, Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = ("Z", "lower", "simulated", "upper")
MAX_LETTERS = 112
LABELLED = 6
"""So many regimes are labelled at most."""
LETTER = 0.011
"""The width of a letter of a label, as a share of that of the axes."""


class IoPoint(NamedTuple):
    """Bounds on io with Z words of fast memory, and what optimal replacement fetches in a run, where there was one."""

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
    """An upper bound that holds from so many words on, as text."""

    words: int
    when: str
    upper: str


@record
class IoCurves(PictureView):
    """io of an algorithm at sizes, against Z at one L; `skipped` says why nothing was simulated."""

    kind: ClassVar[str] = "io"
    rows: tuple[IoPoint, ...]
    algorithm: str
    at: Point
    line: int
    regimes: tuple[IoRegime, ...]
    data: str
    skipped: str | None

    @property
    def more(self) -> tuple[Columns, ...]:
        """The regimes."""
        listed = [[readable(each.words), each.when, "<=", each.upper] for each in self.regimes]
        return (Columns([["from Z", "", "", "io"], *listed]),) if listed else ()

    @property
    def caption(self) -> str:
        """What is shown, and where simulated points are from, or why there are none."""
        return "; ".join((self.title, *self.notes))

    @property
    def below(self) -> Sequence[str]:
        """What each regime is that is numbered."""
        regimes = labelled(self)
        left = len(self.regimes) - len(regimes)
        more = [f"regimes not shown, as they save less: {left} (see --format text)"] if left else []
        return [*(_listed(number, each) for number, each in enumerate(regimes, 1)), *more, *self.notes]

    @property
    def document(self) -> Mapping[str, Any]:
        """The points and regimes as JSON has them."""
        return {
            "version": VERSION,
            "algorithm": self.algorithm,
            "at": point(self.at),
            "L": self.line,
            "metric": "io",
            "points": [
                {name: None if each is None else exact(each) for name, each in zip(COLUMNS, row, strict=True)}
                for row in self.rows
            ],
            "regimes": [{"Z": exact(each.words), "when": each.when, "upper": each.upper} for each in self.regimes],
            "data": self.data,
            "skipped": self.skipped,
        }

    def draw(self, figure: Figure) -> None:
        """The curves, and the regimes numbered at their least Z."""
        (axes,) = panels(figure, 1)
        _draw(axes, self)
        _mark(axes, labelled(self))


def labelled(view: IoCurves) -> tuple[IoRegime, ...]:
    """The first regime, the last, and up to four between them at which the upper bound falls most."""
    found = list(view.regimes)
    values = [_upper_from(view, each.words) for each in found]
    while len(found) > LABELLED:
        falls = {index: values[index - 1] / (values[index] or 1) for index in range(1, len(found) - 1)}
        least = min(falls, key=lambda index: falls[index])
        del found[least], values[least]
    return tuple(found)


def _upper_from(view: IoCurves, words: int) -> float:
    """The upper bound at the first point with so many words."""
    return float(next((each.upper for each in view.rows if each.words >= words), view.rows[-1].upper))


def _listed(number: int, regime: IoRegime) -> str:
    text = f"{number}: {regime.when}, here {readable(regime.words)}: io <= {regime.upper}"
    return shorten(text, MAX_LETTERS, placeholder=" ...")


def _draw(axes: Axes, view: IoCurves) -> None:
    words = [float(each.words) for each in view.rows]
    upper = [float(each.upper) for each in view.rows]
    lower = [float(each.lower) for each in view.rows]
    # io only falls as Z grows: between two points no more than at the first, no less than at the second.
    axes.step(words, upper, where="post", color=UPPER, linewidth=1.6, label="upper bound")
    axes.step(words, lower, where="pre", color=LOWER, linewidth=1.6, label=_lower_label(lower))
    axes.fill_between(_corners(words), _after(upper), _before(lower), color=MARKS, alpha=0.13, linewidth=0)
    found = [(float(each.words), float(each.simulated)) for each in view.rows if each.simulated is not None]
    if found:
        axes.plot(*zip(*found, strict=True), "o", color=DARK, markersize=3.2, label="simulated, optimal replacement")
    axes.set_xscale("log", base=2)
    if min(upper) > 0:
        axes.set_yscale("log")
        shown = [each for each in (*upper, *lower, *(io for _, io in found)) if each > 0]
        axes.set_ylim(min(shown) / 1.5, max(shown) * 1.5)
    axes.set_xlim(words[0] / 1.15, words[-1] * 1.15)
    axes.set_xlabel(f"Z, words of fast memory (lines of L = {view.line})")
    axes.set_ylabel("io, lines fetched")
    axes.legend(loc="best", frameon=True, framealpha=0.9, edgecolor="none")


def _lower_label(lower: list[float]) -> str:
    if max(lower) <= 0:
        return "lower bound: 0"
    return "lower bound" if min(lower) > 0 else "lower bound (0 where it is not drawn)"


def _corners(words: list[float]) -> list[float]:
    """Both ends of each step."""
    return [each for pair in pairwise(words) for each in pair]


def _after(values: list[float]) -> list[float]:
    """What holds from each point to the next."""
    return [each for value in values[:-1] for each in (value, value)]


def _before(values: list[float]) -> list[float]:
    """What holds up to each point from the one before."""
    return [each for value in values[1:] for each in (value, value)]


def _mark(axes: Axes, regimes: Sequence[IoRegime]) -> None:
    """A dotted line where each regime begins, its number above; those of lines close to each other in one text."""
    scale = axes.transData.transform
    left, right = (axes.transAxes.transform((side, 0.0))[0] for side in (0, 1))
    groups: list[tuple[float, list[int]]] = []
    for number, each in enumerate(regimes, 1):
        axes.axvline(float(each.words), color=MARKS, linestyle=":", linewidth=0.9, zorder=0.5)
        group = (scale((float(each.words), 1.0))[0] - left) / (right - left), [number]
        while groups and group[0] - groups[-1][0] < LETTER * (len(_numbers(groups[-1][1] + group[1])) + 2) / 2:
            place, numbers = groups.pop()
            together = [*numbers, *group[1]]
            group = (place * len(numbers) + group[0] * len(group[1])) / len(together), together
        groups.append(group)
    for place, numbers in groups:
        axes.text(place, 1.01, _numbers(numbers), transform=axes.transAxes, ha="center", color="#555555", fontsize=8)


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
