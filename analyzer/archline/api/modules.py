"""Load the modules of a file, of the standard library or of a text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from archline.api.algorithms import Algorithm
from archline.api.claims import decide_file_claims
from archline.language import model, name_rules
from archline.language.diagnostics import error, suggest_closest
from archline.language.loader import load_path, load_target, load_text
from archline.report.view import Contract


class Module:
    """The algorithms of a file or of a module of the standard library: `module["name"]`, `list(module)`."""

    def __init__(self, module: model.Module) -> None:
        self._module = module

    @property
    def module(self) -> model.Module:
        """The checked module."""
        return self._module

    def __getitem__(self, name: str) -> Algorithm:
        """Return an algorithm by its name. Raises ArchlineError for an unknown one."""
        found = self._module.find_algorithm(name)
        if found is None:
            path = self._module.program.source.path
            hint = suggest_closest(name, self) or "it defines " + ", ".join(list(self)[:12])
            message = f"`{path}` has no algorithm `{name}`"
            raise error(name_rules.UNKNOWN_ALGORITHM, message, path=path, hint=hint)
        return Algorithm(self._module, found)

    def claims(self) -> tuple[Contract, ...]:
        """Decide the claims of the file, in order. Raises ArchlineError for unknown machines and models."""
        return decide_file_claims(self._module)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._module.find_algorithm(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._module.algorithms)

    def __len__(self) -> int:
        return len(self._module.algorithms)

    def __repr__(self) -> str:
        return f"<archline module {self._module.program.source.path}: {', '.join(self)}>"


def load(target: str | Path) -> Module:
    """Load the module of a path (`heat.algo`) or of the standard library (`dense.matmul`).

    Raises ArchlineError for a module that cannot be read, parsed or checked.
    """
    if isinstance(target, Path):
        return Module(load_path(target))
    return Module(load_target(target.partition("::")[0])[0])


def loads(text: str, name: str = "<text>") -> Module:
    """Load the module of a program given as text. Raises ArchlineError."""
    return Module(load_text(text, name))
