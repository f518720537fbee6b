"""What loading a file finds out about an algorithm is kept, and used again while what it depends on is the same.

That is its text, those of the algorithms it mentions, directly or not, those of all other definitions of the file, and
the modules that the file uses. What is known is a web of nodes that refer to each other by identity, and a new load
needs nodes with other spans. So the web is pickled: a copy of it is made by reading it with spans where the items are
now, and with the algorithms of the new load in place of the former ones.
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
from archline.language.model import Module
from archline.language.rearranging import mask_strings_and_comment
from archline.records import record, replace

MAX_ALGORITHMS, MAX_MODULES = 512, 32
"""The numbers of algorithms and of modules about which something is kept: those of a few files, as they were last."""
HEADER = re.compile(r"^algorithm +([A-Za-z_][A-Za-z0-9_]*)", re.MULTILINE)


class Memory:
    """What earlier loads have found out: of algorithms by their keys, and of modules with the texts of their files."""

    def __init__(self) -> None:
        self.algorithms: OrderedDict[object, _Kept] = OrderedDict()
        self.modules: OrderedDict[object, tuple[Mapping[Path, str | None], Mapping[Path, Module]]] = OrderedDict()

    def shrink(self) -> None:
        """Forget what was used least recently."""
        for kept, size in ((self.algorithms, MAX_ALGORITHMS), (self.modules, MAX_MODULES)):
            while len(kept) > size:
                kept.popitem(last=False)


_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)


@contextmanager
def remember_loads(memory: Memory) -> Iterator[None]:
    """Let loads in the enclosed code use what earlier ones have found out, and keep what they find out."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)
        memory.shrink()


def get_memory() -> Memory | None:
    """Return the memory of the enclosing `remember_loads`; None if loads are not remembered."""
    return _memory.get()


@record(eq=False)
class Known:
    """What is known of an algorithm without mistakes: its elaborated tree, its header before that, and facts.

    `surroundings` is what the facts depend on beyond the key. If the whole file had no mistake, they are `settled`, and
    nothing is left to be checked. `effort` is that of the samples of both checks.
    """

    algorithm: s.Algorithm
    header: tuple[s.Parameter, ...]
    facts: Any
    signature: Any
    surroundings: object
    effort: tuple[int, int]
    settled: bool


@record(eq=False)
class _Kept:
    """What is known as a pickle, which refers by number to the `others`: objects of other files."""

    pickled: bytes
    others: tuple[object, ...]


@record(eq=False)
class _Place:
    """The key of an algorithm, and the items that nodes known of it are written in: their first and last lines."""

    key: tuple[object, ...]
    lines: tuple[int, ...]
    ends: tuple[int, ...]


class _SharedNodeError(Exception):
    """Facts about a node were found elsewhere, or its place is elsewhere: a copy of it would not be the same node."""


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
    """Writes what is known; `types` are those of all nodes of the program and of the files that it uses."""

    def __init__(
        self, stream: io.BytesIO, known: Known, source: Source, place: _Place, types: Container[object]
    ) -> None:
        super().__init__(stream, pickle.HIGHEST_PROTOCOL)
        self._known, self._source, self._place, self._types = known, source, place, types
        self.others: dict[object, int] = {}

    def persistent_id(self, part: object) -> object:
        match part:
            case s.Algorithm() | s.Extern() if part is not self._known.algorithm and part.span.source is self._source:
                return part.name
            case Source() if part is self._source:
                return -1
            case s.Algorithm() | s.Extern() | Source() | Module() if part is not self._known.algorithm:
                return self.others.setdefault(part, len(self.others))
            case Node() if part in self._types and part not in self._known.facts.types:
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


class _Reader(pickle.Unpickler):
    """Reads what is known: first the algorithm, then its facts, when the other `definitions` of the file are known."""

    def __init__(self, kept: _Kept, source: Source, lines: tuple[int, ...]) -> None:
        super().__init__(io.BytesIO(kept.pickled))
        self._kept, self._source, self._lines = kept, source, lines
        self.definitions: Mapping[str, object] = {}
        self.algorithm, self.header = self.load()

    def read_rest(self, definitions: Mapping[str, object]) -> Known:
        self.definitions = definitions
        return Known(self.algorithm, self.header, *self.load())

    def persistent_load(self, pid: Any) -> object:
        if isinstance(pid, str):
            return self.definitions[pid]
        return self._source if pid < 0 else self._kept.others[pid]

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return partial(found, self._source, self._lines) if found is _place_span else found


class KeptAlgorithms:
    """The algorithms of a file that is loaded, each with the key of what it depends on.

    They are told by the lines of their headers, as elaboration and checks replace their nodes. Where recursion adds
    facts to headers, and all is checked again, they are part of the key.
    """

    def __init__(self, memory: Memory, program: s.Program, modules: tuple[Module | None, ...]) -> None:
        self._memory, self._source = memory, program.source
        self._readers: dict[s.Algorithm, _Reader] = {}
        self._places: dict[int, _Place] = {}
        self._added: dict[int, tuple[str, ...]] = {}
        others = [item for item in program.items if not isinstance(item, s.Algorithm | s.Claim | s.Use)]
        if program.texts.keys() >= {*others}:
            self._find_places(program, [item.span.line for item in others], modules)

    def _find_places(self, program: s.Program, others: list[int], modules: tuple[Module | None, ...]) -> None:
        texts = {item.span.line: text for item, text in program.texts.items()}
        words = {item.span.line: _collect_words(program.texts.get(item, "")) for item in program.algorithms}
        mentioned: dict[str, list[int]] = {}
        for item in program.algorithms:
            for word in _list_mentions(item):
                mentioned.setdefault(word, []).append(item.span.line)
        mentions = {line: [other for word in words[line] for other in mentioned.get(word, ())] for line in words}
        reached = {line: {line, *traverse_reachable(mentions.__getitem__, line)} for line in words}
        names = Counter(item.name for item in program.items if isinstance(item, s.Algorithm | s.Extern))
        # What processors agree on is found in the order of the file where algorithms call each other.
        unfit = {
            line
            for item in program.algorithms
            for line in [item.span.line]
            if line not in texts
            or names[item.name] > 1
            or (item.grid and any(line in reached[other] for other in reached[line] - {line}))
        }
        lost = frozenset(HEADER.findall(program.source.text)).difference(names)
        for line in words:
            if not reached[line] & unfit:
                lines = tuple(sorted({*others, *reached[line]}))
                around = tuple(map(texts.__getitem__, lines))
                unread = lost & frozenset[str]().union(*(words[other] for other in reached[line]))
                key = program.source.path, around, lines.index(line), modules, unread
                ends = tuple(first + text.count("\n") for first, text in zip(lines, around, strict=True))
                self._places[line] = _Place(key, lines, ends)

    def add_facts(self, added: Mapping[s.Algorithm, tuple[s.Fact, ...]]) -> None:
        """Note the facts that are added to headers, for a further check of the program."""
        self._readers.clear()
        for algorithm, facts in added.items():
            before = self._added.get(algorithm.span.line, ())
            self._added[algorithm.span.line] = (*before, *map(format_fact, facts))

    def _make_key(self, place: _Place) -> object:
        return place.key, tuple(map(self._added.get, place.lines))

    def reuse_algorithms(self, program: s.Program) -> s.Program:
        """Return a program with the elaborated trees of algorithms about which something is kept."""
        return replace(program, items=tuple(map(self._reuse_item, program.items)))

    def _reuse_item(self, item: s.Item) -> s.Item:
        place = self._places.get(item.span.line) if isinstance(item, s.Algorithm) else None
        kept = self._memory.algorithms.get(key := self._make_key(place)) if place is not None else None
        if place is None or kept is None:
            return item
        self._memory.algorithms.move_to_end(key)
        reader = _Reader(kept, self._source, place.lines)
        self._readers[reader.algorithm] = reader
        return reader.algorithm

    def is_reused(self, item: object) -> bool:
        """Whether an item is the tree of an algorithm about which something is kept."""
        return item in self._readers

    def get_header(self, algorithm: s.Algorithm) -> tuple[s.Parameter, ...]:
        """Return the header of a reused algorithm as it is before scalar outputs are lowered."""
        return self._readers[algorithm].header

    def read_facts(self, definitions: Mapping[str, object]) -> Iterator[Known]:
        """Yield what is known of the reused algorithms, once; `definitions` are those of the file by their names."""
        for reader in self._readers.values():
            yield reader.read_rest(definitions)

    def keep_algorithm(self, known: Known, types: Container[object]) -> None:
        """Keep what is known of an algorithm, one of those whose nodes, and those that they use, have `types`."""
        place = self._places.get(known.algorithm.span.line)
        if place is None:
            return
        stream = io.BytesIO()
        pickler = _Pickler(stream, known, self._source, place, types)
        try:
            # The first part has no references to other algorithms, which may not have been read yet.
            pickler.dump((known.algorithm, known.header))
            pickler.dump((known.facts, known.signature, known.surroundings, known.effort, known.settled))
        except _SharedNodeError:
            return
        self._memory.algorithms[self._make_key(place)] = _Kept(stream.getvalue(), tuple(pickler.others))


def _list_mentions(algorithm: s.Algorithm) -> Iterator[str]:
    """Yield the words that may mean an algorithm: its name, the type whose operation it is, a collective it may be."""
    yield algorithm.name
    yield from (kind.name for kind in s.find_nodes(algorithm.parameters[:1], surface.RecordType))
    yield from (word for word in COLLECTIVES if algorithm.name.startswith(word))


@lru_cache(maxsize=MAX_ALGORITHMS)
def _collect_words(text: str) -> frozenset[str]:
    """Return the words of a text without comments and strings."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", "\n".join(map(mask_strings_and_comment, text.split("\n")))))
