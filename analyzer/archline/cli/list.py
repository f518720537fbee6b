"""List the algorithms of the standard library, of files or of folders, with their parameters and descriptions."""

from __future__ import annotations

import argparse

from archline.cli import options as shared
from archline.report.layout import terminal_width


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a family (`dense`) or module (`dense.lu`) of the library, a file or a folder (default: the library)",
    )
    shared.add(parser, "--no-cache", "--format", choices=("text", "json"))


@shared.prints
def execute(options: argparse.Namespace) -> str:
    """Run the command."""
    from archline.api.texts import listed
    from archline.report import library

    entries = listed(options.targets)
    if options.format == "json":
        from archline.report import json

        return json.render(library.document(entries))
    return library.text(entries, terminal_width())
