"""Verdicts for people: one a line, behind the `file:line` that editors can jump to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from archline.report.findings import OF_ENTRIES, CheckReport, reasons, tally
from archline.report.growth import proof_text
from archline.report.layout import MIN_WIDTH, block_lines, indented, wrap
from archline.report.view import CheckView, Contract

MAX_LISTED_CLAIMS = 20
"""Of more claims that hold a line a file says how many do."""


def render(report: CheckReport, width: int) -> str:
    """The contracts of every algorithm, and how many have which outcome."""
    if report.problems and not report.targets:
        return ""
    many = not report.verbose and sum(each.outcome == "holds" for each in report.all) > MAX_LISTED_CLAIMS
    short = report.quiet or many
    lines: list[str] = []
    for view in report.targets:
        for group in view.groups:
            claims = [each for each in group.contracts if not (short and each.outcome == "holds")]
            stop = [] if group.stop is None else wrap(f"{group.stop.place}: note: {group.stop.text}", width, "    ")
            if short and not claims and (report.quiet or not stop):
                continue
            shown = list(_group_lines(report, claims, width)) or ([] if short else ["  ensures nothing"])
            if group.assumptions:
                shown += wrap(f"  assuming {', '.join(group.assumptions)}", width, "    ")
            if group.messages:
                shown.append(f"  messages: {group.messages}")
            lines += [group.name, *shown, *stop, ""]
    if many and not report.quiet:
        held = [line for view in report.targets for line in _held_summary(view)]
        lines += [*held, ""] if len(held) <= MAX_LISTED_CLAIMS else []
    entries = [each for each in report.findings if (each.code, each.level) in OF_ENTRIES]
    for each in entries:
        head, *hints = each.message.split("\n")
        lines += wrap(f"{each.place}: {each.level}: {head} [{each.code}]", width, "    ")
        lines += [line for hint in hints for line in wrap(f"    {hint}", width, "    ")]
    counts = Counter((each.code, each.level) for each in entries)
    said = [tally(report.all) or "nothing is ensured"]
    if ignored := len(report.ignored):
        said.append(f"{ignored} of the findings {'is' if ignored == 1 else 'are'} ignored")
    said += [f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in OF_ENTRIES.items() if counts[kind]]
    more = ["`--verbose` lists all"] if many and not report.quiet else []
    return "\n".join([*lines, *([""] if entries else []), "; ".join([*said, *more])]) + "\n"


def _held_summary(view: CheckView) -> Iterator[str]:
    """The number of claims of a file that hold, and whether any of them rests on assumptions."""
    held = [(each, group) for group in view.groups for each in group.contracts if each.outcome == "holds"]
    if held:
        assuming = any(each.assumptions or group.assumptions for each, group in held)
        yield f"{view.target}: {tally(each for each, _ in held)}{', under assumptions' if assuming else ''}"


def _group_lines(report: CheckReport, contracts: Sequence[Contract], width: int) -> Iterator[str]:
    """Places and outcomes in columns, with the reasons and proofs indented."""
    room = max((len(f"{each.place}:") for each in contracts), default=0)
    outcomes = max((len(each.outcome) for each in contracts), default=0)
    for each in contracts:
        head = f"{f'{each.place}:'.ljust(room)} {each.outcome.ljust(outcomes)}  "
        code, ignored = report.of(each)
        mark = f"  [{code}{', ignored' if ignored else ''}]" if code else ""
        # Behind a long path the line is longer than the terminal, not broken into shreds.
        first, *rest = wrap(each.text + mark, max(MIN_WIDTH, width - len(head)))
        more = [line for reason in reasons(each) for line in wrap(reason, width - 4)]
        if report.certificates:
            more += [line for proof in each.certificates for line in block_lines(proof_text(proof), width - 4)]
        yield from (head + first, *indented([*rest, *more], 4))
