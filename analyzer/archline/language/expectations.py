"""Words for what the parser found and what it could have taken instead."""

from __future__ import annotations

from collections.abc import Collection

from lark import Token

from archline.language.diagnostics import did_you_mean

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
    "ASSIGN_PLAIN": "`=`",
    "__ANON_0": "`->`",
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


def describe(token: Token, accepted: Collection[str]) -> tuple[str, str | None]:
    """A message and perhaps a hint for an unexpected token, from the terminals that would have been accepted."""
    found = _KINDS.get(token.type) if token.type.startswith("_") or token.type == "$END" else None
    shown = found or f"`{str(token)[:40]}`"
    wanted = _wanted(set(accepted))
    message = f"unexpected {shown}" + (f", expected {wanted}" if wanted else "")
    return message, _hint(token, set(accepted))


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
    names = list(dict.fromkeys(names))
    if not names or len(names) > 5:
        return None
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


def _hint(token: Token, accepted: set[str]) -> str | None:
    if token.type == "COLON" and "AT" in accepted:
        return "a `while` says how often it runs: `while lo < hi at most log2(n + 1) + 1 times:`"
    if token.type == "_NEWLINE" and "COLON" in accepted:
        return "a block header ends with `:`"
    if token.type == "_INDENT":
        return "this line is indented further than the block it stands in"
    if token.type == "ASSIGN_PLAIN" and "EQUAL" in accepted:
        return "equality is written `==`"
    if token.type == "TIMES" and "INTEGER" in accepted:
        return "a power is written `^`"
    if token.type in ("NAME", "INTEGER", "LPAR"):
        return did_you_mean(str(token), STATEMENTS) if token.type == "NAME" else None
    return None
