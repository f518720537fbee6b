"""Define the claim queries, and the verdicts that tactics derive from queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from archline.algebra.facts import Facts
from archline.analysis.checks.failures import certain_failure
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import assumed, points
from archline.expr import build as b
from archline.growth.growths import Outcome
from archline.growth.is_big_o import Proved
from archline.ir.conditions import with_all_facts
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.substitution import express_facts_in_sizes
from archline.records import record, replace

PROVED = "proved for all sizes"
LEAST_GUARD, LARGEST_GUARD = 2, 5
"""Guards ask for sizes that are at least one of these numbers."""


@record
class Guarded:
    """A claim under a further condition, and the sizes at which alone it fails without the condition: `n < 2`."""

    ensures: s.Ensures
    fails_where: str


@record
class Verdict:
    """The outcome of one `ensures`; `point` has the sizes at which it fails, `proofs` show its growth.

    If it fails or is unknown, `derived` is the cost as text, if known. If it fails, `deciding` are the sizes of
    the point that the claim or the cost depend on, and `guarded` is the claim with a `when` under which it is
    proved, if one is known.
    """

    ensures: s.Ensures
    outcome: Outcome
    reason: str
    point: Mapping[str, int] | None = None
    proofs: tuple[Proved, ...] = ()
    derived: str = ""
    deciding: Mapping[str, int] | None = None
    guarded: Guarded | None = None


@record(eq=False)
class ClaimQuery:
    """A claim on a cost of an algorithm, with the scope of facts about its sizes."""

    claim: s.Ensures
    algorithm: s.Algorithm
    costs: Costs
    cost: Cost
    scope: Scope

    @property
    def compares(self) -> bool:
        """True if the claim compares values, not growth."""
        return self.claim.relation in ("==", "<=", ">=")

    @cached_property
    def facts(self) -> tuple[s.Fact, ...]:
        """All facts under which the claim is made."""
        return (*express_facts_in_sizes(self.algorithm), *assumed(self.algorithm), *self.claim.when)

    @cached_property
    def known(self) -> Facts:
        """The facts about symbols from the declaration and the claim."""
        return with_all_facts(self.scope.facts, self.claim.when, self.scope)

    def points(self, *, branches: bool = True) -> Iterator[Mapping[str, int]]:
        """Yield sizes that the claim covers."""
        bounds = (value for cost in self.costs for value in (cost.lower, cost.upper) if value)
        free = sorted(set().union(*(value.names for value in bounds)) | s.names(self.claim.processors))
        return points(self.algorithm, self.scope, (*self.costs.parameters, *free), self.claim.when, branches)

    def has_runs(self, point: Mapping[str, int]) -> bool:
        """Test whether a run at a point may end, so that the point can refute a claim."""
        return certain_failure(self.scope.module, self.algorithm, point) is None

    def verdict(
        self, outcome: Outcome, reason: str, point: Mapping[str, int] | None = None, proofs: tuple[Proved, ...] = ()
    ) -> Verdict:
        """Build a verdict; if it holds, the reason names declared costs that the proof assumes."""
        if self.cost.declared and outcome == "holds":
            reason += f", given what {', '.join(self.cost.declared)} declares"
        return Verdict(self.claim, outcome, reason, point, proofs)

    def unknown(self, reason: str) -> Verdict:
        """Build the verdict of an undecided claim."""
        return self.verdict("unknown", reason)


Tactic: TypeAlias = Callable[[ClaimQuery], Verdict | None]
"""A function that decides a claim, or gives the reason why not; None if it does not apply."""


def first_decided(asked: ClaimQuery, tactics: Iterable[Tactic]) -> Verdict | None:
    """Return the verdict of the first tactic that decides; else that of the first that applies."""
    first_verdict: Verdict | None = None
    for tactic in tactics:
        verdict = tactic(asked)
        if verdict is not None and verdict.outcome != "unknown":
            return verdict
        first_verdict = first_verdict or verdict
    return first_verdict


def in_cases(cases: Iterable[Verdict | None]) -> Verdict | None:
    """Join the verdicts of all cases: holds if each does, fails at the first failure, else None."""
    result: list[Verdict] = []
    for verdict in cases:
        if verdict is None or verdict.outcome != "holds":
            return verdict if verdict is not None and verdict.outcome == "fails" else None
        result.append(verdict)
    return replace(result[0], proofs=tuple(proof for verdict in result for proof in verdict.proofs)) if result else None


def guard(ensures: s.Ensures, sizes: Sequence[str], proved: Callable[[s.Ensures], bool]) -> Guarded | None:
    """Return the claim with the first guard under which it is proved: one size is large, or all are."""
    # Most claims that fail do so at large sizes as well, and one question finds them out.
    if not proved(_guarded(ensures, LARGEST_GUARD, sizes).ensures):
        return None
    candidates = (_guarded(ensures, least, names) for least, names in guards(sizes))
    return next((candidate for candidate in candidates if proved(candidate.ensures)), None)


def guards(sizes: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the minimum value and the sizes of each guard to try: a single size, then all."""
    for least in range(LEAST_GUARD, LARGEST_GUARD + 1):
        yield from ((least, (name,)) for name in sizes)
    yield from ((least, sizes) for least in (LEAST_GUARD, LARGEST_GUARD))


def _guarded(ensures: s.Ensures, least: int, names: Sequence[str]) -> Guarded:
    fails_where = " or ".join(f"{name} < {least}" for name in names)
    return Guarded(replace(ensures, when=(*ensures.when, *b.lower_bound_facts(names, least))), fails_where)
