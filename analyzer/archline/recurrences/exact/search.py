"""Closed forms and bounds of recurrences, each proved by induction.

A closed form is a sum of elements with unknown coefficients. An exact one is fitted to the function's values at
samples (`interpolate`). A bound U must satisfy

    U(x) >= f(x) + sum of factor*U over the calls      (an upper bound; <= for a lower one)

in every case, which is linear in the coefficients. Two ways propose them: the inequalities at samples (`cegis`),
or a proof with unknown coefficients of its own (`synthesis`). Each case is then proved for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from archline.algebra.effort import TooComplexError
from archline.recurrences.evaluate import Places, Values
from archline.recurrences.exact.at_call import NotComparableError
from archline.recurrences.exact.cegis import Sampling
from archline.recurrences.exact.constraints import FAIR, NEAR_ENOUGH, Bound, Context
from archline.recurrences.exact.interpolate import exact
from archline.recurrences.exact.synthesis import Synthesis
from archline.recurrences.exact.transitions import Foreign
from archline.recurrences.model import Function


class Side(Enum):
    """What is wanted of a function."""

    LOWER = "lower bound"
    UPPER = "upper bound"
    EXACT = "closed form"


@dataclass(frozen=True)
class Given:
    """What a search starts from: what is known of other functions, and the values of all, where sizes give them.

    `capped`: whether bounds may have terms that cut sizes off at numbers. `places`: where terms were looked at before.
    """

    foreign: Mapping[Side, Foreign]
    values: Values | None
    capped: bool = True
    places: Places = field(default_factory=Places)


def exact_form(function: Function, given: Given) -> Bound | None:
    """A closed form of a function of the sizes alone, or None where none is found."""
    try:
        return exact(Context(function, True, given.foreign[Side.EXACT], given.values, places=given.places))
    except (NotComparableError, TooComplexError):
        return None


def bound(
    function: Function, upper: bool, given: Given, everywhere: bool = False, wanted: Fraction = NEAR_ENOUGH
) -> Bound | None:
    """The best of what is found for the function.

    `everywhere`: for all sizes, those that only an outermost call has included. `wanted` is the factor at which a bound
    that grows as the function does is near enough.
    """
    side = Side.UPPER if upper else Side.LOWER
    try:
        context = Context(function, upper, given.foreign[side], given.values, everywhere, wanted, given.places)
    except NotComparableError:
        return None
    best: Bound | None = None
    for search in _searches(context, given):
        try:
            found = search()
        except NotComparableError:
            continue
        if found is not None and found.better(best):
            best = found
        if best is not None and _enough(context, best):
            break
    return best


def _enough(context: Context, best: Bound) -> bool:
    """Whether other ways are not worth their time: the bound is near, or grows right, or nothing tells."""
    if context.values is None or len(context.function.parameters) > 1:
        return True
    return best.steady and best.factor <= FAIR


def _searches(context: Context, given: Given) -> Sequence[Callable[[], Bound | None]]:
    """The ways to look for a bound, the most promising first."""
    ways = Synthesis(context, given.capped).bound, Sampling(context).bound
    # Sizes that the data shares out over a power are among the terms of the other search alone.
    return ways[::-1] if context.function.facts.powers and given.values is None else ways
