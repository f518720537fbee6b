"""Which costs changed between two versions of programs: `archline.diff`, what `archline diff` prints.

Algorithms whose canonical forms are equal cost the same, so that costs are derived of the others alone; what was found
of two canonical forms is kept by their texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

from archline.analysis.communication.derive import metrics_on_grid
from archline.api import processes, result_cache
from archline.api.algorithms import Algorithm, Module, load, loads
from archline.api.cost_changes import Point, compared
from archline.api.settings import Number
from archline.changes import results as r
from archline.changes.canonical import Canonical, canonical, renamed
from archline.changes.git import SUFFIX
from archline.changes.results import CostChange, Differences
from archline.changes.sides import Side, sides
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.headers import headers
from archline.language.loader import load_text
from archline.language.source import read_source, recorded
from archline.records import record, replace

SERIAL = ("flops", "work", "span", "io")
VERSIONS = "older_version", "newer_version"
"""What the versions of an algorithm are called where they are compared."""
Question = tuple[str, str, Fraction, tuple[tuple[tuple[str, Number], ...], ...]]
"""The canonical texts of two versions, empty where there is none; the tolerance; sizes of interest, canonical too."""
Changed = list[CostChange] | None
"""What changed of an algorithm; None where a version has no costs, as it certainly fails."""


class Diff(Differences):
    """What changed between two versions of programs."""

    @property
    def document(self) -> dict[str, Any]:
        """The changes as JSON has them."""
        from archline.report.changes.json import document

        return document(self)

    def __str__(self) -> str:
        from archline.report.changes.text import render
        from archline.report.layout import terminal_width

        return render(self, terminal_width())


def diff(
    base: str | Path,
    head: str | Path | None = None,
    *,
    tolerance: Fraction | int | str = 0,
    at: Sequence[Point] = (),
    growth_only: bool = False,
    strict: bool = False,
    left_out: Callable[[Path], bool] = lambda _: False,
    jobs: int | None = None,
    cached: bool = True,
) -> Diff:
    """Compare the costs of two versions of programs, each a folder, a file or a revision of git.

    Without `head` the work tree is the newer version. `tolerance` is a share, 1/50 for 2 %; `at` gives sizes of
    interest; with `growth_only` changes that leave growth as it was are none. Raises ArchlineError for versions that
    cannot be read.
    """
    with ExitStack() as stack:
        both = sides(str(base), None if head is None else str(head), stack, left_out)
        return _Comparison(both, Fraction(tolerance), at, jobs, cached).found(growth_only, strict)


@record(eq=False)
class _Match:
    """Both versions of an algorithm, `path::name`; None for the one that a new or removed algorithm lacks."""

    key: str
    old: Algorithm | None
    new: Algorithm | None

    @cached_property
    def forms(self) -> tuple[Canonical | None, Canonical | None]:
        """Both under canonical names, the same for the same sizes: by place, or if there are more or fewer by name."""
        old, new = self.old, self.new
        like = new.sizes if old is not None and new is not None and len(old.sizes) != len(new.sizes) else ()
        return (
            None if old is None else canonical(old.module, old.node, like),
            None if new is None else canonical(new.module, new.node),
        )

    @property
    def same(self) -> bool:
        """Whether both versions differ in names alone."""
        return self.forms[0] == self.forms[1]

    @property
    def latest(self) -> Algorithm:
        """The newer version, if there is one."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def names(self) -> dict[str, str]:
        """The sizes by their canonical names."""
        return {number: name for each in self.forms if each for number, name in each.sizes.items()}

    def own(self, change: CostChange) -> CostChange:
        """A change of the canonical forms in the algorithm's own names."""
        new, span, reason, place = self.forms[1], self.latest.node.name_span, change.reason, change.place
        if new is not None:
            reason = reason and renamed(reason, new.names)
            place = place and str(new.place(place, load_text(new.text).program))
        found = replace(change.in_names(self.names), reason=reason, place=place, algorithm=self.key)
        return replace(found, file=span.source.path, line=span.line)


class _Comparison:
    """One comparison of two sides."""

    def __init__(
        self, both: tuple[Side, Side], tolerance: Fraction, at: Sequence[Point], jobs: int | None, cached: bool
    ) -> None:
        self._sides = both
        self._tolerance, self._at, self._jobs, self._cached = tolerance, at, jobs, cached
        self._problems: dict[str, Diagnostic] = {}
        self._unchanged = 0
        self._known: dict[Question, Changed] = {}

    def found(self, growth_only: bool, strict: bool) -> Diff:
        """What changed."""
        before, after = self._algorithms()
        matches = [_Match(key, before.pop(key), after.pop(key)) for key in [*after] if key in before]
        renames = list(self._renames(before, after))
        matches += [each for _, each in renames]
        matches += [_Match(key, None, each) for key, each in after.items()]
        matches += [_Match(key, each, None) for key, each in before.items()]
        changes: list[CostChange] = []
        for match, changed in zip(matches, self._changed(matches), strict=True):
            changes += self._refused(match) if changed is None else map(match.own, changed)
        if growth_only:
            kept = [each.growth["old"] != each.growth["new"] for each in changes]
            changes = [
                each if keep else replace(each, verdict=r.EQUAL) for keep, each in zip(kept, changes, strict=True)
            ]
        counts = Counter(verdict for *_, verdict in {(each.algorithm, each.metric, each.verdict) for each in changes})
        counts[r.EQUAL] += self._unchanged
        summary = {verdict: counts[verdict] for verdict in r.VERDICTS if counts[verdict]}
        changes = [each for each in changes if each.verdict not in (r.EQUAL, r.UNKNOWN)]
        changes.sort(key=lambda each: (r.VERDICTS.index(each.verdict), each.algorithm))
        names = tuple((old, match.key) for old, match in renames)
        return Diff(tuple(changes), summary, names, tuple(self._problems.values()), strict)

    def _algorithms(self) -> tuple[dict[str, Algorithm], dict[str, Algorithm]]:
        """The algorithms of both sides but for those of files that are the same, and of files with mistakes."""
        left_out = {path for path in self._sides[1] if path in self._sides[0] and self._is_unchanged(path)}
        loaded: list[dict[str, Module]] = []
        for side in self._sides:
            loaded.append({})
            for path in (each for each in side if each not in left_out):
                try:
                    loaded[-1][path] = load(side[path])
                except ArchlineError as problem:
                    self._note(problem)
                    left_out.add(path)
        before, after = (
            {f"{path}::{name}": found[path][name] for path in found if path not in left_out for name in found[path]}
            for found in loaded
        )
        return before, after

    def _note(self, problem: ArchlineError) -> None:
        """A file that several use is reported once."""
        self._problems |= {each.render(): each for each in problem.diagnostics}

    def _is_unchanged(self, path: str) -> bool:
        """Whether a file is the same on both sides and uses none of them; its costs are counted."""
        try:
            old, new = (read_source(side[path]) for side in self._sides)
            uses = [line.removeprefix("use ").strip() for line in new.text.splitlines() if line.startswith("use ")]
            used = {(Path(path).parent / each.replace(".", "/")).with_suffix(SUFFIX).as_posix() for each in uses}
            if old.text != new.text or any(used & side.keys() for side in self._sides):
                return False
            self._unchanged += sum(map(len, map(_metrics, headers(new))))
        except ArchlineError:
            # It is reported as what is loaded.
            return False
        return True

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

    def _refused(self, match: _Match) -> list[CostChange]:
        """Nothing, after noting why a version has no costs."""
        for version in (match.old, match.new):
            try:
                if version is not None:
                    version.cost()
            except ArchlineError as problem:
                self._note(problem)
        return []


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
    *texts, tolerance, at = question
    with recorded() as read:
        try:
            old, new = (_algorithm(text, name) for text, name in zip(texts, VERSIONS, strict=True))
            changes = compared(old, new, tolerance, list(map(dict, at)))
        except ArchlineError:
            return None
    if cached:
        result_cache.store(("changes", question), read, [asdict(each) for each in changes])
    return changes


def _algorithm(text: str, name: str) -> Algorithm | None:
    """The algorithm of a canonical text under a name; None where there is none."""
    if not text:
        return None
    main = text.removeprefix("algorithm ").partition("(")[0]
    return loads(re.sub(rf"\b{main}\(", f"{name}(", text))[name]
