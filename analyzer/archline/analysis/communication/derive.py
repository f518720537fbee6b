"""The costs of an algorithm on a grid, in its sizes and P."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.communication.place import Place, at_start
from archline.analysis.communication.stretches import Stretches
from archline.analysis.communication.walk import METRICS, Spent, Walk, lost
from archline.analysis.cost import Cost
from archline.analysis.metrics.eliminate_data import closed_amount
from archline.ir.amounts import Amount, Known, Unknown, add, exactly
from archline.ir.scope import NotStaticError
from archline.language import syntax as s
from archline.language.model import Module

MAX_AXES = 4


def derive_paths(module: Module, algorithm: s.Algorithm, coarse: bool) -> dict[str, Cost]:
    """Flops, work, words and messages of the longest path, by metric."""
    if len(algorithm.grid) > MAX_AXES:
        raise AssertionError
    upper, facts = _spent(module, algorithm, None, coarse)
    own = [_spent(module, algorithm, given, coarse)[0] for given in _corners(algorithm)]
    costs = {}
    for metric in METRICS:
        more = 1 if metric == "work" else 0
        amount = _between(
            add(upper.of(metric), exactly(Poly.constant(more))),
            [add(each.of(metric), exactly(Poly.constant(more))) for each in own],
            facts,
        )
        costs[metric] = _cost(metric, amount, upper.declared, algorithm)
    costs["span"] = _cost("span", _amount(costs["work"]), upper.declared, algorithm)
    return costs


def _amount(cost: Cost) -> Amount:
    if cost.lower is None or cost.upper is None:
        return Unknown(cost.reason or "", cost.span)
    return Known(cost.lower, cost.upper)


def _corners(algorithm: s.Algorithm) -> Iterator[dict[str, str]]:
    """The processors whose own costs bound the longest path from below: those at the corners of the grid."""
    names = [axis.name for axis in algorithm.grid]
    for ends in product(("first", "last"), repeat=len(names)):
        yield dict(zip(names, ends, strict=True))


def _spent(module: Module, algorithm: s.Algorithm, given: dict[str, str] | None, coarse: bool) -> tuple[Spent, Facts]:
    place: Place = at_start(module, algorithm, given)
    facts = place.scope.facts
    try:
        spent = Walk(module, Stretches(module, coarse)).algorithm(algorithm, place)
    except NotStaticError as problem:
        spent = lost(problem.reason, algorithm)
    return spent.map(lambda amount: closed_amount(amount, facts, algorithm)), facts


def _between(upper: Amount, own: list[Amount], facts: Facts) -> Amount:
    """The path: at most the sum of all maxima, at least what any processor does itself."""
    if isinstance(upper, Unknown):
        return upper
    lowers = [each.lower for each in own if isinstance(each, Known)]
    for lower in lowers:
        if lower == upper.upper or facts.simplify(lower - upper.upper) == ZERO:
            return exactly(upper.upper)
    best = ZERO
    for lower in lowers:
        if best == ZERO or facts.nonnegative(lower - best):
            best = lower
    return Known(best, upper.upper)


def _cost(metric: str, amount: Amount, declared: frozenset[str], algorithm: s.Algorithm) -> Cost:
    trusted = tuple(sorted(declared))
    if isinstance(amount, Unknown):
        return Cost(metric, "unknown", None, None, amount.reason, amount.span or algorithm.span, trusted)
    status = "declared" if trusted else "exact" if amount.exact else "bounded"
    return Cost(metric, status, amount.lower, amount.upper, declared=trusted)  # type: ignore[arg-type]
