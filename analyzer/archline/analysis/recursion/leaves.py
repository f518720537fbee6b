"""Whether a bound of the recursive cases holds of the others too: one expression then bounds a function everywhere."""

from __future__ import annotations

from archline.algebra.polynomial import OutOfBudgetError, Poly, budget
from archline.analysis.recursion.finite import holds_everywhere
from archline.analysis.recursion.system import Function

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
