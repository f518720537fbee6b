"""Concave bounds of recursive algorithms by their volume, from small volumes up, at one Z and L."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from archline.algebra.concave import NOTHING, Concave, Point, added, covering, lesser, together
from archline.analysis.cache.data_dependent.cases import Call, Known, State, Volumes, given_at
from archline.analysis.cache.data_dependent.divided import UndividedError
from archline.numbers import fmpq

MAX_STATES = 5_000


@dataclass(eq=False)
class Solving(ABC):
    """Concave bounds by algorithm and known sizes, each up to some volume."""

    volumes: Volumes
    _found: dict[State, tuple[fmpq, Concave]] = field(default_factory=dict)
    _active: set[State] = field(default_factory=set)

    def bound(self, state: State, end: fmpq) -> Concave:
        """What calls of a volume up to the end come to at most. Raises UndividedError."""
        known = self._found.get(state)
        if known is not None and known[0] >= end:
            return known[1]
        if state in self._active or len(self._found) > MAX_STATES:
            raise UndividedError
        self._active.add(state)
        try:
            found = self._solve(state, end)
        finally:
            self._active.remove(state)
        self._found[state] = end, found
        return found

    def _solve(self, state: State, end: fmpq) -> Concave:
        cases = [each for each in self.volumes.cases(state, end) if not _passes_on(each, state)]
        calls = [call for each in cases for call in each.calls]
        first = min((each.low for each in cases if each.calls), default=end)
        known, done = self._small(state, [each for each in cases if not each.calls], min(first, end), end)
        share = max((call.share for call in calls if call.state == state), default=NOTHING)
        while done is not None:
            # Calls of itself have volumes up to which it is known.
            if share == 1 or (share and not done):
                raise UndividedError
            following = min(end, done / share) if share else end
            at_call = partial(self._at_call, state, known, end)
            points = [
                point
                for each in cases
                if each.low <= following and done <= each.high
                for whole in self._whole(each, at_call)
                for point in whole.points(max(done, each.low), min(following, each.high))
            ]
            known = covering([*known.points(NOTHING, done), *points])
            done = following if following < end else None
        return known

    def _at_call(self, caller: State, known: Concave, end: fmpq, call: Call) -> Concave:
        """What a call comes to, by its volume; where that is a number, at any."""
        if call.volume is not None:
            return Concave(self.bound(call.state, call.volume).at(call.volume))
        return known if call.state == caller else self.bound(call.state, call.share * end)

    @abstractmethod
    def _small(self, state: State, leaves: Sequence[Known], first: fmpq, end: fmpq) -> tuple[Concave, fmpq | None]:
        """A bound up to some volume, and that: `first`, at which cases with calls come, or more; None for the end."""

    @abstractmethod
    def _whole(self, case: Known, at_call: Callable[[Call], Concave]) -> Iterator[Concave]:
        """What a case comes to: the most of some functions."""


@dataclass(eq=False)
class Stack(Solving):
    """The words of local arrays of a call and of all calls in it, of which one at a time is active."""

    def _small(self, state: State, leaves: Sequence[Known], first: fmpq, end: fmpq) -> tuple[Concave, fmpq | None]:
        return _leaf(leaves, first), first

    def _whole(self, case: Known, at_call: Callable[[Call], Concave]) -> Iterator[Concave]:
        yield case.cost
        for call in case.calls:
            yield added([at_call(call).stretched(call.share), case.cost])


Making = Callable[[State, fmpq], Concave]
"""The words of local arrays of calls, by their volume up to an end."""


@dataclass(eq=False)
class FetchedLines(Solving):
    """What a call fetches at most, in parts of 1/L of a line. `room`: the words of the lines of fast memory."""

    line: int = 1
    room: int = 0
    making: Making = lambda *_: Concave()

    def _small(self, state: State, leaves: Sequence[Known], first: fmpq, end: fmpq) -> tuple[Concave, fmpq | None]:
        leaf = _leaf(leaves, first)
        given = given_at(state, self.line, end)
        touched = added([given, self.making(state, end)])
        most = _up_to(touched, fmpq(self.room), end)
        if most is None:
            return leaf, first
        both = min(first, most)
        points = [*lesser(leaf, touched, both).points(NOTHING, both)]
        points += (leaf if most < first else touched).points(both, max(first, most))
        return covering(points), max(first, most) if most < end else None

    def _whole(self, case: Known, at_call: Callable[[Call], Concave]) -> Iterator[Concave]:
        start = sum((each.count * at_call(each).start for each in case.calls if each.volume is not None), NOTHING)
        varying = [each for each in case.calls if each.volume is None for _ in range(each.count)]
        if case.share is not None:
            # What they have adds up to no more than that part.
            inner = together(map(at_call, varying)).stretched(case.share)
        else:
            inner = added([at_call(each).stretched(each.share) for each in varying])
        yield added([inner, case.cost, Concave(start)])


def _leaf(leaves: Sequence[Known], end: fmpq) -> Concave:
    """What cases without calls cost up to a volume."""
    points: list[Point] = []
    for each in leaves:
        if each.low <= end:
            points += each.cost.points(each.low, min(each.high, end))
    return covering(points)


def _up_to(value: Concave, most: fmpq, end: fmpq) -> fmpq | None:
    """The largest place up to an end with no more than `most`; None where there is none."""
    if value.start > most:
        return None
    place, height = NOTHING, value.start
    for width, slope in value.pieces:
        if height + width * slope > most:
            return min(end, place + (most - height) / slope)
        place, height = place + width, height + width * slope
    return end


def _passes_on(case: Known, state: State) -> bool:
    """Whether a case costs what the one call that it makes, of itself, does."""
    match case.calls:
        case (call,):
            return call.count == 1 and call.state == state and case.cost == Concave()
        case _:
            return False
