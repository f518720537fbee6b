"""A machine in the energy roofline: share of peak flop/s and flop/J, and power, against the intensity.

Choi, Bedard, Fowler and Vuduc, IPDPS 2013: figures 2, 4 and 5 of a machine in one, by equations (3), (5) and (7).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from textwrap import shorten
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
from archline.records import record
from archline.report.pictures import Cell, PictureView, last, power_of_two

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAP = "roofline under the limit"
HALF = "y = 1/2"
COLUMNS = ("roofline", "arch line", "power", "constant", "memory", "computation")
POWER_SHADES = ("#b9bec4", "#d8d4cc", "#efede8")
AN_OCTAVE, BEYOND = 4, 3
"""Points in an octave of the intensity; octaves shown beyond what is marked."""
FIGURES = {
    "B_tau": "time balance",
    "B_eps": "energy balance",
    "roofline": "of peak flop/s",
    "arch line": "of peak flop/J",
}


def values(machine: Machine, intensity: Array) -> dict[str, Array]:
    """What the model says at intensities, for a byte of traffic, as far as the machine has what that takes.

    Raises ArchlineError (AL458).
    """
    plain = _on(machine)
    plain.require()
    exprs = {name: plain.formula(each) for name, each in FIGURES.items() if not plain.lacking(each)}
    exprs |= {name: plain.formula(name) for name in ("time", *plain.model.energy) if not plain.lacking(name)}
    if limited(machine):
        exprs["capped"] = _on(machine, "roofline+cap").formula("time")
    numbers = {name: float(each) for name, each in machine.values.items()}
    with np.errstate(all="ignore"):
        return compiled(exprs)({**numbers, "flops": intensity, "traffic": np.ones_like(intensity)})


def _on(machine: Machine, name: str = "roofline") -> Applied:
    return Applied(model(name), machine, ("flops", "traffic"))


def limited(machine: Machine) -> bool:
    """Whether there is a limit on power, above the constant power."""
    known = machine.values
    return "power_limit" in known and has_energy(machine) and known["power_limit"] > known.get("pi0", 0)


def has_energy(machine: Machine) -> bool:
    """Whether energy is known; a data sheet has a time alone."""
    on = _on(machine)
    return not on.lacking(*on.model.energy)


@record
class Roofline(PictureView):
    """A machine's lines, its balances, the peaks in flop/s and flop/J, and algorithms' intensities."""

    kind: ClassVar[str] = "roofline"
    height: ClassVar[float] = 6.2
    marks: Mapping[str, float]
    peaks: tuple[float, ...]
    limit: float | None
    algorithms: Mapping[str, Interval]

    def draw(self, figure: Figure) -> None:
        """Two panels on one axis of intensity, and between them the intensities of algorithms."""
        from archline.report.pictures.drawing import MARKS, legend, panels

        strip, energy = bool(self.algorithms), "power" in self.columns
        heights = [3.0, *([0.25 + 0.25 * len(self.algorithms)] * strip), *([2.4] * energy)]
        made = panels(figure, *heights)
        shares, last_ = made[0], made[-1]
        intensity = self.column("intensity")
        shares.set_xscale("log", base=2)
        shares.set_xlim(intensity[0], intensity[-1])
        last_.set_xlabel("intensity I = W/Q, flop/B")
        last_.xaxis.set_major_formatter(power_of_two)
        self._draw_shares(shares, intensity)
        if strip:
            self._draw_algorithms(made[1])
        if energy:
            self._draw_power(last_, intensity)
        for axes in made:
            for name, style in (("B_tau", (0, (4, 3))), ("B_eps", (0, (1, 2)))):
                if name not in self.marks:
                    continue
                said = f"{name} = {self.marks[name]:.3g} flop/B"
                axes.axvline(self.marks[name], color=MARKS, linestyle=style, linewidth=1.0,
                             label=said if axes is shares else None)  # fmt: skip
        legend(shares)
        if energy:
            legend(last_)

    def _draw_shares(self, axes: Axes, intensity: Array) -> None:
        from archline.report.pictures.drawing import DARK, LOWER, STYLES, UPPER

        roofs = [self.column(name) for name in ("roofline", "arch line") if name in self.columns]
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(power_of_two)
        axes.set_ylabel("share of the peak")
        said = (("roofline (3)", "flop/s", LOWER), ("arch line (5)", "flop/J", UPPER))
        lines = [
            (f"{name}; 1 is {format_si(Fraction(peak), unit)}", line, color)
            for (name, unit, color), peak, line in zip(said, self.peaks, roofs, strict=False)
        ]
        if CAP in self.columns:
            lines.append((f"roofline under {self.limit:g} W", self.column(CAP), DARK))
        for (label, line, color), style in zip(lines, STYLES, strict=False):
            axes.plot(intensity, line, linestyle=style, color=color, linewidth=1.8, label=label)
        own = [row for row, each in enumerate(self.points) if each["at"] and each["at"] not in self.marks]
        for label, side in zip(("algorithms" if own else "", ""), roofs, strict=False):
            axes.plot(
                intensity[own], side[own], "o", color=DARK, markerfacecolor="white", markersize=4.5, label=label or None
            )
        if HALF in self.marks:
            half = self.marks[HALF]
            axes.plot([half], [0.5], "o", color=UPPER, markersize=5, label=f"{HALF} at {half:.3g} flop/B")

    def _draw_power(self, axes: Axes, intensity: Array) -> None:
        from archline.report.pictures.drawing import DARK, STYLES, UPPER

        power = self.column("power")
        axes.set_ylim(0, max(float(power.max()), self.limit or 0) * 1.1)
        axes.set_ylabel("power, W")
        axes.plot(intensity, power, color=DARK, linewidth=1.6, label="power (7)")
        if self.limit is not None:
            axes.axhline(self.limit, linestyle=STYLES[1], color=UPPER, linewidth=1.2, label=f"limit {self.limit:g} W")
        names = [name for name in COLUMNS[3:] if self.column(name).any()]
        most = {name: float(self.column(name).max()) for name in names}
        said = [f"{name}, at most {most[name]:.3g} W" for name in names]
        axes.stackplot(intensity, *map(self.column, names), labels=said, colors=POWER_SHADES, linewidth=0)

    def _draw_algorithms(self, axes: Axes) -> None:
        """A line from the least to the most intensity of each algorithm, its name at the left, numbers at the right."""
        from archline.report.pictures.drawing import DARK

        names = [shorten(each, 22, placeholder="...") for each in self.algorithms]
        ends = [(float(each.lower), float(each.upper)) for each in self.algorithms.values()]
        for row, each in enumerate(ends):
            axes.plot(each, [row, row], "|-", color=DARK, markersize=8, linewidth=2.4)
        said = [f"{low:.3g} flop/B" if low == high else f"{low:.3g} .. {high:.3g} flop/B" for low, high in ends]
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_yticks(range(len(names)), names, fontsize=8)
        right = axes.secondary_yaxis("right")
        right.set_yticks(range(len(names)), said, fontsize=8)
        right.tick_params(length=0)
        right.spines["right"].set_visible(False)


def view(machine: Machine, algorithms: Mapping[str, Interval], notes: Sequence[str] = ()) -> Roofline:
    """The lines from well below to well above the balances and the algorithms. Raises ArchlineError (AL458)."""
    energy, one = has_energy(machine), values(machine, np.ones(1))
    marks = {name: float(one[name][0]) for name in (("B_tau", "B_eps") if energy else ("B_tau",))}
    for name, balance in marks.items():
        if not 0 < balance < np.inf:
            message = f"the balance {name} of machine `{machine.name}` is {balance:g}, not a number above 0"
            raise error(rules.UNSUITED_MACHINE, message)
    if energy:
        marks[HALF] = float(last(lambda x: values(machine, x)["arch line"] < 0.5, -99.0, 99.0))
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
    peaks: tuple[float, ...] = (1 / flop,)
    columns = ("intensity", "at", *(COLUMNS if energy else COLUMNS[:1]), *([CAP] if limited(machine) else []))
    limit = machine.values.get("power_limit") if energy else None
    if energy:
        peaks = (*peaks, 1 / float(machine.values["eps_flop"] + machine.values["pi0"] * Fraction(flop)))
    drawn = "roofline, arch line and power" if energy else "roofline"
    return Roofline(
        f"{machine.title} ({machine.name}): {drawn}; model roofline",
        (*_notes(machine), *notes), columns, tuple(_rows(found, at)),
        marks, peaks, None if limit is None else float(limit), algorithms,
    )  # fmt: skip


def _rows(found: Mapping[str, Array], at: Sequence[tuple[float, str]]) -> Iterator[tuple[Cell, ...]]:
    columns = [found["roofline"]]
    if "arch line" in found:
        watts = [found[name] / found["time"] for name in COLUMNS[3:]]
        columns += [found["arch line"], np.sum(watts, axis=0), *watts]
    if "capped" in found:
        columns.append(found["roofline"] * found["time"] / found["capped"])
    for row, (x, name) in enumerate(at):
        yield (x, name, *(float(each[row]) for each in columns))


def _notes(machine: Machine) -> tuple[str, ...]:
    said = (
        "Choi, Bedard, Fowler and Vuduc, IPDPS 2013: (3), (5), (7). B_tau and B_eps are the balances of time and "
        "energy; rates are peaks, so that times are lower bounds and powers upper bounds."
    )
    if not has_energy(machine):
        on = _on(machine)
        said = "Choi, Bedard, Fowler and Vuduc, IPDPS 2013: (3). Rates are peaks, so that times are lower bounds."
        return (said, f"No energy: the machine lacks {', '.join(on.lacking(*on.model.energy))}.")
    if limited(machine):
        return (said, "Under the limit (section V-B) a run is slowed down until its power is at most that.")
    if "power_limit" in machine.values:
        return (said, "The limit on power is not above the constant power: nothing can run under it.")
    return (said,)
