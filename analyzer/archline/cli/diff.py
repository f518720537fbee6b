"""Show which costs changed between two versions of programs, derived for all sizes.

A version is a folder, a `.algo` file, or a revision of git, whose files are read without touching the work tree;
`main...` is the last commit in common with main. The older version can be a baseline; the default of the newer one is
the work tree. Exits with 1 if a cost grew or became unknown; with --strict also if a bound rose.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from archline.cli import options as shared
from archline.language.diagnostics import ArchlineError
from archline.records import replace
from archline.report.layout import terminal_width

CONFIGURED = {"sizes": "sizes", "tolerance": "tolerance"}
"""The options that the project's configuration fills in, by its keys."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("base", metavar="BASE", help="the older version: a folder, a file, a baseline, or a revision")
    parser.add_argument("head", nargs="?", metavar="HEAD", help="the newer version (default: the work tree)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bound rose, too")
    shared.add_options(parser, "--tolerance")
    parser.add_argument("--only", choices=("growth",), help="report only changes of growth order")
    parser.add_argument("--all", action="store_true", help="show all regimes of the cache in which a cost changed")
    text = "show values at n=64,m=2^20; may be repeated"
    parser.add_argument("--at", action="append", default=[], dest="sizes", metavar="SIZES", help=text)
    formats = ("github", "html", "json", "markdown", "text")
    shared.add_options(parser, "--where", "--jobs", *shared.PRINTING_OPTIONS, choices=formats)


def execute(options: argparse.Namespace) -> int:
    """Print the changes of costs; return the exit status: 1 if one is a finding, else 0."""
    from archline.api.changes import diff
    from archline.api.checks import require_sizes_of_project
    from archline.costs.sizes import read_sizes
    from archline.report import changes

    project = options.configuration
    # The sizes of the configuration are for the whole project.
    is_whole = options.head is None and (project.source is None or project.folder == Path.cwd())
    # The facts of the configuration may be about other programs.
    is_fitting = {"where": options.where is None, "at": not is_whole and tuple(options.sizes or ()) == project.sizes}
    try:
        if options.where is None:
            targets = (x for x in (options.head, options.base) if x is not None and x.endswith(".algo"))
            require_sizes_of_project(project, [x for x in targets if Path(x).is_file()])
        differences = diff(
            options.base,
            options.head,
            tolerance=options.tolerance or "0",
            at=[read_sizes(sizes_at, "--at") for sizes_at in options.sizes or ()],
            where=project.facts if options.where is None else options.where,
            fitting=[key for key, fits in is_fitting.items() if fits],
            growth_only=options.only == "growth",
            strict=options.strict,
            left_out=project.excludes,
            within=project.paths if options.head is None else (),
            seconds=options.time_limit,
            jobs=options.jobs,
            cached=not options.no_cache,
        )
        shown = replace(differences, in_full=options.all)
        sys.stdout.write(getattr(changes, f"as_{options.format}")(shown, terminal_width()))
        if differences.problems:
            raise ArchlineError(differences.problems)
    except ArchlineError as problem:
        if options.where is not None:
            raise
        raise ArchlineError(list(map(project.locate_diagnostic, problem.diagnostics))) from None
    return 1 if differences.findings else 0
