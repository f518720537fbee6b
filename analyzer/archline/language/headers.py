"""The headers of a file's algorithms without their bodies, which take most of the time of reading it."""

from __future__ import annotations

from collections.abc import Sequence

from archline.expr.tree import Source
from archline.language import syntax as s
from archline.language.parser import chunks, parse_program, without_comment


def headers(source: Source) -> tuple[s.Algorithm, ...]:
    """The algorithms, each with its parameters, its docstring and a `pass`. Raises ArchlineError."""
    lines = [""] * len(source.lines)
    for first, chunk in chunks(source):
        if chunk[0].startswith("algorithm"):
            lines[first - 1 : first - 1 + len(chunk)] = _without_body(chunk)
    return parse_program(Source(source.path, "\n".join(lines) + "\n")).algorithms


def _without_body(lines: Sequence[str]) -> list[str]:
    """The lines of an algorithm; its first statement or clause is `pass` and the rest is blank."""
    opened, found = False, list(lines)
    for number, line in enumerate(lines):
        code = without_comment(line).strip()
        if opened and code and not code.startswith('"'):
            return [*found[:number], "    pass", *[""] * (len(lines) - number - 1)]
        opened = opened or code.endswith(":")
    return found
