"""Where a bound of the recursive cases holds: of the others too, or as one that is never below 0."""

from __future__ import annotations

from collections.abc import Iterable

from archline.algebra.atoms import positive_part
from archline.algebra.polynomial import OutOfBudgetError, Poly, budget
from archline.analysis.recursion.finite import holds_everywhere, proved
from archline.analysis.recursion.system import Equation, Function

MAX_PROOF = 20_000


def holds_at_leaves(function: Function, value: Poly, upper: bool) -> bool:
    """Whether the value, in the sizes of the declaration, is proved to bound every case without calls."""
    value = value.substitute(function.facts.rewrites)
    try:
        with budget(MAX_PROOF):
            return all(
                holds_everywhere(value - equation.value if upper else equation.value - value, equation.facts)
                for equation in function.equations
                if not equation.recursive
            )
    except OutOfBudgetError:
        return False


def clamped(cases: Iterable[Equation], low: Poly) -> Poly:
    """A lower bound in some cases that is not below 0 in any of them."""
    return low if all(proved(low, each.facts) for each in cases) else positive_part(low)
