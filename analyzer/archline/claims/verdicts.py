"""Define queries, which are claims to decide, and the verdicts that tactics return for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

from archline.algebra.facts import Facts
from archline.analysis.checks.failures import find_certain_failure
from archline.analysis.cost import Cost, Costs
from archline.analysis.sampling import iterate_valid_sizes, list_assumed_facts
from archline.expr import build as b
from archline.growth.growths import Outcome
from archline.growth.is_big_o import Proved
from archline.ir.conditions import with_facts
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.substitution import express_facts_in_sizes
from archline.records import record, replace

PROVED = "proved for all sizes"
MIN_GUARD_SIZE, MAX_GUARD_SIZE = 2, 5
"""A guard requires sizes of at least a number between these two."""


@record
class GuardedClaim:
    """A claim with a further condition; without it the claim fails only at sizes `fails_where`, as `n < 2`."""

    ensures: s.Ensures
    fails_where: str


@record
class Verdict:
    """The outcome of one `ensures`; `point` has sizes at which it fails, `proofs` are those of a growth claim.

    If it fails or is unknown, `derived` is the cost as text, if known. If it fails, `deciding` are the sizes in
    `point` that the claim or the cost depends on, and `guarded` is the claim with a `when` under which it is
    proved, if one is known.
    """

    ensures: s.Ensures
    outcome: Outcome
    reason: str
    point: Mapping[str, int] | None = None
    proofs: tuple[Proved, ...] = ()
    derived: str = ""
    deciding: Mapping[str, int] | None = None
    guarded: GuardedClaim | None = None


@record(eq=False)
class ClaimQuery:
    """A claim on a cost of an algorithm; `scope` has the declared facts about its sizes."""

    claim: s.Ensures
    algorithm: s.Algorithm
    costs: Costs
    cost: Cost
    scope: Scope

    @property
    def is_comparison(self) -> bool:
        """True if the claim compares values, not growth."""
        return self.claim.relation in ("==", "<=", ">=")

    @cached_property
    def facts(self) -> tuple[s.Fact, ...]:
        """All facts under which the claim is made."""
        return (*express_facts_in_sizes(self.algorithm), *list_assumed_facts(self.algorithm), *self.claim.when)

    @cached_property
    def known(self) -> Facts:
        """The facts about symbols from the declaration and the claim."""
        return with_facts(self.scope.facts, self.claim.when, self.scope)

    def iterate_points(self, *, branches: bool = True) -> Iterator[Mapping[str, int]]:
        """Yield points that satisfy the facts; with `branches`, declared costs in all branches are at least 0 there."""
        bounds = (value for cost in self.costs for value in (cost.lower, cost.upper) if value)
        free = sorted(set().union(*(value.names for value in bounds)) | s.find_names(self.claim.processors))
        return iterate_valid_sizes(
            self.algorithm, self.scope, (*self.costs.parameters, *free), self.claim.when, branches
        )

    def has_runs(self, point: Mapping[str, int]) -> bool:
        """Test whether a run at a point may end without an error; only such a point can refute a claim."""
        return find_certain_failure(self.scope.module, self.algorithm, point) is None

    def make_verdict(
        self, outcome: Outcome, reason: str, point: Mapping[str, int] | None = None, proofs: tuple[Proved, ...] = ()
    ) -> Verdict:
        """Build a verdict on the claim; if it holds, the reason names the declared costs that the proof assumes."""
        if self.cost.declared and outcome == "holds":
            reason += f", given what {', '.join(self.cost.declared)} declares"
        return Verdict(self.claim, outcome, reason, point, proofs)

    def make_unknown(self, reason: str) -> Verdict:
        return self.make_verdict("unknown", reason)


Tactic: TypeAlias = Callable[[ClaimQuery], Verdict | None]
"""A function that decides a claim; unknown, with a reason, if it cannot, and None if it does not apply."""


def find_first_decided(asked: ClaimQuery, tactics: Iterable[Tactic]) -> Verdict | None:
    """Return the first verdict that is not unknown, else that of the first tactic that applies; None if none does."""
    first_verdict: Verdict | None = None
    for tactic in tactics:
        verdict = tactic(asked)
        if verdict is not None and verdict.outcome != "unknown":
            return verdict
        first_verdict = first_verdict or verdict
    return first_verdict


def join_case_verdicts(cases: Iterable[Verdict | None]) -> Verdict | None:
    """Join the verdicts of all cases: holds if all hold; the first one that does not, if it fails; else None."""
    held: list[Verdict] = []
    for verdict in cases:
        if verdict is None or verdict.outcome != "holds":
            return verdict if verdict is not None and verdict.outcome == "fails" else None
        held.append(verdict)
    return replace(held[0], proofs=tuple(proof for verdict in held for proof in verdict.proofs)) if held else None


def find_proved_guard(
    ensures: s.Ensures, sizes: Sequence[str], proved: Callable[[s.Ensures], bool]
) -> GuardedClaim | None:
    """Return the claim with the first guard under which `proved` accepts it; None if it accepts none.

    A guard is a minimum value of one of the `sizes`, or of all sizes.
    """
    # Most claims that fail do so at large sizes as well: one test with the strongest guard excludes them.
    if not proved(_guard_claim(ensures, MAX_GUARD_SIZE, sizes).ensures):
        return None
    candidates = (_guard_claim(ensures, least, names) for least, names in iterate_guards(sizes))
    return next((candidate for candidate in candidates if proved(candidate.ensures)), None)


def iterate_guards(sizes: Sequence[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the guards to try, each as a minimum value and the names that it holds for: a single size, then all."""
    for least in range(MIN_GUARD_SIZE, MAX_GUARD_SIZE + 1):
        yield from ((least, (name,)) for name in sizes)
    yield from ((least, sizes) for least in (MIN_GUARD_SIZE, MAX_GUARD_SIZE))


def _guard_claim(ensures: s.Ensures, least: int, names: Sequence[str]) -> GuardedClaim:
    """Add to a claim the condition that the sizes `names` are at least `least`."""
    fails_where = " or ".join(f"{name} < {least}" for name in names)
    return GuardedClaim(replace(ensures, when=(*ensures.when, *b.lower_bound_facts(names, least))), fails_where)
