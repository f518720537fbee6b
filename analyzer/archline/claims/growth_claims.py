"""Decide claims on growth from the bounds of a cost, its recurrence, or the growth that reports show; and select
the growth to show.

At the smallest sizes a cost may be 0 where the claim is not, or the reverse. The growth prover reads log2(w) as
log2(2 + w), and proves nothing about such zeros, so values are compared there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from fractions import Fraction
from functools import partial
from itertools import islice, pairwise, product, takewhile

from archline.algebra import atoms as a
from archline.algebra.factors import factor_into_extents
from archline.algebra.facts import Facts
from archline.algebra.index_range import IndexRange
from archline.algebra.polynomial import ONE, Atom, Poly
from archline.analysis.cost import Cost, Costs, enclose_cost
from archline.claims.io_growth import IoGrowthClaim
from archline.claims.verdicts import PROVED, ClaimQuery, Verdict, iterate_guards
from archline.cost_growth.growth_of_cost import derive_cost_growth, derive_recurrence_growth, make_theta_growth
from archline.cost_growth.pieces import (
    build_growth_pieces,
    build_time_growth_pieces,
    express_cost_over_range,
    list_facts_without_disjunctions,
    rewrite_bounds,
)
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_fact, join_with_mark
from archline.expr.tree import rewrite_parts, substitute_in_fact, substitute_names
from archline.expr.values import bounds_of_value, evaluate, evaluate_fact
from archline.growth.counterexample import Divergence, Point
from archline.growth.growths import Growth, Witness, decide_growth, make_domain
from archline.growth.growths import is_proved_big_o as grows_no_faster
from archline.growth.is_big_o import Refuted
from archline.ir.conditions import assume_facts, with_fact
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.numbers import format_significant
from archline.records import record, replace

MIN_RATIO_RISE = 1.5
MAX_ZERO_COST_SIZE = 100
"""The number of points, from the smallest on, at which a cost of 0 is looked for."""
SIZES_OF_SMALL_LOGARITHMS = (1, 2, 3)
"""Sizes at which the logarithm of a size, or of its rounded half, is 0."""
NO_VALUE = (EvaluationError, OverflowError, ZeroDivisionError)


def decide_by_growth_of_bounds(asked: ClaimQuery) -> Verdict:
    """Decide a growth claim from the bounds of the cost, and from sizes at which only one side is 0."""
    asked = replace(asked, scope=assume_facts(asked.scope, *asked.claim.when))
    first = _decide_growth_under_facts(asked, asked.scope.facts, asked.facts)
    proved = first.outcome == "holds"
    if first.outcome == "fails" or not _may_miss_zeros(asked, proved):
        return first
    zero = _refute_by_one_sided_zeros(asked, proved)
    if zero is not None:
        return zero
    if proved:
        return first
    zeros = list(takewhile(lambda point: _are_both_zero(asked, point), _list_small_points(asked)))
    if not zeros or len(zeros[-1]) != 1:
        return first
    ((name, size),) = zeros[-1].items()
    (beyond,) = b.lower_bound_facts([name], size + 1)
    rest = _decide_growth_under_facts(asked, with_fact(asked.scope.facts, beyond, asked.scope), (*asked.facts, beyond))
    if rest.outcome != "holds":
        return rest
    return replace(rest, reason=f"{rest.reason}; cost and claim are 0 up to {name} = {size}")


def _decide_growth_under_facts(asked: ClaimQuery, base: Facts, facts: tuple[s.Fact, ...]) -> Verdict:
    """Decide a growth claim under `facts`; `base` are the same facts about symbols."""
    claim, costs, cost, indices = asked.claim, asked.costs, asked.cost, asked.costs.index_range
    confirm, bound = _CounterexampleCheck(cost, facts, claim.bound, indices), claim.bound
    moved = express_cost_over_range(indices, cost, facts, base)
    if claim.processors is not None:
        verdict = decide_growth(
            claim.relation, build_time_growth_pieces(costs, claim.processors.id, facts, base), bound, confirm
        )
    elif indices is not None and moved is not None:
        verdict = decide_growth(
            claim.relation, build_growth_pieces(costs, *moved), indices.eliminate_high(bound), confirm
        )
        verdict = replace(verdict, reason=indices.restore_difference_in_text(verdict.reason))
    elif cost.upper_growths is not None or cost.plans:
        verdict = IoGrowthClaim(bound, costs, cost, base, facts, confirm, confirm.make_unchecked_witness).decide(
            claim.relation
        )
    else:
        verdict = decide_growth(claim.relation, build_growth_pieces(costs, cost, facts, base), bound, confirm)
    return asked.make_verdict(verdict.outcome, verdict.reason, proofs=verdict.proofs)


@record
class _CounterexampleCheck:
    """Checks a counterexample at values of the cost itself, as the prover read only the bounds of one regime."""

    cost: Cost
    facts: tuple[s.Fact, ...]
    bound: s.Expr
    index_range: IndexRange | None

    def __call__(self, side: str, refuted: Refuted) -> Witness | None:
        """Return the witness of a counterexample; None if it is not confirmed.

        It is confirmed if the ratios for `side`, O or Omega, rise along its curve, or are infinite at its point.
        """
        entries = self.list_ratios(side, refuted)
        ratios = [least for _, least, _ in entries]
        if isinstance(refuted.found, Point):
            stands = ratios == [float("inf")]
        else:
            rising = all(low < high for low, high in pairwise(ratios))
            stands = len(ratios) >= 2 and rising and ratios[-1] >= ratios[0] * MIN_RATIO_RISE
        return self._make_witness(entries) if stands else None

    def make_unchecked_witness(self, side: str, refuted: Refuted) -> Witness:
        """Return the witness of a counterexample without a check, for bounds known up to constant factors."""
        return self._make_witness(self.list_ratios(side, refuted))

    def list_ratios(self, side: str, refuted: Refuted) -> list[tuple[Mapping[str, int], float, bool]]:
        """List for each point the minimum ratio of cost to claim (`side` O) or claim to cost, and if it is exact."""
        entries = ((point, self._compute_ratio(side, point)) for point in refuted.points)
        return [(point, *ratio) for point, ratio in entries if ratio is not None]

    def _make_witness(self, ratios: Iterable[tuple[Mapping[str, int], float, bool]]) -> Witness:
        texts = tuple(
            (at, ("" if exact else "at least ") + format_significant(ratio, 3)) for at, ratio, exact in ratios
        )
        bounds = (bound for bound in (self.cost.lower, self.cost.upper) if bound is not None)
        return Witness(texts, frozenset(name for bound in bounds for name in bound.names))

    def _compute_ratio(self, side: str, point: Mapping[str, int]) -> tuple[float, bool] | None:
        """Return the minimum ratio of cost to claim (`side` O), or claim to cost, at a point, and whether it is exact.

        None if it has no value or a fact is false.
        """
        try:
            if self.index_range is not None:
                point = self.index_range.add_high_to_point(point)
            lower, upper = enclose_cost(self.cost, point).ends
            if any(evaluate_fact(fact, point) is False for fact in self.facts):
                return None
            least, most = bounds_of_value(evaluate(self.bound, point))
            above, below = (lower, most) if side == "O" else (least, upper)
            if not below and above > 0:
                return float("inf"), True
            return float(above / below), lower == upper
        except NO_VALUE:
            return None


def decide_by_recurrence(asked: ClaimQuery) -> Verdict | None:
    """Decide a growth claim from the growth of the cost's recurrence; None if it has none."""
    claim, cost = asked.claim, asked.cost
    if asked.is_comparison or claim.processors is not None or cost.recursion is None:
        return None
    facts, bound, known_facts = asked.facts, claim.bound, asked.known
    solved = derive_recurrence_growth(asked.costs, cost, facts)
    if solved is None:
        return None
    cases = () if any(piece.is_zero for piece in solved.pieces) else solved.pieces
    if not cases and solved.upper is None:
        return asked.make_unknown(f"{cost.reason or 'the bounds do not decide the claim'}; {solved.reason}")
    indices = cost.recursion.indices
    if indices is not None:
        facts, known_facts, bound = (
            indices.eliminate_high_in_facts(facts),
            indices.substitute_high_in_facts(known_facts),
            indices.eliminate_high(bound),
        )
    if solved.upper is not None:
        has_lower = not solved.size or known_facts.nonnegative(Poly.symbol(solved.size) - solved.least)
        cases = (Growth(solved.lower if has_lower else None, solved.upper),)
    if claim.relation != "O" and any(case.lower is None for case in cases):
        return asked.make_unknown("no lower bound on the growth is known that holds at all of these sizes")
    parts = [
        replace(case, lower=case.lower or b.ZERO, facts=(*facts, *list_facts_without_disjunctions(case)))
        for case in cases
    ]
    verdict = decide_growth(
        claim.relation,
        parts,
        bound,
        partial(_accept_curve_of_one_size, _CounterexampleCheck(cost, asked.facts, claim.bound, indices)),
    )
    reason = verdict.reason
    if verdict.outcome != "unknown" and solved.upper is not None:
        # The growth of a recurrence has no values at sizes that a reader could check.
        reason = f"the recurrence gives {claim.metric} = {Growth(cases[0].lower, solved.upper).text}"
    if indices is not None:
        reason = indices.restore_difference_in_text(reason)
    return asked.make_verdict(verdict.outcome, reason, proofs=verdict.proofs)


def _accept_curve_of_one_size(confirmation: _CounterexampleCheck, side: str, refuted: Refuted) -> Witness | None:
    """Return the witness of a counterexample that is a curve of one size; None for other ones.

    A recurrence has no values at points, so the witness is not checked with values.
    """
    is_curve = isinstance(refuted.found, Divergence) and len(refuted.found.curve.scales) == 1
    return confirmation.make_unchecked_witness(side, refuted) if is_curve else None


def decide_by_shown_growth(asked: ClaimQuery) -> Verdict | None:
    """Prove a growth claim from the growth that reports show; None if that does not prove it."""
    claim = asked.claim
    growth = derive_cost_growth(asked.scope.module, asked.algorithm, asked.costs, asked.cost)
    uppers, lowers = growth.list_bounds(set(map(format_fact, claim.when)))
    domain = make_domain(asked.facts)
    if claim.processors is not None or domain is None:
        return None
    above = claim.relation == "Omega" or any(grows_no_faster(upper, claim.bound, domain) for upper in uppers)
    if above and (claim.relation == "O" or any(grows_no_faster(claim.bound, lower, domain) for lower in lowers)):
        zero = _refute_by_one_sided_zeros(asked, proved=True) if _may_miss_zeros(asked, proved=True) else None
        return zero or asked.make_verdict("holds", PROVED)
    return None


def _may_miss_zeros(asked: ClaimQuery, proved: bool) -> bool:
    """Test whether one side of a claim may be 0 at sizes where the prover assumes that it is not.

    The prover reads log2(w), which is 0 at w = 1, as log2(2 + w), and assumes that ranges of indices are not empty and
    that symbols of declared costs are at least 1. `proved` says whether the claim is proved except for such zeros.
    """
    indices = asked.costs.index_range
    empty = indices is not None and indices.least < 1
    if empty or _find_declared_symbols(asked):
        return True
    below = asked.claim.relation != "O"
    return below and (not proved or _logarithm_may_vanish(asked.cost, asked.scope.facts))


def _find_declared_symbols(asked: ClaimQuery) -> Set[str]:
    """Find the symbols of declared costs in a claim; they may be 0, while the prover assumes at least 1."""
    return s.find_names(asked.claim.bound) & {*find_cost_symbols(asked.scope.module.externs.values())}


def _logarithm_may_vanish(cost: Cost, known: Facts) -> bool:
    """Test whether the lower bound of a cost has a logarithm, and is not proved to be positive."""
    if cost.lower is None or not any(map(_is_logarithm, cost.lower.atoms_within())):
        return False
    return not known.positive(cost.lower.substitute(known.rewrites))


def _is_logarithm(atom: Atom) -> bool:
    return isinstance(atom, a.CeilLog2) or (isinstance(atom, a.RealFunction) and atom.function == "log2")


def refute_where_logarithms_vanish(asked: ClaimQuery) -> Verdict | None:
    """Refute an Omega or Theta claim at a smallest size where a logarithm is 0; None if it is not false there.

    The prover reads log2(w) as log2(2 + w), and so proves that k*log2(n) is Omega(k), which is false at n = 1. Here
    the size is substituted in the cost, and terms of the claim with a logarithm that is 0 are dropped.
    """
    claim, cost, costs = asked.claim, asked.cost, asked.costs
    if claim.relation == "O" or claim.processors is not None or costs.index_range is not None:
        return None
    if cost.lower is None or cost.upper is None or cost.upper_growths is not None or cost.plans:
        return None
    logarithms = tuple(filter(_is_logarithm, cost.lower.atoms_within()))
    for name, size in product(sorted({name for atom in logarithms for name in atom.names}), SIZES_OF_SMALL_LOGARITHMS):
        value, written = {name: Poly.constant(size)}, {name: b.number(size)}
        fact = b.binary("==", b.name(name), b.number(size))
        vanishes = size == 1 or any(part.substitute(value) == ONE for atom in logarithms for part in atom.parts)
        if not vanishes or make_domain((*asked.facts, fact)) is None or _has_zero_divisor(cost, value):
            continue
        bound = rewrite_parts(substitute_names(claim.bound, written), _remove_vanishing_logarithms)
        if bound == b.ZERO:
            continue
        knowing_size = partial(with_fact, fact=fact, scope=asked.scope)
        there = rewrite_bounds(cost, partial(Poly.substitute, values=value), knowing_size)
        facts = tuple(substitute_in_fact(assumed, written) for assumed in asked.facts)
        cases = build_growth_pieces(costs, there, (*facts, fact), knowing_size(asked.known))
        verdict = decide_growth("Omega", cases, bound, _CounterexampleCheck(there, facts, bound, None))
        if verdict.outcome == "fails":
            return asked.make_verdict("fails", f"at {name} = {size}, {verdict.reason}")
    return None


def _has_zero_divisor(cost: Cost, values: Mapping[str, Poly]) -> bool:
    """Test whether a quotient in a bound has divisor 0 at the given values; no run has such sizes."""
    floors = (
        atom for end in (cost.lower, cost.upper) if end for atom in end.atoms_within() if isinstance(atom, a.Floor)
    )
    return any(not floor.modulus.substitute(values) for floor in floors)


def _remove_vanishing_logarithms(expr: s.Expr) -> s.Expr | None:
    """Return an expression without logarithms of 1 and terms with such a factor; None to rewrite its parts instead."""
    match expr:
        case s.Call(function="log2", arguments=(argument,)) if not s.find_names(argument):
            with suppress(*NO_VALUE):
                return b.ZERO if evaluate(argument, {}) == 1 else expr
            return expr
        case s.Binary(op=op, left=left, right=right):
            first, second = (rewrite_parts(operand, _remove_vanishing_logarithms) for operand in (left, right))
            if b.ZERO in ((first, second) if op == "*" else (first,) if op == "/" else ()):
                return b.ZERO
            if op in ("+", "-") and second == b.ZERO:
                return first
            return second if op == "+" and first == b.ZERO else b.binary(op, first, second)
        case _:
            # The parts of other expressions are rewritten.
            return None


def _list_small_points(asked: ClaimQuery) -> list[Mapping[str, int]]:
    """List the smallest sizes that a claim covers."""
    declared = _find_declared_symbols(asked)
    points = (
        point
        for point in asked.iterate_points(branches=False)
        if all(size >= 1 or name in declared for name, size in point.items())
    )
    return list(islice(points, MAX_ZERO_COST_SIZE))


def _refute_by_one_sided_zeros(asked: ClaimQuery, proved: bool) -> Verdict | None:
    """Refute a claim by small sizes at which only one of cost and claim is 0; None if there are none.

    With `proved`, the verdict is unknown at sizes where the lower bound of the cost is 0 and its upper bound is not.
    """
    declared = _find_declared_symbols(asked)
    for point in _list_small_points(asked):
        ends, claimed = _evaluate_cost(asked.cost, point), _evaluate_claim(asked.claim, point)
        if ends is None or claimed is None:
            continue
        zero = ""
        empty = _is_empty_range(asked.costs.index_range, point) or any(point.get(name) == 0 for name in declared)
        if asked.claim.relation != "Omega" and claimed == 0 < ends[0] and empty:
            zero, nonzero = "claim", "cost"
        elif asked.claim.relation != "O" and claimed > 0 >= ends[not proved]:
            zero, nonzero = ("cost" if ends[1] <= 0 else "lower bound"), "claim"
        if zero and asked.has_runs(point):
            reason = f"the {zero} is 0 but the {nonzero} is not; exclude such sizes with a `when`"
            return asked.make_verdict("unknown" if zero == "lower bound" else "fails", reason, point)
    return None


def _are_both_zero(asked: ClaimQuery, point: Mapping[str, int]) -> bool:
    ends = _evaluate_cost(asked.cost, point)
    return _evaluate_claim(asked.claim, point) == 0 and ends is not None and ends[1] <= 0


def _is_empty_range(indices: IndexRange | None, point: Mapping[str, int]) -> bool:
    """Test whether a range of indices is empty at a point whose other sizes are all at least 2."""
    if indices is None or indices.low not in point or indices.high not in point:
        return False
    sizes = (value for name, value in point.items() if name not in (indices.low, indices.high))
    return point[indices.low] == point[indices.high] and min(sizes, default=2) >= 2


def _evaluate_claim(ensures: s.Ensures, point: Mapping[str, int]) -> Fraction | None:
    """Return the claimed value at a point, or a lower bound on it if it is irrational; None if it has no value."""
    try:
        return bounds_of_value(evaluate(ensures.bound, point))[0]
    except NO_VALUE:
        return None


def _evaluate_cost(cost: Cost, point: Mapping[str, int]) -> tuple[Fraction, Fraction] | None:
    """Evaluate the bounds of a cost at a point, with Z = L = 1 unless given; None if they have no value."""
    try:
        return enclose_cost(cost, {"Z": 1, "L": 1, **point}).ends
    except EvaluationError:
        return None


def format_growths(orders: Iterable[Growth]) -> str | None:
    """Join the texts of growths, as `O(n), Omega(1)`; None if there are none."""
    return join_with_mark((growth.text or "" for growth in orders), ", ") or None


def select_shown_growths(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> tuple[Growth, ...]:
    """Select the growths of a cost to show, each with a condition that excludes sizes at which only one side is 0."""
    scope = declared_scope(module, algorithm)

    def agrees_at_small_sizes(order: Growth) -> bool:
        relation = "Theta" if order.tight else "Omega" if order.upper is None else "O"
        bound = order.upper or order.lower
        assert bound is not None
        with suppress(ArchlineError):
            claim = s.Ensures(cost.metric, None, relation, bound, order.where, span=bound.span)
            asked = ClaimQuery(claim, algorithm, costs, cost, scope)
            if _may_miss_zeros(asked, proved=True) and _refute_by_one_sided_zeros(asked, proved=True) is not None:
                return False
            if refute_where_logarithms_vanish(asked) is not None:
                return False
            # A recurrence gives the growth at large sizes; the smallest sizes are base cases.
            bounded = cost.recursion is not None and cost.lower is not None and cost.upper is not None
            return not bounded or decide_by_growth_of_bounds(asked).outcome != "fails"
        return True

    def iterate_guarded(order: Growth) -> Iterator[Growth]:
        range_, by_length = costs.index_range, cost.recursion.indices if cost.recursion is not None else None
        if range_ is None and by_length is not None:
            # Nothing orders the two indices; where the range is empty, the run is a base case.
            order = replace(order, where=(*order.where, b.binary("<", b.name(by_length.low), b.name(by_length.high))))
        yield order
        sizes = [name for name in costs.parameters if cost.lower is not None and name in cost.lower.names]
        full = [] if range_ is None else [(b.binary("<", b.name(range_.low), b.name(range_.high)),)]
        for condition in (
            *full,
            *(b.lower_bound_facts(names, least) for least, names in iterate_guards(sizes) if names),
        ):
            yield replace(order, where=(*order.where, *condition))

    orders = derive_cost_growth(module, algorithm, costs, cost).reported_growths
    form = cost.upper if cost.exact and not any(order.tight for order in orders) else None
    if form is not None and (product := factor_into_extents(form)) is not None:
        # A product is Theta of itself, even where it is 0.
        orders = (make_theta_growth(costs.tree(form.scaled(1 / product[0]))),)
    guarded = (next(filter(agrees_at_small_sizes, iterate_guarded(order)), None) for order in orders)
    shown = [order for order in guarded if order is not None]
    sharp = {order.when for order in shown if order.tight}
    return tuple(order for order in shown if order.tight or order.when not in sharp)
