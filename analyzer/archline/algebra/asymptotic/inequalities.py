"""Inequalities between monomials, up to constant factors, and products of them: what proofs are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from archline.algebra.asymptotic.constants import UNITY, Constant
from archline.algebra.asymptotic.tropical import ONE, GrowthAtom, Monomial
from archline.records import field, record


@record(eq=False, slots=True)
class Inequality:
    """small <= C*large for some constant C, at all sizes in question.

    `because` says why: the rule and its particulars, for certificates. `uses` is the proof that the rule rests on.
    """

    small: Monomial
    large: Monomial
    because: Mapping[str, object]
    uses: Product = ()
    gap: Monomial = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gap", self.large / self.small)


Product: TypeAlias = tuple[tuple[Inequality, Constant], ...]
"""Inequalities, each raised to a constant power that is not negative, and multiplied."""


def at_least_one(atom: GrowthAtom) -> Inequality:
    """1 <= atom."""
    rule = "exponential" if atom.exponent else "log" if atom.argument else "size"
    return Inequality(ONE, Monomial({atom: UNITY}), {"rule": rule})


def completed(gap: Monomial, used: Iterable[tuple[Inequality, Constant]]) -> Product | None:
    """The product of `used` and powers of 1 <= atom that proves 1 <= C*gap; None where there is none."""
    pairs = [(each, times) for each, times in used if times]
    rest = gap
    for each, times in pairs:
        rest = rest / each.gap.power(times)
    if not rest.never_shrinks:
        return None
    return (*pairs, *((at_least_one(atom), power) for atom, power in rest.powers.items()))
