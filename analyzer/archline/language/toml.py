"""TOML files are parsed here, and the places of their keys are found."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from archline.expr.tree import Source, Span
from archline.language.diagnostics import Rule, error

_LINE = re.compile(r"\(at (?:line (\d+), column (\d+)|end of document)\)")
_TABLE = re.compile(r"\s*\[\[?\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*([\w.\"'-]+)\s*=\s*")


class TomlPositions:
    """The positions of tables and keys in a TOML file, by their path.

    A key of an inline table has the position of the table, a table without a header that of its first subtable. A table
    of a list, `[[NAME]]`, has its number after its name: `("row", "0")`.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._starts: dict[tuple[str, ...], tuple[int, int]] = {}
        table: tuple[str, ...] = ()
        lists: Counter[str] = Counter()
        for number, line in enumerate(source.lines, 1):
            header, key = _TABLE.match(line), _KEY.match(line)
            if header is not None:
                table = _split_key(header[1])
                if line.lstrip().startswith("[["):
                    table = (*table, str(lists[header[1]]))
                    lists[header[1]] += 1
                for length in range(1, len(table) + 1):
                    self._starts.setdefault(table[:length], (number, header.start(1)))
            elif key is not None:
                self._starts.setdefault((*table, *_split_key(key[1])), (number, key.end()))

    def span(self, path: Sequence[str], inner: Span | None = None) -> Span | None:
        """Return the position of a key's value or of a table; with `inner`, of this part of the value's string.

        If the key is not in the file, it is that of the innermost table of its path; None if none is there.
        """
        for length in range(len(path), 0, -1):
            start = self._starts.get(tuple(path[:length]))
            if start is not None:
                return self._make_span(*start, inner if length == len(path) else None)
        return None

    def _make_span(self, line: int, column: int, inner: Span | None) -> Span:
        text = self.source.lines[line - 1]
        end = len(text.rstrip())
        if inner is not None and text[column : column + 1] in ('"', "'"):
            first = column + 1
            return Span(self.source, line, first + inner.column, line, min(end, first + inner.end_column))
        return Span(self.source, line, column + 1, line, max(end, column + 1) + 1)


def _split_key(key: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in key.split("."))


def parse_toml(source: Source, rule: Rule, hint: str | None = None) -> dict[str, Any]:
    """Parse a file. Raises ArchlineError by the rule, with the place, if it is not TOML."""
    try:
        return tomllib.loads(source.text)
    # A numeral or a nesting beyond the interpreter's limits is reported like any other malformed text.
    except (ValueError, RecursionError) as problem:
        reason = str(problem) if isinstance(problem, ValueError) else "it is nested too deeply"
        place = _LINE.search(reason)
        span = None
        if place is not None:
            line, column = int(place[1] or len(source.lines)), int(place[2] or len(source.lines[-1]) + 1)
            span = Span(source, line, column, line, column + 1)
        if "overwrite" in reason or "twice" in reason or "namespace" in reason:
            hint = "a table or key may appear only once"
        message = f"`{source.path}` is not TOML: {_LINE.sub('', reason).strip()}"
        raise error(rule, message, span=span, path=source.path, hint=hint) from None
