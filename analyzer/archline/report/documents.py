"""Represent a page of a title, tables, and sentences with formulas, and write it as text, HTML, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeAlias

from archline.expr.text import Formula, split_into_pieces
from archline.records import record
from archline.report.latex import escape_text, render_display_text, render_formula
from archline.report.layout import COLUMN_GAP, Columns, Indented, Part, wrap
from archline.report.layout import render_page as text_page


class CodeText(str):
    """A text other than a formula, which formats show as code."""

    __slots__ = ()


NARROW_WIDTH = 90
"""On text pages below this width some columns with long cells are moved below their rows."""
MAX_SHORT_CELL = 7
CONDITION_PREFIX = "where "
"""The word before a condition that is moved below its row, away from the head of its column."""


@record
class Table:
    """A head and rows below it, all with as many cells as the head.

    Plain text shows the head of a `headed` table, aligns the columns `right` on the right, and on a narrow page moves
    the columns `below` that have long cells to lines below their rows.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    headed: bool = True
    right: tuple[int, ...] = ()
    below: tuple[int, ...] = ()


@record
class Section:
    """Tables and sentences under a title, which may be empty; plain text indents them."""

    title: str
    items: tuple[Item, ...]


@record
class Verbatim:
    """Parts of a page that only its plain text shows, not HTML, LaTeX and Markdown."""

    parts: tuple[Part, ...]


Item: TypeAlias = "Table | Section | Verbatim | str"
"""An element of a page."""


@record
class Document:
    """A page in blocks. `place` is the position of its subject's declaration, empty if it has none."""

    title: str
    doc: str
    place: str
    blocks: tuple[Sequence[Item], ...]

    @property
    def items(self) -> Iterator[tuple[int, Table | str]]:
        """The tables that have rows, and the sentences and titles of sections: each with the depth of its section."""
        yield from _flatten_items((item for block in self.blocks for item in block), 0)


def _flatten_items(items: Iterable[Item], depth: int) -> Iterator[tuple[int, Table | str]]:
    for item in items:
        match item:
            case Section():
                if item.title:
                    yield depth, item.title
                yield from _flatten_items(item.items, depth + bool(item.title))
            case Table(rows=rows):
                if rows:
                    yield depth, item
            case str():
                yield from [(depth, item)] * bool(item)
            case Verbatim():
                pass


class WithPage:
    """A result with a page, which notebooks show."""

    @property
    def page(self) -> Document:
        """The page of the result."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html(self.page)

    def _repr_latex_(self) -> str:
        return latex(self.page)


def text(page: Document, width: int) -> str:
    """Return a page as plain text: its title, and below that its blocks, each after an empty line."""
    return text_page(
        width, [_render_text_head(page, width)], *(iterate_text_parts(block, width) for block in page.blocks)
    )


def iterate_text_parts(items: Iterable[Item], width: int) -> Iterator[Part]:
    """Yield tables and sentences as parts of a page of plain text."""
    for item in items:
        match item:
            case Table():
                rows = [item.head] * item.headed + list(item.rows)
                yield Columns(_stack_columns(item) if width < NARROW_WIDTH and item.below else rows, item.right)
            case Section():
                yield from filter(None, [item.title])
                yield Indented(iterate_text_parts(item.items, width))
            case Verbatim():
                yield from item.parts
            case _:
                yield item


def _render_text_head(page: Document, width: int) -> list[str]:
    """Return the title and doc of the subject, with its place at the right of the first line, or on another line."""
    if not page.place:
        return wrap(": ".join(filter(None, (page.title, page.doc))), width)
    title = f"{page.title.ljust(14)}  " if page.doc else page.title
    room = width - COLUMN_GAP - len(page.place)
    below = room < width // 2 or len(title) > width // 2
    first, *rest = wrap(title.replace(" ", "\0") + page.doc, width if below else room)
    first = first.replace("\0", " ")
    return (
        [first, *rest, page.place.rjust(width)]
        if below
        else [f"{first.ljust(room)}{' ' * COLUMN_GAP}{page.place}", *rest]
    )


def _stack_columns(table: Table) -> list[list[str]]:
    """Return the rows with the long-celled columns `below` in separate lines, under the second column."""
    moved = {at: CONDITION_PREFIX * (table.head[at] == "where") for at in table.below}
    moved = {at: before for at, before in moved.items() if any(len(row[at]) > MAX_SHORT_CELL for row in table.rows)}
    result: list[list[str]] = []
    for row in table.rows:
        result.append([cell for at, cell in enumerate(row) if at not in moved])
        result += [["", before + row[at], *[""] * (len(result[-1]) - 2)] for at, before in moved.items() if row[at]]
    return result


def html(page: Document) -> str:
    """Return a page in HTML: its title, and in order each table, and a paragraph for each sentence."""
    place = f" <small><code>{escape(page.place)}</code></small>" if page.place else ""
    head = f"<p><strong>{escape(page.title)}</strong>{' ' * bool(page.doc)}{escape(page.doc)}{place}</p>"
    shown = (
        _render_html_table(item) if isinstance(item, Table) else f"<p>{_render_html_phrase(item)}</p>"
        for _, item in page.items
    )
    return f"<div>{head}{''.join(shown)}</div>"


def _render_html_table(table: Table) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_render_html_phrase(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _render_html_phrase(phrase: str) -> str:
    pieces = split_into_pieces(phrase)
    return "".join(f"<code>{escape(x)}</code>" if isinstance(x, Formula | CodeText) else escape(x) for x in pieces)


def latex(page: Document) -> str:
    """Return a page in LaTeX: the title, then in order each table as a displayed array, each sentence a paragraph."""
    head = " ".join(filter(None, (rf"\textbf{{{escape_text(page.title)}}}", escape_text(page.doc))))
    place = [rf"\texttt{{{escape_text(page.place)}}}"] if page.place else []
    shown = (
        _render_latex_table(item) if isinstance(item, Table) else _render_latex_sentence(item) for _, item in page.items
    )
    return "\n\n".join(["\n".join([head, *place]), *shown]) + "\n"


def _render_latex_table(table: Table) -> str:
    head = [table.head] if any(table.head) else []
    rows = " \\\\\n".join("  " + " & ".join(map(render_display_text, row)).rstrip() for row in (*head, *table.rows))
    return "\n".join([r"\[", rf"\begin{{array}}{{{'l' * len(table.head)}}}", rows, r"\end{array}", r"\]"])


def _render_latex_sentence(sentence: str) -> str:
    pieces = split_into_pieces(sentence)
    text = "".join(
        f"${render_formula(piece)}$" if isinstance(piece, Formula) else escape_text(piece) for piece in pieces
    )
    return rf"\noindent {text}"


_MARKDOWN_SPECIAL = re.compile(r"(^>|[\\`*<\[\]|#]|(?<!\w)_|_(?!\w))")
"""Characters with a meaning in Markdown; an underscore inside a word has none."""


def markdown(page: Document) -> str:
    """Return a page in Markdown: heading, then in order each table, and sentences as bullets.

    The sentences of a section are nested below its title.
    """
    lines = [f"### {escape_markdown(page.title)}", ""]
    about = [escape_markdown(page.doc), f"`{page.place}`" if page.place else ""]
    if any(about):
        lines += [" ".join(filter(None, about)), ""]
    listed: list[int] = []
    for depth, item in page.items:
        if isinstance(item, Table):
            lines += [*[""] * bool(listed), *_iterate_markdown_rows(item), ""]
            listed.clear()
        else:
            listed.append(depth)
            lines.append(f"{'  ' * max(0, depth - listed[0])}- {_render_markdown_phrase(item)}")
    return "\n".join(lines).rstrip() + "\n"


def _iterate_markdown_rows(table: Table) -> Iterator[str]:
    yield format_markdown_row(table.head)
    yield "| " + " | ".join(["---"] * len(table.head)) + " |"
    yield from map(format_markdown_row, table.rows)


def format_markdown_row(row: Iterable[str]) -> str:
    """Return a row of a table in Markdown."""
    return f"| {' | '.join(map(_render_markdown_phrase, row))} |"


def _render_markdown_phrase(phrase: str) -> str:
    # A bar ends a cell of a table, even within code.
    pieces = split_into_pieces(phrase)
    bar = r"\|"
    return "".join(
        f"`{x.replace('|', bar)}`" if isinstance(x, Formula | CodeText) else escape_markdown(x) for x in pieces
    )


def escape_markdown(text: str) -> str:
    """Return plain text on one line, with the characters that Markdown interprets escaped."""
    return _MARKDOWN_SPECIAL.sub(r"\\\1", re.sub(r"\s+", " ", text))
