"""List the algorithms of the standard library, of files or of folders: parameters, and what each does."""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a family (`dense`) or module (`dense.lu`) of the library, a file or a folder (default: the library)",
    )
    shared.add_format(parser, ("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.api.library import listed
    from archline.report import json, library
    from archline.report.layout import terminal_width

    found = listed(options.targets)
    as_json = options.format == "json"
    sys.stdout.write(json.render(library.document(found)) if as_json else library.text(found, terminal_width()))
    return 0
