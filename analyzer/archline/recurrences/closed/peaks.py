"""Closed forms of recursions that need the most words at one of their levels: T(x) = max(a(x), T(y), T(z), ...).

What a call needs is free again when it returns, so that no level adds to another one. Where a grows with all sizes, and
sizes of calls are no larger than those of the caller, T is at most a, and the values at the ends of the recursion.
"""

from __future__ import annotations

from archline.algebra import atoms as a
from archline.algebra.maximise import alternatives
from archline.algebra.polynomial import Poly, Symbol, total
from archline.recurrences.model import Equation, Function, calls


def peak_form(function: Function) -> tuple[Poly, bool] | None:
    """An upper bound, and whether it is what each level needs itself; None for other recursions."""
    own: dict[Poly, None] = {}
    for equation in function.equations:
        for each in alternatives(equation.value):
            if not calls(each):
                own[each] = None
            elif not _is_smaller_call(each, equation, function):
                return None
    needed = [each for each in own if each]
    if not all(map(_grows, needed)):
        return None
    levels = [each for each in function.equations if each.recursive]
    return total(needed), len(needed) == 1 and len(levels) == 1 and needed[0] in alternatives(levels[0].value)


def _is_smaller_call(value: Poly, equation: Equation, function: Function) -> bool:
    """Whether it is a call of the function, no size of which is larger than the caller's."""
    call = a.single_atom(value)
    return (
        isinstance(call, a.Applied)
        and call.function == function.name
        and all(
            equation.facts.nonnegative((Poly.symbol(name) - argument).substitute(equation.facts.rewrites))
            for name, argument in zip(function.parameters, call.arguments, strict=True)
        )
    )


def _grows(value: Poly) -> bool:
    """Whether it is a sum of products of sizes, none of which is subtracted or divided by."""
    return all(
        coefficient > 0 and all(isinstance(atom, Symbol) and power > 0 for atom, power in monomial)
        for monomial, coefficient in value.terms.items()
    )
