"""Whether a recursion ends: amounts that decrease in lexicographic order with every recursive call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly, total
from archline.recurrences.exact.prove import proved
from archline.recurrences.model import Function, calls

SOME = ONE / 1024
Call = tuple[Facts, Mapping[str, Poly]]
"""What is known where a call is made, and its arguments by parameter."""


def ends(function: Function, promised: Iterable[Poly]) -> bool:
    """Whether every recursion is proved to end, by its sizes, by what is promised to be >= 0, or by its header.

    Runs in which the `where` fails, or a measure that the header declares does not decrease, are refused.
    """
    if function.algorithm.decreases:
        return True
    sizes = [Poly.symbol(name) for name in function.least]
    measures = dict.fromkeys((total(sizes), *sizes, *promised))
    open_: list[Call] = [
        (equation.facts, dict(zip(function.parameters, call.arguments, strict=True)))
        for equation in function.equations
        for call in calls(equation.value)
        if call.function == function.name
    ]
    while open_:
        measure = next((each for each in measures if _serves(each, open_)), None)
        if measure is None:
            return False
        open_ = [call for call in open_ if not _falls(measure, call)]
    return True


def _serves(measure: Poly, open_: list[Call]) -> bool:
    """Whether a measure grows in no call, and falls in some."""
    return any(_falls(measure, call) for call in open_) and all(proved(_fall(measure, call), call[0]) for call in open_)


def _falls(measure: Poly, call: Call) -> bool:
    """Whether a measure is proved to be smaller in a call, by so much that it cannot be for ever."""
    fall = _fall(measure, call)
    # Integers fall by 1 where they fall at all, but 4*p <= 3*n and n >= 1 prove of n - p that it is n/4 only.
    return proved(fall - 1, call[0]) or proved(fall - SOME, call[0])


def _fall(measure: Poly, call: Call) -> Poly:
    facts, arguments = call
    return (measure - measure.substitute(arguments)).substitute(facts.rewrites)
