"""Growth of functions of several sizes and machine symbols: the recursion is followed in the sizes' logarithms.

A case either costs something and ends, or costs something and calls the function at sizes cut by constants. From a
region of root sizes the recursion then moves along straight segments, from one event to the next: a cut-off is
reached, or the guards give the turn to another case. What each segment and the leaves cost are products of powers of
the root's sizes; one formula is put together from all regions, or one for each case where the growth jumps between
them (then `regimes` holds all of them and `growth` is that of the recursion). Sizes are real and have no floor.
"""

from __future__ import annotations

from archline.algebra.asymptotic.constants import OutOfReachError
from archline.language.format_expressions import format_fact
from archline.recurrences.asymptotic.logspace.costs import PathCosts, pieces
from archline.recurrences.asymptotic.logspace.explain import story
from archline.recurrences.asymptotic.logspace.guards import negated
from archline.recurrences.asymptotic.logspace.numbers import approximate
from archline.recurrences.asymptotic.logspace.paths import paths
from archline.recurrences.asymptotic.logspace.regimes import GrowthRegime, regimes
from archline.recurrences.asymptotic.logspace.system import System, read_system
from archline.recurrences.asymptotic.logspace.text import Printer
from archline.recurrences.asymptotic.logspace.validate import NumericCheck, check
from archline.recurrences.asymptotic.problem import Answer, Recurrence, Refused, Solved

METHOD = "recursion followed in log space"


def solve_multi(problem: Recurrence) -> Answer:
    """Theta of a function of several sizes, or of one with cut-offs by other symbols."""
    try:
        system = read_system(problem)
        found = _pieces(system)
        parts = regimes(system, found)
        steps = _bounded(problem, system, parts) if system.enclosed else story(system, found, parts)
        verdict = check(problem, system, parts, found)
    except OutOfReachError as problem_:
        return Refused(str(problem_))
    if verdict.trouble is not None:
        return Refused(verdict.trouble)
    return _solved(system, parts, steps, verdict)


def _pieces(system: System) -> list[PathCosts]:
    found = [piece for path in paths(system) for piece in pieces(system, path)]
    if not found:
        raise OutOfReachError("no sizes satisfy the facts")
    return found


def _bounded(problem: Recurrence, system: System, parts: list[GrowthRegime]) -> tuple[str, ...]:
    """The steps where some number of nodes is known between bounds only: all costs rise with it."""
    above = read_system(problem, above=True)
    if regimes(above, _pieces(above)) != parts:
        calls = system.enclosed[0][0]
        raise OutOfReachError(f"the nodes of {calls} grow by a power that has no closed form, and the growth shows it")
    lines = [
        f"{calls}: the nodes multiply by a power of the sizes' ratio that has no closed form, {approximate(low):.6f}..."
        for calls, low, _ in system.enclosed
    ]
    return (*lines, "With a bound below it and one above it the growth is the same, and it rises with the nodes.")


def _solved(system: System, parts: list[GrowthRegime], steps: tuple[str, ...], verdict: NumericCheck) -> Solved:
    printer = Printer(system.names.all)
    checked = f"The recurrence itself, evaluated at {verdict.points} sizes over several scales, agrees."
    shown = tuple((_condition(system, part, parts), printer.formula(part.formula)) for part in parts)
    return Solved(
        growth=printer.formula(parts[-1].formula),
        method=METHOD,
        steps=(*steps, checked),
        regimes=shown if len(parts) > 1 else (),
    )


def _condition(system: System, part: GrowthRegime, parts: list[GrowthRegime]) -> str:
    """Where a regime holds, as text."""
    own = [system.rules[case].condition for case in part.cases]
    others = [system.rules[case].condition for each in parts if each is not part for case in each.cases]
    excluded = [negated(each) for each in others if each is not None]
    if all(each is not None for each in own) and (part is not parts[-1] or not excluded):
        return " or ".join(format_fact(each) for each in own if each is not None)
    return " and ".join(excluded)
