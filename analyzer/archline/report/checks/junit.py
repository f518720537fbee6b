"""Verdicts as JUnit XML: a suite a target, a test case a claim."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from archline.language.diagnostics import Diagnostic
from archline.report.contracts import reasons
from archline.report.findings import OF_ENTRIES, Finding, Found, found
from archline.report.view import CheckReport, CheckView, Contract, relative

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write."""


def render(report: CheckReport, width: int) -> str:
    """A suite for each target, and one for what cannot be checked."""
    root = _element("testsuites", name="archline check")
    every = found(report)
    root.extend(_suite(report, every, view) for view in report.targets)
    changes = [each for each in every.failing(report.strict) if each.code in OF_ENTRIES]
    if changes:
        suite = _element("testsuite", name="baseline and comments")
        suite.extend(_entry(each) for each in changes)
        root.append(suite)
    if report.problems:
        suite = _element("testsuite", name="cannot be checked")
        suite.extend(map(_refused, report.problems))
        root.append(suite)
    for each in (*root, root):
        _count(each)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(report: CheckReport, every: Found, view: CheckView) -> ElementTree.Element:
    suite = _element("testsuite", name=view.target)
    for group in view.groups:
        for each in group.contracts:
            where = {"file": each.place.path, "line": str(each.place.line)}
            case = _element("testcase", classname=group.name, name=each.text, **where)
            case.extend(_outcome(report, every, each))
            suite.append(case)
    notes = [f"{each.stop.place}: {each.name}: {each.stop.text}" for each in view.groups if each.stop is not None]
    if notes:
        output = _element("system-out")
        output.text = _legal("\n".join(notes))
        suite.append(output)
    return suite


def _outcome(report: CheckReport, every: Found, contract: Contract) -> list[ElementTree.Element]:
    code, ignored = every.of(contract)
    if contract.outcome == "holds":
        return []
    if ignored or (contract.outcome != "fails" and not report.strict):
        said = f"{code} is ignored" if ignored else contract.outcome
        return [_element("skipped", message=f"{said}: {contract.reason}")]
    failure = _element("failure", type=contract.outcome, message=contract.reason)
    failure.text = _legal("\n".join([str(contract.place), *reasons(contract)]))
    return [failure]


def _entry(finding: Finding) -> ElementTree.Element:
    """A cost that changed, or a comment or an entry of the baseline that nothing needs."""
    case = _element("testcase", classname=finding.algorithm, name=f"{finding.code}: {finding.title}", file=finding.path)
    case.append(_element("failure", type=finding.code, message=finding.message))
    return case


def _refused(problem: Diagnostic) -> ElementTree.Element:
    path = problem.span.source.path if problem.span else problem.path or ""
    case = _element("testcase", classname=relative(path), name=f"{problem.rule.code}: {problem.rule.title}")
    failure = _element("error", type=problem.rule.code, message=problem.message)
    failure.text = _legal(problem.render())
    case.append(failure)
    return case


def _count(suite: ElementTree.Element) -> None:
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))


def _element(tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.Element(tag, {name: _legal(value) for name, value in attributes.items()})


def _legal(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)
