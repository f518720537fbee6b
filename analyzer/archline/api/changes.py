"""Which costs changed between two versions of programs: `archline.diff`, what `archline diff` prints.

Algorithms whose canonical forms are equal cost the same, so that costs are derived of the others alone; what was found
of two canonical forms is kept by their texts.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from archline.analysis.communication.derive import metrics_on_grid
from archline.api import processes, result_cache
from archline.api.algorithms import Algorithm, Module, load, loads
from archline.api.cost_changes import Point, RecordedSubject, compared
from archline.api.settings import Names, check_known, share
from archline.api.subjects import AlgorithmSubject
from archline.changes import results as r
from archline.changes.baseline import Entry, by_metric, entries
from archline.changes.canonical import Canonical, canonical, renamed
from archline.changes.git import SUFFIX
from archline.changes.results import CostChange, Differences
from archline.changes.rules import NO_BASELINE
from archline.changes.sides import Side, sides
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, error
from archline.language.headers import headers
from archline.language.source import read_source, recorded
from archline.language.suppressions import suppressions
from archline.records import record, replace

SERIAL = ("flops", "work", "span", "io")
VERSIONS = "older_version", "newer_version"
"""What the versions of an algorithm are called where they are compared."""
Question = tuple[str, str, Fraction, tuple[tuple[tuple[str, int], ...], ...]]
"""The canonical texts of two versions, empty where there is none; the tolerance; sizes of interest, canonical too."""
Earlier = Algorithm | Entry
Changed = list[CostChange] | None
"""What changed of an algorithm; None where a version has no costs, as it certainly fails."""


class Diff(Differences):
    """What changed between two versions of programs."""

    @property
    def document(self) -> dict[str, Any]:
        """The changes as JSON has them."""
        from archline.report.changes import document

        return document(self)

    def __str__(self) -> str:
        from archline.report.changes import text
        from archline.report.layout import terminal_width

        return text(self, terminal_width())


def diff(
    base: str | Path,
    head: str | Path | None = None,
    *,
    tolerance: Fraction | int | str = 0,
    at: Sequence[Point] = (),
    fitting: bool = False,
    growth_only: bool = False,
    strict: bool = False,
    left_out: Callable[[Path], bool] = lambda _: False,
    within: Sequence[str] = (),
    jobs: int | None = None,
    cached: bool = True,
) -> Diff:
    """Compare the costs of two versions of programs, each a folder, a file or a revision of git.

    Without `head` the work tree is the newer version. `tolerance` is a share, 1/50 or "2%"; `at` gives sizes of
    interest, which some algorithm has unless they are `fitting`; with `growth_only` changes that leave growth as it
    was are none. Of folders and revisions only what is `within` some paths is compared. Raises ArchlineError for
    versions that cannot be read.
    """
    older, newer = str(base), None if head is None else str(head)
    baselines = {each for each in (older, newer or "") if os.path.isfile(each) and not each.endswith(SUFFIX)}
    if newer in baselines:
        raise error(NO_BASELINE, f"`{newer}` is no program, and a baseline can only be BASE", path=newer)
    least = share(tolerance) if isinstance(tolerance, str) else Fraction(tolerance)
    comparison = ChangeSearch(least, at, jobs, cached, fitting)
    with ExitStack() as stack:
        if older not in baselines:
            both = sides(older, newer, stack, left_out, within)
            return comparison.found(*comparison.algorithms(both), growth_only, strict)
        _, after = comparison.algorithms(({}, sides(newer or ".", newer, stack, left_out, within)[1]))
        folder = newer if newer is not None and os.path.isdir(newer) else "."
        before = earlier(older, folder, after, {key.partition("::")[0] for key in after})
        return comparison.found(dict(before), after, growth_only, strict)


def earlier(file: str, folder: str, after: Container[str], checked: Container[str]) -> dict[str, Entry]:
    """What a baseline has of algorithms, by the path from a folder.

    Left out are files that are there and not `checked`. Raises ArchlineError (AL442).
    """
    found: dict[str, Entry] = {}
    for key, entry in entries(file)[0].items():
        path, _, name = key.partition("::")
        path = os.path.relpath(os.path.join(os.path.dirname(file), path), folder).replace(os.sep, "/")
        if f"{path}::{name}" in after or path in checked or not os.path.exists(os.path.join(folder, path)):
            found[f"{path}::{name}"] = entry
    return found


@record(eq=False)
class _Match:
    """Both versions of an algorithm, `path::name`; None for the one that a new or removed algorithm lacks."""

    key: str
    old: Earlier | None
    new: Algorithm | None

    @cached_property
    def forms(self) -> tuple[Canonical | None, Canonical | None]:
        """Both under canonical names, the same for the same sizes: by place, or if there are more or fewer by name."""
        old, new = self.old, None if self.new is None else canonical(self.new.module, self.new.node)
        if isinstance(old, Entry):
            names = dict(zip(old.sizes, new.sizes if new else (), strict=True))
            return Canonical("\n".join(renamed(each, names) for each in old.costs), {}), new
        like = self.new.sizes if old and self.new and len(old.sizes) != len(self.new.sizes) else ()
        return None if old is None else canonical(old.module, old.node, like), new

    @property
    def same(self) -> bool:
        """Whether both versions differ in names alone."""
        return self.forms[0] == self.forms[1]

    @property
    def latest(self) -> Algorithm:
        """The newer version, if there is one."""
        found = self.new or self.old
        assert isinstance(found, Algorithm)
        return found

    @property
    def names(self) -> dict[str, str]:
        """The sizes by their canonical names."""
        return {number: name for each in self.forms if each for number, name in each.sizes.items()}

    def own(self, change: CostChange) -> CostChange:
        """A change of the canonical forms in the algorithm's own names."""
        latest = self.latest
        span, found = latest.node.name_span, replace(change.in_names(self.names), algorithm=self.key)
        if change.verdict in (r.GREW, r.ROSE, r.BECAME_UNKNOWN) and change.tolerance is None:
            comments = suppressions(latest.module.program, {latest.name}, whole=False)
            found = replace(found, ignored=any(each.covers(change.rule.code, latest.name, 0) for each in comments))
        if change.verdict == r.BECAME_UNKNOWN:
            report = latest.report()
            cost = (report.costs if change.metric == "io" else report.without_io)[change.metric]
            found = replace(found, reason=cost.reason, place=None if cost.span is None else str(cost.span))
        return replace(found, file=span.source.path, line=span.line)


class ChangeSearch:
    """The search for what changed between two versions of programs: algorithms by `path::name`."""

    def __init__(
        self, tolerance: Fraction, at: Sequence[Point], jobs: int | None, cached: bool, fitting: bool = False
    ) -> None:
        self._tolerance, self._at, self._jobs, self._cached, self._fitting = tolerance, at, jobs, cached, fitting
        self._problems: dict[str, Diagnostic] = {}
        # How many costs the algorithms of a file have that is the same; None for another.
        self._unchanged: dict[str, int | None] = {}
        self._names: list[Names] = []
        self._known: dict[Question, Changed] = {}

    def found(
        self, before: dict[str, Earlier], after: dict[str, Algorithm], growth_only: bool = False, strict: bool = False
    ) -> Diff:
        """What changed; both versions are emptied."""
        matches = [
            _Match(key, before.pop(key), after.pop(key)) for key in [*after] if _fits(before.get(key), after[key])
        ]
        algorithms = chain(before.values(), after.values(), *((each.old, each.new) for each in matches))
        self._names += [Names.of(each.module, each.node) for each in algorithms if isinstance(each, Algorithm)]
        # A file that cannot be read may have a size that is missing.
        if not self._problems and not self._fitting:
            check_known({name: (value, None) for each in self._at for name, value in each.items()}, self._names)
        changes = [
            CostChange(metric, r.REMOVED, "; ".join(texts), algorithm=key, line=entry.line)
            for key, entry in before.items()
            if isinstance(entry, Entry)
            for metric, texts in by_metric(entry.costs).items()
        ]
        left = {key: each for key, each in before.items() if isinstance(each, Algorithm)}
        renames = list(self._renames(left, after))
        matches += [each for _, each in renames]
        matches += [_Match(key, None, each) for key, each in after.items()]
        matches += [_Match(key, each, None) for key, each in left.items()]
        for match, changed in zip(matches, self._changed(matches), strict=True):
            changes += self._refused(match) if changed is None else map(match.own, self._read(match, changed))
        if growth_only:
            changes = [
                replace(each, verdict=r.EQUAL, ignored=False) if each.grows_as_before else each for each in changes
            ]
        said = {(each.algorithm, each.metric, r.IGNORED if each.ignored else each.verdict) for each in changes}
        counts = Counter(verdict for *_, verdict in said)
        counts[r.EQUAL] += sum(filter(None, self._unchanged.values()))
        summary = {verdict: counts[verdict] for verdict in (*r.VERDICTS, r.IGNORED) if counts[verdict]}
        changes = [each for each in changes if each.verdict not in (r.EQUAL, r.UNKNOWN)]
        changes.sort(key=lambda each: (r.VERDICTS.index(each.verdict), each.algorithm))
        names = tuple((old, match.key) for old, match in renames)
        return Diff(tuple(changes), summary, names, tuple(self._problems.values()), strict)

    def algorithms(self, both: tuple[Side, Side]) -> tuple[dict[str, Earlier], dict[str, Algorithm]]:
        """The algorithms of both sides but for those of files that are the same, and of files with mistakes."""
        left_out = {path for path in both[1] if self._same(path, both)}
        loaded: list[dict[str, Module]] = []
        for side in both:
            loaded.append({})
            for path in (each for each in side if each not in left_out):
                try:
                    loaded[-1][path] = load(side[path])
                except ArchlineError as problem:
                    self._note(problem)
                    left_out.add(path)
        old, new = (
            {f"{path}::{name}": found[path][name] for path in found if path not in left_out for name in found[path]}
            for found in loaded
        )
        return dict(old), new

    def _note(self, problem: ArchlineError) -> None:
        """A file that several use is reported once."""
        self._problems |= {each.render(): each for each in problem.diagnostics}

    def _same(self, path: str, both: tuple[Side, Side]) -> bool:
        """Whether a file and all files that it uses are the same on both sides."""
        if path not in self._unchanged:
            self._unchanged[path] = None
            with suppress(ArchlineError, KeyError):
                # What cannot be read, or is on one side alone, is reported when it is loaded.
                old, new = (read_source(side[path]) for side in both)
                uses = re.findall(r"^use +([\w.]+)", new.text, re.MULTILINE)
                used = {f"{os.path.join(os.path.dirname(path), *each.split('.'))}{SUFFIX}" for each in uses}
                here = (each for each in used if any(each in side for side in both))
                if old.text == new.text and all(self._same(each, both) for each in here):
                    same = headers(new)
                    self._unchanged[path] = sum(len(_metrics(each)) for each in same)
                    self._names.append(Names(dict.fromkeys(sorted(s.names(same)), 1)))
        return self._unchanged[path] is not None

    def _renames(self, before: dict[str, Algorithm], after: dict[str, Algorithm]) -> Iterator[tuple[str, _Match]]:
        """The algorithms that vanished and appeared under another name or path, which are taken out of both.

        They have the same signature and equal costs; first come those that differ in names alone, then the same names.
        """
        pairs = [(old, _Match(new, before[old], after[new])) for new, old in product(after, before)]
        likely = [each for each in pairs if len({form.header for form in each[1].forms if form}) == 1]
        likely.sort(key=lambda each: (not each[1].same, Path(each[0]).name != Path(each[1].key).name))
        for old, match in likely:
            if old in before and match.key in after:
                (changed,) = self._changed([match])
                if changed is not None and all(each.verdict in (r.EQUAL, r.OTHER_FORM) for each in changed):
                    del before[old], after[match.key]
                    yield old, match

    def _changed(self, matches: Sequence[_Match]) -> list[Changed]:
        """What changed of each; of those that differ in names alone nothing has to be derived."""
        asked = [None if each.same else self._question(each) for each in matches]
        left = [each for each in dict.fromkeys(asked) if each is not None and each not in self._known]
        if self._cached:
            self._known |= {each: kept for each in left if (kept := _kept(each)) is not None}
            left = [each for each in left if each not in self._known]
        found = processes.results(partial(_compared, self._cached), left, self._jobs)
        self._known |= dict(zip(left, found, strict=True))
        same = ([CostChange(metric, r.EQUAL) for metric in _metrics(each.latest.node)] for each in matches)
        return [each if question is None else self._known[question] for question, each in zip(asked, same, strict=True)]

    def _question(self, match: _Match) -> Question:
        numbers = {name: number for number, name in match.names.items()}
        old, new = (each.text if each else "" for each in match.forms)
        at = tuple(tuple((numbers.get(name, name), value) for name, value in each.items()) for each in self._at)
        return old, new, self._tolerance, at

    def _read(self, match: _Match, changed: list[CostChange]) -> list[CostChange]:
        """The changes without those of costs in a baseline that name what is no size, which are noted."""
        if not isinstance(match.old, Entry):
            return changed
        misread = [each for each in changed if each.verdict == r.ROSE and each.reason is not None]
        for each in misread:
            lines = match.old.costs
            text = next(text for text in lines if re.search(rf"^{each.metric} .*\b{each.reason}\b", text))
            message = f"`{text}` names `{each.reason}`, which `{match.key}` does not have"
            hint = "correct the entry, or write it anew with `check --write-baseline`"
            self._note(error(NO_BASELINE, message, path=match.old.file, line=lines[text], hint=hint))
        return [each for each in changed if each not in misread]

    def _refused(self, match: _Match) -> list[CostChange]:
        """Nothing, after noting why a version has no costs."""
        for version in (match.old, match.new):
            try:
                if isinstance(version, Algorithm):
                    version.cost()
            except ArchlineError as problem:
                self._note(problem)
        return []


def _fits(old: Earlier | None, new: Algorithm) -> bool:
    """Whether there is an earlier version, one of a baseline with as many sizes."""
    if isinstance(old, Entry):
        return len(old.sizes) == len(canonical(new.module, new.node).sizes)
    return old is not None


def _metrics(algorithm: s.Algorithm) -> tuple[str, ...]:
    """The metrics that are derived of an algorithm."""
    return (*metrics_on_grid(algorithm), "io") if algorithm.grid else SERIAL


def _kept(question: Question) -> Changed:
    """What was found before."""
    try:
        return [CostChange(**each) for each in result_cache.find(("changes", question))]
    except (LookupError, TypeError, AttributeError):
        return None


def _compared(cached: bool, question: Question) -> Changed:
    """What changed."""
    before, after, tolerance, at = question
    with recorded() as read:
        try:
            old: AlgorithmSubject | None = None
            if before and not before.startswith("algorithm "):
                old = RecordedSubject(version_of(after, VERSIONS[0]), before.split("\n"))
            elif before:
                old = AlgorithmSubject(version_of(before, VERSIONS[0]))
            new = AlgorithmSubject(version_of(after, VERSIONS[1])) if after else None
            changes = compared(old, new, tolerance, list(map(dict, at)))
        except ArchlineError:
            return None
    if cached:
        result_cache.store(("changes", question), read, [asdict(each) for each in changes])
    return changes


def version_of(text: str, name: str = VERSIONS[1]) -> Algorithm:
    """The algorithm of a canonical text under a name. Raises ArchlineError."""
    main = text.removeprefix("algorithm ").partition("(")[0]
    return loads(re.sub(rf"\b{main}\(", f"{name}(", text))[name]
