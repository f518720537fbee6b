"""List the machines that come with archline, or the numbers of one, each with its unit and source."""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="a machine, or the path of a machine's `.toml` file")
    shared.add_format(parser, ("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.energy.machines import machine, machines
    from archline.report import json
    from archline.report import machines as report
    from archline.report.layout import terminal_width

    if options.name is not None:
        chosen = machine(options.name)
        document = json.render(report.document(chosen))
        sys.stdout.write(document if options.format == "json" else report.one(chosen, terminal_width()))
        return 0
    known = machines()
    document = json.render([report.document(each) for each in known])
    sys.stdout.write(document if options.format == "json" else report.listed(known, terminal_width()))
    return 0
