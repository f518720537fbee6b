"""Parses texts with mistakes with lark, to describe the first mistake; makes the tables for texts without mistakes."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import lark
from lark import Lark
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.grammar import Rule
from lark.indenter import DedentError, Indenter
from lark.lexer import TerminalDef
from lark.visitors import Transformer_NonRecursive

from archline.expr.tree import Source, Span
from archline.language import syntax_rules as rules
from archline.language.builder import TreeBuilder
from archline.language.diagnostics import (
    ArchlineError,
    Diagnostic,
    find_closest,
    propose_text,
    suggest_closest,
)
from archline.language.mistakes import (
    CodeLine,
    find_foreign_name,
    find_unclosed_bracket,
    suggest_ascii_name,
    suggest_at_location,
    suggest_ensures,
    suggest_for_line,
    suggest_growth,
)
from archline.language.rearranging import iterate_indentation, mask_strings_and_comment
from archline.language.tokens import Token
from archline.resources import find_cache_folder, find_resource

_TERMINAL_NAMES = {
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
    "MODE": "a mode such as `inout`",
    "TRANSFER": "a transfer such as `input`",
    "COLLECTIVE": "a collective such as `reduce`",
    "_FOR": "`for`",
    "_ELIF": "`elif`",
    "_TYPE": "`type`",
}
_OPERATOR_TERMINALS = {
    "PLUS", "MINUS", "TIMES", "DIVIDE", "FLOOR_DIVIDE", "MODULO", "POWER", "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL",
    "GREATER", "GREATER_EQUAL", "AND", "OR", "NOT", "ASSIGN", "OPERATOR", "MATRIX", "BIT_AND", "SHIFT_LEFT",
    "SHIFT_RIGHT",
}  # fmt: skip
_UNNAMED_TERMINALS = {
    "SEMICOLON", "CHARACTER", "LBRACE", "RBRACE", "C_TYPE", "_DO", "ITERATIONS", "ASSIGN_ARROW", "ASSIGN_SHORT", "_MUT",
    "_NEW_ARRAY", "_SWAP", "_EXIT", "_NEXT", "_SEMICOLONS", "_CONST", "_CONSTANT", "_CALL", "_COUNT", "_DO_LOOP",
    "_AND_RANGE", "_DO_BLOCK", "_OTHERWISE", "_TRANSPOSED", "_ELEMENTWISE", "_REVERSED", "_REDUCTION",
    "_DEF", "INCREMENT", "DECREMENT", "INCREMENT_BEFORE", "DECREMENT_BEFORE", "COMMENT", "__IGNORE_0",
}  # fmt: skip
"""Terminals that messages do not offer, as they are spellings of others or rare."""
_EXPRESSION_STARTS = {"NAME", "INTEGER", "LPAR"}
STATEMENT_WORDS = (
    "for", "parallel", "while", "if", "let", "local", "sync", "spawn", "pass", "return", "assume", "costs", "atomic",
    "elif", "else", "algorithm", "where", "ensures", "decreases", "use", "extern", "claim", "split", "input", "output",
)  # fmt: skip
ITEM_WORDS = ("algorithm", "extern", "claim", "function", "procedure")
_CLOSING = {"(": ")", "[": "]"}


def describe_unexpected(token: Token, accepted: Collection[str], line: CodeLine, column: int) -> tuple[str, str | None]:
    """Return the message about an unexpected token and a hint or None, from the terminals `accepted` there.

    It is at `column` of the line, from 1.
    """
    kind = _TERMINAL_NAMES.get(token.type) if token.type.startswith("_") or token.type == "$END" else None
    shown = kind.removeprefix("the ") if kind else f"`{str(token)[:40]}`"
    expected = _describe_expected(set(accepted))
    message = f"unexpected {shown}" + (f", expected {expected}" if expected else "")
    hint = suggest_ensures(line) or suggest_growth(line)
    hint = hint or suggest_at_location(token.type, line, column, accepted) or suggest_for_line(line)
    return message, hint or _suggest_fix(token, set(accepted), line, column)


def _describe_expected(accepted: set[str]) -> str | None:
    names: list[str] = []
    accepted = accepted - _UNNAMED_TERMINALS
    if accepted >= _EXPRESSION_STARTS:
        names.append("an expression")
        accepted = accepted - _EXPRESSION_STARTS - {"REAL", "MINUS", "NOT"}
    if accepted & {"PLUS", "TIMES"}:
        names.append("an operator")
        accepted = accepted - _OPERATOR_TERMINALS
    for terminal in sorted(accepted):
        names.append(_TERMINAL_NAMES.get(terminal) or f"`{_load_literals()[terminal]}`")
    # Longer names are last.
    names = sorted(dict.fromkeys(names), key=lambda name: " such as " in name)
    if not names or len(names) > 5:
        return None
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]


@cache
def _load_literals() -> dict[str, str]:
    """Return the texts of the terminals that stand for one text each."""
    return {item.name: item.pattern.value for item in load_grammar().terminals if item.pattern.type == "str"}


def _suggest_fix(token: Token, accepted: set[str], line: CodeLine, column: int) -> str | None:
    if token.type == "COLON" and "AT" in accepted:
        return "a `while` bounds its iterations: `while lo < hi at most log2(n + 1) + 1 times:`"
    if token.type == "_NEWLINE" and "COLON" in accepted:
        return "a block header ends with `:`"
    if token.type == "_INDENT":
        return "this line is indented further than the block it stands in"
    # `whiel x > 1` is read as an assignment to `whiel`: the intended word is at the line's start.
    before = line.code[: column - 1]
    first = before.split()[0].rstrip(":") if before.split() else str(token)
    if token.type in ("NAME", "_NEWLINE") and first.isidentifier() and first not in STATEMENT_WORDS:
        # Of short words only those with the same letters are meant.
        words = [word for word in STATEMENT_WORDS if len(first) > 3 or sorted(word) == sorted(first)]
        return suggest_closest(first, words, line.make_span(0, len(line.code)))
    return None


def make_parser(grammar: str, **options: Any) -> Lark:
    """Return the parser; `options` are those of `Lark`."""
    try:
        tables = _make_tables_path(grammar, options)
        tables.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Lark(grammar, cache=str(tables), **options)
    except (OSError, RuntimeError):
        # There is no home folder, or no room in it.
        return Lark(grammar, **options)


def _make_tables_path(grammar: str, options: dict[str, Any]) -> Path:
    """Return the cache file of a grammar, its options and the versions. Raises RuntimeError without a home folder."""
    plain = sorted((name, value) for name, value in options.items() if isinstance(value, str | bool | list))
    parts = repr((grammar, plain, lark.__version__, sys.version_info[:2]))
    return find_cache_folder() / f"grammar-{sha256(parts.encode()).hexdigest()[:16]}.lark"


class _Indentation(Indenter):
    NL_type = "_NEWLINE"
    OPEN_PAREN_types = ["LPAR", "LSQB"]
    CLOSE_PAREN_types = ["RPAR", "RSQB"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8

    def process(self, stream: Iterator[lark.Token]) -> Iterator[lark.Token]:
        return super().process(_end_lines_with_code(stream))  # type: ignore[no-untyped-call, no-any-return]


def _end_lines_with_code(tokens: Iterable[lark.Token]) -> Iterator[lark.Token]:
    """Yield tokens; the end of a line, and of a block, is that of its code, as in `tables`."""
    end: tuple[int | None, int | None] = 1, 1
    for token in tokens:
        if token.type == "_NEWLINE":
            token.end_line, token.end_column = end
        end = token.end_line, token.end_column
        yield token


@cache
def load_grammar() -> Lark:
    """Load the parser of the language."""
    text = (find_resource("grammar") / "archline.lark").read_text(encoding="utf-8")
    return make_parser(
        text,
        parser="lalr",
        lexer="contextual",
        postlex=_Indentation(),
        start=["start", "expression", "fact_list", "setting_list"],
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _diagnose_indentation(source: Source, first: int, text: str) -> Diagnostic:
    """Find the line whose indentation fits no open block, which the indenter's error does not report."""
    for span, indent, stack in iterate_indentation(source, first, text.split("\n")):
        if indent < stack[-1] and indent not in stack:
            levels = ", ".join(str(level) for level in stack if level < indent)
            message = f"this line is indented by {indent}, the open blocks by {levels}"
            return Diagnostic(rules.INDENTATION, message, span)
    return Diagnostic(rules.INDENTATION, "indentation fits no open block", Span(source, first, 1, first, 2))


def _diagnose_syntax(source: Source, first: int, text: str, problem: UnexpectedInput) -> Diagnostic:
    if isinstance(problem, UnexpectedCharacters):
        line, column = problem.line + first - 1, problem.column
        span = Span(source, line, column, line, column + 1)
        text_of_line = text.split("\n")[problem.line - 1]
        character = text_of_line[column - 1 : column]
        if character == '"':
            return Diagnostic(rules.BAD_CHARACTER, "string that is not closed on its line", span)
        code = CodeLine(source, line, mask_strings_and_comment(text_of_line))
        hint = suggest_for_line(code)
        name = find_foreign_name(code.code, column - 1)
        if name is not None:
            written, number = code.code[slice(*name)], f"U+{ord(character):04X}"
            place = f" in `{written[:40]}`" if len(written) > 1 else ""
            message = f"`{character}` ({number}){place}: names are made of ASCII letters, digits and underscores"
            if hint is None or character not in hint:
                # The hint is about something else in the line.
                hint = suggest_ascii_name(code, *name) or hint
            return Diagnostic(rules.BAD_CHARACTER, message, span, hint=hint)
        if character == " " or character.isalnum() or character in "()[]+-*/%^=<>.:,_":
            return Diagnostic(rules.UNEXPECTED, f"unexpected `{character}`", span, hint=hint)
        return Diagnostic(rules.BAD_CHARACTER, f"no token starts with {character!r}", span, hint=hint)
    if isinstance(problem, UnexpectedToken):
        return _diagnose_token(source, first, text, problem)
    last = first + text.count("\n") - 1
    return Diagnostic(rules.UNEXPECTED, "unexpected end of the text", Span(source, last, 1, last, 2))


def _diagnose_token(source: Source, first: int, text: str, problem: UnexpectedToken) -> Diagnostic:
    token: Token = problem.token
    lines = text.split("\n")
    bracket = _find_open_bracket(lines, token)
    if bracket is not None:
        line, column, sign = bracket
        span = Span(source, line + first - 1, column, line + first - 1, column + 1)
        text_of_line = mask_strings_and_comment(lines[line - 1]).rstrip().rstrip(":")
        end = CodeLine(source, line + first - 1, text_of_line).make_span(len(text_of_line), len(text_of_line))
        hint: str | None = propose_text(end, _CLOSING[sign], safe=False)
        return Diagnostic(rules.UNEXPECTED, f"this `{sign}` is not closed", span, hint=hint)
    line, column, width = _locate_token(lines, first, token)
    code = CodeLine(source, line, mask_strings_and_comment(lines[line - first]))
    if column == 1 and line == first and token.type != "_NEWLINE":
        message = f"`{str(token).strip()[:40]}` does not start a top-level definition"
        words = [word for word in ITEM_WORDS if find_closest(str(token), [word], 0.75)]
        near = suggest_closest(str(token), words, code.make_span(0, len(code.code)))
        advice = suggest_for_line(code) or near or "a file holds `use`, `extern`, `algorithm` and `claim`"
        return Diagnostic(rules.TOP_LEVEL, message, Span(source, line, 1, line, 1 + width), hint=advice)
    if source.original is not None and not token.type.startswith(("_", "$")):
        # A sign that is read as another one is named as it was written.
        token = Token(token.type, source.written_lines[line - 1][column - 1 :][:width] or str(token))
    message, hint = describe_unexpected(token, problem.accepts or problem.expected, code, column)
    return Diagnostic(rules.UNEXPECTED, message, Span(source, line, column, line, column + width), hint=hint)


def _locate_token(lines: list[str], first: int, token: Token) -> tuple[int, int, int]:
    """Return line, column and width of an unexpected token; an unexpected line end is after the line before it.

    The first of `lines` is line `first` of the source.
    """
    if token.type not in ("$END", "_NEWLINE", "_DEDENT", "_INDENT") and token.line is not None:
        return token.line + first - 1, token.column or 1, max(1, len(token))
    number = min(max(token.line if token.line is not None else len(lines), 1), len(lines))
    if token.type != "_NEWLINE":
        while number > 1 and (not lines[number - 1].strip() or token.type == "_DEDENT"):
            number -= 1
            if lines[number - 1].strip():
                break
    return number + first - 1, len(mask_strings_and_comment(lines[number - 1]).rstrip()) + 1, 1


def _find_open_bracket(lines: list[str], token: Token) -> tuple[int, int, str] | None:
    """Return line, column and text of an open bracket that explains an unexpected token; None if there is none.

    It does if the token is the end of the text, or the first one of a line below the bracket.
    """
    if token.type in ("$END", "_DEDENT") or token.line is None:
        return find_unclosed_bracket(lines, len(lines), len(lines[-1]) + 1)
    column = token.column or 1
    bracket = find_unclosed_bracket(lines, token.line, column)
    starts = not lines[token.line - 1][: column - 1].strip()
    return bracket if bracket is not None and starts and bracket[0] < token.line else None


class _NodeBuilder(Transformer_NonRecursive[lark.Token, Any]):
    """Calls a builder for the nodes of a tree of lark."""

    def __init__(self, builder: TreeBuilder) -> None:
        super().__init__()
        self._builder = builder

    def __default__(self, data: str, children: list[Any], meta: Any) -> Any:
        build = getattr(self._builder, data, None)
        if build is None:
            return self._builder.__default__(data, children, meta)
        try:
            return build(meta, children)
        except Exception as problem:
            raise VisitError(data, meta, problem) from problem  # type: ignore[no-untyped-call]

    def __default_token__(self, token: lark.Token) -> Token:
        line, column = token.line or 1, token.column or 1
        return Token(token.type, str(token), line, column, token.end_line or line, token.end_column or column)


def parse_with_lark(source: Source, first: int, text: str, start: str = "start") -> Any:
    """Return the parse of a text, or the Diagnostic of its failure. `first`: its line in the source."""
    builder = TreeBuilder(source, first - 1)
    try:
        tree = _NodeBuilder(builder).transform(load_grammar().parse(text, start=start))
        if builder.sized is not None:
            hint = "only a cost in a `claim` has sizes that are set, such as `work(f, n = 2*n)`"
            return Diagnostic(rules.UNEXPECTED, "sizes cannot be set here", builder.sized, hint=hint)
        return tree
    except UnexpectedInput as problem:
        return _diagnose_syntax(source, first, text, problem)
    except DedentError:
        return _diagnose_indentation(source, first, text)
    except VisitError as problem:
        if isinstance(problem.orig_exc, ArchlineError):
            return problem.orig_exc.diagnostics[0]
        raise
    except LarkError as problem:
        span = Span(source, first, 1, first, 2)
        return Diagnostic(rules.UNEXPECTED, str(problem).splitlines()[0], span)


def make_tables() -> tuple[Any, ...]:
    """Return the values of `tables.ParseTables` for the grammar."""
    data, memo = load_grammar().memo_serialize([TerminalDef, Rule])
    lexer, table = data["parser"]["lexer_conf"], data["parser"]["parser"]
    numbers = {item["@"]: number for number, item in enumerate(data["rules"])}
    rows = [
        {table["tokens"][kind]: -1 - numbers[to["@"]] if reduces else to for kind, (reduces, to) in row.items()}
        for _, row in sorted(table["states"].items())
    ]
    terminals = {item.name: item for item in load_grammar().terminals}
    always = {"_NEWLINE", *lexer["ignore"]}
    accepted = [frozenset(terminals.keys() & (row.keys() | always)) for row in rows]
    contexts = list(dict.fromkeys(accepted))
    return (
        rows,
        [_describe_rule(memo[item["@"]]) for item in data["rules"]],
        list(map({context: number for number, context in enumerate(contexts)}.__getitem__, accepted)),
        [_order_terminals([terminals[name] for name in context]) for context in contexts],
        frozenset(lexer["ignore"]),
        table["start_states"],
        table["end_states"],
    )


def _describe_rule(rule: dict[str, Any]) -> tuple[Any, ...]:
    name, options, symbols = rule["origin"]["name"], rule["options"], rule["expansion"]
    missing = "".join("1" if is_missing else "0" for is_missing in options["empty_indices"] or [False] * len(symbols))
    *gaps, last = map(len, missing.split("0"))
    parts, before = [], 0
    for number, (symbol, gap) in enumerate(zip(symbols, gaps, strict=True)):
        before += gap
        is_terminal = symbol["__type__"] == "Terminal"
        if options["keep_all_tokens"] or not (is_terminal and symbol["filter_out"]):
            parts.append((number, not is_terminal and symbol["name"].startswith("_"), before))
            before = 0
    method = rule["alias"] or name
    return (
        name,
        len(symbols),
        None if name.startswith("_") else method,
        parts,
        before + last,
        options["expand1"] and not rule["alias"],
    )


def _order_terminals(terminals: list[TerminalDef]) -> list[tuple[str, str, bool, dict[str, str]]]:
    """Order terminals as lark's lexer does; words that a regular expression matches are found by it."""
    words: dict[str, dict[str, str]] = {}
    embedded: set[str] = set()
    for regular in (item for item in terminals if item.pattern.type == "re"):
        match = re.compile(regular.pattern.to_regexp()).match
        words[regular.name] = {
            text: item.name
            for item in terminals
            if item.pattern.type == "str" and item.priority == regular.priority
            for text in [item.pattern.value]
            if (matched := match(text)) and matched[0] == text
        }
        embedded |= set(words[regular.name].values())
    rest = [item for item in terminals if item.name not in embedded]
    rest.sort(key=lambda item: (-item.priority, -item.pattern.max_width, -len(item.pattern.value), item.name))
    return [(item.name, item.pattern.value, item.pattern.type == "re", words.get(item.name, {})) for item in rest]
