"""Rewrite the texts of expressions as textbooks write them, `lg n`, `lg*(n)` and `n!`, in the language's syntax."""

from __future__ import annotations

import re

_FUNCTION = r"(?:lg|ln|log2?)"
_ITERATED = re.compile(rf"\b{_FUNCTION}\*(?=\s*\(|\s+\w)")
_APPLIED = re.compile(
    rf"\b({_FUNCTION}|log_star)[ \t]+((?!{_FUNCTION}\b|log_star\b)\w+|(?:{_FUNCTION}|log_star)\([^()]*\))"
)
_FACTORIAL = re.compile(r"(?<=[\w)])!(?!=)")


def write_brackets(text: str) -> str:
    """Write `lg n` as `lg(n)`, `lg*` as `log_star` and `n!` as `factorial(n)`; other texts stay as they are."""
    text, found = _ITERATED.sub("log_star", text), 1
    while found:
        text, found = _APPLIED.subn(r"\1(\2)", text)
    while mark := _FACTORIAL.search(text):
        start = _find_operand(text, mark.start())
        text = f"{text[:start]}factorial({text[start : mark.start()]}){text[mark.end() :]}"
    return text


def _find_operand(text: str, end: int) -> int:
    """Return where the name, number, call or bracket that ends before `end` begins."""
    start, depth = end, 0
    while start and (depth or start == end or text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
        depth += (text[start] == ")") - (text[start] == "(")
    return start
