"""Costs where an algorithm ends or is called: in its sizes only, nothing left that the data decides."""

from __future__ import annotations

from collections.abc import Mapping

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.relaxation import bound_atom, ease_offsets
from archline.analysis.amounts import Amount, Known, Unknown, map_known
from archline.language import syntax as s


def at_sizes(amount: Amount, sizes: Mapping[str, Poly], facts: Facts, call: s.Call) -> Amount:
    """A callee's amount at the sizes of a call, in what the caller knows."""
    moved = map_known(amount, lambda value: facts.simplify(value.substitute(sizes)))
    if isinstance(moved, Unknown):
        return Unknown(moved.reason, moved.span or call.span)
    return _without_data(moved, facts, f"a size of `{call.function}` that only the data gives", call)


def closed_amount(amount: Amount, facts: Facts, algorithm: s.Algorithm) -> Amount:
    """At the end of an algorithm: in its sizes only, nothing that names its arrays."""
    if isinstance(amount, Unknown):
        return amount
    settled = map_known(amount, lambda value: facts.restore(facts.simplify(value)))
    return _without_data(settled, facts, "values that only the data gives", algorithm)


def _without_data(amount: Amount, facts: Facts, what: str, node: s.Node) -> Amount:
    """Replace what depends on the data by its least or greatest value."""
    if isinstance(amount, Unknown):
        return amount
    lower, upper = _eased(amount.lower, facts, False), _eased(amount.upper, facts, True)
    if upper is None:
        return Unknown(f"it depends on {what}", node.span)
    if lower is amount.lower and upper is amount.upper:
        return amount
    return Known(ZERO if lower is None else facts.positive_part(lower), upper)


def _eased(value: Poly, facts: Facts, upper: bool) -> Poly | None:
    while True:
        found = next((atom for atom in sorted(value.atoms(), key=str) if _from_data(atom)), None)
        if found is None:
            return value
        bounded = ease_offsets(value, found, facts, upper) if isinstance(found, a.Offset) else None
        if bounded is None:
            bounded = bound_atom(value, found, facts, upper)
        if bounded is None:
            return None
        value = bounded


def _from_data(atom: object) -> bool:
    if isinstance(atom, a.Data | a.Gap | a.Offset):
        return True
    parts = getattr(atom, "parts", ())
    return any(_from_data(each) for part in parts for each in part.atoms())
