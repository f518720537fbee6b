"""Search closed forms and bounds of recurrences, each proved by induction.

A closed form is a sum of basis terms with unknown coefficients. An exact one is fitted to the function's values at
samples. A bound U must satisfy

    U(x) >= f(x) + sum of factor*U over the calls      (an upper bound; <= for a lower one)

in every case, which is linear in the coefficients: they are found together with a proof (`synthesis`).

Groups of cases whose calls stay in the group are bounded one after the other. LCS by quadrants, for example, cuts a
narrow matrix across, and the parts are narrow too, so that it costs about n*m. The bound of the cases for narrow
matrices then replaces their equations, as if they were base cases of the cases that call them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from archline.algebra.effort import OutOfBudgetError, TooComplexError, limit_effort
from archline.algebra.lp.highs import solve_equations
from archline.algebra.polynomial import Poly, linear_combination, to_rational
from archline.expr.text import format_conjunction
from archline.language import call_graph
from archline.records import field, record, replace
from archline.recurrences.evaluate import PointTable, ValueTable
from archline.recurrences.exact.at_call import NotComparableError, compute_symbol_values_in_call
from archline.recurrences.exact.base_cases import clamp_lower_bound
from archline.recurrences.exact.basis import BasisTerm, iterate_basis_sets
from archline.recurrences.exact.constraints import (
    ACCEPTED_FACTOR,
    FAIR_FACTOR,
    GOOD_FACTOR,
    Coefficients,
    InductionProblem,
    ProvedBound,
    StepWriter,
)
from archline.recurrences.exact.synthesis import Synthesis
from archline.recurrences.exact.transitions import ForeignBounds, Transition
from archline.recurrences.model import BoundSide, Equation, SizeFunction, list_case_conditions

EXTRA_FIT_VALUES = 4
"""The number of values, beyond one for each coefficient, of a first fit before that of all values."""
MAX_EFFORT = 3_000_000


def fit_exact_form(context: InductionProblem) -> ProvedBound | None:
    """Return a closed form of the function at the sizes at which it calls itself and at those of its calls.

    It is fitted to values, and proved if it satisfies the equation of every case identically; None if no form does.
    """
    for elements in iterate_basis_sets(context.function, *context.list_forcings()):
        coefficients = _fit_coefficients(context, elements)
        equal = None if coefficients is None else _find_equal_steps(context, elements, coefficients)
        if coefficients is not None and equal is not None:
            value = linear_combination([element.value for element in elements], coefficients)
            return ProvedBound(value, Fraction(1), Fraction(1), True, tuple(context.steps), equal)
    return None


def _fit_coefficients(context: InductionProblem, elements: Sequence[BasisTerm]) -> Coefficients | None:
    """Return coefficients with which the sum of the basis terms equals all sampled values; None if there are none."""
    points, count = context.weighed, len(elements)
    table = context.writer.places.evaluate_at_points(
        [element.value for element in elements], [point for point, _ in points]
    )
    rows = [[*map(to_rational, row), to_rational(value)] for row, (_, value) in zip(table, points, strict=True)]
    # Most forms do not fit: a few values show this faster than all.
    if len(rows) > count + EXTRA_FIT_VALUES and solve_equations(rows[: count + EXTRA_FIT_VALUES], count) is None:
        return None
    return solve_equations(rows, count)


def _find_equal_steps(
    context: InductionProblem, elements: Sequence[BasisTerm], coefficients: Coefficients
) -> frozenset[Transition] | None:
    """Return the steps in which the form equals the right-hand side; None if the equation of a case does not hold.

    An equation, the maximum of several steps, holds if the form is at least each step and equal to one step.
    """
    equal: dict[Equation, bool] = {}
    equal_steps: set[Transition] = set()
    for step in context.steps:
        margin = _compute_margin(context.writer, step, elements, coefficients)
        if margin is None or not context.writer.proves(step, margin):
            return None
        is_equal = context.writer.proves(step, -margin)
        equal[step.equation] = equal.get(step.equation, not step.calls) or is_equal
        if is_equal:
            equal_steps.add(step)
        elif not step.calls:
            return None
    return frozenset(equal_steps) if all(equal.values()) else None


def _compute_margin(
    writer: StepWriter, step: Transition, elements: Sequence[BasisTerm], coefficients: Coefficients
) -> Poly | None:
    """Return a bound U less the forcing and less U at the calls of a case, in the caller's sizes.

    None if a basis term cannot be written in these at a call.
    """
    margin = -writer.express_forcing(step)
    for element, coefficient in zip(elements, coefficients, strict=True):
        if coefficient:
            gain = writer.compute_gain(step, element)
            if gain is None:
                return None
            margin = margin + gain.scaled(coefficient)
    # Atoms of sizes that the case fixes are numbers.
    bounds = step.facts.bounds.items()
    return margin.substitute({name: low for name, bound in bounds for low in bound.lower if low in bound.upper})


@record
class SearchInputs:
    """The inputs of a search: bounds of other functions (`foreign`), and all functions' values if sizes determine them.

    `capped`: whether bounds may have terms that cut sizes off at numbers. `places`: cached values of terms at points.
    """

    foreign: Mapping[BoundSide, ForeignBounds]
    values: ValueTable | None
    capped: bool = True
    places: PointTable = field(default_factory=PointTable)


def search_exact_form(function: SizeFunction, inputs: SearchInputs) -> ProvedBound | None:
    """Return the closed form of a function whose values the sizes determine; None if none is found."""
    try:
        return fit_exact_form(
            InductionProblem(function, True, inputs.foreign[BoundSide.EXACT], inputs.values, places=inputs.places)
        )
    except (NotComparableError, TooComplexError):
        return None


def search_bound(
    function: SizeFunction,
    upper: bool,
    inputs: SearchInputs,
    everywhere: bool = False,
    target: Fraction = ACCEPTED_FACTOR,
) -> ProvedBound | None:
    """Return the best bound of the function that the searches find; None if all fail.

    `everywhere`: for all sizes, also if no recursive call has them. `target` is the ratio to the function at which a
    bound of the right growth is near enough.
    """
    side = BoundSide.UPPER if upper else BoundSide.LOWER
    try:
        context = InductionProblem(
            function, upper, inputs.foreign[side], inputs.values, everywhere, target, inputs.places
        )
    except NotComparableError:
        return None
    best: ProvedBound | None = None
    search = Synthesis(context, inputs.capped)
    searches = [search.search_signed_sets, search.search_basis_sets]
    # Only the basis sets have terms for sizes that the data divides among a power of 2 of parts.
    for search_sets in reversed(searches) if function.facts.powers and inputs.values is None else searches:
        try:
            bound = search_sets()
        except NotComparableError:
            continue
        if bound is not None and bound.is_better(best):
            best = bound
        is_comparable = context.values is not None and len(function.parameters) == 1
        if best is not None and (not is_comparable or (best.steady and best.factor <= FAIR_FACTOR)):
            # The bound is near enough, or cannot be compared with values.
            break
    return best


@record
class CaseComponent:
    """A group of cases that may call each other, and all cases that they reach, base cases included; by index."""

    places: tuple[int, ...]
    reached: frozenset[int]


@record(eq=False)
class ComponentBounds:
    """The bounds of a group of cases; `places` are the indices of the cases."""

    places: tuple[int, ...]
    low: ProvedBound
    high: ProvedBound


@record(eq=False)
class LayeredSystem:
    """Functions in which bounds replace the values of all groups of cases but the last, so that these make no calls."""

    least: SizeFunction
    most: SizeFunction
    layers: tuple[ComponentBounds, ...]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The condition under which the bounds of each layer hold, as text; empty for the last layer."""
        cases = self.most.equations
        *inner, last = self.layers
        rest = [cases[place].decisions for place in last.places]
        regions = (
            " or ".join(format_conjunction(list_case_conditions(cases[i].decisions, rest)) for i in layer.places)
            for layer in inner
        )
        return (*regions, "")


def find_case_components(functions: Sequence[SizeFunction]) -> list[CaseComponent]:
    """Group the recursive cases so that calls stay in their group or go to earlier groups and base cases.

    If two functions with the same cases bound one, the calls of both count.
    """
    calling = [any(case.recursive for case in cases) for cases in zip(*(f.equations for f in functions), strict=True)]
    places = [place for place, calls_some in enumerate(calling) if calls_some]
    leaves = frozenset(place for place, calls_some in enumerate(calling) if not calls_some)
    called = {
        place: {
            target
            for target in places
            if any(_may_call(function, function.equations[place], function.equations[target]) for function in functions)
        }
        for place in places
    }
    reached = {place: frozenset((place, *call_graph.traverse_reachable(called.__getitem__, place))) for place in places}
    components = {
        CaseComponent(
            tuple(target for target in places if target in reached[place] and place in reached[target]),
            reached[place] | leaves,
        )
        for place in places
    }
    # A group reaches fewer cases than the groups that call it.
    return sorted(components, key=lambda group: (len(group.reached), group.places))


BoundPair = tuple[ProvedBound | None, ProvedBound | None]


def bound_functions_by_component(
    least: SizeFunction, most: SizeFunction, known: BoundPair, inputs: SearchInputs
) -> LayeredSystem | None:
    """Bound the groups one by one, by the `known` bounds of the functions if better; None if there is one group."""
    components = find_case_components([least] if least is most else [least, most])
    if len(components) < 2:
        return None
    layers: list[ComponentBounds] = []
    try:
        with limit_effort(MAX_EFFORT, own=True):
            for group in components:
                layer = _bound_component(least, most, group, known, inputs)
                if layer is None:
                    return None
                layers.append(layer)
                if len(layers) < len(components):
                    least, most = (
                        _replace_group_by_bound(least, group, layer.low),
                        _replace_group_by_bound(most, group, layer.high),
                    )
    except OutOfBudgetError:
        return None
    return LayeredSystem(least, most, tuple(layers))


def _bound_component(
    least: SizeFunction, most: SizeFunction, group: CaseComponent, whole_bounds: BoundPair, inputs: SearchInputs
) -> ComponentBounds | None:
    bounds = []
    for function, upper, whole in ((least, False, whole_bounds[0]), (most, True, whole_bounds[1])):
        # The error of the bound of a group recurs in the bounds of the groups that call it.
        bound = search_bound(_restrict_to_component(function, group), upper, inputs, target=GOOD_FACTOR)
        best = bound if bound is not None and bound.is_better(whole) else whole
        if best is None:
            return None
        bounds.append(best)
    low, high = bounds
    cases = [least.equations[place] for place in group.places]
    return ComponentBounds(group.places, replace(low, value=clamp_lower_bound(cases, low.value)), high)


def _restrict_to_component(function: SizeFunction, group: CaseComponent) -> SizeFunction:
    return replace(function, equations=tuple(function.equations[place] for place in sorted(group.reached)))


def _replace_group_by_bound(function: SizeFunction, group: CaseComponent, bound: ProvedBound) -> SizeFunction:
    equations = [
        replace(equation, value=bound.value) if place in group.places else equation
        for place, equation in enumerate(function.equations)
    ]
    return replace(function, equations=tuple(equations))


def _may_call(function: SizeFunction, caller: Equation, called: Equation) -> bool:
    """Test whether a call in the case `caller` may have sizes of the case `called`."""
    calls_made = [arguments for equation, arguments in function.own_calls if equation is caller]
    return any(not _is_excluded(function, caller, tuple(arguments.values()), called) for arguments in calls_made)


def _is_excluded(function: SizeFunction, caller: Equation, arguments: tuple[Poly, ...], called: Equation) -> bool:
    """Test whether a condition of the case `called` is proved to be false at the arguments of a call."""
    try:
        sizes = compute_symbol_values_in_call(function, arguments)
    except NotComparableError:
        return False
    facts = caller.facts
    return any(facts.nonnegative(facts.simplify(-condition.substitute(sizes) - 1)) for condition in called.known)
