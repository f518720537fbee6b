"""Make the pictures of machines and comparisons: compute the data that they show, and write the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from archline.api.algorithms import Algorithm
from archline.api.plots import Drawn
from archline.compare.results import CostComparison
from archline.costs import rules
from archline.costs.sizes import Given, merge_sizes
from archline.energy.answers import derive_energies
from archline.energy.caches import Settings
from archline.energy.estimates import has_levels
from archline.energy.levels import MEMORY, iterate_levels
from archline.energy.machine_files import adjust_machine
from archline.energy.machines import Machine
from archline.energy.models import find_model
from archline.energy.quantities import LEVELS
from archline.energy.results import EnergyResult
from archline.energy.subjects import Subject, make_subject
from archline.expr.intervals import Interval, Number
from archline.language.diagnostics import error
from archline.report.energies.shown import format_cache, format_sizes
from archline.report.pictures import Cell

if TYPE_CHECKING:
    from archline.execution.results import Cache

SERVED_AMOUNTS = frozenset(("accesses", *(f"{level}_bytes" for level in LEVELS)))
"""The amounts of accesses, and of bytes that each level of caches serves."""


class Picture(Drawn):
    """A picture of a machine or a comparison."""

    @property
    def points(self) -> tuple[Mapping[str, Cell], ...]:
        """The points, each with its values by column."""
        return self.view.points


def roofline(
    machine: str | Machine,
    *targets: str | Algorithm,
    at: Mapping[str, Number] | str | None = None,
    cache: Cache | str | None = None,
    where: str | None = None,
) -> Picture:
    """Draw the roofline, the arch line and the power of a machine, and the intensities of algorithms at sizes.

    `where` are further facts of sizes. Raises ArchlineError: AL458 if the machine lacks a quantity, and as `energy`
    does.
    """
    sizes, settings = merge_sizes(at, {}) or {}, Settings.from_python(cache)
    return draw_roofline(
        adjust_machine(machine), [make_subject(name, where) for name in targets], sizes, settings, where
    )


def draw_roofline(
    machine: Machine, subjects: Sequence[Subject], at: Given, settings: Settings, where: str | None = None
) -> Picture:
    """Draw a roofline with the intensities of some subjects at sizes. Raises ArchlineError."""
    from archline.report.pictures.roofline import make_view

    intensities: dict[str, dict[str, Interval]] = {}
    served: dict[str, Mapping[str, float]] = {}
    notes = []
    of_levels = has_levels(machine) and not settings.chosen_cache
    for result in derive_energies(
        subjects, [machine], find_model(f"roofline{'+levels' * of_levels}"), at, settings, where
    ):
        points = _compute_intensities(result)
        if not points or min(interval.lower for interval in points.values()) <= 0:
            notes.append(f"{result.algorithm} has no flops or no traffic here, so it has no place on the axis")
            continue
        name = (
            result.algorithm if result.algorithm not in intensities else f"{result.algorithm} ({len(intensities) + 1})"
        )
        intensities[name] = points
        notes += [f"{name}: {note}" for note in result.notes]
        if of_levels and result.estimate is not None:
            amounts = result.estimate.amounts
            served[name] = {
                key: float(amounts[key].middle / amounts["flops"].middle) for key in SERVED_AMOUNTS & {*amounts}
            }
        conditions = ", ".join(filter(None, (format_sizes(result.at or {}), format_cache(result.cache))))
        notes.append(f"algorithms at {conditions}; intensities are flops/bytes, between bounds")
    notes += [f"assuming {assumption}" for assumption in machine.assumptions]
    return Picture(make_view(machine, intensities, tuple(dict.fromkeys(notes)), served))


def _compute_intensities(result: EnergyResult) -> dict[str, Interval]:
    """Return the flops per byte of slow memory and of each level of caches, by level; empty if bytes are unknown."""
    estimate = result.estimate
    memory = None if estimate is None else estimate.figures.get("intensity")
    if estimate is None or memory is None:
        return {}
    levels = {
        level.name: level.served
        for level in (iterate_levels(estimate) if estimate.model.levels else ())
        if level.name != MEMORY and level.served.lower > 0
    }
    return {**{name: estimate.amounts["flops"] / served for name, served in levels.items()}, MEMORY: memory}


def greenup(machine: str | Machine, intensity: Number | float) -> Picture:
    """Draw for which f and m a run of f*W flops and Q/m bytes takes less time or energy than one of W and Q.

    `intensity` is W/Q. Raises ArchlineError: AL458 if the machine lacks a quantity, AL411 for an intensity that is not
    above 0.
    """
    from archline.report.pictures.greenup import make_view

    if not 0 < intensity < 10**18:
        raise error(rules.OPTIONS_CLASH, f"an intensity must be a positive number of flop/B, not {intensity}")
    return Picture(make_view(adjust_machine(machine), float(Fraction(intensity))))


def balance(machine: str | Machine, years: tuple[int, int] | None = None) -> Picture:
    """Draw a machine's balance over the years against the limits for matrix products and sorting (Czechowski 2011).

    The default is the machine's year and the 15 years after it. Raises ArchlineError: AL458 for a machine without
    trends or without a quantity, AL411 for years that are not a range.
    """
    from archline.report.pictures.balance import make_view

    chosen = adjust_machine(machine)
    first, end = years or (chosen.year or 0, (chosen.year or 0) + 15)
    if not first < end <= first + 1000:
        raise error(rules.OPTIONS_CLASH, f"{first} to {end} is not a range of years", hint="such as --years 2010..2025")
    return Picture(make_view(chosen, first, end))


def save_comparison(comparison: CostComparison, path: str | Path) -> None:
    """Write the picture of a comparison, lines over a sweep or bars. Raises ArchlineError (AL413, AL417, AL418)."""
    from archline.report.pictures.comparison import MAX_SERIES, make_view

    series = len(comparison.algorithms) * len({point.machine.name for point in comparison.points})
    if not series:
        raise error(rules.NO_PICTURE, "growth alone cannot be drawn", hint="give --machine and --at or --sweep")
    if series > MAX_SERIES:
        hint = "draw fewer algorithms or machines; `--format csv` prints the numbers of all of them"
        raise error(rules.NO_PICTURE, f"a picture shows at most {MAX_SERIES} series; these are {series}", hint=hint)
    drawn = Picture(make_view(comparison))
    if not drawn.points:
        raise error(rules.NO_PICTURE, f"the {comparison.by} is not known at any point, so there is nothing to draw")
    drawn.save(path)
