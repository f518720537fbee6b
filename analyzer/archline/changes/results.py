"""Represent the changes of costs between two versions of programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from archline.claims import rules
from archline.language.canonical import rename_text
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import Diagnostic, Rule, format_count
from archline.language.iterations import NamedLoop
from archline.records import field, record, replace

GREW, SHRANK, ROSE, FELL = "grew", "shrank", "bound rose", "bound fell"
DIFFERS, BOUNDS_DIFFER, OTHER_BOUNDS = "differs", "bounds differ", "other bounds"
"""Verdicts on a whole cost: it, or its bound, rose at some sizes and fell at others; or only bounds moved."""
BECAME_UNKNOWN, BECAME_KNOWN, NEW_METRIC, REMOVED = "became unknown", "became known", "new", "removed"
NOT_DECIDED = "not decided"
"""The verdict on a cost that depends on iterations of different loops, which are not comparable."""
SIZES, NOW_TAKES, NO_LONGER_TAKES = "sizes", "now takes", "no longer takes"
WHERE, NOW_REQUIRES, NO_LONGER_REQUIRES = "where", "now requires", "no longer requires"
"""The names that changes of sizes, and of facts about sizes, have in place of a metric, and their verdicts."""
EQUAL, OTHER_FORM, UNKNOWN, IGNORED = "equal", "equal, other form", "unknown", "ignored"
VERDICTS = (
    *(GREW, DIFFERS, BECAME_UNKNOWN, NOT_DECIDED, ROSE, BOUNDS_DIFFER, SHRANK, FELL, BECAME_KNOWN, NEW_METRIC, REMOVED),
    *(NOW_TAKES, NO_LONGER_TAKES, NOW_REQUIRES, NO_LONGER_REQUIRES, OTHER_BOUNDS, OTHER_FORM, EQUAL, UNKNOWN),
)
"""The verdicts in the order of reports: findings come first. UNKNOWN is that of a cost that neither version knows.

IGNORED is not among them: summaries count under it the findings that comments ignore."""
EVERYWHERE, SOMEWHERE, AT_SHOWN_SIZES = "at all sizes", "at some sizes", "at the sizes shown"


RISES, FALLS = (GREW, ROSE), (SHRANK, FELL)
VersionTexts = Mapping[str, str | None]
"""Texts of both versions, `old` and `new`, or None."""


@record
class CostChange:
    """A change of a cost of an algorithm, `path::name`, at all sizes or in the regime `when`.

    `extent` names the sizes at which a cost grew or shrank; `at` is an example, with the `values` there; `asked` are
    requested sizes with their values, if they are other sizes. `order` is the verdict on growth, None if a
    version has no growth; it is also equal if a growth became less sharp, unless the upper bound rose. `tolerance` is
    the text of a tolerance that the change is proved not to exceed; `ignored` tells that a comment ignores it. A cost
    that became unknown has a `reason` and its `place`. The algorithm is in `file` at `line`, and may be `moved_from`
    another path. The costs depend on the iterations `counted`, which `iterations` describes; under the `assumptions`
    loops of the same text have as many iterations in both versions.
    """

    metric: str
    verdict: str
    old: str | None = None
    new: str | None = None
    when: str | None = None
    extent: str | None = None
    at: Mapping[str, str] | None = None
    values: VersionTexts | None = None
    asked: Mapping[str, Any] | None = None
    growth: VersionTexts = field(default_factory=lambda: {"old": None, "new": None})
    order: str | None = None
    tolerance: str | None = None
    reason: str | None = None
    place: str | None = None
    moved_from: str | None = None
    algorithm: str = ""
    file: str = ""
    line: int = 0
    ignored: bool = False
    counted: Sequence[str] = ()
    iterations: Sequence[NamedLoop] = ()
    assumptions: Sequence[str] = ()

    @property
    def rule(self) -> Rule:
        """The rule of the finding that a cost grew, became unknown, or is not decided."""
        return rules.BECAME_UNKNOWN if self.verdict in (BECAME_UNKNOWN, NOT_DECIDED) else rules.GREW

    @property
    def of_growth(self) -> CostChange:
        """The change with the verdict on its order of growth, if that is equal or rose; else the change itself."""
        order = self.order if self.order in (EQUAL, ROSE) else None
        return replace(self, verdict=order, ignored=self.ignored and order == ROSE) if order is not None else self

    def in_names(self, names: Mapping[str, str]) -> CostChange:
        """Return the change with the sizes renamed."""

        def rename(text: str | None) -> str | None:
            return None if text is None else rename_text(text, names)

        def rename_sizes(point: Mapping[str, str] | None) -> Mapping[str, str] | None:
            return None if point is None else {names.get(name, name): value for name, value in point.items()}

        growth = {version: rename(text) for version, text in self.growth.items()}
        asked = None if self.asked is None else {**self.asked, "at": rename_sizes(self.asked["at"])}
        return replace(
            self,
            old=rename(self.old),
            new=rename(self.new),
            when=rename(self.when),
            growth=growth,
            at=rename_sizes(self.at),
            asked=asked,
            counted=tuple(names.get(name, name) for name in self.counted),
        )

    @property
    def assumption(self) -> str:
        """The assumption under which the verdict holds, empty if there is none."""
        return f"assuming as many iterations as before: {', '.join(self.assumptions)}" if self.assumptions else ""

    @property
    def evidence(self) -> str:
        """The values that show the change: `8192 -> 12288 at n=64,m=64`."""
        return "" if self.values is None or self.at is None else _format_values(self.at, self.values)

    @property
    def evidence_asked(self) -> str:
        """The values at the requested sizes, if other sizes show the change."""
        return "" if self.asked is None else _format_values(self.asked["at"], self.asked)


@record(eq=False)
class VersionDifferences:
    """All changes between two versions, the number of costs with each verdict, renamed algorithms, and problems.

    The `assumptions` are those of all verdicts, also of costs that are the same. With `strict` bounds that rose are
    findings; with `in_full` pages show all regimes of a change.
    """

    changes: tuple[CostChange, ...]
    summary: Mapping[str, int]
    renames: tuple[tuple[str, str], ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    strict: bool = False
    in_full: bool = False
    assumptions: tuple[str, ...] = ()

    @property
    def shown(self) -> tuple[CostChange, ...]:
        """The changes to show: one for each cost whose value, not only its form, changed.

        Changes of a cost in several regimes of the cache are merged to one, unless `in_full`.
        """
        groups: dict[object, list[CostChange]] = {}
        for item in self.changes:
            if item.verdict != OTHER_FORM:
                key = () if item.metric not in (SIZES, WHERE) and not self.in_full else (item.verdict, item.extent)
                groups.setdefault((item.algorithm, item.metric, *key), []).append(item)
        result: list[CostChange] = []
        for alike in groups.values():
            alike.sort(key=lambda item: (VERDICTS.index(item.verdict), item.values is None))
            # Growth is that of the whole cost, and shown with the first change.
            rest = [replace(item, growth={"old": None, "new": None}, order=None) for item in alike[1:]]
            result += [alike[0], *rest] if self.in_full else [_merge_changes(alike)]
        return tuple(result)

    @property
    def findings(self) -> tuple[CostChange, ...]:
        """The changes that fail a build: costs that grew, became unknown or are not decided.

        If `strict`, bounds that rose too.
        """
        return tuple(change for change in self.beyond_tolerance if not change.ignored)

    @property
    def beyond_tolerance(self) -> tuple[CostChange, ...]:
        """The changes that exceed the tolerance and fail a build, including ignored ones."""
        verdicts = (GREW, BECAME_UNKNOWN, NOT_DECIDED, *([ROSE] if self.strict else []))
        return tuple(change for change in self.changes if change.verdict in verdicts and change.tolerance is None)


def _format_values(at: Mapping[str, str], values: VersionTexts) -> str:
    """Format values as `8192 -> 12288 at n=64,m=64`, or `8192 as before at n=64,m=64`."""
    same = values["old"] == values["new"]
    text = f"{values['new']} as before" if same else f"{values['old']} -> {values['new']}"
    sizes = ",".join(f"{name}={value}" for name, value in at.items())
    return f"{text} at {sizes}" if sizes else text


def merge_cost_verdicts(changes: Iterable[CostChange]) -> dict[tuple[str, ...], str]:
    """Return one verdict for each cost, by algorithm and metric, also if it grew at some sizes and shrank at others.

    Changes of sizes, and of facts about sizes, have one verdict each.
    """
    groups: dict[tuple[str, ...], set[str]] = {}
    for change in changes:
        key = (change.algorithm, change.metric, *([change.verdict] if change.metric in (SIZES, WHERE) else []))
        groups.setdefault(key, set()).add(IGNORED if change.ignored else change.verdict)
    return {key: merge_verdicts(verdicts) for key, verdicts in groups.items()}


def merge_verdicts(verdicts: Set[str]) -> str:
    """Merge the verdicts on a cost to one; changes of the cost itself take precedence over changes of its bounds."""
    if IGNORED in verdicts:
        return IGNORED
    moved = verdicts & {GREW, SHRANK} or verdicts
    if moved >= {GREW, SHRANK}:
        return DIFFERS
    return BOUNDS_DIFFER if moved >= {ROSE, FELL} else min(moved, key=VERDICTS.index)


def _compute_minimum_size(change: CostChange) -> int:
    """Return the minimum of the sizes at which a change is shown, ignoring Z, L and other machine symbols."""
    return min((int(value) for name, value in (change.at or {}).items() if name not in MACHINE_SYMBOLS), default=0)


def _merge_changes(changes: Sequence[CostChange]) -> CostChange:
    """Merge the changes of a cost to one: its first rise and first fall, at larger sizes first, and the number left."""
    verdict = merge_verdicts({change.verdict for change in changes})
    first = next((change for change in changes if change.verdict == verdict), changes[0])
    both = [next((change for change in changes if change.verdict in side), first) for side in (RISES, FALLS)]
    # A bound may have moved in the opposite direction to the cost.
    against = [change for change in both if change.verdict == {GREW: FELL, SHRANK: ROSE}.get(verdict)]
    used = both if verdict in (DIFFERS, BOUNDS_DIFFER) else [first, *against]
    left, more = len(changes) - len(used), ""
    if left > 0:
        more = f"under {format_count(left, 'more condition')} on the cache, which `archline diff --all` shows"
    used.sort(key=_compute_minimum_size, reverse=True)
    if verdict == used[0].verdict:
        wheres = [f" where {change.when}" if change.when else "" for change in against]
        asides = [f"{change.verdict}{where}: {change.evidence}" for where, change in zip(wheres, against, strict=True)]
        return replace(first, reason="; ".join(filter(None, (first.reason, *asides, more))) or None)
    names = {DIFFERS: ("more", "less"), BOUNDS_DIFFER: ("higher", "lower")}.get(verdict)
    heads = (
        (names[change.verdict in FALLS] if names else change.verdict) + (f" where {change.when}" if change.when else "")
        for change in used
    )
    parts = [f"{head}: {change.evidence}" for head, change in zip(heads, used, strict=True) if change.evidence]
    reasons = dict.fromkeys((*(change.reason for change in used), more))
    same = names is None or all((change.old, change.new) == (first.old, first.new) for change in used)
    return replace(
        first,
        verdict=verdict,
        old=used[0].old if same else None,
        new=used[0].new if same else None,
        reason="; ".join(filter(None, (*parts, *reasons))) or None,
        when=None,
        extent=f"{SOMEWHERE}, {against[0].verdict} at others" if against else None,
        at=None,
        values=None,
        asked=first.asked if all(change.asked is not None for change in used) else None,
    )
