"""The energy models there are: every module of this folder defines one, as `MODEL`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from archline.energy import rules
from archline.energy.model import Model
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
