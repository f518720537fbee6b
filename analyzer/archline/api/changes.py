"""Compare two versions of programs: `archline.diff` finds the changed costs that `archline diff` prints.

Algorithms with equal canonical forms have equal costs, so only the costs of other algorithms are derived; the changes
between two canonical forms are cached by their texts.
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
from archline.analysis.communication.derive import list_grid_metrics
from archline.api.algorithms import Algorithm
from archline.api.modules import Module, load, loads
from archline.api.processes import Refused, find_or_compute
from archline.changes import results as r
from archline.changes.baseline import (
    NO_BASELINE,
    Entry,
    group_by_metric,
    make_relative_to_file,
    read_entries,
    write_costs,
)
from archline.changes.cost_changes import FURTHER_METRICS, RecordedSubject, compare_versions
from archline.changes.git import NO_VERSION, SUFFIX
from archline.changes.results import CostChange, VersionDifferences
from archline.changes.sides import Side, read_sides
from archline.costs.algorithms import select_facts
from archline.costs.rules import DEFECT
from archline.costs.sizes import SizeNames, parse_share, require_known_names
from archline.energy.subjects import AlgorithmSubject
from archline.language import syntax as s
from archline.language.canonical import Canonical, make_canonical, match_iterations, match_sizes, rename_text
from archline.language.diagnostics import ArchlineError, Diagnostic, error
from archline.language.iterations import NamedLoop, list_iterations
from archline.language.parser import collect_sizes, parse_facts, parse_headers
from archline.language.source import read_source
from archline.language.suppressions import list_suppressions
from archline.records import record, replace
from archline.report.view import SourcePlace

SERIAL_METRICS = ("flops", "work", "span", "io")
VERSION_NAMES = "older_version", "newer_version"
"""Names of the two versions of an algorithm in the canonical texts that are compared."""
Earlier = Algorithm | Entry
E = TypeVar("E", Algorithm, Entry)


@record
class Terms:
    """The terms of a comparison: a tolerance, sizes of interest `at`, further facts, and seconds for each version."""

    tolerance: Fraction = Fraction(0)
    at: tuple[tuple[tuple[str, int], ...], ...] = ()
    where: str = ""
    seconds: int = 0


DEFAULT_TERMS = Terms()
Question = tuple[str, str, Terms]
"""Two canonical texts, an empty one for a missing version, and the terms in canonical sizes."""


class Diff(VersionDifferences):
    """The changes between two versions of programs."""

    @property
    def document(self) -> dict[str, Any]:
        """The changes as the JSON document that `archline diff` prints."""
        from archline.report.changes import make_json_document

        return make_json_document(self)

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
    interest, and `where` further facts about sizes, which apply to the algorithms with such sizes: at least one must
    have them, unless "at" or "where" is in `fitting`. `growth_only` omits changes that keep the growth. In folders and
    revisions only programs below the paths `within` and not `left_out` are compared. With `strict`, a bound that rose
    is a finding too. The derivation of a version takes at most `seconds`; 0 means unlimited. With `cached` the result
    cache is used. Raises ArchlineError for versions that cannot be read.
    """
    older, newer = str(base), None if head is None else str(head)
    baselines = {path for path in (older, newer or "") if os.path.isfile(path) and not path.endswith(SUFFIX)}
    if newer in baselines:
        raise error(NO_BASELINE, f"`{newer}` is not a program; a baseline can only be given as BASE", path=newer)
    share = parse_share(tolerance) if isinstance(tolerance, str) else Fraction(tolerance)
    terms = Terms(share, tuple(tuple(point.items()) for point in at), where, seconds)
    search = ChangeSearch(terms, jobs, cached, fitting)
    with ExitStack() as stack:
        if older not in baselines:
            both = read_sides(older, newer, stack, left_out, within)
            return search.find_differences(*search.load_algorithms(both), growth_only, strict)
        files = read_sides(newer or ".", newer, stack, left_out, within)[1]
        _, after = search.load_algorithms(({}, files))
        folder = newer if newer is not None and os.path.isdir(newer) else "."
        after = {make_relative_to_file(older, os.path.join(folder, key)): version for key, version in after.items()}
        before = search.read_baseline(
            older,
            after,
            {make_relative_to_file(older, os.path.join(folder, path)) for path in files.keys() - search.left_out},
        )
        return search.find_differences(before, after, growth_only, strict)


@record(eq=False)
class _Match:
    """The two versions of the algorithm `key`, a `path::name`; one is None for a new or a removed algorithm.

    `was` is the key of the older version if it differs.
    """

    key: str
    old: Earlier | None
    new: Algorithm | None
    was: str | None = None

    @cached_property
    def canonical_forms(self) -> tuple[Canonical | None, Canonical | None]:
        """The canonical forms of both versions, in which matching sizes have equal names; `shared` matches them."""
        old, new = self.old, None
        if self.new is not None:
            new = make_canonical(self.new.module, self.new.node, keep_iterations=self.names_iterations)
        if isinstance(old, Entry):
            names = dict(zip(old.sizes, new.sizes if new else (), strict=True))
            names |= self._match_recorded_iterations(old)
            return Canonical("\n".join(rename_text(line, names) for line in old.costs), {}), new
        if old is None or self.new is None:
            return None if old is None else make_canonical(old.module, old.node, self.matched_sizes[0]), new
        counted = match_iterations((old.module, old.node), (self.new.module, self.new.node), self.matched_sizes[0])
        return make_canonical(old.module, old.node, self.matched_sizes[0], counted, self.names_iterations), new

    @cached_property
    def names_iterations(self) -> bool:
        """Whether one version names the iterations of a loop, and the other one does not."""
        versions = [version for version in (self.old, self.new) if isinstance(version, Algorithm)]
        chosen = [{item.loop.chosen for item in list_iterations(version.module, version.node)} for version in versions]
        return len(chosen) == 2 and {True} in chosen and any(False in kinds for kinds in chosen)

    def _match_recorded_iterations(self, old: Entry) -> dict[str, str]:
        """Map iteration counts in an entry's costs to canonical names, by its program, else by names in the source."""
        if self.new is None:
            return {}
        program = self.new.module, self.new.node
        counted = list_iterations(*program)
        earlier = {item.name: item.name for item in counted if not item.loop.chosen}
        if old.program is not None:
            earlier = {
                was: item.name
                for was, item in zip(match_iterations(old.program, program), counted, strict=False)
                if was
            }
        numbers = {name: number for number, name in make_canonical(*program).iterations.items()}
        return {was: numbers[name] for was, name in earlier.items()}

    @cached_property
    def unbounded_loops(self) -> dict[str, NamedLoop]:
        """The loops without a bound of both versions, by the canonical names of their iterations."""
        result: dict[str, NamedLoop] = {}
        for word, version, form in zip(("old", "new"), (self.old, self.new), self.canonical_forms, strict=True):
            if isinstance(version, Algorithm) and form is not None:
                counted = {item.name: item for item in list_iterations(version.module, version.node)}
                for number, name in form.iterations.items():
                    result[number] = NamedLoop(self.display_names.get(number, name), counted[name], word)
        return result

    @cached_property
    def matched_iterations(self) -> frozenset[str]:
        """The canonical names of the iteration counts whose loops have the same text in both versions."""
        old, new = (form.iterations.keys() if form else frozenset() for form in self.canonical_forms)
        return frozenset(new if isinstance(self.old, Entry) else old & new)

    @cached_property
    def matched_sizes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The older name of each newer size, and facts under which both take the same arrays; empty if by position.

        Sizes are matched by position if both versions take the same parameters.
        """
        both = [version for version in (self.old, self.new) if isinstance(version, Algorithm)]
        if len({make_canonical(version.module, version.node).header for version in both}) < 2:
            return (), ()
        old, new = both
        return match_sizes(old.node, new.node, old.sizes, new.sizes)

    @cached_property
    def reordering_note(self) -> str:
        """A remark on sizes that are compared by position though their order has changed; empty if there are none."""
        if self.old is None or self.new is None or self.matched_sizes[0]:
            return ""
        moved = {new: old for old, new in zip(self.old.sizes, self.new.sizes, strict=False) if old != new}
        were = ", ".join(f"{new} was {old}" for new, old in moved.items())
        return f"the sizes were reordered and are compared by position: {were}" if {*self.old.sizes} & {*moved} else ""

    @property
    def latest(self) -> Algorithm:
        """The newer version if there is one, else the older one."""
        version = self.new or self.old
        assert isinstance(version, Algorithm)
        return version

    @cached_property
    def display_names(self) -> dict[str, str]:
        """Sizes and iteration counts by canonical name; `old.T1` is an older one if the newer version has a T1."""
        before, after = (form.sizes if form else {} for form in self.canonical_forms)
        old, new = (form.iterations if form else {} for form in self.canonical_forms)
        # Sizes that only the older version has keep their names, unless iterations of the newer one have them.
        taken = {*new.values(), *after.values()}
        olds = {number: f"old.{name}" if name in taken else name for number, name in old.items() if number not in new}
        sizes = {number: f"old.{name}" if name in new.values() else name for number, name in before.items()}
        return {**olds, **sizes, **new, **after}

    def translate_change(self, change: CostChange) -> CostChange:
        """Convert a change of the canonical forms to the names of the algorithm, with its file, line and remarks."""
        latest, was = self.latest, self.was if self.was and change.verdict != r.EQUAL else None
        span, result = (
            latest.node.name_span,
            replace(change.in_names(self.display_names), algorithm=self.key, moved_from=was),
        )
        if change.counted and self.old is not None and self.new is not None:
            result = self._explain_iterations(
                result, [number for number in change.counted if number in self.unbounded_loops]
            )
        if change.verdict in (r.GREW, r.ROSE, r.BECAME_UNKNOWN, r.NOT_DECIDED) and change.tolerance is None:
            comments = list_suppressions(latest.module.program, {latest.name}, whole=False)
            result = replace(
                result, ignored=any(comment.covers_finding(change.rule.code, latest.name, 0) for comment in comments)
            )
        if change.metric == r.SIZES and self.matched_sizes[1]:
            result = replace(result, reason=f"compared where {', '.join(self.matched_sizes[1])}")
        if change.verdict == r.BECAME_UNKNOWN:
            report = latest.report()
            cost = (report.costs if change.metric == "io" else report.without_io)[change.metric]
            if cost.upper is None:
                result = replace(result, reason=cost.reason, place=None if cost.span is None else str(cost.span))
        reason = "; ".join(filter(None, (result.reason, self.reordering_note))) or None
        return replace(result, reason=reason, file=span.source.path, line=span.line)

    def _explain_iterations(self, change: CostChange, numbers: Sequence[str]) -> CostChange:
        """Add to a change the loops whose iterations its costs count, assumptions on these, or why it is undecided."""
        loops = [self.unbounded_loops[number] for number in numbers]
        assumed = [
            f"{loop.name} of the loop in {SourcePlace.of(loop.span)}"
            for number, loop in zip(numbers, loops, strict=True)
            if number in self.matched_iterations
        ]
        reason = change.reason
        if change.verdict == r.NOT_DECIDED:
            apart = [loop for number, loop in zip(numbers, loops, strict=True) if number not in self.matched_iterations]
            names = ", ".join(f"{loop.name} ({SourcePlace.of(loop.span)})" for loop in apart)
            several = len({loop.program for loop in apart}) > 1
            why = f"{names} count iterations of different loops" if several else f"nothing bounds {names} in the sizes"
            reason = "; ".join(filter(None, (why, reason)))
        return replace(change, iterations=tuple(loops), assumptions=tuple(assumed), reason=reason)


class ChangeSearch:
    """The search for changed costs between two versions of programs; algorithms have keys `path::name`."""

    def __init__(self, terms: Terms, jobs: int | None, cached: bool, fitting: Container[str] = ()) -> None:
        self._terms, self._jobs, self._cached, self._fitting = terms, jobs, cached, fitting
        self._problems: dict[str, Diagnostic] = {}
        # The number of costs in an unchanged file; None for a changed file.
        self._unchanged: dict[str, int | None] = {}
        self._names: list[SizeNames] = []
        # Files with errors, and unchanged files.
        self.left_out: set[str] = set()
        # Algorithms for which a baseline has costs, but no program with these costs.
        self.bounds: list[str] = []

    def read_baseline(self, file: str, after: Container[str], checked: Container[str]) -> dict[str, Earlier]:
        """Read the earlier algorithms from a baseline. Raises ArchlineError (AL442).

        Entries of existing files that are not `checked` are left out, unless the algorithm is in `after`. The result
        has the program that an entry stores if its costs are still the stored ones, else the entry.
        """
        folder, result = os.path.join(os.path.dirname(file), ""), dict[str, Earlier]()
        programs: dict[str, tuple[Algorithm, Entry]] = {}
        for key, entry in read_entries(file)[0].items():
            path = key.partition("::")[0]
            if key in after or path in checked or not os.path.exists(folder + path):
                result[key] = entry
                with suppress(ArchlineError, ValueError):
                    (text,) = map(json.loads, entry.programs)
                    module = loads("\n" * (entry.line - 1) + text, file)
                    # Its name is another one where it was `queue.push`, which no program can define.
                    program = module[next(iter(module))]
                    programs[key] = program, entry
                    result[key] = replace(entry, program=(program.module, program.node))
        forms = [make_canonical(program.module, program.node) for program, _ in programs.values()]
        costs = derive_written_costs([form.text for form in forms], self._jobs, self._cached)
        for (key, (program, entry)), form, texts in zip(programs.items(), forms, costs, strict=True):
            if entry.costs.keys() == {rename_text(line, form.names) for line in texts}:
                result[key] = program
        self.bounds = [key for key in result if key in after and isinstance(result[key], Entry)]
        return result

    def find_differences(
        self,
        before: dict[str, Earlier],
        after: dict[str, Algorithm],
        growth_only: bool = False,
        strict: bool = False,
        new: bool = True,
    ) -> Diff:
        """Compare the algorithms before and after, and return the differences.

        With `new`, algorithms without an older version are among them. `growth_only` omits changes that keep the
        growth; with `strict` a bound that rose is a finding too.
        Algorithms that have both versions are removed from `before` and `after`.
        """
        self._require_names(
            version for version in (*before.values(), *after.values()) if isinstance(version, Algorithm)
        )
        matches = [
            _Match(key, before.pop(key), after.pop(key))
            for key in [*after]
            if _is_comparable(before.get(key), after[key])
        ]
        left = {key: version for key, version in before.items() if isinstance(version, Algorithm)}
        matches += self._iterate_moved(left, after)
        texts = {key: version for key, version in before.items() if isinstance(version, Entry)}
        both: dict[str, Earlier] = {**texts, **after}
        sizes = {key: _count_sizes(version) for key, version in both.items()}
        matches += _pair_versions(texts, after, lambda key: (sizes[key], _extract_name(key)), single=True)
        changes = [
            CostChange(metric, r.REMOVED, "; ".join(lines), algorithm=key, line=entry.line)
            for key, entry in texts.items()
            for metric, lines in group_by_metric(entry.costs).items()
        ]
        matches += [_Match(key, None, algorithm) for key, algorithm in after.items()] if new else []
        matches += [_Match(key, algorithm, None) for key, algorithm in left.items()]
        for match, answer in self._compare_matches(matches):
            changes += (
                map(match.translate_change, answer) if isinstance(answer, list) else self._record_refusal(match, answer)
            )
        if growth_only:
            # The further costs that models use grow like the costs that they depend on.
            left_out = (r.SIZES, r.WHERE, *FURTHER_METRICS)
            changes = [change.of_growth for change in changes if change.metric not in left_out]
        counts = Counter(r.merge_cost_verdicts(changes).values())
        counts[r.EQUAL] += sum(filter(None, self._unchanged.values()))
        summary = {verdict: counts[verdict] for verdict in (*r.VERDICTS, r.IGNORED) if counts[verdict]}
        assumptions = dict.fromkeys(f"{change.algorithm}: {text}" for change in changes for text in change.assumptions)
        changes = [change for change in changes if change.verdict not in (r.EQUAL, r.UNKNOWN)]
        changes.sort(key=lambda change: (r.VERDICTS.index(change.verdict), change.algorithm))
        names = tuple((match.was, match.key) for match in matches if match.was is not None)
        return Diff(
            tuple(changes), summary, names, tuple(self._problems.values()), strict, assumptions=tuple(assumptions)
        )

    def _require_names(self, algorithms: Iterator[Algorithm]) -> None:
        """Raise ArchlineError (AL401) if no algorithm has a size that the terms' points or further facts name."""
        self._names += [SizeNames.of(algorithm.module, algorithm.node) for algorithm in algorithms]
        facts = parse_facts(self._terms.where, "--where") if self._terms.where else ()
        # A file that cannot be read may have the missing size.
        if not self._problems:
            sizes = {
                name: (value, None) for point in self._terms.at for name, value in point if "at" not in self._fitting
            }
            facts = facts if "where" not in self._fitting else ()
            require_known_names(
                {**sizes, **{name: (None, fact.span) for fact in facts for name in s.find_names(fact)}}, self._names
            )

    def load_algorithms(self, both: tuple[Side, Side]) -> tuple[dict[str, Earlier], dict[str, Algorithm]]:
        """Load the algorithms of both sides, except those of unchanged files and of files with errors."""
        self.left_out = left_out = {path for path in both[1] if self._is_unchanged(path, both)}
        if len(both[1]) == 1:
            # Of many files those without a change are not checked, for their number.
            for path in left_out:
                try:
                    load(both[1][path])
                except ArchlineError as problem:
                    self._record_problem(problem)
                    self._unchanged[path] = None
        loaded: list[dict[str, Module]] = []
        for side in both:
            loaded.append({})
            for path in (file for file in side if file not in left_out):
                try:
                    loaded[-1][path] = load(side[path])
                except ArchlineError as problem:
                    self._record_problem(problem)
                    left_out.add(path)
        old, new = (
            {f"{path}::{name}": side[path][name] for path in side if path not in left_out for name in side[path]}
            for side in loaded
        )
        return dict(old), new

    def _record_problem(self, problem: ArchlineError) -> None:
        """Record the diagnostics of a problem; those of a file that several programs use are reported once."""
        self._problems |= {diagnostic.render(): diagnostic for diagnostic in problem.diagnostics}

    def _is_unchanged(self, path: str, both: tuple[Side, Side]) -> bool:
        """Test whether a file and all files that it uses have the same text on both sides."""
        if path not in self._unchanged:
            self._unchanged[path] = None
            with suppress(ArchlineError, KeyError):
                # A file that cannot be read, or is on one side only, is reported when it is loaded.
                old, new = (read_source(side[path]) for side in both)
                uses = re.findall(r"^use +([\w.]+)", new.text, re.MULTILINE)
                used = {f"{os.path.join(os.path.dirname(path), *name.split('.'))}{SUFFIX}" for name in uses}
                present = (file for file in used if any(file in side for side in both))
                if old.text == new.text and all(self._is_unchanged(file, both) for file in present):
                    unchanged = parse_headers(new)
                    self._unchanged[path] = sum(len(_list_derived_metrics(algorithm)) for algorithm in unchanged)
                    self._names.append(SizeNames(dict.fromkeys(sorted(collect_sizes(unchanged)), 1)))
        return self._unchanged[path] is not None

    def _iterate_moved(self, before: dict[str, Algorithm], after: dict[str, Algorithm]) -> Iterator[_Match]:
        """Yield the algorithms that moved to another name or path, and remove them from `before` and `after`.

        Their two versions differ only in names, or have the same parameters and also the same costs or the same name,
        if that is unique.
        """
        forms = {
            key: make_canonical(algorithm.module, algorithm.node)
            for key, algorithm in chain(before.items(), after.items())
        }
        yield from _pair_versions(before, after, lambda key: (forms[key].text, _extract_name(key)))
        yield from _pair_versions(before, after, lambda key: forms[key].text)
        yield from _pair_versions(before, after, lambda key: (forms[key].header, _extract_name(key)), single=True)
        shared = {forms[key].header for key in before} & {forms[key].header for key in after}
        likely = [key for key in (*before, *after) if forms[key].header in shared]
        costs = derive_written_costs([forms[key].text for key in likely], self._jobs, self._cached)
        costs_by_key = {
            key: texts
            for key, texts in zip(likely, costs, strict=True)
            if group_by_metric(texts).keys() >= {*_list_derived_metrics((before.get(key) or after[key]).node)}
        }
        yield from _pair_versions(before, after, lambda key: (forms[key].header, tuple(costs_by_key.get(key, [key]))))

    def _compare_matches(self, matches: Sequence[_Match]) -> Iterator[tuple[_Match, list[CostChange] | Refused]]:
        """Yield each match with its changes or diagnostics; nothing is derived if versions differ only in names."""
        asked = {
            match: self._make_question(match)
            for match in matches
            if match.canonical_forms[0] != match.canonical_forms[1]
        }
        answers = find_or_compute(
            partial(_make_cache_key, self._cached), _answer_question, [*asked.values()], _read_changes, self._jobs
        )
        yield from zip(asked, answers, strict=True)
        for match in (match for match in matches if match not in asked):
            yield match, [CostChange(metric, r.EQUAL) for metric in _list_derived_metrics(match.latest.node)]

    def _make_question(self, match: _Match) -> Question:
        """Return the texts and terms of a comparison in canonical names, which are its key in the result cache."""
        numbers, terms = {name: number for number, name in match.display_names.items()}, self._terms
        old, new = (form.text if form else "" for form in match.canonical_forms)
        # A value is that of both versions where the older one has other iterations of the same name.
        named = [
            [(key, value) for name, value in point for key in (name, f"old.{name}") if key == name or key in numbers]
            for point in terms.at
        ]
        at = tuple(tuple((numbers.get(name, name), value) for name, value in point) for point in named)
        where = ", ".join(filter(None, (terms.where, *match.matched_sizes[1])))
        return old, new, replace(terms, at=at, where=rename_text(where, numbers))

    def _record_refusal(self, match: _Match, problems: Refused) -> list[CostChange]:
        """Record why a match cannot be compared: a wrong entry, a version without costs, or another problem.

        Returns no changes.
        """
        if problems[0].rule == DEFECT:
            self._record_problem(error(DEFECT, f"`{match.key}`: {problems[0].message}"))
            return []
        diagnostics: list[Diagnostic] = []
        for diagnostic in problems:
            if diagnostic.rule == NO_BASELINE and isinstance(match.old, Entry):
                text = rename_text(diagnostic.hint or "", match.display_names)
                message = f"`{text}` names `{diagnostic.message}`, which `{match.key}` does not have"
                hint = "correct the entry, or regenerate it with `check --write-baseline`"
                diagnostics.append(Diagnostic(NO_BASELINE, message, None, match.old.file, match.old.costs[text], hint))
        for version in (match.old, match.new):
            try:
                if isinstance(version, Algorithm):
                    version.cost(select_facts(version, self._terms.where))
            except ArchlineError as problem:
                diagnostics += problem.diagnostics
        if not diagnostics:
            # A match that is not compared must not count as unchanged.
            rule = NO_BASELINE if isinstance(match.old, Entry) else NO_VERSION
            reason = rename_text(problems[0].message, match.display_names)
            message = f"the costs of `{match.key}` cannot be compared: {reason}"
            diagnostics.append(Diagnostic(rule, message, match.latest.node.name_span))
        self._record_problem(ArchlineError(diagnostics))
        return []


def _is_comparable(old: Earlier | None, new: Algorithm) -> bool:
    """Test whether `old` is an algorithm, or a baseline entry with as many sizes as `new`; False for None."""
    return isinstance(old, Algorithm) or (old is not None and _count_sizes(old) == _count_sizes(new))


def _count_sizes(version: Earlier) -> int:
    return len(version.sizes if isinstance(version, Entry) else make_canonical(version.module, version.node).sizes)


def _extract_name(key: str) -> str:
    return key.rpartition("::")[2]


def _pair_versions(
    before: dict[str, E], after: dict[str, Algorithm], alike: Callable[[str], object], single: bool = False
) -> Iterator[_Match]:
    """Pair versions whose keys have equal values of `alike`, and remove them from `before` and `after`.

    Pairs are made in order; with `single` only where one version of each side has the value.
    """
    groups: dict[object, tuple[list[str], list[str]]] = {}
    for number, keys in enumerate(([*before], [*after])):
        for key in keys:
            groups.setdefault(alike(key), ([], []))[number].append(key)
    for olds, news in groups.values():
        if not single or len(olds) == len(news) == 1:
            for old, new in zip(olds, news, strict=False):
                yield _Match(new, before.pop(old), after.pop(new), old)


def _list_derived_metrics(algorithm: s.Algorithm) -> tuple[str, ...]:
    """List the metrics that are derived for an algorithm."""
    return (*list_grid_metrics(algorithm), "io") if algorithm.grid else SERIAL_METRICS


def _make_cache_key(cached: bool, task: object) -> object:
    """Return the key of a task in the result cache; None if results are not `cached`."""
    return ("changes", task) if cached else None


def derive_written_costs(texts: Sequence[str], jobs: int | None, cached: bool) -> list[list[str]]:
    """Derive the costs of canonical programs, as the texts of a baseline; empty for a program that cannot run.

    With `cached` they are read from the result cache if it has them.
    """
    answers = find_or_compute(partial(_make_cache_key, cached), _derive_costs_of_text, texts, list[str], jobs)
    return [answer if isinstance(answer, list) else [] for answer in answers]


def _derive_costs_of_text(text: str) -> list[str]:
    return write_costs(_load_version(text, VERSION_NAMES[1], "").cost().costs)


def _answer_question(question: Question) -> list[CostChange]:
    """Return the changes between two canonical texts. Raises ArchlineError if one certainly fails or is unreadable."""
    before, after, terms = question
    late, Clock.late = Clock.late, False
    try:
        new = _derive_version(after, VERSION_NAMES[1], terms) if after else None
        old: AlgorithmSubject | None = None
        if before.startswith("algorithm "):
            old = _derive_version(before, VERSION_NAMES[0], terms)
        elif before and new is not None:
            old = RecordedSubject(_load_version(after, VERSION_NAMES[0], terms.where), before.split("\n"), new.report)
        set_time_limit(terms.seconds)
        return compare_versions(old, new, terms.tolerance, [dict(point) for point in terms.at])
    finally:
        Clock.late = Clock.late or late


def _derive_version(text: str, name: str, terms: Terms) -> AlgorithmSubject:
    """Derive the costs of a version within its time limit. Raises ArchlineError."""
    set_time_limit(terms.seconds)
    subject = AlgorithmSubject(_load_version(text, name, terms.where))
    tuple(subject.report.costs)
    return subject


def _load_version(text: str, name: str, where: str) -> Algorithm:
    """Load the algorithm of a canonical text under a name and further facts. Raises ArchlineError."""
    main = text.removeprefix("algorithm ").partition("(")[0]
    algorithm = loads(re.sub(rf"\b{main}\(", f"{name}(", text))[name]
    return algorithm.assuming(select_facts(algorithm, where))


def _read_changes(data: Any) -> list[CostChange]:
    return [CostChange(**change) for change in data]
