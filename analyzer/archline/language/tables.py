"""Parses texts without mistakes by LALR tables, which are made from the grammar once and kept in the user's cache.

`lark_parser` makes the tables, and parses texts with mistakes: to load lark takes longer than to parse most programs.
"""

from __future__ import annotations

import marshal
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from archline.language import lark_parser
from archline.language.tokens import Part, Token
from archline.records import field, record
from archline.resources import find_cache_folder, find_resource, write_whole

FORMAT = 1
"""The number of the form of the tables: a change of it needs another number, as tables are kept."""
_OPENING, _CLOSING = ("LPAR", "LSQB"), ("RPAR", "RSQB")


class NotInLanguageError(Exception):
    """The text is not in the language."""


class Builder(Protocol):
    """Builds the values of rules: a method has the name of its rule, and `__default__` builds the values of others."""

    def __default__(self, data: str, children: list[Any], meta: Any) -> Any: ...


@record(eq=False)
class ParseTables:
    """The tables of a grammar, of plain values.

    `rows` has for each state the next state by terminal or rule, or -1 - r if rule number r ends there. A rule is its
    name, its number of parts, the name of the method that builds its value (None: a list that its users take over),
    for each part that is kept its number, whether it is such a list, and the number of missing parts before it, the
    number of missing parts at the end, and whether a single part is its value. `contexts` has for each state the
    number of its context in `terminals`: the terminals that can stand there by priority, with their patterns,
    whether these are regular expressions, and the terminals of the texts that are others by themselves.
    """

    rows: list[dict[str, int]]
    rules: list[tuple[str, int, str | None, list[tuple[int, bool, int]], int, bool]]
    contexts: list[int]
    terminals: list[list[tuple[str, str, bool, dict[str, str]]]]
    ignored: frozenset[str]
    starts: dict[str, int]
    ends: dict[str, int]
    _matchers: dict[tuple[int, str], list[tuple[str, str, Callable[..., Any] | None, dict[str, str]]]] = field(
        default_factory=dict
    )

    def parse(self, text: str, start: str, builder: Builder) -> Any:
        """Return the value of a text, of the rule `start`. Raises NotInLanguageError, and errors of the builder."""
        states = [self.starts[start]]
        parts: list[Any] = []
        rows, rules, end = self.rows, self.rules, self.ends[start]
        for token in self._iterate_tokens(text, states):
            while (target := rows[states[-1]].get(token.type)) is not None and target < 0:
                rule = rules[-1 - target]
                name, size, *_ = rule
                part = _build_part(rule, parts[-size:], builder)
                del states[-size:], parts[-size:]
                states.append(rows[states[-1]][name])
                parts.append(part)
                if states[-1] == end and token.type == "$END":
                    return part.value
            if target is None:
                break
            states.append(target)
            parts.append(token)
        raise NotInLanguageError

    def _iterate_tokens(self, text: str, states: list[int]) -> Iterator[Token]:
        """Yield the tokens of a text, with those for blocks, and one for its end; `states` are the parser's."""
        position, line, line_start = 0, 1, 0
        place: tuple[int, ...] = ()
        end = 1, 1
        indents, brackets = [0], 0
        while position < len(text):
            kind, value = self._match(text, position, states[-1])
            place = line, position - line_start + 1
            position += len(value)
            if "\n" in value:
                line += value.count("\n")
                line_start = position - len(value) + value.rindex("\n") + 1
            if kind in self.ignored or (kind == "_NEWLINE" and brackets):
                continue
            # The end of a line, and of a block, is that of its code: not that of comments or of blank lines after it.
            end = end if kind == "_NEWLINE" else (line, position - line_start + 1)
            place = *place, *end
            yield Token(kind, value, *place)
            if kind == "_NEWLINE":
                indent = position - line_start
                if indent > indents[-1]:
                    indents.append(indent)
                    yield Token("_INDENT", "", *place)
                while indent < indents[-1]:
                    indents.pop()
                    yield Token("_DEDENT", "", *place)
                if indent != indents[-1]:
                    raise NotInLanguageError
            brackets += (kind in _OPENING) - (kind in _CLOSING)
        for _ in indents[1:]:
            yield Token("_DEDENT", "", *place)
        yield Token("$END", "", *place)

    def _match(self, text: str, position: int, state: int) -> tuple[str, str]:
        """Return the terminal and the text of the token at a position."""
        key = self.contexts[state], text[position]
        if key not in self._matchers:
            self._matchers[key] = [
                (name, pattern, re.compile(pattern).match if is_regular else None, words)
                for name, pattern, is_regular, words in self.terminals[key[0]]
                if is_regular or pattern[0] == key[1]
            ]
        for name, pattern, match, words in self._matchers[key]:
            if match is None:
                if text.startswith(pattern, position):
                    return name, pattern
            elif token := match(text, position):
                return words.get(token[0], name), token[0]
        raise NotInLanguageError


def _build_part(rule: Any, parts: list[Any], builder: Builder) -> Any:
    _, _, method, kept, missing, single = rule
    first, last = parts[0], parts[-1]
    children: list[Any] = []
    for number, is_list, before in kept:
        if before:
            children += [None] * before
        if not is_list:
            children.append(parts[number])
        elif children:
            children += parts[number].value
        else:
            children = parts[number].value
    children += [None] * missing
    if single and len(children) == 1:
        (child,) = children
        return Part(child.value, first, last) if isinstance(child, Part) else child
    if method is None:
        return Part(children, first, last)
    part = Part(None, first, last)
    values = [child.value if isinstance(child, Part) else child for child in children]
    build = getattr(builder, method, None)
    part.value = build(part, values) if build is not None else builder.__default__(method, values, part)
    return part


@cache
def load_tables() -> ParseTables:
    """Load the tables of the language from the user's cache; make and keep them if they are not there."""
    grammar = (find_resource("grammar") / "archline.lark").read_text(encoding="utf-8")
    with suppress(OSError, RuntimeError, ValueError, EOFError, TypeError):
        return ParseTables(*marshal.loads(_find_file(grammar).read_bytes()))
    values = lark_parser.make_tables()
    with suppress(OSError, RuntimeError):
        write_whole(_find_file(grammar), marshal.dumps(values))
    return ParseTables(*values)


def _find_file(grammar: str) -> Path:
    """Return the file for the tables of a grammar. Raises RuntimeError without a home folder."""
    parts = repr((grammar, FORMAT, sys.version_info[:2]))
    return find_cache_folder() / f"tables-{sha256(parts.encode()).hexdigest()[:16]}"
