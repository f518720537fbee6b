"""Words for what the parser found and what it could have taken instead."""

from __future__ import annotations

from collections.abc import Collection

from lark import Token

from archline.language.diagnostics import did_you_mean
from archline.language.mistakes import line_hint, place_hint

_KINDS = {
    "NAME": "a name",
    "INTEGER": "a number",
    "REAL": "a number",
    "STRING": "a string",
    "_NEWLINE": "the end of the line",
    "_INDENT": "an indented block",
    "_DEDENT": "the end of the block",
    "$END": "the end of the text",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "COLON": "`:`",
    "UPTO": "`..`",
    "ASSIGN": "an update such as `+=`",
    "ASSIGN_OPERATOR": "an update such as `+=`",
    "ASSIGN_PLAIN": "`=`",
    "__ANON_0": "`->`",
    "__ANON_1": "`power`",
    "__ANON_2": "`times`",
    "BY_LENGTH": "`..+`",
    "DOT": "`.`",
    "SCALAR": "`real`, `int`",
    "LAYOUT": "a layout",
    "GROWTH": "`Theta`, `O` or `Omega`",
    "EQUAL": "`==`",
    "LESS_EQUAL": "`<=`",
    "GREATER_EQUAL": "`>=`",
}
_OPERATORS = {
    "PLUS", "MINUS", "TIMES", "DIVIDE", "FLOOR_DIVIDE", "MODULO", "POWER", "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL",
    "GREATER", "GREATER_EQUAL", "AND", "OR", "NOT", "ASSIGN", "OPERATOR",
}  # fmt: skip
_EXPRESSION_STARTS = {"NAME", "INTEGER", "LPAR"}
STATEMENTS = (
    "for", "parallel", "while", "if", "let", "local", "sync", "spawn", "pass", "return", "assume", "costs", "atomic",
    "elif", "else", "algorithm", "where", "ensures", "decreases", "use", "extern", "claim", "split", "input", "output",
)  # fmt: skip


def describe(token: Token, accepted: Collection[str], line: str, column: int) -> tuple[str, str | None]:
    """A message and perhaps a hint for an unexpected token, from the terminals that would have been accepted.

    `line` is the code of the line it stands on, and `column` its place there, from 1.
    """
    found = _KINDS.get(token.type) if token.type.startswith("_") or token.type == "$END" else None
    shown = found.removeprefix("the ") if found else f"`{str(token)[:40]}`"
    wanted = _wanted(set(accepted))
    message = f"unexpected {shown}" + (f", expected {wanted}" if wanted else "")
    hint = place_hint(token.type, line, column, accepted) or line_hint(line)
    return message, hint or _hint(token, set(accepted), line[: column - 1])


def _wanted(accepted: set[str]) -> str | None:
    names: list[str] = []
    if accepted >= _EXPRESSION_STARTS:
        names.append("an expression")
        accepted = accepted - _EXPRESSION_STARTS - {"REAL", "MINUS", "NOT"}
    if accepted & {"PLUS", "TIMES"}:
        names.append("an operator")
        accepted = accepted - _OPERATORS
    for terminal in sorted(accepted):
        names.append(_KINDS.get(terminal) or f"`{terminal.lower().strip('_')}`")
    # What is longest stands last.
    names = sorted(dict.fromkeys(names), key=lambda each: " such as " in each)
    if not names or len(names) > 5:
        return None
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def _hint(token: Token, accepted: set[str], before: str) -> str | None:
    if token.type == "COLON" and "AT" in accepted:
        return "a `while` says how often it runs: `while lo < hi at most log2(n + 1) + 1 times:`"
    if token.type == "_NEWLINE" and "COLON" in accepted:
        return "a block header ends with `:`"
    if token.type == "_INDENT":
        return "this line is indented further than the block it stands in"
    # `whiel x > 1` is read as an assignment to `whiel`: the word that was meant stands at the line's start.
    first = before.split()[0] if before.split() else str(token)
    if token.type == "NAME" and first.isidentifier() and first not in STATEMENTS and len(first) > 3:
        return did_you_mean(first, STATEMENTS)
    return None
