"""Solve a recurrence over real sizes: its growth, and a closed form if there is one.

    archline recurrence "T(n) = 7*T(n/2) + n^2, T(1) = 1"
    archline recurrence "Q(n) = 1 + n/L when n <= Z; 2*Q(n/2) + 1 + n/L" --where "Z >= L^2"

Exits with 1 if it cannot be solved, and prints the reason.
"""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared
from archline.report.layout import terminal_width


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("recurrence", metavar="RECURRENCE", help="such as 'T(n) = 2*T(n/2) + n, T(1) = 1'")
    parser.add_argument("--where", metavar="FACTS", help='facts about sizes and symbols, such as "Z >= L^2"')
    parser.add_argument("--explain", action="store_true", help="show the solution line by line")
    shared.add_options(parser, "--format", choices=("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Print the solution; return the exit status: 1 if the recurrence cannot be solved, else 0."""
    from archline.api.growth import recurrence
    from archline.report import json

    solution = recurrence(options.recurrence, options.where)
    as_json = options.format == "json"
    sys.stdout.write(
        json.render(solution.document) if as_json else solution.text(terminal_width(), explain=options.explain)
    )
    return 1 if solution.outcome == "refused" else 0
