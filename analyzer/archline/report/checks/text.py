"""Verdicts for people: one a line, behind the `file:line` that editors can jump to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from archline.report.contracts import reasons, tally
from archline.report.findings import OF_ENTRIES, Found, found
from archline.report.layout import MIN_WIDTH, indented, wrap
from archline.report.view import CheckReport, Contract


def render(report: CheckReport, width: int) -> str:
    """The contracts of every algorithm, and how many have which outcome."""
    if report.problems and not report.targets:
        return ""
    every = found(report)
    lines: list[str] = []
    for view in report.targets:
        for group in view.groups:
            claims = [each for each in group.contracts if not (report.quiet and each.outcome == "holds")]
            if report.quiet and not claims:
                continue
            shown = list(_group(every, claims, width, certificates=report.certificates)) or ["  ensures nothing"]
            if group.assumptions:
                shown += wrap(f"  assuming {', '.join(group.assumptions)}", width, "    ")
            if group.messages:
                shown.append(f"  messages: {group.messages}")
            if group.stop is not None:
                shown += wrap(f"{group.stop.place}: note: {group.stop.text}", width, "    ")
            lines += [group.name, *shown, ""]
    entries = [each for each in every.findings if each.code in OF_ENTRIES]
    for each in entries:
        place = ":".join(str(part) for part in (each.path, each.line) if part)
        lines += wrap(f"{place}: {each.level}: {each.message}  [{each.code}]", width, "    ")
    counts = Counter(each.code for each in entries)
    said = [tally(report.all) or "nothing is ensured"]
    if every.ignored:
        said.append(f"{len(every.ignored)} of the findings {'is' if len(every.ignored) == 1 else 'are'} ignored")
    said += [f"{counts[code]} {words[counts[code] > 1]}" for code, words in OF_ENTRIES.items() if counts[code]]
    return "\n".join([*lines, *([""] if entries else []), "; ".join(said)]) + "\n"


def _group(every: Found, contracts: Sequence[Contract], width: int, *, certificates: bool) -> Iterator[str]:
    """Places and outcomes in columns, with the reasons and proofs indented."""
    room = max((len(f"{each.place}:") for each in contracts), default=0)
    outcomes = max((len(each.outcome) for each in contracts), default=0)
    for each in contracts:
        head = f"{f'{each.place}:'.ljust(room)} {each.outcome.ljust(outcomes)}  "
        code, ignored = every.of(each)
        mark = f"  [{code}{', ignored' if ignored else ''}]" if code else ""
        # Behind a long path the line is longer than the terminal, not broken into shreds.
        first, *rest = wrap(each.text + mark, max(MIN_WIDTH, width - len(head)))
        more = [line for reason in reasons(each) for line in wrap(reason, width - 4)]
        if certificates:
            from archline.report.growth import proof_text

            more += [line for proof in each.certificates for line in proof_text(proof, width - 4)]
        yield from (head + first, *indented([*rest, *more], 4))
