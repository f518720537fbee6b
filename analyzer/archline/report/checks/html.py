"""Render the verdicts of a check as one HTML file, which a CI run can keep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from archline.language.diagnostics import format_count
from archline.report.findings import CheckReport, list_reasons, select_other_findings
from archline.report.html.document import Block, make_document, make_heading, make_sentence, make_table

HEAD = ("outcome", "claim", "reason", "place")


def render(report: CheckReport, width: int) -> str:
    """Return a page with a table of claims for each algorithm, and further findings. `width` has no effect."""
    if report.problems and not report.targets:
        return ""
    counted = Counter(contract.outcome for contract in report.all)
    verdicts = {outcome: counted[outcome] for outcome in ("holds", "fails", "unknown")} if report.all else None
    return make_document("archline check", "archline check --format html", _iterate_blocks(report), verdicts)


def _iterate_blocks(report: CheckReport) -> Iterator[Block]:
    if report.failing:
        yield make_sentence(f"the check fails: {format_count(len(report.failing), 'finding')}", "bad")
    if not report.all:
        yield make_sentence("nothing is ensured")
    if entries := select_other_findings(report.findings):
        yield make_heading("Findings")
        rows = [(str(finding.place), finding.severity, finding.message, finding.code) for finding in entries]
        yield make_table(("place", "level", "finding", "code"), rows)
    for view in report.targets:
        for group in view.groups:
            yield make_heading(group.name)
            rows = []
            for contract in group.contracts:
                claim = f"{contract.text} {report.mark_claim(contract)}".rstrip()
                rows.append((contract.outcome, claim, "; ".join(list_reasons(contract)), str(contract.place)))
            yield make_table(HEAD, rows) if rows else make_sentence("ensures nothing")
            if group.assumptions:
                yield make_sentence(f"assuming {', '.join(group.assumptions)}")
            if group.messages:
                yield make_sentence(f"messages: {group.messages}")
            if group.stop is not None:
                yield make_sentence(f"{group.stop.place}: {group.stop.text}", "warn")
