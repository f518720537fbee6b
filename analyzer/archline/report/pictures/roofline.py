"""A machine in the energy roofline: share of peak flop/s and flop/J, and power, against the intensity.

Choi, Bedard, Fowler and Vuduc, IPDPS 2013: figures 2, 4 and 5 of a machine in one, by equations (3), (5) and (7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from archline.energy import rules
from archline.energy.arrays import Array, compiled
from archline.energy.intervals import Interval
from archline.energy.machines import Machine
from archline.energy.model import Applied
from archline.energy.models import model
from archline.energy.units import format_si
from archline.language.diagnostics import error
from archline.report.pictures import Cell, View, last, power_of_two

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from archline.report.pictures.drawing import Labels, Sheet

CAP = "roofline under the limit"
COLUMNS = ("roofline", "arch line", "power", "constant", "memory", "computation")
SHADES = {"constant": "#b9bec4", "memory": "#d8d4cc", "computation": "#efede8"}
AN_OCTAVE, BEYOND = 4, 3
"""Points in an octave of the intensity; octaves shown beyond what is marked."""
FIGURES = {
    "B_tau": "time balance",
    "B_eps": "energy balance",
    "roofline": "of peak flop/s",
    "arch line": "of peak flop/J",
}


def values(machine: Machine, intensity: Array) -> dict[str, Array]:
    """What the model says at intensities, for a byte of traffic. Raises ArchlineError (AL458)."""
    plain = Applied(model("roofline"), machine, ("flops", "traffic"))
    plain.require()
    exprs = {name: plain.formula(each) for name, each in FIGURES.items()}
    exprs |= {name: plain.formula(name) for name in ("time", *plain.model.energy)}
    if limited(machine):
        exprs["capped"] = Applied(model("roofline+cap"), machine, ("flops", "traffic")).formula("time")
    numbers = {name: float(each) for name, each in machine.values.items()}
    with np.errstate(all="ignore"):
        return compiled(exprs)({**numbers, "flops": intensity, "traffic": np.ones_like(intensity)})


def limited(machine: Machine) -> bool:
    """Whether there is a limit on power, above the constant power."""
    known = machine.values
    return "power_limit" in known and known["power_limit"] > known.get("pi0", 0)


@dataclass(frozen=True)
class Roofline(View):
    """A machine's lines, its balances, the peaks in flop/s and flop/J, and algorithms' intensities."""

    kind: ClassVar[str] = "roofline"
    height: ClassVar[float] = 6.2
    marks: Mapping[str, float]
    peaks: tuple[float, float]
    limit: float | None
    algorithms: Mapping[str, Interval]

    def draw(self, sheet: Sheet) -> None:
        """Two panels on one axis of intensity, and between them the intensities of algorithms."""
        from archline.report.pictures.drawing import MARKS, Labels

        shares, *strips, power = sheet.panels(3.0, *([0.27 * len(self.algorithms)] if self.algorithms else []), 2.4)
        intensity = self.column("intensity")
        shares.set_xlim(intensity[0], intensity[-1])
        shares.set_xscale("log", base=2)
        power.set_xlabel("intensity I = W/Q, flop/B")
        power.xaxis.set_major_formatter(power_of_two)
        for axes in (shares, *strips, power):
            for name in ("B_tau", "B_eps"):
                axes.axvline(self.marks[name], color=MARKS, linestyle=":", linewidth=0.9)
        self._draw_shares(shares, intensity)
        self._draw_power(power, Labels(power), intensity)
        for axes in strips:
            self._draw_algorithms(axes, float(np.sqrt(intensity[0] * intensity[-1])))

    def _balances(self, labels: Labels, low: float, high: float) -> None:
        for name in ("B_tau", "B_eps"):
            labels.line([self.marks[name]] * 2, [low, high], linewidth=0)

    def _draw_shares(self, axes: Axes, intensity: Array) -> None:
        from archline.report.pictures.drawing import DARK, LOWER, UPPER, Labels

        roof, arch = self.column("roofline"), self.column("arch line")
        least = float(np.exp2(np.floor(np.log2(min(roof.min(), arch.min())))))
        axes.set_ylim(least, 1.5)
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(power_of_two)
        axes.set_ylabel("share of the peak")
        labels = Labels(axes)
        self._balances(labels, least, 1.5)
        solid = labels.line(intensity, roof, color=LOWER, linewidth=1.8)
        dashed = labels.line(intensity, arch, (0, (6, 2)), color=UPPER, linewidth=1.8)
        capped = None
        if CAP in self.columns:
            capped = labels.line(intensity, self.column(CAP), (0, (1, 1.5)), color=DARK, linewidth=1.3)
        own = [row for row, each in enumerate(self.points) if each["at"] and each["at"] not in self.marks]
        for side in (roof, arch):
            axes.plot(intensity[own], side[own], "o", color=DARK, markerfacecolor="white", markersize=4.5)
        half = self.marks["y = 1/2"]
        axes.plot([half], [0.5], "o", color=UPPER, markersize=5)
        labels.put(f"y = 1/2 at {half:.3g} flop/B", [(half, 0.5)], [(1, -1), (-1, 1), (1, 0)], color=UPPER)
        peak, best = (
            format_si(Fraction(each), unit) for each, unit in zip(self.peaks, ("flop/s", "flop/J"), strict=True)
        )
        near = range(2, len(intensity))
        labels.along(f"roofline (3); 1 is {peak}", solid, near[::-1], [(0, 1), (-1, 1), (1, -1)], color=LOWER)
        labels.along(f"arch line (5); 1 is {best}", dashed, near, [(-1, 1), (1, -1)], color=UPPER)
        if capped is not None and self.limit is not None:
            labels.along(f"roofline under {self.limit:g} W", capped, near[::-1], [(0, -1), (-1, -1), (1, -1)])
        pair = sorted((self.marks[name], name) for name in ("B_tau", "B_eps"))
        for (place, name), side in zip(pair, ("right", "left"), strict=True):
            axes.text(place, 1.01, f" {name} = {place:.3g} flop/B ", transform=axes.get_xaxis_transform(),
                      ha=side, fontsize=8, color="#555555")  # fmt: skip

    def _draw_power(self, axes: Axes, labels: Labels, intensity: Array) -> None:
        from archline.report.pictures.drawing import DARK

        power = self.column("power")
        top = max(float(power.max()), self.limit or 0) * 1.2
        axes.set_ylim(0, top)
        axes.set_ylabel("power, W")
        self._balances(labels, 0, top)
        below = np.zeros_like(power)
        middles: dict[str, list[tuple[float, float]]] = {}
        for name, shade in SHADES.items():
            above = below + self.column(name)
            axes.fill_between(intensity, below, above, color=shade, linewidth=0)
            labels.line(intensity, above, color="white", linewidth=0.8)
            order = np.argsort(np.round(below - above, 6), kind="stable")
            middles[name] = [(intensity[i], (below[i] + above[i]) / 2) for i in order if above[i] > below[i]]
            below = above
        line = labels.line(intensity, power, color=DARK, linewidth=1.6)
        if self.limit is not None:
            edge = labels.line(intensity, np.full_like(power, self.limit), (0, (6, 2)), color=DARK, linewidth=1.1)
            if CAP in self.columns:
                labels.line(intensity, np.minimum(power, self.limit), color=DARK, linewidth=2.6)
            over = [i for i in range(2, len(power)) if power[i] > self.limit] or range(2, len(power))
            labels.along(f"limit {self.limit:g} W", edge, over, [(1, -1), (1, 1), (-1, 1)])
        labels.along("power (7)", line, range(len(power) // 2, len(power)), [(1, 1), (-1, 1)])
        for name, places in middles.items():
            watts = self.column(name)
            most = "" if np.ptp(watts) < 1e-6 * watts.max() else " at most"
            if places:
                labels.put(f"{name}, {watts.max():.3g} W{most}", places, [(0, 0)])

    def _draw_algorithms(self, axes: Axes, middle: float) -> None:
        axes.set_ylim(len(self.algorithms) - 0.5, -0.5)
        axes.set_yticks([])
        for row, (name, ends) in enumerate(self.algorithms.items()):
            low, high = float(ends.lower), float(ends.upper)
            axes.plot([low, high], [row, row], "|-", color="#222222", markersize=8, linewidth=2.4)
            right = np.sqrt(low * high) < middle
            said = f"{low:.3g}" if ends.exact else f"{low:.3g} .. {high:.3g}"
            axes.annotate(f"{name}: {said} flop/B", (high if right else low, row), (7 if right else -7, 0),
                          textcoords="offset points", ha="left" if right else "right", va="center", fontsize=8,
                      bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})  # fmt: skip


def view(machine: Machine, algorithms: Mapping[str, Interval], notes: Sequence[str] = ()) -> Roofline:
    """The lines from well below to well above the balances and the algorithms. Raises ArchlineError (AL458)."""
    marks = {name: float(values(machine, np.ones(1))[name][0]) for name in ("B_tau", "B_eps")}
    for name, balance in marks.items():
        if not 0 < balance < np.inf:
            message = f"the balance {name} of machine `{machine.name}` is {balance:g}, not a number above 0"
            raise error(rules.UNSUITED_MACHINE, message)
    marks["y = 1/2"] = float(last(lambda x: values(machine, x)["arch line"] < 0.5, -99.0, 99.0))
    places = dict(marks)
    for name, ends in algorithms.items():
        ends_named = {name: ends.lower} if ends.exact else {f"{name}, least": ends.lower, f"{name}, most": ends.upper}
        places |= {label: float(place) for label, place in ends_named.items()}
    low = int(np.floor(np.log2(min(places.values())))) - BEYOND
    high = int(np.ceil(np.log2(max(places.values())))) + BEYOND
    grid = np.exp2(np.linspace(low, high, (high - low) * AN_OCTAVE + 1))
    at = sorted([*((float(x), "") for x in grid), *((x, name) for name, x in places.items())])
    found = values(machine, np.array([x for x, _ in at]))
    flop = float(found["time"][-1]) / at[-1][0]
    peaks = (1 / flop, 1 / float(machine.values["eps_flop"] + machine.values["pi0"] * Fraction(flop)))
    columns = ("intensity", "at", *COLUMNS, *([CAP] if limited(machine) else []))
    limit = machine.values.get("power_limit")
    return Roofline(
        f"{machine.title} ({machine.name}): roofline, arch line and power; model roofline",
        (*_notes(machine), *notes), columns, tuple(_rows(found, at)),
        marks, peaks, None if limit is None else float(limit), algorithms,
    )  # fmt: skip


def _rows(found: Mapping[str, Array], at: Sequence[tuple[float, str]]) -> Iterator[tuple[Cell, ...]]:
    watts = [found[name] / found["time"] for name in SHADES]
    columns = [found["roofline"], found["arch line"], np.sum(watts, axis=0), *watts]
    if "capped" in found:
        columns.append(found["roofline"] * found["time"] / found["capped"])
    for row, (x, name) in enumerate(at):
        yield (x, name, *(float(each[row]) for each in columns))


def _notes(machine: Machine) -> tuple[str, ...]:
    said = (
        "Choi, Bedard, Fowler and Vuduc, IPDPS 2013: (3), (5), (7). B_tau and B_eps are the balances of time and "
        "energy; rates are peaks, so that times are lower bounds and powers upper bounds."
    )
    if limited(machine):
        return (said, "Under the limit (section V-B) a run is slowed down until its power is at most that.")
    if "power_limit" in machine.values:
        return (said, "The limit on power is not above the constant power: nothing can run under it.")
    return (said,)
