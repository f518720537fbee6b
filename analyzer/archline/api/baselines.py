"""Baselines of costs: written for what `archline check` is asked about, and compared with it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice

from archline.api.algorithms import Algorithm
from archline.api.changes import DEFAULT_TERMS, ChangeSearch, Terms, costs_of
from archline.api.modules import load
from archline.changes.baseline import HEADER, NO_BASELINE, iterate_lines, make_relative, read_entries
from archline.changes.canonical import make_canonical, program_text, rename_text
from archline.changes.git import NO_VERSION
from archline.changes.results import REMOVED, ROSE, CostChange
from archline.claims import rules
from archline.costs.rules import DEFECT
from archline.language.conditions import NEVER_SET
from archline.language.diagnostics import ArchlineError, format_count
from archline.records import replace
from archline.report.changes import table_cells
from archline.report.findings import OUTCOMES, WARNING, CheckFinding, CheckReport, finding
from archline.report.view import BaselineEntry, SourcePlace, relative

LISTED = 4
"""So many of the algorithms that a note is about are named."""


def baseline(
    file: str, targets: Iterable[str], report: CheckReport, jobs: int | None = None, cached: bool = True
) -> str:
    """The text of a baseline: the costs of all algorithms of the targets, and the findings about their claims."""
    named, _ = _algorithms(file, targets)
    forms = {key: make_canonical(each.module, each.node) for key, each in named.items()}
    costs = costs_of([each.text for each in forms.values()], jobs, cached)
    groups: dict[str, set[str]] = {}
    for (key, form), texts in zip(forms.items(), costs, strict=True):
        header = f"{key}({', '.join(form.sizes.values())})"
        program = json.dumps(program_text(named[key].module, named[key].node), ensure_ascii=False)
        groups[key] = {f"{header}  {each}\n" for each in (program, *(rename_text(text, form.sizes) for text in texts))}
    for each in report.findings:
        if each.code in (*OUTCOMES.values(), NEVER_SET.code):
            key = make_relative(file, each.place.path) + (f"::{each.algorithm}" if each.algorithm else "")
            groups.setdefault(key, set()).add(f"accept {each.code} {key}  {each.claim}\n")
    for key, line in _kept(file, targets, named):
        groups.setdefault(key, set()).add(f"{line}\n")
    # Git merges changes between which there is a line that is the same.
    return "\n".join([HEADER, *("".join(sorted(lines)) for _, lines in sorted(groups.items()) if lines)])


def _kept(file: str, targets: Iterable[str], named: Container[str]) -> Iterator[tuple[str, str]]:
    """The lines of a baseline that is there about files, or algorithms, that are too and that are not asked about."""
    if not os.path.exists(file):
        return
    whole = {make_relative(file, each) for each in targets if "::" not in each}
    for key, line in iterate_lines(file):
        path = key.partition("::")[0]
        if path not in whole and key not in named and os.path.exists(os.path.join(os.path.dirname(file), path)):
            yield key, line


def compared_with(
    file: str,
    targets: Sequence[str],
    terms: Terms = DEFAULT_TERMS,
    jobs: int | None = None,
    cached: bool = True,
    notes: list[str] | None = None,
    whole: Callable[[], bool] = lambda: False,
) -> tuple[tuple[CheckFinding, ...], tuple[BaselineEntry, ...]]:
    """What became of the costs that a baseline has, and what it accepts. Raises ArchlineError (AL442).

    An entry is not needed if its algorithm is no more in a file that is a target, or, where the targets are the `whole`
    project, in any, unless it moved. The list of `notes` gets what a new baseline would have besides.
    """
    after, checked = _algorithms(file, targets)
    search = ChangeSearch(terms, jobs, cached, ("where",))
    before = search.recorded(file, after, checked)
    places = {key: SourcePlace(file, entry.line) for key, entry in read_entries(file)[0].items()}
    # Bounds that rose are findings too, which fail a strict check alone.
    compared = search.found(before, after, strict=True, new=False)
    changes = [_change(each) for each in replace(compared, changes=compared.beyond_tolerance).shown]
    removed = dict.fromkeys(each.moved_from or each.algorithm for each in compared.changes if each.verdict == REMOVED)
    elsewhere = "" if not removed or whole() else " unless the algorithm moved to a file that is not checked here"
    for key in (key for key in removed if not elsewhere or key.partition("::")[0] in checked):
        message = f"no algorithm, cost or parameter list matches this entry any more: remove it{elsewhere}"
        changes.append(finding(rules.UNNEEDED.code, message, places[key], key.partition("::")[2], key=key))
    # A check says itself what is wrong with a program.
    if misread := [each for each in compared.problems if each.rule in (NO_BASELINE, NO_VERSION, DEFECT)]:
        raise ArchlineError(misread)
    if notes is not None:
        moved = [f"{old} -> {key}" for old, key in compared.renames]
        notes += _notes(file, ("no entry", after), ("an older name", moved), ("costs without a program", search.bounds))
    return tuple(changes), accepted(file)


def _notes(file: str, *groups: tuple[str, Collection[str]]) -> Iterator[str]:
    """What a baseline has of algorithms, and would not have if it were written now."""
    for said, keys in groups:
        shown = ", ".join([*islice(keys, LISTED), *(["..."] if len(keys) > LISTED else [])])
        if keys:
            update = f"`archline check TARGET --write-baseline {file}` updates it"
            yield f"{file}: note: {said} for {format_count(len(keys), 'algorithm')} ({shown}); {update}"


def accepted(file: str) -> tuple[BaselineEntry, ...]:
    """The findings that a baseline takes over. Raises ArchlineError (AL442)."""
    found: list[BaselineEntry] = []
    for line, each in read_entries(file)[1]:
        path = relative(os.path.normpath(os.path.join(os.path.dirname(file), each["path"])))
        found.append(BaselineEntry(each["code"], path, each["name"] or "", each["claim"], file, line))
    return tuple(found)


def _change(found: CostChange) -> CheckFinding:
    _, metric, said, old, new, more = table_cells(found)
    message = "; ".join(filter(None, (f"{metric} {said}" + f": {old} -> {new}" * bool(old or new), more)))
    place = SourcePlace(relative(found.file), found.line)
    grew = finding(found.rule.code, message, place, found.algorithm.partition("::")[2], key=metric)
    return replace(grew, level=WARNING, title="a bound rose") if found.verdict == ROSE else grew


def _algorithms(file: str, targets: Iterable[str]) -> tuple[dict[str, Algorithm], set[str]]:
    """The algorithms of the targets by their keys in a baseline, and the files that are targets as a whole.

    A check says what is wrong with the others. A file need not have any algorithm.
    """
    found: dict[str, Algorithm] = {}
    files: set[str] = set()
    for target in targets:
        with suppress(ArchlineError):
            module = load(target)
            _, single, name = target.partition("::")
            for each in (module[name] for name in ([name] if single else module)):
                found[f"{make_relative(file, each.node.span.source.path)}::{each.name}"] = each
            files |= set() if single else {make_relative(file, target)}
    return found, files
