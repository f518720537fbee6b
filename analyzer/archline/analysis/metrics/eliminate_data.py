"""Costs where an algorithm ends or is called: in its sizes only, nothing left that the data decides."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Atom, Poly
from archline.algebra.relax import bound_away
from archline.ir.amounts import Amount, Known, Unknown, map_known
from archline.language import syntax as s

_Kinds = type[Atom] | UnionType


def at_sizes(amount: Amount, sizes: Mapping[str, Poly], facts: Facts, call: s.Call) -> Amount:
    """A callee's amount at the sizes of a call, in what the caller knows."""
    moved = map_known(amount, lambda value: facts.simplify(value.substitute(sizes)))
    if isinstance(moved, Unknown):
        return Unknown(moved.reason, moved.span or call.span)
    # Segments of the caller's arrays stay: the loops around the call sum them.
    return _without(a.Data, moved, facts, f"a size of `{call.function}` that only the data gives", call)


def closed_amount(amount: Amount, facts: Facts, algorithm: s.Algorithm) -> Amount:
    """At the end of an algorithm: in its sizes only, nothing that names its arrays."""
    if isinstance(amount, Unknown):
        return amount
    settled = map_known(amount, lambda value: facts.restore(facts.simplify(value)))
    return _without(a.Data | a.Gap | a.Offset, settled, facts, "values that only the data gives", algorithm)


def _without(kinds: _Kinds, amount: Amount, facts: Facts, what: str, node: s.Node) -> Amount:
    """Replace atoms of the given kinds by their least or greatest value."""
    if isinstance(amount, Unknown):
        return amount
    lower, upper = bound_without(kinds, amount.lower, facts, False), bound_without(kinds, amount.upper, facts, True)
    if upper is None:
        return Unknown(f"it depends on {what}", node.span)
    if lower is amount.lower and upper is amount.upper:
        return amount
    return Known(ZERO if lower is None else facts.positive_part(lower), upper)


def bound_without(kinds: _Kinds, value: Poly, facts: Facts, upper: bool) -> Poly | None:
    """At least the value, or at most, without atoms of the given kinds; None where no bound is found."""

    def first(value: Poly) -> Atom | None:
        return min((atom for atom in value.atoms() if holds(kinds, atom)), key=str, default=None)

    return bound_away(value, first, facts, upper)


def holds(kinds: _Kinds, atom: Atom) -> bool:
    """Whether an atom is of some kinds, or one inside it is."""
    return isinstance(atom, kinds) or any(holds(kinds, each) for part in atom.parts for each in part.atoms())
