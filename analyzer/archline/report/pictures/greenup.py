"""Draw the regions where f times the flops and 1/m of the traffic save time, and energy: greenup, section II-E."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from archline.energy.estimates import ModelOnMachine
from archline.energy.machines import Machine
from archline.energy.models import find_model
from archline.expr.arrays import Array, compile_formulas
from archline.records import record
from archline.report.pictures import PictureView, find_last, format_power_of_two
from archline.report.pictures.drawing import DARK, LOWER, MARKS, SHADES, STYLES, UPPER, make_panels, place_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_OCTAVE, MAX_OCTAVE = -2, 6
"""The exponents of 2 between which m, the reduction of the traffic, is drawn."""
POINTS_PER_OCTAVE = 16
SIDES = {"energy": "f for greenup", "time": "f for speedup"}


@record
class Greenup(PictureView):
    """The maximum f, for each m, with which a run takes less time, and less energy; 0 if there is none."""

    kind: ClassVar[str] = "greenup"
    height: ClassVar[float] = 5.0
    intensity: float

    def draw(self, figure: Figure) -> None:
        """Draw the regions shaded, and the outlines of speedup and greenup."""
        (axes,) = make_panels(figure, 1)
        m, greenup, speedup = map(self.column, self.columns)
        left, most = 2.0**MIN_OCTAVE, max(2.0, float(max(greenup.max(), speedup.max())))
        axes.set_xscale("log", base=2)
        axes.set_yscale("log", base=2)
        axes.set_xlim(left, float(np.exp2(np.ceil(np.log2(most)) + 1)))
        axes.set_ylim(m[0], m[-1])
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(format_power_of_two)
        axes.set_xlabel("f: the flops are f times those of the base")
        axes.set_ylabel("m: the traffic is that of the base over m")
        fast, green = np.maximum(speedup, left), np.maximum(greenup, left)
        for label, low, high, shade in (
            ("speedup and greenup", np.full_like(m, left), np.minimum(fast, green), SHADES[3]),
            ("greenup, no speedup", fast, np.maximum(fast, green), SHADES[1]),
            ("speedup, no greenup", green, np.maximum(fast, green), SHADES[0]),
        ):
            if (low < high).any():
                axes.fill_betweenx(m, low, high, color=shade, linewidth=0, label=label)
        axes.fill_betweenx(m, left, left, facecolor="white", edgecolor=MARKS, label="neither")
        for label, f, color, style in zip(
            ("same time", "same energy"), (speedup, greenup), (LOWER, UPPER), STYLES, strict=False
        ):
            axes.plot(*_clip_outline(f, m), color=color, linestyle=style, linewidth=1.8, label=label)
        axes.plot([1], [1], "o", color=DARK, markersize=5, label=f"base, I = {self.intensity:g} flop/B")
        place_legend(axes)


def _clip_outline(f: Array, m: Array) -> tuple[Array, Array]:
    """Return the part of an outline at the right of the left edge, with a point on that edge before it."""
    inside = f >= 2.0**MIN_OCTAVE * (1 - 1e-6)
    return np.array([2.0**MIN_OCTAVE, *f[inside]]), np.array([m[inside][0], *m[inside]])


def make_view(machine: Machine, intensity: float) -> Greenup:
    """Return the picture of the regions at an intensity, by the roofline model. Raises ArchlineError (AL458)."""
    on = ModelOnMachine(find_model("roofline"), machine, ("flops", "traffic"))
    on.require_inputs()
    answers = compile_formulas({name: on.answer_formula(name) for name in ("time", "energy")})
    numbers = {name: float(value) for name, value in machine.values.items()}

    def takes_less(what: str, f: Array, share: Array) -> Any:
        """Test whether a run with f times the flops and a share of the traffic takes less time or energy, `what`."""
        return answers({**numbers, "flops": f * intensity, "traffic": share})[what] < base[what]

    base = answers({**numbers, "flops": np.array([intensity]), "traffic": np.ones(1)})
    left = np.array([2.0**MIN_OCTAVE])
    # The m at which each outline enters at the left edge.
    ends = [1 / find_last(partial(takes_less, what, left), -60.0, 60.0).item() for what in SIDES]
    grid = np.exp2(np.linspace(MIN_OCTAVE, MAX_OCTAVE, (MAX_OCTAVE - MIN_OCTAVE) * POINTS_PER_OCTAVE + 1))
    m = np.array(sorted([*grid, *(end * (1 + 1e-9) for end in ends if grid[0] < end < grid[-1])]))
    edges = [
        find_last(partial(takes_less, what, share=1 / m), np.full_like(m, -60), np.full_like(m, 60)) for what in SIDES
    ]
    columns = [np.where(edge > 2.0**-59, edge, 0.0) for edge in edges]
    rows = tuple((float(x), *(float(column[row]) for column in columns)) for row, x in enumerate(m))
    notes = (
        "Choi, Bedard, Fowler and Vuduc, IPDPS 2013, section II-E: the algorithm (f*W, Q/m) takes less time (speedup) "
        "or less energy (greenup) than (W, Q), by T of (1) and E of (2) with constant power.",
    )
    title = f"{machine.title} ({machine.name}): greenup from I = {intensity:g} flop/B; model roofline"
    return Greenup(title, notes, ("m", *SIDES.values()), rows, intensity)
