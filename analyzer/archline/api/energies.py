"""Estimate the energy, time and power of algorithms and formulas on machines by models."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.sizes import merge_sizes
from archline.energy.answers import derive_energies
from archline.energy.caches import Settings
from archline.energy.levels import Level, iterate_levels
from archline.energy.machine_files import adjust_machine
from archline.energy.machines import Machine
from archline.energy.models import find_model as model_of
from archline.energy.results import EnergyResult
from archline.energy.subjects import (
    Subject,
    make_subject,
)
from archline.energy.units import format_amount
from archline.expr.intervals import Interval, Number
from archline.records import record
from archline.report.documents import Document, WithPage
from archline.report.energies.text import as_text, make_page

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from archline.execution.results import Cache

Ends_ = Fraction | tuple[Fraction, Fraction]


@record(eq=False)
class Energy(WithPage):
    """An estimated energy: `str()` shows it. Amounts are exact, or pairs of bounds if inputs are only bounded."""

    result: EnergyResult
    subject: Subject

    @property
    def total(self) -> Ends_ | None:
        """The energy in joules; None if the machine lacks quantities, or the answer is in symbols."""
        return self._get_amount("energy")

    @property
    def time(self) -> Ends_ | None:
        """The time in seconds; None if it is unknown, or the answer is in symbols."""
        return self._get_amount("time")

    @property
    def power(self) -> Ends_ | None:
        """The average power in watts; None if it is unknown, or the answer is in symbols."""
        return self._get_amount("power")

    @property
    def energy_delay(self) -> Ends_ | None:
        """The energy-delay product in joule-seconds; None if it is unknown, or the answer is in symbols."""
        return self._get_amount("energy_delay")

    @property
    def flops_per_joule(self) -> Ends_ | None:
        """Flops per joule; None if they are unknown, or the answer is in symbols."""
        estimate = self.result.estimate
        return (
            None
            if estimate is None or estimate.flops_per_joule is None
            else _convert_interval(estimate.flops_per_joule)
        )

    @property
    def lower_bound(self) -> Fraction | None:
        """A lower bound on the energy in joules of any algorithm for the problem with this memory and these processors.

        It follows from lower bounds on communication; None if the problem is unknown, or the model is not for grids.
        """
        floor = self.result.floor
        return None if floor is None or floor.estimate.energy is None else floor.estimate.energy.lower

    def _get_amount(self, quantity: str) -> Ends_ | None:
        estimate = self.result.estimate
        value = None if estimate is None else estimate.by(quantity)
        return None if value is None else _convert_interval(value)

    @property
    def parts(self) -> dict[str, Ends_]:
        """The terms of the energy in joules."""
        estimate = self.result.estimate
        return {} if estimate is None else {name: _convert_interval(term) for name, term in estimate.terms.items()}

    @property
    def binds(self) -> str:
        """The largest term of the model's time, by name; `balanced` for a tie, `A or B` if bounds do not decide it."""
        return "" if self.result.estimate is None else self.result.estimate.binds

    @property
    def levels(self) -> tuple[Level, ...]:
        """Bytes served, misses and costs of each level of caches and of slow memory; empty if the machine has none."""
        estimate = self.result.estimate
        return () if estimate is None or not estimate.model.levels else tuple(iterate_levels(estimate))

    @property
    def elasticities(self) -> Mapping[str, float]:
        """The elasticity of the energy for each quantity of the machine: its increase in % if that increases by 1 %."""
        return self.result.elasticities

    def upper_at(
        self, sizes: Mapping[str, Any] | None = None, /, *, parameters: Mapping[str, Any] | None = None, **named: Any
    ) -> dict[str, NDArray[Any]]:
        """Compute time, energy and its terms at many sizes and parameters, as arrays of floating-point numbers.

        Sizes and parameters are numbers or numpy arrays, broadcast against each other. Results are upper bounds if
        inputs are only bounded, up to the rounding of floating-point numbers. Raises ArchlineError as `at` does.
        """
        from archline.energy.arrays import upper_at

        return upper_at(self.subject, self.result, {**(sizes or {}), **named}, parameters or {})

    def __repr__(self) -> str:
        shown = self.result.estimate
        amount = (
            "in symbols" if shown is None else "unknown" if shown.energy is None else format_amount(shown.energy, "J")
        )
        return f"<energy of {self.result.algorithm} on {self.result.machine.name}, {self.result.model.name}: {amount}>"

    def __str__(self) -> str:
        return as_text([self.result], 100)

    @property
    def page(self) -> Document:
        """The page that notebooks show."""
        return make_page(self.result)


def _convert_interval(amount: Interval) -> Ends_:
    """Convert an interval to a number if it has only one, else to the pair of its lower and upper bound."""
    return amount.lower if amount.exact else (amount.lower, amount.upper)


def energy(
    target: str | AlgorithmUnderFacts,
    *,
    machine: str | Machine,
    model: str | None = None,
    at: Mapping[str, Number] | str | None = None,
    cache: Cache | str | None = None,
    procs: int | None = None,
    where: str | None = None,
    parameters: Mapping[str, str | float] | None = None,
    seed: int = 0,
    measured: bool = False,
    **sizes: Number,
) -> Energy:
    """Estimate the energy of an algorithm, or of formulas such as `"linear:F=n^3/P,W=..."`, at sizes or as formulas.

    Sizes are keywords (`n=64`); `at` takes sizes whose names are keywords here, such as a size called `seed`.

    Inputs are derived if possible; with `measured` inputs that a run can count are taken from a run on data generated
    from `seed`. `where` are further facts of sizes, `procs` the number of processors, for models that use it. The cache
    is 32768 words in lines of 8 unless one is given, by `cache` or as Z and L in `at`; `parameters` set quantities of
    the machine, in base units or with a unit (`{"gamma_t": "2.5 ps/flop"}`). Raises ArchlineError for an unknown
    machine or model, wrong sizes, an unknown input (AL414), and as a run does.
    """
    settings = Settings.from_python(cache, measured=measured, procs=procs, seed=seed)
    subject, on = make_subject(target, where), adjust_machine(machine, parameters)
    (result,) = derive_energies(
        [subject], [on], None if model is None else model_of(model), merge_sizes(at, sizes), settings
    )
    return Energy(result, subject)
