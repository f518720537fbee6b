"""Pygments highlights programs with this lexer, which is registered as `archline`, for files `.algo`."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Whitespace

from archline.language.highlighting import PATTERNS, Kind

_TOKENS = {
    Kind.COMMENT: Comment.Single,
    Kind.STRING: String.Double,
    Kind.NUMBER: Number,
    Kind.TYPE: Keyword.Type,
    Kind.CONSTANT: Name.Constant,
    Kind.FUNCTION: Name.Builtin,
    Kind.KEYWORD: Keyword,
    Kind.OPERATOR: Operator,
    Kind.PUNCTUATION: Punctuation,
    Kind.NAME: Name,
    Kind.SPACE: Whitespace,
}


class ArchlineLexer(RegexLexer):  # type: ignore[misc]
    """Splits programs into tokens by the patterns that the highlighting of editors uses too."""

    name = "archline"
    aliases = ("archline",)
    filenames = ("*.algo",)
    url = ""
    tokens: ClassVar = {
        "root": [
            (r"\b(algorithm|extern)(\s+)([A-Za-z_]\w*)", bygroups(Keyword, Whitespace, Name.Function)),
            *((pattern, _TOKENS[kind]) for kind, pattern in PATTERNS),
        ]
    }
