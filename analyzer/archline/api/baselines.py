"""Write the costs of the targets of `archline check` as a baseline, and compare the targets with a baseline."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from archline.api.algorithms import Algorithm
from archline.api.changes import DEFAULT_TERMS, ChangeSearch, Terms, derive_written_costs
from archline.api.modules import load
from archline.changes.baseline import HEADER, NO_BASELINE, iterate_lines, make_relative_to_file, read_entries
from archline.changes.git import NO_VERSION
from archline.changes.results import REMOVED, ROSE, CostChange
from archline.claims import rules
from archline.costs.rules import DEFECT
from archline.language.canonical import make_canonical, rename_text, write_program
from archline.language.conditions import NEVER_ENDS, NEVER_READ, NEVER_SET
from archline.language.diagnostics import WARNING, ArchlineError, format_count
from archline.records import replace
from archline.report.changes import make_change_row
from archline.report.findings import OUTCOME_CODES, CheckFinding, CheckReport, make_finding
from archline.report.view import BaselineEntry, SourcePlace, make_path_relative

MAX_LISTED = 4
"""The maximum number of algorithms that a note names."""


def build_baseline(
    file: str, targets: Iterable[str], report: CheckReport, jobs: int | None = None, cached: bool = True
) -> str:
    """Return the text of a baseline: the costs of all algorithms of the targets, and the findings about claims.

    Costs are derived by at most `jobs` processes, with `cached` read from the result cache. Lines of `file` about
    algorithms that are not checked now are copied to the new text.
    """
    named, _ = _load_algorithms(file, targets)
    forms = {key: make_canonical(algorithm.module, algorithm.node) for key, algorithm in named.items()}
    costs = derive_written_costs([form.text for form in forms.values()], jobs, cached)
    groups: dict[str, set[str]] = {}
    for (key, form), texts in zip(forms.items(), costs, strict=True):
        header = f"{key}({', '.join(form.sizes.values())})"
        program = write_program(named[key].module, named[key].node)
        names = {number: program.rename_iterations(name) for number, name in form.names.items()}
        costs_in_names = (rename_text(text, names) for text in texts)
        entries = (json.dumps(program.text, ensure_ascii=False), *costs_in_names)
        groups[key] = {f"{header}  {entry}\n" for entry in entries}
    for problem in report.findings:
        if problem.code in (*OUTCOME_CODES.values(), NEVER_SET.code, NEVER_READ.code, NEVER_ENDS.code):
            key = make_relative_to_file(file, problem.place.path) + (
                f"::{problem.algorithm}" if problem.algorithm else ""
            )
            groups.setdefault(key, set()).add(f"accept {problem.code} {key}  {problem.claim}\n")
    for key, line in _iterate_kept_lines(file, targets, named):
        groups.setdefault(key, set()).add(f"{line}\n")
    # An empty line between groups lets git merge changes of neighbouring algorithms.
    return "\n".join([HEADER, *("".join(sorted(lines)) for _, lines in sorted(groups.items()) if lines)])


def _iterate_kept_lines(file: str, targets: Iterable[str], named: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield key and text of the lines of the baseline `file` that a new baseline takes over.

    The source file of a line must exist and not be a target without `::`, and its key must not be among `named`, the
    algorithms checked now.
    """
    if not os.path.exists(file):
        return
    whole = {make_relative_to_file(file, target) for target in targets if "::" not in target}
    for key, line in iterate_lines(file):
        path = key.partition("::")[0]
        if path not in whole and key not in named and os.path.exists(os.path.join(os.path.dirname(file), path)):
            yield key, line


def compare_with_baseline(
    file: str,
    targets: Sequence[str],
    terms: Terms = DEFAULT_TERMS,
    jobs: int | None = None,
    cached: bool = True,
    notes: list[str] | None = None,
    whole: Callable[[], bool] = lambda: False,
) -> tuple[tuple[CheckFinding, ...], tuple[BaselineEntry, ...]]:
    """Compare the costs of targets with a baseline; return findings and accepted entries. Raises ArchlineError (AL442).

    An entry is unneeded if its algorithm did not move and no longer exists: in its file if that is a target, or in any
    file if `whole()`, which returns whether the targets are the whole project. Notes on what a new baseline would
    change are appended to `notes`. At most `jobs` processes derive costs; with `cached` the result cache is read.
    """
    after, checked = _load_algorithms(file, targets)
    search = ChangeSearch(terms, jobs, cached, ("where",))
    before = search.read_baseline(file, after, checked)
    places = {key: SourcePlace(file, entry.line) for key, entry in read_entries(file)[0].items()}
    # Bounds that rose are findings too, which fail only a strict check.
    compared = search.find_differences(before, after, strict=True, new=False)
    changes = [_make_finding(change) for change in replace(compared, changes=compared.beyond_tolerance).shown]
    removed = dict.fromkeys(
        change.moved_from or change.algorithm for change in compared.changes if change.verdict == REMOVED
    )
    elsewhere = "" if not removed or whole() else " unless the algorithm moved to a file that is not checked here"
    for key in (key for key in removed if not elsewhere or key.partition("::")[0] in checked):
        message = f"no algorithm, cost or parameter list matches this entry any more: remove it{elsewhere}"
        changes.append(make_finding(rules.UNNEEDED.code, message, places[key], key.partition("::")[2], key=key))
    # The check itself reports the errors in programs.
    if misread := [problem for problem in compared.problems if problem.rule in (NO_BASELINE, NO_VERSION, DEFECT)]:
        raise ArchlineError(misread)
    if notes is not None:
        moved = [f"{old} -> {key}" for old, key in compared.renames]
        notes += (f"{file}: note: assuming as many iterations as before: {text}" for text in compared.assumptions)
        notes += _iterate_notes(
            file, ("no entry", after), ("an older name", moved), ("costs without a program", search.bounds)
        )
    return tuple(changes), read_accepted_findings(file)


def _iterate_notes(file: str, *groups: tuple[str, Collection[str]]) -> Iterator[str]:
    """Yield notes on algorithms whose entries a new baseline would change; a group is a subject and its algorithms."""
    for subject, keys in groups:
        shown = ", ".join([*islice(keys, MAX_LISTED), *(["..."] if len(keys) > MAX_LISTED else [])])
        if keys:
            update = f"`archline check TARGET --write-baseline {file}` updates it"
            yield f"{file}: note: {subject} for {format_count(len(keys), 'algorithm')} ({shown}); {update}"


def read_accepted_findings(file: str) -> tuple[BaselineEntry, ...]:
    """Return the findings that the baseline `file` accepts. Raises ArchlineError (AL442)."""
    entries: list[BaselineEntry] = []
    for line, fields in read_entries(file)[1]:
        path = make_path_relative(os.path.normpath(os.path.join(os.path.dirname(file), fields["path"])))
        entries.append(BaselineEntry(fields["code"], path, fields["name"] or "", fields["claim"], file, line))
    return tuple(entries)


def _make_finding(change: CostChange) -> CheckFinding:
    """Make the finding of a cost that grew or became unknown; a warning for a bound that rose."""
    _, metric, outcome, old, new, more = make_change_row(change)
    message = "; ".join(
        filter(None, (f"{metric} {outcome}" + f": {old} -> {new}" * bool(old or new), more, change.assumption))
    )
    place = SourcePlace(make_path_relative(change.file), change.line)
    grew = make_finding(change.rule.code, message, place, change.algorithm.partition("::")[2], key=metric)
    return replace(grew, severity=WARNING, title="a bound rose") if change.verdict == ROSE else grew


def _load_algorithms(file: str, targets: Iterable[str]) -> tuple[dict[str, Algorithm], set[str]]:
    """Load the algorithms of the targets by their keys in a baseline; also return the files that are targets.

    Targets with errors are skipped, as a check reports them. A file may have no algorithm.
    """
    algorithms: dict[str, Algorithm] = {}
    files: set[str] = set()
    for target in targets:
        with suppress(ArchlineError):
            module = load(target)
            _, single, name = target.partition("::")
            for algorithm in (module[name] for name in ([name] if single else module)):
                algorithms[f"{make_relative_to_file(file, algorithm.node.span.source.path)}::{algorithm.name}"] = (
                    algorithm
                )
            files |= set() if single else {make_relative_to_file(file, target)}
    return algorithms, files
