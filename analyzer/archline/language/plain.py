"""Expressions of names, whole numbers, operators and calls, read by hand: what analyses write for themselves.

The grammar's parser takes ten times as long. What is not of this kind, or is wrong, is left to that one, so that there
is one place that says what the language is: for all that is read here both give the same nodes at the same places.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from archline.expr.tree import Source, Span
from archline.language import syntax as s
from archline.language.builder import INTRINSICS, MAX_DEPTH, MAX_DIGITS, RESERVED

_TOKEN = re.compile(r" *(?:([A-Za-z_][A-Za-z0-9_]*)|([0-9]+)|(//|[<>=!]=|[-+*/%^(),<>]))")
_SUM, _PRODUCT = frozenset("+-"), frozenset(("*", "/", "//", "%"))
_COMPARISON = frozenset(("==", "!=", "<", "<=", ">", ">="))
_WORDS = RESERVED - frozenset(INTRINSICS) - {"pi"}
"""Names that may be none."""
_END = ""
T = TypeVar("T")


class _OtherError(Exception):
    """It is not of this kind."""


class _Token(NamedTuple):
    """`kind` is that of names and numbers, of others the text."""

    kind: str
    text: str
    start: int
    end: int


class _Part(NamedTuple):
    """A node, and where its text starts and ends, brackets around it included."""

    node: s.Expr
    start: int
    end: int


def expression(source: Source) -> s.Expr | None:
    """A line that is one expression; None where it is not of this kind."""
    return _read(source, _Reader.whole_sum)


def facts(source: Source) -> tuple[s.Fact, ...] | None:
    """A line of comparisons with commas between them; None where it is not of this kind."""
    return _read(source, _Reader.comparisons)


def _read(source: Source, part: Callable[[_Reader], T]) -> T | None:
    try:
        return part(_Reader(source))
    except _OtherError:
        return None


def _tokens(text: str) -> list[_Token]:
    """The tokens, and one for the end. Fewer than the levels that an expression may have."""
    found: list[_Token] = []
    place, end = 0, len(text.rstrip(" "))
    while place < end:
        match = _TOKEN.match(text, place)
        if match is None or len(found) == MAX_DEPTH:
            raise _OtherError
        name, number, sign = match.groups()
        if name in _WORDS or (number is not None and len(number) > MAX_DIGITS):
            raise _OtherError
        word = name or number or sign
        kind = "name" if name else "number" if number else sign
        place = match.end()
        found.append(_Token(kind, word, place - len(word), place))
    return [*found, _Token(_END, "", end, end)]


class _Reader:
    """One line, of which the part before a token is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tokens = _tokens(source.text)
        self._at = 0

    def whole_sum(self) -> s.Expr:
        found = self._sum()
        self._take(_END)
        return found.node

    def comparisons(self) -> tuple[s.Fact, ...]:
        found = [self._comparison()]
        while self._next == ",":
            self._take(",")
            found.append(self._comparison())
        self._take(_END)
        return tuple(found)

    @property
    def _next(self) -> str:
        return self._tokens[self._at].kind

    def _take(self, kind: str) -> _Token:
        token = self._tokens[self._at]
        if token.kind != kind:
            raise _OtherError
        self._at += 1
        return token

    def _span(self, start: int, end: int) -> Span:
        return Span(self._source, 1, start + 1, 1, end + 1)

    def _joined(self, left: _Part, operator: str, right: _Part) -> _Part:
        span = self._span(left.start, right.end)
        return _Part(s.Binary(operator, left.node, right.node, span=span), left.start, right.end)

    def _comparison(self) -> s.Fact:
        left, operator = self._sum(), self._next
        if operator not in _COMPARISON:
            raise _OtherError
        self._take(operator)
        return self._joined(left, operator, self._sum()).node

    def _sum(self) -> _Part:
        return self._in_a_row(_SUM, self._product)

    def _product(self) -> _Part:
        return self._in_a_row(_PRODUCT, self._factor)

    def _in_a_row(self, operators: frozenset[str], part: Callable[[], _Part]) -> _Part:
        """Parts with operators of one rank between them, from left to right."""
        found = part()
        while (operator := self._next) in operators:
            self._take(operator)
            found = self._joined(found, operator, part())
        return found

    def _factor(self) -> _Part:
        if self._next == "-":
            start = self._take("-").start
            inner = self._factor()
            return _Part(s.Unary("-", inner.node, span=self._span(start, inner.end)), start, inner.end)
        base = self._atom()
        if self._next != "^":
            return base
        self._take("^")
        return self._joined(base, "^", self._factor())

    def _atom(self) -> _Part:
        kind, text, start, end = self._take(self._next)
        if kind == "number":
            return _Part(s.Integer(int(text), span=self._span(start, end)), start, end)
        if kind == "name":
            if self._next == "(":
                return self._call(text, start)
            return _Part(s.Name(text, span=self._span(start, end)), start, end)
        if kind != "(":
            raise _OtherError
        inner = self._sum()
        return _Part(inner.node, start, self._take(")").end)

    def _call(self, function: str, start: int) -> _Part:
        self._take("(")
        arguments = [self._sum().node]
        while self._next == ",":
            self._take(",")
            arguments.append(self._sum().node)
        end = self._take(")").end
        return _Part(s.Call(function, tuple(arguments), span=self._span(start, end)), start, end)
