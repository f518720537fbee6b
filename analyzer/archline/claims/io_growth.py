"""Decide claims on the growth of io from several upper and lower bounds; one bound that suffices decides a claim.

The upper bounds are those of the regimes that the facts imply, and the growth of a recurrence with a cut-off; the
lower bounds are for the written schedule and for any schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from archline.algebra import atoms as a
from archline.algebra.facts import Facts
from archline.algebra.polynomial import Poly
from archline.analysis.bounds import Bound
from archline.analysis.cost import Cost, Costs
from archline.cost_growth.any_schedule import find_any_schedule_growth
from archline.cost_growth.pieces import (
    build_growth_pieces,
    find_recurrence_growths,
    is_valid_in_small_caches,
)
from archline.expr import build as b
from archline.expr.text import format_expression
from archline.growth.growths import Confirm, Growth, GrowthVerdict, decide_growth, list_sides
from archline.growth.is_big_o import Proved
from archline.ir.layout import LINE, ONE_LINE_FITS
from archline.language import syntax as s
from archline.records import record, replace

LOWER_BOUNDS_UNDECIDED = "the derived lower bounds do not decide it"
NO_IMPLIED_UPPER_BOUND = "no upper bound is known to hold under these facts"


@record
class _BoundsByCase:
    """Bounds on io in cases that cover all sizes and caches.

    `proof`, `refutation` and `neither` are texts for the reason of a claim that is proved, refuted or undecided by
    these bounds; if empty, the prover's reason is used. With `orders` the bounds are known up to constant factors, so
    a counterexample cannot be confirmed by values.
    """

    pieces: Sequence[Growth]
    proof: str = ""
    refutation: str = ""
    neither: str = ""
    orders: bool = False


@record
class IoGrowthClaim:
    """The claim that io grows at most or at least as `bound` under `facts`; `known` are the same facts about symbols.

    `confirm` accepts a counterexample by values of the cost.
    """

    bound: s.Expr
    costs: Costs
    cost: Cost
    known: Facts
    facts: tuple[s.Fact, ...]
    confirm: Confirm
    shown: Confirm
    """Accepts a counterexample to bounds that are known only up to constant factors, without comparing values."""

    def decide(self, relation: str) -> GrowthVerdict:
        """Decide whether io is O, Omega or Theta of the bound; of Theta, the Omega part is decided first."""
        proofs = tuple[Proved, ...]()
        for side in reversed(list_sides(relation)):
            verdict = (
                self._decide_upper_claim()
                if side == "O"
                else self._decide_by_bounds(side, self._iterate_bounds_for_omega())
            )
            if verdict.outcome != "holds":
                return (
                    self._with_sufficient_condition(verdict)
                    if side == "O" and verdict.outcome == "unknown"
                    else verdict
                )
            proofs += verdict.proofs
        return replace(verdict, proofs=proofs)

    def _decide_upper_claim(self) -> GrowthVerdict:
        """Decide an O claim by the bounds, or else in cases around the length of a line."""
        verdict = self._decide_by_bounds("O", self._iterate_bounds_for_big_o())
        return verdict if verdict.outcome != "unknown" else self._decide_around_line_length() or verdict

    def _decide_by_bounds(self, side: str, bounds: Iterable[_BoundsByCase]) -> GrowthVerdict:
        """Decide an O or Omega claim by the first of some bounds that suffice; else unknown, with a reason."""
        reason = NO_IMPLIED_UPPER_BOUND if side == "O" else LOWER_BOUNDS_UNDECIDED
        neither = ""
        for candidate in bounds:
            confirm = self.shown if candidate.orders else self.confirm
            verdict = decide_growth(side, candidate.pieces, self.bound, confirm)
            if verdict.outcome == "holds":
                return replace(verdict, reason=candidate.proof or verdict.reason)
            if verdict.outcome == "fails":
                return replace(verdict, reason=candidate.refutation + verdict.reason)
            neither, reason = neither or candidate.neither, verdict.reason if side == "O" else reason
        return GrowthVerdict("unknown", neither or reason)

    def _iterate_bounds_for_omega(self) -> Iterator[_BoundsByCase]:
        """Yield the bounds from which to decide an Omega claim: lower bounds for the written schedule, unless io has a
        recurrence; the lower bound for any schedule; and the upper growth of a recurrence, which can refute the claim.
        """
        if self.cost.upper_growths is None:
            for lower in (self.cost.lower, *(bound.value for bound in self.cost.by_loop)):
                yield self._make_bounds(self.known, lower, self.cost.upper)
        yield from self._iterate_any_schedule_bounds()
        regimes = find_recurrence_growths(self.cost, self.facts)
        if not isinstance(regimes, str) and len(regimes) == 1 and not regimes[0].where:
            (growth,) = regimes
            assert growth.upper is not None
            if is_valid_in_small_caches(self.costs, growth.upper, self.facts, self.known):
                yield _BoundsByCase(regimes, refutation=f"it is {growth.text}, and ", orders=True)

    def _iterate_bounds_for_big_o(self) -> Iterator[_BoundsByCase]:
        """Yield the bounds from which to decide an O claim.

        First come the bounds of plans whose conditions the facts imply, large caches first. For a recursive algorithm
        the growth of its recurrence follows, then the lower bound for any schedule, which can refute the claim, and the
        number of accesses, an upper bound for any cache.
        """
        facts = self.known.with_nonnegative(ONE_LINE_FITS)
        for plan in reversed(self.cost.plans):
            smooth = plan.smooth()
            if smooth is not None and any(all(map(facts.nonnegative, x)) for x in (plan.where.needs, *smooth[0])):
                yield self._make_bounds(facts, self.cost.lower, facts.simplify(smooth[1]))
        if self.cost.upper_growths is None:
            return
        regimes = find_recurrence_growths(self.cost, self.facts)
        if isinstance(regimes, str):
            yield self._make_unknown_bounds(regimes)
        elif is_valid_in_small_caches(self.costs, self.bound, self.facts, self.known):
            orders = ", ".join(format_expression(regime.upper) for regime in regimes if regime.upper is not None)
            yield _BoundsByCase(
                regimes, f"the recurrence grows like {orders}", neither=f"the bound grows like {orders}"
            )
        else:
            yield self._make_unknown_bounds("not proved for caches with few lines")
        yield from self._iterate_any_schedule_bounds()
        accesses = self._make_bounds(self.known, self.cost.lower, self.cost.upper)
        yield replace(accesses, proof="proved for all sizes, in any cache")

    def _make_bounds(self, known: Facts, lower: Poly | None, upper: Poly | None) -> _BoundsByCase:
        """Return the growth, by pieces, of the cost with these two bounds and no other bounds than those of cases."""
        bounds = tuple(bound for bound in self.cost.bounds if bound.where.cases)
        cost = replace(self.cost, lower=lower, upper=upper, upper_growths=None, bounds=bounds)
        return _BoundsByCase(build_growth_pieces(self.costs, cost, self.facts, known))

    def _make_unknown_bounds(self, reason: str) -> _BoundsByCase:
        """Return bounds of unknown growth, which decide no claim, with the reason why it is unknown."""
        return _BoundsByCase((Growth(None, None, self.facts),), neither=reason)

    def _iterate_any_schedule_bounds(self) -> Iterator[_BoundsByCase]:
        """Yield the lower bound for any schedule, if there is one."""
        lower = find_any_schedule_growth(self.costs, self.cost, self.known)
        if lower is not None:
            growth = Growth(lower, None, self.facts)
            yield _BoundsByCase((growth,), f"every schedule costs {growth.text}", "for every schedule ", orders=True)

    def _with_sufficient_condition(self, verdict: GrowthVerdict) -> GrowthVerdict:
        """Add to the reason of an undecided O claim a condition on the cache under which it is proved, if any."""
        when = next((plan.where.when for plan in self.cost.by_cache if self._is_proved_within(plan)), "")
        return replace(verdict, reason=f"{verdict.reason}; proved to be O of this when {when}") if when else verdict

    def _is_proved_within(self, plan: Bound) -> bool:
        """Test whether the O claim is proved under the condition of a plan."""
        facts_of_claim = self.known
        for need in plan.where.needs:
            facts_of_claim = facts_of_claim.with_nonnegative(need)
        bounds = tuple(bound for bound in self.cost.bounds if bound is plan or bound not in self.cost.plans)
        cost, facts = replace(self.cost, bounds=bounds), (*self.facts, *plan.where.facts)
        return replace(self, cost=cost, known=facts_of_claim, facts=facts)._decide_upper_claim().outcome == "holds"

    def _decide_around_line_length(self) -> GrowthVerdict | None:
        """Decide an O claim in two cases of a size, at most L and at least L; None if no size is compared with L."""
        for name in self.costs.parameters:
            size = Poly.symbol(name)
            if (
                self.known.nonnegative(LINE - size)
                or self.known.nonnegative(size - LINE)
                or not self._is_counted_in_lines(name)
            ):
                continue
            verdicts = []
            for relation, value in (("<=", LINE - size), (">=", size - LINE)):
                facts = (*self.facts, b.binary(relation, b.name(name), b.name("L")))
                verdicts.append(
                    replace(self, known=self.known.with_nonnegative(value), facts=facts)._decide_upper_claim()
                )
                if verdicts[-1].outcome != "holds":
                    return verdicts[-1]
            return replace(verdicts[-1], proofs=tuple(proof for verdict in verdicts for proof in verdict.proofs))
        return None

    def _is_counted_in_lines(self, name: str) -> bool:
        """Test whether a size occurs in a rounded quotient of a plan, as lines of its words are counted there."""
        values = [value for plan in self.cost.plans for value in (plan.value, *plan.where.needs)]
        return any(
            isinstance(atom, a.Floor) and name in atom.argument.names for value in values for atom in value.atoms()
        )
