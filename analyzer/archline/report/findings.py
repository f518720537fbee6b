"""The findings of `archline check`: a level, a rule, a message and a place, without those that are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from archline.claims import rules
from archline.language.diagnostics import Diagnostic, Rule, did_you_mean
from archline.language.suppressions import Suppression
from archline.records import record
from archline.report.contracts import reasons
from archline.report.view import Change, CheckReport, Contract, Place, Stop, relative

ERROR, WARNING, NOTE = "error", "warning", "note"
RULES: Mapping[str, tuple[str, Rule]] = {
    rule.code: (level, rule)
    for level, rule in (
        (ERROR, rules.FAILS),
        (WARNING, rules.NOT_DECIDED),
        (ERROR, rules.GREW),
        (ERROR, rules.BECAME_UNKNOWN),
        (WARNING, rules.UNNEEDED),
    )
}
"""The level of each finding that can be selected or ignored, and its rule."""
OF_ENTRIES = {
    rules.GREW.code: ("cost grew", "costs grew"),
    rules.BECAME_UNKNOWN.code: ("cost became unknown", "costs became unknown"),
    rules.UNNEEDED.code: ("entry that nothing needs", "entries that nothing needs"),
}
"""Those that are about no claim, in words: one, and several."""
OUTCOMES = {"fails": rules.FAILS.code, "unknown": rules.NOT_DECIDED.code}


@record
class Finding:
    """What a check found. `path` is empty where there is no file, `algorithm` for what is not in one.

    `claim` is what fails or is not decided. Errors fail the check, warnings do where it is strict, notes never.
    """

    code: str
    level: str
    title: str
    message: str
    path: str
    place: Place | None
    line: int | None = None
    algorithm: str = ""
    claim: str = ""

    @property
    def about(self) -> tuple[str, ...]:
        """What an entry of a baseline that takes it over has in common with it."""
        return self.code, self.path, self.algorithm, self.claim


@record
class Found:
    """Findings that count, and those that a comment or the baseline ignores."""

    findings: tuple[Finding, ...]
    ignored: tuple[Finding, ...]

    def failing(self, strict: bool) -> list[Finding]:
        """Those for which the check fails."""
        return [each for each in self.findings if each.level == ERROR or (strict and each.level == WARNING)]

    def of(self, contract: Contract) -> tuple[str, bool]:
        """The code of the finding at a claim, empty where there is none, and whether it is ignored."""
        for found, ignored in ((self.findings, False), (self.ignored, True)):
            for each in found:
                if each.place == contract.place and each.claim == contract.text:
                    return each.code, ignored
        return "", False


def found(report: CheckReport) -> Found:
    """What claims, runs that stop, a baseline, and targets that cannot be checked give, in that order."""
    every = list(_made(report))
    counted: list[Finding] = []
    ignored: list[Finding] = []
    for each in every:
        accepted = not report.selected(each.code) or any(_covers(report, each)) or any(_taken(report, each))
        (ignored if each.code in RULES and accepted else counted).append(each)
    if report.selected(rules.UNNEEDED.code):
        counted += _unneeded(report, every)
    counted += map(of_diagnostic, report.problems)
    return Found(tuple(counted), tuple(ignored))


def _made(report: CheckReport) -> Iterator[Finding]:
    for view in report.targets:
        for name, contracts in (*((each.name, each.contracts) for each in view.algorithms), ("", view.claims)):
            yield from (_of_contract(name, view.path, each) for each in contracts if each.outcome in OUTCOMES)
        yield from (_of_stop(each.name, each.stop) for each in view.algorithms if each.stop is not None)
    yield from map(_of_change, report.changes)


def _covers(report: CheckReport, finding: Finding) -> Iterator[bool]:
    """Whether each comment in the file of a finding ignores it."""
    for view in report.targets:
        if view.path == finding.path:
            yield from (each.covers(finding.code, finding.algorithm, finding.line or 0) for each in view.suppressions)


def _taken(report: CheckReport, finding: Finding) -> Iterator[bool]:
    """Whether each entry of the baseline takes a finding over."""
    return (each.about == finding.about for each in report.accepted)


def _unneeded(report: CheckReport, every: list[Finding]) -> Iterator[Finding]:
    """Comments and entries that ignore none of the findings; those about a baseline count only where there is one."""
    for view in report.targets:
        here = [each for each in every if each.path == view.path]
        for comment in view.suppressions:
            if reason := _reason(report, comment, here):
                place = Place(view.path, comment.line, comment.column, comment.line, comment.column + 1)
                yield _finding(rules.UNNEEDED.code, reason, place, comment.algorithm)
    names, found = {each.path for each in report.targets}, {each.about for each in every}
    for entry in report.accepted:
        if entry.path in names and entry.about not in found:
            message = f"accepts {entry.code} of `{entry.claim}` in {entry.path}, which is not found: remove the entry"
            yield _at_line(rules.UNNEEDED.code, message, entry.baseline, entry.line, entry.algorithm)


def _reason(report: CheckReport, comment: Suppression, here: list[Finding]) -> str:
    """Why nothing needs a comment, and what to do about it; empty where something does."""
    if comment.alone:
        return "a comment on a line of its own ignores nothing: write it behind the claim"
    known = set(RULES) - {rules.UNNEEDED.code}
    if not comment.codes:
        return f"the comment names no code, such as {rules.NOT_DECIDED.code}: remove the comment"
    for code in comment.codes:
        if code not in known:
            near = did_you_mean(code, sorted(known))
            meant = f" ({near})" if near else ""
            return f"`{code}` is not the code of a finding that a comment ignores{meant}: remove the comment"
        if code in (rules.GREW.code, rules.BECAME_UNKNOWN.code) and not report.compared:
            continue
        if not any(comment.covers(code, each.algorithm, each.line or 0) for each in here if each.code == code):
            return f"no {code} is found here: remove the comment"
    return ""


def _finding(code: str, message: str, place: Place, algorithm: str, claim: str = "") -> Finding:
    level, rule = RULES[code]
    return Finding(code, level, rule.title, message, place.path, place, place.line, algorithm, claim)


def _at_line(code: str, message: str, path: str, line: int, algorithm: str) -> Finding:
    level, rule = RULES[code]
    return Finding(code, level, rule.title, message, path, None, line or None, algorithm)


def _of_contract(algorithm: str, file: str, contract: Contract) -> Finding:
    head = f"{algorithm}: " if algorithm else ""
    message = "\n".join([f"{head}{contract.outcome}: {contract.text}", *(reasons(contract) or [contract.reason])])
    return _finding(OUTCOMES[contract.outcome], message, contract.place, algorithm, contract.text)


def _of_change(change: Change) -> Finding:
    head = f"{change.algorithm}: " if change.algorithm else ""
    return _at_line(change.code, head + change.message, change.path, change.line, change.algorithm)


def _of_stop(algorithm: str, stop: Stop) -> Finding:
    place = stop.place
    return Finding(
        stop.code, NOTE, stop.title, f"{algorithm}: {stop.text}", place.path, place, place.line, algorithm, stop.text
    )


def of_diagnostic(problem: Diagnostic) -> Finding:
    """What is wrong with a program as a finding."""
    message = problem.message if problem.hint is None else f"{problem.message}\nhint: {problem.hint}"
    code, title = problem.rule.code, problem.rule.title
    if problem.span is None:
        return Finding(code, ERROR, title, message, relative(problem.path or ""), None, problem.line)
    place = Place.of(problem.span)
    return Finding(code, ERROR, title, message, place.path, place, place.line)
