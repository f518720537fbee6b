"""Closed forms fitted to a function's values, which hold where they satisfy the equation of every case identically."""

from __future__ import annotations

from fractions import Fraction

from archline.recurrences.exact.basis import bases
from archline.recurrences.exact.coefficient_lp import CoefficientProgram, Coefficients
from archline.recurrences.exact.constraints import Bound, Context
from archline.recurrences.exact.transitions import Transition
from archline.recurrences.model import Equation


def exact(context: Context) -> Bound | None:
    """The function itself as a closed form, for all sizes at which it calls itself, and those calls' sizes."""
    for elements in bases(context.function, *context.forcings()):
        program = CoefficientProgram(context.writer, context.function, elements, context.upper)
        coefficients = program.fitted(context.weighed)
        if coefficients is None:
            continue
        equal = _satisfied(context, program, coefficients)
        if equal is not None:
            value = program.value(coefficients)
            return Bound(value, Fraction(1), Fraction(1), True, tuple(context.steps), equal)
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
