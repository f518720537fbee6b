"""Render verdicts as JUnit XML: a suite is a target, and a test case is a claim."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from archline.language.diagnostics import ERROR
from archline.report.findings import RULES, CheckFinding, CheckReport, list_reasons, select_other_findings
from archline.report.view import CheckView, Contract

ILLEGAL_CHARACTERS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""The characters that XML 1.0 cannot represent."""
COUNTED_TAGS = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
"""The tags of the elements that each attribute of a suite counts."""


def render(report: CheckReport, width: int) -> str:
    """Return XML with a suite for each target, for the baseline and comments, and for programs that are not checked.

    `width` has no effect.
    """
    root = _make_element("testsuites", name="archline check")
    root.extend(_make_suite(report, view) for view in report.targets)
    entries = [_make_case(finding, "failure") for finding in select_other_findings(report.failing)]
    refused = [
        _make_case(finding, "error")
        for finding in report.findings
        if finding.severity == ERROR and finding.code not in RULES
    ]
    for name, cases in (("baseline and comments", entries), ("cannot be checked", refused)):
        if cases:
            root.append(suite := _make_element("testsuite", name=name))
            suite.extend(cases)
    for element in (*root, root):
        for attribute, tag in COUNTED_TAGS.items():
            element.set(attribute, str(sum(1 for _ in element.iter(tag))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _make_suite(report: CheckReport, view: CheckView) -> ElementTree.Element:
    suite = _make_element("testsuite", name=view.target)
    for group in view.groups:
        for contract in group.contracts:
            where = {"file": contract.place.path, "line": str(contract.place.line)}
            suite.append(case := _make_element("testcase", classname=group.name, name=contract.text, **where))
            case.extend(_list_outcome_elements(report, contract))
    notes = [f"{group.stop.place}: {group.name}: {group.stop.text}" for group in view.groups if group.stop is not None]
    if notes:
        suite.append(_make_element("system-out", "\n".join(notes)))
    return suite


def _list_outcome_elements(report: CheckReport, contract: Contract) -> list[ElementTree.Element]:
    code, ignored = report.find_code(contract)
    if contract.outcome == "holds":
        return []
    if ignored or (contract.outcome != "fails" and not report.strict):
        outcome = f"{code} is ignored" if ignored else contract.outcome
        return [_make_element("skipped", message=f"{outcome}: {contract.reason}")]
    text = "\n".join([str(contract.place), *list_reasons(contract)])
    return [_make_element("failure", text, type=contract.outcome, message=contract.reason)]


def _make_case(finding: CheckFinding, tag: str) -> ElementTree.Element:
    """Return a case that is about no claim: a changed cost, an unneeded entry, or a program that cannot be checked."""
    name = f"{finding.code}: {finding.title}"
    case = _make_element("testcase", classname=finding.algorithm or finding.path, name=name, file=finding.path)
    text = "\n".join(filter(None, (str(finding.place), finding.message)))
    case.append(_make_element(tag, text, type=finding.code, message=finding.message))
    return case


def _make_element(tag: str, text: str | None = None, **attributes: str) -> ElementTree.Element:
    element = ElementTree.Element(tag, {name: _replace_illegal(value) for name, value in attributes.items()})
    element.text = text and _replace_illegal(text)
    return element


def _replace_illegal(text: str) -> str:
    return ILLEGAL_CHARACTERS.sub("\ufffd", text)
