"""Decide what algorithms ensure: each claim holds, fails, or is unknown; claims of files are not decided yet.

A target is also a folder (all its `.algo` files, in folders inside too) or `-`, a program on standard input. Exits
with 1 where a claim fails; with --strict also where one is not decided.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from itertools import chain

from archline.cli import options as shared
from archline.report.checks import formats


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    shared.add_target(parser, many=True)
    shared.add_where(parser)
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a claim is not decided, too")
    parser.add_argument("--certificates", action="store_true", help="show the proofs of growth that holds")
    parser.add_argument(
        "-j",
        "--jobs",
        type=shared.positive,
        metavar="N",
        help="check so many targets at a time (default: one for each processor)",
    )
    shared.add_no_cache(parser)
    shared.add_format(parser, formats())


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.api import rules
    from archline.api.checks import Task, outcomes
    from archline.language.diagnostics import ArchlineError, Diagnostic, error
    from archline.report.layout import terminal_width
    from archline.report.view import CheckReport, CheckView

    if options.certificates and options.format not in ("text", "json"):
        raise error(rules.OPTIONS_CLASH, "`--certificates` is for `--format text` and `json`")
    # A file that several use is reported once.
    problems: dict[str, Diagnostic] = {}
    views: list[CheckView] = []
    tasks: list[Task] = []
    for target in dict.fromkeys(chain.from_iterable(map(shared.programs, options.targets))):
        try:
            source = shared.standard_input() if target == "-" else None
        except ArchlineError as problem:
            problems |= {each.render(): each for each in problem.diagnostics}
        else:
            tasks.append(Task(target, options.where, options.certificates, source))
    for found in outcomes(tasks, options.jobs, cached=not options.no_cache):
        if isinstance(found, CheckView):
            views.append(found)
        else:
            problems |= {each.render(): each for each in found}
    report = CheckReport(tuple(views), tuple(problems.values()), options.strict, options.certificates)
    renderer = import_module(f"archline.report.checks.{options.format}")
    sys.stdout.write(renderer.render(report, terminal_width()))
    if problems:
        raise ArchlineError(report.problems)
    return 1 if any(map(report.wrong, report.all)) else 0
