"""List the algorithms of the library and of files, format programs in canonical form, and explain diagnostics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from archline.costs import rules
from archline.expr.tree import Source, make_structural_key
from archline.language import name_rules, surface, syntax_rules
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, Rule, error, get_rules_by_code, suggest_closest
from archline.language.loader import declare_in_folder, list_stdlib_modules
from archline.language.parser import list_type_names, parse_program, parse_readable_headers
from archline.language.printer import format_program
from archline.language.source import is_path, read_source
from archline.lazy_modules import load_module
from archline.records import record, replace
from archline.report.library import LibraryEntry
from archline.resources import find_resource

_PACKAGE = Path(__file__).resolve().parents[1]
_RETURNED = re.compile(r"^ .*\breturn +[^\s;#]", re.MULTILINE)
_DEFINITION = re.compile(r"^[A-Z_]+ = Rule\(", re.MULTILINE)


def load_all_rules() -> dict[str, Rule]:
    """Return every rule by code, from all modules that define one."""
    for file in sorted(_PACKAGE.rglob("*.py")):
        if _DEFINITION.search(file.read_text(encoding="utf-8")):
            load_module(".".join(("archline", *file.relative_to(_PACKAGE).with_suffix("").parts)))
    return get_rules_by_code()


def find_rule(code: str) -> Rule:
    """Return the rule of a code such as `AL201`. Raises ArchlineError (AL412) if there is none."""
    rules_by_code = load_all_rules()
    rule = rules_by_code.get(code.strip().upper())
    if rule is None:
        hint = suggest_closest(code.strip().upper(), rules_by_code) or "`archline explain` lists all codes"
        raise error(rules.UNKNOWN_CODE, f"there is no rule `{code[:40]}`", hint=hint)
    return rule


class FormatError(AssertionError):
    """The formatted text differs in meaning from the program, which is a defect of the printer."""


def format_source(source: Source) -> str:
    """Return the canonical text of a program.

    Raises ArchlineError for a program with syntax errors, and FormatError if the text, parsed again, differs from it.
    """
    written = parse_program(source)
    folder = Path(source.path).parent
    program = declare_in_folder(written, folder)
    formatted = format_program(program)
    again = declare_in_folder(parse_program(Source(source.path, formatted)), folder)
    if make_structural_key(again.items) != make_structural_key(program.items) or _list_comment_texts(
        again.comments
    ) != _list_comment_texts(program.comments):
        raise FormatError(f"formatting would change the meaning of {source.path}; the file was left unchanged")
    return formatted


def _list_comment_texts(comments: tuple[object, ...]) -> list[str]:
    return [getattr(comment, "text", "") for comment in comments]


@record
class Listing:
    """The algorithms of some targets, and the errors in headers that leave algorithms out."""

    entries: tuple[LibraryEntry, ...]
    problems: tuple[Diagnostic, ...]


def list_library_entries(targets: Sequence[str]) -> Listing:
    """List the algorithms that targets name; without targets those of the library.

    A target is a family (`dense`) or module (`dense.lu`) of the library, a file or a folder; with `::name` only the
    algorithms of that name are listed. Raises ArchlineError for a target that names nothing.
    """
    problems: dict[str, Diagnostic] = {}
    if not targets:
        entries = [entry for module in list_stdlib_modules() for entry in _iterate_module_entries(module, problems)]
    else:
        entries = [entry for target in targets for entry in _select_entries(target, problems)]
    return Listing(tuple(entries), tuple(problems.values()))


def _select_entries(target: str, problems: dict[str, Diagnostic]) -> list[LibraryEntry]:
    place, separator, name = target.partition("::")
    entries = list(_iterate_entries(place, problems))
    if not separator:
        return entries
    chosen = [entry for entry in entries if entry.name == name or entry.name.endswith(f".{name}")]
    if not chosen and not problems:
        hint = suggest_closest(name, [entry.name for entry in entries])
        raise error(name_rules.UNKNOWN_ALGORITHM, f"`{place}` has no algorithm `{name}`", path=place, hint=hint)
    return chosen


def _iterate_entries(place: str, problems: dict[str, Diagnostic]) -> Iterator[LibraryEntry]:
    path = Path(place)
    if is_path(place):
        for file in sorted(path.rglob("*.algo")) if path.is_dir() else [path]:
            yield from _iterate_file_entries(str(file), file, problems)
        return
    modules = list_stdlib_modules()
    selected = [module for module in modules if module == place or module.startswith(f"{place}.")]
    if not selected:
        families = sorted({module.partition(".")[0] for module in modules})
        hint = suggest_closest(place, [*families, *modules]) or f"the library's families are {', '.join(families)}"
        message = f"there is no file, folder, family or module of the standard library called `{place}`"
        raise error(syntax_rules.MISSING_FILE, message, path=place, hint=hint)
    for module in selected:
        yield from _iterate_module_entries(module, problems)


def _iterate_module_entries(module: str, problems: dict[str, Diagnostic]) -> Iterator[LibraryEntry]:
    file = find_resource("stdlib").joinpath(*module.split(".")).with_suffix(".algo")
    return _iterate_file_entries(module, file, problems)


def _iterate_file_entries(module: str, file: Path, problems: dict[str, Diagnostic]) -> Iterator[LibraryEntry]:
    """Yield the algorithms of a file whose headers are right, and add mistakes in headers to `problems`."""
    try:
        source = read_source(file)
        parsed = parse_readable_headers(source)
    except ArchlineError as problem:
        problems.update((mistake.render(), mistake) for mistake in problem.diagnostics)
        return
    problems.update((mistake.render(), mistake) for mistake in parsed.diagnostics)
    types = list_type_names(source)
    results = _infer_results(source, file.parent, parsed.program.algorithms)
    for written in parsed.program.algorithms:
        algorithm = replace(written, result=results.get(written.name_span.line, written.result))
        match algorithm.parameters[:1]:
            case (s.Parameter(type=surface.RecordType(name=kind)),) if kind in types:
                yield LibraryEntry(module, replace(algorithm, name=f"{kind}.{algorithm.name}"))
            case _:
                yield LibraryEntry(module, algorithm)


def _infer_results(source: Source, folder: Path, algorithms: Sequence[s.Algorithm]) -> dict[int, str | None]:
    """Return the result type of each algorithm, inferred if its header has none, by the line of its header.

    `fmt` writes the same types. The result is empty if there is nothing to infer, or the program has errors.
    """
    if all(algorithm.result for algorithm in algorithms) or not _RETURNED.search(source.text):
        return {}
    with suppress(ArchlineError):
        declared = declare_in_folder(parse_program(source), folder).algorithms
        return {algorithm.name_span.line: algorithm.result for algorithm in declared}
    return {}
