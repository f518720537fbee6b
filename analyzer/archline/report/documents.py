"""A page: a title, tables, and sentences in which formulas are marked; written as text, HTML, LaTeX and Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeAlias

from archline.growth.short_forms import CUT
from archline.language.diagnostics import ArchlineError
from archline.records import record
from archline.report.latex import RELATIONS, escaped, expression
from archline.report.layout import GAP, Columns, Inside, Part, wrap
from archline.report.layout import page as text_page


class FormulaText(str):
    """A formula in the language's syntax, a growth or a relation, which each format typesets."""

    __slots__ = ()


Phrase: TypeAlias = tuple[str, ...]
"""A sentence or a cell, in pieces: text as it is, and formulas."""
_GROWTH = re.compile(r"\b(?:Theta|Omega|O)\(")
_RELATION = re.compile(r".+ (?:>=|<=|==|!=|<|>|is|divides) .+")


NARROW = 90
"""On text pages below this width some columns with long cells stand below their rows."""
SHORT_CELL = 7


@record
class Table:
    """Columns below a head; all have as many cells as the head.

    Plain text shows the head of those that are `headed`; there columns of `right` are aligned right, and on a narrow
    page those of the columns `below` that have long cells stand in lines of their own.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[Phrase, ...], ...]
    headed: bool = True
    right: tuple[int, ...] = ()
    below: tuple[int, ...] = ()


@record
class Section:
    """Tables and sentences under a title, which may be empty; plain text moves them right."""

    title: Phrase
    items: tuple[Item, ...]


@record
class Verbatim:
    """What only plain text shows."""

    parts: tuple[Part, ...]


Item: TypeAlias = "Table | Section | Verbatim | Phrase"
"""What a page consists of."""


@record
class Document:
    """A page in blocks. `place` is where its subject is declared, empty for one without a place."""

    title: str
    doc: str
    place: str
    blocks: tuple[Sequence[Item], ...]

    @property
    def tables(self) -> list[Table]:
        """The tables that have rows."""
        return [each for each in _flat(self.blocks) if isinstance(each, Table) and each.rows]

    @property
    def sentences(self) -> list[Phrase]:
        """The sentences and the titles of sections."""
        return [each for each in _flat(self.blocks) if not isinstance(each, Table) and each]


def _flat(blocks: Iterable[Sequence[Item]]) -> Iterator[Table | Phrase]:
    for each in (item for block in blocks for item in block):
        if isinstance(each, Section):
            yield each.title
            yield from _flat([each.items])
        elif not isinstance(each, Verbatim):
            yield each


def sentences(*texts: str) -> tuple[Phrase, ...]:
    """Sentences without formulas; empty ones are left out."""
    return tuple((each,) for each in texts if each)


def plain(phrase: Phrase) -> str:
    """The sentence as plain text."""
    return "".join(phrase)


def cells(*texts: str) -> tuple[Phrase, ...]:
    """A row of texts and formulas."""
    return tuple((each,) if each else () for each in texts)


def with_growths(text: str) -> Phrase:
    """A sentence with its `Theta(...)`, `O(...)` and `Omega(...)` marked as formulas."""
    return tuple(_pieces(text))


def growth_phrase(text: str) -> Phrase:
    """A growth, marked as a formula unless it is cut or unknown."""
    return (text,) if "(" not in text or text.startswith("unknown") or text.endswith(CUT) else with_growths(text)


def _pieces(text: str) -> Iterator[str]:
    while (found := _GROWTH.search(text)) is not None:
        end = _closing(text, found.end())
        yield from filter(None, (text[: found.start()], FormulaText(text[found.start() : end])))
        text = text[end:]
    if text:
        yield text


def _closing(text: str, start: int) -> int:
    """Behind the bracket that closes the one before `start`."""
    depth = 1
    for index in range(start, len(text)):
        depth += (text[index] in "([") - (text[index] in ")]")
        if not depth:
            return index + 1
    return len(text)


def conditions(text: str) -> Phrase:
    """`n >= 2 and m >= 1` with each relation marked as a formula."""
    return joined([FormulaText(each) if _RELATION.fullmatch(each) else each for each in text.split(" and ")], " and ")


def joined(parts: Sequence[str], mark: str) -> Phrase:
    """The parts with a mark between them."""
    return tuple(piece for each in parts for piece in (mark, each))[1:]


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
                rows = [list(each.head)] * each.headed + [list(map(plain, row)) for row in each.rows]
                yield Columns(_stacked(rows, each.below) if width < NARROW and each.below else rows, each.right)
            case Section():
                yield from filter(None, [plain(each.title)])
                yield Inside(parts(each.items, width))
            case Verbatim():
                yield from each.parts
            case _:
                yield plain(each)


def _text_head(found: Document, width: int) -> list[str]:
    """The title and what the subject does, and at the right where it is, on the first line or on one of its own."""
    if not found.place:
        return wrap(found.title, width)
    title = f"{found.title.ljust(14)}  " if found.doc else found.title
    room = width - GAP - len(found.place)
    own = room < width // 2 or len(title) > width // 2
    first, *rest = wrap(title.replace(" ", "\0") + found.doc, width if own else room)
    first = first.replace("\0", " ")
    return [first, *rest, found.place.rjust(width)] if own else [f"{first.ljust(room)}{' ' * GAP}{found.place}", *rest]


def _stacked(rows: Sequence[list[str]], below: Sequence[int]) -> list[list[str]]:
    """The rows with the columns `below` that have long cells in lines of their own, under the second column."""
    moved = [at for at in below if any(len(row[at]) > SHORT_CELL for row in rows)]
    found: list[list[str]] = []
    for row in rows:
        found.append([cell for at, cell in enumerate(row) if at not in moved])
        found += [["", row[at], *[""] * (len(found[-1]) - 2)] for at in moved if row[at]]
    return found


def html(found: Document) -> str:
    """The title, the tables, and a paragraph a sentence."""
    place = f" <small><code>{escape(found.place)}</code></small>" if found.place else ""
    head = f"<p><strong>{escape(found.title)}</strong>{' ' * bool(found.doc)}{escape(found.doc)}{place}</p>"
    below = "".join(f"<p>{_html_phrase(each)}</p>" for each in found.sentences)
    return f"<div>{head}{''.join(map(_html_table, found.tables))}{below}</div>"


def _html_table(found: Table) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in found.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_html_phrase(cell)}</td>' for cell in row)}</tr>" for row in found.rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _html_phrase(found: Phrase) -> str:
    return "".join(f"<code>{escape(each)}</code>" if isinstance(each, FormulaText) else escape(each) for each in found)


_MARKS = {"~ ": r"{\sim}\,", "= ": "= ", "<= ": r"\le ", ">= ": r"\ge "}
_GROWTHS = {"Theta": r"\Theta", "Omega": r"\Omega", "O": "O"}


def latex(found: Document) -> str:
    """The title, the arrays as displays, and the sentences below them."""
    head = " ".join(filter(None, (rf"\textbf{{{escaped(found.title)}}}", escaped(found.doc))))
    place = [rf"\texttt{{{escaped(found.place)}}}"] if found.place else []
    lines = ["\n".join([head, *place]), *map(_array, found.tables), *map(_sentence, found.sentences)]
    return "\n\n".join(lines) + "\n"


def _array(found: Table) -> str:
    head = [tuple((each,) for each in found.head)] if any(found.head) else []
    rows = " \\\\\n".join("  " + " & ".join(map(_cell, row)).rstrip() for row in (*head, *found.rows))
    return "\n".join([r"\[", rf"\begin{{array}}{{{'l' * len(found.head)}}}", rows, r"\end{array}", r"\]"])


def _cell(found: Phrase) -> str:
    return " ".join(formula(each) if isinstance(each, FormulaText) else rf"\text{{{escaped(each)}}}" for each in found)


def _sentence(found: Phrase) -> str:
    text = "".join(f"${formula(each)}$" if isinstance(each, FormulaText) else escaped(each) for each in found)
    return rf"\noindent {text}"


def formula(text: str) -> str:
    """A formula, a growth or a relation of two; as text where it is none in the language."""
    for mark, command in _MARKS.items():
        if text.startswith(mark):
            return command + formula(text.removeprefix(mark))
    if (found := re.fullmatch(r"(Theta|Omega|O)\((.*)\)", text)) is not None:
        return rf"{_GROWTHS[found[1]]}\left({formula(found[2])}\right)"
    if (found := re.fullmatch(r"(.+?) (>=|<=|==|!=|=|<|>) (.+)", text)) is not None:
        return f"{formula(found[1])} {RELATIONS[found[2]]} {formula(found[3])}"
    if (found := re.fullmatch(r"(\S+) ((?:is|divides) .+)", text)) is not None:
        return rf"{formula(found[1])} \text{{ {escaped(found[2])}}}"
    try:
        return expression(text)
    except (ArchlineError, ValueError, KeyError):
        return rf"\text{{{escaped(text)}}}"


_MEANT = re.compile(r"(^>|[\\`*<\[\]|#]|(?<!\w)_|_(?!\w))")
"""What Markdown gives a meaning; an underscore inside a word has none."""


def markdown(found: Document) -> str:
    """A heading, the tables, and the sentences as a list."""
    lines = [f"### {plain_text(found.title)}", ""]
    about = [plain_text(found.doc), f"`{found.place}`" if found.place else ""]
    if any(about):
        lines += [" ".join(filter(None, about)), ""]
    for table in found.tables:
        lines += [*_pipes(table), ""]
    lines += [f"- {_marked(each)}" for each in found.sentences]
    return "\n".join(lines).rstrip() + "\n"


def _pipes(found: Table) -> Iterator[str]:
    yield pipes_row(cells(*found.head))
    yield "| " + " | ".join(["---"] * len(found.head)) + " |"
    yield from map(pipes_row, found.rows)


def pipes_row(row: Iterable[Phrase]) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(map(_marked, row))} |"


def _marked(found: Phrase) -> str:
    # In a table a bar ends a cell, in code too.
    return "".join(
        f"`{each.replace('|', chr(92) + '|')}`" if isinstance(each, FormulaText) else plain_text(each) for each in found
    )


def plain_text(text: str) -> str:
    """Plain text on a line, without a meaning to Markdown."""
    return _MEANT.sub(r"\\\1", re.sub(r"\s+", " ", text))
