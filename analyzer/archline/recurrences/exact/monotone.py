"""Rounding the sizes of calls to one side, which is sound for a function that never falls as its size grows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from archline.algebra import atoms as a
from archline.algebra.evaluate.exact import EvaluationError
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, Poly, TooComplexError
from archline.algebra.prove.residues import never_negative
from archline.recurrences.evaluate.values import Values
from archline.recurrences.exact.transitions import Transition, steps_of
from archline.recurrences.model import Equation, Function, calls

_TWO = Poly.constant(2)


def rounded(function: Function, upper: bool) -> Function | None:
    """A function that bounds this one, whose calls of one half of the size, rounded anyhow, all round to one side.

    None where the function is not known to be nondecreasing, or rounds to one side already.
    """
    if len(function.parameters) != 1 or not function.sizes:
        return None
    if any(call.function != function.name for equation in function.equations for call in calls(equation.value)):
        # Nothing is known of how other functions grow.
        return None
    size = Poly.symbol(function.sizes[0])
    half = a.ceil_div(size, _TWO) if upper else a.floor_div(size, _TWO)
    other = size - half
    changed = tuple(_with_sizes(equation, other, half) for equation in function.equations)
    if all(new is old for new, old in zip(changed, function.equations, strict=True)) or not nondecreasing(function):
        return None
    return replace(function, equations=changed)


def _with_sizes(equation: Equation, old: Poly, new: Poly) -> Equation:
    def moved(atom: Atom) -> Poly | None:
        if isinstance(atom, a.Applied) and atom.arguments == (old,):
            return Poly.of_atom(a.Applied(atom.function, (new,)))
        if not atom.parts:
            return None
        parts = tuple(part.map_atoms(moved) for part in atom.parts)
        return None if parts == atom.parts else atom.rebuild(parts)

    value = equation.value.map_atoms(moved)
    return equation if value == equation.value else replace(equation, value=value)


def nondecreasing(function: Function) -> bool:
    """Whether a function of one size never falls as the size grows: by induction, in each case and across cases."""
    (name,) = function.parameters
    try:
        ranges = sorted((_range(equation, name) for equation in function.equations), key=lambda each: each[0])
        if any(high is None or high + 1 != low for (_, high), (low, _) in pairwise(ranges)):
            return False
        values = Values({function.name: function})
        steady = all(
            values.at(function.name, {name: high}) <= values.at(function.name, {name: high + 1})
            for _, high in ranges
            if high is not None
        )
        return steady and all(
            _grows(step, name) for equation in function.equations for step in steps_of(equation, True)
        )
    except (EvaluationError, TooComplexError):
        return False


def _range(equation: Equation, name: str) -> tuple[int, int | None]:
    known = equation.facts.bounds[name]
    if known.least is None:
        raise EvaluationError(f"`{name}` has no least value")
    return known.least, known.most


def _grows(step: Transition, name: str) -> bool:
    """Whether what a step adds, and the sizes that it calls, grow with the size; factors must be numbers."""
    if any(not factor.is_constant or factor.constant_term < 0 for factor, _ in step.calls):
        return False
    values = [step.forcing, *(each for _, call in step.calls for each in call.arguments)]
    return all(never_negative(_next(value, name) - value, _without_limit(step.facts, name)) for value in values)


def _next(value: Poly, name: str) -> Poly:
    return value.substitute({name: Poly.symbol(name) + 1})


def _without_limit(facts: Facts, name: str) -> Facts:
    return facts.with_bounds({**facts.bounds, name: replace(facts.bounds[name], upper=())})
