"""Pages as LaTeX, for papers and notebooks: an array a table, and a line a sentence."""

from __future__ import annotations

import re

from archline.language.diagnostics import ArchlineError
from archline.report.documents.model import Document, Formula, Phrase, Table
from archline.report.latex import RELATIONS, escaped, expression

_MARKS = {"~ ": r"{\sim}\,", "<= ": r"\le ", ">= ": r"\ge "}
_GROWTHS = {"Theta": r"\Theta", "Omega": r"\Omega", "O": "O"}


def render(found: Document) -> str:
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
    return " ".join(formula(each) if isinstance(each, Formula) else rf"\text{{{escaped(each)}}}" for each in found)


def _sentence(found: Phrase) -> str:
    text = "".join(f"${formula(each)}$" if isinstance(each, Formula) else escaped(each) for each in found)
    return rf"\noindent {text}"


def formula(text: str) -> str:
    """A formula, a growth or a relation of two; as text where it is none in the language."""
    for mark, command in _MARKS.items():
        if text.startswith(mark):
            return command + formula(text.removeprefix(mark))
    if (found := re.fullmatch(r"(Theta|Omega|O)\((.*)\)", text)) is not None:
        return rf"{_GROWTHS[found[1]]}\left({formula(found[2])}\right)"
    if (found := re.fullmatch(r"(.+?) (>=|<=|==|!=|<|>) (.+)", text)) is not None:
        return f"{formula(found[1])} {RELATIONS[found[2]]} {formula(found[3])}"
    if (found := re.fullmatch(r"(\S+) ((?:is|divides) .+)", text)) is not None:
        return rf"{formula(found[1])} \text{{ {escaped(found[2])}}}"
    try:
        return expression(text)
    except (ArchlineError, ValueError, KeyError):
        return rf"\text{{{escaped(text)}}}"
