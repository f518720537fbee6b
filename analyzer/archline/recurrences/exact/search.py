"""Closed forms and bounds of recurrences, each proved by induction.

A closed form is a sum of elements with unknown coefficients. An exact one is fitted to the function's values at
samples. A bound U must satisfy

    U(x) >= f(x) + sum of factor*U over the calls      (an upper bound; <= for a lower one)

in every case, which is linear in the coefficients: they are found together with a proof (`synthesis`).

Cases whose calls stay among themselves, one group after the other: each with its own bound.

LCS by quadrants cuts a narrow matrix across: from there on it stays narrow, and costs about n*m. The cases above are
then bounded with that for what their narrow calls cost, as with the cost of a case without calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from archline.algebra.effort import OutOfBudgetError, TooComplexError, budget
from archline.algebra.lp.highs import solution
from archline.algebra.polynomial import Poly, combination, rational
from archline.expr.text import conjunction
from archline.language import call_graph
from archline.records import field, record, replace
from archline.recurrences.evaluate import PointTable, ValueTable
from archline.recurrences.exact.at_call import NotComparableError, sizes_of_call
from archline.recurrences.exact.base_cases import clamp_lower_bound
from archline.recurrences.exact.basis import BasisTerm, bases
from archline.recurrences.exact.constraints import (
    FAIR,
    GOOD,
    NEAR_ENOUGH,
    Coefficients,
    InductionProblem,
    ProvedBound,
    StepWriter,
)
from archline.recurrences.exact.synthesis import Synthesis
from archline.recurrences.exact.transitions import Foreign, Transition
from archline.recurrences.model import BoundSide, Equation, SizeFunction, among

BEYOND = 4
"""How many values more than coefficients are fitted first, before all of them."""
MAX_EFFORT = 3_000_000


def exact(context: InductionProblem) -> ProvedBound | None:
    """The function itself as a closed form, for all sizes at which it calls itself, and those calls' sizes.

    It is fitted to values, and holds where it satisfies the equation of every case identically.
    """
    for elements in bases(context.function, *context.forcings()):
        coefficients = _fitted(context, elements)
        equal = None if coefficients is None else _satisfied(context, elements, coefficients)
        if coefficients is not None and equal is not None:
            value = combination([each.value for each in elements], coefficients)
            return ProvedBound(value, Fraction(1), Fraction(1), True, tuple(context.steps), equal)
    return None


def _fitted(context: InductionProblem, elements: Sequence[BasisTerm]) -> Coefficients | None:
    """The coefficients for which the sum takes all known values, where they exist; the simplest of several."""
    points, count = context.weighed, len(elements)
    table = context.writer.places.table([each.value for each in elements], [point for point, _ in points])
    rows = [[*map(rational, row), rational(value)] for row, (_, value) in zip(table, points, strict=True)]
    # What does not fit a few values does not fit all, and mostly nothing does.
    if len(rows) > count + BEYOND and solution(rows[: count + BEYOND], count) is None:
        return None
    return solution(rows, count)


def _satisfied(
    context: InductionProblem, elements: Sequence[BasisTerm], coefficients: Coefficients
) -> frozenset[Transition] | None:
    """Every case holds: with equality in one of the steps that it is the largest of, and none is larger.

    The steps that hold with equality; None where a case does not hold.
    """
    equal: dict[Equation, bool] = {}
    same_in: set[Transition] = set()
    for step in context.steps:
        margin = _inductive_margin(context.writer, step, elements, coefficients)
        if margin is None or not context.writer.proves(step, margin):
            return None
        same = context.writer.proves(step, -margin)
        equal[step.equation] = equal.get(step.equation, not step.calls) or same
        if same:
            same_in.add(step)
        elif not step.calls:
            return None
    return frozenset(same_in) if all(equal.values()) else None


def _inductive_margin(
    writer: StepWriter, step: Transition, elements: Sequence[BasisTerm], coefficients: Coefficients
) -> Poly | None:
    """How much more a sum is than what a step adds to its calls; None where an element cannot be written there."""
    margin = -writer.forcing(step)
    for element, coefficient in zip(elements, coefficients, strict=True):
        if coefficient:
            gain = writer.gain(step, element)
            if gain is None:
                return None
            margin = margin + gain.scaled(coefficient)
    return margin


@record
class SearchInputs:
    """What a search starts from: what is known of other functions, and the values of all, where sizes give them.

    `capped`: whether bounds may have terms that cut sizes off at numbers. `places`: where terms were looked at before.
    """

    foreign: Mapping[BoundSide, Foreign]
    values: ValueTable | None
    capped: bool = True
    places: PointTable = field(default_factory=PointTable)


def exact_form(function: SizeFunction, given: SearchInputs) -> ProvedBound | None:
    """A closed form of a function of the sizes alone, or None where none is found."""
    try:
        return exact(
            InductionProblem(function, True, given.foreign[BoundSide.EXACT], given.values, places=given.places)
        )
    except (NotComparableError, TooComplexError):
        return None


def search_bound(
    function: SizeFunction, upper: bool, given: SearchInputs, everywhere: bool = False, target: Fraction = NEAR_ENOUGH
) -> ProvedBound | None:
    """The best of what is found for the function.

    `everywhere`: for all sizes, those that only an outermost call has included. `target` is the factor at which a bound
    that grows as the function does is near enough.
    """
    side = BoundSide.UPPER if upper else BoundSide.LOWER
    try:
        context = InductionProblem(function, upper, given.foreign[side], given.values, everywhere, target, given.places)
    except NotComparableError:
        return None
    best: ProvedBound | None = None
    search = Synthesis(context, given.capped)
    searches = [search.by_families, search.by_bases]
    # Sizes that the data shares out over a power are among the bases alone.
    for proposed in reversed(searches) if function.facts.powers and given.values is None else searches:
        try:
            found = proposed()
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
class ComponentBounds:
    """Bounds of a group of cases, which are those at these places."""

    places: tuple[int, ...]
    low: ProvedBound
    high: ProvedBound


@record(eq=False)
class LayeredSystem:
    """The functions with bounds of all groups but the last in their cases' place, which make no calls so."""

    least: SizeFunction
    most: SizeFunction
    layers: tuple[ComponentBounds, ...]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition under which the bounds of each layer hold; empty for the last."""
        cases = self.most.equations
        *inner, last = self.layers
        rest = [cases[place].decisions for place in last.places]
        ways = (" or ".join(conjunction(among(cases[at].decisions, rest)) for at in each.places) for each in inner)
        return (*ways, "")


def case_components(functions: Sequence[SizeFunction]) -> list[CaseComponent]:
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


def bound_by_components(
    least: SizeFunction, most: SizeFunction, known: Known, given: SearchInputs
) -> LayeredSystem | None:
    """Bounds of all groups, those `known` of the functions where there are no better ones; None for only one group."""
    found = case_components([least] if least is most else [least, most])
    if len(found) < 2:
        return None
    layers: list[ComponentBounds] = []
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
    return LayeredSystem(least, most, tuple(layers))


def _layer(
    least: SizeFunction, most: SizeFunction, group: CaseComponent, known: Known, given: SearchInputs
) -> ComponentBounds | None:
    ends = []
    for function, upper, whole in ((least, False, known[0]), (most, True, known[1])):
        # What is lost in a group is lost again in those that call it.
        found = search_bound(_reached(function, group), upper, given, target=GOOD)
        best = found if found is not None and found.better(whole) else whole
        if best is None:
            return None
        ends.append(best)
    low, high = ends
    cases = [least.equations[place] for place in group.places]
    return ComponentBounds(group.places, replace(low, value=clamp_lower_bound(cases, low.value)), high)


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
