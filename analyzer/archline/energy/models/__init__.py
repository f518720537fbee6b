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


USUAL = ("ice", "roofline+levels", "roofline")
"""Models of shared memory, the usual one first: where none is chosen, the first that a machine can feed is taken."""


def usual_model(machines: Sequence[Machine], *, at_sizes: bool) -> Model:
    """The first of these models that all machines can feed; ICE where there is none. Levels are `at_sizes` alone."""
    for name in USUAL:
        of_levels = name.endswith("+levels")
        if of_levels and not (at_sizes and all(map(has_levels, machines))):
            continue
        if all(not model(name).missing(each) for each in machines):
            return model(name)
    return model(USUAL[0])


def has_levels(machine: Machine) -> bool:
    """Whether a level takes time or energy."""
    known = machine.quantities.keys()
    several = any(f"{level}_{name}" in known for level in LEVELS for name in ("bandwidth", "energy"))
    return several and not without_capacity(known)
