"""Energy of an algorithm at sizes, on a machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from html import escape

from archline.api import rules
from archline.api.algorithms import Algorithm
from archline.api.data import run_generated
from archline.api.running import DEFAULT_CACHE, Run, cache_at, derived_at
from archline.api.settings import Given, unplaced
from archline.energy.machines import Machine
from archline.energy.machines import machine as machine_of
from archline.energy.model import Estimate, Interval, Model
from archline.energy.models import model as model_of
from archline.execution.results import Cache
from archline.language.diagnostics import error
from archline.report.view import CacheView, EnergyView, MatrixView, Number, Point, Values

NOT_RUN = "nothing was run: all that the model takes is derived"


@dataclass(frozen=True)
class Basis:
    """What an energy may rest on: where, on which cache and data, what is derived there, and the io that was executed.

    `unknown` tells why something is not derived, `statuses` how what is derived is.
    """

    at: Point
    cache: CacheView
    derived: Mapping[str, Values]
    statuses: Mapping[str, str]
    unknown: Mapping[str, str]
    data: str
    io: Number | None = None
    matrix: MatrixView | None = None

    @staticmethod
    def of_run(run: Run) -> Basis:
        """That of a run that counted io."""
        view, counts = run.view, run.view.counts
        assert view.cache is not None
        executed = counts.executed.get("io")
        return Basis(
            view.at, view.cache, counts.derived, counts.statuses, view.unchecked, run.data, executed, run.matrix
        )


@dataclass(frozen=True, eq=False)
class Energy:
    """A model's answer: exact bounds in joules by part, a verdict, and what they rest on."""

    algorithm: Algorithm
    machine: Machine
    model: Model
    estimate: Estimate
    basis: Basis
    amounts: Mapping[str, Values]
    origins: Mapping[str, str]

    @property
    def total(self) -> Fraction | tuple[Fraction, Fraction]:
        """The energy in joules, exact; a pair of bounds where work, span or io is only bounded."""
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
        basis = self.basis
        return EnergyView(
            algorithm=self.algorithm.name,
            at=basis.at,
            machine_title=self.machine.title,
            model_title=self.model.title,
            model_source=self.model.source,
            estimate=self.estimate,
            amounts=self.amounts,
            origins=self.origins,
            cache=basis.cache,
            matrix=basis.matrix,
            data=basis.data,
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
    """The energy at sizes: work, span and io derived, or io executed on generated data where `measured`.

    io that is not derived is executed too; nothing is run otherwise. The cache is 32768 words in lines of 8 unless one
    is given, by `cache` or as Z and L in `at`. Raises ArchlineError for an unknown machine or model, wrong sizes, a
    cost that cannot be derived (AL414), and as `run` does where it runs.
    """
    chosen_machine = machine if isinstance(machine, Machine) else machine_of(machine)
    chosen_model = model_of(model)
    taken, given = DEFAULT_CACHE if cache is None else cache, unplaced(at)
    if not measured:
        basis = derived_basis(algorithm, given, chosen_model, cache=taken, chosen_cache=cache is not None)
        if basis is not None:
            return energy_on(algorithm, basis, chosen_machine, chosen_model)
    executed = run_generated(algorithm, given, cache=taken, chosen_cache=cache is not None, seed=seed)
    return energy_on(algorithm, Basis.of_run(executed), chosen_machine, chosen_model, measured)


def derived_basis(
    algorithm: Algorithm, at: Given, model: Model, *, cache: Cache, chosen_cache: bool, option: str = ""
) -> Basis | None:
    """What a model takes, all of it derived; None where something has to be executed.

    Raises ArchlineError (AL401 to AL408) for wrong sizes.
    """
    report = algorithm.cost()
    point = report.point(at, report.names.for_a_run, option)
    used, chosen = cache_at(point, cache, chosen_cache)
    assert used is not None
    if used.policy != "optimal":
        return None
    costs = {name: report.costs[name] for name in model.inputs}
    derived, unknown = derived_at(costs, {**point, "Z": used.Z, "L": used.L})
    if unknown:
        return None
    statuses = {name: costs[name].status for name in derived}
    view = CacheView(used.Z, used.L, used.policy, chosen)
    sizes = {name: value for name, value in point.items() if name not in ("Z", "L")}
    return Basis(sizes, view, derived, statuses, unknown, NOT_RUN)


def energy_on(algorithm: Algorithm, basis: Basis, machine: Machine, model: Model, measured: bool = False) -> Energy:
    """The energy of what is derived, or counted in a run. Raises ArchlineError (AL414, and as the model does)."""
    amounts: dict[str, Values] = {}
    origins: dict[str, str] = {}
    for name in model.inputs:
        derived = basis.derived.get(name)
        if derived is not None and not (measured and name == "io"):
            amounts[name] = derived
            origins[name] = f"derived, {basis.statuses[name]}"
        elif name == "io" and basis.io is not None:
            amounts[name] = Values(basis.io, basis.io)
            origins[name] = "executed"
        else:
            reason = basis.unknown.get(name, "it is not derived in this version")
            raise error(rules.NEEDS_BOUND, f"the {name} of `{algorithm.name}` is unknown: {reason}")
    estimate = model(machine, {name: Interval.of((each.lower, each.upper)) for name, each in amounts.items()})
    return Energy(algorithm, machine, model, estimate, basis, amounts, origins)
