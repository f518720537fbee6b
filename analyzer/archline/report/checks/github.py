"""Render the findings as workflow commands of GitHub Actions, which annotate the lines of a pull request."""

from __future__ import annotations

from pathlib import Path

from archline.language.diagnostics import ERROR, NOTE, WARNING
from archline.report.findings import CheckFinding, CheckReport
from archline.report.view import make_path_relative_to_root

COMMANDS = {ERROR: "error", WARNING: "warning", NOTE: "notice"}


def render(report: CheckReport, width: int) -> str:
    """Return a workflow command for each finding, empty if there are none; `width` has no effect."""
    return "".join(f"{format_command(finding, report.root)}\n" for finding in report.findings)


def format_command(finding: CheckFinding, root: Path) -> str:
    """Return the workflow command of a finding, with its path relative to `root`."""
    fields = {
        "file": make_path_relative_to_root(finding.path, root),
        "line": finding.line,
        "col": finding.place.column,
        "title": f"{finding.code}: {finding.title}",
    }
    properties = ",".join(f"{name}={_escape_property(str(value))}" for name, value in fields.items() if value)
    return f"::{COMMANDS[finding.severity]} {properties}::{_escape_data(finding.message)}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
