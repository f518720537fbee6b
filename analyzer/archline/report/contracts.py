"""Claims and their outcomes in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from archline.report.costs.forms import cut
from archline.report.numbers import point_text
from archline.report.view import Contract


def contracts(found: Sequence[Contract]) -> list[list[str]]:
    """Rows of each `ensures` with its outcome, and why it fails or is not decided."""
    rows: list[list[str]] = []
    for each in found:
        rows += [[each.outcome, each.text], *(["", line] for line in reasons(each))]
    return rows


_OUTCOMES = {
    "holds": ("holds", "hold"), "fails": ("fails", "fail"), "unknown": ("is unknown", "are unknown"),
}  # fmt: skip


def tally(found: Iterable[Contract]) -> str:
    """`4 claims hold, 1 fails`; empty for no claims."""
    counts = Counter(each.outcome for each in found)
    parts = [(count, said[count > 1]) for each, said in _OUTCOMES.items() if (count := counts[each])]
    nouns = ["claims " if count > 1 else "claim " for count, _ in parts[:1]] + [""] * len(parts)
    return ", ".join(f"{count} {noun}{verb}" for (count, verb), noun in zip(parts, nouns, strict=False))


MAX_DERIVED = 180
"""Characters of a bound that are shown beside a claim; of longer ones the first terms, those of the highest degree."""
AT_MOST = ", at most "


def reasons(contract: Contract) -> list[str]:
    """Why a contract fails or is not decided, and the guard under which it holds."""
    assuming = [f"assuming {', '.join(contract.assumptions)}"] if contract.assumptions else []
    if contract.outcome not in ("fails", "unknown"):
        return assuming
    at = f"at {point_text(contract.point)}: " if contract.point else ""
    bounds = contract.derived.split("\n")
    shown = [AT_MOST.join(cut(each, MAX_DERIVED) for each in line.split(AT_MOST)) for line in bounds]
    # Of several costs each says which it is.
    lines = shown if len(shown) > 1 else [f"derived: {each}" for each in shown if each]
    lines.append(at + contract.reason)
    if contract.suggestion:
        lines.append(f"it fails only where {contract.fails_where}; proved to hold: {contract.suggestion}")
    return lines + assuming
