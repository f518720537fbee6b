"""What a comparison of two versions of programs found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from archline.changes.canonical import renamed
from archline.claims import rules
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.diagnostics import Diagnostic, Rule, counted
from archline.records import field, record, replace

GREW, SHRANK, ROSE, FELL = "grew", "shrank", "bound rose", "bound fell"
DIFFERS, BOUNDS_DIFFER, OTHER_BOUNDS = "differs", "bounds differ", "other bounds"
"""Of a whole cost: it, or its bound, rose at some sizes and fell at others; or bounds moved, and it is not seen to."""
BECAME_UNKNOWN, BECAME_KNOWN, NEW, REMOVED = "became unknown", "became known", "new", "removed"
SIZES, NOW_TAKES, NO_LONGER_TAKES = "sizes", "now takes", "no longer takes"
WHERE, NOW_REQUIRES, NO_LONGER_REQUIRES = "where", "now requires", "no longer requires"
"""Sizes, and facts about them, are no cost: the names that they have in place of a metric, and what becomes of them."""
EQUAL, OTHER_FORM, UNKNOWN, IGNORED = "equal", "equal, other form", "unknown", "ignored"
VERDICTS = (
    *(GREW, DIFFERS, BECAME_UNKNOWN, ROSE, BOUNDS_DIFFER, SHRANK, FELL, BECAME_KNOWN, NEW, REMOVED),
    *(NOW_TAKES, NO_LONGER_TAKES, NOW_REQUIRES, NO_LONGER_REQUIRES, OTHER_BOUNDS, OTHER_FORM, EQUAL, UNKNOWN),
)
"""In the order of reports: what fails comes first. UNKNOWN is a cost that neither version has.

IGNORED is none: so summaries count the findings that comments ignore."""
EVERYWHERE, SOMEWHERE, SHOWN = "at all sizes", "at some sizes", "at the sizes shown"


RISES, FALLS = (GREW, ROSE), (SHRANK, FELL)
Both = Mapping[str, str | None]
"""What is known of both versions, `old` and `new`."""


@record
class CostChange:
    """A change of a cost of an algorithm, `path::name`, at all sizes or in the regime `when`.

    `extent` says at which sizes a cost grew or shrank, `at` some of them, with the `values` there; the sizes that were
    `asked` for, with theirs, are apart where they are others. `order` is the verdict on growth: equal too where it is
    known less sharply, but for an upper bound that rose; None where a version has none. A change that is proved to
    stay within a tolerance has that as text; a comment may have it `ignored`. Of a cost that became unknown
    there are the `reason` and its `place`. The algorithm stands at `file` and `line`; it may be `moved_from` elsewhere.
    """

    metric: str
    verdict: str
    old: str | None = None
    new: str | None = None
    when: str | None = None
    extent: str | None = None
    at: Mapping[str, str] | None = None
    values: Both | None = None
    asked: Mapping[str, Any] | None = None
    growth: Both = field(default_factory=lambda: {"old": None, "new": None})
    order: str | None = None
    tolerance: str | None = None
    reason: str | None = None
    place: str | None = None
    moved_from: str | None = None
    algorithm: str = ""
    file: str = ""
    line: int = 0
    ignored: bool = False

    @property
    def rule(self) -> Rule:
        """The rule of the finding that a cost grew or became unknown."""
        return rules.BECAME_UNKNOWN if self.verdict == BECAME_UNKNOWN else rules.GREW

    @property
    def of_growth(self) -> CostChange:
        """The change of the growth alone."""
        order = self.order if self.order in (EQUAL, ROSE) else None
        return replace(self, verdict=order, ignored=self.ignored and order == ROSE) if order is not None else self

    def in_names(self, names: Mapping[str, str]) -> CostChange:
        """The change with other names of sizes."""

        def own(text: str | None) -> str | None:
            return None if text is None else renamed(text, names)

        def sizes(point: Mapping[str, str] | None) -> Mapping[str, str] | None:
            return None if point is None else {names.get(name, name): value for name, value in point.items()}

        growth = {version: own(text) for version, text in self.growth.items()}
        asked = None if self.asked is None else {**self.asked, "at": sizes(self.asked["at"])}
        return replace(
            self,
            old=own(self.old),
            new=own(self.new),
            when=own(self.when),
            growth=growth,
            at=sizes(self.at),
            asked=asked,
        )

    @property
    def evidence(self) -> str:
        """The values that show it: `8192 -> 12288 at n=64,m=64`."""
        return "" if self.values is None or self.at is None else _values_text(self.at, self.values)

    @property
    def evidence_asked(self) -> str:
        """The values at the sizes that were asked for, where others show the change."""
        return "" if self.asked is None else _values_text(self.asked["at"], self.asked)


@record(eq=False)
class VersionDifferences:
    """All changes, how many costs there are of each verdict, renamed algorithms, and what could not be compared.

    Pages show all regimes of a change where they are `in_full`.
    """

    changes: tuple[CostChange, ...]
    summary: Mapping[str, int]
    renames: tuple[tuple[str, str], ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    strict: bool = False
    in_full: bool = False

    @property
    def shown(self) -> tuple[CostChange, ...]:
        """The changes that readers want to see, one of each cost: another form of the same cost is none.

        Of those in regimes of the cache it is the sharpest that values show, and how many more there are.
        """
        groups: dict[object, list[CostChange]] = {}
        for each in self.changes:
            if each.verdict != OTHER_FORM:
                key = () if each.metric not in (SIZES, WHERE) and not self.in_full else (each.verdict, each.extent)
                groups.setdefault((each.algorithm, each.metric, *key), []).append(each)
        found: list[CostChange] = []
        for alike in groups.values():
            alike.sort(key=lambda each: (VERDICTS.index(each.verdict), each.values is None))
            # Growth is that of the whole cost.
            rest = [replace(each, growth={"old": None, "new": None}, order=None) for each in alike[1:]]
            found += [alike[0], *rest] if self.in_full else [_of_cost(alike)]
        return tuple(found)

    @property
    def findings(self) -> tuple[CostChange, ...]:
        """The changes that fail a build: costs that grew or became unknown; where it is strict, bounds that rose."""
        return tuple(each for each in self.beyond_tolerance if not each.ignored)

    @property
    def beyond_tolerance(self) -> tuple[CostChange, ...]:
        """The findings, and what comments have ignored."""
        verdicts = (GREW, BECAME_UNKNOWN, ROSE) if self.strict else (GREW, BECAME_UNKNOWN)
        return tuple(each for each in self.changes if each.verdict in verdicts and each.tolerance is None)


def _values_text(at: Mapping[str, str], values: Both) -> str:
    """`8192 -> 12288 at n=64,m=64`, or `8192 as before at n=64,m=64`."""
    same = values["old"] == values["new"]
    said = f"{values['new']} as before" if same else f"{values['old']} -> {values['new']}"
    sizes = ",".join(f"{name}={value}" for name, value in at.items())
    return f"{said} at {sizes}" if sizes else said


def verdicts_of_costs(changes: Iterable[CostChange]) -> dict[tuple[str, ...], str]:
    """One verdict of each cost, by algorithm and metric: it may have grown at some sizes and shrunk at others.

    Of sizes, and of facts about them, there is one for each that changed.
    """
    found: dict[tuple[str, ...], set[str]] = {}
    for each in changes:
        key = (each.algorithm, each.metric, *([each.verdict] if each.metric in (SIZES, WHERE) else []))
        found.setdefault(key, set()).add(IGNORED if each.ignored else each.verdict)
    return {key: verdict_of_whole(verdicts) for key, verdicts in found.items()}


def verdict_of_whole(verdicts: Set[str]) -> str:
    """The verdict of a cost whose bounds, or which itself, moved in several ways: what it does itself counts more."""
    if IGNORED in verdicts:
        return IGNORED
    moved = verdicts & {GREW, SHRANK} or verdicts
    if moved >= {GREW, SHRANK}:
        return DIFFERS
    return BOUNDS_DIFFER if moved >= {ROSE, FELL} else min(moved, key=VERDICTS.index)


def _least_size(change: CostChange) -> int:
    """The least size at which a change is shown, the cache aside."""
    return min((int(value) for name, value in (change.at or {}).items() if name not in MACHINE_SYMBOLS), default=0)


def _of_cost(changes: Sequence[CostChange]) -> CostChange:
    """What changed of a cost in one entry: the first rise and fall, larger sizes first, and how many more there are."""
    verdict = verdict_of_whole({change.verdict for change in changes})
    first = next((change for change in changes if change.verdict == verdict), changes[0])
    both = [next((change for change in changes if change.verdict in side), first) for side in (RISES, FALLS)]
    # A bound may have moved the other way than the cost did.
    against = [change for change in both if change.verdict == {GREW: FELL, SHRANK: ROSE}.get(verdict)]
    kept = both if verdict in (DIFFERS, BOUNDS_DIFFER) else [first, *against]
    left, more = len(changes) - len(kept), ""
    if left > 0:
        more = f"under {counted(left, 'more condition')} on the cache, which `archline diff --all` shows"
    kept.sort(key=_least_size, reverse=True)
    if verdict == kept[0].verdict:
        wheres = [f" where {change.when}" if change.when else "" for change in against]
        asides = [f"{change.verdict}{where}: {change.evidence}" for where, change in zip(wheres, against, strict=True)]
        return replace(first, reason="; ".join(filter(None, (first.reason, *asides, more))) or None)
    names = {DIFFERS: ("more", "less"), BOUNDS_DIFFER: ("higher", "lower")}.get(verdict)
    heads = [names[change.verdict in FALLS] if names else change.verdict for change in kept]
    heads = [f"{head} where {change.when}" if change.when else head for head, change in zip(heads, kept, strict=True)]
    parts = [f"{head}: {change.evidence}" for head, change in zip(heads, kept, strict=True) if change.evidence]
    reasons = dict.fromkeys((*(change.reason for change in kept), more))
    same = names is None or all((change.old, change.new) == (first.old, first.new) for change in kept)
    return replace(
        first,
        verdict=verdict,
        old=kept[0].old if same else None,
        new=kept[0].new if same else None,
        reason="; ".join(filter(None, (*parts, *reasons))) or None,
        when=None,
        extent=f"{SOMEWHERE}, {against[0].verdict} at others" if against else None,
        at=None,
        values=None,
        asked=first.asked if all(change.asked is not None for change in kept) else None,
    )
