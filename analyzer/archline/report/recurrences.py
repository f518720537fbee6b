"""What was found of a recurrence, as text and for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from archline.records import record
from archline.report.layout import indented, table, wrap


@record
class RecurrenceView:
    """A recurrence and its solution; `outcome` is `solved`, `exponential` or `refused`."""

    recurrence: str
    outcome: str
    growth: str | None
    exact: str | None
    domain: str | None
    method: str | None
    reason: str | None
    steps: Sequence[str] = ()
    regimes: Sequence[tuple[str, str]] = ()


def document(view: RecurrenceView) -> dict[str, Any]:
    """The view for JSON."""
    return {
        "version": 1,
        "recurrence": view.recurrence,
        "growth": view.growth,
        "exact": view.exact,
        "domain": view.domain,
        "method": view.method,
        "regimes": [{"when": when, "growth": growth} for when, growth in view.regimes],
        "steps": list(view.steps),
        "outcome": view.outcome,
        "reason": view.reason,
    }


def text(view: RecurrenceView, width: int, *, explain: bool) -> str:
    """The recurrence, its growth and closed form; with `explain` the lines of the solution."""
    rows = []
    if view.growth is not None:
        rows.append(["growth", f"Theta({view.growth})"])
    rows += [["", f"Theta({growth}) when {when}"] for when, growth in view.regimes]
    if view.exact is not None:
        rows.append(["exact", f"{view.exact} where {view.domain}" if view.domain else view.exact])
    if view.method is not None:
        rows.append(["method", view.method])
    if view.reason is not None:
        rows.append(["refused" if view.outcome == "refused" else "because", view.reason])
    lines = [*wrap(view.recurrence, width), "", *indented(table(rows, width - 2))]
    if explain and view.steps:
        lines += ["", "solution", "", *indented([line for step in view.steps for line in wrap(step, width - 2)])]
    return "\n".join(lines) + "\n"
