"""Cases whose calls stay among themselves, one group after the other: each with its own bound.

LCS by quadrants cuts a narrow matrix across: from there on it stays narrow, and costs about n*m. The cases above are
then bounded with that for what their narrow calls cost, as with the cost of a case without calls.
"""

from __future__ import annotations

from collections.abc import Sequence

from archline.algebra import atoms as a
from archline.algebra.effort import OutOfBudgetError, budget
from archline.language import call_graph
from archline.records import record, replace
from archline.recurrences.exact.at_call import NotComparableError, sizes_of_call
from archline.recurrences.exact.base_cases import clamped
from archline.recurrences.exact.constraints import GOOD, ProvedBound
from archline.recurrences.exact.search import Given, bound
from archline.recurrences.model import Equation, SizeFunction, among, calls

MAX_EFFORT = 3_000_000


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
        """Where the bounds of each layer hold, as regimes tell it; empty for the last."""
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
    return any(
        call.function == function.name and not _outside(function, caller, call, called) for call in calls(caller.value)
    )


def _outside(function: SizeFunction, caller: Equation, call: a.Applied, called: Equation) -> bool:
    """Whether what the conditions of a case say is wrong at the sizes of a call."""
    try:
        given = sizes_of_call(function, call.arguments)
    except NotComparableError:
        return False
    facts = caller.facts
    return any(facts.nonnegative(facts.simplify(-each.substitute(given) - 1)) for each in called.known)
