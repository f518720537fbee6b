"""Decide claims on growth from the bounds of a cost, its recurrence or its shown growth; and choose the shown
growth.

At the smallest sizes a cost or a claim may be 0 alone. Growth reads logarithms with their argument increased
by 2, and claims nothing there, so values are compared.
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
from archline.claims.io_growth import IoClaim
from archline.claims.verdicts import PROVED, ClaimQuery, Verdict, guards
from archline.cost_growth.growth_of_cost import growth_of_cost, solved_recurrence, theta
from archline.cost_growth.pieces import growth_pieces, in_other_forms, over_range, pieces_of_time, unconditional_facts
from archline.expr import build as b
from archline.expr.intervals import EvaluationError
from archline.expr.text import format_fact, join_with_mark
from archline.expr.tree import rewrite_parts, substitute_in_fact, substitute_names
from archline.expr.values import bounds_of_value, evaluate, evaluate_fact
from archline.growth.counterexample import Point
from archline.growth.growths import Growth, Witness, decide_growth, domain_of
from archline.growth.growths import is_proved_big_o as grows_no_faster
from archline.growth.is_big_o import Refuted
from archline.ir.conditions import assuming_facts, with_fact
from archline.ir.declarations import declared_scope
from archline.language import syntax as s
from archline.language.checking.contracts import find_cost_symbols
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.numbers import significant
from archline.records import record, replace

LEAST_RISE = 1.5
MAX_ZERO_COST_SIZE = 100
"""The number of smallest sizes that are searched for a cost of 0."""
SIZES_OF_SMALL_LOGARITHMS = (1, 2, 3)
"""Sizes at which the logarithm of a size, or of its half, is 0."""
NO_VALUE = (EvaluationError, OverflowError, ZeroDivisionError)


def by_growth_of_bounds(asked: ClaimQuery) -> Verdict:
    """Decide a growth claim from the bounds of the cost, and from zeros at small sizes."""
    asked = replace(asked, scope=assuming_facts(asked.scope, *asked.claim.when))
    first = _compare_growth(asked, asked.scope.facts, asked.facts)
    proved = first.outcome == "holds"
    if first.outcome == "fails" or not _may_vanish(asked, proved):
        return first
    zero = _zero_of_one_side(asked, proved)
    if zero is not None:
        return zero
    if proved:
        return first
    zeros = list(takewhile(lambda point: _both_zero(asked, point), _small_points(asked)))
    if not zeros or len(zeros[-1]) != 1:
        return first
    ((name, size),) = zeros[-1].items()
    (beyond,) = b.lower_bound_facts([name], size + 1)
    rest = _compare_growth(asked, with_fact(asked.scope.facts, beyond, asked.scope), (*asked.facts, beyond))
    if rest.outcome != "holds":
        return rest
    return replace(rest, reason=f"{rest.reason}; both are 0 up to {name} = {size}")


def _compare_growth(asked: ClaimQuery, base: Facts, facts: tuple[s.Fact, ...]) -> Verdict:
    """Decide the growth at the sizes that the facts allow; `base` are these facts about symbols."""
    claim, costs, cost, indices = asked.claim, asked.costs, asked.cost, asked.costs.index_range
    confirm, bound = _Confirmation(cost, facts, claim.bound, indices), claim.bound
    moved = over_range(indices, cost, facts, base)
    if claim.processors is not None:
        verdict = decide_growth(claim.relation, pieces_of_time(costs, claim.processors.id, facts, base), bound, confirm)
    elif indices is not None and moved is not None:
        verdict = decide_growth(claim.relation, growth_pieces(costs, *moved), indices.written(bound), confirm)
        verdict = replace(verdict, reason=indices.restored_text(verdict.reason))
    elif cost.orders is not None or cost.plans:
        verdict = IoClaim(bound, costs, cost, base, facts, confirm, confirm.shown).decided(claim.relation)
    else:
        verdict = decide_growth(claim.relation, growth_pieces(costs, cost, facts, base), bound, confirm)
    return asked.verdict(verdict.outcome, verdict.reason, proofs=verdict.proofs)


@record
class _Confirmation:
    """Checks a counterexample to a growth claim at the cost itself, as the prover saw bounds in one regime."""

    cost: Cost
    facts: tuple[s.Fact, ...]
    bound: s.Expr
    index_range: IndexRange | None

    def __call__(self, side: str, refuted: Refuted) -> Witness | None:
        entries = self.ratios(side, refuted)
        ratios = [least for _, least, _ in entries]
        if isinstance(refuted.found, Point):
            stands = ratios == [float("inf")]
        else:
            rising = all(low < high for low, high in pairwise(ratios))
            stands = len(ratios) >= 2 and rising and ratios[-1] >= ratios[0] * LEAST_RISE
        return self._witness(entries) if stands else None

    def shown(self, side: str, refuted: Refuted) -> Witness:
        """Return the witness of a counterexample known up to constants, which values do not confirm."""
        return self._witness(self.ratios(side, refuted))

    def ratios(self, side: str, refuted: Refuted) -> list[tuple[Mapping[str, int], float, bool]]:
        """List sizes with the least ratio of cost to claim (O) or claim to cost, and whether it is exact."""
        entries = ((point, self._ratio(side, point)) for point in refuted.points)
        return [(point, *ratio) for point, ratio in entries if ratio is not None]

    def _witness(self, ratios: Iterable[tuple[Mapping[str, int], float, bool]]) -> Witness:
        texts = tuple((at, ("" if exact else "at least ") + significant(ratio, 3)) for at, ratio, exact in ratios)
        ends = (end for end in (self.cost.lower, self.cost.upper) if end is not None)
        return Witness(texts, frozenset(name for each in ends for name in each.names))

    def _ratio(self, side: str, point: Mapping[str, int]) -> tuple[float, bool] | None:
        """The ratio at a point; None if it has no value or the facts do not hold."""
        try:
            if self.index_range is not None:
                point = self.index_range.point(point)
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


def by_recursion(asked: ClaimQuery) -> Verdict | None:
    """Decide a growth claim from the recurrence of the cost; None without a recurrence."""
    claim, cost = asked.claim, asked.cost
    if asked.compares or claim.processors is not None or cost.recursion is None:
        return None
    facts, bound, known_facts = asked.facts, claim.bound, asked.known
    solved = solved_recurrence(asked.costs, cost, facts)
    if solved is None:
        return None
    cases = () if any(piece.is_zero for piece in solved.pieces) else solved.pieces
    if not cases and solved.upper is None:
        return asked.unknown(f"{cost.reason or 'the bounds do not decide it'}; {solved.reason}")
    indices = cost.recursion.indices
    if indices is not None:
        facts, known_facts, bound = indices.written_facts(facts), indices.facts(known_facts), indices.written(bound)
    if solved.upper is not None:
        some = not solved.size or known_facts.nonnegative(Poly.symbol(solved.size) - solved.least)
        cases = (Growth(solved.lower if some else None, solved.upper),)
    if claim.relation != "O" and any(case.lower is None for case in cases):
        return asked.unknown("no lower bound on its growth is known at all of these sizes")
    parts = [replace(case, lower=case.lower or b.ZERO, facts=(*facts, *unconditional_facts(case))) for case in cases]
    verdict = decide_growth(
        claim.relation, parts, bound, partial(_along_one_size, _Confirmation(cost, asked.facts, claim.bound, indices))
    )
    reason = verdict.reason
    if verdict.outcome != "unknown" and solved.upper is not None:
        # The growth of a recurrence has no values at sizes that a reader could check.
        reason = f"the recurrence gives {claim.metric} = {Growth(cases[0].lower, solved.upper).text}"
    if indices is not None:
        reason = indices.restored_text(reason)
    return asked.verdict(verdict.outcome, reason, proofs=verdict.proofs)


def _along_one_size(confirmation: _Confirmation, side: str, refuted: Refuted) -> Witness | None:
    """Accept a counterexample only if it is a curve of one size, as growth says nothing at single points."""
    stands = not isinstance(refuted.found, Point) and len(refuted.found.curve.scales) == 1
    return confirmation.shown(side, refuted) if stands else None


def by_shown_growth(asked: ClaimQuery) -> Verdict | None:
    """Decide a growth claim from the growth that reports show."""
    claim = asked.claim
    growth = growth_of_cost(asked.scope.module, asked.algorithm, asked.costs, asked.cost)
    uppers, lowers = growth.ends(set(map(format_fact, claim.when)))
    domain = domain_of(asked.facts)
    if claim.processors is not None or domain is None:
        return None
    above = claim.relation == "Omega" or any(grows_no_faster(upper, claim.bound, domain) for upper in uppers)
    if above and (claim.relation == "O" or any(grows_no_faster(claim.bound, lower, domain) for lower in lowers)):
        zero = _zero_of_one_side(asked, proved=True) if _may_vanish(asked, proved=True) else None
        return zero or asked.verdict("holds", PROVED)
    return None


def _may_vanish(asked: ClaimQuery, proved: bool) -> bool:
    """Test whether zeros matter: growth reads log2(w), which is 0 at 1, as log2(2 + w), and ranges as nonempty."""
    indices = asked.costs.index_range
    empty = indices is not None and indices.least < 1
    if empty or _find_declared_symbols(asked):
        return True
    below = asked.claim.relation != "O"
    return below and (not proved or _logarithm_may_vanish(asked.cost, asked.scope.facts))


def _find_declared_symbols(asked: ClaimQuery) -> Set[str]:
    """The symbols of declared costs in a claim: they may be 0, where sizes count as at least 1."""
    return s.names(asked.claim.bound) & {*find_cost_symbols(asked.scope.module.externs.values())}


def _logarithm_may_vanish(cost: Cost, known: Facts) -> bool:
    if cost.lower is None or not any(map(_is_logarithm, cost.lower.atoms_within())):
        return False
    return not known.positive(cost.lower.substitute(known.rewrites))


def _is_logarithm(atom: Atom) -> bool:
    return isinstance(atom, a.CeilLog2) or (isinstance(atom, a.RealFunction) and atom.function == "log2")


def where_logarithms_vanish(asked: ClaimQuery) -> Verdict | None:
    """Refute a proved lower growth claim at the smallest sizes, if it is false there.

    Growth reads log2(w) as log2(2 + w), so that k*log2(n) seems Omega(k), but is 0 at n = 1. There the cost has
    its exact value, and a logarithm of the claim that vanishes claims nothing.
    """
    claim, cost, costs = asked.claim, asked.cost, asked.costs
    if claim.relation == "O" or claim.processors is not None or costs.index_range is not None:
        return None
    if cost.lower is None or cost.upper is None or cost.orders is not None or cost.plans:
        return None
    logarithms = tuple(filter(_is_logarithm, cost.lower.atoms_within()))
    for name, size in product(sorted({name for atom in logarithms for name in atom.names}), SIZES_OF_SMALL_LOGARITHMS):
        value, written = {name: Poly.constant(size)}, {name: b.number(size)}
        fact = b.binary("==", b.name(name), b.number(size))
        vanishes = size == 1 or any(part.substitute(value) == ONE for atom in logarithms for part in atom.parts)
        if not vanishes or domain_of((*asked.facts, fact)) is None or _divides_by_zero(cost, value):
            continue
        bound = rewrite_parts(substitute_names(claim.bound, written), _without_vanishing)
        if bound == b.ZERO:
            continue
        knowing_size = partial(with_fact, fact=fact, scope=asked.scope)
        there = in_other_forms(cost, partial(Poly.substitute, values=value), knowing_size)
        facts = tuple(substitute_in_fact(assumed, written) for assumed in asked.facts)
        cases = growth_pieces(costs, there, (*facts, fact), knowing_size(asked.known))
        verdict = decide_growth("Omega", cases, bound, _Confirmation(there, facts, bound, None))
        if verdict.outcome == "fails":
            return asked.verdict("fails", f"at {name} = {size}, {verdict.reason}")
    return None


def _divides_by_zero(cost: Cost, values: Mapping[str, Poly]) -> bool:
    """Whether a quotient in a bound has no value: no run is of such sizes."""
    floors = (
        atom for end in (cost.lower, cost.upper) if end for atom in end.atoms_within() if isinstance(atom, a.Floor)
    )
    return any(not floor.modulus.substitute(values) for floor in floors)


def _without_vanishing(expr: s.Expr) -> s.Expr | None:
    """Remove logarithms of 1, and terms with such a factor; None if the parts are to be rewritten."""
    match expr:
        case s.Call(function="log2", arguments=(argument,)) if not s.names(argument):
            with suppress(*NO_VALUE):
                return b.ZERO if evaluate(argument, {}) == 1 else expr
            return expr
        case s.Binary(op=op, left=left, right=right):
            first, second = (rewrite_parts(operand, _without_vanishing) for operand in (left, right))
            if b.ZERO in ((first, second) if op == "*" else (first,) if op == "/" else ()):
                return b.ZERO
            if op in ("+", "-") and second == b.ZERO:
                return first
            return second if op == "+" and first == b.ZERO else b.binary(op, first, second)
        case _:
            # The parts of other expressions are rewritten.
            return None


def _small_points(asked: ClaimQuery) -> list[Mapping[str, int]]:
    """List the smallest sizes that a claim covers."""
    declared = _find_declared_symbols(asked)
    points = (
        point
        for point in asked.points(branches=False)
        if all(size >= 1 or name in declared for name, size in point.items())
    )
    return list(islice(points, MAX_ZERO_COST_SIZE))


def _zero_of_one_side(asked: ClaimQuery, proved: bool) -> Verdict | None:
    """Find a small size at which only one side of a claim is 0; unknown if that is the lower bound."""
    declared = _find_declared_symbols(asked)
    for place in _small_points(asked):
        ends, claimed = _ends(asked.cost, place), _claimed(asked.claim, place)
        if ends is None or claimed is None:
            continue
        zero = ""
        empty = _is_empty(asked.costs.index_range, place) or any(place.get(name) == 0 for name in declared)
        if asked.claim.relation != "Omega" and claimed == 0 < ends[0] and empty:
            zero, nonzero = "claim", "cost"
        elif asked.claim.relation != "O" and claimed > 0 >= ends[not proved]:
            zero, nonzero = ("cost" if ends[1] <= 0 else "lower bound"), "claim"
        if zero and asked.has_runs(place):
            reason = f"the {zero} is 0 but the {nonzero} is not; exclude such sizes with a `when`"
            return asked.verdict("unknown" if zero == "lower bound" else "fails", reason, place)
    return None


def _both_zero(asked: ClaimQuery, point: Mapping[str, int]) -> bool:
    """Test whether cost and claim are 0 at a point."""
    ends = _ends(asked.cost, point)
    return _claimed(asked.claim, point) == 0 and ends is not None and ends[1] <= 0


def _is_empty(indices: IndexRange | None, point: Mapping[str, int]) -> bool:
    """Test whether a range of two indices is empty at a point at which all other sizes are at least 2."""
    if indices is None or indices.low not in point or indices.high not in point:
        return False
    sizes = (value for name, value in point.items() if name not in (indices.low, indices.high))
    return point[indices.low] == point[indices.high] and min(sizes, default=2) >= 2


def _claimed(ensures: s.Ensures, point: Mapping[str, int]) -> Fraction | None:
    """The least claimed value at a point; None if it has no value."""
    try:
        return bounds_of_value(evaluate(ensures.bound, point))[0]
    except NO_VALUE:
        return None


def _ends(cost: Cost, point: Mapping[str, int]) -> tuple[Fraction, Fraction] | None:
    try:
        return enclose_cost(cost, {"Z": 1, "L": 1, **point}).ends
    except EvaluationError:
        return None


def growth_text(orders: Iterable[Growth]) -> str | None:
    """Join growths as text: Theta, or O and Omega if they are known."""
    return join_with_mark((growth.text or "" for growth in orders), ", ") or None


def shown_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> tuple[Growth, ...]:
    """Select the growths to show, each restricted to sizes at which neither side alone is 0."""
    scope = declared_scope(module, algorithm)

    def agrees_at_small_sizes(order: Growth) -> bool:
        relation = "Theta" if order.tight else "Omega" if order.upper is None else "O"
        bound = order.upper or order.lower
        assert bound is not None
        with suppress(ArchlineError):
            claim = s.Ensures(cost.metric, None, relation, bound, order.where, span=bound.span)
            asked = ClaimQuery(claim, algorithm, costs, cost, scope)
            if _may_vanish(asked, proved=True) and _zero_of_one_side(asked, proved=True) is not None:
                return False
            if where_logarithms_vanish(asked) is not None:
                return False
            # A recurrence gives the growth of large sizes, whose least ones are base cases.
            bounded = cost.recursion is not None and cost.lower is not None and cost.upper is not None
            return not bounded or by_growth_of_bounds(asked).outcome != "fails"
        return True

    def with_guards(order: Growth) -> Iterator[Growth]:
        yield order
        sizes = [name for name in costs.parameters if cost.lower is not None and name in cost.lower.names]
        range_ = costs.index_range
        full = [] if range_ is None else [(b.binary("<", b.name(range_.low), b.name(range_.high)),)]
        for condition in (*full, *(b.lower_bound_facts(names, least) for least, names in guards(sizes) if names)):
            yield replace(order, where=(*order.where, *condition))

    orders = growth_of_cost(module, algorithm, costs, cost).orders
    form = cost.upper if cost.exact and not any(order.tight for order in orders) else None
    if form is not None and (product := factor_into_extents(form)) is not None:
        # A product is Theta of itself, even where it is 0.
        orders = (theta(costs.tree(form.scaled(1 / product[0]))),)
    guarded = (next(filter(agrees_at_small_sizes, with_guards(order)), None) for order in orders)
    shown = [order for order in guarded if order is not None]
    sharp = {order.when for order in shown if order.tight}
    return tuple(order for order in shown if order.tight or order.when not in sharp)
