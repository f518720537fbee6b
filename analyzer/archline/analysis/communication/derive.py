"""The costs of an algorithm on a grid, in its sizes and P."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from archline.algebra.facts import Facts
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.communication.floors import at_least_values, is_nonnegative, readable
from archline.analysis.communication.memory import Memory
from archline.analysis.communication.path_steps import PathStep
from archline.analysis.communication.place import at_start
from archline.analysis.communication.stretches import Stretches
from archline.analysis.communication.walk import FREE, METRICS, PathCosts, Spent, lost
from archline.analysis.cost import Cost
from archline.analysis.metrics.eliminate_data import closed_amount
from archline.ir.amounts import Amount, Known, Unknown, add, exactly, map_known
from archline.ir.scope import NotStaticError
from archline.language import syntax as s
from archline.language.model import Module

LONGEST = Poly.symbol("K")


def derive_paths(module: Module, algorithm: s.Algorithm, coarse: bool, longest: Poly | None = None) -> dict[str, Cost]:
    """Flops, work, words and messages of the longest path, by metric; `longest` are the most words of a message."""
    upper, facts = _spent(module, algorithm, None, coarse, longest)
    own = [_spent(module, algorithm, given, coarse, longest)[0] for given in _corners(module, algorithm)]
    costs = {}
    for metric in metrics_on_grid(algorithm):
        call = Poly.constant(1 if metric == "work" else 0)
        own_sums = [add(each.of(metric), exactly(call)) for each in own]
        amount = _between(add(upper.of(metric), exactly(call)), own_sums, call, facts)
        costs[metric] = _cost(metric, amount, upper.declared, algorithm)
    return {"flops": costs["flops"], "work": costs["work"], "span": replace(costs["work"], metric="span"), **costs}


def derive_steps(
    module: Module, algorithm: s.Algorithm, coarse: bool, longest: Poly | None = None
) -> tuple[PathStep, ...]:
    """What each statement adds to the upper bounds of flops, work, words and messages.

    The bound of a whole may be sharper than the sum of those of its parts. Raises TooComplexError.
    """
    place = at_start(module, algorithm, None)
    if place is None:
        return ()
    facts = place.scope.facts
    try:
        found = PathCosts(module, Stretches(module, coarse), True, longest).algorithm(algorithm, place)
    except NotStaticError:
        return ()
    return tuple(_closed_step(each, facts, algorithm) for each in found.steps)


def _closed_step(step: PathStep, facts: Facts, algorithm: s.Algorithm) -> PathStep:
    """In the sizes of the algorithm; what one execution costs holds variables of loops too."""
    closed = step.mapped(lambda amount: _closed(amount, facts, algorithm))
    return closed.with_once(lambda amount: map_known(amount, facts.restore))


def metrics_on_grid(algorithm: s.Algorithm) -> tuple[str, ...]:
    """The metrics that are followed: those between nodes and within apart, where there are both."""
    two_levels = any(axis.within is not None for axis in algorithm.grid)
    return tuple(name for name in (*METRICS, "memory") if two_levels or not name.startswith("node_"))


def _corners(module: Module, algorithm: s.Algorithm) -> Iterator[dict[str, str]]:
    """The processors whose own costs bound the longest path from below: the corners of the grid, and roots."""
    names = [axis.name for axis in algorithm.grid]
    for ends in product((*module.signatures[algorithm].indices, "first", "last"), repeat=len(names)):
        yield dict(zip(names, ends, strict=True))


def _spent(
    module: Module, algorithm: s.Algorithm, given: dict[str, str] | None, coarse: bool, longest: Poly | None
) -> tuple[Spent, Facts]:
    place = at_start(module, algorithm, given)
    if place is None:
        return FREE, Facts()
    facts = place.scope.facts
    try:
        stretches = Stretches(module, coarse)
        spent = PathCosts(module, stretches, longest=longest).algorithm(algorithm, place)
        memory = Memory(module, stretches).algorithm(algorithm, place)
        spent = Spent({**spent.amounts, "memory": memory}, spent.declared)
    except NotStaticError as problem:
        spent = lost(problem.reason, algorithm)
    return Spent(
        {name: _closed(amount, facts, algorithm) for name, amount in spent.amounts.items()}, spent.declared
    ), facts


def _closed(amount: Amount, facts: Facts, algorithm: s.Algorithm) -> Amount:
    return closed_amount(map_known(amount, lambda value: at_least_values(value, facts)), facts, algorithm)


def _between(upper: Amount, own: list[Amount], least: Poly, facts: Facts) -> Amount:
    """The path: at most the sum of all maxima, at least what any processor does itself."""
    if isinstance(upper, Unknown):
        return upper
    lowers = [each.lower for each in own if isinstance(each, Known)]
    for lower in lowers:
        if lower == upper.upper or facts.simplify(lower - upper.upper) == ZERO:
            return exactly(upper.upper)
    best = least
    for lower in lowers:
        # Own sums are counts, if bounds of them: where neither is known to be larger, any is better than nothing.
        if lower != least and (best == least or facts.nonnegative(lower - best)):
            best = lower
    lowest = -readable(-best, facts)
    lowest = lowest if is_nonnegative(lowest - least, facts) else facts.maximum(lowest, least)
    return Known(lowest, readable(upper.upper, facts))


def _cost(metric: str, amount: Amount, declared: frozenset[str], algorithm: s.Algorithm) -> Cost:
    trusted = tuple(sorted(declared))
    if isinstance(amount, Unknown):
        return Cost(metric, "unknown", None, None, amount.reason, amount.span or algorithm.span, trusted)
    status = "declared" if trusted else "exact" if amount.exact else "bounded"
    return Cost(metric, status, amount.lower, amount.upper, declared=trusted)  # type: ignore[arg-type]
