"""Compare the costs of algorithms: their growth, verdicts at sizes on machines, and crossovers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from archline.compare.comparisons import compare_subjects
from archline.compare.growth import GrowthRelation
from archline.compare.results import ComparedPoint, CostComparison
from archline.compare.verdicts import (
    Crossover,
)
from archline.costs.algorithms import AlgorithmUnderFacts
from archline.costs.sizes import merge_sizes
from archline.energy.caches import Settings
from archline.energy.machine_files import adjust_machine
from archline.energy.machines import Machine
from archline.energy.models import find_model as model_of
from archline.energy.subjects import (
    make_subject,
)
from archline.energy.sweeps import SizeSweep
from archline.expr.intervals import Number
from archline.records import record
from archline.report.comparisons import as_text, make_page
from archline.report.documents import Document, WithPage

if TYPE_CHECKING:
    from archline.execution.results import Cache


@record(eq=False)
class Compared(WithPage):
    """A comparison of algorithms: `str()` shows it, `points` and `growth` have the verdicts."""

    result: CostComparison

    @property
    def points(self) -> tuple[ComparedPoint, ...]:
        """The verdicts, by sizes, machine and pair."""
        return self.result.points

    @property
    def growth(self) -> Mapping[str, GrowthRelation]:
        """The growth of the first two algorithms relative to each other, by metric or term of the energy."""
        return next(iter(self.result.growth.values()))

    @property
    def crossovers(self) -> tuple[Crossover, ...]:
        """The intervals of the swept size in which the algorithm that takes less changes."""
        return self.result.crossovers

    def save(self, path: str | Path) -> None:
        """Write a picture: energy against the swept size, or bars. Raises ArchlineError (AL413, AL417, AL418)."""
        from archline.api.pictures import save_comparison

        save_comparison(self.result, path)

    def __repr__(self) -> str:
        return f"<comparison of {', '.join(self.result.algorithms)}: {len(self.points)} points>"

    def __str__(self) -> str:
        return as_text(self.result, 100)

    @property
    def page(self) -> Document:
        """The page that notebooks show."""
        return make_page(self.result)


def compare(
    *targets: str | AlgorithmUnderFacts,
    machine: str | Machine | Sequence[str | Machine] = (),
    model: str | None = None,
    by: str | None = None,
    at: Mapping[str, Number] | str | None = None,
    sweep: str | None = None,
    where: str | None = None,
    cache: Cache | str | None = None,
    execute: bool = False,
    seed: int = 0,
    **sizes: Number,
) -> Compared:
    """Compare two or more algorithms or formulas: their growth, and their energy at sizes on machines.

    `by` is energy, time, power, energy_delay or bytes; by default energy, or time if a machine has no energy for the
    model. `sweep` is a text such as "n=m=p=64..8192", which doubles the sizes. With `execute`, comparisons that the
    bounds do not decide are decided by runs on data generated from `seed`. `where` are further facts of sizes. Sizes
    are keywords (`n=64`); `at` takes sizes whose names are keywords here. Raises ArchlineError for unknown names and
    wrong sizes.
    """
    names = [machine] if isinstance(machine, str | Machine) else machine
    machines = [adjust_machine(name) for name in names]
    settings = Settings.from_python(cache, seed=seed)
    swept = None if sweep is None else SizeSweep.read(sweep)
    point = merge_sizes(at, sizes)
    subjects = [make_subject(target, where) for target in targets]
    return Compared(
        compare_subjects(
            subjects, machines, None if model is None else model_of(model), by, point, swept, settings, execute, where
        )
    )
