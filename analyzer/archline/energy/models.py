"""The energy models there are. A new model is a module that defines a `Model`, and its name here."""

from archline.energy import rules
from archline.energy.ice import ICE
from archline.energy.model import Model
from archline.language.diagnostics import did_you_mean, error

MODELS: tuple[Model, ...] = (ICE,)


def model(name: str) -> Model:
    """The energy model of this name. Raises ArchlineError (AL459) for an unknown one."""
    for candidate in MODELS:
        if candidate.name == name:
            return candidate
    names = [candidate.name for candidate in MODELS]
    hint = did_you_mean(name, names) or "the models are " + ", ".join(f"`{entry}`" for entry in names)
    raise error(rules.UNKNOWN_MODEL, f"there is no energy model `{name}`", hint=hint)
