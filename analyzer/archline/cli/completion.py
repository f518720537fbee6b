"""Print a script with which a shell completes the commands, options and files of archline.

`source <(archline completion bash)` in a start-up file of the shell loads it. It needs the extra `completion`.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from archline.cli.main import COMMANDS, configure_command
from archline.costs import rules
from archline.language.diagnostics import error

_FILES = {"FILE", "TARGET", "targets"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's argument."""
    parser.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="the shell that runs the script")


def execute(options: argparse.Namespace) -> int:
    """Print the script and return 0. Raises ArchlineError (AL417) without the extra `completion`."""
    try:
        import shtab
    except ModuleNotFoundError:
        hint = "pip install 'archline[completion]'"
        raise error(rules.NEEDS_EXTRA, "scripts for shells need the extra `completion`", hint=hint) from None
    parser = argparse.ArgumentParser(prog="archline")
    commands = parser.add_subparsers()
    for name, purpose in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, add_help=False)
        configure_command(import_module(f"archline.cli.{name}"), command)
        for action in command._actions:
            if action.metavar in _FILES or action.dest in _FILES:
                setattr(action, "complete", shtab.FILE)  # noqa: B010
    sys.stdout.write(shtab.complete(parser, options.shell))
    return 0
