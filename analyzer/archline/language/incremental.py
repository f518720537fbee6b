"""Loads with a cache reuse the results of earlier loads: modules of files, and algorithms with what checks derived.

The results of an algorithm depend on its text, those of the algorithms that it mentions, directly or not, those of all
other definitions of the file, and the modules that the file uses. Results are a graph of nodes that refer to each other
by identity, and each load needs nodes with spans of its own. So the graph is pickled: it is read with spans where the
items are now, and with the algorithms of the present load as callees.
"""

from __future__ import annotations

import io
import pickle
import re
from bisect import bisect_right
from collections import Counter, OrderedDict
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from archline.expr.text import format_fact
from archline.expr.tree import Node, Source, Span
from archline.language import surface
from archline.language import syntax as s
from archline.language.call_graph import traverse_reachable
from archline.language.collective_calls import COLLECTIVES
from archline.language.model import Module, Signature
from archline.language.rearranging import mask_strings_and_comment
from archline.language.source import Read
from archline.records import record, replace

MAX_ALGORITHMS, MAX_MODULES = 512, 32
"""The numbers of algorithms and of modules in a cache: those of a few files, in their latest states."""
HEADER = re.compile(r"^algorithm +([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)
LoadedModule = tuple[Module, Read]
"""A module, and the texts of the files that it depends on."""


class LoadCache:
    """The results of loads: those of algorithms by their keys, and modules, with those they use, by their paths."""

    def __init__(self) -> None:
        self.algorithms: OrderedDict[object, _PickledResult] = OrderedDict()
        self.modules: OrderedDict[tuple[str, Path], Mapping[Path, LoadedModule]] = OrderedDict()

    def drop_oldest(self) -> None:
        """Drop the results that were used least recently, beyond the numbers that are cached."""
        for results, size in ((self.algorithms, MAX_ALGORITHMS), (self.modules, MAX_MODULES)):
            while len(results) > size:
                results.popitem(last=False)


_load_cache: ContextVar[LoadCache | None] = ContextVar("load cache", default=None)


@contextmanager
def use_load_cache(cache: LoadCache) -> Iterator[None]:
    """Let loads in the enclosed code reuse the results in a cache, and add theirs."""
    token = _load_cache.set(cache)
    try:
        yield
    finally:
        _load_cache.reset(token)
        cache.drop_oldest()


def get_load_cache() -> LoadCache | None:
    """Return the cache of the enclosing `use_load_cache`; None if there is none."""
    return _load_cache.get()


@record(eq=False)
class CheckedAlgorithm:
    """The results of an algorithm without mistakes: its elaborated tree, its header before outputs are lowered, facts.

    They depend on the `surroundings` in addition to the key. If the whole file had no mistake, they are `settled`, and
    nothing is left to check. The `efforts` are those of the samples of both checks.
    """

    algorithm: s.Algorithm
    header: tuple[s.Parameter, ...]
    facts: Any
    signature: Signature
    surroundings: object
    efforts: tuple[int, int]
    settled: bool


@record(eq=False)
class _PickledResult:
    """A pickled result, and the objects of other files that it refers to by number."""

    pickled: bytes
    references: tuple[object, ...]


@record(eq=False)
class _Place:
    """The key of an algorithm, and the first and last lines of the items that the nodes of its results are from."""

    key: tuple[object, ...]
    lines: tuple[int, ...]
    ends: tuple[int, ...]


class _SharedNodeError(Exception):
    """A node of a result has facts or a place that belong to other results: a copy would not be the same node."""


def _place_span(
    source: Source,
    lines: tuple[int, ...],
    item: int,
    line: int,
    column: int,
    end_line: int,
    end_column: int,
    header: Any,
) -> Span:
    """Return the span that begins in a line of an item, where the items begin at `lines` of a source now."""
    first = lines[item]
    return Span(source, first + line, column, first + end_line, end_column, header)


class _Pickler(pickle.Pickler):
    """Pickles a result; `types` has the types of all nodes of the program and of the files that it uses."""

    def __init__(
        self, stream: io.BytesIO, result: CheckedAlgorithm, source: Source, place: _Place, types: Container[object]
    ) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._result, self._source, self._place, self._types = result, source, place, types
        self.references: dict[object, int] = {}

    def persistent_id(self, part: object) -> object:
        match part:
            case s.Algorithm() | s.Extern() if part is not self._result.algorithm and part.span.source is self._source:
                return part.name
            case Source() if part is self._source:
                return -1
            case s.Algorithm() | s.Extern() | Source() | Module() if part is not self._result.algorithm:
                return self.references.setdefault(part, len(self.references))
            case Node() if part in self._types and part not in self._result.facts.types:
                raise _SharedNodeError
            case _:
                return None

    def reducer_override(self, part: object) -> Any:
        if not isinstance(part, Span) or part.source is not self._source:
            return NotImplemented
        item = self._find_item(part)
        first = self._place.lines[item]
        ends = part.line - first, part.column, part.end_line - first, part.end_column
        return _place_span, (item, *ends, part.header)

    def _find_item(self, span: Span) -> int:
        """Return the number of the item that a span is in."""
        number = bisect_right(self._place.lines, span.line) - 1
        if number < 0 or span.end_line > self._place.ends[number]:
            raise _SharedNodeError
        return number


class _Unpickler(pickle.Unpickler):
    """Reads a result: first the algorithm, then facts, when the other `definitions` of the file have been read."""

    def __init__(self, result: _PickledResult, source: Source, lines: tuple[int, ...]) -> None:
        super().__init__(io.BytesIO(result.pickled))
        self._references, self._source, self._lines = result.references, source, lines
        self.definitions: Mapping[str, object] = {}
        self.algorithm, self.header = self.load()

    def read_result(self, definitions: Mapping[str, object]) -> CheckedAlgorithm:
        self.definitions = definitions
        return CheckedAlgorithm(self.algorithm, self.header, *self.load())

    def persistent_load(self, pid: Any) -> object:
        if isinstance(pid, str):
            return self.definitions[pid]
        return self._source if pid < 0 else self._references[pid]

    def find_class(self, module: str, name: str) -> Any:
        # A function that refers to this object would be a cycle, which keeps all nodes until it is collected.
        function = super().find_class(module, name)
        return partial(_place_span, self._source, self._lines) if function is _place_span else function


class CachedAlgorithms:
    """The algorithms of a file that is loaded, each with the key of its results.

    They are identified by the lines of their headers, as elaboration and checks replace their nodes. Facts that
    recursion adds to headers, for a further check of all algorithms, are part of the keys.
    """

    def __init__(self, cache: LoadCache, program: s.Program, modules: tuple[Module | None, ...]) -> None:
        self._cache, self._source = cache, program.source
        self._reused: dict[s.Algorithm, _Unpickler] = {}
        self._places: dict[int, _Place] = {}
        self._added: dict[int, tuple[str, ...]] = {}
        definitions = [item for item in program.items if not isinstance(item, s.Algorithm | s.Claim | s.Use)]
        if program.texts.keys() >= {*definitions}:
            self._find_places(program, [item.span.line for item in definitions], modules)

    def _find_places(self, program: s.Program, definitions: list[int], modules: tuple[Module | None, ...]) -> None:
        texts = {item.span.line: text for item, text in program.texts.items()}
        words = {item.span.line: _collect_words(program.texts.get(item, "")) for item in program.algorithms}
        types = {item.name for item in program.items if isinstance(item, surface.RecordDefinition)}
        mentioned: dict[str, list[int]] = {}
        for item in program.algorithms:
            for word in _list_mentions(item, types):
                mentioned.setdefault(word, []).append(item.span.line)
        mentions = {line: [callee for word in words[line] for callee in mentioned.get(word, ())] for line in words}
        reached = {line: {line, *traverse_reachable(mentions.__getitem__, line)} for line in words}
        names = Counter(item.name for item in program.items if isinstance(item, s.Algorithm | s.Extern))
        # What processors agree on is found in the order of the file where algorithms call each other.
        unfit = {
            line
            for item in program.algorithms
            for line in [item.span.line]
            if line not in texts
            or names[item.name] > 1
            or (item.grid and any(line in reached[callee] for callee in reached[line] - {line}))
        }
        lost = frozenset(HEADER.findall(program.source.text)).difference(names)
        for line in words:
            if not reached[line] & unfit:
                lines = tuple(sorted({*definitions, *reached[line]}))
                around = tuple(map(texts.__getitem__, lines))
                unread = lost & frozenset[str]().union(*(words[callee] for callee in reached[line]))
                key = program.source.path, around, lines.index(line), modules, unread
                ends = tuple(first + text.count("\n") for first, text in zip(lines, around, strict=True))
                self._places[line] = _Place(key, lines, ends)

    def add_facts(self, added: Mapping[s.Algorithm, tuple[s.Fact, ...]]) -> None:
        """Note the facts that are added to headers, for a further check of the program."""
        self._reused.clear()
        for algorithm, facts in added.items():
            before = self._added.get(algorithm.span.line, ())
            self._added[algorithm.span.line] = (*before, *map(format_fact, facts))

    def _make_key(self, place: _Place) -> object:
        return place.key, tuple(map(self._added.get, place.lines))

    def reuse_algorithms(self, program: s.Program) -> s.Program:
        """Return a program with the elaborated trees of the algorithms whose results are cached."""
        return replace(program, items=tuple(map(self._reuse_item, program.items)))

    def _reuse_item(self, item: s.Item) -> s.Item:
        place = self._places.get(item.span.line) if isinstance(item, s.Algorithm) else None
        if place is None or (result := self._cache.algorithms.get(key := self._make_key(place))) is None:
            return item
        self._cache.algorithms.move_to_end(key)
        unpickler = _Unpickler(result, self._source, place.lines)
        algorithm: s.Algorithm = unpickler.algorithm
        self._reused[algorithm] = unpickler
        return algorithm

    def list_headers(self) -> dict[s.Algorithm, tuple[s.Parameter, ...]]:
        """Return the headers of the reused algorithms, before scalar outputs are lowered."""
        return {algorithm: unpickler.header for algorithm, unpickler in self._reused.items()}

    def read_results(self, definitions: Mapping[str, object]) -> Iterator[CheckedAlgorithm]:
        """Yield the results of the reused algorithms, once; `definitions` are those of the file by name."""
        for unpickler in self._reused.values():
            yield unpickler.read_result(definitions)

    def add_result(self, result: CheckedAlgorithm, types: Container[object]) -> None:
        """Add the results of an algorithm to the cache; `types` has the nodes that the checks of the file know."""
        place = self._places.get(result.algorithm.span.line)
        if place is None:
            return
        stream = io.BytesIO()
        pickler = _Pickler(stream, result, self._source, place, types)
        try:
            # The first part has no references to other algorithms, which may not have been read yet.
            pickler.dump((result.algorithm, result.header))
            pickler.dump((result.facts, result.signature, result.surroundings, result.efforts, result.settled))
        except _SharedNodeError:
            return
        references = tuple(pickler.references)
        self._cache.algorithms[self._make_key(place)] = _PickledResult(stream.getvalue(), references)


def _list_mentions(algorithm: s.Algorithm, types: Container[str]) -> Iterator[str]:
    """Yield the words that may mean an algorithm: its name, that of `types` whose operation it is, a collective."""
    yield algorithm.name
    kinds = s.find_nodes(algorithm.parameters[:1], surface.RecordType)
    yield from (kind.name for kind in kinds if kind.name in types)
    yield from (word for word in COLLECTIVES if algorithm.name.startswith(word))


@lru_cache(maxsize=MAX_ALGORITHMS)
def _collect_words(text: str) -> frozenset[str]:
    """Return the words of a text without comments and strings."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(map(mask_strings_and_comment, text.split("\n")))))
