"""Energy models are modules of this folder: each defines one, as `MODEL`.

A model is found by its name, with options applied and formulas checked. A `Model` (archline.energy.model) has formulas
for time and energy in metrics and in quantities of a machine; an `Option` varies it, and a `Figure` is printed with it.
The CLI, the Python API and the drawings of reports find models here. A new model is a new module, which needs no
registration.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from archline.energy import rules
from archline.energy.model import Model
from archline.language.diagnostics import did_you_mean, error


@cache
def load_models() -> tuple[Model, ...]:
    """Return all models, sorted by name."""
    names = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem != "__init__")
    return tuple(import_module(f"{__name__}.{name}").MODEL for name in names)


@cache
def find_model(name: str) -> Model:
    """Return the model called `NAME`, or `NAME+OPTION`, with checked formulas. Raises ArchlineError (AL459)."""
    plain, *options = name.split("+")
    names = [entry.name for entry in load_models()]
    if plain not in names:
        hint = did_you_mean(plain, names) or "the models are " + ", ".join(f"`{entry}`" for entry in names)
        raise error(rules.UNKNOWN_MODEL, f"there is no energy model `{plain}`", hint=hint)
    chosen = load_models()[names.index(plain)]
    for option in options:
        chosen = chosen.with_option(option)
    return chosen.checked()
