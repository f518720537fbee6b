"""Findings as workflow commands of GitHub Actions, which annotate the lines of a pull request."""

from __future__ import annotations

from archline.report.findings import Finding, findings
from archline.report.view import CheckReport

COMMANDS = {"error": "error", "note": "notice"}


def render(report: CheckReport, width: int) -> str:
    """A command a finding, nothing where there is none."""
    return "".join(f"{_command(each)}\n" for each in findings(report))


def _command(finding: Finding) -> str:
    place = finding.place
    known = {
        "file": finding.path,
        "line": finding.line,
        "col": place and place.column,
        "title": f"{finding.rule}: {finding.title}",
    }
    properties = ",".join(f"{name}={_property(str(value))}" for name, value in known.items() if value)
    return f"::{COMMANDS[finding.level]} {properties}::{_data(finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
