"""Decides `ensures`: whether a derived cost equals, stays below or stays above what its author wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import pairwise, takewhile

from archline.algebra.effort import OUT_OF_TIME, Clock, TooComplexError, budget, search
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import as_fractions
from archline.algebra.facts import Facts
from archline.algebra.index_range import IndexRange
from archline.algebra.lp import blamed
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.prove.residues import never_negative
from archline.analysis.checks.failures import assumed_facts
from archline.analysis.checks.sizes import guard
from archline.analysis.cost import Cost, Costs, cost_text, ends_at, whole_ends_at
from archline.analysis.metrics.relations import margins, time_on
from archline.analysis.sampling import assumed, fixed_sizes, points
from archline.claims.by_cases import ByCases
from archline.claims.by_unrolling import holds as unrolled
from archline.claims.growth import (
    Outcome,
    Verdict,
    decide_growth,
    domain_of,
    facts_of,
    over_range,
    pieces,
    pieces_of_time,
)
from archline.claims.growth_of_cost import growth, solved_recurrence
from archline.claims.io_growth import IoClaim
from archline.claims.small_sizes import both_zero, has_runs, may_vanish, small_points, zero_of_one_side
from archline.expr import build as b
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import substituted, substituted_fact
from archline.expr.values import evaluate as evaluate_claim
from archline.expr.values import evaluate_static, holds
from archline.growth.growths import Growth
from archline.growth.growths import holds as grows_no_faster
from archline.ir.conditions import excluded, knowing, with_all, with_fact
from archline.ir.declarations import declared
from archline.ir.layout import ONE_LINE
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.checking.contracts import cost_symbols
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_expression, parse_facts
from archline.language.substitution import facts_in_sizes, processors_of
from archline.records import record, replace

MAX_TERM_PRODUCTS = 500_000
LEAST_RISE = 1.5
PROVED = "proved for all sizes"
NAME = re.compile(r"[A-Za-z_]\w*")


def decide(
    module: Module,
    algorithm: s.Algorithm,
    costs: Costs,
    ensures: Sequence[s.Ensures] | None = None,
    facts: Sequence[s.Fact] | None = None,
) -> tuple[Verdict, ...]:
    """The verdict on every `ensures` of the algorithm, in order, or on those that are given.

    The `facts` are those that its runs need (None: what `assumed_facts` finds).
    """
    ensures = algorithm.ensures if ensures is None else ensures
    scope = declared(module, algorithm)
    facts = assumed_facts(module, algorithm) if facts is None else facts
    written = [_in_sizes(replace(each, when=(*each.when, *facts)), algorithm) for each in ensures]
    found = [_decide(each, algorithm, costs, scope) for each in written]
    by_cases = ByCases(module, algorithm, _decide)
    found = [
        by_cases.verdict(claim, verdict) if verdict.outcome == "unknown" else verdict
        for claim, verdict in zip(written, found, strict=True)
    ]
    found = [_of_some_sizes(each, algorithm, costs, scope) for each in found]
    found = [replace(each, reason=_told(each.reason)) if each.outcome == "unknown" else each for each in found]
    return tuple(replace(verdict, ensures=each) for verdict, each in zip(found, ensures, strict=True))


def _told(reason: str) -> str:
    """Why a claim is not decided; where the time was up, more of it may."""
    return blamed(reason if not Clock.late or OUT_OF_TIME in reason else f"{reason}; {OUT_OF_TIME}")


def _of_some_sizes(verdict: Verdict, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    """The verdict; unknown of a claim that would hold as no sizes satisfy its facts."""
    claim = verdict.ensures
    if verdict.outcome != "holds":
        return verdict
    with suppress(ArchlineError):
        # Other facts than those of which growth is decided exclude nothing here.
        if domain_of((*facts_in_sizes(algorithm), *assumed(algorithm), *claim.when)) is not None:
            return verdict
        if next(points(algorithm, scope, costs, claim, branches=False), None) is None:
            return Verdict(claim, "unknown", "no sizes satisfy the `where` and the `when`")
        if claim.relation not in ("==", "<=", ">="):
            return Verdict(claim, "unknown", "growth is about sizes from 1 on, and none of them satisfy the facts")
    return verdict


def _in_sizes(ensures: s.Ensures, algorithm: s.Algorithm) -> s.Ensures:
    """The claim with P as the product of the grid's axes, where these are sizes."""
    processors = processors_of(algorithm)
    if processors is None or "P" not in s.names((ensures.bound, ensures.when)):
        return ensures
    values = {"P": processors}
    when = tuple(substituted_fact(fact, values) for fact in ensures.when)
    return replace(ensures, bound=substituted(ensures.bound, values), when=when)


def _decide(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    undecided = Verdict(ensures, "unknown", OUT_OF_TIME)
    return search(lambda: _decided(ensures, algorithm, costs, scope), undecided)


def _decided(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    cost = _cost(ensures, costs)
    if cost is None:
        return Verdict(ensures, "unknown", f"`{ensures.metric}` is not derived in this version")
    if cost.lower is None or cost.upper is None:
        if cost.valued and ensures.relation in ("==", "<=", ">="):
            found = _at_sizes(ensures, algorithm, costs, cost, scope)
            if found is not None:
                return found
        unknown = Verdict(ensures, "unknown", cost.reason or "the cost is unknown")
        return _by_recursion(ensures, algorithm, costs, cost, scope) or unknown
    if ensures.relation in ("==", "<=", ">="):
        found = _comparison(ensures, algorithm, costs, cost, scope)
        if found.outcome == "unknown" and _by_unrolling(ensures, algorithm, cost, scope):
            return Verdict(ensures, "holds", "proved by following the calls" + _trust(cost, "holds"))
        return _explained(found, costs, cost)
    found = _growth(ensures, algorithm, costs, cost, scope)
    if found.outcome == "unknown":
        others = (_by_recursion, _by_shown_growth)
        solved = (each(ensures, algorithm, costs, cost, scope) for each in others)
        found = next((each for each in solved if each is not None and each.outcome != "unknown"), found)
    if found.outcome != "fails":
        return _explained(found, costs, cost)

    def proved(guarded: s.Ensures) -> bool:
        some = next(points(algorithm, scope, costs, guarded), None)
        return some is not None and _growth(guarded, algorithm, costs, cost, scope).outcome == "holds"

    sizes = scope.module.signatures[algorithm].size_names
    return replace(_explained(found, costs, cost), guarded=guard(ensures, sizes, proved) if sizes else None)


def _by_unrolling(ensures: s.Ensures, algorithm: s.Algorithm, cost: Cost, scope: Scope) -> bool:
    if cost.recursion is None or not cost.recursion.scales or ensures.processors is not None:
        return False
    return unrolled(cost.recursion, ensures.relation, ensures.bound, (*algorithm.where, *ensures.when), scope)


def _by_recursion(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, cost: Cost, scope: Scope) -> Verdict | None:
    """A claim on growth, decided by the recurrence of the cost; None where it has none."""
    if ensures.relation in ("==", "<=", ">=") or ensures.processors is not None or cost.recursion is None:
        return None
    facts, bound = (*facts_in_sizes(algorithm), *assumed(algorithm), *ensures.when), ensures.bound
    solved = solved_recurrence(costs, cost, facts)
    if solved is None:
        return None
    cases = () if any(each.is_zero for each in solved.pieces) else solved.pieces
    if not cases and solved.upper is None:
        return Verdict(ensures, "unknown", f"{cost.reason or 'the bounds do not decide it'}; {solved.reason}")
    known, indices = with_all(scope.facts, ensures.when, scope), cost.recursion.indices
    if indices is not None:
        facts, known, bound = indices.written_facts(facts), indices.facts(known), indices.written(bound)
    if solved.upper is not None:
        some = not solved.size or known.nonnegative(Poly.symbol(solved.size) - solved.least)
        cases = (Growth(solved.lower if some else None, solved.upper),)
    if ensures.relation != "O" and any(each.lower is None for each in cases):
        return Verdict(ensures, "unknown", "no lower bound on its growth is known for all of these sizes")
    parts = [replace(each, lower=each.lower or b.ZERO, facts=(*facts, *facts_of(each.when))) for each in cases]
    outcome, reason, proofs = decide_growth(ensures.relation, parts, bound, _along_one_size)
    if outcome != "unknown" and solved.upper is not None:
        # What a recurrence grows like has no values at sizes that a reader could check.
        reason = f"by its recurrence the {ensures.metric} is {Growth(cases[0].lower, solved.upper).text}"
    if indices is not None:
        reason = indices.restored_text(reason)
    return Verdict(ensures, outcome, reason + _trust(cost, outcome), proofs=proofs)


def _by_shown_growth(
    ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, cost: Cost, scope: Scope
) -> Verdict | None:
    """A claim that follows from the growth that reports show."""
    found = growth(scope.module, algorithm, costs, cost)
    uppers, lowers = found.ends(set(map(format_fact, ensures.when)))
    bound = ensures.bound
    domain = domain_of((*facts_in_sizes(algorithm), *assumed(algorithm), *ensures.when))
    if ensures.processors is not None or domain is None:
        return None
    above = ensures.relation == "Omega" or any(grows_no_faster(each, bound, domain) for each in uppers)
    if above and (ensures.relation == "O" or any(grows_no_faster(bound, each, domain) for each in lowers)):
        return Verdict(ensures, "holds", PROVED + _trust(cost, "holds"))
    return None


def _along_one_size(_: str, counterexample: Mapping[str, object]) -> bool:
    """Whether a counterexample is a curve of one size, which passes integers: growth says nothing at single points."""
    return counterexample["kind"] == "curve" and len(counterexample["curve"]) == 1  # type: ignore[arg-type]


def _explained(verdict: Verdict, costs: Costs, cost: Cost) -> Verdict:
    """A verdict that does not hold with what a reader needs to check it by hand."""
    if verdict.outcome == "holds":
        return verdict
    derived = cost_text(costs, cost)
    if verdict.point is None or (cost.ends is not None and not cost.exact):
        # Bounds evaluated by a recurrence may depend on any size of it.
        return replace(verdict, derived=derived, deciding=verdict.point)
    claim = verdict.ensures
    named = s.names(claim.bound).union(*map(s.names, claim.when), NAME.findall(derived))
    return replace(
        verdict, derived=derived, deciding={name: verdict.point[name] for name in verdict.point if name in named}
    )


def _cost(ensures: s.Ensures, costs: Costs) -> Cost | None:
    """What is bounded, if it is derived."""
    if ensures.processors is not None:
        return time_on(costs, Poly.symbol(ensures.processors.id), ensures.processors.id)
    return costs.metrics.get(ensures.metric)


def _growth(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, cost: Cost, scope: Scope) -> Verdict:
    """An `is O(…)`, `is Theta(…)` or `is Omega(…)`."""
    facts = (*facts_in_sizes(algorithm), *assumed(algorithm), *ensures.when)
    for fact in ensures.when:
        scope = knowing(scope, fact)
    first = _compared(ensures, costs, cost, scope.facts, facts)
    proved = first.outcome == "holds"
    if first.outcome == "fails" or not may_vanish(ensures, costs, cost, scope, proved):
        return first
    zero = zero_of_one_side(ensures, algorithm, costs, cost, scope, proved)
    if zero is not None:
        return zero
    if proved:
        return first
    small = small_points(ensures, algorithm, costs, scope)
    zeros = list(takewhile(lambda each: both_zero(ensures, cost, each), small))
    if not zeros or len(zeros[-1]) != 1:
        return first
    ((name, size),) = zeros[-1].items()
    (beyond,) = b.least([name], size + 1)
    rest = _compared(ensures, costs, cost, with_fact(scope.facts, beyond, scope), (*facts, beyond))
    if rest.outcome != "holds":
        return rest
    return replace(rest, reason=f"{rest.reason}; up to {name} = {size} both are 0")


def _compared(ensures: s.Ensures, costs: Costs, cost: Cost, known: Facts, facts: tuple[s.Fact, ...]) -> Verdict:
    """The growth at the sizes that the facts allow; `known` is what they say of the symbols."""
    confirm = _Confirmation(cost, facts, ensures.bound, costs.index_range)
    indices, moved = costs.index_range, over_range(costs.index_range, cost, facts, known)
    if ensures.processors is not None:
        found = pieces_of_time(costs, ensures.processors.id, facts, known)
    elif indices is not None and moved is not None:
        bound = indices.written(ensures.bound)
        outcome, reason, proofs = decide_growth(ensures.relation, pieces(costs, *moved), bound, confirm)
        return Verdict(ensures, outcome, indices.restored_text(reason) + _trust(cost, outcome), proofs=proofs)
    elif cost.orders is not None or cost.alternatives:
        outcome, reason, proofs = IoClaim(ensures.bound, costs, cost, known, facts, confirm).decided(ensures.relation)
        return Verdict(ensures, outcome, reason + _trust(cost, outcome), proofs=proofs)
    else:
        found = pieces(costs, cost, facts, known)
    outcome, reason, proofs = decide_growth(ensures.relation, found, ensures.bound, confirm)
    return Verdict(ensures, outcome, reason + _trust(cost, outcome), proofs=proofs)


def _trust(cost: Cost, outcome: Outcome) -> str:
    """What a proof rests on beside the program."""
    return f", given what {', '.join(cost.declared)} declares" if cost.declared and outcome == "holds" else ""


@record
class _Confirmation:
    """Checks a counterexample to a growth claim against the cost itself: the prover saw bounds of it in one regime."""

    cost: Cost
    facts: tuple[s.Fact, ...]
    bound: s.Expr
    index_range: IndexRange | None

    def __call__(self, side: str, counterexample: Mapping[str, object]) -> bool:
        samples = [counterexample] if counterexample["kind"] == "point" else counterexample["samples"]
        ratios = [ratio for each in samples if (ratio := self._ratio(side, each["at"])) is not None]  # type: ignore[attr-defined]
        if counterexample["kind"] == "point":
            return ratios == [float("inf")]
        rising = all(low < high for low, high in pairwise(ratios))
        return len(ratios) >= 2 and rising and ratios[-1] >= ratios[0] * LEAST_RISE

    def _ratio(self, side: str, at: Mapping[str, str]) -> float | None:
        """Of the cost to the claim (O) or the other way round; None where it cannot be decided."""
        try:
            point = {name: evaluate_static(parse_expression(value), {}) for name, value in at.items()}
            if self.index_range is not None:
                point = self.index_range.point(point)
            lower, upper = ends_at(self.cost, point)
            if any(holds(fact, point) is False for fact in self.facts):
                return None
            claimed = evaluate_claim(self.bound, point)
            if isinstance(claimed, Interval):
                claimed = claimed.lower if side == "Omega" else claimed.upper
            above, below = (lower, Fraction(claimed)) if side == "O" else (Fraction(claimed), upper)
            return float("inf") if not below and above > 0 else float(above / below)
        except (EvaluationError, OverflowError, ZeroDivisionError):
            return None


def _comparison(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, cost: Cost, scope: Scope) -> Verdict:
    """An `==`, `<=` or `>=`."""
    scope = with_cost_symbols(scope)
    facts = with_all(scope.facts, ensures.when, scope)
    at_sizes = _at_sizes(ensures, algorithm, costs, cost, scope)
    if at_sizes is not None:
        return at_sizes
    if _is_written(ensures, costs, cost):
        return Verdict(ensures, "holds", PROVED + _trust(cost, "holds"))
    try:
        with budget(MAX_TERM_PRODUCTS):
            claimed = as_fractions(static_value(ensures.bound, scope.with_facts(facts)))
            claims = [_Claim(ensures, costs, each, claimed, facts, scope) for each in _implied(cost, facts)]
            proved = next((each for each in claims if each.proved), claims[0])
            return proved.verdict(points(algorithm, scope, costs, ensures), partial(has_runs, algorithm, scope))
    except NotStaticError as problem:
        return Verdict(ensures, "unknown", f"the claim: {problem.reason}")
    except TooComplexError as problem:
        return Verdict(ensures, "unknown", str(problem))


def _is_written(ensures: s.Ensures, costs: Costs, cost: Cost) -> bool:
    """Whether a claim is a bound as reports write it, or both, under the condition that they write."""
    if ensures.processors is not None or (cost.regimes and not cost.alternatives):
        return False
    bound, given = format_expression(ensures.bound), set(map(format_fact, ensures.when))

    def written(value: Poly | None, when: str = "") -> bool:
        if value is None or bound != costs.text(value):
            return False
        return not when or given.issuperset(map(format_fact, parse_facts(when)))

    with suppress(ArchlineError):
        regimes = [each for each in cost.alternatives if each.shown]
        upper = any(written(each.upper, each.when) for each in regimes) if regimes else written(cost.upper)
        lower = any(map(written, (cost.lower, *(value for _, value in cost.lowers))))
        return (upper or ensures.relation == ">=") and (lower or ensures.relation == "<=")
    return False


def _at_sizes(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, cost: Cost, scope: Scope) -> Verdict | None:
    """The verdict where the facts give all sizes, by the values that are told there; None where they do not decide."""
    if ensures.processors is not None:
        return None
    fixed = fixed_sizes((*facts_in_sizes(algorithm), *ensures.when, *assumed(algorithm)))
    point = next(points(algorithm, scope, costs, ensures), None) if fixed else None
    if point is None or not point.keys() <= fixed.keys():
        return None
    try:
        lower, upper = whole_ends_at(cost, point)
        claimed = evaluate_claim(ensures.bound, point)
    except (EvaluationError, OverflowError, ZeroDivisionError):
        return None
    least, most = (claimed.lower, claimed.upper) if isinstance(claimed, Interval) else (claimed, claimed)
    values = str(lower) if lower == upper else f"between {lower} and {upper}"
    above, below = upper <= least or ensures.relation == ">=", lower >= most or ensures.relation == "<="
    if above and below:
        return Verdict(ensures, "holds", f"at these sizes it is {values}" + _trust(cost, "holds"))
    if (lower > most and ensures.relation != ">=") or (upper < least and ensures.relation != "<="):
        return Verdict(ensures, "fails", f"derived {values}, claimed {ensures.relation} {claimed}", point)
    return None


def with_cost_symbols(scope: Scope) -> Scope:
    """The scope in which the symbols of what externs cost have names: counts, which are 0 at least."""
    for name in cost_symbols(scope.module.externs.values()):
        if name not in scope.values:
            facts = scope.facts.with_symbol(name, (ZERO,))
            scope = scope.with_facts(facts).with_value(name, Poly.symbol(name))
    return scope


def _implied(cost: Cost, facts: Facts) -> list[Cost]:
    """The cost with each pair of bounds of which the facts imply that they hold, those of large caches first."""
    if not cost.alternatives:
        return [cost]
    some = facts.with_nonnegative(ONE_LINE)
    uppers = [each.upper for each in reversed(cost.alternatives) if all(map(some.nonnegative, each.needs))]
    lowers = (cost.lower, *(value for _, value in cost.lowers))
    return [replace(cost, upper=upper, lower=lower) for upper in uppers for lower in lowers] or [cost]


@record
class _Claim:
    ensures: s.Ensures
    costs: Costs
    cost: Cost
    claimed: Poly
    facts: Facts
    scope: Scope

    @property
    def proved(self) -> bool:
        """Whether it holds at all sizes."""
        return all(any(never_negative(each, facts) for each in group) for facts, group in self._margins())

    def verdict(self, points: Iterator[Mapping[str, int]], has_runs: Callable[[Mapping[str, int]], bool]) -> Verdict:
        if self.proved:
            return Verdict(self.ensures, "holds", PROVED + _trust(self.cost, "holds"))
        for point in points:
            reason = self._contradiction(point)
            if reason is not None and has_runs(point):
                return Verdict(self.ensures, "fails", reason, point)
        if not self.cost.exact:
            return Verdict(self.ensures, "unknown", "the derived cost is only bounded, and its bounds do not decide it")
        return Verdict(self.ensures, "unknown", "no counterexample at the sizes checked, and no proof")

    def _margins(self) -> Iterator[tuple[Facts, tuple[Poly, ...]]]:
        """What must be nonnegative for the claim to hold, one of each group, under the facts of each regime."""
        if self.ensures.processors is not None:
            processors = Poly.symbol(self.ensures.processors.id)
            for group in margins(self.costs, processors, self.facts.restore(self.claimed), self.ensures.relation):
                yield self.facts, tuple(each.substitute(self.facts.rewrites) for each in group)
            return
        assert self.cost.lower is not None
        assert self.cost.upper is not None
        bounds = [(self.facts, self.cost.lower, self.cost.upper)]
        if self.cost.regimes:
            when = self.ensures.when
            bounds = [
                (with_all(case, when, self.scope), each.lower, each.upper)
                for each in self.cost.regimes
                for case in each.cases
                if not excluded(when, self.scope.with_facts(case))
            ]
        for facts, lower, upper in bounds:
            if self.ensures.relation in ("==", "<="):
                yield facts, (self.claimed - as_fractions(upper.substitute(self.facts.rewrites)),)
            if self.ensures.relation in ("==", ">="):
                yield facts, (as_fractions(lower.substitute(self.facts.rewrites)) - self.claimed,)

    def _contradiction(self, point: Mapping[str, int]) -> str | None:
        try:
            lower, upper = ends_at(self.cost, point)
            claimed = evaluate(self.facts.restore(self.claimed), point)
        except EvaluationError:
            return None
        relation = self.ensures.relation
        too_much = relation in ("==", "<=") and lower > claimed
        too_little = relation in ("==", ">=") and upper < claimed
        # A count is a whole number at all sizes that run: elsewhere a `/` of sizes does not divide.
        counted = self.ensures.processors is not None or (lower.denominator == 1 and upper.denominator == 1)
        if not (too_much or too_little) or not counted:
            return None
        derived = str(lower) if lower == upper else f"between {lower} and {upper}"
        return f"derived {derived}, claimed {relation} {claimed}"
