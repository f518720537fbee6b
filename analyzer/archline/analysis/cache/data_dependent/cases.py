"""Solve for concave bounds of recursive algorithms at one Z and L, from small volumes to large ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from archline.algebra import atoms as a
from archline.algebra.concave import (
    RATIONAL_ZERO,
    ConcaveFunction,
    Point,
    add_functions,
    concave_majorant,
    pointwise_minimum,
    sort_pieces_by_slope,
    sup_convolve,
)
from archline.algebra.polynomial import Atom, Monomial, Poly, Symbol
from archline.analysis.cache.data_dependent.divided import DividedAlgorithm, DividedCall, DivisionCase, UndividedError
from archline.numbers import fmpq
from archline.records import memoised, record

Sizes = tuple[int, ...]
"""The known sizes of a call, in order."""
LinearBound = tuple[fmpq, fmpq]
"""A linear upper bound: its value at volume 0, and its slope, which is at least 0."""
SizeCaps = tuple[tuple[str, fmpq], ...]
"""Upper bounds on data-dependent sizes, which hold in a call and in its recursive calls."""
MAX_CALL_COUNT = 100
"""The maximum number of times that a case may make the same call of a data-dependent volume."""
MAX_SOLVED_STATES = 5_000
"""The maximum number of call states that are solved."""


class CallState(NamedTuple):
    """An algorithm with the sizes of a call that do not depend on data, and upper bounds `caps` on other sizes."""

    own: DividedAlgorithm
    sizes: Sizes
    caps: SizeCaps = ()

    @classmethod
    def of(cls, divided: DividedAlgorithm, known: Mapping[str, int], caps: Mapping[str, fmpq]) -> CallState:
        """Build the state of a call with `known` sizes, and upper bounds `caps` on the other sizes."""
        sizes = tuple(known[name] for name in divided.known_sizes)
        return cls(divided, sizes, tuple((name, caps[name]) for name in divided.non_increasing_sizes if name in caps))

    @property
    def known_sizes(self) -> dict[str, Poly]:
        """The known sizes as constants, by name."""
        return {name: Poly.constant(size) for name, size in zip(self.own.known_sizes, self.sizes, strict=True)}


@record(eq=False)
class CallAtSizes:
    """A call at known sizes, made `count` times: its volume, or if None, its maximum share of the caller's volume."""

    count: int
    state: CallState
    volume: fmpq | None
    share: fmpq


@record(eq=False)
class CaseAtSizes:
    """A case at known sizes: its range of volumes, its cost without calls, and its calls.

    The calls together have at most `share` times the volume of the case; None if that is unknown.
    """

    low: fmpq
    high: fmpq
    cost: ConcaveFunction
    calls: tuple[CallAtSizes, ...]
    share: fmpq | None


class CaseCache:
    """Cache of the cases at known sizes, which do not depend on Z."""

    @memoised
    def cases(self, state: CallState, end: fmpq) -> tuple[CaseAtSizes, ...]:
        """List the cases that apply at known sizes and volumes up to `end`. Raises UndividedError."""
        return tuple(_iterate_cases_at_sizes(state, end))


def bound_argument_words_above(state: CallState, line: int, end: fmpq) -> ConcaveFunction:
    """Bound the words of a call's arguments, in whole lines, as a function of its volume. Raises UndividedError.

    `end` is the largest volume.
    """
    words, rest, apart = (amount.substitute(state.known_sizes) for amount in state.own.words_in_sizes)
    counts = compute_size_weights(state.own, state.known_sizes)
    slopes = {name: number / counts[name] for name, number in _list_positive_coefficients(words).items()}
    contiguous = bound_size_sum_by_volume_above(slopes, counts, dict(state.caps), end)
    scattered = ConcaveFunction(contiguous.start, tuple((width, slope * line) for width, slope in contiguous.pieces))
    in_rows, by_elements = (
        bound.with_line((require_constant(start), RATIONAL_ZERO), end)
        for bound, start in ((contiguous, rest), (scattered, apart))
    )
    return pointwise_minimum(in_rows, by_elements, end)


def bound_size_sum_by_volume_above(
    slopes: Mapping[str, fmpq], counts: Mapping[str, fmpq], caps: Mapping[str, fmpq], end: fmpq
) -> ConcaveFunction:
    """Bound a sum of sizes by a concave function of their volume, which grows sizes of largest slope first.

    `slopes` has the amount of each size per unit of volume, `counts` the weights of sizes in the volume, and `caps`
    the maxima of sizes. `end` is the largest volume.
    """
    return ConcaveFunction(
        RATIONAL_ZERO,
        sort_pieces_by_slope(
            (min(end, counts[name] * caps[name]) if name in caps else end, slope) for name, slope in slopes.items()
        ),
    )


def _iterate_cases_at_sizes(state: CallState, end: fmpq) -> Iterator[CaseAtSizes]:
    numbers, counts = state.known_sizes, compute_size_weights(state.own, state.known_sizes)
    for case in state.own.cases:
        size_bounds = _bound_case_sizes(case, numbers, counts.keys(), dict(state.caps))
        if size_bounds is None:
            continue
        lows, caps = size_bounds
        low, high = (sum((counts[name] * size for name, size in ends.items()), RATIONAL_ZERO) for ends in (lows, caps))
        high = min(end, high) if caps.keys() == counts.keys() else end
        if low <= high:
            reader = _CaseEvaluator(case, numbers, counts, caps, high)
            calls = tuple(reader.evaluate_call(call) for call in case.inner)
            yield CaseAtSizes(low, high, reader.bound_cost_above(case.cost.substitute(numbers)), calls, case.share)


def compute_size_weights(own: DividedAlgorithm, numbers: Mapping[str, Poly]) -> dict[str, fmpq]:
    """Find the weight of each data-dependent size in the volume. Raises UndividedError."""
    weights = _list_positive_coefficients(own.volume_in_sizes.substitute(numbers))
    if weights.keys() != own.measured:
        raise UndividedError
    return weights


def _list_positive_coefficients(value: Poly) -> dict[str, fmpq]:
    """List the coefficients of a sum of sizes. Raises UndividedError if some are not positive."""
    result: dict[str, fmpq] = {}
    for monomial, number in value.terms.items():
        match monomial:
            case ((Symbol(name=name), 1),) if number > 0:
                result[name] = number
            case _:
                raise UndividedError
    return result


def _bound_case_sizes(
    case: DivisionCase, numbers: Mapping[str, Poly], measured: Set[str], known: Mapping[str, fmpq]
) -> tuple[dict[str, fmpq], dict[str, fmpq]] | None:
    """Bound the measured sizes of a case from below and, if possible, from above; None if it cannot occur.

    `numbers` has the other sizes, and `known` upper bounds on sizes.
    """
    if any(value < 0 for value in _list_constant_values(case.known, numbers)):
        return None
    lower_bounds: dict[str, fmpq] = {}
    upper_bounds: dict[str, fmpq] = {}
    for name, (lower, upper) in case.bounds.items():
        lows, highs = _list_constant_values(lower, numbers), _list_constant_values(upper, numbers)
        if name in numbers:
            size = numbers[name].constant_term
            lows, highs = [*lows, size], [*highs, size]
        if name in known:
            highs.append(known[name])
        if lows and highs and max(lows) > min(highs):
            return None
        if name in measured:
            lower_bounds[name] = max(lows, default=RATIONAL_ZERO)
            if highs:
                upper_bounds[name] = min(highs)
    return lower_bounds, upper_bounds


def _list_constant_values(values: Iterable[Poly], numbers: Mapping[str, Poly]) -> list[fmpq]:
    """List the values that are numbers at known sizes."""
    evaluated = (value.substitute(numbers) for value in values)
    return [value.constant_term for value in evaluated if value.is_constant]


@record(eq=False)
class _CaseEvaluator:
    """Evaluates expressions of a case at known sizes, for volumes up to the highest."""

    case: DivisionCase
    numbers: Mapping[str, Poly]
    weights: Mapping[str, fmpq]
    caps: Mapping[str, fmpq]
    high: fmpq

    def evaluate_call(self, inner: DividedCall) -> CallAtSizes:
        """Evaluate a call at the sizes. Raises UndividedError if its sizes or its count are unknown."""
        count = _require_integer(inner.factor.substitute(self.numbers))
        if inner.share is not None and count > MAX_CALL_COUNT:
            raise UndividedError
        target = inner.target
        sizes = {name: _require_integer(inner.arguments[name].substitute(self.numbers)) for name in target.known_sizes}
        caps = {name: self.caps[caller_size] for name, caller_size in inner.within.items() if caller_size in self.caps}
        volume = None if inner.share is not None else require_constant(inner.volume.substitute(self.numbers))
        return CallAtSizes(count, CallState.of(target, sizes, caps), volume, inner.share or RATIONAL_ZERO)

    def bound_cost_above(self, value: Poly) -> ConcaveFunction:
        """Bound a value from above by a function of the volume. Raises UndividedError."""
        start, slope, sizes = self._split_linear_bound(value)
        return bound_size_sum_by_volume_above(sizes, self.weights, self.caps, self.high).with_line(
            (start, slope), self.high
        )

    def _bound_above_linearly(self, value: Poly) -> LinearBound:
        start, slope, sizes = self._split_linear_bound(value)
        # The whole volume may be that of the size with the largest slope.
        return start, slope + max(sizes.values(), default=RATIONAL_ZERO)

    def _split_linear_bound(self, value: Poly) -> tuple[fmpq, fmpq, dict[str, fmpq]]:
        """Bound a value from above: the part at volume 0, the slope of nonlinear terms, and slopes of sizes by name."""
        start, slope = RATIONAL_ZERO, RATIONAL_ZERO
        sizes: dict[str, fmpq] = {}
        for monomial, number in self._replace_data_symbols(value).terms.items():
            match monomial:
                case ():
                    start += number
                case ((Symbol(name=name), 1),) if name in self.weights:
                    if number > 0:
                        sizes[name] = number / self.weights[name]
                case _ if number > 0:
                    base, rise = self._bound_product_above(monomial)
                    start, slope = start + number * base, slope + number * rise
                case _ if not all(self._is_nonnegative(atom) and power > 0 for atom, power in monomial):
                    raise UndividedError
                case _:
                    pass
        return max(start, RATIONAL_ZERO), slope, sizes

    def _replace_data_symbols(self, value: Poly) -> Poly:
        """Replace data-dependent symbols in which the value is linear by their bounds, the last defined first."""
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

    def _is_nonnegative(self, atom: Atom) -> bool:
        nonnegative_kind = isinstance(atom, a.CeilLog2 | a.PositivePart) or (
            isinstance(atom, Symbol) and atom.name in self.weights
        )
        return nonnegative_kind or self.case.facts.nonnegative(Poly.of_atom(atom))

    def _bound_product_above(self, monomial: Monomial) -> LinearBound:
        """Bound a product of nonnegative factors: the first linearly in the volume, other factors by their maxima."""
        start, slope = fmpq(1), RATIONAL_ZERO
        for position, (atom, power) in enumerate(monomial):
            if power < 0 or not self._is_nonnegative(atom):
                raise UndividedError
            base, rise = self._bound_atom_above(atom)
            maximum = base + rise * self.high
            if position:
                start, slope = start * maximum**power, slope * maximum**power
            else:
                start, slope = base * maximum ** (power - 1), rise * maximum ** (power - 1)
        return start, slope

    def _bound_atom_above(self, atom: Atom) -> LinearBound:
        match atom:
            case Symbol(name=name) if name in self.weights:
                return RATIONAL_ZERO, 1 / self.weights[name]
            case Symbol(name=name) if name in self.case.bounds and (upper := self.case.bounds[name][1]):
                lines = (self._bound_above_linearly(bound.substitute(self.numbers)) for bound in upper)
                return min(lines, key=lambda line: line[0] + line[1] * self.high)
            case a.CeilLog2(argument=argument):
                base, rise = self._bound_above_linearly(argument)
                return fmpq((int((base + rise * self.high).ceil()) - 1).bit_length()), RATIONAL_ZERO
            case a.PositivePart(argument=argument):
                return self._bound_above_linearly(argument)
            case a.Floor(argument=argument, modulus=modulus) if modulus.is_constant:
                base, rise = self._bound_above_linearly(argument)
                return base / modulus.constant_term, rise / modulus.constant_term
            case _:
                raise UndividedError


def require_constant(value: Poly) -> fmpq:
    """Return the value of a constant expression. Raises UndividedError for other expressions."""
    if not value.is_constant:
        raise UndividedError
    return value.constant_term


def _require_integer(value: Poly) -> int:
    number = require_constant(value)
    if number.q != 1:
        raise UndividedError
    return int(number.p)


@dataclass(eq=False)
class ConcaveSolver(ABC):
    """Bounds the cost of calls in each state by a concave function of the volume; subclasses define the cost."""

    volumes: CaseCache
    _found: dict[CallState, tuple[fmpq, ConcaveFunction]] = field(default_factory=dict)
    _active: set[CallState] = field(default_factory=set)

    def bound_state_cost_above(self, state: CallState, end: fmpq) -> ConcaveFunction:
        """Bound the cost of calls in a state, as a function of volumes up to `end`. Raises UndividedError."""
        cached = self._found.get(state)
        if cached is not None and cached[0] >= end:
            return cached[1]
        if state in self._active or len(self._found) > MAX_SOLVED_STATES:
            raise UndividedError
        self._active.add(state)
        try:
            solution = self._solve(state, end)
        finally:
            self._active.remove(state)
        self._found[state] = end, solution
        return solution

    def _solve(self, state: CallState, end: fmpq) -> ConcaveFunction:
        """Extend the bound from small volumes to larger ones, as calls have at most a share of the caller's volume."""
        cases = [case for case in self.volumes.cases(state, end) if not _is_trivial_case(case, state)]
        calls = [call for case in cases for call in case.calls]
        first = min((case.low for case in cases if case.calls), default=end)
        solved, done = self._bound_small_calls_above(
            state, [case for case in cases if not case.calls], min(first, end), end
        )
        share = max((call.share for call in calls if call.state == state), default=RATIONAL_ZERO)
        while done is not None:
            # Recursive calls have volumes at most `done`, up to which the bound is solved.
            if share == 1 or (share and not done):
                raise UndividedError
            following = min(end, done / share) if share else end
            at_call = partial(self._bound_call_cost_above, state, solved, end)
            points = [
                point
                for case in cases
                if case.low <= following and done <= case.high
                for case_bound in self._iterate_case_bounds(case, at_call)
                for point in case_bound.iterate_breakpoints(max(done, case.low), min(following, case.high))
            ]
            solved = concave_majorant([*solved.iterate_breakpoints(RATIONAL_ZERO, done), *points])
            done = following if following < end else None
        return solved

    def _bound_call_cost_above(
        self, caller: CallState, solved: ConcaveFunction, end: fmpq, call: CallAtSizes
    ) -> ConcaveFunction:
        """Bound the cost of a call by its volume; a constant if the volume is a number."""
        if call.volume is not None:
            return ConcaveFunction(self.bound_state_cost_above(call.state, call.volume).evaluate(call.volume))
        return solved if call.state == caller else self.bound_state_cost_above(call.state, call.share * end)

    @abstractmethod
    def _bound_small_calls_above(
        self, state: CallState, leaves: Sequence[CaseAtSizes], first: fmpq, end: fmpq
    ) -> tuple[ConcaveFunction, fmpq | None]:
        """Bound the cost of calls of small volumes, without bounds on recursive calls.

        `leaves` are the cases without calls, and `first` is the volume from which on cases with calls apply.
        Returns the bound and the volume up to which it holds, at least `first`; None instead of the volume if
        it is `end`.
        """

    @abstractmethod
    def _iterate_case_bounds(
        self, case: CaseAtSizes, at_call: Callable[[CallAtSizes], ConcaveFunction]
    ) -> Iterator[ConcaveFunction]:
        """Yield functions whose maximum bounds the cost of a case."""


@dataclass(eq=False)
class StackWordsSolver(ConcaveSolver):
    """Bounds the stack words of the local arrays of a call and its callees; one callee is active at a time."""

    def _bound_small_calls_above(
        self, state: CallState, leaves: Sequence[CaseAtSizes], first: fmpq, end: fmpq
    ) -> tuple[ConcaveFunction, fmpq | None]:
        return _bound_leaf_cases_above(leaves, first), first

    def _iterate_case_bounds(
        self, case: CaseAtSizes, at_call: Callable[[CallAtSizes], ConcaveFunction]
    ) -> Iterator[ConcaveFunction]:
        yield case.cost
        for call in case.calls:
            yield add_functions([at_call(call).scale_argument(call.share), case.cost])


StackWordsBound = Callable[[CallState, fmpq], ConcaveFunction]
"""A function that bounds the stack words of calls in a state, as a function of volumes up to an end."""


@dataclass(eq=False)
class FetchedLinesSolver(ConcaveSolver):
    """Bounds the lines that a call fetches, times L; `line` is L, and `room` the cache size in words.

    `making` bounds the stack words of calls.
    """

    line: int = 1
    room: int = 0
    making: StackWordsBound = lambda *_: ConcaveFunction()

    def _bound_small_calls_above(
        self, state: CallState, leaves: Sequence[CaseAtSizes], first: fmpq, end: fmpq
    ) -> tuple[ConcaveFunction, fmpq | None]:
        leaf = _bound_leaf_cases_above(leaves, first)
        given = bound_argument_words_above(state, self.line, end)
        touched = add_functions([given, self.making(state, end)])
        fitting = _find_largest_argument(touched, fmpq(self.room), end)
        if fitting is None:
            return leaf, first
        both = min(first, fitting)
        points = [*pointwise_minimum(leaf, touched, both).iterate_breakpoints(RATIONAL_ZERO, both)]
        points += (leaf if fitting < first else touched).iterate_breakpoints(both, max(first, fitting))
        return concave_majorant(points), max(first, fitting) if fitting < end else None

    def _iterate_case_bounds(
        self, case: CaseAtSizes, at_call: Callable[[CallAtSizes], ConcaveFunction]
    ) -> Iterator[ConcaveFunction]:
        start = sum((call.count * at_call(call).start for call in case.calls if call.volume is not None), RATIONAL_ZERO)
        varying = [call for call in case.calls if call.volume is None for _ in range(call.count)]
        if case.share is not None:
            # The volumes of these calls add up to at most this share of the caller's.
            inner = sup_convolve(map(at_call, varying)).scale_argument(case.share)
        else:
            inner = add_functions([at_call(call).scale_argument(call.share) for call in varying])
        yield add_functions([inner, case.cost, ConcaveFunction(start)])


def _bound_leaf_cases_above(leaves: Sequence[CaseAtSizes], end: fmpq) -> ConcaveFunction:
    """Bound the cost of cases without calls, as a function of volumes up to `end`."""
    points: list[Point] = []
    for leaf in leaves:
        if leaf.low <= end:
            points += leaf.cost.iterate_breakpoints(leaf.low, min(leaf.high, end))
    return concave_majorant(points)


def _find_largest_argument(value: ConcaveFunction, most: fmpq, end: fmpq) -> fmpq | None:
    """Find the largest argument, up to `end`, at which a nondecreasing function is at most `most`; None if none is."""
    if value.start > most:
        return None
    argument, height = RATIONAL_ZERO, value.start
    for width, slope in value.pieces:
        if height + width * slope > most:
            return min(end, argument + (most - height) / slope)
        argument, height = argument + width, height + width * slope
    return end


def _is_trivial_case(case: CaseAtSizes, state: CallState) -> bool:
    """Test whether a case costs nothing and only makes one call in the same state."""
    match case.calls:
        case (call,):
            return call.count == 1 and call.state == state and case.cost == ConcaveFunction()
        case _:
            return False
