"""Where f times the flops and 1/m of the traffic save time, and where energy (greenup, section II-E).

Choi, Bedard, Fowler and Vuduc, IPDPS 2013, with constant power: T and E of (1) and (2) at (f*W, Q/m) against (W, Q).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from archline.energy.arrays import Array, compiled
from archline.energy.machines import Machine
from archline.energy.model import Applied
from archline.energy.models import model
from archline.report.pictures import View, last

if TYPE_CHECKING:
    from archline.report.pictures.drawing import Sheet

LOW, HIGH = -2, 6
"""Powers of two between which m, the reduction of the traffic, lies."""
AN_OCTAVE = 8
SIDES = {"energy": "f for greenup", "time": "f for speedup"}


@dataclass(frozen=True)
class Greenup(View):
    """For each m the f below which less time, and less energy is taken; 0 where no f will do."""

    kind: ClassVar[str] = "greenup"
    height: ClassVar[float] = 5.0
    intensity: float

    def draw(self, sheet: Sheet) -> None:
        """The outlines of speedup and greenup, and the region of both shaded."""
        from archline.report.pictures.drawing import DARK, LOWER, UPPER, Labels

        (axes,) = sheet.panels(1.0)
        m, greenup, speedup = (np.array([each[name] for each in self.points]) for name in self.columns)
        most = max(float(np.max(greenup)), float(np.max(speedup)))
        left, right = 2.0**LOW, float(np.exp2(np.ceil(np.log2(max(most, 2.0)) + 1)))
        axes.set_xlim(left, right)
        axes.set_ylim(m[0], m[-1])
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:g}" if value >= 1 else f"1/{1 / value:g}")
        axes.set_xlabel("f, the flops as a multiple of those of the base")
        axes.set_ylabel("m, the traffic is that of the base over m")
        axes.fill_betweenx(m, left, np.maximum(np.minimum(greenup, speedup), left), color="#d9dee3", linewidth=0)
        labels = Labels(axes)
        shown = [(SIDES["time"], speedup, LOWER, "-"), (SIDES["energy"], greenup, UPPER, (0, (6, 2)))]
        lines = [labels.line(*_outline(f, m, left), style, color=color, linewidth=1.8) for _, f, color, style in shown]
        axes.plot([1], [1], "o", color=DARK, markersize=5)
        labels.put(f"the base, I = {self.intensity:g} flop/B", [(1, 1)], [(1, -1), (-1, -1), (1, 1)])
        for (_, _, color, _), line, said in zip(shown, lines, ("same time", "same energy"), strict=True):
            labels.along(said, line, range(len(line[0]) - 4, 0, -1), [(1, 0), (-1, 0)], color=color)
        f, places = (each.ravel() for each in np.meshgrid(np.geomspace(left, right, 49), np.geomspace(m[0], m[-1], 49)))
        fast, green = (f < np.interp(np.log2(places), np.log2(m), each) for each in (speedup, greenup))
        for said, where in {
            "speedup and greenup": fast & green,
            "speedup, no greenup": fast & ~green,
            "greenup, no speedup": green & ~fast,
            "neither": ~fast & ~green,
        }.items():
            spots = np.column_stack([np.log2(f), np.log2(places)])
            inner, outer = spots[where], spots[~where]
            if len(inner):
                room = np.min(np.hypot(*(inner[:, None] - outer[None]).transpose(2, 0, 1) / [[[1.0]], [[0.6]]]), axis=1)
                order = np.argsort(-room, kind="stable")[:200]
                labels.put(said, [(float(x), float(y)) for x, y in np.exp2(inner[order])], [(0, 0)], weight="bold")


def _outline(f: Array, m: Array, left: float) -> tuple[Array, Array]:
    """The points of an outline in sight, and where it comes in."""
    inside = f > left
    return f[inside], m[inside]


def view(machine: Machine, intensity: float) -> Greenup:
    """The outlines by the model's own T and E. Raises ArchlineError (AL458)."""
    on = Applied(model("roofline"), machine, ("flops", "traffic"))
    on.require()
    whole = on.complete(on.model.expanded(on.model.expression))
    answers = compiled({"time": on.formula("time"), "energy": whole})
    numbers = {name: float(each) for name, each in machine.values.items()}

    def taken(what: str, f: Array, m: Array) -> Array:
        return answers({**numbers, "flops": f * intensity, "traffic": 1 / m})[what]

    m = np.exp2(np.linspace(LOW, HIGH, (HIGH - LOW) * AN_OCTAVE + 1))
    base = {what: taken(what, np.ones(1), np.ones(1)) for what in SIDES}
    edge = {what: last(lambda f, what=what: taken(what, f, m) < base[what], np.full_like(m, -60), np.full_like(m, 60))
            for what in SIDES}  # fmt: skip
    columns = [np.where(each > 2.0**-59, each, 0.0) for each in edge.values()]
    rows = tuple((float(x), *(float(each[row]) for each in columns)) for row, x in enumerate(m))
    notes = (
        "Choi, Bedard, Fowler and Vuduc, IPDPS 2013, section II-E: the algorithm (f*W, Q/m) takes less time (speedup) or less "
        "energy (greenup) than (W, Q), by T of (1) and E of (2) with constant power.",
    )
    title = f"{machine.title} ({machine.name}): greenup from I = {intensity:g} flop/B; model roofline"
    return Greenup(title, notes, ("m", *SIDES.values()), rows, intensity)
