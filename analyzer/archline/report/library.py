"""Render lists of algorithms as text and JSON."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from archline.expr.text import Formula, join_phrases, join_with_mark
from archline.language.format_statements import format_parameter
from archline.records import record
from archline.report.documents import Document, Table
from archline.report.json import pick
from archline.report.layout import indent_lines, wrap
from archline.report.view import format_contract, format_location

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from archline.language import model
    from archline.language import syntax as s

VERSION = 1
_NEXT_SENTENCE = re.compile(r"(?<=[^.]\.)\s+(?=[A-Z])")


@record
class LibraryEntry:
    """The header of an algorithm, and the module or file that it is in."""

    module: str
    algorithm: s.Algorithm

    @property
    def name(self) -> str:
        """The algorithm's name in the module."""
        return self.algorithm.name

    @property
    def target(self) -> str:
        """The name of the algorithm for commands: `dense.gemv::gemv`, `path.algo::name`."""
        return f"{self.module}::{self.name}"

    @property
    def parameters(self) -> list[str]:
        """The algorithm's parameters as they are declared."""
        return [format_parameter(parameter) for parameter in self.algorithm.parameters]

    @property
    def result(self) -> str | None:
        """The type of the number that the algorithm returns; None if it returns none."""
        return self.algorithm.result

    @property
    def summary(self) -> str:
        """The first sentence of the algorithm's docstring."""
        return _NEXT_SENTENCE.split(self.algorithm.doc or "")[0]


def render_listing(entries: Sequence[LibraryEntry], width: int) -> str:
    """Return a block for each module: each algorithm with its parameters, and below them its summary."""
    blocks = [
        [module, *(line for entry in group for line in _iterate_entry_lines(entry, width))]
        for module, group in groupby(entries, key=lambda entry: entry.module)
    ]
    return "\n".join("".join(f"{line}\n" for line in block) for block in blocks or [["no algorithms"]])


def _iterate_entry_lines(entry: LibraryEntry, width: int) -> Iterator[str]:
    """Yield `  name(parameters) -> result`, broken between parameters, and the summary."""
    end = ")" if entry.result is None else f") -> {entry.result}"
    line = f"  {entry.name}("
    margin = " " * min(len(line), width // 2)
    last = len(entry.parameters) - 1
    for index, parameter in enumerate(entry.parameters):
        piece = f"{parameter}{',' if index < last else end}"
        if index and len(line) + 1 + len(piece) > width:
            yield line
            line = margin + piece
        else:
            line += f"{' ' * bool(index)}{piece}"
    yield line if entry.parameters else f"{line}{end}"
    yield from indent_lines(wrap(entry.summary, width - 6, "") if entry.summary else [], 6)


def make_json_document(entries: Sequence[LibraryEntry]) -> dict[str, Any]:
    """Return the JSON document of `archline list`."""
    keys = "target", "module", "name", "parameters", "result", "summary", "doc=algorithm.doc"
    return {"version": VERSION, "algorithms": [pick(entry, *keys) for entry in entries]}


def make_declaration_page(algorithm: s.Algorithm, signature: model.Signature) -> Document:
    """Return the page of an algorithm's header: its parameters, sizes, facts and `ensures`."""
    rows = tuple(_split_parameter(parameter) for parameter in algorithm.parameters)
    sentences: list[str] = []
    if signature.size_names:
        sentences.append(f"sizes: {', '.join(signature.size_names)}")
    if algorithm.where:
        sentences.append(join_phrases("where ", join_with_mark(map(Formula, algorithm.where), ", ")))
    sentences += [join_phrases("ensures ", format_contract(claim)) for claim in algorithm.ensures]
    place = format_location(f"{algorithm.name_span.source.path}:{algorithm.name_span.line}")
    return Document(algorithm.name, algorithm.doc or "", place, ((Table(("parameter", "type"), rows), *sentences),))


def _split_parameter(parameter: s.Parameter) -> tuple[str, str]:
    name, _, kind = format_parameter(parameter).partition(": ")
    return name, kind
