"""Draw a machine in the energy roofline: share of peak flop/s and flop/J, and power, against the intensity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import log2
from textwrap import shorten
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from archline.energy import rules
from archline.energy.estimates import ModelOnMachine
from archline.energy.levels import MEMORY
from archline.energy.machine_files import collect_variant_peaks
from archline.energy.machines import Machine
from archline.energy.models import find_model
from archline.energy.quantities import LEVELS
from archline.energy.units import format_si
from archline.expr.arrays import Array, compile_formulas
from archline.expr.intervals import Interval
from archline.language.diagnostics import error
from archline.records import record
from archline.report.layout import Columns, render_page
from archline.report.pictures import Cell, PictureView, find_last, format_cell, format_power_of_two
from archline.report.pictures.drawing import (
    DARK,
    LINE_LOOKS,
    LOWER,
    MARKS,
    SHADES,
    STYLES,
    UPPER,
    format_axis_in_unit,
    make_panels,
    place_legend,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAP = "roofline under the limit"
HALF = "y = 1/2"
CACHES = "caches"
COLUMNS = ("roofline", "arch line", "power", "constant", "memory", "computation")
MARKERS = {MEMORY: "o", "L1": "^", "L2": "s", "L3": "D", "L4": "v"}
"""The markers of slow memory and of the levels of caches."""
POWER_SHADES = ("#b9bec4", "#d8d4cc", "#efede8", "#d9dce8")
POINTS_PER_OCTAVE, OCTAVES_BEYOND = 4, 3
"""The number of points in an octave of the intensity, and of octaves shown beyond the marked points."""
FIGURES = {
    "B_tau": "time balance",
    "B_eps": "energy balance",
    "roofline": "of peak flop/s",
    "arch line": "of peak flop/J",
}


def evaluate_model(machine: Machine, intensity: Array, served: Mapping[str, float] | None = None) -> dict[str, Array]:
    """Evaluate the roofline model at intensities, for a byte of traffic, without answers that lack quantities.

    `served` has the amounts that levels of caches serve for each flop; with it the model has levels. Raises
    ArchlineError (AL458).
    """
    served = served or {}
    on = _make_model_on_machine(machine, served)
    on.require_inputs()
    exprs = {name: on.formula(formula) for name, formula in FIGURES.items() if not on.list_missing_quantities(formula)}
    exprs |= {name: on.formula(name) for name in ("time", *on.model.energy) if not on.list_missing_quantities(name)}
    if has_power_limit(machine):
        exprs["capped"] = _make_model_on_machine(machine, served, "+cap").formula("time")
    numbers = {name: float(value) for name, value in machine.values.items()}
    amounts = {name: intensity * amount for name, amount in served.items()}
    with np.errstate(all="ignore"):
        answers = compile_formulas(exprs)(
            {**numbers, **amounts, "flops": intensity, "traffic": np.ones_like(intensity)}
        )
    return {**answers, CACHES: sum((answers[level] for level in on.model.levels if level in answers), 0 * intensity)}


def _make_model_on_machine(
    machine: Machine, served: Mapping[str, float] | None = None, option: str = ""
) -> ModelOnMachine:
    chosen = find_model(f"roofline{'+levels' * bool(served)}{option}").with_machine_formulas(machine)
    return ModelOnMachine(chosen, machine, ("flops", "traffic", *(served or ())))


def has_power_limit(machine: Machine) -> bool:
    """Test whether there is a limit on power, above the constant power."""
    numbers = machine.values
    return "power_limit" in numbers and has_energy(machine) and numbers["power_limit"] > numbers.get("pi0", 0)


def has_energy(machine: Machine, served: Mapping[str, float] | None = None) -> bool:
    """Test whether the machine has all quantities that energies need; data sheets often have only those of time."""
    on = _make_model_on_machine(machine, served)
    return not on.list_missing_quantities(*on.model.energy)


@record
class Roofline(PictureView):
    """A picture of a machine's roofline, arch line and power, its balances and peaks, and algorithms' intensities."""

    kind: ClassVar[str] = "roofline"
    height: ClassVar[float] = 6.2
    marks: Mapping[str, float]
    peaks: tuple[float, ...]
    limit: float | None
    algorithms: Mapping[str, Mapping[str, Interval]]
    """Intensities by algorithm, and by level."""
    levels: Mapping[str, float]
    """The bandwidths of levels of caches, and of slow memory."""
    horizontals: Mapping[str, float]
    """Other peaks, in flop/s."""

    def text(self, width: int) -> str:
        """Return a table of marked points and one point in four octaves; points of an algorithm are on its lines."""
        columns = [name for name in self.columns if "," not in name]
        parts = {*COLUMNS[3:], CACHES}
        units = {"at": "", "intensity": "flop/B", "power": "W"} | dict.fromkeys(parts, "W")
        rows = [columns, [units.get(name, "of peak") for name in columns]]
        for point in self.points:
            mark, *ends = str(point["at"]).split(", ")
            replaced = {name: point[f"{name}, {mark}"] for name in columns if f"{name}, {mark}" in point}
            if level := next((name for name in MARKERS if name in ends), None):
                # For the intensity of a level only its bandwidth applies.
                replaced = {name: "" for name in columns[2:] if name != level}
            if mark or log2(float(point["intensity"] or 1)) % 4 == 0:
                shown = {**point, **(dict.fromkeys(parts, "") if replaced else {}), **replaced}
                rows.append([format_cell(shown[name], 4) for name in columns])
        more = f"{len(self.points)} points with `--format csv`, {len(rows) - 2} here"
        return render_page(width, self.title, [Columns(rows, range(len(columns)))], [more, *self.notes])

    def draw(self, figure: Figure) -> None:
        """Draw panels of performance and power on one axis of intensity, and between them algorithms' intensities."""
        strip, energy = bool(self.algorithms), "power" in self.columns
        heights = [3.0, *([0.25 + 0.25 * len(self.algorithms)] * strip), *([2.4] * energy)]
        figure_panels = make_panels(figure, *heights)
        shares, last_ = figure_panels[0], figure_panels[-1]
        intensity = self.column("intensity")
        shares.set_xscale("log", base=2)
        shares.set_xlim(intensity[0], intensity[-1])
        last_.set_xlabel("intensity I = W/Q, flop/B")
        last_.xaxis.set_major_formatter(format_power_of_two)
        self._draw_shares(shares, intensity)
        if strip:
            self._draw_algorithms(figure_panels[1])
        if energy:
            self._draw_power(last_, intensity)
        for axes in figure_panels:
            for name, style in (("B_tau", (0, (4, 3))), ("B_eps", (0, (1, 2)))):
                if name not in self.marks:
                    continue
                label = f"{name} = {self.marks[name]:.3g} flop/B"
                axes.axvline(self.marks[name], color=MARKS, linestyle=style, linewidth=1.0,
                             label=label if axes is shares else None)  # fmt: skip
        place_legend(shares)
        if energy:
            place_legend(last_)

    @property
    def _colors(self) -> list[str]:
        return [LINE_LOOKS[row % len(LINE_LOOKS)]["color"] for row in range(len(self.algorithms))]

    def _draw_shares(self, axes: Axes, intensity: Array) -> None:
        roofs = [self.column(name) for name in ("roofline", "arch line") if name in self.columns]
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(format_power_of_two)
        axes.set_ylabel("share of the peak")
        whole = 1.0
        if len(self.peaks) == 1:
            # With flop/s alone, the axis is in their unit.
            whole = self.peaks[0]
            axes.set_ylabel("throughput")
            axes.set_yscale("log")
            format_axis_in_unit(axes.yaxis, "flop/s")
        names = (("roofline (3)", "flop/s", LOWER), ("arch line (5)", "flop/J", UPPER))
        lines = [
            (f"{name}; {'1' if whole == 1 else 'peak'} is {format_si(Fraction(peak), unit)}", line, color)
            for (name, unit, color), peak, line in zip(names, self.peaks, roofs, strict=False)
        ]
        if CAP in self.columns:
            lines.append((f"roofline under {self.limit:g} W", self.column(CAP), DARK))
        for (label, line, color), style in zip(lines, STYLES, strict=False):
            axes.plot(intensity, line * whole, linestyle=style, color=color, linewidth=1.8, label=label)
        looks: dict[str, Any] = {"color": MARKS, "markerfacecolor": "white", "markersize": 5, "linewidth": 1.2}
        heights = {MEMORY: roofs, **{level: [self.column(level)] for level in self.levels if level != MEMORY}}
        shown = {level for points in self.algorithms.values() for level in points} | heights.keys() - {MEMORY}
        for (level, marker), style in zip(MARKERS.items(), STYLES, strict=False):
            rate, slope = self.levels.get(level), level in heights and level != MEMORY
            label = f"{level}, of no known bandwidth" if rate is None else f"{level} {format_si(Fraction(rate), 'B/s')}"
            if slope:
                axes.plot(intensity, heights[level][0] * whole, linestyle=style, zorder=1.5, **looks)
            if level in shown:
                axes.plot([], [], marker, linestyle=style if slope else "none", label=label, **looks)
        for (name, peak), style in zip(self.horizontals.items(), STYLES, strict=False):
            label = f"{name} {format_si(Fraction(peak), 'flop/s')}"
            axes.axhline(peak / self.peaks[0] * whole, color=SHADES[1], linestyle=style, linewidth=1.6, label=label)
        for (name, points), color in zip(self.algorithms.items(), self._colors, strict=True):
            own_lines = (f"{line}, {name}" for line in COLUMNS[:2])
            heights[MEMORY] = [self.column(line) for line in own_lines if line in self.columns] or roofs
            ends = {level: np.array([float(span.lower), float(span.upper)]) for level, span in points.items()}
            # All levels at the rate that the model gives: the level on its line is the one that binds.
            sides = [np.interp(end, intensity, heights[level][0]) for level, end in ends.items() if level in heights]
            for level, end in ends.items():
                axes.plot(end, np.min(sides, axis=0) * whole, MARKERS[level], **{**looks, "color": color})
            for side in heights[MEMORY][1:]:
                there = np.interp(ends[MEMORY], intensity, side) * whole
                axes.plot(ends[MEMORY], there, MARKERS[MEMORY], **{**looks, "color": color})
        if HALF in self.marks:
            half = self.marks[HALF]
            axes.plot([half], [0.5], "o", color=UPPER, markersize=5, label=f"{HALF} at {half:.3g} flop/B")

    def _draw_power(self, axes: Axes, intensity: Array) -> None:
        power = self.column("power")
        powers = [self.column(name) for name in self.columns if name.startswith("power")]
        axes.set_ylim(0, max(self.limit or 0, *(float(curve.max()) for curve in powers)) * 1.1)
        axes.set_ylabel("power, W")
        axes.plot(intensity, power, color=DARK, linewidth=1.6, label="power (7)")
        if self.limit is not None:
            axes.axhline(self.limit, linestyle=STYLES[1], color=UPPER, linewidth=1.2, label=f"limit {self.limit:g} W")
        for name, color in zip(self.algorithms, self._colors, strict=True):
            if (label := f"power, {name}") in self.columns:
                axes.plot(intensity, self.column(label), color=color, linewidth=1.2, label=label)
        names = [name for name in (*COLUMNS[3:], CACHES) if name in self.columns and self.column(name).any()]
        most = {name: float(self.column(name).max()) for name in names}
        labels = [f"{name}, at most {most[name]:.3g} W" for name in names]
        axes.stackplot(intensity, *map(self.column, names), labels=labels, colors=POWER_SHADES, linewidth=0)

    def _draw_algorithms(self, axes: Axes) -> None:
        """Draw a line over the intensities of each algorithm, its name at the left, numbers at the right."""
        names = [shorten(name, 22, placeholder="...") for name in self.algorithms]
        labels = []
        for row, (points, color) in enumerate(zip(self.algorithms.values(), self._colors, strict=True)):
            for level, interval in points.items():
                low, high = float(interval.lower), float(interval.upper)
                axes.plot([low, high], [row, row], f"{MARKERS[level]}-", color=color, markerfacecolor="white",
                          markersize=6, linewidth=2.0)  # fmt: skip
            labels.append(f"{low:.3g} flop/B" if low == high else f"{low:.3g} .. {high:.3g} flop/B")
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(names)), labels, fontsize=8)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)


def make_view(
    machine: Machine,
    algorithms: Mapping[str, Mapping[str, Interval]],
    notes: Sequence[str] = (),
    served: Mapping[str, Mapping[str, float]] | None = None,
) -> Roofline:
    """Return the picture over an axis that contains all balances and intensities. Raises ArchlineError (AL458).

    `served` has, by algorithm, the amounts that levels of caches serve for each flop: lines then include the energy of
    the levels, and if several algorithms have such amounts, each has lines of its own.
    """
    of_several = dict(served or {})
    energy = all(has_energy(machine, amounts) for amounts in (None, *of_several.values()))
    at_one = evaluate_model(machine, np.ones(1))
    marks = {name: float(at_one[name][0]) for name in (("B_tau", "B_eps") if energy else ("B_tau",))}
    for name, balance in marks.items():
        if not 0 < balance < np.inf:
            message = f"the balance {name} of machine `{machine.name}` is {balance:g}, not a number above 0"
            raise error(rules.UNSUITED_MACHINE, message)
    alone = of_several.popitem()[1] if len(of_several) == 1 == len(algorithms) else {}
    if energy and not alone:
        marks[HALF] = float(find_last(lambda x: evaluate_model(machine, x)["arch line"] < 0.5, -99.0, 99.0))
    places = dict(marks)
    of_level = ((name, level, span) for name, spans in algorithms.items() for level, span in spans.items())
    for name, ends in ((f"{name}{f', {level}' * (level != MEMORY)}", interval) for name, level, interval in of_level):
        ends_named = {name: ends.lower} if ends.exact else {f"{name}, least": ends.lower, f"{name}, most": ends.upper}
        places |= {label: float(place) for label, place in ends_named.items()}
    numbers = {name: float(value) for name, value in machine.values.items()}
    levels = {level: numbers[f"{level}_bandwidth"] for level in LEVELS if f"{level}_bandwidth" in numbers}
    large = 2.0**99
    flop = float(evaluate_model(machine, np.array([large]))["time"][0]) / large
    knees = [1 / flop / rate for rate in levels.values()]
    low = int(np.floor(np.log2(min([*places.values(), *knees])))) - OCTAVES_BEYOND
    high = int(np.ceil(np.log2(max(places.values())))) + OCTAVES_BEYOND
    grid = np.exp2(np.linspace(low, high, (high - low) * POINTS_PER_OCTAVE + 1))
    at = sorted([*((float(x), "") for x in [*grid, *knees]), *((x, name) for name, x in places.items())])
    answers = evaluate_model(machine, np.array([x for x, _ in at]), alone)
    by_name: dict[str, Array] = {}
    for name, amounts in of_several.items():
        of_one = evaluate_model(machine, np.array([x for x, _ in at]), amounts)
        by_name[f"roofline, {name}"] = of_one["roofline"]
        if energy:
            by_name |= {f"arch line, {name}": of_one["arch line"], f"power, {name}": _compute_power(of_one)}
    answers |= by_name
    peaks: tuple[float, ...] = (1 / flop,)
    lines = (
        *(COLUMNS if energy else COLUMNS[:1]),
        *[CACHES] * bool(energy and alone),
        *[CAP] * has_power_limit(machine),
    )
    columns = ("intensity", "at", *lines, *levels, *by_name)
    answers |= {level: np.minimum(1.0, np.array([x for x, _ in at]) * rate * flop) for level, rate in levels.items()}
    limit = machine.values.get("power_limit") if energy else None
    other_peaks = {"without vectors": numbers["peak_scalar"]} if "peak_scalar" in numbers else {}
    if energy:
        peaks = (*peaks, 1 / float(machine.values["eps_flop"] + machine.values["pi0"] * Fraction(flop)))
    else:
        other_peaks |= {f"@{name}": float(peak) for name, peak in collect_variant_peaks(machine).items()}
    drawn = "roofline, arch line and power" if energy else "roofline"
    of_levels = "+levels" if alone else ", of each algorithm roofline+levels" if of_several else ""
    return Roofline(
        f"{machine.title} ({machine.name}): {drawn}; model roofline{of_levels}",
        (*_list_notes(machine, alone or next(iter(of_several.values()), {})), *notes),
        columns, tuple(_iterate_rows(answers, at, columns[2:])),
        marks, peaks, None if limit is None else float(limit), algorithms,
        {MEMORY: peaks[0] / marks["B_tau"], **levels}, other_peaks,
    )  # fmt: skip


def _compute_power(answers: Mapping[str, Array]) -> Array:
    return sum((answers[name] for name in (*COLUMNS[3:], CACHES)), 0 * answers["time"]) / answers["time"]


def _iterate_rows(
    answers: Mapping[str, Array], at: Sequence[tuple[float, str]], columns: Sequence[str]
) -> Iterator[tuple[Cell, ...]]:
    drawn = dict(answers)
    if "power" in columns:
        drawn |= {name: answers[name] / answers["time"] for name in (*COLUMNS[3:], CACHES)} | {
            "power": _compute_power(answers)
        }
    if CAP in columns:
        drawn[CAP] = answers["roofline"] * answers["time"] / answers["capped"]
    for row, (x, name) in enumerate(at):
        yield (x, name, *(float(drawn[column][row]) for column in columns))


def _list_notes(machine: Machine, served: Mapping[str, float] | None) -> tuple[str, ...]:
    note = (
        "Choi, Bedard, Fowler and Vuduc, IPDPS 2013: (3), (5), (7). B_tau and B_eps are the balances of time and "
        "energy; rates are peaks, so that times are lower bounds and powers upper bounds."
    )
    if not has_energy(machine, served):
        on = _make_model_on_machine(machine, served)
        note = "Choi, Bedard, Fowler and Vuduc, IPDPS 2013: (3). Rates are peaks, so that times are lower bounds."
        return (note, f"No energy: the machine lacks {', '.join(on.list_missing_quantities(*on.model.energy))}.")
    if has_power_limit(machine):
        return (note, "Under the limit (section V-B) a run is slowed down until its power is at most that.")
    if "power_limit" in machine.values:
        return (note, "The limit on power is not above the constant power: nothing can run under it.")
    return (note,)
