"""Which costs changed between two versions of programs: `archline.diff`, what `archline diff` prints.

Algorithms whose canonical forms are equal cost the same, so that costs are derived of the others alone; what was found
of two canonical forms is kept by their texts.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from fractions import Fraction
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from archline.algebra.effort import Clock, set_time_limit
from archline.analysis.communication.derive import metrics_on_grid
from archline.api.algorithms import Algorithm
from archline.api.modules import Module, load, loads
from archline.api.processes import Refused, kept
from archline.changes import results as r
from archline.changes.baseline import NO_BASELINE, Entry, group_by_metric, make_relative, read_entries, write_costs
from archline.changes.canonical import Canonical, make_canonical, match_sizes, rename_text
from archline.changes.cost_changes import FURTHER, RecordedSubject, compare_versions
from archline.changes.git import NO_VERSION, SUFFIX
from archline.changes.results import CostChange, VersionDifferences
from archline.changes.sides import Side, read_sides
from archline.costs.rules import DEFECT
from archline.costs.sizes import SizeNames, check_known, parse_share
from archline.energy.subjects import AlgorithmSubject, select_facts
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic, error
from archline.language.parser import collect_sizes, parse_facts, parse_headers
from archline.language.source import read_source
from archline.language.suppressions import list_suppressions
from archline.records import record, replace

SERIAL = ("flops", "work", "span", "io")
VERSIONS = "older_version", "newer_version"
"""What the versions of an algorithm are called where they are compared."""
Earlier = Algorithm | Entry
E = TypeVar("E", Algorithm, Entry)


@record
class Terms:
    """How versions are compared: up to a share, at sizes of interest, under further facts, in some seconds each."""

    tolerance: Fraction = Fraction(0)
    at: tuple[tuple[tuple[str, int], ...], ...] = ()
    where: str = ""
    seconds: int = 0


DEFAULT_TERMS = Terms()
Question = tuple[str, str, Terms]
"""What changed between two canonical texts, empty for none, in terms with canonical sizes."""


class Diff(VersionDifferences):
    """What changed between two versions of programs."""

    @property
    def document(self) -> dict[str, Any]:
        """The changes as JSON has them."""
        from archline.report.changes import document

        return document(self)

    def __str__(self) -> str:
        from archline.report.changes import as_text
        from archline.report.layout import terminal_width

        return as_text(self, terminal_width())


def diff(
    base: str | Path,
    head: str | Path | None = None,
    *,
    tolerance: Fraction | int | str = 0,
    at: Sequence[Mapping[str, int]] = (),
    where: str = "",
    fitting: Container[str] = (),
    growth_only: bool = False,
    strict: bool = False,
    left_out: Callable[[Path], bool] = lambda _: False,
    within: Sequence[str] = (),
    seconds: int = 0,
    jobs: int | None = None,
    cached: bool = True,
) -> Diff:
    """Compare the costs of two versions of programs, each a folder, a file or a revision of git.

    Without `head` the work tree is the newer version. `tolerance` is a share, 1/50 or "2%"; `at` gives sizes of
    interest, and `where` further facts about sizes, each for the algorithms that have them: some algorithm has, unless
    "at" or "where" is `fitting`. With `growth_only` changes that leave growth as it was are none. Of folders and
    revisions only what is `within` some paths is compared. The derivation of a version has so many `seconds`, 0 for as
    many as it takes. Raises ArchlineError for versions that cannot be read.
    """
    older, newer = str(base), None if head is None else str(head)
    baselines = {each for each in (older, newer or "") if os.path.isfile(each) and not each.endswith(SUFFIX)}
    if newer in baselines:
        raise error(NO_BASELINE, f"`{newer}` is not a program; a baseline can only be given as BASE", path=newer)
    least = parse_share(tolerance) if isinstance(tolerance, str) else Fraction(tolerance)
    terms = Terms(least, tuple(tuple(each.items()) for each in at), where, seconds)
    search = ChangeSearch(terms, jobs, cached, fitting)
    with ExitStack() as stack:
        if older not in baselines:
            both = read_sides(older, newer, stack, left_out, within)
            return search.found(*search.algorithms(both), growth_only, strict)
        files = read_sides(newer or ".", newer, stack, left_out, within)[1]
        _, after = search.algorithms(({}, files))
        folder = newer if newer is not None and os.path.isdir(newer) else "."
        after = {make_relative(older, os.path.join(folder, key)): each for key, each in after.items()}
        before = search.recorded(
            older, after, {make_relative(older, os.path.join(folder, each)) for each in files.keys() - search.left_out}
        )
        return search.found(before, after, growth_only, strict)


@record(eq=False)
class _Match:
    """Both versions of an algorithm, `path::name`; None for the one that a new or removed algorithm lacks.

    The older one `was` somewhere else, or had another name.
    """

    key: str
    old: Earlier | None
    new: Algorithm | None
    was: str | None = None

    @cached_property
    def forms(self) -> tuple[Canonical | None, Canonical | None]:
        """Both under canonical names, the same for the same sizes: by place where both take the same parameters."""
        old, new = self.old, None if self.new is None else make_canonical(self.new.module, self.new.node)
        if isinstance(old, Entry):
            names = dict(zip(old.sizes, new.sizes if new else (), strict=True))
            return Canonical("\n".join(rename_text(each, names) for each in old.costs), {}), new
        return None if old is None else make_canonical(old.module, old.node, self.shared[0]), new

    @cached_property
    def shared(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The newer sizes by their older names, and where both take the same arrays; nothing where places decide."""
        both = [each for each in (self.old, self.new) if isinstance(each, Algorithm)]
        if len({make_canonical(each.module, each.node).header for each in both}) < 2:
            return (), ()
        old, new = both
        return match_sizes(old.node, new.node, old.sizes, new.sizes)

    @cached_property
    def reordering(self) -> str:
        """A remark on sizes that are compared by position and whose names were in other ones; empty without them."""
        if self.old is None or self.new is None or self.shared[0]:
            return ""
        moved = {new: old for old, new in zip(self.old.sizes, self.new.sizes, strict=False) if old != new}
        were = ", ".join(f"{new} was {old}" for new, old in moved.items())
        return f"the sizes were reordered and are compared by position: {were}" if {*self.old.sizes} & {*moved} else ""

    @property
    def latest(self) -> Algorithm:
        """The newer version, if there is one."""
        found = self.new or self.old
        assert isinstance(found, Algorithm)
        return found

    @cached_property
    def names(self) -> dict[str, str]:
        """The sizes by their canonical names."""
        return {number: name for each in self.forms if each for number, name in each.sizes.items()}

    def own(self, change: CostChange) -> CostChange:
        """A change of the canonical forms in the algorithm's own names."""
        latest, was = self.latest, self.was if self.was and change.verdict != r.EQUAL else None
        span, found = latest.node.name_span, replace(change.in_names(self.names), algorithm=self.key, moved_from=was)
        if change.verdict in (r.GREW, r.ROSE, r.BECAME_UNKNOWN) and change.tolerance is None:
            comments = list_suppressions(latest.module.program, {latest.name}, whole=False)
            found = replace(found, ignored=any(each.covers(change.rule.code, latest.name, 0) for each in comments))
        if change.metric == r.SIZES and self.shared[1]:
            found = replace(found, reason=f"compared where {', '.join(self.shared[1])}")
        if change.verdict == r.BECAME_UNKNOWN:
            report = latest.report()
            cost = (report.costs if change.metric == "io" else report.without_io)[change.metric]
            if cost.upper is None:
                found = replace(found, reason=cost.reason, place=None if cost.span is None else str(cost.span))
        reason = "; ".join(filter(None, (found.reason, self.reordering))) or None
        return replace(found, reason=reason, file=span.source.path, line=span.line)


class ChangeSearch:
    """The search for what changed between two versions of programs: algorithms by `path::name`."""

    def __init__(self, terms: Terms, jobs: int | None, cached: bool, fitting: Container[str] = ()) -> None:
        self._terms, self._jobs, self._cached, self._fitting = terms, jobs, cached, fitting
        self._problems: dict[str, Diagnostic] = {}
        # How many costs the algorithms of a file have that is the same; None for another.
        self._unchanged: dict[str, int | None] = {}
        self._names: list[SizeNames] = []
        # Files with mistakes, and those that are the same.
        self.left_out: set[str] = set()
        # Algorithms of which a baseline has no program with the costs that it has.
        self.bounds: list[str] = []

    def recorded(self, file: str, after: Container[str], checked: Container[str]) -> dict[str, Earlier]:
        """What a baseline has of algorithms, less files that are there and not `checked`. Raises ArchlineError (AL442).

        Programs are taken that have the costs that are written, which count where they are others.
        """
        there, found = os.path.join(os.path.dirname(file), ""), dict[str, Earlier]()
        programs: dict[str, tuple[Algorithm, Entry]] = {}
        for key, entry in read_entries(file)[0].items():
            path, _, name = key.partition("::")
            if key in after or path in checked or not os.path.exists(there + path):
                found[key] = entry
                with suppress(ArchlineError, ValueError):
                    (text,) = map(json.loads, entry.programs)
                    programs[key] = loads("\n" * (entry.line - 1) + text, file)[name], entry
        forms = [make_canonical(each.module, each.node) for each, _ in programs.values()]
        costs = costs_of([each.text for each in forms], self._jobs, self._cached)
        for (key, (program, entry)), form, texts in zip(programs.items(), forms, costs, strict=True):
            if entry.costs.keys() == {rename_text(each, form.sizes) for each in texts}:
                found[key] = program
        self.bounds = [key for key in found if key in after and isinstance(found[key], Entry)]
        return found

    def found(
        self,
        before: dict[str, Earlier],
        after: dict[str, Algorithm],
        growth_only: bool = False,
        strict: bool = False,
        new: bool = True,
    ) -> Diff:
        """What changed, of `new` algorithms too; those alone are left in `after`."""
        self._require_names(each for each in (*before.values(), *after.values()) if isinstance(each, Algorithm))
        matches = [
            _Match(key, before.pop(key), after.pop(key)) for key in [*after] if _fits(before.get(key), after[key])
        ]
        left = {key: each for key, each in before.items() if isinstance(each, Algorithm)}
        matches += self._moved(left, after)
        texts = {key: each for key, each in before.items() if isinstance(each, Entry)}
        both: dict[str, Earlier] = {**texts, **after}
        sizes = {key: _count_sizes(version) for key, version in both.items()}
        matches += _paired(texts, after, lambda key: (sizes[key], _name(key)), single=True)
        changes = [
            CostChange(metric, r.REMOVED, "; ".join(lines), algorithm=key, line=entry.line)
            for key, entry in texts.items()
            for metric, lines in group_by_metric(entry.costs).items()
        ]
        matches += [_Match(key, None, each) for key, each in after.items()] if new else []
        matches += [_Match(key, each, None) for key, each in left.items()]
        for match, answer in self._compared(matches):
            changes += map(match.own, answer) if isinstance(answer, list) else self._refused(match, answer)
        if growth_only:
            # Costs that models take besides are of the order of those that they move with.
            left_out = (r.SIZES, r.WHERE, *FURTHER)
            changes = [change.of_growth for change in changes if change.metric not in left_out]
        counts = Counter(r.verdicts_of_costs(changes).values())
        counts[r.EQUAL] += sum(filter(None, self._unchanged.values()))
        summary = {verdict: counts[verdict] for verdict in (*r.VERDICTS, r.IGNORED) if counts[verdict]}
        changes = [each for each in changes if each.verdict not in (r.EQUAL, r.UNKNOWN)]
        changes.sort(key=lambda each: (r.VERDICTS.index(each.verdict), each.algorithm))
        names = tuple((each.was, each.key) for each in matches if each.was is not None)
        return Diff(tuple(changes), summary, names, tuple(self._problems.values()), strict)

    def _require_names(self, algorithms: Iterator[Algorithm]) -> None:
        """Raise ArchlineError (AL401) where no algorithm has a size of interest, or one that further facts name."""
        self._names += [SizeNames.of(each.module, each.node) for each in algorithms]
        facts = parse_facts(self._terms.where, "--where") if self._terms.where else ()
        # A file that cannot be read may have a size that is missing.
        if not self._problems:
            given = {
                name: (value, None) for each in self._terms.at for name, value in each if "at" not in self._fitting
            }
            facts = facts if "where" not in self._fitting else ()
            check_known({**given, **{name: (None, each.span) for each in facts for name in s.names(each)}}, self._names)

    def algorithms(self, both: tuple[Side, Side]) -> tuple[dict[str, Earlier], dict[str, Algorithm]]:
        """The algorithms of both sides but for those of files that are the same, and of files with mistakes."""
        self.left_out = left_out = {path for path in both[1] if self._same(path, both)}
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
                    same = parse_headers(new)
                    self._unchanged[path] = sum(len(_metrics(each)) for each in same)
                    self._names.append(SizeNames(dict.fromkeys(sorted(collect_sizes(same)), 1)))
        return self._unchanged[path] is not None

    def _moved(self, before: dict[str, Algorithm], after: dict[str, Algorithm]) -> Iterator[_Match]:
        """The algorithms that vanished and appeared under another name or path, which are taken out of both.

        They differ in names alone, or have the same parameters and either the same name, which no other one has, or
        the same costs.
        """
        forms = {key: make_canonical(each.module, each.node) for key, each in chain(before.items(), after.items())}
        yield from _paired(before, after, lambda key: (forms[key].text, _name(key)))
        yield from _paired(before, after, lambda key: forms[key].text)
        yield from _paired(before, after, lambda key: (forms[key].header, _name(key)), single=True)
        shared = {forms[key].header for key in before} & {forms[key].header for key in after}
        likely = [key for key in (*before, *after) if forms[key].header in shared]
        costs = costs_of([forms[key].text for key in likely], self._jobs, self._cached)
        known = {
            key: texts
            for key, texts in zip(likely, costs, strict=True)
            if group_by_metric(texts).keys() >= {*_metrics((before.get(key) or after[key]).node)}
        }
        yield from _paired(before, after, lambda key: (forms[key].header, tuple(known.get(key, [key]))))

    def _compared(self, matches: Sequence[_Match]) -> Iterator[tuple[_Match, list[CostChange] | Refused]]:
        """What changed of each; of those that differ in names alone nothing has to be derived."""
        asked = {each: self._question(each) for each in matches if each.forms[0] != each.forms[1]}
        found = kept(partial(_key, self._cached), _compared, [*asked.values()], _read, self._jobs)
        yield from zip(asked, found, strict=True)
        for each in (each for each in matches if each not in asked):
            yield each, [CostChange(metric, r.EQUAL) for metric in _metrics(each.latest.node)]

    def _question(self, match: _Match) -> Question:
        numbers, terms = {name: number for number, name in match.names.items()}, self._terms
        old, new = (each.text if each else "" for each in match.forms)
        at = tuple(tuple((numbers.get(name, name), value) for name, value in each) for each in terms.at)
        where = ", ".join(filter(None, (terms.where, *match.shared[1])))
        return old, new, replace(terms, at=at, where=rename_text(where, numbers))

    def _refused(self, match: _Match, problems: Refused) -> list[CostChange]:
        """Nothing, after noting why: what an entry names, a version without costs, or else what was in the way."""
        if problems[0].rule == DEFECT:
            self._note(error(DEFECT, f"`{match.key}`: {problems[0].message}"))
            return []
        found: list[Diagnostic] = []
        for each in problems:
            if each.rule == NO_BASELINE and isinstance(match.old, Entry):
                text = rename_text(each.hint or "", match.names)
                message = f"`{text}` names `{each.message}`, which `{match.key}` does not have"
                hint = "correct the entry, or regenerate it with `check --write-baseline`"
                found.append(Diagnostic(NO_BASELINE, message, None, match.old.file, match.old.costs[text], hint))
        for version in (match.old, match.new):
            try:
                if isinstance(version, Algorithm):
                    version.cost(select_facts(version, self._terms.where))
            except ArchlineError as problem:
                found += problem.diagnostics
        if not found:
            # What is not compared is never taken for unchanged.
            rule = NO_BASELINE if isinstance(match.old, Entry) else NO_VERSION
            message = f"the costs of `{match.key}` cannot be compared: {rename_text(problems[0].message, match.names)}"
            found.append(Diagnostic(rule, message, match.latest.node.name_span))
        self._note(ArchlineError(found))
        return []


def _fits(old: Earlier | None, new: Algorithm) -> bool:
    """Whether there is an earlier version, one of a baseline with as many sizes."""
    return isinstance(old, Algorithm) or (old is not None and _count_sizes(old) == _count_sizes(new))


def _count_sizes(version: Earlier) -> int:
    return len(version.sizes if isinstance(version, Entry) else make_canonical(version.module, version.node).sizes)


def _name(key: str) -> str:
    return key.rpartition("::")[2]


def _paired(
    before: dict[str, E], after: dict[str, Algorithm], alike: Callable[[str], object], single: bool = False
) -> Iterator[_Match]:
    """Those that are alike, in order, which are taken out of both; those that a `single` one is like only."""
    groups: dict[object, tuple[list[str], list[str]]] = {}
    for number, keys in enumerate(([*before], [*after])):
        for key in keys:
            groups.setdefault(alike(key), ([], []))[number].append(key)
    for olds, news in groups.values():
        if not single or len(olds) == len(news) == 1:
            for old, new in zip(olds, news, strict=False):
                yield _Match(new, before.pop(old), after.pop(new), old)


def _metrics(algorithm: s.Algorithm) -> tuple[str, ...]:
    """The metrics that are derived of an algorithm."""
    return (*metrics_on_grid(algorithm), "io") if algorithm.grid else SERIAL


def _key(cached: bool, task: object) -> object:
    """What the cache is asked for."""
    return ("changes", task) if cached else None


def costs_of(texts: Sequence[str], jobs: int | None, cached: bool) -> list[list[str]]:
    """What is written of the costs of canonical programs; nothing of one that certainly fails."""
    found = kept(partial(_key, cached), _costs, texts, list[str], jobs)
    return [each if isinstance(each, list) else [] for each in found]


def _costs(text: str) -> list[str]:
    return write_costs(_version(text, VERSIONS[1], "").cost().costs)


def _compared(question: Question) -> list[CostChange]:
    """What changed. Raises ArchlineError for a version that certainly fails, or an entry that cannot be read."""
    before, after, terms = question
    late, Clock.late = Clock.late, False
    try:
        new = _derived(after, VERSIONS[1], terms) if after else None
        old: AlgorithmSubject | None = None
        if before.startswith("algorithm "):
            old = _derived(before, VERSIONS[0], terms)
        elif before and new is not None:
            old = RecordedSubject(_version(after, VERSIONS[0], terms.where), before.split("\n"), new.report)
        set_time_limit(terms.seconds)
        return compare_versions(old, new, terms.tolerance, [dict(each) for each in terms.at])
    finally:
        Clock.late = Clock.late or late


def _derived(text: str, name: str, terms: Terms) -> AlgorithmSubject:
    """A version whose costs are derived, in its own time. Raises ArchlineError."""
    set_time_limit(terms.seconds)
    found = AlgorithmSubject(_version(text, name, terms.where))
    tuple(found.report.costs)
    return found


def _version(text: str, name: str, where: str) -> Algorithm:
    """The algorithm of a canonical text under a name and further facts. Raises ArchlineError."""
    main = text.removeprefix("algorithm ").partition("(")[0]
    found = loads(re.sub(rf"\b{main}\(", f"{name}(", text))[name]
    return found.assuming(select_facts(found, where))


def _read(data: Any) -> list[CostChange]:
    return [CostChange(**each) for each in data]
