"""Canonical form of programs."""

from __future__ import annotations

import sys

from archline.expr.tree import Source, structure
from archline.language.parser import parse_program
from archline.language.printer import format_program

# Blocks nest up to 320 levels and expressions up to 200; a level takes several calls.
_RECURSION_LIMIT = 20_000


class FormatError(AssertionError):
    """The formatted text does not mean what the program means: a defect of the printer, never of the input."""


def format_source(source: Source) -> str:
    """The canonical text of a program, which is parsed again and must have the same structure: else FormatError.

    Raises ArchlineError where the program has syntax errors.
    """
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    program = parse_program(source)
    formatted = format_program(program)
    again = parse_program(Source(source.path, formatted))
    if structure(again.items) != structure(program.items) or _texts(again.comments) != _texts(program.comments):
        raise FormatError(f"the formatted text of {source.path} has another meaning; the file was left alone")
    return formatted


def _texts(comments: tuple[object, ...]) -> list[str]:
    return [getattr(comment, "text", "") for comment in comments]
