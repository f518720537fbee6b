"""Derive the costs of an algorithm on a grid, in its sizes and P.

Between two disseminations the critical path may go through any processor of the group, so that it is at least
as long as the maximum over the processors that are followed. In a dissemination the path costs as much as the steps
of any single processor, if these cost the same on all processors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from itertools import islice, product

from archline.algebra.effort import TooComplexError
from archline.algebra.evaluate.exact import evaluate
from archline.algebra.expand import expand_logarithms
from archline.algebra.facts import Facts
from archline.algebra.polynomial import ONE, ZERO, Poly
from archline.algebra.reduce import reduce_in_sizes
from archline.analysis.communication.floors import (
    fold_ceilings,
    is_nonnegative,
    readable_upper_bound,
    reduce_size_maxima,
)
from archline.analysis.communication.journeys import follow_journey
from archline.analysis.communication.memory import LocalMemory
from archline.analysis.communication.path_steps import PathStep
from archline.analysis.communication.place import Position, ReachingProcessors, position_at_start, processor_counts
from archline.analysis.communication.recursion import GridRecursions, RecursionLevel, StretchCosts
from archline.analysis.communication.rounds import IterationCosts
from archline.analysis.communication.walk import (
    FREE,
    METRICS,
    DisseminationStage,
    GridWalk,
    PathCosts,
    unknown_path_costs,
)
from archline.analysis.cost import Cost, build_cost
from archline.analysis.metrics.data import express_in_sizes
from archline.analysis.metrics.tally import Tally
from archline.expr.intervals import EvaluationError
from archline.expr.tree import Span
from archline.ir.amounts import ZERO_AMOUNT, Amount, KnownAmount, UnknownAmount, add_amounts, exact_amount, map_bounds
from archline.ir.conditions import NEGATED_OPERATORS, subtract_sides
from archline.ir.declarations import declared_scope
from archline.ir.iteration_bounds import make_iteration_counts
from archline.ir.scope import NotStaticError, Scope
from archline.language import syntax as s
from archline.language.call_graph import find_recursive_component
from archline.language.iterations import relative_name
from archline.language.model import Module

MAX_BOUND_ATOMS = 5000
MAX_INNER_PROCESSORS = 4
"""The maximum number of processors, besides corners, whose costs are used as lower bounds."""
MAX_MEAN_ATOMS, EQUAL_SIZE = 40, 64

LONGEST_MESSAGE = Poly.symbol("K")


def derive_path_costs(
    module: Module, algorithm: s.Algorithm, coarse: bool, longest: Poly | None = None
) -> dict[str, Cost]:
    """Derive the costs of the critical path by metric: flops, work, words and messages of at most `longest` words.

    `coarse` bounds every guard that the sizes do not decide, instead of counting it.
    """
    # The costs of callees on one processor are equal on all of them, and derived once.
    recursions = build_grid_recurrences(module, StretchCosts(module, coarse), longest)
    scope = declared_scope(module, algorithm)
    upper, facts = _derive_processor_costs(algorithm, None, recursions, scope)
    corners = {
        tuple(corner.items()): _derive_processor_costs(algorithm, corner, recursions, scope)[0]
        for corner in _corner_processors(module, algorithm)
    }
    single = [
        _express_in_sizes(spent, facts, algorithm)
        for spent in extend_paths_by_disseminations(corners, upper, facts, METRICS)
    ]
    single += [
        _express_in_sizes(spent, facts, algorithm) for spent in _follow_journeys(module, algorithm, recursions, scope)
    ]
    means = (
        []
        if upper.rounds
        else [_express_in_sizes(spent, facts, algorithm) for spent in _derive_mean_costs(module, algorithm, recursions)]
    )
    upper = _express_in_sizes(upper, facts, algorithm)

    @cache
    def derive_any_processor_costs() -> PathCosts:
        return _derive_minimum_costs(algorithm, recursions, scope)

    own = [_express_in_sizes(spent, facts, algorithm) for spent in corners.values()]
    iterations = IterationCosts(
        module,
        algorithm,
        facts,
        upper,
        own,
        derive_any_processor_costs,
        processor_counts(module, algorithm)["P"].upper or ONE,
    )
    costs = {}

    @cache
    def derive_inner_costs() -> list[tuple[PathCosts, tuple[Poly, ...]]]:
        """Derive the costs of inner processors with their conditions of existence, when first needed."""
        inner = list(_inner_processors(module, algorithm, facts))
        spent = (_derive_processor_costs(algorithm, at, recursions, scope, memory=False)[0] for at, _ in inner)
        return [
            (_express_in_sizes(part, facts, algorithm), needs) for part, (_, needs) in zip(spent, inner, strict=True)
        ]

    for metric in list_grid_metrics(algorithm):
        call = Poly.constant(1 if metric == "work" else 0)
        corner_sums = [add_amounts(spent.of(metric), exact_amount(call)) for spent in single]
        amount: Amount = UnknownAmount("its closed form is too large to derive", algorithm.span)
        if not _is_huge(upper.of(metric)):
            most = add_amounts(upper.of(metric), exact_amount(call))
            amount = _combine_bounds(most, corner_sums, call, facts)
            if isinstance(amount, KnownAmount) and not amount.exact and metric != "memory" and not upper.rounds:
                inner = [
                    (add_amounts(spent.of(metric), exact_amount(call)), needs) for spent, needs in derive_inner_costs()
                ]
                inner_sums = [_drop_bound_if_missing(bound, needs, corner_sums, facts) for bound, needs in inner]
                amount = _combine_bounds(most, [*corner_sums, *inner_sums], call, facts)
        cost = build_cost(metric, iterations.add_to(metric, amount), upper.declared, algorithm)
        for mean in means:
            cost = _increase_lower_bound_to_mean(cost, add_amounts(mean.of(metric), exact_amount(call)), facts)
        if find_recursive_component(module, algorithm):
            more = _parameter_words(module, algorithm, recursions) if metric == "memory" else call
            cost = recursions.add_recurrence(cost, algorithm, more)
        costs[metric] = cost
    return {"flops": costs["flops"], "work": costs["work"], "span": replace(costs["work"], metric="span"), **costs}


def derive_steps(
    module: Module, algorithm: s.Algorithm, coarse: bool, longest: Poly | None = None
) -> tuple[PathStep, ...]:
    """Derive the contribution of each statement to the upper bounds of flops, work, words and messages.

    Messages have at most `longest` words. `coarse` bounds every guard that the sizes do not decide, instead of counting
    it. The bound of a block may be sharper than the sum over its statements. Raises TooComplexError.
    """
    place = position_at_start(module, algorithm, None)
    if place is None:
        return ()
    facts = place.facts
    try:
        recursions = build_grid_recurrences(module, StretchCosts(module, coarse), longest)
        spent = GridWalk(module, recursions, stepwise=True).derive_body_costs(algorithm, place)
    except NotStaticError:
        return ()
    bounded = make_iteration_counts(module, algorithm)
    counts = {
        part.name: Poly.symbol(relative_name(part.name, algorithm)) if count is None else count.upper
        for part in spent.rounds
        for count in (bounded(part.name),)
    }

    def express_in_iteration_counts(amount: Amount) -> Amount:
        closed = _express_amount_in_sizes(amount, facts, algorithm)
        return map_bounds(closed, lambda value: value.substitute(counts)) if counts else closed

    closed = (step.map_totals(express_in_iteration_counts) for step in spent.steps)
    # The cost of one execution contains variables of loops too.
    return tuple(step.map_once(lambda amount: map_bounds(amount, facts.restore)) for step in closed)


def list_grid_metrics(algorithm: s.Algorithm) -> tuple[str, ...]:
    """List the metrics that are derived on a grid; the `node_` metrics are included if an axis lies within a node."""
    two_levels = any(axis.within is not None for axis in algorithm.grid)
    return tuple(name for name in (*METRICS, "memory") if two_levels or not name.startswith("node_"))


def _corner_processors(module: Module, algorithm: s.Algorithm) -> Iterator[dict[str, str]]:
    """Yield the processors whose costs bound the critical path from below, as coordinates by axis.

    A coordinate is "first", "last" or the name of an index parameter.
    """
    names = [axis.name for axis in algorithm.grid]
    for ends in product((*module.signatures[algorithm].indices, "first", "last"), repeat=len(names)):
        yield dict(zip(names, ends, strict=True))


def _inner_processors(
    module: Module, algorithm: s.Algorithm, facts: Facts
) -> Iterator[tuple[dict[str, str | Poly], tuple[Poly, ...]]]:
    """Yield processors at and next to coordinates where a condition of the program changes, as coordinates by axis.

    Each comes with expressions that are all >= 0 exactly where the processor exists.
    """
    place = position_at_start(module, algorithm, None)
    if place is None:
        return
    near: dict[str, list[str | Poly]] = {name: [] for name in place.axes}
    for node in s.iterate_nodes(algorithm.body):
        if (
            isinstance(node, s.Binary)
            and node.op in NEGATED_OPERATORS
            and (difference := subtract_sides(node, place)) is not None
        ):
            for name, axis in place.axes.items():
                limits = (axis.coordinate + difference, axis.coordinate - difference)
                points = [limit + by for limit in limits if limit.names <= place.fixed for by in (0, 1, -1)]
                near[name] += [point for point in points if point not in (ZERO, axis.extent - 1)]
    choices = [dict.fromkeys(values or ["first", "last"]) for values in near.values()]
    for chosen in islice(product(*choices), MAX_INNER_PROCESSORS) if any(near.values()) else ():
        processor = dict(zip(place.axes, chosen, strict=True))
        inside = [(at, place.axes[name].extent - 1 - at) for name, at in processor.items() if isinstance(at, Poly)]
        needs = [need for both in inside for need in both]
        yield processor, tuple(need for need in needs if not facts.nonnegative(need))


def _drop_bound_if_missing(amount: Amount, needs: tuple[Poly, ...], others: list[Amount], facts: Facts) -> Amount:
    """Replace the lower bound of a processor by 0 where it may not exist, unless other bounds are as large there.

    The processor exists if all `needs` are at least 0.
    """
    if isinstance(amount, UnknownAmount):
        return amount
    lower = amount.lower
    for need in needs:
        missing = facts.with_nonnegative(-need - 1)
        if not any(isinstance(bound, KnownAmount) and missing.nonnegative(bound.lower - lower) for bound in others):
            lower = lower * (facts.positive_part(need + 1) - facts.positive_part(need))
    return KnownAmount(lower, amount.upper)


def _derive_processor_costs(
    algorithm: s.Algorithm,
    given: Mapping[str, str | Poly] | None,
    recursions: GridRecursions,
    scope: Scope,
    memory: bool = True,
) -> tuple[PathCosts, Facts]:
    """Derive the costs of the processor at the coordinates `given`, of the critical path if None; also their facts."""
    place = position_at_start(scope.module, algorithm, given, scope)
    if place is None:
        return FREE, Facts()
    facts = place.facts
    try:
        spent = _derive_costs_from_start(scope.module, algorithm, recursions, place, memory)
    except NotStaticError as problem:
        spent = unknown_path_costs(problem.reason, algorithm)
    return spent, facts


def _follow_journeys(
    module: Module, algorithm: s.Algorithm, recursions: GridRecursions, scope: Scope
) -> Iterator[PathCosts]:
    """Yield lower bounds of paths that start at a corner and move along with the messages of chains."""
    if find_recursive_component(module, algorithm):
        return
    for corner in _corner_processors(module, algorithm):
        place = position_at_start(module, algorithm, corner, scope)
        with suppress(NotStaticError, TooComplexError):
            spent = None if place is None else follow_journey(module, algorithm, GridWalk(module, recursions), place)
            if spent is not None:
                yield spent


def _derive_mean_costs(module: Module, algorithm: s.Algorithm, recursions: GridRecursions) -> Iterator[PathCosts]:
    """Yield a lower bound on the mean cost over all processors, if one is found; some processor costs at least it."""
    place = position_at_start(module, algorithm, None)
    if place is not None and place.ranged and not find_recursive_component(module, algorithm):
        with suppress(NotStaticError, TooComplexError):
            yield GridWalk(module, recursions).derive_body_costs(
                algorithm, replace(place, average=ReachingProcessors())
            )


def _increase_lower_bound_to_mean(cost: Cost, mean: Amount, facts: Facts) -> Cost:
    """Bound a cost from below by a mean as well; its lower bound becomes the larger of both at equal sizes."""
    if (
        cost.lower is None
        or cost.exact
        or isinstance(mean, UnknownAmount)
        or mean.lower.has_more_atoms_than(MAX_MEAN_ATOMS)
    ):
        return cost
    first, second = -readable_upper_bound(-mean.lower, facts), cost.lower
    alike = dict.fromkeys(first.names | second.names, EQUAL_SIZE)
    try:
        if not evaluate(first, alike) > 0:
            return cost
        if not is_nonnegative(first - second, facts) and evaluate(first, alike) <= evaluate(second, alike):
            first, second = second, first
    except EvaluationError:
        return cost
    first = first if is_nonnegative(first, facts) else facts.positive_part(first)
    return replace(cost, lower=first, at_least=(Cost(cost.metric, "bounded", second, cost.upper),))


def _derive_minimum_costs(algorithm: s.Algorithm, recursions: GridRecursions, scope: Scope) -> PathCosts:
    """Derive costs that every processor has at least, as exact amounts; 0 where no such bound is found."""
    coordinates = {axis.name: Poly.symbol(axis.name) for axis in algorithm.grid}
    place = position_at_start(scope.module, algorithm, coordinates, scope)
    ranged = position_at_start(scope.module, algorithm, None, scope)
    if place is None or ranged is None:
        return FREE
    walk = GridWalk(scope.module, recursions)
    least = partial(_bound_on_all_processors_below, place=ranged, span=algorithm.span)
    spent = walk.derive_body_costs(algorithm, place).map(least)
    rough = walk.without_guard_counts.derive_body_costs(algorithm, replace(place, counts_guards=False)).map(least)
    # A bound of 0 is none; counted guards give the sharper one where it is free of coordinates.
    spent = replace(
        spent,
        amounts={
            name: rough.of(name) if amount == exact_amount(ZERO) else amount for name, amount in spent.amounts.items()
        },
    )
    return _express_in_sizes(spent, place.facts, algorithm)


def _bound_on_all_processors_below(amount: Amount, place: Position, span: Span) -> Amount:
    """Return a lower bound on one processor's amount that holds on all processors, as an exact amount."""
    if isinstance(amount, UnknownAmount):
        return exact_amount(ZERO)
    opposite = place.find_upper_bound(-amount.lower, span)
    return exact_amount(ZERO if opposite is None else place.facts.positive_part(-opposite))


def _express_in_sizes(spent: PathCosts, facts: Facts, algorithm: s.Algorithm) -> PathCosts:
    def express_amounts(amounts: Mapping[str, Amount]) -> dict[str, Amount]:
        return {name: _express_amount_in_sizes(amount, facts, algorithm) for name, amount in amounts.items()}

    rounds = tuple(replace(part, amounts=express_amounts(part.amounts)) for part in spent.rounds)
    return PathCosts(express_amounts(spent.amounts), spent.declared, rounds=rounds)


def _express_amount_in_sizes(amount: Amount, facts: Facts, algorithm: s.Algorithm) -> Amount:
    short = map_bounds(amount, lambda value: fold_ceilings(expand_logarithms(reduce_size_maxima(value, facts))))
    return express_in_sizes(short, facts, algorithm)


def build_grid_recurrences(module: Module, stretches: StretchCosts, longest: Poly | None = None) -> GridRecursions:
    """Build the recurrences of a module's recursive algorithms on grids; messages have at most `longest` words."""

    def derive_level_costs(level: RecursionLevel, place: Position) -> Tally:
        memory = LocalMemory(module, recursions, level).bound_body_peak(level.algorithm, place)
        grid = level.algorithm.grid
        spent = GridWalk(module, recursions, level).derive_body_costs(level.algorithm, place) if grid else FREE
        if spent.rounds:
            spent = unknown_path_costs(
                "a loop without a bound in a recursion on a grid is not counted", level.algorithm
            )
        return Tally({**spent.amounts, "memory": memory}, declared=spent.declared)

    recursions = GridRecursions(module, stretches, (*METRICS, "memory"), derive_level_costs, longest)
    return recursions


def _parameter_words(module: Module, algorithm: s.Algorithm, recursions: GridRecursions) -> Poly:
    """Return an upper bound on the words of an algorithm's `local` parameters, which count as memory; 0 if unknown."""
    place = position_at_start(module, algorithm, None)
    if place is None:
        return ZERO
    words = LocalMemory(module, recursions).count_parameter_words(algorithm, place)
    return ZERO if isinstance(words, UnknownAmount) else place.facts.restore(words.upper)


def _derive_costs_from_start(
    module: Module, algorithm: s.Algorithm, recursions: GridRecursions, place: Position, with_memory: bool
) -> PathCosts:
    memory = LocalMemory(module, recursions)
    if find_recursive_component(module, algorithm):
        result = dict(recursions.call_amounts(algorithm, place, algorithm, None))
        result["memory"] = add_amounts(memory.count_parameter_words(algorithm, place), result["memory"])
        return PathCosts(result, recursions.find_declared_costs(algorithm, None))
    spent = GridWalk(module, recursions).derive_body_costs(algorithm, place)
    if not with_memory or (not place.ranged and len({bool(axis.coordinate) for axis in place.axes.values()}) > 1):
        # For the lower bound on the memory, the first and the last processor suffice.
        return spent
    return replace(spent, amounts={**spent.amounts, "memory": memory.bound_peak(algorithm, place)})


def _is_huge(amount: Amount) -> bool:
    return isinstance(amount, KnownAmount) and amount.upper.has_more_atoms_than(MAX_BOUND_ATOMS)


def _combine_bounds(upper: Amount, own: list[Amount], least: Poly, facts: Facts) -> Amount:
    """Bound the critical path: at most `upper`, and at least `least` and the costs of single processors (`own`)."""
    if isinstance(upper, UnknownAmount):
        return upper
    lowers = [amount.lower for amount in own if isinstance(amount, KnownAmount)]
    highest = reduce_in_sizes(upper.upper, facts)
    for lower in lowers:
        if lower == upper.upper or facts.simplify(lower - upper.upper) == ZERO:
            return exact_amount(highest)
    best = least
    for lower in lowers:
        # Each lower bound is valid; the first one is kept until a later one is proved to be larger.
        if lower != least and (best == least or facts.nonnegative(lower - best)):
            best = lower
    lowest = -readable_upper_bound(-best, facts)
    lowest = lowest if is_nonnegative(lowest - least, facts) else facts.maximum(lowest, least)
    return KnownAmount(reduce_in_sizes(lowest, facts), readable_upper_bound(highest, facts))


Corner = tuple[tuple[str, str], ...]
"""The position of a processor: pairs of an axis and its coordinate there."""


def extend_paths_by_disseminations(
    by_corner: Mapping[Corner, PathCosts], all_of_them: PathCosts, facts: Facts, metrics: Sequence[str]
) -> list[PathCosts]:
    """Bound the longest paths that end at corner processors from below, given the costs of each corner processor.

    By a dissemination a path may come from any other processor. `all_of_them` has, for each stage, the maximum costs
    over all processors.
    """
    stages = all_of_them.stages
    calls = [(stage.call, stage.axes) for stage in stages]
    alike = {corner: cost for corner, cost in by_corner.items() if [(at.call, at.axes) for at in cost.stages] == calls}
    if not stages or not alike:
        return list(by_corner.values())
    result = []
    for corner, spent in alike.items():
        amounts = {name: _longest_path(name, corner, alike, stages, facts) for name in metrics}
        result.append(replace(spent, amounts={**spent.amounts, **amounts}))
    return [*result, *(cost for corner, cost in by_corner.items() if corner not in alike)]


def _longest_path(
    name: str, corner: Corner, costs: Mapping[Corner, PathCosts], stages: Sequence[DisseminationStage], facts: Facts
) -> Amount:
    """Bound from below the longest path that ends at a corner at the end of the program."""
    paths: dict[Corner, Amount] = dict.fromkeys(costs, ZERO_AMOUNT)
    limit: Amount = ZERO_AMOUNT
    for index, stage in enumerate(stages):
        prior = {at: add_amounts(paths[at], costs[at].stages[index].before.get(name, ZERO_AMOUNT)) for at in costs}
        steps = stage.steps.get(name, ZERO_AMOUNT)
        limit = add_amounts(limit, stage.before.get(name, ZERO_AMOUNT))
        if stage.even and isinstance(steps, KnownAmount) and steps.exact:
            paths = {
                at: add_amounts(
                    _largest_amount([prior[at], *_paths_to_other_corners(at, prior, stage.axes)], limit, facts), steps
                )
                for at in costs
            }
        else:
            paths = {at: add_amounts(prior[at], costs[at].stages[index].steps.get(name, ZERO_AMOUNT)) for at in costs}
        limit = add_amounts(limit, steps)
    return add_amounts(paths[corner], costs[corner].rest.get(name, ZERO_AMOUNT))


def _paths_to_other_corners(corner: Corner, paths: Mapping[Corner, Amount], axes: Sequence[str]) -> Iterator[Amount]:
    """Yield the costs of the paths to other corners in the same group along `axes`."""
    for place, amount in paths.items():
        if place != corner and all(left == right or left[0] in axes for left, right in zip(corner, place, strict=True)):
            yield amount


def _largest_amount(amounts: Sequence[Amount], limit: Amount, facts: Facts) -> Amount:
    """Select an amount that attains the limit; else the first one, or a later one that is proved to be no smaller."""
    known = [amount for amount in amounts if isinstance(amount, KnownAmount)]
    attained = (
        amount for amount in known if isinstance(limit, KnownAmount) and not facts.simplify(limit.upper - amount.lower)
    )
    longest = next(attained, None)
    if longest is not None:
        return longest
    best, *candidates = amounts
    for candidate in candidates:
        if (
            isinstance(best, KnownAmount)
            and isinstance(candidate, KnownAmount)
            and facts.nonnegative(candidate.lower - best.lower)
        ):
            best = candidate
    return best
