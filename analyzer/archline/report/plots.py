"""A picture of io against Z: bounds as steps, simulated points, regimes. Needs matplotlib (the extra `plots`)."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from textwrap import shorten, wrap
from typing import TYPE_CHECKING, Any

from archline.report.numbers import readable
from archline.report.plot_view import PlotRegime, PlotView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png", "pdf")
WIDTH, HEIGHT, LINE_HEIGHT = 8.0, 4.8, 0.19
UPPER, LOWER, POINTS, MARKS = "#b2402f", "#2f6db2", "#1b1b1b", "#8a8a8a"
MAX_LETTERS = 112
LABELLED = 6
"""So many regimes are labelled at most."""
LETTER = 0.011
"""The width of a letter of a label, as a share of that of the axes."""
SETTINGS: Any = {"svg.fonttype": "none", "svg.hashsalt": "archline", "pdf.fonttype": 42, "font.size": 9.0}


def picture(view: PlotView, form: str) -> bytes:
    """The picture as SVG, PNG or PDF; the same for the same view. Raises ImportError without matplotlib."""
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        target = BytesIO()
        # Without the date a picture changes only when what it shows does.
        drawn(view).savefig(target, format=form, dpi=160, metadata=None if form == "png" else _undated(form))
    return target.getvalue()


def drawn(view: PlotView) -> Figure:
    """The figure: the curves, the regimes numbered at their least Z, and below them what each is."""
    from matplotlib.figure import Figure

    regimes = labelled(view)
    legend = [_listed(number, each) for number, each in enumerate(regimes, 1)]
    left = len(view.regimes) - len(regimes)
    more = [f"regimes not shown, as they save less: {left} (see --format text)"] if left else []
    below = [*legend, *more, *wrap(view.note, MAX_LETTERS)]
    tall = HEIGHT + LINE_HEIGHT * len(below)
    figure = Figure(figsize=(WIDTH, tall))
    foot = (LINE_HEIGHT * len(below) + 0.75) / tall
    axes = figure.add_axes((0.1, foot, 0.87, 1 - foot - 0.75 / tall))
    _draw(axes, view)
    _mark(axes, regimes)
    axes.set_title("\n".join(wrap(view.title, 90)), fontsize=11, pad=22)
    place = (LINE_HEIGHT * len(below) + 0.12) / tall
    figure.text(0.04, place, "\n".join(below), va="top", fontsize=8, linespacing=1.4)
    return figure


def labelled(view: PlotView) -> tuple[PlotRegime, ...]:
    """The first regime, the last, and up to four between them at which the upper bound falls most."""
    found = list(view.regimes)
    values = [_upper_from(view, each.words) for each in found]
    while len(found) > LABELLED:
        falls = {index: values[index - 1] / (values[index] or 1) for index in range(1, len(found) - 1)}
        least = min(falls, key=lambda index: falls[index])
        del found[least], values[least]
    return tuple(found)


def _upper_from(view: PlotView, words: int) -> float:
    """The upper bound at the first point with so many words."""
    return float(next((each.upper for each in view.points if each.words >= words), view.points[-1].upper))


def _undated(form: str) -> dict[str, None]:
    return {"Date": None} if form == "svg" else {"CreationDate": None}


def _listed(number: int, regime: PlotRegime) -> str:
    text = f"{number}: {regime.when}, here {readable(regime.words)}: io <= {regime.upper}"
    return shorten(text, MAX_LETTERS, placeholder=" ...")


def _draw(axes: Axes, view: PlotView) -> None:
    words = [float(each.words) for each in view.points]
    upper = [float(each.upper) for each in view.points]
    lower = [float(each.lower) for each in view.points]
    # io only falls as Z grows: between two points no more than at the first, no less than at the second.
    axes.step(words, upper, where="post", color=UPPER, linewidth=1.6, label="upper bound")
    axes.step(words, lower, where="pre", color=LOWER, linewidth=1.6, label=_lower_label(lower))
    axes.fill_between(_corners(words), _after(upper), _before(lower), color=MARKS, alpha=0.13, linewidth=0)
    found = [(float(each.words), float(each.simulated)) for each in view.points if each.simulated is not None]
    if found:
        axes.plot(*zip(*found, strict=True), "o", color=POINTS, markersize=3.2, label="simulated, optimal replacement")
    axes.set_xscale("log", base=2)
    if min(upper) > 0:
        axes.set_yscale("log")
        shown = [each for each in (*upper, *lower, *(io for _, io in found)) if each > 0]
        axes.set_ylim(min(shown) / 1.5, max(shown) * 1.5)
    axes.set_xlim(words[0] / 1.15, words[-1] * 1.15)
    axes.set_xlabel(f"Z, words of fast memory (lines of L = {view.line})")
    axes.set_ylabel("io, lines fetched")
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
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


def _mark(axes: Axes, regimes: Sequence[PlotRegime]) -> None:
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
