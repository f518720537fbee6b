"""How the closed form or a bound of a recursive algorithm is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from archline.algebra.polynomial import Poly
from archline.recurrences.exact.constraints import Bound
from archline.recurrences.exact.transitions import Transition

Relation = Literal["=", ">=", "<="]


@dataclass(frozen=True, eq=False)
class Proof:
    """That a function is at least, at most or equal to a value: by induction through `steps`, else for the `reason`.

    `equal` are the steps that hold with equality where the function is the value. `where` tells the cases that it is
    about, if not all.
    """

    relation: Relation
    value: Poly
    steps: tuple[Transition, ...] = ()
    equal: frozenset[Transition] = frozenset()
    reason: str = ""
    where: str = ""

    @staticmethod
    def of(relation: Relation, found: Bound, where: str = "") -> Proof:
        """The proof that a search found."""
        value = found.value if found.proved is None else found.proved
        return Proof(relation, value, found.steps, found.equal, where=where)
