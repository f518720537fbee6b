"""Apply the safe edits that findings of a check propose, repeatedly, as one edit can uncover the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path

from archline.api.checks import Outcome, Task, check_tasks
from archline.expr.tree import Source
from archline.language.diagnostics import Diagnostic
from archline.language.edits import apply_edits, choose_edits
from archline.language.source import decode_source, replace_files
from archline.records import record, replace
from archline.report.view import CheckView
from archline.resources import find_resource

MAX_ROUNDS = 10
BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


@record
class FixedFile:
    """A file that edits change: its bytes before and after, and for each edit the code of the rule that proposed it."""

    path: Path
    before: bytes
    after: bytes
    codes: tuple[str, ...] = ()

    @property
    def original(self) -> Source:
        """The text as it was read."""
        return decode_source(str(self.path), self.before)

    @property
    def edited_source(self) -> Source:
        """The text with the edits."""
        return decode_source(str(self.path), self.after)


def fix_targets(tasks: Sequence[Task], jobs: int | None = None) -> tuple[FixedFile, ...]:
    """Return the files of the tasks that safe edits change, with all edits of at most MAX_ROUNDS checks.

    Nothing is written. Files that the targets import, and those of the standard library, are not edited.
    """
    library = find_resource("stdlib").resolve()
    files = {path.resolve(): path for path in (Path(task.target.partition("::")[0]) for task in tasks)}
    fixed: dict[Path, FixedFile] = {}
    left = list(tasks)
    for _ in range(MAX_ROUNDS):
        with replace_files({str(file.path): file.after for file in fixed.values()}):
            # Other processes do not see these contents.
            outcomes = check_tasks(left, 1 if fixed else jobs, cached=not fixed)
        diagnostics = dict(zip(left, map(_list_diagnostics, outcomes), strict=True))
        changed = set[str]()
        for source in dict.fromkeys(_iterate_edited_sources(chain.from_iterable(diagnostics.values()))):
            path = Path(source.path).resolve()
            if path in files and not path.is_relative_to(library):
                before = fixed.get(path) or _read_file(files[path])
                after = _fix_file(before, source, chain.from_iterable(diagnostics.values()))
                if after is not None:
                    fixed[path] = after
                    changed.add(source.path)
        left = [
            task
            for task, problems in diagnostics.items()
            if any(source.path in changed for source in _iterate_edited_sources(problems))
        ]
        if not left:
            break
    return tuple(fixed.values())


def _list_diagnostics(outcome: Outcome) -> tuple[Diagnostic, ...]:
    return outcome.errors if isinstance(outcome, CheckView) else outcome


def _iterate_edited_sources(diagnostics: Iterable[Diagnostic]) -> Iterable[Source]:
    return (edit.span.source for diagnostic in diagnostics if diagnostic.safe for edit in diagnostic.edits)


def _read_file(path: Path) -> FixedFile | None:
    try:
        data = path.read_bytes()
    except OSError:
        return None
    return FixedFile(path, data, data)


def _fix_file(file: FixedFile | None, source: Source, diagnostics: Iterable[Diagnostic]) -> FixedFile | None:
    """Return the file with the safe edits of the diagnostics; None if its text has changed, or no edit changes it."""
    if file is None or file.edited_source.text != source.written:
        return None
    problems = list(diagnostics)
    edits = choose_edits((problem for problem in problems if problem.safe), source)
    text = file.after.decode("utf-8")
    mark = BYTE_ORDER_MARK * text.startswith(BYTE_ORDER_MARK)
    after = (mark + apply_edits(text.removeprefix(mark), edits)).encode("utf-8")
    codes = {edit: problem.code for problem in reversed(problems) for edit in problem.edits}
    done = (*file.codes, *(codes[edit] for edit in edits))
    return None if after == file.after else replace(file, after=after, codes=done)
