"""Growth at the least sizes, where one of cost and claim may be 0 alone, and the growth that pages print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from fractions import Fraction
from itertools import islice

from archline.algebra import atoms as a
from archline.algebra.factors import extents
from archline.algebra.index_range import IndexRange
from archline.algebra.polynomial import Atom
from archline.analysis.checks.failures import refusal
from archline.analysis.checks.sizes import at_least, guards
from archline.analysis.cost import Cost, Costs, ends_at
from archline.analysis.sampling import points
from archline.claims.growth import Verdict
from archline.claims.growth_of_cost import growth, theta
from archline.expr.intervals import EvaluationError, Interval
from archline.expr.values import evaluate as evaluate_claim
from archline.growth.growths import Growth
from archline.ir.declarations import declared
from archline.ir.scope import Scope
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError
from archline.language.model import Module
from archline.language.parser import parse_facts
from archline.records import replace

SMALL = 100
"""How many of the smallest sizes are looked at for a cost of 0."""


def may_vanish(claim: s.Ensures, costs: Costs, cost: Cost, scope: Scope, proved: bool) -> bool:
    """Whether zeros are to be looked for: growth reads log2(w), which is 0 at 1, as log2(2 + w), and ranges as full."""
    empty = costs.index_range is not None and costs.index_range.least < 1
    return empty or (claim.relation != "O" and (not proved or _logarithm_may_vanish(cost, scope)))


def _logarithm_may_vanish(cost: Cost, scope: Scope) -> bool:
    if cost.lower is None or not any(map(_is_logarithm, cost.lower.atoms_within())):
        return False
    return not scope.facts.positive(cost.lower.substitute(scope.facts.rewrites))


def _is_logarithm(atom: Atom) -> bool:
    return isinstance(atom, a.CeilLog2) or (isinstance(atom, a.RealFunction) and atom.function == "log2")


def small_points(claim: s.Ensures, algorithm: s.Algorithm, costs: Costs, scope: Scope) -> list[Mapping[str, int]]:
    """The least sizes that a claim speaks of."""
    known = points(algorithm, scope, costs, claim, branches=False)
    return list(islice((each for each in known if min(each.values(), default=1) >= 1), SMALL))


def zero_of_one_side(
    claim: s.Ensures, algorithm: s.Algorithm, costs: Costs, cost: Cost, scope: Scope, proved: bool
) -> Verdict | None:
    """The verdict of small sizes at which one side of a claim is 0 alone; unknown where that is the lower bound."""
    for place in small_points(claim, algorithm, costs, scope):
        ends, claimed = _ends(cost, place), _claimed(claim, place)
        if ends is None or claimed is None:
            continue
        zero = ""
        if claim.relation != "Omega" and claimed == 0 < ends[0] and _is_empty(costs.index_range, place):
            zero, other = "claim", "cost"
        elif claim.relation != "O" and claimed > 0 >= ends[not proved]:
            zero, other = ("cost" if ends[1] <= 0 else "lower bound"), "claim"
        if zero and has_runs(algorithm, scope, place):
            reason = f"the {zero} is 0 and the {other} is not; a `when` leaves such sizes out"
            return Verdict(claim, "unknown" if zero == "lower bound" else "fails", reason, place)
    return None


def both_zero(claim: s.Ensures, cost: Cost, point: Mapping[str, int]) -> bool:
    """Whether cost and claim are 0 at a point."""
    ends = _ends(cost, point)
    return _claimed(claim, point) == 0 and ends is not None and ends[1] <= 0


def has_runs(algorithm: s.Algorithm, scope: Scope, point: Mapping[str, int]) -> bool:
    """Whether some run may end at a point, which then tells against a claim."""
    return refusal(scope.module, algorithm, point) is None


def _is_empty(indices: IndexRange | None, point: Mapping[str, int]) -> bool:
    """Whether a range of two indices is empty, where growth in their distance says nothing, and no logarithm is 0."""
    if indices is None or indices.low not in point or indices.high not in point:
        return False
    sizes = (value for name, value in point.items() if name not in (indices.low, indices.high))
    return point[indices.low] == point[indices.high] and min(sizes, default=2) >= 2


def _claimed(ensures: s.Ensures, point: Mapping[str, int]) -> Fraction | None:
    """The least that is claimed at a point; None where it has no value."""
    try:
        claimed = evaluate_claim(ensures.bound, point)
    except (EvaluationError, OverflowError, ZeroDivisionError):
        return None
    return Fraction(claimed.lower if isinstance(claimed, Interval) else claimed)


def _ends(cost: Cost, point: Mapping[str, int]) -> tuple[Fraction, Fraction] | None:
    try:
        return ends_at(cost, {"Z": 1, "L": 1, **point})
    except EvaluationError:
        return None


def printed_growth(module: Module, algorithm: s.Algorithm, costs: Costs, cost: Cost) -> str | None:
    """`Theta(...)`, or `O(...), Omega(...)` as far as they are known, each where neither side alone is 0."""
    scope = declared(module, algorithm)

    def agrees(order: Growth) -> bool:
        relation = "Theta" if order.tight else "Omega" if order.upper is None else "O"
        bound = order.upper or order.lower
        assert bound is not None
        with suppress(ArchlineError):
            when = parse_facts(order.when) if order.when else ()
            claim = s.Ensures(cost.metric, None, relation, bound, when, span=bound.span)
            if may_vanish(claim, costs, cost, scope, proved=True):
                return zero_of_one_side(claim, algorithm, costs, cost, scope, proved=True) is None
        return True

    def guarded(order: Growth) -> Iterator[Growth]:
        yield order
        sizes = [name for name in costs.parameters if cost.lower is not None and name in cost.lower.names]
        range_ = costs.index_range
        full = [] if range_ is None else [[f"{range_.low} < {range_.high}"]]
        for each in (*full, *(at_least(least, names) for least, names in guards(sizes) if names)):
            yield replace(order, when=" and ".join((*filter(None, (order.when,)), *each)))

    orders = growth(module, algorithm, costs, cost).orders
    form = cost.upper if cost.exact and not any(each.tight for each in orders) else None
    if form is not None and (product := extents(form)) is not None:
        # It is Theta of itself, also where it is 0.
        orders = (theta(costs.tree(form.scaled(1 / product[0]))),)
    found = (next(filter(agrees, guarded(each)), None) for each in orders)
    return ", ".join(str(each.text) for each in found if each is not None) or None
