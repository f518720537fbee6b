"""Split equations into steps, each with the cost that it adds to its calls, and the calls with their factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import chain, combinations
from weakref import WeakKeyDictionary

from archline.algebra import atoms as a
from archline.algebra.disjunctions import Alternatives, Knowledge, split_into_alternatives
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, sum_polynomials
from archline.algebra.prove.prover import prove_never_negative
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.exact.at_call import NotComparableError, compute_symbol_values_in_call
from archline.recurrences.model import Equation, SizeFunction, find_calls, split_value_by_call

MAX_PROVED_MINIMUM = 1 << 12
MAX_OMITTED_CALLS = 4

_minimum_cache: WeakKeyDictionary[Facts, dict[Poly, int | None]] = WeakKeyDictionary()
"""Proved minima by facts and value: all metrics of an algorithm need the same ones, for upper and lower bounds."""


@record(eq=False)
class Transition:
    """One alternative of an equation: forcing + sum of factor*call, under facts."""

    equation: Equation
    facts: Facts
    forcing: Poly
    calls: tuple[tuple[Poly, a.AppliedFunction], ...]

    @cached_property
    def data(self) -> tuple[str, ...]:
        """The symbols in the step for integers that only the data determines."""
        parts = [self.forcing, *(part for factor, call in self.calls for part in (factor, *call.arguments))]
        names = frozenset[str]().union(*(part.names for part in parts))
        return tuple(name for name in self.equation.data if name in names)

    @cached_property
    def call_count(self) -> fmpq:
        """The number of calls of the step; 0 if that is not constant."""
        number = sum_polynomials(factor for factor, _ in self.calls)
        return number.constant_term if number.is_constant else fmpq(0)


@record(eq=False)
class CallRegion:
    """Minimum values of a function's symbols (sizes, or the exponents they are written in) in a recursive call."""

    least: Mapping[str, int]

    def contains(self, point: Mapping[str, object]) -> bool:
        """Test whether a point is in the region."""
        return all(point[name] >= low for name, low in self.least.items())  # type: ignore[operator]

    def contains_region(self, other: CallRegion) -> bool:
        """Test whether this region contains every point of `other`."""
        return all(name in other.least and other.least[name] >= low for name, low in self.least.items())


Rank = tuple[Fraction, str]


ForeignBounds = Mapping[str, Callable[[tuple[Poly, ...], Facts], Poly]]
"""Closed bounds of functions outside the system, by name; each maps arguments and facts to a value."""


def build_steps(
    function: SizeFunction,
    equation: Equation,
    upper: bool,
    prefer: Callable[[Poly], Rank] = lambda value: (Fraction(0), value.key),
    foreign: ForeignBounds | None = None,
) -> list[Transition]:
    """Return steps that together bound an equation: for an upper bound all parts of each maximum, one of each minimum.

    For a lower bound it is the reverse. `prefer` ranks the parts, and the tightest is taken. `foreign` bounds calls of
    other functions. Raises TooComplexError if calls are multiplied with each other or nested.
    """
    value = split_into_alternatives(equation.value, a.AppliedFunction)
    steps = [_build_step(equation, needed, foreign or {}) for needed in _select_needed_values(value, upper, prefer)]
    return [part for step in steps for part in _omit_calls(step, function)] if upper and equation.exits else steps


def _omit_calls(step: Transition, function: SizeFunction) -> Iterator[Transition]:
    """Iterate over a step and the steps that omit some of the calls whose sizes are not proved to be allowed.

    No induction bounds such calls: where their sizes are not allowed, a run ends before it makes them.
    """
    unsure = [pair for pair in step.calls if pair[1].function == function.name and may_leave(function, step, pair[1])]
    if len(unsure) > MAX_OMITTED_CALLS:
        raise TooComplexError("too many recursive calls may have sizes that are not allowed")
    for number in range(len(unsure) + 1):
        for omitted in combinations(unsure, number):
            shorter = replace(step, calls=tuple(pair for pair in step.calls if pair not in omitted))
            # A run that ends early may not reach the integers of the data that the calls need.
            unused = {*step.equation.data} - {*shorter.data} if omitted else ()
            bounds = {name: bound for name, bound in step.facts.bounds.items() if name not in unused}
            yield replace(shorter, facts=step.facts.with_bounds(bounds)) if unused else shorter


def may_leave(function: SizeFunction, caller: Transition | Equation, call: a.AppliedFunction) -> bool:
    """Test whether the sizes of a call of the function are not proved to be allowed.

    Bounds of integers that the data determines hold only where a run reaches these integers.
    """
    if any(name in value.names for value in call.arguments for name in caller.data):
        return True
    try:
        sizes = compute_symbol_values_in_call(function, call.arguments)
    except NotComparableError:
        return True
    needs = (sizes[name] - low for name, low in function.least.items())
    promised = (value.substitute(sizes) for value in function.promised)
    return any(not caller.facts.nonnegative(value) for value in chain(needs, promised))


def _select_needed_values(value: Poly | Alternatives, upper: bool, prefer: Callable[[Poly], Rank]) -> list[Poly]:
    if isinstance(value, Poly):
        return [value]
    part_values = [_select_needed_values(part, upper, prefer) for part in value.parts]
    if value.least == upper:
        # One value is enough: the tightest, if they can be ranked.
        ranked = sorted(part_values, key=lambda values: prefer(values[0]))
        return ranked[0] if upper else ranked[-1]
    return [needed for values in part_values for needed in values]


def _build_step(equation: Equation, value: Poly, foreign: ForeignBounds) -> Transition:
    forcing, factors = split_value_by_call(value)
    own_calls = []
    for atom, factor in factors.items():
        if not equation.facts.nonnegative(factor):
            raise TooComplexError("the number of recursive calls is not known to be at least 0")
        if atom.function in foreign:
            forcing = forcing + factor * foreign[atom.function](atom.arguments, equation.facts)
        else:
            own_calls.append((factor, atom))
    nested = [part for factor, atom in own_calls for part in (factor, *atom.arguments)]
    if find_calls(forcing) or any(map(find_calls, nested)):
        raise TooComplexError("the cost of a recursive call is inside another expression")
    return Transition(equation, equation.facts, forcing, tuple(own_calls))


def add_call_facts(step: Transition, function: SizeFunction) -> Transition:
    """Add facts that the step's calls imply: their sizes are at least the declared minima, or the run stops."""
    values = [
        argument - function.least[name]
        for factor, call in step.calls
        # Only calls that are certainly made imply facts.
        if step.facts.nonnegative(factor - 1)
        for name, argument in zip(function.parameters, call.arguments, strict=True)
        if name in function.least and not step.facts.nonnegative(argument - function.least[name])
    ]
    knowledge = Knowledge(step.facts).assume_disjunction([tuple(values)]) if values else None
    return step if knowledge is None else replace(step, facts=knowledge.facts)


def build_call_regions(function: SizeFunction, steps: Sequence[Transition]) -> tuple[CallRegion, ...]:
    """Return the regions in which the sizes of the function's recursive calls lie. Raises NotComparableError."""
    regions: list[CallRegion] = []
    for step in steps:
        for _, call in step.calls:
            sizes = compute_symbol_values_in_call(function, call.arguments)
            minima = {
                name: low
                for name, value in sizes.items()
                if (low := find_proved_minimum(value, step.facts)) is not None
            }
            region = CallRegion(minima)
            if not any(other_region.contains_region(region) for other_region in regions):
                regions = [*(old for old in regions if not region.contains_region(old)), region]
    return tuple(regions)


def find_proved_minimum(value: Poly, facts: Facts) -> int | None:
    """Return the largest integer that is proved to be at most `value`, up to a limit; None if none is proved."""
    minima = _minimum_cache.setdefault(facts, {})
    if value not in minima:
        minima[value] = _search_minimum(value, facts)
    return minima[value]


def _search_minimum(value: Poly, facts: Facts) -> int | None:
    low = next((low for low in (0, -1, -4) if facts.nonnegative(value - low)), None)
    if low is None:
        return None
    step = 1
    while step <= MAX_PROVED_MINIMUM and facts.nonnegative(value - low - step):
        step *= 2
    while step > 1:
        step //= 2
        if facts.nonnegative(value - low - step):
            low += step
    return low + 1 if prove_never_negative(value - low - 1, facts) else low


def restrict_to_regions(step: Transition, regions: Sequence[CallRegion]) -> Iterator[Transition]:
    """Iterate over the parts of a base step in the regions of recursive calls; other steps are unchanged."""
    if step.calls or step.equation.recursive:
        yield step
        return
    for region in regions:
        values = [Poly.symbol(name) - low for name, low in region.least.items() if name in step.facts.bounds]
        knowledge = Knowledge(step.facts).assume_disjunction([tuple(values)])
        if knowledge is not None:
            yield replace(step, facts=knowledge.facts)
