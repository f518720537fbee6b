"""Where a bound of the recursive cases holds: of the others too, or as one that is never below 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from archline.algebra.atoms import Applied, PositivePart, positive_part
from archline.algebra.effort import OutOfBudgetError, budget
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly, Symbol
from archline.algebra.prove.enumerate import holds_everywhere
from archline.recurrences.exact.at_call import Caller
from archline.recurrences.exact.prove import proved
from archline.recurrences.model import Equation, Function

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


def clamped(cases: Sequence[Equation], low: Poly) -> Poly:
    """A lower bound in some cases that is not below 0, nor 0 where all cases are known to add something themselves."""
    if all(bounded_below(low - 1, each.facts) for each in cases):
        return low
    own = _added(cases)
    if all(proved(own - 1, each.facts) for each in cases):
        return own + positive_part(low - own)
    return low if all(bounded_below(low, each.facts) for each in cases) else positive_part(low)


def _added(cases: Sequence[Equation]) -> Poly:
    """What some cases cost without their calls, where that is the same sum of products of sizes; else 0."""
    first, *others = (
        each.facts.simplify(each.value.map_atoms(lambda atom: ZERO if isinstance(atom, Applied) else None))
        for each in cases
    )
    plain = all(isinstance(atom, Symbol) for atom in first.atoms()) and all(each == first for each in others)
    return first if plain and all(first.names.isdisjoint(each.data) for each in cases) else ZERO


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
        case _:
            return None


def _replaced(value: Poly, atom: Atom, new: Poly) -> Poly:
    return value.map_atoms(lambda each: new if each == atom else None)
