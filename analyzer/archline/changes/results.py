"""What a comparison of two versions of programs found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain

from archline.changes.canonical import renamed
from archline.claims import rules
from archline.language.diagnostics import Diagnostic, Rule
from archline.records import field, record, replace

GREW, SHRANK, ROSE, FELL = "grew", "shrank", "bound rose", "bound fell"
BECAME_UNKNOWN, BECAME_KNOWN, NEW, REMOVED = "became unknown", "became known", "new", "removed"
SIZES, NOW_TAKES, NO_LONGER_TAKES = "sizes", "now takes", "no longer takes"
WHERE, NOW_REQUIRES, NO_LONGER_REQUIRES = "where", "now requires", "no longer requires"
"""Sizes, and facts about them, are no cost: the names that they have in place of a metric, and what becomes of them."""
EQUAL, OTHER_FORM, UNKNOWN, IGNORED = "equal", "equal, other form", "unknown", "ignored"
VERDICTS = (
    *(GREW, BECAME_UNKNOWN, ROSE, SHRANK, FELL, BECAME_KNOWN, NEW, REMOVED),
    *(NOW_TAKES, NO_LONGER_TAKES, NOW_REQUIRES, NO_LONGER_REQUIRES, OTHER_FORM, EQUAL, UNKNOWN),
)
"""In the order of reports: what fails comes first. UNKNOWN is a cost that neither version has.

IGNORED is none: so summaries count the findings that comments ignore."""
EVERYWHERE, SOMEWHERE, SHOWN = "at all sizes", "at some sizes", "at the sizes shown"


MOST = 1
"""How many regimes of a change a page shows, the sharpest ones, unless all are asked for."""
_WHERE = re.compile(r" where [^,]*")
Both = Mapping[str, str | None]
"""What is known of both versions, `old` and `new`."""


@record
class CostChange:
    """A change of a cost of an algorithm, `path::name`, at all sizes or in the regime `when`.

    `extent` says at which sizes a cost grew or shrank, `at` some of them, with the `values` there. A change that is
    proved to stay within a tolerance has that as text; a comment may have it `ignored`. Of a cost that became unknown
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
    growth: Both = field(default_factory=lambda: {"old": None, "new": None})
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
    def grows_as_before(self) -> bool:
        """Whether both versions are known to have the same growth, wherever it is shown to hold."""
        old, new = (each and _WHERE.sub("", each) for each in (self.growth["old"], self.growth["new"]))
        return old is not None and old == new

    def in_names(self, names: Mapping[str, str]) -> CostChange:
        """The change with other names of sizes."""

        def own(text: str | None) -> str | None:
            return None if text is None else renamed(text, names)

        at = None if self.at is None else {names.get(name, name): value for name, value in self.at.items()}
        growth = {version: own(text) for version, text in self.growth.items()}
        return replace(self, old=own(self.old), new=own(self.new), when=own(self.when), growth=growth, at=at)


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
        """The changes that readers want to see: another form of the same cost is none.

        Of those in regimes of the cache the sharpest that values show, and then how many more there are.
        """
        groups: dict[object, list[CostChange]] = {}
        for each in self.changes:
            if each.verdict != OTHER_FORM:
                groups.setdefault((each.algorithm, each.metric, each.verdict, each.extent), []).append(each)
        for alike in groups.values():
            alike.sort(key=lambda each: each.values is None)
            if len(alike) > MOST + 1 and not self.in_full:
                more = f"under {len(alike) - MOST} more conditions on the cache, which `archline diff --all` shows"
                rest = replace(alike[0], old=None, new=None, when=None, at=None, values=None, reason=more)
                alike[MOST:] = [rest]
            # Growth is that of the whole cost.
            alike[1:] = [replace(each, growth={"old": None, "new": None}) for each in alike[1:]]
        return tuple(chain.from_iterable(groups.values()))

    @property
    def findings(self) -> tuple[CostChange, ...]:
        """The changes that fail a build: costs that grew or became unknown; where it is strict, bounds that rose."""
        return tuple(each for each in self.beyond_tolerance if not each.ignored)

    @property
    def beyond_tolerance(self) -> tuple[CostChange, ...]:
        """The findings, and what comments have ignored."""
        verdicts = (GREW, BECAME_UNKNOWN, ROSE) if self.strict else (GREW, BECAME_UNKNOWN)
        return tuple(each for each in self.changes if each.verdict in verdicts and each.tolerance is None)
