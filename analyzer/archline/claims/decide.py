"""Decide each `ensures`: whether a derived cost equals the claimed one, or is a lower or an upper bound of it.

Several tactics are tried on a claim; if none decides it, the claim is decided in cases of the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice

from archline.algebra.effort import OUT_OF_TIME, Clock, TooComplexError, limit_effort, search
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import as_fractions
from archline.algebra.facts import Facts
from archline.algebra.lp import append_failures, highs
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.prove.prover import Tactic as Proof
from archline.algebra.prove.prover import never_negative
from archline.algebra.prove.strong import STRONG_TACTICS
from archline.analysis.checks.failures import assumed_facts
from archline.analysis.cost import Cost, Costs, cost_text, enclose_count
from archline.analysis.metrics.relations import claim_margins, time_cost
from archline.claims import by_cases as case_splits
from archline.claims import by_unrolling
from archline.claims.growth_claims import (
    NO_VALUE,
    by_growth_of_bounds,
    by_recursion,
    by_shown_growth,
    where_logarithms_vanish,
)
from archline.claims.verdicts import PROVED, ClaimQuery, Tactic, Verdict, first_decided, guard
from archline.expr.intervals import EvaluationError, UndefinedError
from archline.expr.solutions import fixed_sizes
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import substitute_in_fact, substitute_names
from archline.expr.values import bounds_of_value
from archline.expr.values import evaluate as evaluate_claim
from archline.growth.growths import domain_of
from archline.ir.conditions import some_fact_excluded, with_all_facts
from archline.ir.declarations import declared_scope
from archline.ir.layout import ONE_LINE
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.substitution import find_processors
from archline.numbers import digits, readable
from archline.records import record, replace

MAX_TERM_PRODUCTS = 500_000
MAX_UNDEFINED = 200
"""The maximum number of points at which the right side of a claim is evaluated to test that it has a value."""
NAME = re.compile(r"[A-Za-z_]\w*")


def decide_claims(
    module: Module,
    algorithm: s.Algorithm,
    costs: Costs,
    ensures: Sequence[s.Ensures] | None = None,
    facts: Sequence[s.Fact] | None = None,
) -> tuple[Verdict, ...]:
    """Decide all claims of an algorithm, or those in `ensures`, and return their verdicts in order.

    The `facts` are conditions without which no run ends (None: those of `assumed_facts`).
    """
    ensures = algorithm.ensures if ensures is None else ensures
    scope = replace(declared_scope(module, algorithm), reads_decimals=True)
    facts = assumed_facts(module, algorithm) if facts is None else facts
    written = [_substitute_processors(replace(claim, when=(*claim.when, *facts)), algorithm) for claim in ensures]
    verdicts = [_decide_claim(claim, algorithm, costs, scope) for claim in written]
    if any(verdict.outcome == "unknown" for verdict in verdicts):
        by_cases = case_splits.ByCases(module, algorithm, _decide_claim)
        verdicts = [
            by_cases.verdict(claim, verdict) if verdict.outcome == "unknown" else verdict
            for claim, verdict in zip(written, verdicts, strict=True)
        ]
    verdicts = [_reject_vacuous(verdict, algorithm, costs, scope) for verdict in verdicts]
    verdicts = [
        replace(verdict, reason=_full_reason(verdict.reason)) if verdict.outcome == "unknown" else verdict
        for verdict in verdicts
    ]
    return tuple(replace(verdict, ensures=claim) for verdict, claim in zip(verdicts, ensures, strict=True))


def _full_reason(reason: str) -> str:
    """Add to the reason of an undecided claim that time ran out, or that a solver failed, if so."""
    return append_failures(reason if not Clock.late or OUT_OF_TIME in reason else f"{reason}; {OUT_OF_TIME}")


def _reject_vacuous(verdict: Verdict, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    """Replace a verdict `holds` by unknown if no sizes satisfy the facts of the claim."""
    cost = _cost(verdict.ensures, costs)
    if verdict.outcome != "holds" or cost is None:
        return verdict
    asked = ClaimQuery(verdict.ensures, algorithm, costs, cost, scope)
    with suppress(ArchlineError):
        # Facts that growth does not read exclude no sizes here.
        if domain_of(asked.facts) is not None:
            return verdict
        if next(asked.points(branches=False), None) is None:
            return asked.unknown("no sizes satisfy both the `where` and the `when`")
        if not asked.compares:
            return asked.unknown("no sizes >= 1 satisfy the facts")
    return verdict


def _substitute_processors(ensures: s.Ensures, algorithm: s.Algorithm) -> s.Ensures:
    """Replace P in a claim by the product of the grid's axes, if these are sizes."""
    processors = find_processors(algorithm)
    if processors is None or "P" not in s.names((ensures.bound, ensures.when)):
        return ensures
    values = {"P": processors}
    when = tuple(substitute_in_fact(fact, values) for fact in ensures.when)
    return replace(ensures, bound=substitute_names(ensures.bound, values), when=when)


def _decide_claim(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    """Decide a claim within the time limit; unknown if its metric is not derived."""
    cost = _cost(ensures, costs)
    if cost is None:
        return Verdict(ensures, "unknown", f"`{ensures.metric}` is not derived in this version")
    query = ClaimQuery(ensures, algorithm, costs, cost, scope)
    return search(lambda: _try_tactics(query), Verdict(ensures, "unknown", OUT_OF_TIME))


def _by_unrolling(asked: ClaimQuery) -> Verdict | None:
    return by_unrolling.by_unrolling(asked)


def _try_tactics(asked: ClaimQuery) -> Verdict:
    """Decide a claim by the tactics for its relation and for the bounds that are known."""
    cost, claim = asked.cost, asked.claim
    undefined = _without_value(asked) if asked.compares else None
    if undefined is not None:
        return undefined if cost.lower is None else _with_evidence(undefined, asked)
    tactics: tuple[Tactic, ...]
    if cost.lower is None or cost.upper is None:
        tactics = (_at_sizes,) if asked.compares and cost.valued else (by_recursion, by_shown_growth)
        return first_decided(asked, tactics) or asked.unknown(cost.reason or "the cost is unknown")
    if asked.compares:
        tactics = (_at_sizes, _as_written, _by_bounds, _by_unrolling)
    else:
        tactics = (by_growth_of_bounds, by_recursion, by_shown_growth)
    verdict = first_decided(asked, tactics)
    assert verdict is not None
    if not asked.compares and verdict.outcome == "holds":
        verdict = where_logarithms_vanish(asked) or verdict
    if asked.compares or verdict.outcome != "fails":
        return _with_evidence(verdict, asked)

    def is_proved(guarded: s.Ensures) -> bool:
        query = replace(asked, claim=guarded)
        holds = next(query.points(), None) is not None and by_growth_of_bounds(query).outcome == "holds"
        return holds and where_logarithms_vanish(query) is None

    sizes = asked.scope.module.signatures[asked.algorithm].size_names
    return replace(_with_evidence(verdict, asked), guarded=guard(claim, sizes, is_proved) if sizes else None)


def _with_evidence(verdict: Verdict, asked: ClaimQuery) -> Verdict:
    """Add to a verdict, unless it is `holds`, the derived cost as text and the sizes that decide the claim."""
    if verdict.outcome == "holds":
        return verdict
    # Under facts about the cache, the bound to show is that of the largest cache that they imply.
    shown = _unconditional_bounds(asked.cost, asked.known)[0] if verdict.ensures.when else asked.cost
    derived, cost, point = cost_text(asked.costs, shown), asked.cost, verdict.point
    if point is None or (cost.interval_at is not None and not cost.exact):
        # Bounds that are evaluated by a recurrence may depend on all of its sizes.
        return replace(verdict, derived=derived, deciding=point)
    claim = verdict.ensures
    named = s.names(claim.bound).union(*map(s.names, claim.when), NAME.findall(derived))
    return replace(verdict, derived=derived, deciding={name: point[name] for name in point if name in named})


def _cost(ensures: s.Ensures, costs: Costs) -> Cost | None:
    """Return the cost that a claim bounds; None if it is not derived."""
    if ensures.processors is not None:
        return time_cost(costs, Poly.symbol(ensures.processors.id), ensures.processors.id)
    return costs.metrics.get(ensures.metric)


def _without_value(asked: ClaimQuery) -> Verdict | None:
    """Refute a claim whose right side has no value at some sizes; None if no such sizes are found."""
    bound = asked.claim.bound
    if not any(_is_partial(node, asked) for node in s.nodes(bound)):
        return None
    for point in islice(asked.points(branches=False), MAX_UNDEFINED):
        try:
            evaluate_claim(bound, point)
        except UndefinedError as problem:
            if asked.has_runs(point):
                return asked.verdict("fails", f"the right side has no value: {problem}", point)
        except NO_VALUE:
            continue
    return None


def _is_partial(node: s.Node, asked: ClaimQuery) -> bool:
    """Test whether an operation may have no value at some sizes, as a quotient by 0."""
    match node:
        case s.Binary(op="/" | "//" | "%", right=divisor):
            with suppress(NotStaticError):
                return bool(s.names(divisor)) and not asked.known.positive(static_value(divisor, asked.scope))
            return True
        case s.Binary(op="^", left=base, right=exponent):
            return bool(s.names(base)) and not isinstance(exponent, s.Integer)
        case s.Call(function="log2" | "log" | "sqrt", arguments=arguments):
            return not all(isinstance(argument, s.Integer | s.Name) for argument in arguments)
        case _:
            return False


def _at_sizes(asked: ClaimQuery) -> Verdict | None:
    """Decide a claim by the values of both sides if the facts determine all sizes; else None."""
    claim = asked.claim
    if claim.processors is not None:
        return None
    fixed = fixed_sizes(asked.facts)
    point = next(asked.points(), None) if fixed else None
    if point is None or not point.keys() <= fixed.keys():
        return None
    try:
        lower, upper = enclose_count(asked.cost, point).ends
        claimed = evaluate_claim(claim.bound, point)
    except NO_VALUE:
        return None
    least, most = bounds_of_value(claimed)
    values = str(lower) if lower == upper else f"between {lower} and {upper}"
    above, below = upper <= least or claim.relation == ">=", lower >= most or claim.relation == "<="
    if above and below:
        return asked.verdict("holds", f"at these sizes it is {values}")
    if (lower > most and claim.relation != ">=") or (upper < least and claim.relation != "<="):
        return asked.verdict("fails", f"derived {values}, claimed {claim.relation} {claimed}", point)
    return None


def _as_written(asked: ClaimQuery) -> Verdict | None:
    """Accept a claim whose text is that of a bound in reports, with the condition of the bound; else None."""
    claim, cost = asked.claim, asked.cost
    if claim.processors is not None or (cost.by_case and not cost.plans):
        return None
    bound, conditions = format_expression(claim.bound), {"", *map(format_fact, claim.when)}

    def is_shown_as(value: Poly | None, when: str = "") -> bool:
        return value is not None and bound == asked.costs.text(value) and when in conditions

    with suppress(ArchlineError):
        upper = any([is_shown_as(x.value, x.where.when) for x in cost.by_cache] or [is_shown_as(cost.upper)])
        lower = any(map(is_shown_as, (cost.lower, *(bound.value for bound in cost.by_loop))))
        if (upper or claim.relation == ">=") and (lower or claim.relation == "<="):
            return asked.verdict("holds", PROVED)
    return None


def _by_bounds(asked: ClaimQuery) -> Verdict:
    """Prove that the difference of both sides has the claimed sign at all sizes; else search a counterexample."""
    asked = replace(asked, scope=with_cost_symbols(asked.scope))
    try:
        with limit_effort(MAX_TERM_PRODUCTS):
            claimed = as_fractions(static_value(asked.claim.bound, asked.scope.with_facts(asked.known)))
            comparisons = [
                _Comparison(replace(asked, cost=bounds), claimed)
                for bounds in _unconditional_bounds(asked.cost, asked.known)
            ]
            proved = next((comparison for comparison in comparisons if comparison.proved()), None)
            return comparisons[0].unproved() if proved is None else proved.asked.verdict("holds", PROVED)
    except NotStaticError as problem:
        return asked.unknown(f"the claim: {problem.reason}")
    except TooComplexError as problem:
        return asked.unknown(str(problem))


def with_cost_symbols(scope: Scope) -> Scope:
    """Add the symbols of declared extern costs to a scope, as nonnegative counts."""
    for name in find_cost_symbols(scope.module.externs.values()):
        if name not in scope.values:
            facts = scope.facts.with_symbol(name, (ZERO,))
            scope = scope.with_facts(facts).with_value(name, Poly.symbol(name))
    return scope


def _unconditional_bounds(cost: Cost, facts: Facts) -> list[Cost]:
    """List a cost for each pair of an upper bound whose condition the facts imply and a lower bound.

    Upper bounds of large caches come first; the given cost alone if the facts imply no condition.
    """
    if not cost.plans:
        return [cost]
    known = facts.with_nonnegative(ONE_LINE)
    uppers = [plan.value for plan in reversed(cost.plans) if plan.where.is_implied(known)]
    lowers = (cost.lower, *(bound.value for bound in cost.by_loop))
    return [replace(cost, upper=upper, lower=lower) for upper in uppers for lower in lowers] or [cost]


@record
class _Comparison:
    """The comparison of a cost with the claimed value, an expression in sizes."""

    asked: ClaimQuery
    claimed: Poly

    def proved(self, tactics: Sequence[Proof] = ()) -> bool:
        """Test whether the claim is proved for all sizes, with `tactics` in addition to the usual ones."""
        return all(any(never_negative(margin, facts, tactics) for margin in group) for facts, group in self._margins())

    def unproved(self) -> Verdict:
        """Search a counterexample to a claim that is not proved, then a proof by stronger tactics; else unknown."""
        asked = self.asked
        for point in asked.points():
            reason = self._contradiction(point)
            if reason is not None and asked.has_runs(point):
                return asked.verdict("fails", reason, point)
        with suppress(TooComplexError, highs.SolverError, OverflowError):
            # A claim that no point refutes is worth a longer search.
            if self.proved(STRONG_TACTICS):
                return asked.verdict("holds", PROVED)
        if not asked.cost.exact:
            return asked.unknown("only bounds on the cost are known, and they do not decide the claim")
        return asked.unknown("no proof, and no counterexample at the sizes checked")

    def _margins(self) -> Iterator[tuple[Facts, tuple[Poly, ...]]]:
        """Yield for each piece of the cost its facts and a group of values; one value >= 0 proves the claim there."""
        claim, cost, stated = self.asked.claim, self.asked.cost, self.asked.known
        if claim.processors is not None:
            processors = Poly.symbol(claim.processors.id)
            for margins in claim_margins(self.asked.costs, processors, stated.restore(self.claimed), claim.relation):
                yield stated, tuple(margin.substitute(stated.rewrites) for margin in margins)
            return
        for piece, case in cost.facts_by_piece:
            if case is not None and some_fact_excluded(claim.when, self.asked.scope.with_facts(case)):
                continue
            facts = stated if case is None else with_all_facts(case, claim.when, self.asked.scope)
            if claim.relation in ("==", "<="):
                yield facts, (self.claimed - as_fractions(piece.upper.substitute(stated.rewrites)),)
            if claim.relation in ("==", ">="):
                yield facts, (as_fractions(piece.lower.substitute(stated.rewrites)) - self.claimed,)

    def _contradiction(self, point: Mapping[str, int]) -> str | None:
        """Describe how the cost contradicts the claim at a point; None if it does not."""
        claim = self.asked.claim
        try:
            lower, upper = enclose_count(self.asked.cost, point).ends
            least, most = self._claimed(point)
        except NO_VALUE:
            return None
        relation = claim.relation
        too_much = relation in ("==", "<=") and lower > most
        too_little = relation in ("==", ">=") and upper < least
        # At sizes of a run a count is an integer: at other sizes a quotient of sizes leaves a remainder.
        is_count = claim.processors is not None or (lower.denominator == 1 and upper.denominator == 1)
        if not (too_much or too_little) or not is_count:
            return None
        derived = readable(lower) if lower == upper else f"between {readable(lower)} and {readable(upper)}"
        return f"derived {derived}, claimed {relation} {readable(least) if least == most else digits(least)}"

    def _claimed(self, point: Mapping[str, int]) -> tuple[Fraction, Fraction]:
        """Return an interval that encloses the claimed value at a point; the ends are equal if it is rational."""
        try:
            return bounds_of_value(evaluate(self.asked.known.restore(self.claimed), point))
        except EvaluationError:
            return bounds_of_value(evaluate_claim(self.asked.claim.bound, point))
