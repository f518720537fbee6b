"""Cases of what `divided` tells of at known sizes: between which volumes they come, and what they cost at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from archline.algebra import atoms as a
from archline.algebra.concave import NOTHING, Concave, lesser, steep
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol
from archline.analysis.cache.data_dependent.divided import Divided, DivisionCase, Inner, UndividedError
from archline.numbers import fmpq
from archline.records import record

Sizes = tuple[int, ...]
"""The sizes of a call that are known, in order."""
Line = tuple[fmpq, fmpq]
"""A value at volume 0 and a slope >= 0, of what is no more anywhere."""
Caps = tuple[tuple[str, fmpq], ...]
"""What sizes that the data decides are at most, in a call and in all that it makes of itself."""
MAX_COUNT = 100
"""How often a case may make the same call of a volume that the data decides."""


class State(NamedTuple):
    """An algorithm, and what is known of the sizes of a call."""

    own: Divided
    sizes: Sizes
    caps: Caps = ()

    @classmethod
    def of(cls, own: Divided, known: Mapping[str, int], caps: Mapping[str, fmpq]) -> State:
        """A call with known sizes, and others up to caps."""
        sizes = tuple(known[name] for name in own.fixed)
        return cls(own, sizes, tuple((name, caps[name]) for name in own.capped if name in caps))

    @property
    def numbers(self) -> dict[str, Poly]:
        """The known sizes."""
        return {name: Poly.constant(size) for name, size in zip(self.own.fixed, self.sizes, strict=True)}


@record(eq=False)
class Call:
    """A call at known sizes: its volume, or what part of the caller's it has at most."""

    count: int
    state: State
    volume: fmpq | None
    share: fmpq


@record(eq=False)
class Known:
    """A case at known sizes: between which volumes it comes, what it costs itself, and its calls."""

    low: fmpq
    high: fmpq
    cost: Concave
    calls: tuple[Call, ...]
    share: fmpq | None


@dataclass(eq=False)
class Volumes:
    """Cases at known sizes, whatever Z is."""

    _cases: dict[tuple[State, fmpq], tuple[Known, ...]] = field(default_factory=dict)

    def cases(self, state: State, end: fmpq) -> tuple[Known, ...]:
        """The cases that come at known sizes and at volumes up to an end. Raises UndividedError."""
        key = state, end
        if key not in self._cases:
            self._cases[key] = tuple(_cases(state, end))
        return self._cases[key]


def given_at(state: State, line: int, end: fmpq) -> Concave:
    """The lines that a call is given by its volume, in parts of 1/L, with ends. Raises UndividedError."""
    words, rest, apart = (each.substitute(state.numbers) for each in state.own.plain_words)
    counts = weights(state.own, state.numbers)
    slopes = {name: number / counts[name] for name, number in _coefficients(words).items()}
    held = by_volume(slopes, counts, dict(state.caps), end)
    scattered = Concave(held.start, tuple((width, slope * line) for width, slope in held.pieces))
    whole, single = (
        each.with_line((constant(start), NOTHING), end) for each, start in ((held, rest), (scattered, apart))
    )
    return lesser(whole, single, end)


def by_volume(slopes: Mapping[str, fmpq], counts: Mapping[str, fmpq], caps: Mapping[str, fmpq], end: fmpq) -> Concave:
    """The most of a sum of sizes by their volume: those that count most come first, each up to its cap."""
    return Concave(
        NOTHING,
        steep((min(end, counts[name] * caps[name]) if name in caps else end, slope) for name, slope in slopes.items()),
    )


def _cases(state: State, end: fmpq) -> Iterator[Known]:
    numbers, counts = state.numbers, weights(state.own, state.numbers)
    for case in state.own.cases:
        between = _between(case, numbers, counts.keys(), dict(state.caps))
        if between is None:
            continue
        lows, caps = between
        low, high = (sum((counts[name] * each for name, each in ends.items()), NOTHING) for ends in (lows, caps))
        high = min(end, high) if caps.keys() == counts.keys() else end
        if low <= high:
            reading = _Reading(case, numbers, counts, caps, high)
            calls = tuple(reading.call(each) for each in case.inner)
            yield Known(low, high, reading.cost(case.cost.substitute(numbers)), calls, case.share)


def weights(own: Divided, numbers: Mapping[str, Poly]) -> dict[str, fmpq]:
    """How much each of the sizes that the data decides counts."""
    found = _coefficients(own.plain_volume.substitute(numbers))
    if found.keys() != own.measured:
        raise UndividedError
    return found


def _coefficients(value: Poly) -> dict[str, fmpq]:
    """The factors > 0 of a sum of sizes."""
    found: dict[str, fmpq] = {}
    for monomial, number in value.terms.items():
        match monomial:
            case ((Symbol(name=name), 1),) if number > 0:
                found[name] = number
            case _:
                raise UndividedError
    return found


def _between(
    case: DivisionCase, numbers: Mapping[str, Poly], measured: Set[str], known: Mapping[str, fmpq]
) -> tuple[dict[str, fmpq], dict[str, fmpq]] | None:
    """What measured sizes are at least in a case, and at most where that is known; None if the case never comes."""
    if any(each < 0 for each in _constants(case.known, numbers)):
        return None
    least: dict[str, fmpq] = {}
    most: dict[str, fmpq] = {}
    for name, (lower, upper) in case.bounds.items():
        lows, highs = _constants(lower, numbers), _constants(upper, numbers)
        if name in numbers:
            size = numbers[name].constant_term
            lows, highs = [*lows, size], [*highs, size]
        if name in known:
            highs.append(known[name])
        if lows and highs and max(lows) > min(highs):
            return None
        if name in measured:
            least[name] = max(lows, default=NOTHING)
            if highs:
                most[name] = min(highs)
    return least, most


def _constants(values: Iterable[Poly], numbers: Mapping[str, Poly]) -> list[fmpq]:
    """The values that are numbers at known sizes."""
    found = (each.substitute(numbers) for each in values)
    return [each.constant_term for each in found if each.is_constant]


@record(eq=False)
class _Reading:
    """Reads expressions of a case at known sizes, for volumes up to the highest."""

    case: DivisionCase
    numbers: Mapping[str, Poly]
    weights: Mapping[str, fmpq]
    caps: Mapping[str, fmpq]
    high: fmpq

    def call(self, inner: Inner) -> Call:
        """A call at the sizes. Raises UndividedError where they are not known, or how often it is made."""
        count = _whole(inner.factor.substitute(self.numbers))
        if inner.share is not None and count > MAX_COUNT:
            raise UndividedError
        target = inner.target
        sizes = {name: _whole(inner.arguments[name].substitute(self.numbers)) for name in target.fixed}
        caps = {name: self.caps[own] for name, own in inner.within.items() if own in self.caps}
        volume = None if inner.share is not None else constant(inner.volume.substitute(self.numbers))
        return Call(count, State.of(target, sizes, caps), volume, inner.share or NOTHING)

    def cost(self, value: Poly) -> Concave:
        """What the value is at most, by volume. Raises UndividedError."""
        start, slope, sizes = self._parts(value)
        return by_volume(sizes, self.weights, self.caps, self.high).with_line((start, slope), self.high)

    def _line(self, value: Poly) -> Line:
        start, slope, sizes = self._parts(value)
        # Of sizes that add up to a volume, all may be the one that counts most.
        return start, slope + max(sizes.values(), default=NOTHING)

    def _parts(self, value: Poly) -> tuple[fmpq, fmpq, dict[str, fmpq]]:
        """What the value is at volume 0, what it rises by beside sizes, and by each of those, where it does."""
        start, slope = NOTHING, NOTHING
        sizes: dict[str, fmpq] = {}
        for monomial, number in self._without_data(value).terms.items():
            match monomial:
                case ():
                    start += number
                case ((Symbol(name=name), 1),) if name in self.weights:
                    if number > 0:
                        sizes[name] = number / self.weights[name]
                case _ if number > 0:
                    own, rise = self._product(monomial)
                    start, slope = start + number * own, slope + number * rise
                case _ if not all(self._nonnegative(atom) and power > 0 for atom, power in monomial):
                    raise UndividedError
                case _:
                    pass
        return max(start, NOTHING), slope, sizes

    def _without_data(self, value: Poly) -> Poly:
        """The value with the ends of what the data decides, from young to old, as far as it stands by itself."""
        for name in reversed(tuple(self.case.bounds)):
            atom = Symbol(name)
            if atom not in value.atoms() or name in self.weights:
                continue
            parts = value.coefficients(atom)
            if parts.keys() <= {0, 1} and parts[1].is_constant:
                lower, upper = self.case.bounds[name]
                ends = upper if parts[1].constant_term > 0 else lower
                if not ends:
                    raise UndividedError
                value = value + (ends[-1].substitute(self.numbers) - Poly.of_atom(atom)) * parts[1]
        return value

    def _nonnegative(self, atom: Atom) -> bool:
        known = isinstance(atom, a.CeilLog2 | a.PositivePart) or (
            isinstance(atom, Symbol) and atom.name in self.weights
        )
        return known or self.case.facts.nonnegative(Poly.of_atom(atom))

    def _product(self, monomial: Monomial) -> Line:
        """Factors that are at least 0: the first as a line, of the others the most that they are."""
        start, slope = fmpq(1), NOTHING
        for place, (atom, power) in enumerate(monomial):
            if power < 0 or not self._nonnegative(atom):
                raise UndividedError
            own, rise = self._atom(atom)
            most = own + rise * self.high
            if place:
                start, slope = start * most**power, slope * most**power
            else:
                start, slope = own * most ** (power - 1), rise * most ** (power - 1)
        return start, slope

    def _atom(self, atom: Atom) -> Line:
        match atom:
            case Symbol(name=name) if name in self.weights:
                return NOTHING, 1 / self.weights[name]
            case Symbol(name=name) if name in self.case.bounds and (upper := self.case.bounds[name][1]):
                lines = (self._line(each.substitute(self.numbers)) for each in upper)
                return min(lines, key=lambda each: each[0] + each[1] * self.high)
            case a.CeilLog2(argument=argument):
                own, rise = self._line(argument)
                return fmpq((int((own + rise * self.high).ceil()) - 1).bit_length()), NOTHING
            case a.PositivePart(argument=argument):
                return self._line(argument)
            case a.Floor(argument=argument, modulus=modulus) if modulus.is_constant:
                own, rise = self._line(argument)
                return own / modulus.constant_term, rise / modulus.constant_term
            case _:
                raise UndividedError


def constant(value: Poly) -> fmpq:
    """The value of an expression without sizes. Raises UndividedError for any other."""
    if not value.is_constant:
        raise UndividedError
    return value.constant_term


def _whole(value: Poly) -> int:
    number = constant(value)
    if number.q != 1:
        raise UndividedError
    return int(number.p)
