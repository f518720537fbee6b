"""Rewrite programs in canonical form; comments are kept. A file with syntax errors is left unchanged.

A folder stands for all `.algo` files in it and its subfolders.
"""

from __future__ import annotations

import argparse
import os
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from archline.cli import options as shared
from archline.language import syntax_rules
from archline.language.diagnostics import ArchlineError, Diagnostic, error

if TYPE_CHECKING:
    from archline.expr.tree import Source


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="files or folders to format; `-` reads stdin and writes stdout"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    parser.add_argument("--diff", action="store_true", help="write nothing, show the changes; exit with 1 if any")


def execute(options: argparse.Namespace) -> int:
    """Format the files, all read before the first one is written; return the exit status.

    It is 1 if a file is not formatted, with `--check` or `--diff`, else 0.
    """
    from archline.api.texts import format_source

    problems: list[Diagnostic] = []
    formatted: list[tuple[Source, str]] = []
    for name in dict.fromkeys(chain.from_iterable(map(shared.list_programs, options.files))):
        try:
            source = _read_program(name)
            formatted.append((source, format_source(source)))
        except ArchlineError as problem:
            problems.extend(problem.diagnostics)
    changed = [(source, text) for source, text in formatted if source.text != text]
    _output_formatted(options, formatted, changed)
    if problems:
        raise ArchlineError(problems)
    return 1 if changed and (options.check or options.diff) else 0


def _read_program(name: str) -> Source:
    from archline.language.source import read_source

    if os.path.isdir(name):
        raise error(syntax_rules.DIRECTORY, f"the folder `{name}` has no `.algo` file", path=name)
    return shared.read_standard_input() if name == "-" else read_source(Path(name))


def _output_formatted(
    options: argparse.Namespace, formatted: list[tuple[Source, str]], changed: list[tuple[Source, str]]
) -> None:
    """Print the differences or the names of changed files, or write the formatted texts, as the options say."""
    from archline.api.written_files import write_file_atomically

    if options.diff:
        for source, text in changed:
            sys.stdout.write(shared.format_difference(source, text, "formatted"))
    if options.check:
        for source, _ in changed:
            print(f"would reformat {source.path}", file=sys.stderr)
    if options.check or options.diff:
        return
    for source, text in formatted:
        if source.path == "<stdin>" and sys.stdout.isatty():
            sys.stdout.write(text)
        elif source.path == "<stdin>":
            # Programs are UTF-8, whatever the encoding of the locale.
            sys.stdout.buffer.write(text.encode("utf-8"))
    for source, text in changed:
        if source.path != "<stdin>":
            write_file_atomically(Path(source.path), text)
            print(f"reformatted {source.path}", file=sys.stderr)
