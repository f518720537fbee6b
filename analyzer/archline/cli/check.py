"""Decide the claims of algorithms (`ensures`) and files (`claim`): each holds, fails (AL601) or is undecided (AL602).

A target can also be a folder (all `.algo` files in it and its subfolders) or `-`, a program on standard input. Without
a target the `paths` of the project's configuration are checked. Exits with 1 if a claim fails; with --strict also if
one is undecided, an output is not set (AL606), or a comment `# archline: ignore CODE` ignores nothing; with --baseline
also if a cost grew (AL603; with --strict also if a bound rose) or became unknown (AL604) since the baseline was
written with --write-baseline.

With --fix the edits that messages propose are made first, in the files named (never in the standard library's), if
nothing else can be meant; then the check is as usual, and so is the exit status. With --fix --diff they are shown, and
nothing is written or decided: the exit status is 1 if a file would change, else 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import ArchlineError, Diagnostic, error, format_count
from archline.records import replace
from archline.report import list_formats
from archline.report.layout import terminal_width

if TYPE_CHECKING:
    from archline.api.checks import Task
    from archline.report.findings import CheckReport

CONFIGURED = {
    "paths": "targets",
    "select": "select",
    "ignore": "ignore",
    "baseline": "baseline",
    "tolerance": "tolerance",
}
"""The options that the project's configuration fills in, by its keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.set_defaults(problems=(), required="targets")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=shared.TARGET_HELP)
    shared.add_options(parser, "--where")
    parser.add_argument("--strict", action="store_true", help="treat warnings (e.g. AL602) as failures: exit with 1")
    verbosity = parser.add_mutually_exclusive_group()
    verbosity.add_argument("-q", "--quiet", action="store_true", help="show only claims that fail or are undecided")
    verbosity.add_argument("-v", "--verbose", action="store_true", help="list every claim that holds")
    parser.add_argument("--force-exclude", action="store_true", help="apply `exclude` to files named here too")
    parser.add_argument("--baseline", metavar="FILE", help="compare costs with this baseline file")
    parser.add_argument("--write-baseline", metavar="FILE", help="write costs and findings to this baseline")
    parser.add_argument("--fix", action="store_true", help="make the safe edits that messages propose, then check")
    parser.add_argument("--diff", action="store_true", help="with --fix: write nothing, show the edits; exit 1 if any")
    shared.add_options(parser, "--tolerance")
    for option, effect in (("select", "report only these findings"), ("ignore", "do not report these findings")):
        parser.add_argument(
            f"--{option}",
            type=shared.split_list,
            metavar="CODES",
            help=f"{effect}: codes or prefixes of codes (e.g. AL6)",
        )
    parser.add_argument("--certificates", action="store_true", help="show proofs of growth claims that hold")
    shared.add_options(parser, "--jobs", *shared.PRINTING_OPTIONS, choices=list_formats("checks"))


def execute(options: argparse.Namespace) -> int:
    """Print the verdicts and findings; return the exit status: 1 if a finding fails the check, else 0."""
    from archline.api.checks import Task, check_tasks, require_sizes, require_sizes_of_project
    from archline.api.configuration import FINDING_CODES, find_unknown_codes
    from archline.report.findings import CheckReport
    from archline.report.view import CheckView

    if options.certificates and options.format not in ("text", "json"):
        raise error(rules.OPTIONS_CLASH, "`--certificates` requires `--format text` or `--format json`")
    for code in find_unknown_codes([*(options.select or ()), *(options.ignore or ())]):
        raise error(rules.OPTIONS_CLASH, f"no finding has a code that starts with `{code[:40]}`", hint=FINDING_CODES)
    if options.diff and not options.fix:
        raise error(rules.OPTIONS_CLASH, "`--diff` shows what `--fix` would write", hint="write `--fix --diff`")
    if options.fix and "-" in options.targets:
        raise error(rules.OPTIONS_CLASH, "`--fix` changes files, and standard input is not a file")
    project = options.configuration
    # A file that several targets use is reported once.
    problems: dict[str, Diagnostic] = {problem.render(): problem for problem in options.problems}

    @contextmanager
    def collect_problems() -> Iterator[None]:
        """Add the diagnostics of an ArchlineError in the block to `problems` instead of raising it."""
        try:
            yield
        except ArchlineError as problem:
            diagnostics = (
                problem.diagnostics
                if options.where is not None
                else map(project.locate_diagnostic, problem.diagnostics)
            )
            problems.update((diagnostic.render(), diagnostic) for diagnostic in diagnostics)

    # A baseline that is to be written need not exist.
    if options.baseline is not None and options.write_baseline is None:
        with collect_problems():
            _require_baseline(options.baseline)
    tasks: list[Task] = []
    for target in [] if problems else _list_targets(options):
        with collect_problems():
            source = shared.read_standard_input() if target == "-" else None
            where = project.facts if options.where is None else options.where
            tasks.append(Task(target, where or None, options.certificates, source, options.time_limit))
    if options.fix and not problems and (would_change := _fix_files(options, tasks)) is not None:
        return int(would_change)
    views: list[CheckView] = []
    for outcome in check_tasks(tasks, options.jobs, cached=not options.no_cache):
        with collect_problems():
            if not isinstance(outcome, CheckView):
                raise ArchlineError(outcome)
            views.append(outcome)
            if outcome.errors:
                raise ArchlineError(outcome.errors)
    if views and not problems:
        with collect_problems():
            paths = [view.path for view in views]
            require_sizes_of_project(project, paths) if options.where is None else require_sizes(tasks, views)
        if problems:
            views.clear()
    report = CheckReport(
        tuple(views),
        strict=options.strict,
        certificates=options.certificates,
        select=tuple(options.select or ("AL",)),
        ignore=tuple(options.ignore or ()),
        root=project.root,
        quiet=options.quiet,
        verbose=options.verbose or options.certificates,
    )
    named, notes = [task.target for task in tasks if task.source is None], list[str]()
    if options.write_baseline is not None:
        report = _write_baseline(options, report, named, bool(problems))
    elif options.baseline is not None and not options.problems:
        with collect_problems():
            report = _compare_with_baseline(options, report, named, notes)
    report = replace(report, problems=tuple(problems.values()))
    renderer = import_module(f"archline.report.checks.{options.format}")
    sys.stdout.write(renderer.render(report, terminal_width()))
    for note in [] if options.quiet else notes:
        print(note, file=sys.stdout if options.format == "text" else sys.stderr)
    if problems:
        raise ArchlineError(report.problems)
    return 1 if report.failing else 0


def _fix_files(options: argparse.Namespace, tasks: list[Task]) -> bool | None:
    """Write the files that safe edits change, return None; with `--diff` print edits, return whether there are any."""
    from archline.api.fixes import fix_targets
    from archline.api.written_files import write_file_atomically

    fixed = fix_targets(tasks, options.jobs)
    for file in fixed:
        if options.diff:
            sys.stdout.write(shared.format_difference(file.original, file.edited_source.text, "fixed"))
        else:
            write_file_atomically(file.path, file.after.decode("utf-8"), file.before)
            counted = format_count(len(file.codes), "edit")
            print(f"fixed {file.path}: {counted} ({', '.join(dict.fromkeys(file.codes))})", file=sys.stderr)
    return bool(fixed) if options.diff else None


def _require_baseline(file: str) -> None:
    """Raise ArchlineError (AL442) for a file that is not a baseline, before anything is derived."""
    from archline.api.baselines import read_accepted_findings

    read_accepted_findings(file)


def _list_targets(options: argparse.Namespace) -> list[str]:
    """List the programs to check: the targets, with folders replaced by their programs, without excluded programs."""
    excludes = options.configuration.excludes
    names = chain.from_iterable(shared.list_programs(target, excludes) for target in options.targets)
    return [name for name in dict.fromkeys(names) if not (options.force_exclude and excludes(Path(name)))]


def _write_baseline(
    options: argparse.Namespace, report: CheckReport, targets: list[str], has_problems: bool
) -> CheckReport:
    """Write a baseline of the targets without errors, and return the report with the findings that it accepts.

    If `has_problems` and no target is without errors, nothing is written and the report is returned unchanged.
    """
    from archline.api.baselines import build_baseline, read_accepted_findings
    from archline.api.written_files import write_file_atomically

    file, valid = options.write_baseline, {view.target for view in report.targets if not view.errors}
    if has_problems and not valid:
        print(f"{file} was not written: no program can be checked", file=sys.stderr)
        return report
    written = [target for target in targets if target in valid]
    write_file_atomically(Path(file), build_baseline(file, written, report, options.jobs, not options.no_cache))
    left = ", ".join(target for target in targets if target not in valid)
    unchanged = f"; the entries of programs that cannot be checked are unchanged: {left}" * bool(left)
    print(f"wrote {file}{unchanged}", file=sys.stderr)
    return replace(report, accepted=read_accepted_findings(file), compared=True)


def _compare_with_baseline(
    options: argparse.Namespace, report: CheckReport, targets: list[str], notes: list[str]
) -> CheckReport:
    """Return the report with what changed since the baseline, and append notes about the baseline to `notes`."""
    from archline.api.baselines import compare_with_baseline
    from archline.api.changes import Terms
    from archline.costs.sizes import parse_share

    cached = not options.no_cache
    where = options.configuration.facts if options.where is None else options.where
    terms = Terms(parse_share(options.tolerance or "0"), where=where)
    paths, project = {Path(target).resolve() for target in targets}, options.configuration
    about = options.baseline, targets, terms, options.jobs, cached, notes
    changes, accepted = compare_with_baseline(
        *about, lambda: paths.issuperset(path.resolve() for path in project.programs)
    )
    return replace(report, changes=changes, accepted=accepted, compared=True)
