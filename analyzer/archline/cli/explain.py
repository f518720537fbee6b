"""Explain a diagnostic's code, or list all of them."""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="a code such as AL201; without it, all are listed")
    shared.add_options(parser, "--format", choices=("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Print the explanation of a rule, or the titles of all rules; return the exit status 0."""
    from archline.api.texts import find_rule, load_all_rules

    rules = list(load_all_rules().values()) if options.code is None else [find_rule(options.code)]
    if options.format == "json":
        from archline.report import json

        documents = [json.pick(rule, "code", "title", "severity", "url", "documentation") for rule in rules]
        sys.stdout.write(json.render({"version": json.VERSION, "rules": documents}))
    elif options.code is not None:
        sys.stdout.write(rules[0].documentation)
    else:
        sys.stdout.write("".join(f"{rule.code}  {rule.title}\n" for rule in rules))
    return 0
