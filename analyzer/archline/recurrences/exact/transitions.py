"""Equations as steps: what a case adds, and the calls it makes with their factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from weakref import WeakKeyDictionary

from archline.algebra import atoms as a
from archline.algebra.disjunctions import Alternatives, Knowledge, alternatives
from archline.algebra.effort import TooComplexError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly, total
from archline.algebra.prove.prover import never_negative
from archline.numbers import fmpq
from archline.records import record, replace
from archline.recurrences.exact.at_call import sizes_of_call
from archline.recurrences.model import Equation, SizeFunction, by_call, calls

MAX_LEAST = 1 << 12

_least: WeakKeyDictionary[Facts, dict[Poly, int | None]] = WeakKeyDictionary()
"""What was found: every metric of an algorithm asks the same of its calls, for each side of it."""


@record(eq=False)
class Transition:
    """One alternative of an equation: forcing + sum of factor*call, under facts."""

    equation: Equation
    facts: Facts
    forcing: Poly
    calls: tuple[tuple[Poly, a.Applied], ...]

    @cached_property
    def data(self) -> tuple[str, ...]:
        """The integers in it that only the data gives."""
        parts = [self.forcing, *(part for factor, call in self.calls for part in (factor, *call.arguments))]
        names = frozenset[str]().union(*(part.names for part in parts))
        return tuple(name for name in self.equation.data if name in names)

    @cached_property
    def count(self) -> fmpq:
        """How many calls it makes; 0 where that is no number."""
        made = total(factor for factor, _ in self.calls)
        return made.constant_term if made.is_constant else fmpq(0)


@record(eq=False)
class Region:
    """Least values of a function's symbols (sizes, or the exponents they are written in) in a recursive call."""

    least: Mapping[str, int]

    def holds(self, point: Mapping[str, object]) -> bool:
        """Whether a point may be that of a call."""
        return all(point[name] >= low for name, low in self.least.items())  # type: ignore[operator]

    def holds_all(self, other: Region) -> bool:
        """Whether every point of the other one is a point of this one."""
        return all(name in other.least and other.least[name] >= low for name, low in self.least.items())


Rank = tuple[Fraction, str]


Foreign = Mapping[str, Callable[[tuple[Poly, ...], Facts], Poly]]
"""Closed bounds of functions outside the system, by name: from arguments and facts."""


def steps_of(
    equation: Equation,
    upper: bool,
    prefer: Callable[[Poly], Rank] = lambda value: (Fraction(0), value.key),
    foreign: Foreign | None = None,
) -> list[Transition]:
    """Steps that together bound an equation: from above all that it is the largest of and one that it is the least of.

    From below the other way round. `prefer` ranks where one is chosen. `foreign` bounds the calls of other functions.
    Raises TooComplexError where calls are multiplied.
    """
    value = alternatives(equation.value, a.Applied)
    return [_step(equation, needed, foreign or {}) for needed in _needed_values(value, upper, prefer)]


def _needed_values(value: Poly | Alternatives, upper: bool, prefer: Callable[[Poly], Rank]) -> list[Poly]:
    if isinstance(value, Poly):
        return [value]
    found = [_needed_values(each, upper, prefer) for each in value.parts]
    if value.least == upper:
        # One is enough: the tightest, where they can be ranked.
        ranked = sorted(found, key=lambda each: prefer(each[0]))
        return ranked[0] if upper else ranked[-1]
    return [step for each in found for step in each]


def _step(equation: Equation, value: Poly, foreign: Foreign) -> Transition:
    forcing, factors = by_call(value)
    called = []
    for atom, factor in factors.items():
        if not equation.facts.nonnegative(factor):
            raise TooComplexError("how often a recursive call is made is not known to be at least 0")
        if atom.function in foreign:
            forcing = forcing + factor * foreign[atom.function](atom.arguments, equation.facts)
        else:
            called.append((factor, atom))
    nested = [part for factor, atom in called for part in (factor, *atom.arguments)]
    if calls(forcing) or any(map(calls, nested)):
        raise TooComplexError("the cost of a recursive call is inside another expression")
    return Transition(equation, equation.facts, forcing, tuple(called))


def with_call_facts(step: Transition, function: SizeFunction) -> Transition:
    """The step with what its calls imply: their sizes are ones that the declaration allows, or the run stops."""
    values = [
        argument - function.least[name]
        for factor, call in step.calls
        # A call that is made at all.
        if step.facts.nonnegative(factor - 1)
        for name, argument in zip(function.parameters, call.arguments, strict=True)
        if name in function.least and not step.facts.nonnegative(argument - function.least[name])
    ]
    known = Knowledge(step.facts).learn([tuple(values)]) if values else None
    return step if known is None else replace(step, facts=known.facts)


def call_regions(function: SizeFunction, steps: Sequence[Transition]) -> tuple[Region, ...]:
    """Where the function is called by itself. Raises NotComparableError."""
    found: list[Region] = []
    for step in steps:
        for _, call in step.calls:
            given = sizes_of_call(function, call.arguments)
            least = {name: low for name, value in given.items() if (low := least_of(value, step.facts)) is not None}
            new = Region(least)
            if not any(each.holds_all(new) for each in found):
                found = [*(each for each in found if not new.holds_all(each)), new]
    return tuple(found)


def least_of(value: Poly, facts: Facts) -> int | None:
    """The greatest constant that the value is proved to be at least, as far as it is searched."""
    known = _least.setdefault(facts, {})
    if value not in known:
        known[value] = _least_of(value, facts)
    return known[value]


def _least_of(value: Poly, facts: Facts) -> int | None:
    low = next((low for low in (0, -1, -4) if facts.nonnegative(value - low)), None)
    if low is None:
        return None
    step = 1
    while step <= MAX_LEAST and facts.nonnegative(value - low - step):
        step *= 2
    while step > 1:
        step //= 2
        if facts.nonnegative(value - low - step):
            low += step
    return low + 1 if never_negative(value - low - 1, facts) else low


def reached_transitions(step: Transition, regions: Sequence[Region]) -> Iterator[Transition]:
    """A step of a case without calls in every region that recursive calls reach; others as they are, at any size."""
    if step.calls or step.equation.recursive:
        yield step
        return
    for region in regions:
        values = [Poly.symbol(name) - low for name, low in region.least.items() if name in step.facts.bounds]
        known = Knowledge(step.facts).learn([tuple(values)])
        if known is not None:
            yield replace(step, facts=known.facts)
