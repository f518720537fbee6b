"""Decide whether one expression in sizes is O, Omega or Theta of another, with a proof or a counterexample."""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared
from archline.costs import rules
from archline.language.diagnostics import error


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("f", metavar="F", help='an expression in sizes, such as "n*log2(n)"')
    parser.add_argument("g", metavar="G", help="the expression that F is compared with")
    shared.add_options(parser, "--where")
    parser.add_argument(
        "--relation",
        choices=("O", "Theta", "Omega", "compare"),
        default="O",
        help="relation to decide between F and G (default: O); compare decides which grows faster",
    )
    parser.add_argument("--explain", action="store_true", help="show the proof")
    parser.add_argument("--verify", action="store_true", help="verify the answer with the independent checker")
    shared.add_options(parser, "--format", choices=("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Print the comparison of growth; return the exit status: 1 if it does not hold or is not verified, else 0."""
    from archline.api.growth import order

    if options.explain and options.format != "text":
        raise error(rules.OPTIONS_CLASH, "`--explain` prints text; omit `--format`")
    answer = order(options.f, options.g, options.where or "", options.relation, verify=options.verify)
    if options.format == "json":
        from archline.report import json

        sys.stdout.write(json.render(answer.document))
    else:
        sys.stdout.write(answer.explain() if options.explain else str(answer))
    return 0 if answer.holds and answer.verified is not False else 1
