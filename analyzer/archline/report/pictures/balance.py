"""Draw the balance of a machine over the years to come, against what matrix products and sorting need."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from archline.energy import rules
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import bound_value, names_in
from archline.energy.machines import Machine
from archline.energy.models import find_model
from archline.expr.intervals import EvaluationError, Interval
from archline.language.diagnostics import error
from archline.records import record
from archline.report.pictures import PictureView
from archline.report.pictures.drawing import DARK, LOWER, STYLES, UPPER, make_panels, place_legend

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS, BYTES, ROOT, LOG = "p*C0/beta in op/word", "p*C0/beta in op/B", "sqrt(Z/p)", "log2(Z/p)"
FORMULAS = {WORDS: "machine balance", ROOT: "sqrt(Z/p)", LOG: "log2(Z/p)"}
LABELS = {
    WORDS: "left side of (5) and (6):\np*C0/beta in op/word",
    BYTES: "as in figure 2:\np*C0/beta in op/B",
    ROOT: "right side of (5),\nmatrix products: sqrt(Z/p)",
    LOG: "right side of (6),\nsorting: log2(Z/p)",
}


@record
class Balance(PictureView):
    """The sides of the balance equations by year; `crossings` are pairs of sides with the year in which they cross."""

    kind: ClassVar[str] = "balance"
    crossings: tuple[tuple[str, str, float], ...]

    def draw(self, figure: Figure) -> None:
        """Draw a line for each side, with crossings marked and named by their years."""
        from matplotlib.ticker import MaxNLocator

        (axes,) = make_panels(figure, 1)
        year, *rest = map(self.column, self.columns)
        sides = dict(zip(self.columns[1:], rest, strict=True))
        axes.set_yscale("log", base=2)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("year")
        axes.set_ylabel("op/word, op/B (left sides); numbers (right sides)")
        for (name, side), color, style in zip(sides.items(), (DARK, DARK, UPPER, LOWER), STYLES, strict=False):
            axes.plot(year, side, linestyle=style, color=color, linewidth=1.7, label=LABELS[name])
        for (left, right, when), marker in zip(self.crossings, "osD^", strict=False):
            height = np.exp2(np.interp(when, year, np.log2(sides[right])))
            label = f"{left}\npasses {right} in {when:.1f}"
            axes.plot(when, height, marker, color=DARK, markersize=5.5, label=label)
        place_legend(axes)


def make_view(machine: Machine, first: int, end: int) -> Balance:
    """Return the picture of the balance equations from year `first` to `end`. Raises ArchlineError (AL458)."""
    rows = tuple((year, *_compute_sides(machine.in_year(year))) for year in range(first, end + 1))
    columns = ("year", *LABELS)
    crossings = tuple(_iterate_crossings(np.array(rows, dtype=float)))
    sentences = [f"{left} passes {right} in {when:.1f}" for left, right, when in crossings]
    notes = (
        "Czechowski, Battaglino, McClanahan, Chandramowlishwaran and Vuduc, HotPar 2011: a machine is balanced while "
        "the left side is at most the right one; (6) up to a constant. Years by the machine's trends.",
        "The left side is in op/word, as beta is in (4); the paper's 7.2 for 2010 and its figure 2 count bytes, op/B.",
        "; ".join(sentences) if sentences else "no left side passes a right one in these years",
    )
    title = f"{machine.title} ({machine.name}): both sides of (5) and (6), {first} to {end}; model balance"
    return Balance(title, notes, columns, rows, crossings)


def _compute_sides(machine: Machine) -> list[float]:
    """Return the sides of the balance equations of a machine, in the order of LABELS."""
    on = ModelOnMachine(find_model("balance"), machine, ())
    exprs = {name: on.formula(formula) for name, formula in FORMULAS.items()}
    missing = sorted(frozenset().union(*map(names_in, exprs.values())) - machine.values.keys())
    if missing:
        message = f"machine `{machine.name}` has no `{missing[0]}`, which equations (5) and (6) need"
        raise error(rules.UNSUITED_MACHINE, message, hint=f"give --parameter {missing[0]}=...")
    numbers = {name: Interval.of(value) for name, value in machine.values.items()}
    try:
        words, root, log = (float(bound_value(expr, numbers).middle) for expr in exprs.values())
    except EvaluationError as problem:
        message = f"the sides of equations (5) and (6) have no value for machine `{machine.name}`: {problem}"
        raise error(rules.UNSUITED_MACHINE, message) from None
    return [words, words / float(machine.values["word"]), root, log]


def _iterate_crossings(table: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> Iterator[tuple[str, str, float]]:
    """Yield a left and a right side, and the year from which the left one is larger, by interpolation of logs."""
    names: Sequence[str] = tuple(LABELS)
    for left, right in ((1, 3), (2, 3), (1, 4), (2, 4)):
        gap = np.log2(table[:, left]) - np.log2(table[:, right])
        for row in np.flatnonzero((gap[:-1] <= 0) & (gap[1:] > 0)):
            when = table[row, 0] - gap[row] / (gap[row + 1] - gap[row])
            yield names[left - 1], names[right - 1], float(when)
