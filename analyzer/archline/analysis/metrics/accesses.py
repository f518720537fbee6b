"""The element accesses of a program: as runs count them, and as an upper bound on io whatever is accessed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.cost import Cost, cost_of
from archline.analysis.metrics.cost_model import CostModel, nest
from archline.analysis.metrics.recursion import Derivation
from archline.analysis.metrics.tally import FREE, DerivationStep, Tally
from archline.analysis.regimes import with_regimes
from archline.ir.amounts import Amount, Known, Unknown, exactly
from archline.ir.declarations import declared
from archline.ir.scope import Scope
from archline.ir.tree import require_accesses
from archline.language import syntax as s
from archline.language.call_graph import component
from archline.language.metrics import METRICS
from archline.language.model import Module

METRIC = "accesses"
LOGICAL = ("and", "or")
MAX_KNOWN = 64
"""Answers that are remembered: bounds on io ask again where they find no better one."""


@lru_cache(maxsize=MAX_KNOWN)
def accesses_of(module: Module, algorithm: s.Algorithm, updates: int = 1) -> Cost:
    """At most so many elements are read and written by one call, as a cost that is `bounded` from above alone.

    An upper bound: of `and` and `or` both sides count, of `elif` all tests. An update such as `+=` counts `updates`
    accesses of its target: one finds the element in the cache that the other brought. Raises UntracedError where io is
    declared, or words move otherwise; TooComplexError.
    """
    return derive_accesses(module, algorithm, updates)[0]


def derive_accesses(module: Module, algorithm: s.Algorithm, updates: int) -> tuple[Cost, tuple[DerivationStep, ...]]:
    """The same, with the steps of the derivation; with two `updates`, as runs count them, from below too."""
    require_accesses(module, algorithm)
    statements = Derivation(module, coarse=False, model=Accesses(module, updates))
    tally, steps = statements.algorithm(algorithm)
    amount = tally.amount(METRIC)
    if isinstance(amount, Unknown):
        return Cost(METRIC, "unknown", None, None, amount.reason, amount.span or algorithm.span), steps
    both = updates > 1
    cost = cost_of(METRIC, amount, frozenset(), algorithm) if both else Cost(METRIC, "bounded", ZERO, amount.upper)
    if METRIC in tally.names and component(module, algorithm):
        closed = statements.recursions.closed(algorithm, METRIC)
        regimes, ends = closed.regimes, closed.ends
        if not both:
            regimes = tuple(replace(each, lower=ZERO) for each in regimes)
        known = ends if both or ends is None else lambda point: (Fraction(0), ends(point)[1])
        return replace(cost, regimes=regimes, ends=known), steps
    return with_regimes(cost, declared(module, algorithm).facts, module.signatures[algorithm].size_names), steps


class WordModel(CostModel):
    """Counts accesses, by what statements name; calls are counted too, since every recursion makes some."""

    upper_only = True

    def __init__(self, module: Module) -> None:
        super().__init__((METRICS[METRIC],), auxiliary=(METRICS["calls"],))
        self._module = module

    def words(self, count: Poly | int) -> Tally:
        """So many accesses."""
        value = Poly.constant(count) if isinstance(count, int) else count
        return self.tally({METRIC: exactly(value)}) if value else FREE

    def elements(self, part: object) -> list[s.Element]:
        """The elements that are named in an expression, or in several, each of which is accessed once."""
        return [each for each in s.nodes(part) if isinstance(each, s.Element) and not self._module.is_view(each)]


class Accesses(WordModel):
    """Counts the elements that are read and written."""

    def __init__(self, module: Module, updates: int = 1) -> None:
        super().__init__(module)
        self._updates = updates
        self.upper_only = updates == 1
        self._known: dict[s.Stmt, Tally] = {}

    def statement(self, statement: s.Stmt, scope: Scope) -> Tally:
        if statement not in self._known:
            again = 0
            if isinstance(statement, s.Simple):
                updates = statement.updates if self._updates > 1 else statement.revisited
                again = sum(isinstance(each, s.Element) for each in updates)
            tests = s.evaluated(statement)
            self._known[statement] = self._named(tests, tests[1:] if isinstance(statement, s.If) else (), again)
        return self._known[statement]

    def _named(self, evaluated: object, maybe: object, again: int = 0) -> Tally:
        """The elements that are named; those that `maybe` are, or by the right side of `and` or `or`, at most."""
        most = len(self.elements(evaluated)) + again
        right = tuple(each.right for each in s.nodes(evaluated) if isinstance(each, s.Binary) and each.op in LOGICAL)
        least = max(0, most - len(self.elements((maybe, right))))
        if least == most:
            return self.words(most)
        return self.tally({METRIC: Known(Poly.constant(least), Poly.constant(most))})

    def iteration(self, loop: s.Loop | s.While) -> Tally:
        """The test of a `while` again."""
        return self._named(loop.condition, ()) if isinstance(loop, s.While) else FREE

    def fill(self, statement: s.Local | s.Assign, extents: Sequence[Amount], facts: Facts) -> Tally:
        """Each element is written, and that of a view on the right is read."""
        copied = statement.value is not None and self._module.is_view(statement.value)
        return nest(FREE, self.words(2 if copied else 1), extents, facts)
