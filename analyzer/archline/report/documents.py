"""A page: a title, tables, and sentences in which formulas are marked; written as text, HTML, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeAlias

from archline.expr.text import Formula, pieces_of
from archline.records import record
from archline.report.latex import display_text, escape_text, formula
from archline.report.layout import GAP, Columns, Indented, Part, wrap
from archline.report.layout import page as text_page


class CodeText(str):
    """A text that is no formula, which formats show as code."""

    __slots__ = ()


NARROW_WIDTH = 90
"""On text pages below this width some columns with long cells stand below their rows."""
SHORT_CELL = 7
CONDITION = "where "
"""What stands before a condition below its row, where no column says that it is one."""


@record
class Table:
    """Columns below a head; all have as many cells as the head.

    Plain text shows the head of those that are `headed`; there columns of `right` are aligned right, and on a narrow
    page those of the columns `below` that have long cells stand in lines of their own.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    headed: bool = True
    right: tuple[int, ...] = ()
    below: tuple[int, ...] = ()


@record
class Section:
    """Tables and sentences under a title, which may be empty; plain text moves them right."""

    title: str
    items: tuple[Item, ...]


@record
class Verbatim:
    """What only plain text shows."""

    parts: tuple[Part, ...]


Item: TypeAlias = "Table | Section | Verbatim | str"
"""What a page consists of."""


@record
class Document:
    """A page in blocks. `place` is where its subject is declared, empty for one without a place."""

    title: str
    doc: str
    place: str
    blocks: tuple[Sequence[Item], ...]

    @property
    def items(self) -> Iterator[tuple[int, Table | str]]:
        """The tables that have rows, and the sentences and titles of sections: each with the depth of its section."""
        yield from _items((item for block in self.blocks for item in block), 0)


def _items(items: Iterable[Item], depth: int) -> Iterator[tuple[int, Table | str]]:
    for each in items:
        match each:
            case Section():
                if each.title:
                    yield depth, each.title
                yield from _items(each.items, depth + bool(each.title))
            case Table(rows=rows):
                if rows:
                    yield depth, each
            case str():
                yield from [(depth, each)] * bool(each)
            case Verbatim():
                pass


class WithPage:
    """A result that has a page, which notebooks show."""

    @property
    def page(self) -> Document:
        """What is shown."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html(self.page)

    def _repr_latex_(self) -> str:
        return latex(self.page)


def text(found: Document, width: int) -> str:
    """The title, and below it the blocks, each behind an empty line."""
    return text_page(width, [_text_head(found, width)], *(parts(each, width) for each in found.blocks))


def parts(items: Iterable[Item], width: int) -> Iterator[Part]:
    """Tables and sentences as parts of a page of plain text."""
    for each in items:
        match each:
            case Table():
                rows = [each.head] * each.headed + list(each.rows)
                yield Columns(_stacked(each) if width < NARROW_WIDTH and each.below else rows, each.right)
            case Section():
                yield from filter(None, [each.title])
                yield Indented(parts(each.items, width))
            case Verbatim():
                yield from each.parts
            case _:
                yield each


def _text_head(found: Document, width: int) -> list[str]:
    """The title and what the subject does, and at the right where it is, on the first line or on one of its own."""
    if not found.place:
        return wrap(": ".join(filter(None, (found.title, found.doc))), width)
    title = f"{found.title.ljust(14)}  " if found.doc else found.title
    room = width - GAP - len(found.place)
    own = room < width // 2 or len(title) > width // 2
    first, *rest = wrap(title.replace(" ", "\0") + found.doc, width if own else room)
    first = first.replace("\0", " ")
    return [first, *rest, found.place.rjust(width)] if own else [f"{first.ljust(room)}{' ' * GAP}{found.place}", *rest]


def _stacked(table: Table) -> list[list[str]]:
    """The rows with the columns `below` that have long cells in lines of their own, under the second column."""
    moved = {at: CONDITION * (table.head[at] == "where") for at in table.below}
    moved = {at: before for at, before in moved.items() if any(len(row[at]) > SHORT_CELL for row in table.rows)}
    found: list[list[str]] = []
    for row in table.rows:
        found.append([cell for at, cell in enumerate(row) if at not in moved])
        found += [["", before + row[at], *[""] * (len(found[-1]) - 2)] for at, before in moved.items() if row[at]]
    return found


def html(found: Document) -> str:
    """The title, and in order the tables and a paragraph a sentence."""
    place = f" <small><code>{escape(found.place)}</code></small>" if found.place else ""
    head = f"<p><strong>{escape(found.title)}</strong>{' ' * bool(found.doc)}{escape(found.doc)}{place}</p>"
    shown = (_html_table(x) if isinstance(x, Table) else f"<p>{_html_phrase(x)}</p>" for _, x in found.items)
    return f"<div>{head}{''.join(shown)}</div>"


def _html_table(found: Table) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in found.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_html_phrase(cell)}</td>' for cell in row)}</tr>" for row in found.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _html_phrase(found: str) -> str:
    pieces = pieces_of(found)
    return "".join(f"<code>{escape(x)}</code>" if isinstance(x, Formula | CodeText) else escape(x) for x in pieces)


def latex(found: Document) -> str:
    """The title, and in order the arrays as displays and a paragraph a sentence."""
    head = " ".join(filter(None, (rf"\textbf{{{escape_text(found.title)}}}", escape_text(found.doc))))
    place = [rf"\texttt{{{escape_text(found.place)}}}"] if found.place else []
    shown = (_array(each) if isinstance(each, Table) else _sentence(each) for _, each in found.items)
    return "\n\n".join(["\n".join([head, *place]), *shown]) + "\n"


def _array(found: Table) -> str:
    head = [found.head] if any(found.head) else []
    rows = " \\\\\n".join("  " + " & ".join(map(display_text, row)).rstrip() for row in (*head, *found.rows))
    return "\n".join([r"\[", rf"\begin{{array}}{{{'l' * len(found.head)}}}", rows, r"\end{array}", r"\]"])


def _sentence(found: str) -> str:
    pieces = pieces_of(found)
    text = "".join(f"${formula(each)}$" if isinstance(each, Formula) else escape_text(each) for each in pieces)
    return rf"\noindent {text}"


_MARKDOWN_SPECIAL = re.compile(r"(^>|[\\`*<\[\]|#]|(?<!\w)_|_(?!\w))")
"""What Markdown gives a meaning; an underscore inside a word has none."""


def markdown(found: Document) -> str:
    """A heading, and in order the tables and lists of sentences, those of sections within their titles."""
    lines = [f"### {plain_text(found.title)}", ""]
    about = [plain_text(found.doc), f"`{found.place}`" if found.place else ""]
    if any(about):
        lines += [" ".join(filter(None, about)), ""]
    listed: list[int] = []
    for depth, each in found.items:
        if isinstance(each, Table):
            lines += [*[""] * bool(listed), *_pipes(each), ""]
            listed.clear()
        else:
            listed.append(depth)
            lines.append(f"{'  ' * max(0, depth - listed[0])}- {_marked(each)}")
    return "\n".join(lines).rstrip() + "\n"


def _pipes(found: Table) -> Iterator[str]:
    yield pipes_row(found.head)
    yield "| " + " | ".join(["---"] * len(found.head)) + " |"
    yield from map(pipes_row, found.rows)


def pipes_row(row: Iterable[str]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(_marked, row))} |"


def _marked(found: str) -> str:
    # In a table a bar ends a cell, in code too.
    pieces = pieces_of(found)
    bar = r"\|"
    return "".join(f"`{x.replace('|', bar)}`" if isinstance(x, Formula | CodeText) else plain_text(x) for x in pieces)


def plain_text(text: str) -> str:
    """Plain text on a line, without a meaning to Markdown."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))
