"""Text is parsed to a Program, one top-level item at a time; the parser continues after a mistake if possible."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import lru_cache
from itertools import chain
from typing import Any

from archline.expr.tree import Source, Span, iterate_conjuncts, move_tree
from archline.language import lark_parser
from archline.language import syntax as s
from archline.language import syntax_rules as rules
from archline.language.builder import TreeBuilder
from archline.language.diagnostics import ArchlineError, Diagnostic, propose_text
from archline.language.foreign_lines import mask_foreign_lines
from archline.language.mistakes import count_brackets, find_continued_lines, suggest_joining
from archline.language.rearranging import iterate_indentation, mask_strings_and_comment, measure_indent
from archline.language.tables import NotInLanguageError, load_tables
from archline.records import record, replace

CLAUSE_WORDS = ("where", "ensures", "decreases")
"""The words of lines between the header of an algorithm and its statements."""
MAX_BLOCK_DEPTH = 320
MAX_REPAIRS = 8
MAX_FRAGMENTS = 512
"""The number of cached fragments: texts of models and of growths are read repeatedly."""
MAX_ITEMS = 512
"""The number of cached trees of items: most items of a file are the same after an edit."""

# Expressions nest up to 200 levels and blocks up to 320; a level takes several calls in a recursive pass.
_RECURSION_LIMIT = 20_000

_HEADER = re.compile(r"(algorithm|def|function|procedure)\b")
_COMMENT = re.compile(r'"[^"\n]*"|(#.*)')


@record
class ParseResult:
    """A program and the mistakes in its text; with diagnostics, the program holds the readable parts."""

    program: s.Program
    diagnostics: tuple[Diagnostic, ...]


def parse(source: Source) -> ParseResult:
    """Parse a file. Never raises for bad text: the diagnostics describe the mistakes."""
    # The limit is for every pass that will read the program, not for parsing alone.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    tabs = _diagnose_tabs(source)
    if tabs:
        return ParseResult(s.Program(source, ()), tabs)
    source, mistakes = mask_foreign_lines(source)
    diagnostics = list(mistakes)
    items: list[s.Item] = []
    broken: set[str] = set()
    texts: dict[s.Item, str] = {}
    for first, lines in split_items(source):
        item, problems = _parse_item(source, first, lines)
        diagnostics.extend(problems)
        if item is not None:
            items.append(item)
            text = "\n".join(lines).rstrip()
            if not problems and _find_kept_trees(text):
                texts[item] = text
            if problems and isinstance(item, s.Algorithm):
                broken.add(item.name)
        if len(diagnostics) >= MAX_REPAIRS:
            break
    program = s.Program(source, tuple(items), tuple(_iterate_comments(source)), frozenset(broken), texts)
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


def clear_parsed_texts() -> None:
    """Clear the caches of parsed items, expressions, facts and settings, for measurements."""
    _find_kept_trees.cache_clear()
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


@lru_cache(maxsize=MAX_ITEMS)
def _find_kept_trees(text: str) -> list[tuple[Any, int]]:
    """Return the list that keeps the tree of an item's text, once it is parsed, and the line where it begins."""
    return []


def _try_parse(source: Source, first: int, text: str, start: str = "start") -> Any:
    """Return the syntax tree of a text that begins at line `first` of the source, or the Diagnostic of its failure.

    An item whose text was parsed before is not parsed again.
    """
    parsed = _find_kept_trees(text.rstrip()) if start == "start" else []
    for tree, line in parsed:
        return move_tree(tree, source, first - line)
    builder = TreeBuilder(source, first - 1)
    with suppress(NotInLanguageError, ArchlineError):
        tree = load_tables().parse(text, start, builder)
        if builder.sized is None:
            if not builder.depends_on_file:
                parsed.append((tree, first))
            return tree
    return lark_parser.parse_with_lark(source, first, text, start)


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
    indent = measure_indent(lines[at])
    if indent == 0:
        return False
    above = next((line.split()[0] for line in reversed(lines[:at]) if line.strip()), "")
    if lines[at].split()[0] in CLAUSE_WORDS and (
        above in (*CLAUSE_WORDS, "algorithm", "extern") or above.startswith('"')
    ):
        lines[at] = ""
        return True
    end = at + 1
    while end < len(lines) and (not lines[end].strip() or measure_indent(lines[end]) > indent):
        end += 1
    branch = re.match(r" *(if|elif|else|elseif|elsif)\b", lines[at])
    before = next(
        (line.split()[0] for line in reversed(lines[:at]) if line.strip() and measure_indent(line) <= indent), ""
    )
    if branch and (branch[1] == "if" or before in ("if", "elif")) and any(map(str.strip, lines[at + 1 : end])):
        lines[at] = f"{' ' * indent}{'if' if branch[1] == 'if' else 'elif'} 0 < 1:"
        return True
    lines[at] = " " * indent + "pass"
    lines[at + 1 : end] = [""] * (end - at - 1)
    return True


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
            span = Span(source, number, at + 1, number, at + 2)
            if inside:
                return (Diagnostic(rules.TAB, "tab between words", span, hint=propose_text(span, " ", "use a space")),)
            return (Diagnostic(rules.TAB, "tab in the indentation", span, hint="indent with spaces"),)
    return ()


def _diagnose_depth(source: Source, first: int, lines: list[str]) -> Diagnostic | None:
    for span, indent, stack in iterate_indentation(source, first, lines):
        if indent > stack[-1] and len(stack) > MAX_BLOCK_DEPTH:
            return Diagnostic(rules.TOO_DEEP, f"blocks nest deeper than {MAX_BLOCK_DEPTH} levels", span)
    return None


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
