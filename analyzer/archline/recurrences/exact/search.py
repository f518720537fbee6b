"""Closed forms and bounds of recurrences, each proved by induction.

A closed form is a sum of elements with unknown coefficients. An exact one is fitted to the function's values at
samples. A bound U must satisfy

    U(x) >= f(x) + sum of factor*U over the calls      (an upper bound; <= for a lower one)

in every case, which is linear in the coefficients. Two ways propose them: the inequalities at samples, or
a proof with unknown coefficients of its own (`synthesis`). Each case is then proved for all sizes.

Cases whose calls stay among themselves, one group after the other: each with its own bound.

LCS by quadrants cuts a narrow matrix across: from there on it stays narrow, and costs about n*m. The cases above are
then bounded with that for what their narrow calls cost, as with the cost of a case without calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction

import numpy as np

from archline.algebra.effort import OutOfBudgetError, TooComplexError, budget
from archline.algebra.evaluate.vectors import as_float
from archline.algebra.polynomial import Poly
from archline.expr.intervals import EvaluationError
from archline.language import call_graph
from archline.numbers import fmpq
from archline.records import field, record, replace
from archline.recurrences.evaluate import PointTable, ValueTable
from archline.recurrences.exact.at_call import NotComparableError, sizes_of_call
from archline.recurrences.exact.base_cases import clamped
from archline.recurrences.exact.basis import BasisTerm, bases, shallow
from archline.recurrences.exact.coefficient_lp import CoefficientProgram, Coefficients
from archline.recurrences.exact.constraints import FAIR, GOOD, NEAR_ENOUGH, Context, ProvedBound
from archline.recurrences.exact.samples import Pool
from archline.recurrences.exact.synthesis import Synthesis
from archline.recurrences.exact.transitions import Foreign, Transition
from archline.recurrences.model import BoundSide, Equation, SizeFunction, among

ROUNDS = 6
MAX_FAILED = 2
ROOM = (fmpq(1, 8), fmpq(1, 3))
WORST = 4
UNITS = (fmpq(1), fmpq(2), fmpq(4), fmpq(16), fmpq(64))
RAISED_UNITS = (fmpq(1), fmpq(4))
ENOUGH = 2
MAX_EFFORT = 3_000_000


class Sampling:
    """The search by a linear program over samples: its inequalities hold there, and are then proved for all sizes."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def bound(self) -> ProvedBound | None:
        """The best proved bound: the first whose factor is good, else the one with the least."""
        best = self._shallow()
        if best is not None:
            return best
        for turn, elements in enumerate(bases(self._context.function, *self._context.forcings())):
            found = self._try(elements, best)
            if found is not None and found.better(best):
                best = found
            unknown = self._context.values is None
            if best is not None and unknown and not (self._context.upper and self._context.very_far):
                # Nothing tells how near it is.
                break
            if best is not None and best.steady and best.factor <= (GOOD if turn < ENOUGH else FAIR):
                break
        return best

    def _shallow(self) -> ProvedBound | None:
        """An upper bound that grows with the depth of the calls alone, whatever the data makes of the sizes."""
        if not self._context.upper or self._context.values is not None:
            return None
        tried = (self._try(tuple(map(BasisTerm, each))) for each in shallow(self._context.function))
        return next((each for each in tried if each is not None), None)

    def _try(self, elements: tuple[BasisTerm, ...], best: ProvedBound | None = None) -> ProvedBound | None:
        """A bound made of some elements, which may be better than the best so far."""
        context = self._context
        program = CoefficientProgram(context.writer, context.function, context.written(elements), context.upper)
        try:
            for step, point in self._context.points:
                program.require(step, point)
        except EvaluationError:
            # A call under a guard inside has no sizes there; such programs are left to other means.
            return None
        for point, value in self._context.weighed:
            program.prefer(point, Fraction(1, 1 << int(value).bit_length()))
            if self._context.values is not None:
                program.limit(point, value)
        pools = [(step, Pool(context.function, step, program.elements)) for step in context.steps]
        simple = False
        for _ in range(ROUNDS):
            coefficients = program.solve()
            if coefficients is None:
                return None
            broken = self._broken(pools, coefficients)
            if not broken:
                near = list(self._near(coefficients))
                if best is not None and context.values is None:
                    # Where values are known, bounds are compared when they are proved.
                    near = [each for each in near if context.bound(program.value(each[0])).better(best)]
                if not near:
                    return None
                found = self._proved(program, pools, near)
                if found is not None:
                    return found
                if simple:
                    return None
                simple = True
                program.drop_needless(coefficients)
                if program.linear:
                    function = context.function
                    pools.extend((s, Pool(function, s, program.elements, far=True)) for s in context.steps)
            for step, point in broken:
                # A watched point may have sizes that no call has.
                with suppress(EvaluationError):
                    program.require(step, context.placed(point))
        return None

    def _broken(
        self, pools: list[tuple[Transition, Pool]], coefficients: Coefficients
    ) -> list[tuple[Transition, dict[str, int]]]:
        near = np.array([as_float(each) for each in coefficients])
        return [(step, point) for step, pool in pools for point in pool.worst(near, self._context.upper, WORST)]

    def _near(self, best: Coefficients) -> Iterator[tuple[Coefficients, bool]]:
        """Coefficients near the best ones, and those themselves, and which of them are short."""
        yield from ((each, True) for each in _rounded(best, self._context.upper))
        yield best, False
        if self._context.upper and self._context.function.facts.powers:
            yield from ((each, False) for each in _raised(best))

    def _proved(
        self,
        program: CoefficientProgram,
        pools: list[tuple[Transition, Pool]],
        near: Sequence[tuple[Coefficients, bool]],
    ) -> ProvedBound | None:
        """The bound with the first of some coefficients with which it is proved: the short ones come first."""
        order = list(self._context.steps)
        failed = 0
        for coefficients, short in near:
            if (short and failed >= MAX_FAILED) or self._broken(pools, coefficients):
                continue
            open_ = next((step for step in order if not program.proves(step, coefficients)), None)
            if open_ is None:
                return self._context.bound(program.value(coefficients))
            # What fails with some coefficients mostly fails with others.
            failed += 1
            order = [open_, *(step for step in order if step is not open_)]
        return None


def _rounded(coefficients: Coefficients, upper: bool) -> Iterator[Coefficients]:
    """Coefficients as multiples of a unit, to the nearest or to the safe side."""
    for unit in UNITS:
        yield _nearest(coefficients, unit)
        yield tuple((-(-each * unit).floor() if upper else (each * unit).floor()) / unit for each in coefficients)


def _raised(coefficients: Coefficients) -> Iterator[Coefficients]:
    """Those of an upper bound with room for its proof: all times a factor, as multiples of a unit or as they are.

    Where U(x) >= f(x) + sum of U over the calls and f >= 0, the same holds of c*U for c >= 1, with (c - 1)*f to spare.
    """
    for room in ROOM:
        moved = tuple(each * (1 + room) for each in coefficients)
        yield from (_nearest(moved, unit) for unit in RAISED_UNITS)
        yield moved


def _nearest(coefficients: Coefficients, unit: fmpq) -> Coefficients:
    return tuple((each * unit + fmpq(1, 2)).floor() / unit for each in coefficients)


def exact(context: Context) -> ProvedBound | None:
    """The function itself as a closed form, for all sizes at which it calls itself, and those calls' sizes.

    It is fitted to values, and holds where it satisfies the equation of every case identically.
    """
    for elements in bases(context.function, *context.forcings()):
        program = CoefficientProgram(context.writer, context.function, elements, context.upper)
        coefficients = program.fitted(context.weighed)
        if coefficients is None:
            continue
        equal = _satisfied(context, program, coefficients)
        if equal is not None:
            value = program.value(coefficients)
            return ProvedBound(value, Fraction(1), Fraction(1), True, tuple(context.steps), equal)
    return None


def _satisfied(
    context: Context, program: CoefficientProgram, coefficients: Coefficients
) -> frozenset[Transition] | None:
    """Every case holds: with equality in one of the steps that it is the largest of, and none is larger.

    The steps that hold with equality; None where a case does not hold.
    """
    equal: dict[Equation, bool] = {}
    same_in: set[Transition] = set()
    for step in context.steps:
        same = program.proves_equal(step, coefficients)
        if not same and not program.proves(step, coefficients):
            return None
        equal[step.equation] = equal.get(step.equation, not step.calls) or same
        if same:
            same_in.add(step)
        elif not step.calls:
            return None
    return frozenset(same_in) if all(equal.values()) else None


@record
class Given:
    """What a search starts from: what is known of other functions, and the values of all, where sizes give them.

    `capped`: whether bounds may have terms that cut sizes off at numbers. `places`: where terms were looked at before.
    """

    foreign: Mapping[BoundSide, Foreign]
    values: ValueTable | None
    capped: bool = True
    places: PointTable = field(default_factory=PointTable)


def exact_form(function: SizeFunction, given: Given) -> ProvedBound | None:
    """A closed form of a function of the sizes alone, or None where none is found."""
    try:
        return exact(Context(function, True, given.foreign[BoundSide.EXACT], given.values, places=given.places))
    except (NotComparableError, TooComplexError):
        return None


def bound(
    function: SizeFunction, upper: bool, given: Given, everywhere: bool = False, wanted: Fraction = NEAR_ENOUGH
) -> ProvedBound | None:
    """The best of what is found for the function.

    `everywhere`: for all sizes, those that only an outermost call has included. `wanted` is the factor at which a bound
    that grows as the function does is near enough.
    """
    side = BoundSide.UPPER if upper else BoundSide.LOWER
    try:
        context = Context(function, upper, given.foreign[side], given.values, everywhere, wanted, given.places)
    except NotComparableError:
        return None
    best: ProvedBound | None = None
    searches: list[Synthesis | Sampling] = [Synthesis(context, given.capped), Sampling(context)]
    # Sizes that the data shares out over a power are among the terms of the other search alone.
    for search in reversed(searches) if function.facts.powers and given.values is None else searches:
        try:
            found = search.bound()
        except NotComparableError:
            continue
        if found is not None and found.better(best):
            best = found
        known = context.values is not None and len(function.parameters) == 1
        if best is not None and (not known or (best.steady and best.factor <= FAIR)):
            # It is close, or of the same growth as the function, or no values are known to compare with.
            break
    return best


@record
class CaseComponent:
    """Cases that may call each other, by their places, and those that they may call, directly or not, with leaves."""

    places: tuple[int, ...]
    reached: frozenset[int]


@record(eq=False)
class Layer:
    """Bounds of a group of cases, which are those at these places."""

    places: tuple[int, ...]
    low: ProvedBound
    high: ProvedBound


@record(eq=False)
class Layered:
    """The functions with bounds of all groups but the last in their cases' place, which make no calls so."""

    least: SizeFunction
    most: SizeFunction
    layers: tuple[Layer, ...]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition under which the bounds of each layer hold; empty for the last."""
        cases = self.most.equations
        *inner, last = self.layers
        rest = [cases[place].decisions for place in last.places]
        return (*(" or ".join(among(cases[place].decisions, rest) for place in each.places) for each in inner), "")


def groups(functions: Sequence[SizeFunction]) -> list[CaseComponent]:
    """The places of recursive cases in groups: calls are of the own group, of earlier ones and of no recursive case.

    Of several functions, which are bounds of one and have the same cases, the calls of all.
    """
    calling = [any(each.recursive for each in both) for both in zip(*(f.equations for f in functions), strict=True)]
    places = [place for place, calls_some in enumerate(calling) if calls_some]
    leaves = frozenset(place for place, calls_some in enumerate(calling) if not calls_some)
    called = {
        place: {
            other
            for other in places
            if any(_may_call(each, each.equations[place], each.equations[other]) for each in functions)
        }
        for place in places
    }
    reached = {place: frozenset((place, *call_graph.reached(called.__getitem__, place))) for place in places}
    found = {
        CaseComponent(
            tuple(other for other in places if other in reached[place] and place in reached[other]),
            reached[place] | leaves,
        )
        for place in places
    }
    # What a group reaches that is not of it reaches less.
    return sorted(found, key=lambda group: (len(group.reached), group.places))


Known = tuple[ProvedBound | None, ProvedBound | None]


def layered(least: SizeFunction, most: SizeFunction, known: Known, given: Given) -> Layered | None:
    """Bounds of all groups, those `known` of the functions where there are no better ones; None for only one group."""
    found = groups([least] if least is most else [least, most])
    if len(found) < 2:
        return None
    layers: list[Layer] = []
    try:
        with budget(MAX_EFFORT, own=True):
            for group in found:
                layer = _layer(least, most, group, known, given)
                if layer is None:
                    return None
                layers.append(layer)
                if len(layers) < len(found):
                    least, most = _with_values(least, group, layer.low), _with_values(most, group, layer.high)
    except OutOfBudgetError:
        return None
    return Layered(least, most, tuple(layers))


def _layer(least: SizeFunction, most: SizeFunction, group: CaseComponent, known: Known, given: Given) -> Layer | None:
    ends = []
    for function, upper, whole in ((least, False, known[0]), (most, True, known[1])):
        # What is lost in a group is lost again in those that call it.
        found = bound(_reached(function, group), upper, given, wanted=GOOD)
        best = found if found is not None and found.better(whole) else whole
        if best is None:
            return None
        ends.append(best)
    low, high = ends
    cases = [least.equations[place] for place in group.places]
    return Layer(group.places, replace(low, value=clamped(cases, low.value)), high)


def _reached(function: SizeFunction, group: CaseComponent) -> SizeFunction:
    """The function in a group's cases and in those that they reach."""
    return replace(function, equations=tuple(function.equations[place] for place in sorted(group.reached)))


def _with_values(function: SizeFunction, group: CaseComponent, known: ProvedBound) -> SizeFunction:
    equations = [
        replace(each, value=known.value) if place in group.places else each
        for place, each in enumerate(function.equations)
    ]
    return replace(function, equations=tuple(equations))


def _may_call(function: SizeFunction, caller: Equation, called: Equation) -> bool:
    """Whether a call in one case is not known to be outside of another."""
    made = [given for equation, given in function.own_calls if equation is caller]
    return any(not _outside(function, caller, tuple(given.values()), called) for given in made)


def _outside(function: SizeFunction, caller: Equation, arguments: tuple[Poly, ...], called: Equation) -> bool:
    """Whether what the conditions of a case say is wrong at the sizes of a call."""
    try:
        given = sizes_of_call(function, arguments)
    except NotComparableError:
        return False
    facts = caller.facts
    return any(facts.nonnegative(facts.simplify(-each.substitute(given) - 1)) for each in called.known)
