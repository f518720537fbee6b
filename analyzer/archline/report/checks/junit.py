"""Render verdicts as JUnit XML: a suite is a target, and a test case is a claim."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from archline.report.findings import ERROR, OF_ENTRIES, RULES, CheckFinding, CheckReport, reasons
from archline.report.view import CheckView, Contract

ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot represent."""
COUNTED = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""The tags of the elements that each attribute of a suite counts."""


def render(report: CheckReport, width: int) -> str:
    """Return a suite for each target, one for the baseline and comments, one for programs that cannot be checked."""
    root = _element("testsuites", name="archline check")
    root.extend(_suite(report, view) for view in report.targets)
    entries = [_case(finding, "failure") for finding in report.failing if (finding.code, finding.level) in OF_ENTRIES]
    refused = [
        _case(finding, "error") for finding in report.findings if finding.level == ERROR and finding.code not in RULES
    ]
    for name, cases in (("baseline and comments", entries), ("cannot be checked", refused)):
        if cases:
            root.append(suite := _element("testsuite", name=name))
            suite.extend(cases)
    for element in (*root, root):
        for attribute, tag in COUNTED.items():
            element.set(attribute, str(sum(1 for _ in element.iter(tag))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(report: CheckReport, view: CheckView) -> ElementTree.Element:
    suite = _element("testsuite", name=view.target)
    for group in view.groups:
        for contract in group.contracts:
            where = {"file": contract.place.path, "line": str(contract.place.line)}
            suite.append(case := _element("testcase", classname=group.name, name=contract.text, **where))
            case.extend(_outcome(report, contract))
    notes = [f"{group.stop.place}: {group.name}: {group.stop.text}" for group in view.groups if group.stop is not None]
    if notes:
        suite.append(_element("system-out", "\n".join(notes)))
    return suite


def _outcome(report: CheckReport, contract: Contract) -> list[ElementTree.Element]:
    code, ignored = report.of(contract)
    if contract.outcome == "holds":
        return []
    if ignored or (contract.outcome != "fails" and not report.strict):
        outcome = f"{code} is ignored" if ignored else contract.outcome
        return [_element("skipped", message=f"{outcome}: {contract.reason}")]
    text = "\n".join([str(contract.place), *reasons(contract)])
    return [_element("failure", text, type=contract.outcome, message=contract.reason)]


def _case(finding: CheckFinding, tag: str) -> ElementTree.Element:
    """Return a case that is about no claim: a changed cost, an unneeded entry, or a program that cannot be checked."""
    name = f"{finding.code}: {finding.title}"
    case = _element("testcase", classname=finding.algorithm or finding.path, name=name, file=finding.path)
    text = "\n".join(filter(None, (str(finding.place), finding.message)))
    case.append(_element(tag, text, type=finding.code, message=finding.message))
    return case


def _element(tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, {name: _legal(value) for name, value in attributes.items()})
    element.text = text and _legal(text)
    return element


def _legal(text: str) -> str:
    return ILLEGAL.sub("\ufffd", text)
