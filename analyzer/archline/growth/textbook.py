"""Rewrite the texts of expressions as textbooks write them, `lg n`, `lg*(n)` and `n!`, in the language's syntax."""

from __future__ import annotations

import re

from archline.expr.tree import Source, Span
from archline.language.diagnostics import error
from archline.language.syntax_rules import UNEXPECTED

SPELLINGS = {"lg": "log2", "ln": "log"}
"""The functions of the language that textbooks write in another way."""
_FUNCTION = r"(?:lg|ln|log2?)"
_ITERATED = re.compile(rf"\b{_FUNCTION}\*(?=\s*\(|\s+\w)")
_APPLIED = re.compile(rf"\b({_FUNCTION}|log_star)[ \t]+(?=\w)")
_FACTORIAL = re.compile(r"(?<=[\w)])!(?!=)")


def write_brackets(text: str) -> str:
    """Write `lg n` as `lg(n)`, `lg*` as `log_star` and `n!` as `factorial(n)`; other texts stay as they are."""
    text = _ITERATED.sub("log_star", text)
    # The last function is read first, so that the argument of another one before it has its brackets.
    for called in reversed(list(_APPLIED.finditer(text))):
        end = _find_argument_end(text, called.end())
        text = f"{text[: called.start()]}{called[1]}({text[called.end() : end]}){text[end:]}"
    while mark := _FACTORIAL.search(text):
        start = _find_operand(text, mark.start())
        text = f"{text[:start]}factorial({text[start : mark.start()]}){text[mark.end() :]}"
    return text


def require_certain_arguments(source: Source) -> None:
    """Raise ArchlineError if an operator follows the argument of a function that is written without brackets."""
    match = re.search(
        rf"\b({_FUNCTION}\*?|log_star)[ \t]+(?!{_FUNCTION}\b|log_star\b)"
        r"(?:(\w+)[ \t]*(!(?!=)|\^[ \t]*(?:[\w.]+|(?=\()))|(\d+)[ \t]*(\*[ \t]*\w+))",
        source.text,
    )
    if match is None:
        return
    function, operand, operator = match[1], match[2] or match[4], re.sub(r"[ \t]", "", match[3] or match[5])
    if operator == "^":
        operator = "^(...)"
    hint = f"write `{function}({operand}{operator})` or `{function}({operand}){operator}`"
    if operator == "!":
        hint = f"write `{function}({operand}!)` or `({function} {operand})!`"
    line = source.text.count("\n", 0, match.start()) + 1
    column = match.start() - (source.text.rfind("\n", 0, match.start()) + 1) + 1
    span = Span(source, line, column, line, column + len(match[0]))
    raise error(UNEXPECTED, f"`{match[0]}` can be read in two ways", span=span, hint=hint)


def _find_argument_end(text: str, start: int) -> int:
    """Return where the name, the number or the call of a logarithm that begins at `start` ends."""
    end = start + len(re.match(r"\w+", text[start:])[0])  # type: ignore[index]
    if not re.fullmatch(rf"{_FUNCTION}|log_star", text[start:end]) or text[end : end + 1] != "(":
        return end
    depth = 0
    for place in range(end, len(text)):
        depth += (text[place] == "(") - (text[place] == ")")
        if not depth:
            return place + 1
    return end


def _find_operand(text: str, end: int) -> int:
    """Return where the name, number, call or bracket that ends before `end` begins."""
    start, depth = end, 0
    while start and (depth or start == end or text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
        depth += (text[start] == ")") - (text[start] == "(")
    return start
