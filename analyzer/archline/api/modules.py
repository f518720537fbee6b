"""Load the modules of a file, of the standard library or of a text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from archline.api.algorithms import Algorithm
from archline.api.claims import decide_file_claims
from archline.language import model, name_rules
from archline.language.diagnostics import error, suggest_closest
from archline.language.loader import load_path, load_target, load_text
from archline.language.source import replace_files
from archline.report.view import Contract


class Module:
    """The algorithms of a file or of a module of the standard library: `module["name"]`, `list(module)`."""

    def __init__(self, module: model.Module, contents: Mapping[str, bytes] = MappingProxyType({})) -> None:
        self._module = module
        # The contents that replace files on the disk, from which the claims load algorithms of other files.
        self._contents = contents

    @property
    def module(self) -> model.Module:
        """The checked module."""
        return self._module

    def __getitem__(self, name: str) -> Algorithm:
        """Return an algorithm by its name. Raises ArchlineError for an unknown one."""
        algorithm = self._module.find_algorithm(name)
        if algorithm is None:
            path = self._module.program.source.path
            hint = suggest_closest(name, self) or "it defines " + ", ".join(list(self)[:12])
            message = f"`{path}` has no algorithm `{name}`"
            raise error(name_rules.UNKNOWN_ALGORITHM, message, path=path, hint=hint)
        return Algorithm(self._module, algorithm)

    def claims(self) -> tuple[Contract, ...]:
        """Decide the claims of the file, in order. Raises ArchlineError for unknown machines and models."""
        with replace_files(self._contents):
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


def loads(
    text: str,
    name: str = "<text>",
    *,
    path: str | Path | None = None,
    overlay: Mapping[str | Path, str] = MappingProxyType({}),
) -> Module:
    """Load the module of a program given as text, which with `path` is read as if it were the text of that file.

    Its `use` then looks for files next to it. The texts of `overlay` replace those of files, which need not exist, by
    their paths. Raises ArchlineError.
    """
    texts = dict(overlay) if path is None else {**overlay, path: text}
    contents = {str(place): new.encode("utf-8", "surrogatepass") for place, new in texts.items()}
    with replace_files(contents):
        return Module(load_text(text, name) if path is None else load_path(Path(path)), contents)
