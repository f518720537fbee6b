"""Patterns of tokens for highlighting are made here from the words of the grammar; editors and Pygments use them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum

from archline.language.words import CONTEXTUAL_WORDS, INTRINSICS, RESERVED, read_grammar


class Kind(Enum):
    """The kind of a token; its value is the scope of TextMate grammars, empty for tokens that are not highlighted."""

    COMMENT = "comment.line.number-sign"
    STRING = "string.quoted.double"
    NUMBER = "constant.numeric"
    TYPE = "storage.type"
    CONSTANT = "constant.language"
    FUNCTION = "support.function"
    KEYWORD = "keyword.control"
    OPERATOR = "keyword.operator"
    PUNCTUATION = "punctuation"
    NAME = ""
    SPACE = " "


def _match_words(words: Iterable[str]) -> str:
    return rf"\b(?:{'|'.join(sorted(words))})\b"


def _list_choices(text: str, terminals: str) -> tuple[str, ...]:
    """Return the words that terminals of the grammar, given by a pattern of their names, choose from."""
    return tuple("|".join(re.findall(rf"^(?:{terminals})[.0-9]*: /\((.*?)\)", text, re.MULTILINE)).split("|"))


def _collect_type_words(text: str) -> tuple[str, ...]:
    """Return the words that types of the grammar begin with, and those of modes and layouts."""
    (types,) = re.findall(r"^\?type: (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    begins = re.findall(r'(?:^|\| )"([a-z]+)"', types)
    return tuple(dict.fromkeys((*begins, *_list_choices(text, "SCALAR|MODE|LAYOUT"))))


_GRAMMAR = read_grammar()
TYPES = _collect_type_words(_GRAMMAR)
"""The words of types, modes and layouts."""
GROWTHS = _list_choices(_GRAMMAR, "GROWTH")
_CONSTANTS = {*GROWTHS, "pi"}
_KEYWORDS = RESERVED - {*INTRINSICS, *TYPES, *_CONSTANTS}
PATTERNS: tuple[tuple[Kind, str], ...] = (
    (Kind.COMMENT, r"#.*"),
    (Kind.STRING, r"\"[^\"\n]*\"|'[^'\n]'"),
    (Kind.NUMBER, r"\b(?:0x[0-9A-Fa-f]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)\b"),
    (Kind.TYPE, rf"{_match_words(set(TYPES) - CONTEXTUAL_WORDS)}|(?<=: ){_match_words(TYPES)}"),
    (Kind.CONSTANT, _match_words(_CONSTANTS)),
    (Kind.FUNCTION, rf"{_match_words(INTRINSICS)}(?=\()"),
    # A word that can be a name too is one of the language where something follows it as no operator would.
    (Kind.KEYWORD, rf"{_match_words(_KEYWORDS)}|{_match_words(CONTEXTUAL_WORDS)}(?= +[\w(\"]| *:? *(?:#|$))"),
    (Kind.OPERATOR, r"\.\.[=+]?|->|[-+*/%<>=!]=?|[@^?&|~≤≥≠÷←]"),
    (Kind.PUNCTUATION, r"[(),.:;'\[\]{}]"),
    (Kind.NAME, r"[A-Za-z_]\w*"),
    (Kind.SPACE, r"\s+"),
)
"""The kinds of tokens with their patterns, in the order in which they are tried."""
