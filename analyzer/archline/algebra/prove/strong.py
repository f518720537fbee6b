"""The tactics that are tried where the usual proofs fail. The modules that have them are loaded when they are tried."""

from __future__ import annotations

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove import enumerate, handelman


def _by_enumeration(value: Poly, facts: Facts) -> bool:
    return enumerate.prove_by_enumeration(value, facts)


def _by_products(value: Poly, facts: Facts) -> bool:
    return handelman.prove_by_products(value, facts)


def _by_bounds_of_powers(value: Poly, facts: Facts) -> bool:
    return handelman.prove_by_bounds_of_powers(value, facts)


STRONG_TACTICS = _by_enumeration, _by_products, _by_bounds_of_powers
