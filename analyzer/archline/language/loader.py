"""Paths, module names and texts are loaded to checked modules here."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from archline.expr.tree import Source
from archline.language import name_rules, syntax_rules
from archline.language import syntax as s
from archline.language.checking import check, load_if_valid
from archline.language.diagnostics import error, suggest_closest
from archline.language.elaboration import declare_program
from archline.language.incremental import LoadedModule, get_load_cache
from archline.language.model import Module
from archline.language.parser import parse
from archline.language.source import (
    decode_source,
    is_path,
    note_read,
    note_reads,
    path_exists,
    read_current_text,
    read_source,
    record_reads,
)
from archline.resources import find_resource


def load_path(path: Path) -> Module:
    """Read and check a file with everything it uses. Raises ArchlineError with all mistakes."""
    return _Loader().load_file(path)


def load_text(text: str, name: str = "<text>") -> Module:
    """Check a program given as text; its `use` finds the standard library. Raises ArchlineError."""
    return _Loader().load_source(decode_source(name, text.encode("utf-8", "surrogatepass")), None)


def declare_in_folder(program: s.Program, folder: Path) -> s.Program:
    """Return a program with a declaration of each name; its `use` looks in a folder first."""
    loader = _Loader()
    resolve = cache(lambda use: loader.load_used_module(use, folder))
    return declare_program(program, lambda use: load_if_valid(use, resolve))


def load_target(target: str) -> tuple[Module, s.Algorithm | None]:
    """Return the module that a target names, and the algorithm if it names one.

    A target is `path.algo`, `path.algo::name`, `dense.matmul` or `dense.matmul::name`. Raises ArchlineError.
    """
    place, separator, name = target.partition("::")
    module = _Loader().load_file(_find_path(place))
    if not separator:
        return module, None
    algorithm = module.find_algorithm(name)
    if algorithm is None:
        names = list(module.algorithms)
        hint = suggest_closest(name, names) or "it defines " + ", ".join(names[:12])
        raise error(name_rules.UNKNOWN_ALGORITHM, f"`{place}` has no algorithm `{name}`", path=place, hint=hint)
    return module, algorithm


def list_stdlib_modules() -> list[str]:
    """Return the names of the standard library's modules, sorted."""
    root = find_resource("stdlib")
    files = root.rglob("*.algo") if root.is_dir() else ()
    return sorted(".".join(file.relative_to(root).with_suffix("").parts) for file in files)


def _find_path(place: str) -> Path:
    if is_path(place):
        return Path(place)
    file = _make_module_path(find_resource("stdlib"), tuple(place.split(".")))
    if not path_exists(file):
        message = f"there is no file and no module of the standard library called `{place}`"
        raise error(syntax_rules.MISSING_FILE, message, path=place, hint=_suggest_module(place))
    return file


def _suggest_module(place: str) -> str:
    """Suggest a module for a name that is not one: a member of a family, or a name without its family."""
    modules = list_stdlib_modules()
    if path_exists(Path(f"{place}.algo")):
        return f"did you mean `{place}.algo`?"
    family = [f"`{name}`" for name in modules if name.startswith(f"{place}.")]
    if family:
        return f"it is a family of modules: {', '.join(family)}"
    ending = [f"did you mean `{name}`?" for name in modules if name.endswith(f".{place}")]
    return next(iter(ending), None) or suggest_closest(place, modules) or "a file is named with its `.algo`"


def _make_module_path(root: Path, path: tuple[str, ...]) -> Path:
    return root.joinpath(*path).with_suffix(".algo")


class _Loader:
    """Loads each file once, and reports files that use each other in a cycle."""

    def __init__(self) -> None:
        self._modules: dict[Path, LoadedModule] = {}
        self._loading: list[Path] = []

    def load_file(self, path: Path) -> Module:
        source = read_source(path)
        key = path.resolve()
        if key not in self._modules and not self._load_from_cache(path, key):
            self._loading.append(key)
            try:
                with record_reads() as reads:
                    note_read(path, source.text)
                    self._modules[key] = self.load_source(source, path.parent), reads
            finally:
                self._loading.pop()
                note_reads(reads)
            cache = get_load_cache()
            if cache and self._loading:
                files = (file.resolve() for file in reads)
                cache.modules[str(path), key] = {file: self._modules[file] for file in files if file in self._modules}
        module, reads = self._modules[key]
        note_reads(reads)
        return module

    def _load_from_cache(self, path: Path, key: Path) -> bool:
        """Add a module, with the modules it uses, from an earlier load of the same texts; return whether there is one.

        A file that is being loaded, or that has been, has no other module than that.
        """
        cache = get_load_cache()
        modules = cache.modules.get((str(path), key)) if cache and self._loading else None
        if cache is None or modules is None:
            return False
        reads = modules[key][1]
        note_reads(reads)
        if any(read_current_text(file) != text for file, text in reads.items()) or any(
            file in self._loading or self._modules.get(file, module) is not module for file, module in modules.items()
        ):
            return False
        cache.modules.move_to_end((str(path), key))
        self._modules |= modules
        return True

    def load_source(self, source: Source, folder: Path | None) -> Module:
        """Return the module of a text; its `use` looks in `folder` before the standard library."""
        parsed = parse(source)
        return check(parsed.program, lambda use: self.load_used_module(use, folder), parsed.diagnostics)

    def load_used_module(self, use: s.Use, folder: Path | None) -> Module:
        """Return the module that a `use` in a file of a folder names. Raises ArchlineError."""
        name = ".".join(use.path)
        roots = [find_resource("stdlib")] if folder is None else [folder, find_resource("stdlib")]
        for root in roots:
            file = _make_module_path(root, use.path)
            if not path_exists(file):
                note_read(file, None)
                continue
            key = file.resolve()
            if key in self._loading:
                cycle = self._loading[self._loading.index(key) :]
                chain = " uses ".join(f"`{link.name}`" for link in [*cycle, key])
                raise error(name_rules.CYCLIC_USE, f"files use each other: {chain}", span=use.span)
            return self.load_file(file)
        names = list_stdlib_modules() + (_list_modules_in_folder(folder) if folder is not None else [])
        message = f"there is no module `{name}` next to the file or in the standard library"
        raise error(name_rules.UNKNOWN_MODULE, message, span=use.span, hint=suggest_closest(name, names, use.span))


def _list_modules_in_folder(folder: Path) -> list[str]:
    try:
        return [file.stem for file in folder.glob("*.algo")]
    except OSError:
        return []
