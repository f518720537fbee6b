"""Read the table `[tool.archline]` in `pyproject.toml`: defaults of options that are not on the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path
from typing import Any

from archline.costs import sizes as given_sizes
from archline.energy import caches, machine_files, models
from archline.expr.tree import Source, Span
from archline.language import parser
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, error, suggest_closest
from archline.language.source import read_source
from archline.records import record, replace
from archline.report import view

FILE_NAME = "pyproject.toml"
CONFIGURATION = Rule(
    "AL440",
    "unusable configuration",
    """
    The table `[tool.archline]` of the nearest `pyproject.toml` has the defaults of options. Its keys are those of this
    example, each of them optional; paths are relative to the folder of the file:

        [tool.archline]
        paths = ["sketches"]                 # check: the targets; diff: what is compared
        exclude = ["drafts", "*_old.algo"]   # left out of folders
        select = ["AL6"]                     # codes of findings, or prefixes of codes
        ignore = ["AL602"]
        where = "n >= 2"                     # check, diff, cost: facts about sizes, in the algorithms that have these
        baseline = "costs.baseline"          # check
        sizes = ["n=1024, P=16"]             # diff: sizes at which costs are compared
        tolerance = "2%"                     # check, diff: the accepted rise of a cost
        cache = "Z=32768, L=8"               # energy, compare, run, optimise, cost (with --at)
        machine = "xeon-e5-2650l-v3"         # energy, compare, scale, optimise, plot of a machine
        model = "ice"                        # energy, compare, optimise

    `--where` replaces `where`; `run`, `energy`, `compare` and `optimise` take facts only from `--where`. `run` counts
    on a machine only if `--machine` names it. `--config FILE` reads another file, `--isolated` none.
    """,
)


@record
class Configuration:
    """The configuration of a project, read from the file `source`; texts and lists are empty by default.

    `root` is the folder of the repository, or else of the file; paths in reports for other tools are relative to it.
    """

    root: Path
    source: Source | None = None
    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    baseline: str = ""
    sizes: tuple[str, ...] = ()
    tolerance: str = ""
    cache: str = ""
    machine: tuple[str, ...] = ()
    model: str = ""

    @property
    def folder(self) -> Path:
        """The folder of the file; the root if there is none."""
        return self.root if self.source is None else Path(self.source.path).resolve().parent

    def excludes(self, path: Path) -> bool:
        """Test whether `exclude` matches a file: a name in its path below the project, or a prefix of that path."""
        whole = path.resolve()
        below = whole.relative_to(self.folder) if whole.is_relative_to(self.folder) else whole
        names = (*below.parts, *(Path(*below.parts[:count]).as_posix() for count in range(1, len(below.parts) + 1)))
        return any(fnmatchcase(name, pattern.rstrip("/")) for pattern in self.exclude for name in names)

    @property
    def programs(self) -> Iterator[Path]:
        """The programs below the project's `paths`, or else below its folder, that are not excluded."""
        for root in map(Path, self.paths or [self.folder]):
            files = [root] if root.is_file() else sorted(root.rglob("*.algo"))
            yield from (file for file in files if not self.excludes(file))

    def require_paths(self) -> None:
        """Raise ArchlineError (AL440) for paths that do not exist."""
        place = None if self.source is None else _find_value_span(self.source, "paths")
        problems: list[Diagnostic] = []
        for path in (os.path.relpath(path, self.folder) for path in self.paths):
            if not (self.folder / path.partition("::")[0]).exists():
                existing = (
                    (Path(path).parent / file.name).as_posix() for file in (self.folder / path).parent.glob("*")
                )
                hint = suggest_closest(path, existing)
                problems.append(Diagnostic(CONFIGURATION, f"`{path}` does not exist", place, hint=hint))
        if problems:
            raise ArchlineError(problems)

    @property
    def facts(self) -> str:
        """The facts of `where` as one text, separated by commas."""
        return FACT_SEPARATOR.join(self.where)

    def locate_diagnostic(self, problem: Diagnostic) -> Diagnostic:
        """Return a diagnostic about the facts or a missing baseline with its place in the configuration file."""
        if self.source is not None and problem.path is not None and problem.path == self.baseline:
            return replace(problem, span=_find_value_span(self.source, "baseline"), path=None)
        span = problem.span
        place = None if self.source is None else _find_value_span(self.source, "where")
        if span is None or place is None or span.source.text != self.facts:
            return problem
        column, texts = span.column, iter(self.where)
        while column > len(text := next(texts)) + 1:
            column -= len(text + FACT_SEPARATOR)
        for line, written in enumerate(place.source.lines[place.line - 1 :], place.line):
            for start in (written.find(f"{quote}{text}{quote}") + 1 for quote in "\"'"):
                if start:
                    end = start + column + span.end_column - span.column
                    return replace(problem, span=Span(place.source, line, start + column, line, end))
        return replace(problem, span=place)


FACT_SEPARATOR = ", "
FINDING_CODES = "findings are AL601 to AL608"
LIST_KEYS = ("paths", "exclude", "select", "ignore", "where", "sizes", "machine")
VALUE_READERS: Mapping[str, Callable[[str], object]] = {
    "sizes": lambda text: given_sizes.read_sizes(text),
    "tolerance": lambda text: given_sizes.parse_share(text),
    "cache": lambda text: caches.read_cache_words(text),
    "machine": lambda text: machine_files.machine(text),
    "model": lambda text: models.find_model(text),
}
"""The functions that read the texts of some keys, and raise errors for invalid values."""
PATH_KEYS = ("paths", "baseline")
"""Keys whose values are paths relative to the folder of the file."""


def read_configuration(config: str | None = None, *, isolated: bool = False) -> Configuration:
    """Read the configuration from the file `config`, else from the nearest `pyproject.toml` with `[tool.archline]`.

    With `isolated` no file is read, and the defaults are returned. Raises ArchlineError (AL440) for unreadable files,
    unknown keys, and values of a wrong type.
    """
    current = Path.cwd()
    if isolated:
        return Configuration(_find_repository(current) or current)
    candidates = (
        [Path(config)] if config is not None else [folder / FILE_NAME for folder in (current, *current.parents)]
    )
    for file in candidates:
        if config is None and not file.is_file():
            continue
        source = _read_source(file)
        # Most files have no such table, and are not parsed as TOML.
        table = _read_table(source) if config is not None or "archline" in source.text else None
        if table is not None:
            return _make_configuration(table, source, file.resolve())
    return Configuration(_find_repository(current) or current)


def _find_repository(folder: Path) -> Path | None:
    """Find the nearest git repository that contains a folder; None if there is none."""
    return next((candidate for candidate in (folder, *folder.parents) if (candidate / ".git").exists()), None)


def _read_source(file: Path) -> Source:
    try:
        return read_source(file)
    except ArchlineError as problem:
        raise ArchlineError([replace(diagnostic, rule=CONFIGURATION) for diagnostic in problem.diagnostics]) from None


def _read_table(source: Source) -> Mapping[str, Any] | None:
    """Read the table `[tool.archline]` of a file; None if there is none."""
    from archline.language.toml import parse_toml

    tool = parse_toml(source, CONFIGURATION).get("tool")
    table = tool.get("archline") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise error(CONFIGURATION, "`archline` in `[tool]` is not a table", path=source.path)
    return table


def _make_configuration(table: Mapping[str, Any], source: Source, file: Path) -> Configuration:
    """Make the configuration of a table. Raises ArchlineError (AL440) with all problems."""
    keys = [name for name in Configuration.__dataclass_fields__ if name not in ("root", "source")]
    problems: list[Diagnostic] = []
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in keys:
            hint = suggest_closest(key, keys) or f"the keys are {', '.join(keys)}"
            problems.append(
                Diagnostic(CONFIGURATION, f"there is no key `{key}`", _find_value_span(source, key), hint=hint)
            )
        elif (texts := _list_texts(key, value)) is None:
            kind = "a string, or a list of strings" if key in LIST_KEYS else "a string"
            problems.append(Diagnostic(CONFIGURATION, f"`{key}` must be {kind}", _find_value_span(source, key)))
        else:
            if key == "paths" and not texts:
                problems.append(
                    Diagnostic(CONFIGURATION, "`paths` is empty", _find_value_span(source, key), hint="remove it")
                )
            if key in PATH_KEYS:
                texts = tuple(view.make_path_relative(str(file.parent / text)) for text in texts)
            elif key == "machine":
                texts = tuple(
                    view.make_path_relative(str(file.parent / text)) if text.endswith(".toml") else text
                    for text in texts
                )
            values[key] = texts if key in LIST_KEYS else texts[0]
            problems += chain.from_iterable(
                _iterate_value_problems(key, text, _find_value_span(source, key)) for text in texts
            )
    for key in ("select", "ignore"):
        for code in find_unknown_codes(values.get(key, ())):
            message = f"no finding has a code that starts with `{code}`"
            problems.append(Diagnostic(CONFIGURATION, message, _find_value_span(source, key), hint=FINDING_CODES))
    configuration = Configuration(_find_repository(file.parent) or file.parent, source, **values)
    try:
        parser.parse_facts(configuration.facts or "0 <= 0", "where")
    except ArchlineError as problem:
        problems += map(configuration.locate_diagnostic, problem.diagnostics)
    if problems:
        raise ArchlineError(problems)
    return configuration


def _iterate_value_problems(key: str, text: str, place: Span | None) -> Iterator[Diagnostic]:
    """Yield the errors in the value `text` of a key, located at `place`."""
    try:
        if key in VALUE_READERS:
            VALUE_READERS[key](text)
    except ArchlineError as problem:
        for wrong in problem.diagnostics:
            hint = (wrong.hint or "").replace("--cache Z=32768,L=8", 'cache = "Z=32768, L=8"') or None
            in_machine_file = wrong.span is not None and Path(wrong.span.source.path).suffix == ".toml"
            yield wrong if in_machine_file else replace(wrong, span=place, path=None, line=None, hint=hint)


def find_unknown_codes(codes: Sequence[str]) -> list[str]:
    """Return the codes with which no finding's code begins."""
    from archline.report.findings import RULES

    return [code for code in codes if not any(rule.startswith(code) for rule in RULES)]


def _list_texts(key: str, value: object) -> tuple[str, ...] | None:
    """List the texts of a value; None if it is not a string, nor a list of strings for a key of `LIST_KEYS`."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and key in LIST_KEYS and all(isinstance(item, str) for item in value):
        return tuple(value)
    return None


def _find_value_span(source: Source, key: str) -> Span | None:
    """Find the position of the value of a key of `[tool.archline]`, else of the table; None if neither is there."""
    # Imported here, as places are needed only for errors.
    from archline.language.toml import TomlPositions

    return TomlPositions(source).span(("tool", "archline", key))
