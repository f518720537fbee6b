"""Analyses of open documents hold each text with its findings, loaded with the unsaved texts of the files it uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from lsprotocol import types as t
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec

from archline.api.modules import loads
from archline.expr.tree import Span, make_structural_key
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.incremental import LoadCache, use_load_cache
from archline.language.model import Module
from archline.language.source import record_reads
from archline.records import record

_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADER = re.compile(r"\s*(?:algorithm|def|function|procedure)\s+(\w+)")


@record(eq=False)
class Analysis:
    """The text of a document at a version, its findings, and the module, None if the text has errors.

    `latest` is the last module of the document without errors, `reads` are the files that the analysis depends on, and
    `codec` converts columns to those of the client.
    """

    uri: str
    path: str
    text: str
    version: int
    overlay: Mapping[str | Path, str]
    codec: PositionCodec
    diagnostics: tuple[Diagnostic, ...]
    module: Module | None
    latest: Module | None
    reads: frozenset[Path]

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends, as spans count them."""
        return _LINE_END.split(self.text)

    @property
    def algorithms(self) -> list[s.Algorithm]:
        """The algorithms that the document defines; none while it has errors."""
        return [] if self.module is None else list(self.module.algorithms.values())

    def find_algorithm(self, line: int) -> s.Algorithm | None:
        """Return the algorithm around a line, from 1; while the text has errors, as it was without them."""
        before = [node for node in self.algorithms if node.span.line <= line]
        if before:
            return max(before, key=lambda node: node.span.line)
        headers = (_HEADER.match(text) for text in reversed(self.lines[:line]))
        name = next((header[1] for header in headers if header), "")
        return None if self.latest is None else self.latest.find_algorithm(name)

    def read_word(self, position: t.Position) -> tuple[int, str, str]:
        """Return the line of a position, from 1, its text up to there, and the name there or an empty text."""
        place = self.codec.position_from_client_units(self.lines, position)
        words = re.finditer(r"[A-Za-z_]\w*", self.lines[place.line])
        word = next((word[0] for word in words if word.start() <= place.character <= word.end()), "")
        return place.line + 1, self.lines[place.line][: place.character], word

    def locate_span(self, span: Span) -> t.Location:
        """Return the place of a span, perhaps in another file."""
        lines, uri = span.source.written_lines, from_fs_path(str(Path(span.source.path).absolute())) or ""
        ends = t.Position(span.line - 1, span.column - 1), t.Position(span.end_line - 1, span.end_column - 1)
        place = self.codec.range_to_client_units(lines, t.Range(*ends))
        return t.Location(self.uri if span.source.path == self.path else uri, place)

    @cached_property
    def keys(self) -> dict[str, int]:
        """Keys by algorithm of all that its costs and their places in its lines depend on."""
        return {node.name: self._make_key(node) for node in self.algorithms}

    def _make_key(self, node: s.Algorithm) -> int:
        assert self.module is not None
        parts = (node, *find_reachable(self.module, node), *self.module.externs.values())
        lines = node.span.source.lines[node.span.line - 1 : node.span.end_line]
        return hash((tuple(lines), tuple(make_structural_key(part) for part in parts)))


class Documents:
    """The open documents by URI, with an analysis of each that is made when it is needed."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, str, int, PositionCodec]] = {}
        self._analyses: dict[str, Analysis] = {}
        self._latest: dict[str, Module] = {}
        self.cache = LoadCache()

    def set_text(self, uri: str, path: str, text: str, version: int, codec: PositionCodec) -> list[str]:
        """Set the text of a document, and return the open documents whose findings may change: it and its users."""
        self._texts[uri] = path, text, version, codec
        return [uri, *self._drop_analyses(uri, path)]

    def remove_text(self, uri: str) -> list[str]:
        """Remove a closed document, and return the open documents whose findings may change."""
        self._latest.pop(uri, None)
        return self._drop_analyses(uri, self._texts.pop(uri)[0])

    def _drop_analyses(self, uri: str, path: str) -> list[str]:
        """Drop the analysis of a document, and of the documents that depend on its file, which are returned."""
        self._analyses.pop(uri, None)
        changed = Path(path).absolute()
        affected = [user for user, analysis in self._analyses.items() if changed in analysis.reads]
        for user in affected:
            del self._analyses[user]
        return affected

    def find_analysis(self, uri: str) -> Analysis | None:
        """Return the analysis of an open document; None if it is not open."""
        if uri not in self._analyses and uri in self._texts:
            self._analyses[uri] = self._analyse_text(uri)
        return self._analyses.get(uri)

    def _analyse_text(self, uri: str) -> Analysis:
        path, text, version, codec = self._texts[uri]
        overlay: dict[str | Path, str] = {entry[0]: entry[1] for user, entry in self._texts.items() if user != uri}
        diagnostics: tuple[Diagnostic, ...] = ()
        module = None
        with use_load_cache(self.cache), record_reads() as reads:
            try:
                module = self._latest[uri] = loads(text, path=path, overlay=overlay).module
            except ArchlineError as problem:
                diagnostics = problem.diagnostics
        read = frozenset(file.absolute() for file in reads)
        return Analysis(uri, path, text, version, overlay, codec, diagnostics, module, self._latest.get(uri), read)
