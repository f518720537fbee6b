"""Cases of what `divided` tells of at known sizes: between which volumes they come, and what they cost at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from flint import fmpq

from archline.algebra import atoms as a
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol
from archline.analysis.io.concave import NOTHING
from archline.analysis.io.divided import Case, Divided, Inner, UndividedError

Sizes = tuple[int, ...]
"""The sizes of a call that are known, in order."""
Line = tuple[fmpq, fmpq]
"""A value at volume 0 and a slope >= 0, of what is no more anywhere."""
MAX_COUNT = 100
"""How often a case may make the same call of a volume that the data decides."""


@dataclass(frozen=True, eq=False)
class Call:
    """A call at known sizes: its volume, or what part of the caller's it has at most."""

    count: int
    state: tuple[Divided, Sizes]
    volume: fmpq | None
    share: fmpq


@dataclass(frozen=True, eq=False)
class Known:
    """A case at known sizes: between which volumes it comes, what it costs itself, and its calls."""

    low: fmpq
    high: fmpq
    cost: Line
    calls: tuple[Call, ...]
    share: fmpq | None


@dataclass(eq=False)
class Volumes:
    """Cases at known sizes, whatever Z is."""

    _cases: dict[tuple[Divided, Sizes, fmpq], tuple[Known, ...]] = field(default_factory=dict)
    _rest: dict[tuple[Divided, Sizes], tuple[fmpq, fmpq]] = field(default_factory=dict)

    def cases(self, own: Divided, sizes: Sizes, end: fmpq) -> tuple[Known, ...]:
        """The cases that come at known sizes and at volumes up to an end. Raises UndividedError."""
        key = own, sizes, end
        if key not in self._cases:
            self._cases[key] = tuple(_cases(own, _numbers(own, sizes), end))
        return self._cases[key]

    def rest(self, own: Divided, sizes: Sizes) -> tuple[fmpq, fmpq]:
        """The words that calls are given beside the volume, and those beside L times the volume."""
        key = own, sizes
        if key not in self._rest:
            rest, apart = (constant(each.substitute(_numbers(own, sizes))) for each in own.plain_rest)
            self._rest[key] = rest, apart
        return self._rest[key]


def _numbers(own: Divided, sizes: Sizes) -> dict[str, Poly]:
    return {name: Poly.constant(size) for name, size in zip(own.fixed, sizes, strict=True)}


def _cases(own: Divided, numbers: Mapping[str, Poly], end: fmpq) -> Iterator[Known]:
    weights = _weights(own, numbers)
    for case in own.cases:
        between = _volumes(case, numbers, weights)
        if between is None:
            continue
        low, high = between[0], end if between[1] is None else min(end, between[1])
        if low <= high:
            reading = _Reading(case, numbers, weights, high)
            calls = tuple(reading.call(each) for each in case.inner)
            yield Known(low, high, reading.line(case.cost.substitute(numbers)), calls, case.share)


def _weights(own: Divided, numbers: Mapping[str, Poly]) -> dict[str, fmpq]:
    """How much each of the sizes that the data decides counts."""
    found: dict[str, fmpq] = {}
    for monomial, number in own.plain_volume.substitute(numbers).terms.items():
        match monomial:
            case ((Symbol(name=name), 1),) if number > 0:
                found[name] = number
            case _:
                raise UndividedError
    if found.keys() != own.measured:
        raise UndividedError
    return found


def _volumes(case: Case, numbers: Mapping[str, Poly], weights: Mapping[str, fmpq]) -> tuple[fmpq, fmpq | None] | None:
    """The volumes between which a case comes, the largest only if that is a number; None if it never does."""
    if any(each < 0 for each in _constants(case.known, numbers)):
        return None
    least, most = NOTHING, NOTHING
    bounded = True
    for name, (lower, upper) in case.bounds.items():
        lows, highs = _constants(lower, numbers), _constants(upper, numbers)
        if name in numbers:
            size = numbers[name].constant_term
            lows, highs = [*lows, size], [*highs, size]
        if lows and highs and max(lows) > min(highs):
            return None
        if name in weights:
            least += weights[name] * max(lows, default=NOTHING)
            most += weights[name] * min(highs, default=NOTHING)
            bounded = bounded and bool(highs)
    return least, most if bounded else None


def _constants(values: Iterable[Poly], numbers: Mapping[str, Poly]) -> list[fmpq]:
    """The values that are numbers at known sizes."""
    found = (each.substitute(numbers) for each in values)
    return [each.constant_term for each in found if each.is_constant]


@dataclass(frozen=True, eq=False)
class _Reading:
    """Reads expressions of a case at known sizes, for volumes up to the highest."""

    case: Case
    numbers: Mapping[str, Poly]
    weights: Mapping[str, fmpq]
    high: fmpq

    def call(self, inner: Inner) -> Call:
        """A call at the sizes. Raises UndividedError where they are not known, or how often it is made."""
        count = _whole(inner.factor.substitute(self.numbers))
        if inner.share is not None and count > MAX_COUNT:
            raise UndividedError
        sizes = tuple(_whole(inner.arguments[name].substitute(self.numbers)) for name in inner.target.fixed)
        volume = None if inner.share is not None else constant(inner.volume.substitute(self.numbers))
        return Call(count, (inner.target, sizes), volume, inner.share or NOTHING)

    def line(self, value: Poly) -> Line:
        """What the value is at most. Raises UndividedError."""
        start, slope, sizes = NOTHING, NOTHING, [NOTHING]
        for monomial, number in self._without_data(value).terms.items():
            match monomial:
                case ():
                    start += number
                case ((Symbol(name=name), 1),) if name in self.weights:
                    sizes.append(number / self.weights[name])
                case _ if number > 0:
                    own, rise = self._product(monomial)
                    start, slope = start + number * own, slope + number * rise
                case _ if not all(self._nonnegative(atom) and power > 0 for atom, power in monomial):
                    raise UndividedError
        # Of sizes that add up to a volume, all may be the one that costs most.
        return max(start, NOTHING), slope + max(sizes)

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
                lines = (self.line(each.substitute(self.numbers)) for each in upper)
                return min(lines, key=lambda each: each[0] + each[1] * self.high)
            case a.CeilLog2(argument=argument):
                own, rise = self.line(argument)
                return fmpq((int((own + rise * self.high).ceil()) - 1).bit_length()), NOTHING
            case a.PositivePart(argument=argument):
                return self.line(argument)
            case a.Floor(argument=argument, modulus=modulus) if modulus.is_constant:
                own, rise = self.line(argument)
                return own / modulus.constant_term, rise / modulus.constant_term
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
