"""Write one HTML file with the costs of an algorithm, or of two side by side, for all sizes.

The file loads nothing: it has formulas, and a script that computes their values at the sizes that its sliders are set
to. It shows what each line costs, cache misses against the size of the cache, growth, claims and their reasons, and
with `--machine` the roofline and energies.
"""

from __future__ import annotations

import argparse
from shlex import join

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=shared.TARGET_HELP)
    shared.add_options(parser, "--at", "--where", "--machine", "--parameter", "--year")
    shared.add_options(parser, "--time-limit", "--no-cache")
    parser.set_defaults(format="html")
    parser.add_argument("--out", metavar="FILE.html", help="write the page to this file (default: standard output)")


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the page, or a note on the file that it is written to; the decorator prints it and returns 0."""
    from archline.api.algorithms import Algorithm
    from archline.api.reports import HtmlReport, require_page_name

    if options.out is not None:
        # Checked first, so that a wrong name is reported before the derivation.
        require_page_name(options.out)
    algorithms = [algorithm for target in options.targets for algorithm in Algorithm.every(target, options.where)]
    machines = shared.read_machines(options) if options.machines else []
    page = HtmlReport(algorithms, shared.read_at(options), machines, _write_command(options))
    if options.out is None:
        return str(page)
    page.save(options.out)
    return f"wrote {options.out}\n"


def _write_command(options: argparse.Namespace) -> str:
    """Return the command that makes the page."""
    words = ["archline", "report", *options.targets]
    for option, value in (("--at", options.at), ("--where", options.where)):
        words += [option, str(value)] if value is not None else []
    for option, values in (("--machine", options.machines), ("--parameter", options.parameters)):
        words += [word for value in values or () for word in (option, str(value))]
    words += ["--year", str(options.year)] if options.year is not None else []
    return join(words)
