"""Whether a recursion ends: sizes that decrease in lexicographic order with every recursive call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, Poly, total
from archline.analysis.recursion.finite import proved
from archline.analysis.recursion.system import Function, calls

SOME = ONE / 1024
Measure = Callable[[Sequence[Poly]], Poly]


def ends(function: Function) -> bool:
    """Whether every recursion is proved to end, by its sizes or what the header declares.

    Sizes are never negative. The executor refuses calls in which the declared measure does not decrease.
    """
    if function.algorithm.decreases:
        return True
    count = len(function.least)
    own = [Poly.symbol(name) for name in function.parameters[:count]]
    open_ = [
        (equation.facts, call.arguments[:count])
        for equation in function.equations
        for call in calls(equation.value)
        if call.function == function.name
    ]
    measures: list[Measure] = [total, *(_size(place) for place in range(count))]
    while open_:
        measure = next((each for each in measures if _serves(each, own, open_)), None)
        if measure is None:
            return False
        open_ = [(facts, sizes) for facts, sizes in open_ if not _falls(measure, own, sizes, facts)]
    return True


def _size(place: int) -> Measure:
    return lambda sizes: sizes[place]


def _serves(measure: Measure, own: Sequence[Poly], open_: Sequence[tuple[Facts, Sequence[Poly]]]) -> bool:
    """Whether a measure grows in no call, and falls in some."""
    return any(_falls(measure, own, sizes, facts) for facts, sizes in open_) and all(
        proved(_fall(measure, own, sizes, facts), facts) for facts, sizes in open_
    )


def _falls(measure: Measure, own: Sequence[Poly], sizes: Sequence[Poly], facts: Facts) -> bool:
    """Whether a measure is proved to be smaller in a call."""
    fall = _fall(measure, own, sizes, facts)
    # Sizes are integers: they fall by 1 where they fall at all, as 4*p <= 3*n says of p and n >= 1.
    return proved(fall - 1, facts) or proved(fall - SOME, facts)


def _fall(measure: Measure, own: Sequence[Poly], sizes: Sequence[Poly], facts: Facts) -> Poly:
    return (measure(own) - measure(sizes)).substitute(facts.rewrites)
