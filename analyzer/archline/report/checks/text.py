"""Verdicts for people: one a line, behind the `file:line` that editors can jump to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.report.contracts import reasons, tally
from archline.report.layout import MIN_WIDTH, indented, wrap
from archline.report.view import CheckReport, Contract


def render(report: CheckReport, width: int) -> str:
    """The contracts of every algorithm, and how many have which outcome."""
    if report.problems and not report.targets:
        return ""
    lines: list[str] = []
    for view in report.targets:
        for group in view.groups:
            shown = list(_group(group.contracts, width, certificates=report.certificates)) or ["  ensures nothing"]
            if group.assumptions:
                shown += wrap(f"  assuming {', '.join(group.assumptions)}", width, "    ")
            if group.messages:
                shown.append(f"  messages: {group.messages}")
            if group.stop is not None:
                shown += wrap(f"{group.stop.place}: note: {group.stop.text}", width, "    ")
            lines += [group.name, *shown, ""]
    return "\n".join([*lines, tally(report.all) or "nothing is ensured"]) + "\n"


def _group(found: Sequence[Contract], width: int, *, certificates: bool) -> Iterator[str]:
    """Places and outcomes in columns, with the reasons and proofs indented."""
    room = max((len(f"{each.place}:") for each in found), default=0)
    outcomes = max((len(each.outcome) for each in found), default=0)
    for each in found:
        head = f"{f'{each.place}:'.ljust(room)} {each.outcome.ljust(outcomes)}  "
        # Behind a long path the line is longer than the terminal, not broken into shreds.
        first, *rest = wrap(each.text, max(MIN_WIDTH, width - len(head)))
        more = [line for reason in reasons(each) for line in wrap(reason, width - 4)]
        if certificates:
            from archline.report.growth import proof_text

            more += [line for proof in each.certificates for line in proof_text(proof, width - 4)]
        yield from (head + first, *indented([*rest, *more], 4))
