"""Render verdicts for people: one a line, after the `file:line` that editors can jump to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from archline.report.findings import (
    NON_CLAIM_FINDINGS,
    CheckReport,
    list_reasons,
    select_other_findings,
    summarise_claims,
)
from archline.report.growth import describe_certificate
from archline.report.layout import MIN_WIDTH, indent_lines, render_block, wrap
from archline.report.view import CheckView, Contract

MAX_LISTED_CLAIMS = 20
"""The maximum number of claims that hold and are listed; if there are more, each file has a line with their number."""


def render(report: CheckReport, width: int) -> str:
    """Return the verdicts on the claims of each algorithm, further findings, and the number of each outcome."""
    if report.problems and not report.targets:
        return ""
    many = not report.verbose and sum(contract.outcome == "holds" for contract in report.all) > MAX_LISTED_CLAIMS
    short = report.quiet or many
    lines: list[str] = []
    for view in report.targets:
        for group in view.groups:
            claims = [contract for contract in group.contracts if not (short and contract.outcome == "holds")]
            stop = [] if group.stop is None else wrap(f"{group.stop.place}: note: {group.stop.text}", width, "    ")
            if short and not claims and (report.quiet or not stop):
                continue
            shown = list(_iterate_group_lines(report, claims, width)) or ([] if short else ["  ensures nothing"])
            if group.assumptions:
                shown += [f"  {line}" for line in wrap(f"assuming {', '.join(group.assumptions)}", width - 2)]
            if group.messages:
                shown.append(f"  messages: {group.messages}")
            lines += [group.name, *shown, *stop, ""]
    if many and not report.quiet:
        held = [line for view in report.targets for line in _summarise_held_claims(view)]
        lines += [*held, ""] if len(held) <= MAX_LISTED_CLAIMS else []
    entries = select_other_findings(report.findings)
    for finding in entries:
        head, *hints = finding.message.split("\n")
        lines += wrap(f"{finding.place}: {finding.severity}: {head} [{finding.code}]", width, "    ")
        lines += [line for hint in hints for line in wrap(f"    {hint}", width, "    ")]
    counts = Counter((finding.code, finding.severity) for finding in entries)
    summary = [summarise_claims(report.all) or "nothing is ensured"]
    if ignored := len(report.ignored):
        summary.append(f"{ignored} of the findings {'is' if ignored == 1 else 'are'} ignored")
    summary += [
        f"{counts[kind]} {words[counts[kind] > 1]}" for kind, words in NON_CLAIM_FINDINGS.items() if counts[kind]
    ]
    more = ["`--verbose` lists all"] if many and not report.quiet else []
    return "\n".join([*lines, *([""] if entries else []), "; ".join([*summary, *more])]) + "\n"


def _summarise_held_claims(view: CheckView) -> Iterator[str]:
    """Yield the number of claims of a file that hold, and whether some are proved under assumptions."""
    held = [(contract, group) for group in view.groups for contract in group.contracts if contract.outcome == "holds"]
    if held:
        assuming = any(contract.assumptions or group.assumptions for contract, group in held)
        claims = summarise_claims(contract for contract, _ in held)
        yield f"{view.target}: {claims}{', under assumptions' if assuming else ''}"


def _iterate_group_lines(report: CheckReport, contracts: Sequence[Contract], width: int) -> Iterator[str]:
    """Yield claims with places and outcomes in columns, and below each its reasons and proofs, indented."""
    room = max((len(f"{contract.place}:") for contract in contracts), default=0)
    outcomes = max((len(contract.outcome) for contract in contracts), default=0)
    for contract in contracts:
        head = f"{f'{contract.place}:'.ljust(room)} {contract.outcome.ljust(outcomes)}  "
        mark = f"  {report.mark_claim(contract)}".rstrip()
        # With a long path the line is longer than the terminal, so that the claim is not broken into short pieces.
        first, *rest = wrap(contract.text + mark, max(MIN_WIDTH, width - len(head)))
        more = [line for reason in list_reasons(contract) for line in wrap(reason, width - 4)]
        if report.certificates:
            more += [
                line for proof in contract.certificates for line in render_block(describe_certificate(proof), width - 4)
            ]
        yield from (head + first, *indent_lines([*rest, *more], 4))
