"""The derivation of an algorithm's counts: statement by statement, and by recurrences where it is recursive."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Self

from archline.analysis.metrics import recursion
from archline.analysis.metrics.statements import Statements

if TYPE_CHECKING:
    from archline.analysis.metrics.recursion import RecursionSolver


class Derivation(Statements):
    """Derives the costs of algorithms; the costs of recursive algorithms are solutions of their recurrences."""

    @cached_property
    def recursions(self) -> RecursionSolver:
        return recursion.RecursionSolver(self)

    def _with_fewer_guards(self) -> Self:
        derivation = super()._with_fewer_guards()
        # Recursions are solved again, with the guards bounded.
        vars(derivation).pop("recursions", None)
        return derivation
