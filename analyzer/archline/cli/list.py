"""List the algorithms of the standard library, of files or of folders: parameters, and what each does."""

from __future__ import annotations

import argparse

from archline.cli import options as shared


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help="a family (`dense`) or module (`dense.lu`) of the library, a file or a folder (default: the library)",
    )
    shared.add_no_cache(parser)
    shared.add_format(parser, ("text", "json"))


def execute(options: argparse.Namespace) -> int:
    """Run the command."""
    from archline.language.source import is_path

    # What is in folders of the user's may change without a file that was read.
    own = any(is_path(target.partition("::")[0]) for target in options.targets)
    return shared.printed(options, lambda: _text(options), kept=not own)


def _text(options: argparse.Namespace) -> str:
    from archline.api.library import listed
    from archline.report import library
    from archline.report.layout import terminal_width

    found = listed(options.targets)
    if options.format == "json":
        from archline.report import json

        return json.render(library.document(found))
    return library.text(found, terminal_width())
