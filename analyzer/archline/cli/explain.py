"""Explain a diagnostic's code, or list all of them."""

from __future__ import annotations

import argparse
import sys


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code such as AL201; without it, all are listed")


def execute(options: argparse.Namespace) -> int:
    """Print the explanation of a rule, or the titles of all rules; return the exit status 0."""
    from archline.api.texts import explain, load_all_rules

    if options.code is not None:
        sys.stdout.write(explain(options.code))
    else:
        sys.stdout.write("".join(f"{rule.code}  {rule.title}\n" for rule in load_all_rules().values()))
    return 0
