"""Tokens of a text, and the parts that a parser makes of them, with their places in the text."""

from __future__ import annotations

from typing import Any


class Token(str):
    """The text of a token, with its terminal in the grammar and its place; lines and columns begin with 1."""

    __slots__ = ("column", "end_column", "end_line", "line", "type")
    type: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __new__(
        cls, type_: str, text: str, line: int = 1, column: int = 1, end_line: int = 0, end_column: int = 0
    ) -> Token:
        """Return the token of a text; without an end, it ends where it begins."""
        token = super().__new__(cls, text)
        token.type = type_
        token.line, token.column, token.end_line, token.end_column = line, column, end_line, end_column
        return token


class Part:
    """The value of a rule and its place: from the first to the last token of the rule."""

    __slots__ = ("column", "end_column", "end_line", "line", "value")
    line: int
    column: int
    end_line: int
    end_column: int

    def __init__(self, value: Any, first: Token | Part, last: Token | Part) -> None:
        self.value = value
        self.line, self.column = first.line, first.column
        self.end_line, self.end_column = last.end_line, last.end_column
