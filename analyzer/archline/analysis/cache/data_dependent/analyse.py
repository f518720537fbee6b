"""io of algorithms of which the data decides the sizes of recursive calls, by what is divided, at sizes, Z and L."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product, starmap
from typing import NamedTuple

from archline.algebra.concave import Concave
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.polynomial import ZERO
from archline.analysis.cache.data_dependent.call_sites import Caller, caller
from archline.analysis.cache.data_dependent.cases import State, Volumes
from archline.analysis.cache.data_dependent.divided import Divided, UndividedError, divided, given
from archline.analysis.cache.data_dependent.solve import FetchedLines, Making, Stack
from archline.analysis.cache.data_dependent.sum import Around, Totals
from archline.analysis.metrics.accesses import WordModel
from archline.analysis.metrics.streamed_accesses import Made, Sharing, Streamed, rows
from archline.ir.scope import NotStaticError
from archline.ir.tree import require_accesses
from archline.language import syntax as s
from archline.language.call_graph import component, local_arrays, reachable, recurses
from archline.language.model import Module
from archline.numbers import fmpq
from archline.records import record
from archline.recurrences.exact.at_call import NotComparableError

MAX_TERM_PRODUCTS = 2_000_000


class _Way(NamedTuple):
    """Which loops share lines, and whether volumes are words, or about what they cost."""

    sharing: Sharing
    by_words: bool


@dataclass(eq=False)
class Divisions:
    """Bounds on io of an algorithm."""

    module: Module
    algorithm: s.Algorithm
    _tables: dict[tuple[int, _Way], _Table | None] = field(default_factory=dict)

    def at(self, point: Mapping[str, int]) -> int:
        """At most so many lines are fetched at sizes, Z and L. Raises UndividedError."""
        known = [each for way in self._ways(point) if (each := self._at(point, way)) is not None]
        if not known:
            raise UndividedError
        return min(known)

    def _ways(self, point: Mapping[str, int]) -> Iterator[_Way]:
        """Those for which there is room for the lines that loops keep, and which differ from others."""
        for way in starmap(_Way, product(Sharing, (True, False))):
            table = self._table(point["L"], way)
            if table is not None and table.kept <= point["Z"] // point["L"] and (way.by_words or table.several):
                yield way

    def _at(self, point: Mapping[str, int], way: _Way) -> int | None:
        line, lines = point["L"], point["Z"] // point["L"]
        table = self._table(line, way)
        if table is None:
            return None
        solving = FetchedLines(table.volumes, line=line, room=lines * line, making=table.making)
        totals = Totals(table.around, table.lines, solving, table.making, lines * line)
        try:
            return int((totals.at(self.algorithm, point) / line).floor())
        except (UndividedError, TooComplexError, RecursionError):
            # More levels are called in each other than Python follows.
            return None

    def _table(self, line: int, way: _Way) -> _Table | None:
        key = line, way
        if key not in self._tables:
            try:
                with budget(MAX_TERM_PRODUCTS, own=True):
                    self._tables[key] = _table(self.module, self.algorithm, line, way)
            except (UndividedError, TooComplexError, NotComparableError, NotStaticError):
                self._tables[key] = None
        return self._tables[key]


@record(eq=False)
class _Table:
    """What is divided, of lines and of local arrays, and what is around that, at one L.

    `kept`: how many lines loops keep at a time.
    """

    lines: Mapping[s.Algorithm, Divided]
    made: Mapping[s.Algorithm, Divided]
    around: Mapping[s.Algorithm, Around]
    kept: int
    volumes: Volumes = field(default_factory=Volumes)

    @property
    def several(self) -> bool:
        """Whether volumes are of several sizes somewhere, so that it matters what counts how much."""
        return any(len(each.measured) > 1 for each in self.lines.values())

    @cached_property
    def making(self) -> Making:
        """The local arrays of what is divided, whatever Z is."""
        made = {own: self.made[algorithm] for algorithm, own in self.lines.items() if algorithm in self.made}
        stack = Stack(self.volumes)

        def making(state: State, end: fmpq) -> Concave:
            own = made.get(state.own)
            return Concave() if own is None else stack.bound(state._replace(own=own), end)

        return making


def _table(module: Module, algorithm: s.Algorithm, line: int, way: _Way) -> _Table:
    require_accesses(module, algorithm)
    reached = tuple(dict.fromkeys((algorithm, *reachable(module, algorithm))))
    together = rows(module, reached)
    streamed = Streamed(module, reached, line, together, way.sharing)
    if way.sharing is Sharing.NESTED and not streamed.nested:
        # The same as without.
        raise UndividedError
    lines = divided(module, reached, streamed, together, line, way.by_words)
    callers = _callers(module, reached, streamed)
    makers: Mapping[s.Algorithm, Caller] = {}
    made: Mapping[s.Algorithm, Divided] = {}
    if any(local_arrays(module, algorithm)):
        making = Made(module, reached, line)
        made = divided(module, reached, making, together, line, way.by_words, lines)
        makers = _callers(module, reached, making)
        if any(made[each].measured != own.measured for each, own in lines.items() if each in made):
            raise UndividedError
    around = {
        each: Around(own, given(module, each, together[each], line), makers[each].cost if makers else ZERO)
        for each, own in callers.items()
    }
    return _Table(lines, made, around, streamed.lines)


def _callers(module: Module, reached: tuple[s.Algorithm, ...], model: WordModel) -> dict[s.Algorithm, Caller]:
    """The first algorithm and what it calls, of those around recursive ones, each with the calls it makes of others."""
    around = [each for each in reached if each is reached[0] or recurses(module, each)]
    return {each: caller(module, each, model) for each in around if not component(module, each)}
