"""Plot io against Z at sizes: derived bounds, and what optimal replacement fetches in a run on generated data.

Without `--out` the points are printed. Exits with 1 where a simulated point lies outside the bounds, which is a defect
in archline.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from archline.cli import options as shared

if TYPE_CHECKING:
    from archline.api.plots import IoPlot


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    shared.add_target(parser, many=False)
    shared.add_at(parser)
    shared.add_where(parser)
    parser.add_argument("--cache", metavar="L=..", help="words of a line (default: L=8); the plot runs over Z")
    parser.add_argument("--metric", choices=("io",), default="io", help="what is plotted (default: io)")
    parser.add_argument("--out", metavar="FILE", help="write a picture, .svg, .png or .pdf (needs the extra `plots`)")
    parser.add_argument(
        "--seed", type=shared.natural, default=0, metavar="N", help="seed of the generated data (default: 0)"
    )
    parser.add_argument("--plain", action="store_true", help="run as plain Python, never compiled")
    parser.add_argument(
        "--format", choices=("text", "json", "csv"), help="print the points (default: text, or nothing with --out)"
    )


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.api.algorithms import algorithm
    from archline.api.plots import check_target, plotted

    if options.out is not None:
        # A wrong name is told before the run, not after it.
        check_target(options.out)
    subject = algorithm(options.target).assuming(options.where)
    line, compiled = _line(options), False if options.plain else None
    plot = plotted(subject, shared.read_at(options), line=line, seed=options.seed, option="--at", compiled=compiled)
    if options.out is not None:
        plot.save(options.out)
    sys.stdout.write(_rendered(plot, options.format or ("text" if options.out is None else "path"), options.out))
    return 1 if plot.outside else 0


def _line(options: argparse.Namespace) -> int:
    """The L of `--cache`. Raises ArchlineError (AL408)."""
    from archline.api import rules
    from archline.api.caches import DEFAULT_CACHE
    from archline.api.settings import read_settings
    from archline.language.diagnostics import error

    if options.cache is None:
        return DEFAULT_CACHE.L
    given = read_settings(options.cache, "--cache")
    value, span = given.get("L", (None, None))
    other = next((each for name, (_, each) in given.items() if name != "L"), None)
    if other is not None:
        raise error(rules.WRONG_CACHE, "the plot runs over Z; give L alone", span=other, hint="--cache L=8")
    if not isinstance(value, int) or value < 1:
        raise error(rules.WRONG_CACHE, "`L` is a whole number of words, 1 at least", span=span)
    return value


def _rendered(plot: IoPlot, form: str, path: str | None) -> str:
    from archline.report import json, plot_view
    from archline.report.layout import terminal_width

    match form:
        case "json":
            return json.render(plot_view.document(plot.view))
        case "csv":
            return plot_view.csv(plot.view)
        case "path":
            return f"{path}: {plot.view.title}; {plot.view.note}\n"
    return plot_view.text(plot.view, terminal_width())
