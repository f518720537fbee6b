"""Algorithms compared, drawn: lines between bounds over a sweep with crossovers marked, or bars of terms at a point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from archline.compare.crossovers import Crossover
from archline.compare.results import ComparedPoint, Comparison
from archline.energy.intervals import Interval
from archline.energy.model import Estimate
from archline.report.energies.shown import cache_text, sizes_text
from archline.report.pictures import Cell, View

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from archline.report.pictures.drawing import Labels, Sheet

MOST = 6
"""Lines that can be told apart in grey."""
UNITS = {"energy": "J", "time": "s", "power": "W", "energy_delay": "J*s"}
LOOKS: tuple[tuple[str, Any, str], ...] = (
    ("#2f6db2", "-", "o"), ("#b2402f", (0, (6, 2)), "s"), ("#1b1b1b", (0, (1, 1.5)), "^"),
    ("#4d7a33", (0, (6, 2, 1, 2)), "D"), ("#7a4f99", (0, (3, 1)), "v"), ("#8a6d00", (0, (9, 2, 1, 2, 1, 2)), "P"),
)  # fmt: skip
SHADES = ("#a9bbcf", "#e3c4a3", "#8f959c", "#d3dbc4", "#ece9e4")
Key = tuple[str, str]
"""An algorithm and a machine."""


@dataclass(frozen=True)
class Lines(View):
    """A quantity against the swept size, for each algorithm and machine; ratios to the first algorithm."""

    kind: ClassVar[str] = "comparison"
    height: ClassVar[float] = 6.0
    found: Comparison
    unit: str

    def draw(self, sheet: Sheet) -> None:
        """A line a series, a band between its bounds, its name at its end; crossovers as strips."""
        from archline.report.pictures.drawing import MARKS, Labels

        values, ratios = sheet.panels(3.4, 2.0, right=1.75)
        sizes = self.column("size")
        low, high = float(sizes.min()), float(sizes.max())
        for axes, what in ((values, ""), (ratios, " ratio")):
            if high >= 4 * low:
                axes.set_xscale("log", base=2)
                axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
                axes.set_xlim(low * (low / high) ** 0.045, high * (high / low) ** 0.045)
            else:
                axes.set_xlim(low - 0.045 * (high - low), high + 0.045 * (high - low))
            self._limits(axes, what)
            labels = Labels(axes)
            for each in self.found.crossovers:
                axes.axvspan(each.start, each.end, color=MARKS, alpha=0.35, linewidth=1.2)
                labels.line([(each.start + each.end) / 2] * 2, axes.get_ylim(), linewidth=0)
            self._draw_series(labels, what)
            if not what:
                self._name_crossovers(labels)
        ratios.axhline(1, color=MARKS, linewidth=0.9)
        ratios.set_xlabel(self.found.variable.replace("=", " = "))
        values.set_ylabel(f"{self.found.by.replace('_', '-')}, {self.unit}")
        ratios.set_ylabel(f"over {_short(self.found.algorithms[0], 22)}")

    def _limits(self, axes: Axes, what: str) -> None:
        ends = np.concatenate([self.column("lower" + what), self.column("upper" + what)])
        low, high = (float(each) for each in (np.nanmin(ends), np.nanmax(ends)))
        if low > 0 and high >= 8 * low:
            axes.set_yscale("log")
            axes.set_ylim(low / 1.6, high * 1.6)
            axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
            axes.yaxis.set_minor_formatter(lambda y, _: f"{y:g}" if high < 40 * low and f"{y:e}"[0] in "25" else "")
        else:
            axes.set_ylim(*((max(0.0, low - 0.15), high + 0.15) if what else (0, 1.15 * high or 1)))

    def _draw_series(self, labels: Labels, what: str) -> None:
        """The quantity as lines; its ratio to that of the first algorithm as points, as nothing is known between."""
        from matplotlib.transforms import ScaledTranslation

        from archline.report.pictures.drawing import end_labels

        axes, names = labels.axes, []
        shown = [key for key in _keys(self.found) if not what or key[0] != self.found.algorithms[0]]
        for key, (color, style, marker) in zip(_keys(self.found), LOOKS, strict=False):
            rows = [each for each in self.points if _key(each) == key and each["lower" + what] is not None]
            if rows and key in shown:
                size, low, high = (np.array([each[name] for each in rows], dtype=float)
                                   for name in ("size", "lower" + what, "upper" + what))  # fmt: skip
                middle = (low + high) / 2
                names.append((_named(key, self.found), (float(size[-1]), float(middle[-1])), color))
                if not what:
                    axes.fill_between(size, low, high, color=color, alpha=0.25, linewidth=0)
                    labels.line(size, middle, style, color=color, linewidth=1.6, marker=marker, markersize=4.5)
                    continue
                aside = (shown.index(key) - (len(shown) - 1) / 2) / 16
                place = axes.transData + ScaledTranslation(aside, 0, axes.figure.dpi_scale_trans)
                axes.vlines(size, low, high, color=color, linewidth=1.8, transform=place)
                axes.plot(size, middle, marker, color=color, markersize=4.5, transform=place)
        if names:
            end_labels(labels, names)

    def _name_crossovers(self, labels: Labels) -> None:
        """Who takes less beside each, or the sizes where there is little room; the notes have all."""
        panel = labels.axes.transAxes + labels.axes.transData.inverted()
        heights = [panel.transform((0, share))[1] for share in (0.98, 0.88, 0.78, 0.68, 0.28, 0.18, 0.08)]
        for each in self.found.crossovers:
            places = [((each.start + each.end) / 2, height) for height in heights]
            for said in (_told(each, self.found, ",\n"), f"{each.start} to {each.end}"):
                if labels.put(said, places, [(-1, -1), (1, -1)], near=False, ma="left"):
                    break


@dataclass(frozen=True)
class Bars(View):
    """The terms of the energy, or another quantity, of each algorithm and machine at one point."""

    kind: ClassVar[str] = "comparison"
    found: Comparison
    unit: str
    estimates: Mapping[Key, Estimate]

    @property
    def height(self) -> float:  # type: ignore[override]
        """By the number of bars, in inches."""
        return 0.4 + 0.72 * len(self.estimates)

    def draw(self, sheet: Sheet) -> None:
        """A bar of stacked terms each, bounds as a whisker; beside it what it is, and against the least."""
        (axes,) = sheet.panels(1.0, left=1.75)
        most = float(self.column("upper").max())
        axes.set_xlim(0, 1.95 * most or 1)
        axes.set_ylim(len(self.estimates) - 0.35, -0.6)
        axes.set_yticks(range(len(self.estimates)), [_named(key, self.found) for key in self.estimates], fontsize=8)
        axes.tick_params(axis="y", length=0)
        axes.grid(False, axis="y")
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        axes.spines["bottom"].set_bounds(0, most)
        axes.set_xticks([each for each in axes.get_xticks() if each <= 1.02 * most])
        axes.set_xlabel(f"{self.found.by.replace('_', '-')}, {self.unit}", x=0.27)
        for row, (key, each) in enumerate(self.estimates.items()):
            self._draw_bar(axes, row, key, each, most)

    def _draw_bar(self, axes: Axes, row: int, key: Key, estimate: Estimate, most: float) -> None:
        from archline.report.pictures.drawing import DARK

        whole = _by(estimate, self.found)
        parts = estimate.terms if self.found.by == "energy" else {"": whole}
        start = 0.0
        for (name, part), shade in zip(parts.items(), SHADES * len(parts), strict=False):
            width = float(part.middle)
            axes.barh(row, width, 0.42, left=start, color=shade, edgecolor="white", linewidth=0.5)
            room = (width if whole.exact else min(width, float(whole.lower) - start)) / most
            if room > 0.022 * (len(name) + 1):
                axes.text(start + room * most / 2, row, name, ha="center", va="center", fontsize=8, color=DARK)
            start += width
        ends = [float(whole.lower), float(whole.upper)]
        axes.plot(ends, [row, row], "|-", color=DARK, linewidth=1.2, markersize=9)
        said = f"{whole.text(self.unit) if self.unit in UNITS.values() else _range(whole)}\n{self._against(key)}"
        place = (max(ends[1], start), row)
        axes.annotate(said.strip(), place, (6, 0), textcoords="offset points", va="center", fontsize=8)
        if len(parts) > 1:
            terms = ", ".join(f"{name} {part.text('J')}" for name, part in parts.items())
            axes.text(0, row + 0.25, f" {terms}", va="top", fontsize=7, color="#555555")

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
                return f"{_range(ratio)} times {_short(least[0], 22)}: {verdict.verdict}{other}"
        return ""


def view(found: Comparison) -> Lines | Bars:
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
    notes: tuple[str, ...] = ("; ".join(filter(None, (at, cache_text(found.cache), found.data))), found.model.source)
    if swept:
        rows = tuple(row for each in found.points for row in _rows(found, each, swept[0]))
        said = "; ".join(_told(each, found, ", ") for each in found.crossovers)
        notes = (
            *notes,
            "Lines and bands between the sizes guide the eye; below, ratios at the sizes alone.",
            *([said] if said else []),
        )
        columns = ("size", "algorithm", "machine", "lower", "upper", "lower ratio", "upper ratio")
        return Lines(title, notes, columns, tuple(dict.fromkeys(rows)), found, unit)
    estimates: dict[Key, Estimate] = {}
    for key in _keys(found):
        for each in found.points:
            for name, estimate in zip(each.pair, (each.first, each.second), strict=True):
                if estimate is not None and estimate.by(found.by) is not None and key == (name, each.machine.name):
                    estimates[key] = estimate
    bars = tuple((*key, *_ends(_by(each, found))) for key, each in estimates.items())
    return Bars(title, notes, ("algorithm", "machine", "lower", "upper"), bars, found, unit, estimates)


def _rows(found: Comparison, point: ComparedPoint, size: str) -> list[tuple[Cell, ...]]:
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


def _by(estimate: Estimate, found: Comparison) -> Interval:
    amount = estimate.by(found.by)
    assert amount is not None
    return amount


def _range(ratio: Interval | None) -> str:
    if ratio is None:
        return "?"
    low, high = (f"{float(each):.{3 if each < 1000 else 5}g}" for each in (ratio.lower, ratio.upper))
    return low if low == high else f"{low} .. {high}"


def _keys(found: Comparison) -> list[Key]:
    machines = dict.fromkeys(each.machine.name for each in found.points)
    return [(name, machine) for machine in machines for name in found.algorithms]


def _key(row: Mapping[str, Cell]) -> Key:
    return str(row["algorithm"]), str(row["machine"])


def _several(found: Comparison) -> bool:
    return len({each.machine.name for each in found.points}) > 1


def _named(key: Key, found: Comparison) -> str:
    name = key[0] if len(key[0]) <= 25 else "\n".join(wrap(key[0].replace(",", ", "), 25)[:3])
    return f"{name}\n{_short(key[1], 25)}" if _several(found) else name


def _told(crossover: Crossover, found: Comparison, comma: str) -> str:
    on = f"on {crossover.machine} " if _several(found) else ""
    before, after = _short(crossover.before), _short(crossover.after)
    return f"{on}{before} takes less up to {crossover.start}{comma}{after} from {crossover.end} on"


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"{name[: most - 3]}..."
