"""The energy models there are: every module of this folder defines one, as `MODEL`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from archline.energy import rules
from archline.energy.machines import Machine, without_capacity
from archline.energy.model import Model
from archline.energy.quantities import LEVELS
from archline.language.diagnostics import did_you_mean, error


@cache
def models() -> tuple[Model, ...]:
    """All models, by name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")
    return tuple(import_module(f"{__name__}.{name}").MODEL for name in names)


@cache
def model(name: str) -> Model:
    """The model of a name, its formulas checked; `NAME+OPTION` for a variation. Raises ArchlineError (AL459)."""
    plain, *options = name.split("+")
    names = [each.name for each in models()]
    if plain not in names:
        hint = did_you_mean(plain, names) or "the models are " + ", ".join(f"`{entry}`" for entry in names)
        raise error(rules.UNKNOWN_MODEL, f"there is no energy model `{plain}`", hint=hint)
    found = models()[names.index(plain)]
    for option in options:
        found = found.with_option(option)
    return found.checked()


def usual_model(machines: Sequence[Machine], *, at_sizes: bool, asked: str = "energy") -> Model:
    """The model of shared memory where none is chosen: the first that all machines can feed.

    Levels of caches come first, and are for numbers of one cache `at_sizes` alone. For the energy ICE is next. Its time
    is that of unlimited cores, so that it is the last one where the time decides what is `asked`, such as the power. A
    model without an energy is taken where no other one can be fed, and where none can, that which lacks the least.
    """
    plain = ("roofline", "ice") if asked in ("time", "power", "energy_delay") else ("ice", "roofline")
    of_levels = at_sizes and all(map(has_levels, machines))
    known = map(model, (*(("roofline+levels",) if of_levels else ()), *plain))
    fed = [each for each in known if not any(map(each.missing, machines))]
    whole = [each for each in fed if asked == "time" or not any(each.applied(on).without_energy for on in machines)]
    least = min(map(model, ("ice", "roofline")), key=lambda each: sum(len(each.missing(on)) for on in machines))
    return (*whole, *fed, least)[0]


def has_levels(machine: Machine) -> bool:
    """Whether a level takes time or energy."""
    known = machine.quantities.keys()
    several = any(f"{level}_{name}" in known for level in LEVELS for name in ("bandwidth", "energy"))
    return several and not without_capacity(known)
