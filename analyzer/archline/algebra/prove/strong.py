"""The tactics that are tried where the usual proofs fail. The modules that have them are loaded when they are tried."""

from __future__ import annotations

from archline.algebra.prove import enumerate, handelman
from archline.algebra.prove.prover import Tactic

STRONG_TACTICS: tuple[Tactic, ...] = (
    lambda value, facts: enumerate.prove_by_enumeration(value, facts),
    lambda value, facts: handelman.prove_by_products(value, facts),
    lambda value, facts: handelman.prove_by_bounds_of_powers(value, facts),
)
