"""Energy of an algorithm at sizes, on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from archline.api import rules
from archline.api.algorithms import Algorithm
from archline.api.data import run_generated
from archline.api.running import DEFAULT_CACHE, Run
from archline.api.settings import unplaced
from archline.energy.machines import Machine
from archline.energy.machines import machine as machine_of
from archline.energy.model import Estimate, Interval, Model
from archline.energy.models import model as model_of
from archline.execution.results import Cache
from archline.language.diagnostics import error
from archline.report.view import EnergyView, Number, Values


@dataclass(frozen=True, eq=False)
class Energy:
    """A model's answer: exact bounds in joules by part, a verdict, and what they rest on."""

    algorithm: Algorithm
    machine: Machine
    model: Model
    estimate: Estimate
    run: Run
    amounts: Mapping[str, Values]
    origins: Mapping[str, str]

    @property
    def total(self) -> Fraction | tuple[Fraction, Fraction]:
        """The energy in joules, exact; a pair of bounds where work or span is only bounded."""
        return _ends(self.estimate.total.amount)

    @property
    def parts(self) -> dict[str, Fraction | tuple[Fraction, Fraction]]:
        """Static, computation and memory energy in joules."""
        return {part.name: _ends(part.amount) for part in self.estimate.parts}

    @property
    def bound(self) -> str:
        """`CPU-bound` or `memory-bound` (or why neither can be said)."""
        return self.estimate.verdict

    @property
    def view(self) -> EnergyView:
        """What the reports show."""
        cache = self.run.view.cache
        assert cache is not None
        return EnergyView(
            algorithm=self.algorithm.name,
            at=self.run.view.at,
            machine_title=self.machine.title,
            model_title=self.model.title,
            model_source=self.model.source,
            estimate=self.estimate,
            amounts=self.amounts,
            origins=self.origins,
            cache=cache,
            matrix=self.run.matrix,
            data=self.run.data,
        )

    def __str__(self) -> str:
        from archline.report.text import energy

        return energy(self.view, 100)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _ends(amount: Interval) -> Fraction | tuple[Fraction, Fraction]:
    return amount.lower if amount.exact else (amount.lower, amount.upper)


def energy(
    algorithm: Algorithm,
    *,
    machine: str | Machine,
    model: str = "ice",
    at: Mapping[str, Number],
    cache: Cache | None = None,
    seed: int = 0,
    measured: bool = False,
) -> Energy:
    """The energy of one run at sizes: work, span and io derived, or io executed on generated data where `measured`.

    io that is not derived is executed too. The cache is 32768 words in lines of 8 unless one is given. Raises
    ArchlineError for an unknown machine or model, wrong sizes, a cost that cannot be derived (AL414), and as `run`
    does.
    """
    chosen_machine = machine if isinstance(machine, Machine) else machine_of(machine)
    chosen_model = model_of(model)
    taken = DEFAULT_CACHE if cache is None else cache
    executed = run_generated(algorithm, unplaced(at), cache=taken, chosen_cache=cache is not None, seed=seed)
    return energy_of_run(executed, chosen_machine, chosen_model, measured)


def energy_of_run(run: Run, machine: Machine, model: Model, measured: bool = False) -> Energy:
    """The energy of a run that counted io. Raises ArchlineError (AL414, and as the model does)."""
    amounts: dict[str, Values] = {}
    origins: dict[str, str] = {}
    for name in model.inputs:
        derived = run.view.counts.derived.get(name)
        executed = run.view.counts.executed.get(name)
        if derived is not None and not (measured and name == "io"):
            amounts[name] = derived
            origins[name] = f"derived, {run.view.counts.statuses[name]}"
        elif name == "io" and executed is not None:
            amounts[name] = Values(executed, executed)
            origins[name] = "executed"
        else:
            reason = run.view.unchecked.get(name, "it is not derived in this version")
            raise error(rules.NEEDS_BOUND, f"the {name} of `{run.algorithm.name}` is unknown: {reason}")
    estimate = model(machine, {name: Interval.of((each.lower, each.upper)) for name, each in amounts.items()})
    return Energy(run.algorithm, machine, model, estimate, run, amounts, origins)
