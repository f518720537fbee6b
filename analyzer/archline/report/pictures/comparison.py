"""Algorithms compared, drawn: lines between bounds over a sweep with crossovers marked, or bars of terms at a point."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from archline.compare.results import ComparedPoint, CostComparison
from archline.compare.verdicts import Crossover
from archline.energy.estimates import Estimate
from archline.energy.optimise.constraints import UNITS
from archline.energy.units import format_amount
from archline.expr.intervals import Interval
from archline.records import record
from archline.report.energies.shown import caches_text, ratio_text, sizes_text
from archline.report.pictures import Cell, PictureView
from archline.report.pictures.drawing import DARK, LOOKS, MARKS, SHADES, in_unit, legend, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAX_LINES = 6
"""Series of a picture."""
Key = tuple[str, str]
"""An algorithm and a machine."""


@record
class ComparisonLines(PictureView):
    """A quantity against the swept size, for each algorithm and machine; ratios to the first algorithm."""

    kind: ClassVar[str] = "comparison"
    height: ClassVar[float] = 6.0
    found: CostComparison
    unit: str

    def draw(self, figure: Figure) -> None:
        """A line a series, a band between its bounds; below, over the first algorithm; crossovers as strips."""
        values, ratios = panels(figure, 3.4, 2.0)
        sizes = self.column("size")
        if sizes.max() >= 4 * sizes.min():
            values.set_xscale("log", base=2)
            values.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        for axes, what in ((values, ""), (ratios, " ratio")):
            for key, look in zip(_keys(self.found), LOOKS, strict=False):
                rows = [each for each in self.points if _key(each) == key and each["lower" + what] is not None]
                if rows and not (what and key[0] == self.found.algorithms[0]):
                    size, low, high = (np.array([each[name] for each in rows], dtype=float)
                                       for name in ("size", "lower" + what, "upper" + what))  # fmt: skip
                    axes.fill_between(size, low, high, color=look["color"], alpha=0.25, linewidth=0)
                    axes.plot(size, (low + high) / 2, label=_named(key, self.found), **look)
            for each in self.found.crossovers:
                said = _described(each, self.found, ",\n")
                axes.axvspan(each.start, each.end, color=MARKS, alpha=0.35, linewidth=1.2, label=said)
            self._scale(axes, what)
        ratios.axhline(1, color=MARKS, linewidth=0.9)
        ratios.set_xlabel(self.found.variable.replace("=", " = "))
        ratios.set_ylabel(f"over {_short(self.found.algorithms[0], 22)}")
        legend(values)

    def _scale(self, axes: Axes, what: str) -> None:
        ends = np.concatenate([self.column("lower" + what), self.column("upper" + what)])
        low, high = (float(each) for each in (np.nanmin(ends), np.nanmax(ends)))
        if low > 0 and high >= 8 * low:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        elif not what:
            axes.set_ylim(0, 1.15 * high or 1)
        if not what:
            _in_its_unit(axes.yaxis, self.found, self.unit)


@record
class ComparisonBars(PictureView):
    """The terms of the energy, or another quantity, of each algorithm and machine at one point."""

    kind: ClassVar[str] = "comparison"
    found: CostComparison
    unit: str
    estimates: Mapping[Key, Estimate]

    @property
    def height(self) -> float:  # type: ignore[override]
        """By the number of bars, in inches."""
        return 1.2 + 0.6 * len(self.estimates)

    def draw(self, figure: Figure) -> None:
        """A bar of stacked terms each, bounds as a whisker; at its right what it is, and against the least."""
        (axes,) = panels(figure, 1)
        wholes = [_by(each, self.found) for each in self.estimates.values()]
        names = [_named(key, self.found) for key in self.estimates]
        shades: dict[str, str] = {}
        for row, (estimate, whole) in enumerate(zip(self.estimates.values(), wholes, strict=True)):
            start = 0.0
            for name, part in (estimate.terms if self.found.by == "energy" else {"": whole}).items():
                label = None if name in shades else name
                shade = shades.setdefault(name, SHADES[len(shades) % len(SHADES)])
                axes.barh(row, float(part.middle), 0.42, left=start, color=shade, label=label)
                start += float(part.middle)
            ends = [float(whole.lower), float(whole.upper)]
            axes.plot(ends, [row, row], "|-", color=DARK, linewidth=1.2, markersize=9)
        axes.set_xlim(0, 1.05 * max(float(each.upper) for each in wholes) or 1)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.grid(False, axis="y")
        _in_its_unit(axes.xaxis, self.found, self.unit)
        amounts = [
            format_amount(each, self.unit) if self.unit in UNITS.values() else ratio_text(each) for each in wholes
        ]
        against = map(self._against, self.estimates)
        said = [f"{amount}\n{ratio}".strip() for amount, ratio in zip(amounts, against, strict=True)]
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(names)), said, fontsize=8)
        for axis in (axes, right):
            axis.tick_params(axis="y", length=0)
        right.spines["right"].set_visible(False)
        if len(shades) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(shades), frameon=False, fontsize=8)

    def _against(self, key: Key) -> str:
        """The ratio to the least on the machine, and the verdict on it."""
        rivals = {other: _by(each, self.found) for other, each in self.estimates.items() if other[1] == key[1]}
        least = min(rivals, key=lambda each: rivals[each].upper)
        if key == least:
            return ""
        for each in self.found.points:
            if each.machine.name == key[1] and set(each.pair) == {key[0], least[0]}:
                verdict, ratio = each.verdict, each.verdict.ratio
                if ratio is not None and each.pair[0] != key[0]:
                    ratio = Interval.of(1) / ratio
                other = "" if each.winner in (None, least[0]) else f", {_short(str(each.winner), 22)} takes less"
                return f"{ratio_text(ratio)} times {_short(least[0], 22)}: {verdict.verdict}{other}"
        return ""


def view(found: CostComparison) -> ComparisonLines | ComparisonBars:
    """Lines where a size is swept, else bars; without rows where there is nothing to draw."""
    first = found.points[0]
    machines = dict.fromkeys(each.machine.title for each in found.points)
    unit = UNITS[found.by]
    lacking = [name for name in found.model.scale if name not in first.machine.quantities]
    if lacking and found.by != "energy":
        unit = f"relative ({lacking[0]} is not known)"
    names = [_short(each) for each in found.algorithms]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    listed = listed if len(listed) < 60 else f"{len(names)} algorithms"
    on = " and ".join(machines) if len(machines) < 3 else f"{len(machines)} machines"
    title = f"{found.by.replace('_', '-')} of {listed} on {on}; model {found.model.name}"
    sizes = {tuple(each.at.items()) for each in found.points}
    swept = found.variable.split("=") if len(sizes) > 1 else []
    at = sizes_text({name: size for name, size in first.at.items() if name not in swept})
    notes: tuple[str, ...] = ("; ".join(filter(None, (at, caches_text(found.caches), found.data))), found.model.source)
    if swept:
        rows = tuple(row for each in found.points for row in _rows(found, each, swept[0]))
        said = "; ".join(_described(each, found, ", ") for each in found.crossovers)
        notes = (
            *notes,
            "Lines and bands between the sizes guide the eye.",
            *([said] if said else []),
        )
        columns = ("size", "algorithm", "machine", "lower", "upper", "lower ratio", "upper ratio")
        return ComparisonLines(title, notes, columns, tuple(dict.fromkeys(rows)), found, unit)
    estimates: dict[Key, Estimate] = {}
    for key in _keys(found):
        for each in found.points:
            for name, estimate in zip(each.pair, (each.first, each.second), strict=True):
                if estimate is not None and estimate.by(found.by) is not None and key == (name, each.machine.name):
                    estimates[key] = estimate
    bars = tuple((*key, *_ends(_by(each, found))) for key, each in estimates.items())
    return ComparisonBars(title, notes, ("algorithm", "machine", "lower", "upper"), bars, found, unit, estimates)


def _in_its_unit(axis: Axis, found: CostComparison, unit: str) -> None:
    """Label an axis with what it is of, and its numbers with prefixes of the unit, if it has one."""
    named, known = found.by.replace("_", "-"), unit in UNITS.values()
    axis.set_label_text(named if known else f"{named}, {unit}")
    if known:
        in_unit(axis, unit)
    else:
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def _rows(found: CostComparison, point: ComparedPoint, size: str) -> list[tuple[Cell, ...]]:
    """The rows of both algorithms of a pair, from pairs with the first algorithm, whose ratios are shown."""
    if point.pair[0] != found.algorithms[0]:
        return []
    rows: list[tuple[Cell, ...]] = []
    ratio = point.verdict.ratio
    inverse = None if ratio is None or ratio.lower <= 0 else Interval.of(1) / ratio
    for name, estimate, over in zip(point.pair, (point.first, point.second), (Interval.of(1), inverse), strict=True):
        amount = None if estimate is None else estimate.by(found.by)
        if amount is not None:
            rows.append((int(point.at[size]), name, point.machine.name, *_ends(amount), *_ends(over)))
    return rows


def _ends(amount: Interval | None) -> tuple[Cell, Cell]:
    return (None, None) if amount is None else (float(amount.lower), float(amount.upper))


def _by(estimate: Estimate, found: CostComparison) -> Interval:
    amount = estimate.by(found.by)
    assert amount is not None
    return amount


def _keys(found: CostComparison) -> list[Key]:
    machines = dict.fromkeys(each.machine.name for each in found.points)
    return [(name, machine) for machine in machines for name in found.algorithms]


def _key(row: Mapping[str, Cell]) -> Key:
    return str(row["algorithm"]), str(row["machine"])


def _several(found: CostComparison) -> bool:
    return len({each.machine.name for each in found.points}) > 1


def _named(key: Key, found: CostComparison) -> str:
    name = key[0] if len(key[0]) <= 25 else "\n".join(wrap(key[0].replace(",", ", "), 25)[:3])
    return f"{name}\n{_short(key[1], 25)}" if _several(found) else name


def _described(crossover: Crossover, found: CostComparison, comma: str) -> str:
    on = f"on {crossover.machine} " if _several(found) else ""
    before, after = _short(crossover.before), _short(crossover.after)
    return f"{on}{before} takes less up to {crossover.start}{comma}{after} from {crossover.end} on"


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
