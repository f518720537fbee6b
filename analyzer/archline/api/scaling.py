"""Estimate the strong scaling of algorithms on grids, and of formulas in P."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from json import loads
from typing import Any

from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.sizes import merge_sizes
from archline.energy.caches import Settings
from archline.energy.machine_files import adjust_machine
from archline.energy.machines import Machine
from archline.energy.scaling import PERFECT_FACTOR, ScaleStep, Scaling
from archline.energy.strong_scaling import derive_scaling
from archline.energy.subjects import make_subject
from archline.expr.intervals import Number
from archline.report import scaling as report
from archline.report.layout import terminal_width


class Scaled:
    """The scaling of an algorithm: `str()` shows it as the command does, `steps` has its points."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling

    @property
    def steps(self) -> tuple[ScaleStep, ...]:
        """The steps by increasing processors, each with its sizes and its energy, or why it was left out."""
        return self.scaling.steps

    @property
    def document(self) -> dict[str, Any]:
        """The document that `--format json` prints."""
        parsed: dict[str, Any] = loads(report.render_json(self.scaling))
        return parsed

    def __str__(self) -> str:
        return report.render_scaling(self.scaling, terminal_width())


def scale(
    target: str | AlgorithmUnderFacts,
    *,
    machine: str | Machine,
    vary: str | Sequence[str],
    at: Mapping[str, Number] | str | None = None,
    model: str | None = None,
    factor: Fraction = PERFECT_FACTOR,
    where: str | None = None,
    parameters: Mapping[str, str | float] | None = None,
    measured: bool = False,
) -> Scaled:
    """Find where time and energy scale perfectly: a fixed problem on more and more processors (Demmel et al. 2013).

    `vary="c=1..8"` names a size that grows, a list names several that grow together; `at` has the other sizes, and
    `where` further facts. Scaling is perfect if time*P and energy stay within `factor` of the values on the fewest
    processors. Raises ArchlineError as `energy` does; AL411 if sizes that grow together have different numbers of
    values, or the processors do not grow. With `measured` counts of simulated runs replace derived costs.
    """
    chosen = adjust_machine(machine, parameters)
    varied = [vary] if isinstance(vary, str) else list(vary)
    sizes = merge_sizes(at, {})
    return Scaled(
        derive_scaling(make_subject(target, where), chosen, varied, sizes, model, factor, Settings(measured=measured))
    )
