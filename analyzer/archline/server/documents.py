"""Open documents are analysed here: each text is loaded with the unsaved texts of the files that it uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

from archline.api.modules import loads
from archline.expr.tree import Source, make_structural_key
from archline.language import syntax as s
from archline.language.call_graph import find_reachable
from archline.language.diagnostics import ArchlineError, Diagnostic
from archline.language.model import Module
from archline.language.source import record_reads
from archline.records import record

_LINE_END = re.compile(r"\r\n|\r|\n")
_HEADER = re.compile(r"\s*(?:algorithm|def|function|procedure)\s+(\w+)")


@record(eq=False)
class Analysis:
    """The text of a document at a version, its findings, and the module, None if the text has errors.

    `latest` is the last module of the document without errors. `reads` are the files that the analysis depends on.
    """

    path: str
    text: str
    version: int
    overlay: Mapping[str | Path, str]
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

    @property
    def source(self) -> Source | None:
        """The source of the module or of a finding in this document; None if there is neither."""
        spans = (diagnostic.span for diagnostic in self.diagnostics if diagnostic.span is not None)
        sources = (span.source for span in spans if span.source.path == self.path)
        return next(sources, None) if self.module is None else self.module.program.source

    def find_algorithm(self, line: int) -> s.Algorithm | None:
        """Return the algorithm around a line, from 1; while the text has errors, as it was without them."""
        if self.module is not None:
            nodes = self.module.program.algorithms
            return next(
                (
                    node
                    for node in nodes
                    if node.span.line <= line <= max(node.span.end_line, line)
                    and not any(node.span.line < other.span.line <= line for other in nodes)
                ),
                None,
            )
        headers = (_HEADER.match(text) for text in reversed(self.lines[:line]))
        name = next((header[1] for header in headers if header), "")
        return None if self.latest is None else self.latest.find_algorithm(name)


def make_algorithm_key(module: Module, node: s.Algorithm) -> int:
    """Return a key of all that the costs of an algorithm depend on, and of where its statements are in its lines."""
    reachable = [node, *find_reachable(module, node)]
    lines = node.span.source.lines[node.span.line - 1 : node.span.end_line]
    parts = (*reachable, *module.externs.values())
    return hash((tuple(lines), tuple(make_structural_key(part) for part in parts)))


class Documents:
    """The open documents by URI, with an analysis of each that is made when it is needed."""

    def __init__(self) -> None:
        self._texts: dict[str, tuple[str, str, int]] = {}
        self._analyses: dict[str, Analysis] = {}
        self._latest: dict[str, Module] = {}

    def set_text(self, uri: str, path: str, text: str, version: int) -> list[str]:
        """Set the text of a document, and return the open documents whose findings may change: it and its users."""
        self._texts[uri] = path, text, version
        return self._list_affected(uri, path)

    def remove_text(self, uri: str) -> list[str]:
        """Forget a closed document, and return the open documents whose findings may change."""
        path = self._texts.pop(uri)[0]
        affected = self._list_affected(uri, path)
        self._latest.pop(uri, None)
        return [user for user in affected if user != uri]

    def _list_affected(self, uri: str, path: str) -> list[str]:
        changed = Path(path).absolute()
        affected = [user for user, analysis in self._analyses.items() if user == uri or changed in analysis.reads]
        for user in affected:
            del self._analyses[user]
        return list(dict.fromkeys((uri, *affected)))

    def analyse(self, uri: str) -> Analysis | None:
        """Return the analysis of an open document; None if it is not open."""
        if uri not in self._analyses and uri in self._texts:
            self._analyses[uri] = self._analyse_text(uri)
        return self._analyses.get(uri)

    def _analyse_text(self, uri: str) -> Analysis:
        path, text, version = self._texts[uri]
        overlay: dict[str | Path, str] = {
            other: content for user, (other, content, _) in self._texts.items() if user != uri
        }
        diagnostics: tuple[Diagnostic, ...] = ()
        module = None
        with record_reads() as reads:
            try:
                module = self._latest[uri] = loads(text, path=path, overlay=overlay).module
            except ArchlineError as problem:
                diagnostics = problem.diagnostics
        latest, read = self._latest.get(uri), frozenset(file.absolute() for file in reads)
        return Analysis(path, text, version, MappingProxyType(overlay), diagnostics, module, latest, read)
