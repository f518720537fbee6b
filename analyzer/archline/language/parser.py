"""Text is parsed to a Program, one top-level item at a time; the parser continues after a mistake if possible."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import lark
from lark import Lark, Token
from lark.exceptions import LarkError, UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError
from lark.indenter import DedentError, Indenter

from archline.expr.tree import Source, Span, iterate_conjuncts
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.builder import TreeBuilder
from archline.language.diagnostics import ArchlineError, Diagnostic, find_closest, propose_text, suggest_closest
from archline.language.foreign_lines import mask_foreign_lines
from archline.language.mistakes import (
    CodeLine,
    count_brackets,
    find_continued_lines,
    find_unclosed_bracket,
    suggest_at_location,
    suggest_ensures,
    suggest_for_line,
    suggest_growth,
    suggest_joining,
)
from archline.language.rearranging import mask_strings_and_comment
from archline.records import record, replace
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
CLAUSE_WORDS = ("where", "ensures", "decreases")
"""The words of lines between the header of an algorithm and its statements."""
_CLOSING = {"(": ")", "[": "]"}
MAX_BLOCK_DEPTH = 320
MAX_REPAIRS = 8
MAX_FRAGMENTS = 512
"""The number of cached fragments: texts of models and of growths are read repeatedly."""


def describe_unexpected(token: Token, accepted: Collection[str], line: CodeLine, column: int) -> tuple[str, str | None]:
    """Return the message about an unexpected token, and a hint or None.

    `accepted` are the terminals that the grammar allows at the token, which is at `column`, from 1, of the line.
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
    """Map the terminals of the grammar that are fixed strings, not patterns, to these strings."""
    return {item.name: item.pattern.value for item in _load_grammar().terminals if item.pattern.type == "str"}


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


def make_parser(grammar: str, **options: Any) -> lark.Lark:
    """Return the parser of a grammar, with cached tables if possible; `options` are those of `lark.Lark`."""
    try:
        tables = _make_tables_path(grammar, options)
        tables.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return lark.Lark(grammar, cache=str(tables), **options)
    except (OSError, RuntimeError):
        # There is no home folder, or no room in it.
        return lark.Lark(grammar, **options)


def _make_tables_path(grammar: str, options: dict[str, Any]) -> Path:
    """Return the cache file of a grammar, its options and the versions. Raises RuntimeError without a home folder."""
    plain = sorted((name, value) for name, value in options.items() if isinstance(value, str | bool | list))
    parts = repr((grammar, plain, lark.__version__, sys.version_info[:2]))
    return find_cache_folder() / f"grammar-{sha256(parts.encode()).hexdigest()[:16]}.lark"


_HEADER = re.compile(r"(algorithm|def|function|procedure)\b")
_COMMENT = re.compile(r'"[^"\n]*"|(#.*)')


class _Indentation(Indenter):
    NL_type = "_NEWLINE"
    OPEN_PAREN_types = ["LPAR", "LSQB"]
    CLOSE_PAREN_types = ["RPAR", "RSQB"]
    INDENT_type = "_INDENT"
    DEDENT_type = "_DEDENT"
    tab_len = 8


@cache
def _load_grammar() -> Lark:
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


@record
class ParseResult:
    """A program and the mistakes in its text; with diagnostics, the program holds the readable parts."""

    program: s.Program
    diagnostics: tuple[Diagnostic, ...]


def parse(source: Source) -> ParseResult:
    """Parse a file. Never raises for bad text: the diagnostics describe the mistakes."""
    tabs = _diagnose_tabs(source)
    if tabs:
        return ParseResult(s.Program(source, ()), tabs)
    source, mistakes = mask_foreign_lines(source)
    diagnostics = list(mistakes)
    items: list[s.Item] = []
    broken: set[str] = set()
    for first, lines in split_items(source):
        item, problems = _parse_item(source, first, lines)
        diagnostics.extend(problems)
        if item is not None:
            items.append(item)
            if problems and isinstance(item, s.Algorithm):
                broken.add(item.name)
        if len(diagnostics) >= MAX_REPAIRS:
            break
    program = s.Program(source, tuple(items), tuple(_iterate_comments(source)), frozenset(broken))
    return ParseResult(program, tuple(diagnostics))


def parse_program(source: Source) -> s.Program:
    """Parse a file; raises ArchlineError for any mistake in its text."""
    parsed = parse(source)
    if parsed.diagnostics:
        raise ArchlineError(parsed.diagnostics)
    return parsed.program


def parse_expression(text: str, name: str = "<expression>") -> s.Expr:
    """Parse one expression, such as a command-line argument; raises ArchlineError."""
    return _parse_fragment(text, name, "expression")  # type: ignore[no-any-return]


def parse_facts(text: str, name: str = "<facts>") -> tuple[s.Fact, ...]:
    """Parse facts with commas or `and` between them, as `--where` takes them; raises ArchlineError."""
    return tuple(chain.from_iterable(map(iterate_conjuncts, parse_fact_list(text, name))))


def parse_fact_list(text: str, name: str = "<facts>") -> tuple[s.Fact, ...]:
    """Parse facts with commas between, whose parts may be joined by `and`; raises ArchlineError."""
    return _parse_fragment(text, name, "fact_list")  # type: ignore[no-any-return]


def parse_settings(text: str, name: str = "<settings>") -> tuple[tuple[str, s.Expr, Span], ...]:
    """Parse `n = 64, m = p = 2^20`, as `--at` and `--cache` take them; raises ArchlineError."""
    try:
        return _parse_fragment(text, name, "setting_list")  # type: ignore[no-any-return]
    except ArchlineError as problem:
        unit = re.search(r"(?<![\w.])(\d+(?:\.\d+)?)([kKMGT])(i?)\b", text)
        if unit is None:
            raise
        value = Fraction(unit[1]) * (1024 if unit[3] else 1000) ** (" KMGT".index(unit[2].upper()))
        hint = f"write {value} for `{unit[0]}`"
        raise ArchlineError([replace(finding, hint=hint) for finding in problem.diagnostics]) from None


def clear_fragments() -> None:
    """Clear the cache of parsed expressions, facts and settings, for measurements."""
    _parse_fragment.cache_clear()


@lru_cache(maxsize=MAX_FRAGMENTS)
def _parse_fragment(text: str, name: str, start: str) -> Any:
    source = Source(name, text)
    # A fragment is one line: a newline in it would only confuse the indentation.
    result = _try_parse(source, 1, text.replace("\n", " ").replace("\t", " ") + "\n", start)
    if isinstance(result, Diagnostic):
        raise ArchlineError([_adapt_diagnostic(result)])
    return result


def _adapt_diagnostic(problem: Diagnostic) -> Diagnostic:
    """Return a parse error of a fragment, such as a single expression: 'expected a definition', which only fits a whole
    file, becomes a message about the unexpected token.
    """
    if problem.rule is not rules.TOP_LEVEL or problem.span is None:
        return problem
    span = problem.span
    text = span.text.strip()
    return Diagnostic(rules.UNEXPECTED, f"unexpected `{text}`" if text else "the text is empty", span)


def _try_parse(source: Source, first: int, text: str, start: str = "start") -> Any:
    """Return the syntax tree of a text that begins at line `first` of the source, or the Diagnostic of its failure."""
    builder = TreeBuilder(source, first - 1)
    try:
        tree = builder.transform(_load_grammar().parse(text, start=start))
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


def _parse_item(source: Source, first: int, lines: list[str]) -> tuple[s.Item | None, list[Diagnostic]]:
    """Parse one item, whose first line in the source is `first`.

    Faulty statements are replaced and faulty clauses dropped: one run shows several mistakes.
    """
    deep = _diagnose_depth(source, first, lines)
    if deep is not None:
        return None, [deep]
    lines = list(lines)
    diagnostics: list[Diagnostic] = []
    while True:
        result = _try_parse(source, first, "\n".join(lines) + "\n")
        if not isinstance(result, Diagnostic):
            return result, diagnostics
        last = diagnostics[-1].span if diagnostics else None
        line = result.span.line if result.span is not None else first
        continued = find_continued_lines(lines, line - first)
        if len(continued) > 1 and continued[0] > 0:
            line = first + continued[0]
            result = _diagnose_continued(source, range(line, first + continued[-1] + 1))
            lines[continued[0] + 1 : continued[-1] + 1] = [""] * (len(continued) - 1)
        if last is not None and line <= last.line:
            return None, diagnostics
        diagnostics.append(result)
        if len(diagnostics) >= MAX_REPAIRS or not _repair_statement(lines, line - first):
            return None, diagnostics


def _diagnose_continued(source: Source, numbers: range) -> Diagnostic:
    """Return the finding about a statement on several lines, at the end of the first."""
    line = numbers[0]
    end = len(mask_strings_and_comment(source.lines[line - 1]).rstrip())
    message = "unexpected end of the line: the statement goes on in the next one"
    span = Span(source, line, end, line, end + 1)
    return Diagnostic(rules.UNEXPECTED, message, span, hint=suggest_joining(source, numbers))


def _repair_statement(lines: list[str], at: int) -> bool:
    """Replace the statement on line `at`, with its block if it has one, by `pass`; return whether that was possible.

    A clause of the header is dropped, and a branch gets another condition: else what follows would be mistakes too.
    """
    if at <= 0 or at >= len(lines):
        return False
    indent = _measure_indent(lines[at])
    if indent == 0:
        return False
    above = next((line.split()[0] for line in reversed(lines[:at]) if line.strip()), "")
    if lines[at].split()[0] in CLAUSE_WORDS and (
        above in (*CLAUSE_WORDS, "algorithm", "extern") or above.startswith('"')
    ):
        lines[at] = ""
        return True
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or _measure_indent(lines[end]) > indent):
        end += 1
    branch = re.match(r" *(if|elif|else|elseif|elsif)\b", lines[at])
    before = next(
        (line.split()[0] for line in reversed(lines[:at]) if line.strip() and _measure_indent(line) <= indent), ""
    )
    if branch and (branch[1] == "if" or before in ("if", "elif")) and any(map(str.strip, lines[at + 1 : end])):
        lines[at] = f"{' ' * indent}{'if' if branch[1] == 'if' else 'elif'} 0 < 1:"
        return True
    lines[at] = " " * indent + "pass"
    lines[at + 1 : end] = [""] * (end - at - 1)
    return True


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def split_items(source: Source) -> Iterator[tuple[int, list[str]]]:
    """Yield the file's top-level items: number of the first line, and lines. A header may span lines in brackets."""
    start: int | None = None
    depth = 0
    lines = source.lines
    for number, line in enumerate(lines):
        code = mask_strings_and_comment(line)
        if depth == 0 and code and not code[0].isspace() and code[0] not in ")]":
            if start is not None:
                yield start + 1, lines[start:number]
            start = number
        elif start is None and code.strip():
            start = number
        if start is not None:
            depth = max(0, depth + count_brackets(code))
            # An unclosed bracket must not swallow the rest of the file.
            if depth and code and code.split(" ")[0] in ("algorithm", "use", "extern", "claim") and number != start:
                yield start + 1, lines[start:number]
                start, depth = number, 0
    if start is not None:
        yield start + 1, lines[start:]


def _iterate_comments(source: Source) -> Iterator[s.Comment]:
    for number, line in enumerate(source.lines, 1):
        if "#" not in line:
            continue
        for match in _COMMENT.finditer(line):
            if match.group(1) is not None:
                start = match.start(1)
                yield s.Comment(number, start + 1, match.group(1).rstrip(), not line[:start].strip())


def _diagnose_tabs(source: Source) -> tuple[Diagnostic, ...]:
    for number, line in enumerate(source.lines, 1):
        at = line.find("\t")
        inside = _COMMENT.sub("", line[:at]).strip()
        if at >= 0 and (not inside or "\t" in _COMMENT.sub("", line)):
            what, hint = ("between words", "use a space") if inside else ("in the indentation", "indent with spaces")
            return (Diagnostic(rules.TAB, f"tab {what}", Span(source, number, at + 1, number, at + 2), hint=hint),)
    return ()


def _iterate_indentation(source: Source, first: int, lines: Sequence[str]) -> Iterator[tuple[Span, int, list[int]]]:
    """Yield each line with code: its span, its indentation, and the indentations of the blocks open before it.

    The first of `lines` is line `first` of the source.
    """
    stack = [0]
    for number, line in enumerate(lines, first):
        if line.strip() and not line.lstrip().startswith("#"):
            indent = _measure_indent(line)
            yield Span(source, number, indent + 1, number, len(line) + 1), indent, stack
            stack = [*(level for level in stack if level < indent), indent]


def _diagnose_depth(source: Source, first: int, lines: list[str]) -> Diagnostic | None:
    for span, indent, stack in _iterate_indentation(source, first, lines):
        if indent > stack[-1] and len(stack) > MAX_BLOCK_DEPTH:
            return Diagnostic(rules.TOO_DEEP, f"blocks nest deeper than {MAX_BLOCK_DEPTH} levels", span)
    return None


def _diagnose_indentation(source: Source, first: int, text: str) -> Diagnostic:
    """Find the line whose indentation fits no open block, which the indenter's error does not report."""
    for span, indent, stack in _iterate_indentation(source, first, text.split("\n")):
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
        hint = suggest_for_line(CodeLine(source, line, mask_strings_and_comment(text_of_line)))
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


def parse_headers(source: Source) -> tuple[s.Algorithm, ...]:
    """Return the algorithms, each with its parameters, its docstring and a `pass`. Raises ArchlineError."""
    parsed = parse_readable_headers(source)
    if parsed.diagnostics:
        raise ArchlineError(parsed.diagnostics)
    return parsed.program.algorithms


def parse_readable_headers(source: Source) -> ParseResult:
    """Parse the headers of a file, with the mistakes in them; each algorithm has a `pass` for its body."""
    lines = [""] * len(source.lines)
    for first, chunk in split_items(mask_foreign_lines(source)[0]):
        if _HEADER.match(chunk[0]):
            lines[first - 1 : first - 1 + len(chunk)] = _drop_body(chunk)
    return parse(Source(source.path, "\n".join(lines) + "\n"))


def list_type_names(source: Source) -> list[str]:
    """Return the names of the types of records that a file defines."""
    found = (re.match(r"type\s+(\w+)", chunk[0]) for _, chunk in split_items(source))
    return [match[1] for match in found if match]


def collect_sizes(algorithms: Sequence[s.Algorithm]) -> set[str]:
    """Collect the names of the sizes and indices of headers, with P and K if an algorithm runs on a grid."""
    parameters = [parameter for algorithm in algorithms for parameter in algorithm.parameters]
    declared = {item.name for item in parameters if isinstance(item.type, s.SizeType | s.IndexType)}
    return (
        declared | s.find_names(algorithms) | ({"P", "K"} if any(algorithm.grid for algorithm in algorithms) else set())
    )


def _drop_body(lines: Sequence[str]) -> list[str]:
    """Return the lines of an algorithm's header and docstring, then `pass` and blank lines in place of the body."""
    depth = 0
    for number, line in enumerate(lines):
        code = mask_strings_and_comment(line).strip()
        if number and not depth and code and not code.startswith('"'):
            return [*lines[:number], "    pass", *[""] * (len(lines) - number - 1)]
        depth += count_brackets(code)
    return list(lines)
