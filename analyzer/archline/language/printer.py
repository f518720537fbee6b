"""Programs are printed in canonical form, with every comment in its place (`archline fmt`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from archline.expr.tree import Source
from archline.language import syntax as s
from archline.language.format_statements import Bracketed, LogicalLine, iterate_logical_lines
from archline.language.mistakes import count_brackets
from archline.language.rearranging import mask_strings_and_comment
from archline.records import record

WIDTH = 100
INDENT = 4


@record
class _LogicalLineRange:
    """A logical line of the source: its physical lines `first` to `last` (from 1) and its indentation."""

    first: int
    last: int
    indent: int


def format_program(program: s.Program) -> str:
    """Return the program's canonical text. It parses to an equal structure, and formatting it again changes nothing.

    The program must come from text without syntax errors: the layout of comments is read off its source.
    """
    lines = list(_iterate_logical_line_ranges(program.source))
    printed = [unit for item in program.items for unit in iterate_logical_lines(item)]
    return _LineWriter(program).run(list(_locate_lines(lines, printed)))


def _locate_lines(
    ranges: Sequence[_LogicalLineRange], printed: Sequence[LogicalLine]
) -> Iterator[tuple[_LogicalLineRange, LogicalLine]]:
    """Yield each printed line with the line of the source that it comes from."""
    number = -1
    for unit in printed:
        if unit.line is None:
            number += 1
        else:
            while number < 0 or ranges[number].last < unit.line:
                number += 1
        yield ranges[number], unit


def _iterate_logical_line_ranges(source: Source) -> Iterator[_LogicalLineRange]:
    depth = 0
    first = 0
    for number, line in enumerate(source.lines, 1):
        code = mask_strings_and_comment(line)
        if depth == 0:
            if not code.strip():
                continue
            first = number
        depth += count_brackets(code)
        if depth == 0:
            start = source.lines[first - 1]
            yield _LogicalLineRange(first, number, len(start) - len(start.lstrip()))


class _LineWriter:
    """Writes lines in order and puts the comments between, after and inside them."""

    def __init__(self, program: s.Program) -> None:
        self._comments = program.comments
        self._next = 0
        self._out: list[str] = []
        # The last source line that was written, and whether a blank line must, or must not, come next.
        self._at = 0
        self._separate = False
        self._opened = True

    def run(self, entries: Sequence[tuple[_LogicalLineRange, LogicalLine]]) -> str:
        indents: list[int] = []
        kind: str | None = None
        for line, unit in entries:
            if unit.key is not None:
                # One-line items of a kind may be adjacent; all other items are separated.
                self._separate = kind is not None and (unit.key == "algorithm" or unit.key != kind)
                kind = unit.key
            self._write_comments(self._take_comments(line.first), unit.level, indents)
            del indents[unit.level :]
            indents.append(line.indent)
            self._write_logical_line(line, unit)
        self._separate = False
        self._write_comments(list(self._comments[self._next :]), 0, indents)
        return "".join(f"{text}\n" for text in self._out)

    def _take_comments(self, line: int) -> list[s.Comment]:
        """Take the comments not yet written that are above a line."""
        start = self._next
        while self._next < len(self._comments) and self._comments[self._next].line < line:
            self._next += 1
        return list(self._comments[start : self._next])

    def _write_comments(self, comments: Sequence[s.Comment], level: int, indents: Sequence[int]) -> None:
        """Write comments on separate lines before a line of `level`, each indented as the innermost block that fits."""
        for comment in comments:
            depth = level
            while depth + 1 < len(indents) and comment.column > indents[depth + 1]:
                depth += 1
            self._write(comment.text, depth, comment.line, comment.line)

    def _write(self, text: str, level: int, first: int, last: int, *, joined: bool = False) -> None:
        """Write one line for the source lines `first` to `last`; `joined`: no blank line before it."""
        if self._separate and level == 0:
            self._out.append("")
            self._separate = False
        elif first > self._at + 1 and not self._opened and not joined:
            self._out.append("")
        self._out.append(" " * (INDENT * level) + text)
        self._at = last
        self._opened = False

    def _write_logical_line(self, line: _LogicalLineRange, unit: LogicalLine) -> None:
        inside = self._take_comments(line.last)
        text = unit.text
        if unit.groups:
            text = _format_header(unit, inside)
        else:
            for comment in inside:
                self._write(comment.text, unit.level, line.first, line.first)
        trailing = self._take_comments(line.last + 1)
        if trailing:
            text = f"{text}  {trailing[0].text}"
        self._write(text, unit.level, line.first, line.last, joined=unit.continues)
        self._opened = unit.opens


def _format_header(unit: LogicalLine, comments: Sequence[s.Comment]) -> str:
    """Format a header on one line if it fits, else on several lines, aligned to the opening bracket."""
    flat = "".join(group.opening + ", ".join(group.entries) for group in unit.groups) + unit.text
    if len(flat) <= WIDTH and not comments:
        return flat
    lines = [""]
    waiting = list(comments)
    for position, group in enumerate(unit.groups):
        later = unit.groups[position + 1 :]
        # The text after the last entry should fit on its line: a break before that entry is better than one in a grid.
        follower = sum(len(next_group.opening) + len(", ".join(next_group.entries)) for next_group in later) + len(
            unit.text
        )
        starts = [next_group.positions[0] for next_group in later]
        here = [comment for comment in waiting if not starts or (comment.line, comment.column) < starts[0]]
        waiting = waiting[len(here) :]
        _write_bracketed_lines(lines, group, here, follower)
    lines[-1] += unit.text
    return "\n".join(lines)


def _write_bracketed_lines(lines: list[str], group: Bracketed, comments: Sequence[s.Comment], follower: int) -> None:
    """Append a bracketed list to lines of at most WIDTH; `follower` characters are to fit after its last entry."""
    lines[-1] += group.opening
    margin = len(lines[-1])
    waiting = list(comments)
    broken = False
    for number, entry in enumerate(group.entries):
        while waiting and (waiting[0].line, waiting[0].column) < group.positions[number]:
            broken = _write_comment(lines, waiting.pop(0), margin, broken)
        last = number == len(group.entries) - 1
        text = entry if last else f"{entry},"
        room = WIDTH - (follower if last else 0)
        if broken or (number > 0 and len(lines[-1]) + 1 + len(text) > room):
            lines.append(" " * margin + text)
        else:
            lines[-1] += (" " if number > 0 else "") + text
        broken = False
    for comment in waiting:
        broken = _write_comment(lines, comment, margin, broken)
    if broken:
        lines.append(" " * margin)


def _write_comment(lines: list[str], comment: s.Comment, margin: int, broken: bool) -> bool:
    """Write a comment after the last line, or below it if it was alone or the line is `broken` by another comment.

    Returns True: the next entry begins a new line.
    """
    if comment.alone or broken:
        lines.append(" " * margin + comment.text)
    else:
        lines[-1] += f"  {comment.text}"
    return True
