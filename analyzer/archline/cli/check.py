"""Decide what algorithms ensure. Exits with 1 where an `ensures` fails; claims are not decided yet."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from archline.cli import options as shared

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm
    from archline.report.view import CheckView

OUTCOMES = ("holds", "fails", "unknown", "not decided yet")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    shared.add_target(parser, many=True)
    shared.add_where(parser)
    parser.add_argument("--certificates", action="store_true", help="show the proofs of growth that holds")
    shared.add_format(parser, ("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.api.algorithms import algorithms
    from archline.language.diagnostics import ArchlineError, Diagnostic

    problems: list[Diagnostic] = []
    views: list[CheckView] = []
    for target in options.targets:
        try:
            views.append(_checked(target, [each.assuming(options.where) for each in algorithms(target)]))
        except ArchlineError as problem:
            problems.extend(problem.diagnostics)
    if views or not problems:
        sys.stdout.write(_rendered(options.format, views, options.certificates))
    if problems:
        raise ArchlineError(problems)
    return 1 if any(contract.outcome == "fails" for view in views for contract in view.all) else 0


def _checked(target: str, subjects: list[Algorithm]) -> CheckView:
    from archline.report.view import CheckView, claims

    found = tuple((subject.name, subject.cost().view(growth=False).contracts) for subject in subjects)
    whole = "::" not in target
    return CheckView(target, found, claims(subjects[0].module.program) if whole and subjects else ())


def _rendered(form: str, views: list[CheckView], certificates: bool) -> str:
    if form == "json":
        from archline.report import json

        return json.render(json.check(views, certificates=certificates))
    from archline.report import text
    from archline.report.layout import terminal_width

    return text.check(views, terminal_width(), certificates=certificates)
