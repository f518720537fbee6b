"""Re-derive the results of papers: equations, cells of tables, crossings, claims; those that do not hold come first."""

from __future__ import annotations

import argparse

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import error
from archline.report.layout import terminal_width


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="PAPER",
        help="ice, roofline, balance, scaling, or the path of a paper's `.toml` file",
    )
    parser.add_argument(
        "--only", choices=("equal", "reading", "differs", "undecided"), help="show only rows of this verdict"
    )
    parser.add_argument("--place", metavar="PLACE", help='show only rows of this place: "(19)", "Table II"')
    parser.add_argument("--explain", action="store_true", help="show how each row is derived, step by step")
    parser.add_argument("--figure", metavar="NUMBER", help="recompute a figure and print its data")
    parser.add_argument("--out", metavar="FILE", help="write the figure, .svg, .png or .pdf (needs the extra `plots`)")
    shared.add_options(parser, "--no-cache", "--format", choices=("text", "json", "markdown"))


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0."""
    from archline.papers.report import papers
    from archline.report import json

    if options.figure is not None or options.out is not None:
        return _make_figure_text(options)
    result = papers(*options.targets, only=options.only, place=options.place)
    match options.format:
        case "json":
            return json.render(result.document)
        case "markdown":
            return result.markdown()
        case _:
            return result.explain() if options.explain else str(result)


def _make_figure_text(options: argparse.Namespace) -> str:
    """Return the data of a figure, or the name of the written file and the title. Raises ArchlineError (AL411)."""
    from archline.papers.figures import figure

    is_combined = options.only or options.place or options.explain or options.format == "markdown"
    if options.figure is None or len(options.targets) != 1 or is_combined:
        hint = "such as `archline papers scaling --figure 7 --out figure.png`"
        raise error(rules.OPTIONS_CLASH, "`--figure` takes one paper, `--out` and `--format json`", hint=hint)
    drawn = figure(options.targets[0], options.figure)
    if options.out is not None:
        drawn.save(options.out)
        return f"{options.out}: {drawn.view.title}\n"
    return drawn.view.json() if options.format == "json" else drawn.view.text(terminal_width())
