"""What changed between two versions, in the formats that `archline diff` prints: each module has a `render`."""

from __future__ import annotations

from archline.changes import results as r
from archline.changes.results import CostChange, Differences

LONGEST = 60
"""Characters of an expression that are shown; JSON has it whole."""
_SAID = {
    r.GREW: ("grew", "grew"),
    r.BECAME_UNKNOWN: ("became unknown", "became unknown"),
    r.ROSE: ("has a higher bound", "have a higher bound"),
    r.SHRANK: ("shrank", "shrank"),
    r.FELL: ("has a lower bound", "have a lower bound"),
    r.BECAME_KNOWN: ("became known", "became known"),
    r.NEW: ("is new", "are new"),
    r.REMOVED: ("was removed", "were removed"),
    r.EQUAL: ("is the same", "are the same"),
    r.UNKNOWN: ("is unknown in both versions", "are unknown in both versions"),
}
"""What is said of one cost, and of several."""


def verdict(found: Differences) -> str:
    """The answer in one line: `2 costs grew, 1 became unknown, 143 are the same`."""
    counts = dict(found.summary)
    counts[r.EQUAL] = counts.get(r.EQUAL, 0) + counts.pop(r.OTHER_FORM, 0)
    parts: list[str] = []
    for name, said in _SAID.items():
        if count := counts.get(name):
            noun = "" if parts else "cost " if count == 1 else "costs "
            parts.append(f"{count} {noun}{said[count > 1]}")
    if found.renames:
        parts.append(f"{len(found.renames)} algorithm{'s have' if len(found.renames) > 1 else ' has'} another name")
    return ", ".join(parts) or "there is nothing to compare"


def cells(change: CostChange) -> list[str]:
    """A row of a table: the algorithm, its cost, the verdict, the cost before and after, and what else is known."""
    extent = "" if change.extent == r.SHOWN else change.extent
    said = " ".join(filter(None, (change.verdict, extent, change.when and f"where {change.when}")))
    texts = (
        each if each is None or len(each) <= LONGEST else f"{each[:LONGEST]} ..." for each in (change.old, change.new)
    )
    more: list[str] = []
    if change.values is not None and change.at is not None:
        sizes = ",".join(f"{name}={value}" for name, value in change.at.items())
        more.append(f"{change.values['old']} -> {change.values['new']}" + (f" at {sizes}" if sizes else ""))
    old, new = change.growth["old"], change.growth["new"]
    if old and new and not change.grows_as_before:
        more.append(f"growth {old} -> {new}")
    if change.tolerance is not None:
        more.append(f"within the tolerance of {change.tolerance} at all sizes")
    if change.reason:
        more.append(f"{change.place}: {change.reason}" if change.place else change.reason)
    return [change.algorithm, change.metric, said, *(each or "" for each in texts), "; ".join(more)]
