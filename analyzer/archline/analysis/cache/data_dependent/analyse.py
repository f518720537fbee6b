"""io of algorithms of which the data decides the sizes of recursive calls, by what is divided, at sizes, Z and L.

Of calls in a loop little may be known but what their volumes add up to: N of them with concave bounds f come to
N*f(V/N) at most where those add up to V. Where a size q differs that is no volume, but adds up to Q, it is for any
price p N*g(V/N) + p*Q at most, with g a concave function that is no less than f - p*q at any q.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product, starmap
from typing import NamedTuple

from archline.algebra import atoms as a
from archline.algebra.concave import NOTHING, Concave, covering
from archline.algebra.effort import TooComplexError, budget
from archline.algebra.evaluate.exact import PointValues
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Atom, Poly, Symbol
from archline.algebra.relax import bound_away
from archline.analysis.cache.data_dependent.cases import FetchedLines, Making, Solving, Stack, State, Volumes, weights
from archline.analysis.cache.data_dependent.divided import Divided, UndividedError, divided, given
from archline.analysis.metrics.accesses import METRIC, Made, Sharing, Streamed, WordModel, rows
from archline.analysis.metrics.data import at_sizes, holds
from archline.analysis.metrics.recursion import Derivation
from archline.analysis.metrics.tally import Tally
from archline.expr.intervals import EvaluationError
from archline.ir.amounts import Amount, Unknown, exactly
from archline.ir.scope import NotStaticError, Scope
from archline.ir.tree import require_accesses
from archline.language import syntax as s
from archline.language.call_graph import component, local_arrays, reachable, recurses
from archline.language.model import Module
from archline.numbers import fmpq
from archline.records import memoised, record, replace
from archline.recurrences.exact.at_call import NotComparableError

CALLS = "calls"
BY_DATA = a.Data | a.Offset | a.Gap
MAX_RANGE = 512
"""How many values of a size of calls are looked at."""
MAX_TERM_PRODUCTS = 2_000_000


@record(eq=False)
class Site:
    """The calls that one place in the text makes, in sizes of the caller.

    `count`: how many there are at most. `same`: sizes that all of them have. `most`: what others are at most. `sums`:
    pairs of a total and a number >= 1; of each pair, the sizes of all calls add up to the one divided by the other at
    most.
    """

    target: s.Algorithm
    count: Poly
    same: Mapping[str, Poly]
    most: Mapping[str, Poly]
    sums: Mapping[str, tuple[tuple[Poly, Poly], ...]]


@record(eq=False)
class Caller:
    """What an algorithm that does not call itself costs but for the calls that it makes, at most, and those.

    `given` and `made` are the words of its arguments and of its own arrays, with ends of lines.
    """

    cost: Poly
    sites: tuple[Site, ...] = ()
    given: Poly = ZERO
    made: Poly = ZERO


def caller(module: Module, algorithm: s.Algorithm, model: WordModel) -> Caller:
    """What an algorithm that does not call itself does, with the costs of a model. Raises UndividedError."""
    gathering = _Gathering(module, model)
    tally, _ = gathering.algorithm(algorithm)
    if tally.gap is not None:
        raise UndividedError
    cost = _most(tally.sums, METRIC) if METRIC in tally.sums else ZERO
    return Caller(cost, tuple(each.site(tally.sums) for each in gathering.places.values()))


@record(eq=False)
class _Place:
    """A call as it is met: what its sizes are there."""

    label: str
    target: s.Algorithm
    same: Mapping[str, Poly]
    most: Mapping[str, Poly]
    others: tuple[str, ...]

    def amounts(self, call: s.Call, sizes: Mapping[str, Poly], facts: Facts) -> Iterator[tuple[str, Amount]]:
        """What each call adds to the totals, by their names."""
        yield f"{self.label} {CALLS}", exactly(ONE)
        for name in self.others:
            for factor in (None, *self.same):
                value = Poly.symbol(name) * (ONE if factor is None else Poly.symbol(factor))
                yield self._total(name, factor), at_sizes(exactly(value), sizes, facts, call)

    def site(self, amounts: Mapping[str, Amount]) -> Site:
        """The totals over all calls."""
        count = _most(amounts, f"{self.label} {CALLS}")
        sums = {name: tuple(self._sums(name, amounts)) for name in self.others}
        return Site(self.target, count, self.same, self.most, sums)

    def _sums(self, name: str, amounts: Mapping[str, Amount]) -> Iterator[tuple[Poly, Poly]]:
        for factor, number in ((None, ONE), *self.same.items()):
            amount = amounts.get(self._total(name, factor))
            if amount is not None and not isinstance(amount, Unknown):
                yield amount.upper, number

    def _total(self, name: str, factor: str | None) -> str:
        return f"{self.label} {name}" + ("" if factor is None else f" times {factor}")


class _Gathering(Derivation):
    """Counts calls that lead to recursion, and adds up their sizes, where others look into them."""

    def __init__(self, module: Module, model: WordModel) -> None:
        super().__init__(module, coarse=False, model=model)
        self.places: dict[s.Call, _Place] = {}

    def call(self, call: s.Call, scope: Scope) -> Tally:
        target = self.module.targets[call]
        if not isinstance(target, s.Algorithm) or not recurses(self.module, target):
            return super().call(call, scope)
        sizes = self.sizes(call, target, scope)
        place = self.places.setdefault(call, _place(f"call {len(self.places)}", target, sizes, scope))
        return Tally(dict(place.amounts(call, sizes, scope.facts)))


def _place(label: str, target: s.Algorithm, sizes: Mapping[str, Poly], scope: Scope) -> _Place:
    own = scope.fixed
    plain = {name: scope.facts.restore(value) for name, value in sizes.items()}
    same = {name: value for name, value in plain.items() if value.names <= own and not _by_data(value)}
    others = tuple(name for name in sizes if name not in same)
    ends = {name: _without(sizes[name], scope.facts, own) for name in others}
    most = {name: scope.facts.restore(end) for name, end in ends.items() if end is not None}
    return _Place(label, target, same, most, others)


def _by_data(value: Poly) -> bool:
    return any(holds(BY_DATA, atom) for atom in value.atoms())


def _without(value: Poly, facts: Facts, own: frozenset[str]) -> Poly | None:
    """The most that a value is, in symbols of the caller alone; None where that is not found."""

    def foreign(value: Poly) -> Atom | None:
        young = next((name for name in reversed(facts.bounds) if name in value.names - own), None)
        return next((each for each in value.atoms() if holds(BY_DATA, each)), None) if young is None else Symbol(young)

    most = bound_away(value, foreign, facts, upper=True)
    return most if most is not None and most.names <= own else None


def _most(amounts: Mapping[str, Amount], kind: str) -> Poly:
    amount = amounts.get(kind)
    if amount is None or isinstance(amount, Unknown):
        raise UndividedError
    return amount.upper


Sizes = Mapping[str, int]


@record(eq=False)
class Totals:
    """What calls fetch at most, in parts of 1/L of a line. `room`: the words of the lines of fast memory."""

    around: Mapping[s.Algorithm, Caller]
    divided: Mapping[s.Algorithm, Divided]
    solving: Solving
    making: Making
    room: int

    def at(self, algorithm: s.Algorithm, sizes: Sizes) -> fmpq:
        """What one call of an algorithm fetches. Raises UndividedError."""
        if algorithm not in self.around:
            return self.calls(Calls.of_one(self.divided[algorithm], sizes)) if algorithm in self.divided else NOTHING
        try:
            return self._around(self.around[algorithm], PointValues(sizes))
        except EvaluationError as problem:
            raise UndividedError from problem

    def _around(self, own: Caller, place: PointValues) -> fmpq:
        touched = self._touched(own, place)
        fetched = place.number(own.cost)
        if touched is not None and touched <= fetched:
            return touched
        try:
            fetched += sum((self._site(each, place) for each in own.sites), NOTHING)
        except UndividedError:
            if touched is None:
                raise
            return touched
        return fetched if touched is None else min(fetched, touched)

    def _touched(self, own: Caller, place: PointValues) -> fmpq | None:
        """All that is touched, if it fits and is known."""
        touched = place.number(own.given) + place.number(own.made)
        if touched <= self.room:
            try:
                touched += max((self._stack(each, place) for each in own.sites), default=NOTHING)
            except UndividedError:
                return None
        return touched if touched <= self.room else None

    def _site(self, site: Site, place: PointValues) -> fmpq:
        """What all calls of one place in the text fetch."""
        if site.target in self.divided:
            return self.calls(Calls.of(self.divided[site.target], site, place))
        read = _Site(site, place)
        return read.count * self.at(site.target, read.same) if read.count > 0 else NOTHING

    def _stack(self, site: Site, place: PointValues) -> fmpq:
        """The local arrays of one of the calls at most."""
        if site.target in self.divided:
            calls = Calls.of(self.divided[site.target], site, place)
            return max(
                (self.making(each, calls.largest).at(calls.largest) for _, each in calls.states), default=NOTHING
            )
        if site.target not in self.around:
            return NOTHING
        inner = self.around[site.target]
        there = PointValues(_Site(site, place).same)
        return there.number(inner.made) + max((self._stack(each, there) for each in inner.sites), default=NOTHING)

    def calls(self, calls: Calls) -> fmpq:
        """What calls of a recursive algorithm fetch together."""
        if calls.count <= 0:
            return NOTHING
        bounds = [(size, self.solving.bound(state, calls.largest)) for size, state in calls.states]
        share = min(calls.volume / calls.count, calls.largest)
        if len(bounds) == 1:
            return calls.count * bounds[0][1].at(share)
        by_size = covering((fmpq(size), bound.at(share)) for size, bound in bounds)
        prices = [NOTHING, *(slope for _, slope in by_size.pieces)]
        return min(
            calls.count * _less(bounds, price, calls.largest).at(share) + price * calls.differing for price in prices
        )


def _less(bounds: Sequence[tuple[int, Concave]], price: fmpq, end: fmpq) -> Concave:
    """What is nowhere below any of the bounds less its size times a price."""
    return covering(
        (place, value - price * size) for size, bound in bounds for place, value in bound.points(NOTHING, end)
    )


@record
class Calls:
    """So many calls of a recursive algorithm: their volume in all, and that of one at most.

    `states`: by the size that differs, what sizes they may have. `differing`: what that adds up to.
    """

    count: int
    volume: fmpq
    largest: fmpq
    states: tuple[tuple[int, State], ...]
    differing: fmpq = NOTHING

    @classmethod
    def of_one(cls, own: Divided, sizes: Sizes) -> Calls:
        """One call of known sizes. Raises UndividedError where one is missing."""
        if not sizes.keys() >= set(own.function.parameters):
            raise UndividedError
        caps = {name: fmpq(sizes[name]) for name in own.measured}
        state = State.of(own, sizes, caps)
        volume = _volume(weights(own, state.numbers), caps)
        return cls(1, volume, volume, ((0, state),))

    @classmethod
    def of(cls, own: Divided, site: Site, place: PointValues) -> Calls:
        """The calls of a place in the text. Raises UndividedError."""
        read = _Site(site, place)
        if read.count <= 0:
            return cls(0, NOTHING, NOTHING, ())
        caps = {name: read.most(name) for name in own.measured}
        differing = [name for name in own.fixed if name not in read.same]
        if len(differing) > 1:
            raise UndividedError
        if differing:
            (name,) = differing
            states = {each: State.of(own, {**read.same, name: each}, caps) for each in read.values(own, name)}
        else:
            states = {0: State.of(own, read.same, caps)}
        known = [weights(own, state.numbers) for state in states.values()]
        most = {name: max(each[name] for each in known) for name in own.measured}
        sums = {name: read.sum(name) for name in own.measured}
        differs = sum(map(read.sum, differing), NOTHING)
        return cls(read.count, _volume(most, sums), _volume(most, caps), tuple(states.items()), differs)


def _volume(counts: Mapping[str, fmpq], sizes: Mapping[str, fmpq]) -> fmpq:
    return sum((each * sizes[name] for name, each in counts.items()), NOTHING)


class _Site:
    """Calls of a place in the text at sizes of the caller: how many, and which sizes are the same in all of them."""

    def __init__(self, site: Site, place: PointValues) -> None:
        self._site, self._place = site, place
        self.count = int(place.number(site.count).floor())
        self.same = {name: int(place.number(value)) for name, value in site.same.items()}

    def sum(self, name: str) -> fmpq:
        """What a size adds up to at most. Raises UndividedError."""
        if name in self.same:
            return fmpq(self.count * self.same[name])
        number = self._place.number
        known = [(number(total), number(factor)) for total, factor in self._site.sums[name]]
        totals = [total / factor for total, factor in known if factor >= 1]
        if not totals:
            raise UndividedError
        return min(totals)

    def most(self, name: str) -> fmpq:
        """What a size is at most. Raises UndividedError."""
        if name in self.same:
            return fmpq(self.same[name])
        ends = [self._place.number(self._site.most[name])] if name in self._site.most else []
        return min([self.sum(name), *ends])

    def values(self, own: Divided, name: str) -> range:
        """What a size may be. Raises UndividedError where that is too much."""
        found = range(own.function.least[name], int(self.most(name).floor()) + 1)
        if not 0 < len(found) <= MAX_RANGE:
            raise UndividedError
        return found


class _Way(NamedTuple):
    """Which loops share lines, and whether volumes are words, or about what they cost."""

    sharing: Sharing
    by_words: bool


@dataclass(eq=False)
class Divisions:
    """Bounds on io of an algorithm."""

    module: Module
    algorithm: s.Algorithm

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

    @memoised
    def _table(self, line: int, way: _Way) -> _Table | None:
        try:
            with budget(MAX_TERM_PRODUCTS, own=True):
                return _table(self.module, self.algorithm, line, way)
        except (UndividedError, TooComplexError, NotComparableError, NotStaticError):
            return None


@record(eq=False)
class _Table:
    """What is divided, of lines and of local arrays, and what is around that, at one L.

    `kept`: how many lines loops keep at a time.
    """

    lines: Mapping[s.Algorithm, Divided]
    made: Mapping[s.Algorithm, Divided]
    around: Mapping[s.Algorithm, Caller]
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
        each: replace(own, given=given(module, each, together[each], line), made=makers[each].cost if makers else ZERO)
        for each, own in callers.items()
    }
    return _Table(lines, made, around, streamed.lines)


def _callers(module: Module, reached: tuple[s.Algorithm, ...], model: WordModel) -> dict[s.Algorithm, Caller]:
    """The first algorithm and what it calls, of those around recursive ones, each with the calls it makes of others."""
    around = [each for each in reached if each is reached[0] or recurses(module, each)]
    return {each: caller(module, each, model) for each in around if not component(module, each)}
