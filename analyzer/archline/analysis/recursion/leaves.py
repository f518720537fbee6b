"""Where a bound of the recursive cases holds: of the others too, or as one that is never below 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from archline.algebra.atoms import PositivePart, positive_part
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Atom, OutOfBudgetError, Poly, budget
from archline.analysis.recursion.calls import Caller
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
    return low if all(bounded_below(low, each.facts) for each in cases) else positive_part(low)


def bounded_below(value: Poly, facts: Facts) -> bool:
    """Whether a value is proved to be at least 0, if need be with b^ceil(log2(v)) as what that lies between."""
    if proved(value, facts):
        return True
    caller = Caller(facts, ())
    powers = caller.without_powers(value)
    return powers != value and proved(powers, caller.facts)


def inside(value: Poly, change: Callable[[Poly], Poly]) -> Poly:
    """A bound with a change to its terms, inside of max(0, ...) where it is that, times a number and with one added."""
    atom = _clamp(value)
    return change(value) if atom is None else _replaced(value, atom, positive_part(change(atom.argument)))


def unclamped(low: Poly) -> Poly:
    """A lower bound that may be below 0, where the bound is max(0, ...), times a number and with one added."""
    atom = _clamp(low)
    return low if atom is None else _replaced(low, atom, atom.argument)


def _clamp(value: Poly) -> PositivePart | None:
    match list(value.atoms()):
        case [PositivePart() as atom] if value.degree(atom) == 1 and value.coefficients(atom)[1].constant_term > 0:
            return atom
    return None


def _replaced(value: Poly, atom: Atom, new: Poly) -> Poly:
    return value.map_atoms(lambda each: new if each == atom else None)
