"""The provers of recurrences, the cheapest first."""

from __future__ import annotations

from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.algebra.prove.enumerate import holds_simplified


def proved(value: Poly, facts: Facts) -> bool:
    """Whether the value is proved never negative: by algebra, at each of a few sizes, or by Handelman."""
    value = facts.simplify(value)
    if facts.refutes(value):
        return False
    if holds_simplified(value, facts):
        return True
    # numpy takes long to import, and few programs need it.
    from archline.recurrences.exact import handelman

    return handelman.proves(value, facts)
