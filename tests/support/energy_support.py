"""Machines of any numbers, and what tests of energies ask of errors and intervals."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import strategies as st

from archline.energy.estimates import Estimate, estimate_amounts
from archline.energy.machines import Machine, Provenance, Quantity
from archline.energy.model import Model
from archline.energy.models import find_model, load_models
from archline.energy.quantities import QUANTITIES
from archline.expr.intervals import Interval
from archline.language.diagnostics import ArchlineError, Diagnostic

Number = int | str | Fraction
VARIANTS = [
    find_model(name) for each in load_models() for name in (each.name, *(f"{each.name}+{o}" for o in each.options))
] + [
    find_model("roofline+cap+cache"),
    find_model("roofline+cache+cap"),
]
"""Every model, with each of its options and with two of them."""


def made(numbers: Mapping[str, Number] | None = None, /, **more: Number) -> Machine:
    """A machine of these quantities, in base units."""
    given = {**(numbers or {}), **more}
    quantities = {
        name: Quantity(name, Fraction(value), str(value), "assumed", Provenance()) for name, value in given.items()
    }
    return Machine("made", "", "a machine made up", "", (), quantities)


positive = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50)
"""Numbers above 0."""


def machines_of(*names: str) -> st.SearchStrategy[Machine]:
    """Machines that have these quantities, all above 0."""
    return st.fixed_dictionaries(dict.fromkeys(names, positive)).map(made)


def whole_machine(number: int) -> Machine:
    """A machine of a seed that has all quantities, of which `power_limit` is above `pi0`."""
    source = random.Random(number)
    numbers = {name: Fraction(source.randint(1, 99), source.randint(1, 20)) for name in QUANTITIES}
    return made({**numbers, "power_limit": numbers["power_limit"] + numbers["pi0"]})


def whole_machines() -> st.SearchStrategy[Machine]:
    """Machines that have all quantities."""
    return st.integers(0, 10**6).map(whole_machine)


def held(interval: Interval | None, point: Interval | None) -> bool:
    """Whether what is known at a point lies within what is known over intervals, if that is known at all."""
    if interval is None:
        return True
    return point is not None and interval.lower <= point.lower and point.upper <= interval.upper


def exact(interval: Interval | None) -> Fraction:
    """The number that an interval without width stands for."""
    assert interval.exact
    return interval.lower


def encloses(interval: Interval | None, value: Fraction) -> bool:
    """Whether a number lies within an interval that is tight."""
    return interval.lower <= value <= interval.upper and interval.width <= abs(value) / 10**9


def refusal(action: Callable[[], Any], code: str) -> Diagnostic:
    """The first finding of a refusal, which is of a rule."""
    with pytest.raises(ArchlineError) as problem:
        action()
    found = problem.value.diagnostics[0]
    assert found.rule.code == code, found
    return found


def answers(estimate: Estimate) -> dict[str, Interval | None]:
    """Everything that an estimate says, by name."""
    found = {name: estimate.by(name) for name in ("energy", "time", "power", "energy_delay")}
    parts = {
        f"{kind} {name}": each
        for kind in ("terms", "sides", "figures")
        for name, each in getattr(estimate, kind).items()
    }
    return {**found, "flops_per_joule": estimate.flops_per_joule, **parts}


def inputs_of(chosen: Model) -> tuple[str, ...]:
    """The metrics that a model takes of one processor, and the flops."""
    more = (
        ("L",) if chosen.name == "balance" else ("L1_bytes", "L2_bytes", "L3_bytes") if "levels" in chosen.name else ()
    )
    return tuple(dict.fromkeys((*chosen.inputs, "flops", *more)))


def values(chosen: str, on: Machine, /, **amounts: Any) -> dict[str, Any]:
    """The exact answers of a model (all but some roots and logarithms), and what binds."""
    estimate = estimate_amounts(find_model(chosen), on, amounts)
    found = {name: each.lower for name, each in answers(estimate).items() if each is not None and each.exact}
    return {**found, "binds": estimate.binds}


def codes(problem: pytest.ExceptionInfo[ArchlineError]) -> list[str]:
    return [diagnostic.rule.code for diagnostic in problem.value.diagnostics]
