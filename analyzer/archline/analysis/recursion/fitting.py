"""Closed forms fitted to a function's values, which hold where they satisfy the equation of every case identically."""

from __future__ import annotations

from archline.algebra.polynomial import Poly
from archline.analysis.recursion.bases import bases
from archline.analysis.recursion.context import Context
from archline.analysis.recursion.program import Coefficients, Program
from archline.analysis.recursion.system import Equation


def exact(context: Context) -> Poly | None:
    """The function itself as a closed form, for all sizes at which it calls itself, and those calls' sizes."""
    for elements in bases(context.function, *context.forcings()):
        program = Program(context.writer, context.function, elements, context.upper)
        coefficients = program.fitted(context.weighed)
        if coefficients is not None and _satisfied(context, program, coefficients):
            return program.value(coefficients)
    return None


def _satisfied(context: Context, program: Program, coefficients: Coefficients) -> bool:
    """Every case holds: with equality in one of the steps that it is the largest of, and none is larger."""
    equal: dict[Equation, bool] = {}
    for step in context.steps:
        same = program.proves_equal(step, coefficients)
        if not same and not program.proves(step, coefficients):
            return False
        equal[step.equation] = equal.get(step.equation, not step.calls) or same
        if not same and not step.calls:
            return False
    return all(equal.values())
