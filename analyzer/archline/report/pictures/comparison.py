"""Draw compared algorithms: lines between bounds over a sweep with crossovers marked, or bars of terms at a point."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from archline.compare.results import ComparedPoint, CostComparison
from archline.compare.verdicts import Crossover
from archline.energy.estimates import Estimate
from archline.energy.optimise.constraints import OBJECTIVE_UNITS
from archline.energy.units import format_amount
from archline.expr.intervals import Interval
from archline.records import record
from archline.report.energies.shown import format_caches, format_ratio, format_sizes
from archline.report.pictures import Cell, PictureView
from archline.report.pictures.drawing import (
    DARK,
    LINE_LOOKS,
    MARKS,
    SHADES,
    format_axis_in_unit,
    make_panels,
    place_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MAX_SERIES = 6
"""The maximum number of series in a picture."""
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
        """Draw a line and a band of bounds for each series; below, ratios to the first algorithm; crossovers."""
        values, ratios = make_panels(figure, 3.4, 2.0)
        sizes = self.column("size")
        if sizes.max() >= 4 * sizes.min():
            values.set_xscale("log", base=2)
            values.xaxis.set_major_formatter(lambda size, _: f"{size:g}")
        for axes, what in ((values, ""), (ratios, " ratio")):
            for key, look in zip(_list_keys(self.found), LINE_LOOKS, strict=False):
                rows = [
                    point for point in self.points if _get_row_key(point) == key and point["lower" + what] is not None
                ]
                if rows and not (what and key[0] == self.found.algorithms[0]):
                    size, low, high = (np.array([point[name] for point in rows], dtype=float)
                                       for name in ("size", "lower" + what, "upper" + what))  # fmt: skip
                    axes.fill_between(size, low, high, color=look["color"], alpha=0.25, linewidth=0)
                    axes.plot(size, (low + high) / 2, label=_label_series(key, self.found), **look)
            for crossover in self.found.crossovers:
                label = _describe_crossover(crossover, self.found, ",\n")
                axes.axvspan(crossover.start, crossover.end, color=MARKS, alpha=0.35, linewidth=1.2, label=label)
            self._set_scale(axes, what)
        ratios.axhline(1, color=MARKS, linewidth=0.9)
        ratios.set_xlabel(self.found.variable.replace("=", " = "))
        ratios.set_ylabel(f"over {_shorten_name(self.found.algorithms[0], 22)}")
        place_legend(values)

    def _set_scale(self, axes: Axes, what: str) -> None:
        ends = np.concatenate([self.column("lower" + what), self.column("upper" + what)])
        low, high = (float(end) for end in (np.nanmin(ends), np.nanmax(ends)))
        if low > 0 and high >= 8 * low:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        elif not what:
            axes.set_ylim(0, 1.15 * high or 1)
        if not what:
            _label_axis(axes.yaxis, self.found, self.unit)


@record
class ComparisonBars(PictureView):
    """The terms of the energy, or another quantity, of each algorithm and machine at one point."""

    kind: ClassVar[str] = "comparison"
    found: CostComparison
    unit: str
    estimates: Mapping[Key, Estimate]

    @property
    def height(self) -> float:  # type: ignore[override]
        """The height in inches, by the number of bars."""
        return 1.2 + 0.6 * len(self.estimates)

    def draw(self, figure: Figure) -> None:
        """Draw bars of stacked terms, bounds as whiskers; at the right of each the amount, and the ratio."""
        (axes,) = make_panels(figure, 1)
        wholes = [_require_amount(estimate, self.found) for estimate in self.estimates.values()]
        names = [_label_series(key, self.found) for key in self.estimates]
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
        axes.set_xlim(0, 1.05 * max(float(whole.upper) for whole in wholes) or 1)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        axes.grid(False, axis="y")
        _label_axis(axes.xaxis, self.found, self.unit)
        amounts = [
            format_amount(whole, self.unit) if self.unit in OBJECTIVE_UNITS.values() else format_ratio(whole)
            for whole in wholes
        ]
        against = map(self._compare_with_minimum, self.estimates)
        labels = [f"{amount}\n{ratio}".strip() for amount, ratio in zip(amounts, against, strict=True)]
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(names)), labels, fontsize=8)
        for axis in (axes, right):
            axis.tick_params(axis="y", length=0)
        right.spines["right"].set_visible(False)
        if len(shades) > 1:
            axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(shades), frameon=False, fontsize=8)

    def _compare_with_minimum(self, key: Key) -> str:
        """Return the ratio to the minimum on the same machine, with its verdict; empty for the minimum itself."""
        rivals = {
            rival: _require_amount(estimate, self.found)
            for rival, estimate in self.estimates.items()
            if rival[1] == key[1]
        }
        least = min(rivals, key=lambda rival: rivals[rival].upper)
        if key == least:
            return ""
        for point in self.found.points:
            if point.machine.name == key[1] and set(point.pair) == {key[0], least[0]}:
                verdict, ratio = point.verdict, point.verdict.ratio
                if ratio is not None and point.pair[0] != key[0]:
                    ratio = Interval.of(1) / ratio
                winner = (
                    "" if point.winner in (None, least[0]) else f", {_shorten_name(str(point.winner), 22)} takes less"
                )
                return f"{format_ratio(ratio)} times {_shorten_name(least[0], 22)}: {verdict.verdict}{winner}"
        return ""


def make_view(comparison: CostComparison) -> ComparisonLines | ComparisonBars:
    """Return the picture of a comparison: lines if a size is swept, else bars; without rows if no amount is known."""
    first = comparison.points[0]
    machines = dict.fromkeys(point.machine.title for point in comparison.points)
    unit = OBJECTIVE_UNITS[comparison.by]
    lacking = [name for name in comparison.model.scale if name not in first.machine.quantities]
    if lacking and comparison.by != "energy":
        unit = f"relative ({lacking[0]} is not known)"
    names = [_shorten_name(algorithm) for algorithm in comparison.algorithms]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    listed = listed if len(listed) < 60 else f"{len(names)} algorithms"
    on = " and ".join(machines) if len(machines) < 3 else f"{len(machines)} machines"
    title = f"{comparison.by.replace('_', '-')} of {listed} on {on}; model {comparison.model.name}"
    sizes = {tuple(point.at.items()) for point in comparison.points}
    swept = comparison.variable.split("=") if len(sizes) > 1 else []
    at = format_sizes({name: size for name, size in first.at.items() if name not in swept})
    notes: tuple[str, ...] = (
        "; ".join(filter(None, (at, format_caches(comparison.caches), comparison.data))),
        comparison.model.source,
    )
    if swept:
        rows = tuple(row for point in comparison.points for row in _make_rows(comparison, point, swept[0]))
        sentence = "; ".join(_describe_crossover(crossover, comparison, ", ") for crossover in comparison.crossovers)
        notes = (
            *notes,
            "Lines and bands between the sizes guide the eye.",
            *([sentence] if sentence else []),
        )
        columns = ("size", "algorithm", "machine", "lower", "upper", "lower ratio", "upper ratio")
        return ComparisonLines(title, notes, columns, tuple(dict.fromkeys(rows)), comparison, unit)
    estimates: dict[Key, Estimate] = {}
    for key in _list_keys(comparison):
        for point in comparison.points:
            for name, estimate in zip(point.pair, (point.first, point.second), strict=True):
                if (
                    estimate is not None
                    and estimate.by(comparison.by) is not None
                    and key == (name, point.machine.name)
                ):
                    estimates[key] = estimate
    bars = tuple((*key, *_convert_ends(_require_amount(estimate, comparison))) for key, estimate in estimates.items())
    return ComparisonBars(title, notes, ("algorithm", "machine", "lower", "upper"), bars, comparison, unit, estimates)


def _label_axis(axis: Axis, comparison: CostComparison, unit: str) -> None:
    """Label an axis with its quantity, and its numbers with prefixes of the unit, if it has one."""
    named, has_unit = comparison.by.replace("_", "-"), unit in OBJECTIVE_UNITS.values()
    axis.set_label_text(named if has_unit else f"{named}, {unit}")
    if has_unit:
        format_axis_in_unit(axis, unit)
    else:
        axis.set_major_formatter(lambda value, _: f"{value:g}")


def _make_rows(comparison: CostComparison, point: ComparedPoint, size: str) -> list[tuple[Cell, ...]]:
    """Return rows of both algorithms of a pair with ratios to the first; empty unless all ratios are to that one."""
    if point.pair[0] != comparison.algorithms[0]:
        return []
    rows: list[tuple[Cell, ...]] = []
    ratio = point.verdict.ratio
    inverse = None if ratio is None or ratio.lower <= 0 else Interval.of(1) / ratio
    for name, estimate, over in zip(point.pair, (point.first, point.second), (Interval.of(1), inverse), strict=True):
        amount = None if estimate is None else estimate.by(comparison.by)
        if amount is not None:
            rows.append((int(point.at[size]), name, point.machine.name, *_convert_ends(amount), *_convert_ends(over)))
    return rows


def _convert_ends(amount: Interval | None) -> tuple[Cell, Cell]:
    return (None, None) if amount is None else (float(amount.lower), float(amount.upper))


def _require_amount(estimate: Estimate, comparison: CostComparison) -> Interval:
    amount = estimate.by(comparison.by)
    assert amount is not None
    return amount


def _list_keys(comparison: CostComparison) -> list[Key]:
    machines = dict.fromkeys(point.machine.name for point in comparison.points)
    return [(name, machine) for machine in machines for name in comparison.algorithms]


def _get_row_key(row: Mapping[str, Cell]) -> Key:
    return str(row["algorithm"]), str(row["machine"])


def _has_several_machines(comparison: CostComparison) -> bool:
    return len({point.machine.name for point in comparison.points}) > 1


def _label_series(key: Key, comparison: CostComparison) -> str:
    name = key[0] if len(key[0]) <= 25 else "\n".join(wrap(key[0].replace(",", ", "), 25)[:3])
    return f"{name}\n{_shorten_name(key[1], 25)}" if _has_several_machines(comparison) else name


def _describe_crossover(crossover: Crossover, comparison: CostComparison, comma: str) -> str:
    on = f"on {crossover.machine} " if _has_several_machines(comparison) else ""
    before, after = _shorten_name(crossover.before), _shorten_name(crossover.after)
    return f"{on}{before} takes less up to {crossover.start}{comma}{after} from {crossover.end} on"


def _shorten_name(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
