"""The findings of `archline check`, as tools take them: a level, a rule, a message and a place."""

from __future__ import annotations

from collections.abc import Iterator

from archline.language.diagnostics import Diagnostic
from archline.records import record
from archline.report.contracts import reasons
from archline.report.view import CheckReport, Contract, Place, Stop, relative

RULES = {
    "claim-fails": "A claim about a cost fails",
    "claim-not-decided": "A claim about a cost is neither proved nor refuted",
}


@record
class Finding:
    """What is wrong (an `error`) or not decided (a `note`). `path` is empty where there is no file."""

    level: str
    rule: str
    title: str
    message: str
    path: str
    place: Place | None
    line: int | None = None


def findings(report: CheckReport) -> Iterator[Finding]:
    """Claims that fail, or are not decided if these count; runs that stop; targets that cannot be checked."""
    for view in report.targets:
        for group in view.groups:
            yield from (_of_contract(group.name, each) for each in group.contracts if report.wrong(each))
            if group.stop is not None:
                yield _of_stop(group.name, group.stop)
    yield from map(_of_diagnostic, report.problems)


def _of_contract(group: str, contract: Contract) -> Finding:
    fails = contract.outcome == "fails"
    rule = "claim-fails" if fails else "claim-not-decided"
    message = "\n".join([f"{group}: {contract.outcome}: {contract.text}", *(reasons(contract) or [contract.reason])])
    place = contract.place
    return Finding("error" if fails else "note", rule, RULES[rule], message, place.path, place, place.line)


def _of_stop(group: str, stop: Stop) -> Finding:
    return Finding("note", stop.code, stop.title, f"{group}: {stop.text}", stop.place.path, stop.place, stop.place.line)


def _of_diagnostic(found: Diagnostic) -> Finding:
    message = found.message if found.hint is None else f"{found.message}\nhint: {found.hint}"
    code, title = found.rule.code, found.rule.title
    if found.span is None:
        return Finding("error", code, title, message, relative(found.path or ""), None, found.line)
    place = Place.of(found.span)
    return Finding("error", code, title, message, place.path, place, place.line)
