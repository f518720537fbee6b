"""Re-derive what papers print: equations, cells of tables, crossings, claims; what does not hold comes first."""

from __future__ import annotations

import argparse

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="PAPER",
        help="ice, roofline, balance, scaling, or the path of a paper's `.toml` file",
    )
    parser.add_argument("--only", choices=("equal", "differs", "undecided"), help="show the rows of one verdict")
    parser.add_argument("--place", metavar="PLACE", help='show the rows of one place: "(19)", "Table II"')
    parser.add_argument("--explain", action="store_true", help="show how each row is derived, step by step")
    shared.add_no_cache(parser)
    shared.add_format(parser, ("text", "json", "markdown"))


@shared.prints
def execute(options: argparse.Namespace) -> str:
    """Run the command."""
    from archline.papers.report import papers
    from archline.report import json

    found = papers(*options.targets, only=options.only, place=options.place)
    match options.format:
        case "json":
            return json.render(found.document)
        case "markdown":
            return found.markdown()
        case _:
            return found.explain() if options.explain else str(found)
