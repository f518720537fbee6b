"""Where f times the flops and 1/m of the traffic save time, and where energy (greenup, section II-E).

Choi, Bedard, Fowler and Vuduc, IPDPS 2013, with constant power: T and E of (1) and (2) at (f*W, Q/m) against (W, Q).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from archline.energy.arrays import Array, compiled
from archline.energy.machines import Machine
from archline.energy.model import Applied
from archline.energy.models import model
from archline.report.pictures import View, last, power_of_two

if TYPE_CHECKING:
    from archline.report.pictures.drawing import Labels, Sheet

LOW, HIGH = -2, 6
"""Powers of two between which m, the reduction of the traffic, lies."""
AN_OCTAVE = 16
SIDES = {"energy": "f for greenup", "time": "f for speedup"}


@dataclass(frozen=True)
class Greenup(View):
    """For each m the f below which less time, and less energy is taken; 0 where no f will do."""

    kind: ClassVar[str] = "greenup"
    height: ClassVar[float] = 5.0
    intensity: float

    def draw(self, sheet: Sheet) -> None:
        """The outlines of speedup and greenup, the region of both shaded, each region named."""
        from archline.report.pictures.drawing import DARK, LOWER, UPPER, Labels

        (axes,) = sheet.panels(1.0)
        m, greenup, speedup = map(self.column, self.columns)
        left, most = 2.0**LOW, max(2.0, float(max(greenup.max(), speedup.max())))
        axes.set_xlim(left, float(np.exp2(np.ceil(np.log2(most)) + 1)))
        axes.set_ylim(m[0], m[-1])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(power_of_two)
        axes.set_xlabel("f: the flops are f times those of the base")
        axes.set_ylabel("m: the traffic is that of the base over m")
        axes.fill_betweenx(m, left, np.maximum(np.minimum(greenup, speedup), left), color="#d9dee3", linewidth=0)
        labels = Labels(axes)
        axes.plot([1], [1], "o", color=DARK, markersize=5)
        looks = (("same time", speedup, LOWER, "-"), ("same energy", greenup, UPPER, (0, (6, 2))))
        lines = [labels.line(*_outline(f, m), style, color=color, linewidth=1.8) for _, f, color, style in looks]
        labels.put(f"base, I = {self.intensity:g} flop/B", [(1, 1)], [(1, -1), (-1, -1), (1, 1)])
        for (said, _, color, _), line in zip(looks, lines, strict=True):
            labels.along(said, line, range(len(line[0]) - 4, 0, -1), [(1, 0), (-1, 0)], color=color)
        self._name_regions(labels, m, speedup, greenup)

    def _name_regions(self, labels: Labels, m: Array, speedup: Array, greenup: Array) -> None:
        """Each region's name where there is the most room for it."""
        across, up = (np.log2(ends) for ends in (labels.axes.get_xlim(), labels.axes.get_ylim()))
        f, place = (each.ravel() for each in np.meshgrid(*(np.linspace(low, high, 57) for low, high in (across, up))))
        fast, green = (np.exp2(f) < np.interp(place, np.log2(m), each) for each in (speedup, greenup))
        shares = np.column_stack([(f - across[0]) / (across[1] - across[0]), 4 * (place - up[0]) / (up[1] - up[0])])
        frame = np.minimum(shares, np.array([1, 4]) - shares).min(axis=1)
        for said, where in {
            "speedup and greenup": fast & green,
            "speedup, no greenup": fast & ~green,
            "greenup, no speedup": green & ~fast,
            "neither": ~fast & ~green,
        }.items():
            if where.any():
                apart = np.hypot(*(shares[where][:, None] - shares[~where][None]).transpose(2, 0, 1)).min(axis=1)
                order = np.argsort(-np.minimum(apart, frame[where]), kind="stable")
                spots, others = (np.exp2(np.column_stack([f, place])[each]) for each in (where, fast | green))
                labels.put(said, spots[order], [(0, 0)], others, weight="bold")


def _outline(f: Array, m: Array) -> tuple[Array, Array]:
    """An outline, from where it comes in at the left."""
    inside = f >= 2.0**LOW * (1 - 1e-6)
    return np.array([2.0**LOW, *f[inside]]), np.array([m[inside][0], *m[inside]])


def view(machine: Machine, intensity: float) -> Greenup:
    """The outlines by the model's own T and E. Raises ArchlineError (AL458)."""
    on = Applied(model("roofline"), machine, ("flops", "traffic"))
    on.require()
    whole = on.complete(on.model.expanded(on.model.expression))
    answers = compiled({"time": on.formula("time"), "energy": whole})
    numbers = {name: float(each) for name, each in machine.values.items()}

    def less(what: str, f: Array, share: Array) -> Any:
        """Whether f times the flops and a share of the traffic take less than all."""
        return answers({**numbers, "flops": f * intensity, "traffic": share})[what] < base[what]

    base = answers({**numbers, "flops": np.array([intensity]), "traffic": np.ones(1)})
    left = np.array([2.0**LOW])
    # Where each outline comes in at the left edge.
    ends = [1 / last(partial(less, what, left), -60.0, 60.0).item() for what in SIDES]
    grid = np.exp2(np.linspace(LOW, HIGH, (HIGH - LOW) * AN_OCTAVE + 1))
    m = np.array(sorted([*grid, *(each * (1 + 1e-9) for each in ends if grid[0] < each < grid[-1])]))
    edges = [last(partial(less, what, share=1 / m), np.full_like(m, -60), np.full_like(m, 60)) for what in SIDES]
    columns = [np.where(each > 2.0**-59, each, 0.0) for each in edges]
    rows = tuple((float(x), *(float(each[row]) for each in columns)) for row, x in enumerate(m))
    notes = (
        "Choi, Bedard, Fowler and Vuduc, IPDPS 2013, section II-E: the algorithm (f*W, Q/m) takes less time (speedup) "
        "or less energy (greenup) than (W, Q), by T of (1) and E of (2) with constant power.",
    )
    title = f"{machine.title} ({machine.name}): greenup from I = {intensity:g} flop/B; model roofline"
    return Greenup(title, notes, ("m", *SIDES.values()), rows, intensity)
