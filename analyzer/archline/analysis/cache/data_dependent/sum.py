"""io of calls at sizes, at one Z and L, where the data decides sizes: of recursive algorithms and of those around them.

Of calls in a loop little may be known but what their volumes add up to: N of them with concave bounds f come to
N*f(V/N) at most where those add up to V. Where a size q differs that is no volume, but adds up to Q, it is for any
price p N*g(V/N) + p*Q at most, with g a concave function that is no less than f - p*q at any q.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from archline.algebra.concave import NOTHING, Concave, covering
from archline.algebra.evaluate.exact import PointValues
from archline.algebra.polynomial import Poly
from archline.analysis.cache.data_dependent.call_sites import Caller, Site
from archline.analysis.cache.data_dependent.cases import State, weights
from archline.analysis.cache.data_dependent.divided import Divided, UndividedError
from archline.analysis.cache.data_dependent.solve import Making, Solving
from archline.expr.intervals import EvaluationError
from archline.language import syntax as s
from archline.numbers import fmpq
from archline.records import record

MAX_RANGE = 512
"""How many values of a size of calls are looked at."""
Sizes = Mapping[str, int]


@record(eq=False)
class Around:
    """An algorithm that does not call itself: the words of its arguments and of its own arrays, with ends of lines."""

    caller: Caller
    given: Poly
    made: Poly


@record(eq=False)
class Totals:
    """What calls fetch at most, in parts of 1/L of a line. `room`: the words of the lines of fast memory."""

    around: Mapping[s.Algorithm, Around]
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

    def _around(self, own: Around, place: PointValues) -> fmpq:
        touched = self._touched(own, place)
        fetched = place.number(own.caller.cost)
        if touched is not None and touched <= fetched:
            return touched
        try:
            fetched += sum((self._site(each, place) for each in own.caller.sites), NOTHING)
        except UndividedError:
            if touched is None:
                raise
            return touched
        return fetched if touched is None else min(fetched, touched)

    def _touched(self, own: Around, place: PointValues) -> fmpq | None:
        """All that is touched, if it fits and is known."""
        touched = place.number(own.given) + place.number(own.made)
        if touched <= self.room:
            try:
                touched += max((self._stack(each, place) for each in own.caller.sites), default=NOTHING)
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
        return there.number(inner.made) + max(
            (self._stack(each, there) for each in inner.caller.sites), default=NOTHING
        )

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
