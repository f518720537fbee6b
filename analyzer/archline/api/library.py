"""The algorithms of the standard library, of files and of folders, by their headers: nothing is checked or derived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from archline.language import input_rules, name_rules
from archline.language.diagnostics import did_you_mean, error
from archline.language.headers import headers
from archline.language.loader import stdlib_modules
from archline.language.source import is_path, read_source
from archline.report.library import Listed
from archline.resources import resource


def listed(targets: Sequence[str]) -> list[Listed]:
    """The algorithms that targets name; those of the library without any. Raises ArchlineError.

    A target is a family (`dense`) or module (`dense.lu`) of the library, a file or a folder; `::name` picks one.
    """
    if not targets:
        return [each for module in stdlib_modules() for each in _of_module(module)]
    return [each for target in targets for each in _named(target)]


def _named(target: str) -> list[Listed]:
    place, separator, name = target.partition("::")
    found = list(_of_place(place))
    if not separator:
        return found
    chosen = [each for each in found if each.name == name]
    if not chosen:
        hint = did_you_mean(name, [each.name for each in found])
        raise error(name_rules.UNKNOWN_ALGORITHM, f"`{place}` has no algorithm `{name}`", path=place, hint=hint)
    return chosen


def _of_place(place: str) -> Iterator[Listed]:
    path = Path(place)
    if is_path(place):
        for file in sorted(path.rglob("*.algo")) if path.is_dir() else [path]:
            yield from _of_file(str(file), file)
        return
    modules = stdlib_modules()
    found = [module for module in modules if module == place or module.startswith(f"{place}.")]
    if not found:
        families = sorted({module.partition(".")[0] for module in modules})
        hint = did_you_mean(place, [*families, *modules]) or f"its families are {', '.join(families)}"
        message = f"there is no file, folder, family or module of the standard library called `{place}`"
        raise error(input_rules.MISSING_FILE, message, path=place, hint=hint)
    for module in found:
        yield from _of_module(module)


def _of_module(module: str) -> Iterator[Listed]:
    return _of_file(module, resource("stdlib").joinpath(*module.split(".")).with_suffix(".algo"))


def _of_file(module: str, file: Path) -> Iterator[Listed]:
    return (Listed(module, algorithm) for algorithm in headers(read_source(file)))
