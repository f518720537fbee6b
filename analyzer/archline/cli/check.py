"""Decide what algorithms ensure: each claim holds, fails, or is unknown; claims of files are not decided yet.

A target is also a folder (all its `.algo` files, in folders inside too) or `-`, a program on standard input. Exits
with 1 where a claim fails; with --strict also where one is not decided.
"""

from __future__ import annotations

import argparse
import os
import sys
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.report.checks import formats

if TYPE_CHECKING:
    from archline.api.algorithms import Algorithm
    from archline.report.view import CheckView, Group


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    shared.add_target(parser, many=True)
    shared.add_where(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a claim is not decided, too")
    parser.add_argument("--certificates", action="store_true", help="show the proofs of growth that holds")
    shared.add_format(parser, formats())


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.api import rules
    from archline.language.diagnostics import ArchlineError, Diagnostic, error
    from archline.report.layout import terminal_width
    from archline.report.view import CheckReport

    if options.certificates and options.format not in ("text", "json"):
        raise error(rules.OPTIONS_CLASH, "`--certificates` is for `--format text` and `json`")
    # A file that several use is reported once.
    problems: dict[str, Diagnostic] = {}
    views: list[CheckView] = []
    for target in dict.fromkeys(chain.from_iterable(map(_files, options.targets))):
        try:
            views.append(_checked(target, options.where))
        except ArchlineError as problem:
            problems |= {each.render(): each for each in problem.diagnostics}
    report = CheckReport(tuple(views), tuple(problems.values()), options.strict, options.certificates)
    renderer = import_module(f"archline.report.checks.{options.format}")
    sys.stdout.write(renderer.render(report, terminal_width()))
    if problems:
        raise ArchlineError(report.problems)
    return 1 if any(map(report.wrong, report.all)) else 0


def _files(target: str) -> list[str]:
    """The programs of a folder, sorted; any other target is one itself."""
    if not os.path.isdir(target):
        return [target]
    # A folder without programs is reported as one that is read.
    return sorted(str(path) for path in Path(target).rglob("*.algo") if path.is_file()) or [target]


def _checked(target: str, where: str | None) -> CheckView:
    """What a target ensures. Raises ArchlineError."""
    from archline.report.view import CheckView, claims

    subjects = [each.assuming(where) for each in _algorithms(target)]
    found = tuple(map(_group, subjects))
    whole = "::" not in target
    return CheckView(target, found, claims(subjects[0].module.program) if whole and subjects else ())


def _group(subject: Algorithm) -> Group:
    """The contracts of an algorithm; where one holds, a run that stops is looked for."""
    from archline.api.trials import stop
    from archline.report.view import Group, contract

    contracts = tuple(map(contract, subject.cost().ensures))
    holds = any(each.outcome == "holds" for each in contracts)
    return Group(subject.name, contracts, stop(subject) if holds else None)


def _algorithms(target: str) -> list[Algorithm]:
    """The algorithms of a target, or of the program on standard input. Raises ArchlineError."""
    from archline.api.algorithms import algorithms, loads
    from archline.language import input_rules
    from archline.language.diagnostics import error

    if os.path.isdir(target):
        raise error(input_rules.DIRECTORY, f"the folder `{target}` has no `.algo` file", path=target)
    if target != "-":
        return list(algorithms(target))
    source = shared.standard_input()
    module = loads(source.text, source.path)
    return [module[name] for name in module]
