"""List the algorithms of the standard library, of files or of folders, with their parameters and descriptions."""

from __future__ import annotations

import argparse
import sys

from archline.cli import options as shared
from archline.language.diagnostics import ArchlineError
from archline.report.layout import terminal_width


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a family (`dense`) or module (`dense.lu`) of the library, a file or a folder (default: the library)",
    )
    shared.add_options(parser, "--no-cache", "--format", choices=("text", "json"))


@shared.print_cached_text
def execute(options: argparse.Namespace) -> str:
    """Return the text that the command prints; its decorator prints it and returns the exit status 0.

    Raises ArchlineError for mistakes in headers, after it has printed the algorithms whose headers are right.
    """
    from archline.api.texts import list_library_entries
    from archline.report import library

    listing = list_library_entries(options.targets)
    if options.format == "json":
        from archline.report import json

        text = json.render(library.make_json_document(listing.entries))
    else:
        text = library.render_listing(listing.entries, terminal_width())
    if listing.problems:
        if listing.entries or options.format == "json":
            sys.stdout.write(text)
            sys.stdout.flush()
        raise ArchlineError(listing.problems)
    return text
