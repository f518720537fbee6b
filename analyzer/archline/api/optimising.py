"""Find the sizes, symbols and machine parameters that minimise time, energy or power."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from archline.costs import rules
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.sizes import merge_sizes
from archline.energy.caches import Settings
from archline.energy.machine_files import adjust_machine
from archline.energy.machines import Machine
from archline.energy.optimise.problem import (
    EnergyOptimum,
    Optimisation,
)
from archline.energy.optimise.tasks import OptimisationTask
from archline.energy.subjects import (
    make_subject,
)
from archline.execution.results import Cache
from archline.expr.intervals import Number
from archline.language.diagnostics import error
from archline.records import record
from archline.report.optima import render_optimum


@record(eq=False)
class Optimised:
    """An optimum: `str()` shows it, and it has the attributes of `found`: `status`, `value`, `variables`, `ranges`."""

    answer: Optimisation

    @property
    def found(self) -> EnergyOptimum:
        """The optimum: its status, value, variables and ranges."""
        return self.answer.found

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "answer":
            raise AttributeError(name)
        return getattr(self.answer.found, name)

    def __str__(self) -> str:
        return render_optimum(self.answer, 100)


def optimise(
    target: str | AlgorithmUnderFacts,
    *,
    over: str | Sequence[str] = (),
    halve: str | Sequence[str] = (),
    minimise: str = "energy",
    machine: str | Machine | None = None,
    model: str | None = None,
    at: Mapping[str, Number] | str | None = None,
    where: str | None = None,
    subject: str | Sequence[str] = (),
    integer: Iterable[str] = (),
    parameters: Mapping[str, str | float] | None = None,
    cache: Cache | str | None = None,
    bound: str = "upper",
) -> Optimised:
    """Minimise `energy`, `time`, `power` or `energy_delay` of an algorithm or of formulas over the names in `over`.

    `over="c,P=1..64"` names sizes, symbols of formulas or quantities of the machine, with ranges if no facts give them;
    `subject=["time <= 2 ms"]` constrains the optimum; `where` are further facts of sizes. Sizes of algorithms are whole
    numbers, and so are the symbols in `integer`. With `halve="gamma_e,delta_e"` quantities are halved, with the fewest
    halvings that meet `subject`; quantities that are joined by `=` are halved together. Costs that are not exact count
    at their upper bounds, or at their lower bounds if `bound` is "lower". Raises ArchlineError as `energy` does; AL461,
    AL462 and AL490 for wrong constraints, AL491 for a missing range.
    """
    sizes = merge_sizes(at, {}) or {}
    chosen = subject_of(target)
    settings = Settings.from_python(cache)
    texts = [subject] if isinstance(subject, str) else list(subject)
    varied, halved = ([option] if isinstance(option, str) else list(option) for option in (over, halve))
    if bool(varied) == bool(halved):
        raise error(
            rules.OPTIONS_CLASH, "give sizes and quantities to vary, or quantities to halve", hint="give --over"
        )
    names = [part.strip() for names_in_text in halved for part in names_in_text.split(",") if part.strip()]
    on = adjust_machine(NO_MACHINE if machine is None else machine, parameters)
    task = OptimisationTask(chosen, on, model, sizes, settings, varied, frozenset(integer), names, minimise)
    return Optimised(task.solve(minimise, texts, where, bound == "upper"))


subject_of = make_subject
NO_MACHINE = Machine("parameters", "", "parameters given by hand", "", (), {})
