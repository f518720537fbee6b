"""Run the language server for an editor, which starts this command and talks to it over standard input and output.

It shows findings while a program is typed, costs above algorithms and at statements, completes names, formats, and
offers fixes. It needs the extra `lsp`.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys

from archline.costs import rules
from archline.language.diagnostics import error


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the option that editors pass by habit."""
    parser.add_argument("--stdio", action="store_true", help="use standard input and output, as it does anyway")


def execute(options: argparse.Namespace) -> int:
    """Answer requests until the editor ends the server. Raises ArchlineError (AL417) without the extra `lsp`."""
    try:
        from archline.server.language_server import ArchlineServer
    except ModuleNotFoundError as problem:
        if problem.name is None or problem.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        hint = "pip install 'archline[lsp]'"
        raise error(rules.NEEDS_EXTRA, "the language server needs the extra `lsp`", hint=hint) from None
    # Each load leaves cycles, also old ones: without collections of these, the process would grow for hours.
    gc.freeze()
    gc.set_threshold(gc.get_threshold()[0], 10, 10)
    # What is printed by mistake must not get into the messages.
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        ArchlineServer().start_io(sys.stdin.buffer, output)
    return 0
