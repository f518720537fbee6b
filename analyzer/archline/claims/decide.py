"""Decide each `ensures`: whether a derived cost equals the claimed one, or is a lower or an upper bound of it.

Several tactics are tried on a claim; if none decides it, the claim is decided in cases of the sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import islice

from archline.algebra.effort import OUT_OF_TIME, Clock, TooComplexError, limit_effort, search_within_time
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import write_quotients_as_fractions
from archline.algebra.facts import Facts
from archline.algebra.lp import append_failures, highs
from archline.algebra.polynomial import ZERO, Poly
from archline.algebra.prove.prover import Tactic as Proof
from archline.algebra.prove.prover import prove_never_negative
from archline.algebra.prove.strong import STRONG_TACTICS
from archline.analysis.checks.failures import list_assumed_size_facts
from archline.analysis.cost import Cost, Costs, enclose_count, format_cost
from archline.analysis.metrics.relations import claim_margins, time_cost
from archline.claims import by_cases as case_splits
from archline.claims import by_unrolling
from archline.claims.growth_claims import (
    NO_VALUE,
    decide_by_growth_of_bounds,
    decide_by_recurrence,
    decide_by_shown_growth,
    refute_where_logarithms_vanish,
)
from archline.claims.verdicts import PROVED, ClaimQuery, Tactic, Verdict, find_first_decided, find_proved_guard
from archline.expr.intervals import EvaluationError, UndefinedError
from archline.expr.solutions import find_fixed_sizes
from archline.expr.text import format_expression, format_fact
from archline.expr.tree import substitute_in_fact, substitute_names
from archline.expr.values import bounds_of_value
from archline.expr.values import evaluate as evaluate_claim
from archline.growth.growths import make_domain
from archline.ir.conditions import has_false_fact, with_facts
from archline.ir.declarations import declared_scope
from archline.ir.layout import ONE_LINE_FITS
from archline.ir.scope import NotStaticError, Scope, static_value
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.diagnostics import ArchlineError
from archline.language.iterations import IterationCount, list_iterations
from archline.language.model import Module
from archline.language.substitution import build_processor_count
from archline.numbers import format_nine_digits, format_readable
from archline.records import record, replace

MAX_TERM_PRODUCTS = 500_000
MAX_POINTS_FOR_VALUE = 200
"""The maximum number of points at which the right side of a claim is evaluated to test that it has a value."""
_ONLY_BOUNDS = "only bounds on the cost are known, and they do not decide the claim"
NAME_PATTERN = re.compile(r"[A-Za-z_]\w*")


def decide_claims(
    module: Module,
    algorithm: s.Algorithm,
    costs: Costs,
    ensures: Sequence[s.Ensures] | None = None,
    facts: Sequence[s.Fact] | None = None,
) -> tuple[Verdict, ...]:
    """Decide all claims of an algorithm, or those in `ensures`, and return their verdicts in order.

    The `facts` are conditions without which no run ends (None: those of `list_assumed_size_facts`).
    """
    ensures = algorithm.ensures if ensures is None else ensures
    scope = replace(declared_scope(module, algorithm), reads_decimals=True)
    facts = list_assumed_size_facts(module, algorithm) if facts is None else facts
    written = [_substitute_processors(replace(claim, when=(*claim.when, *facts)), algorithm) for claim in ensures]
    verdicts = [_decide_claim(claim, algorithm, costs, scope) for claim in written]
    if any(verdict.outcome == "unknown" for verdict in verdicts):
        by_cases = case_splits.CaseDecider(module, algorithm, _decide_claim)
        verdicts = [
            by_cases.decide_by_cases(claim, verdict) if verdict.outcome == "unknown" else verdict
            for claim, verdict in zip(written, verdicts, strict=True)
        ]
    counted = {item.name: item for item in list_iterations(module, algorithm)}
    verdicts = [
        _explain_free_iterations(_reject_vacuous_claim(verdict, algorithm, costs, scope), costs, counted)
        for verdict in verdicts
    ]
    verdicts = [
        replace(verdict, reason=_add_failures_to_reason(verdict.reason)) if verdict.outcome == "unknown" else verdict
        for verdict in verdicts
    ]
    return tuple(replace(verdict, ensures=claim) for verdict, claim in zip(verdicts, ensures, strict=True))


def _add_failures_to_reason(reason: str) -> str:
    """Append to the reason of an undecided claim whether time ran out or a solver failed."""
    return append_failures(reason if not Clock.late or OUT_OF_TIME in reason else f"{reason}; {OUT_OF_TIME}")


def _reject_vacuous_claim(verdict: Verdict, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    """Replace a verdict `holds` by unknown if no sizes satisfy the facts of the claim."""
    cost = _select_claimed_cost(verdict.ensures, costs)
    if verdict.outcome != "holds" or cost is None:
        return verdict
    asked = ClaimQuery(verdict.ensures, algorithm, costs, cost, scope)
    with suppress(ArchlineError):
        # Facts that growth does not read exclude no sizes here.
        if make_domain(asked.facts) is not None:
            return verdict
        if next(asked.iterate_points(branches=False), None) is None:
            return asked.make_unknown("no sizes satisfy both the `where` and the `when`")
        if not asked.is_comparison:
            return asked.make_unknown("no sizes >= 1 satisfy the facts")
    return verdict


def _explain_free_iterations(verdict: Verdict, costs: Costs, counted: Mapping[str, IterationCount]) -> Verdict:
    """Replace a verdict by `unknown` if the cost depends on loop iterations that the claim does not name.

    This is done for `fails`, unless the counterexample has the minimum number of iterations, and for an undecided claim
    on a cost with known bounds only; the reason then names the iterations.
    """
    cost = _select_claimed_cost(verdict.ensures, costs)
    undecided = verdict.outcome == "unknown" and verdict.reason == _ONLY_BOUNDS
    if (verdict.outcome != "fails" and not undecided) or cost is None or not counted:
        return verdict
    bounds = [bound for bound in (cost.lower, cost.upper) if bound is not None]
    named = s.find_names((verdict.ensures.bound, verdict.ensures.when))
    free = [name for bound in bounds for name in sorted(bound.names) if name in counted and name not in named]
    if not free or (verdict.point is not None and all(verdict.point.get(name) == counted[name].least for name in free)):
        return verdict
    item = counted[free[0]]
    reason = f"the cost depends on {item.name}, {item.described}, which nothing bounds in the sizes"
    hint = f"name its iterations in the claim, or add a fact about them, `when {item.name} <= ...`"
    if isinstance(item.loop, s.While) and not item.loop.tests_last:
        total = "" if item.loop in item.algorithm.body else " or `... in total`"
        hint = f"bound the loop, `while ... at most e times`{total}, {hint}"
    return Verdict(verdict.ensures, "unknown", f"{reason}: {hint}", derived=verdict.derived)


def _substitute_processors(ensures: s.Ensures, algorithm: s.Algorithm) -> s.Ensures:
    """Replace P in a claim by the product of the grid's axes, if these are sizes."""
    processors = build_processor_count(algorithm)
    if processors is None or "P" not in s.find_names((ensures.bound, ensures.when)):
        return ensures
    values = {"P": processors}
    when = tuple(substitute_in_fact(fact, values) for fact in ensures.when)
    return replace(ensures, bound=substitute_names(ensures.bound, values), when=when)


def _decide_claim(ensures: s.Ensures, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> Verdict:
    """Decide a claim within the time limit; unknown if its metric is not derived."""
    cost = _select_claimed_cost(ensures, costs)
    if cost is None:
        return Verdict(ensures, "unknown", f"`{ensures.metric}` is not derived in this version")
    query = ClaimQuery(ensures, algorithm, costs, cost, scope)
    return search_within_time(lambda: _try_tactics(query), Verdict(ensures, "unknown", OUT_OF_TIME))


def _decide_by_unrolling(asked: ClaimQuery) -> Verdict | None:
    return by_unrolling.decide_by_unrolling(asked)


def _try_tactics(asked: ClaimQuery) -> Verdict:
    """Decide a claim by the tactics for its relation and for the bounds that are known, and add evidence; a growth
    claim that fails also gets a guard under which it is proved, if there is one.
    """
    cost, claim = asked.cost, asked.claim
    undefined = _refute_undefined_claim(asked) if asked.is_comparison else None
    if undefined is not None:
        return undefined if cost.lower is None else _with_evidence(undefined, asked)
    tactics: tuple[Tactic, ...]
    if cost.lower is None or cost.upper is None:
        tactics = (
            (_decide_at_fixed_sizes,)
            if asked.is_comparison and cost.has_values
            else (decide_by_recurrence, decide_by_shown_growth)
        )
        return find_first_decided(asked, tactics) or asked.make_unknown(cost.reason or "the cost is unknown")
    if asked.is_comparison:
        tactics = (_decide_at_fixed_sizes, _accept_shown_bound, _decide_by_margins, _decide_by_unrolling)
    else:
        tactics = (decide_by_growth_of_bounds, decide_by_recurrence, decide_by_shown_growth)
    verdict = find_first_decided(asked, tactics)
    assert verdict is not None
    if not asked.is_comparison and verdict.outcome == "holds":
        verdict = refute_where_logarithms_vanish(asked) or verdict
    if asked.is_comparison or verdict.outcome != "fails":
        return _with_evidence(verdict, asked)

    def is_proved(guarded: s.Ensures) -> bool:
        query = replace(asked, claim=guarded)
        holds = next(query.iterate_points(), None) is not None and decide_by_growth_of_bounds(query).outcome == "holds"
        return holds and refute_where_logarithms_vanish(query) is None

    sizes = asked.scope.module.signatures[asked.algorithm].size_names
    return replace(
        _with_evidence(verdict, asked), guarded=find_proved_guard(claim, sizes, is_proved) if sizes else None
    )


def _with_evidence(verdict: Verdict, asked: ClaimQuery) -> Verdict:
    """Add to a verdict other than `holds` the derived cost as text, and those sizes of its counterexample, if any, that
    the claim or the cost depends on.
    """
    if verdict.outcome == "holds":
        return verdict
    # Under facts about the cache, the bound to show is that of the largest cache that they imply.
    shown = _list_implied_bounds(asked.cost, asked.known)[0] if verdict.ensures.when else asked.cost
    derived, cost, point = format_cost(asked.costs, shown), asked.cost, verdict.point
    if point is None or (cost.interval_at is not None and not cost.exact):
        # Bounds that are evaluated by a recurrence may depend on all of its sizes.
        return replace(verdict, derived=derived, deciding=point)
    claim = verdict.ensures
    named = s.find_names(claim.bound).union(*map(s.find_names, claim.when), NAME_PATTERN.findall(derived))
    return replace(verdict, derived=derived, deciding={name: point[name] for name in point if name in named})


def _select_claimed_cost(ensures: s.Ensures, costs: Costs) -> Cost | None:
    """Return the cost of the claim's metric, or the time on its number of processors; None if it is not derived."""
    if ensures.processors is not None:
        return time_cost(costs, Poly.symbol(ensures.processors.id), ensures.processors.id)
    return costs.metrics.get(ensures.metric)


def _refute_undefined_claim(asked: ClaimQuery) -> Verdict | None:
    """Refute a claim whose right side has no value at some sizes; None if no such sizes are found."""
    bound = asked.claim.bound
    if not any(_may_be_undefined(node, asked) for node in s.iterate_nodes(bound)):
        return None
    for point in islice(asked.iterate_points(branches=False), MAX_POINTS_FOR_VALUE):
        try:
            evaluate_claim(bound, point)
        except UndefinedError as problem:
            if asked.has_runs(point):
                return asked.make_verdict("fails", f"the right side has no value: {problem}", point)
        except NO_VALUE:
            continue
    return None


def _may_be_undefined(node: s.Node, asked: ClaimQuery) -> bool:
    """Test whether an operation may have no value at some sizes, as a quotient by 0."""
    match node:
        case s.Binary(op="/" | "//" | "%", right=divisor):
            with suppress(NotStaticError):
                return bool(s.find_names(divisor)) and not asked.known.positive(static_value(divisor, asked.scope))
            return True
        case s.Binary(op="^", left=base, right=exponent):
            return bool(s.find_names(base)) and not isinstance(exponent, s.Integer)
        case s.Call(function="log2" | "log" | "sqrt", arguments=arguments):
            return not all(isinstance(argument, s.Integer | s.Name) for argument in arguments)
        case _:
            return False


def _decide_at_fixed_sizes(asked: ClaimQuery) -> Verdict | None:
    """Decide a claim by the values of both sides if the facts determine all sizes; else None."""
    claim = asked.claim
    if claim.processors is not None:
        return None
    fixed = find_fixed_sizes(asked.facts)
    point = next(asked.iterate_points(), None) if fixed else None
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
        return asked.make_verdict("holds", f"at these sizes it is {values}")
    if (lower > most and claim.relation != ">=") or (upper < least and claim.relation != "<="):
        return asked.make_verdict("fails", f"derived {values}, claimed {claim.relation} {claimed}", point)
    return None


def _accept_shown_bound(asked: ClaimQuery) -> Verdict | None:
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
            return asked.make_verdict("holds", PROVED)
    return None


def _decide_by_margins(asked: ClaimQuery) -> Verdict:
    """Prove that the difference of both sides has the claimed sign at all sizes; else search a counterexample."""
    asked = replace(asked, scope=with_cost_symbols(asked.scope))
    try:
        with limit_effort(MAX_TERM_PRODUCTS):
            claimed = write_quotients_as_fractions(static_value(asked.claim.bound, asked.scope.with_facts(asked.known)))
            comparisons = [
                _Comparison(replace(asked, cost=bounds), claimed)
                for bounds in _list_implied_bounds(asked.cost, asked.known)
            ]
            proved = next((comparison for comparison in comparisons if comparison.is_proved()), None)
            return comparisons[0].decide_unproved() if proved is None else proved.asked.make_verdict("holds", PROVED)
    except NotStaticError as problem:
        return asked.make_unknown(f"the claim: {problem.reason}")
    except TooComplexError as problem:
        return asked.make_unknown(str(problem))


def with_cost_symbols(scope: Scope) -> Scope:
    """Add the symbols of declared extern costs to a scope, as nonnegative counts."""
    for name in find_cost_symbols(scope.module.externs.values()):
        if name not in scope.values:
            facts = scope.facts.with_symbol(name, (ZERO,))
            scope = scope.with_facts(facts).with_value(name, Poly.symbol(name))
    return scope


def _list_implied_bounds(cost: Cost, facts: Facts) -> list[Cost]:
    """List a cost for each pair of an upper bound whose condition the facts imply and a lower bound.

    Upper bounds of large caches come first; the given cost alone if the facts imply no condition.
    """
    if not cost.plans:
        return [cost]
    known = facts.with_nonnegative(ONE_LINE_FITS)
    uppers = [plan.value for plan in reversed(cost.plans) if plan.where.is_implied(known)]
    lowers = (cost.lower, *(bound.value for bound in cost.by_loop))
    return [replace(cost, upper=upper, lower=lower) for upper in uppers for lower in lowers] or [cost]


@record
class _Comparison:
    """The comparison of a cost with the claimed value, an expression in sizes."""

    asked: ClaimQuery
    claimed: Poly

    def is_proved(self, tactics: Sequence[Proof] = ()) -> bool:
        """Test whether the claim is proved for all sizes, with `tactics` in addition to the usual ones."""
        return all(
            any(prove_never_negative(margin, facts, tactics) for margin in group)
            for facts, group in self._iterate_margins()
        )

    def decide_unproved(self) -> Verdict:
        """Search a counterexample to a claim that is not proved, then a proof by stronger tactics; else unknown."""
        asked = self.asked
        for point in asked.iterate_points():
            reason = self._describe_contradiction(point)
            if reason is not None and asked.has_runs(point):
                return asked.make_verdict("fails", reason, point)
        with suppress(TooComplexError, highs.SolverError, OverflowError):
            # A claim that no point refutes is worth a longer search.
            if self.is_proved(STRONG_TACTICS):
                return asked.make_verdict("holds", PROVED)
        if not asked.cost.exact:
            return asked.make_unknown(_ONLY_BOUNDS)
        return asked.make_unknown("no proof, and no counterexample at the sizes checked")

    def _iterate_margins(self) -> Iterator[tuple[Facts, tuple[Poly, ...]]]:
        """Yield for each piece of the cost its facts and a group of values; one value >= 0 proves the claim there."""
        claim, cost, stated = self.asked.claim, self.asked.cost, self.asked.known
        if claim.processors is not None:
            processors = Poly.symbol(claim.processors.id)
            for margins in claim_margins(self.asked.costs, processors, stated.restore(self.claimed), claim.relation):
                yield stated, tuple(margin.substitute(stated.rewrites) for margin in margins)
            return
        for piece, case in cost.facts_by_piece:
            if case is not None and has_false_fact(claim.when, self.asked.scope.with_facts(case)):
                continue
            facts = stated if case is None else with_facts(case, claim.when, self.asked.scope)
            if claim.relation in ("==", "<="):
                yield facts, (self.claimed - write_quotients_as_fractions(piece.upper.substitute(stated.rewrites)),)
            if claim.relation in ("==", ">="):
                yield facts, (write_quotients_as_fractions(piece.lower.substitute(stated.rewrites)) - self.claimed,)

    def _describe_contradiction(self, point: Mapping[str, int]) -> str | None:
        """Describe how the cost contradicts the claim at a point; None if it does not."""
        claim = self.asked.claim
        try:
            lower, upper = enclose_count(self.asked.cost, point).ends
            least, most = self._evaluate_claimed(point)
        except NO_VALUE:
            return None
        relation = claim.relation
        too_much = relation in ("==", "<=") and lower > most
        too_little = relation in ("==", ">=") and upper < least
        # At sizes of a run a count is an integer: at other sizes a quotient of sizes leaves a remainder.
        is_count = claim.processors is not None or (lower.denominator == 1 and upper.denominator == 1)
        if not (too_much or too_little) or not is_count:
            return None
        derived = (
            format_readable(lower)
            if lower == upper
            else f"between {format_readable(lower)} and {format_readable(upper)}"
        )
        claimed = format_readable(least) if least == most else format_nine_digits(least)
        return f"derived {derived}, claimed {relation} {claimed}"

    def _evaluate_claimed(self, point: Mapping[str, int]) -> tuple[Fraction, Fraction]:
        """Return an interval that encloses the claimed value at a point; the ends are equal if this is rational."""
        try:
            return bounds_of_value(evaluate(self.asked.known.restore(self.claimed), point))
        except EvaluationError:
            return bounds_of_value(evaluate_claim(self.asked.claim.bound, point))
