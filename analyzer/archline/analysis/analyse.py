"""The entry of the analysis derives the costs of an algorithm of a checked module."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from archline.algebra.effort import TooComplexError, limit_effort
from archline.algebra.facts import Facts
from archline.algebra.index_range import IndexRange, find_index_range
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.communication import derive as grid
from archline.analysis.cost import Cost, Costs, build_cost, evaluate_formulas
from archline.analysis.metrics import accesses as access_counts
from archline.analysis.metrics.accesses import derive_accesses
from archline.analysis.metrics.derivation import Derivation
from archline.analysis.metrics.lines import BY_STATEMENT, Place, split_kind
from archline.analysis.metrics.operations import STANDARD, CostModel, make_event_model
from archline.analysis.metrics.relations import relate_costs
from archline.analysis.metrics.solution import add_amount_to_solution
from archline.analysis.metrics.statements import Result
from archline.analysis.metrics.tally import DerivationStep, Tally, make_unknown_tally
from archline.analysis.regimes import split_into_regimes
from archline.analysis.sampling import list_offsets_rules
from archline.expr.intervals import EvaluationError
from archline.expr.text import Formula, format_fact, join_phrases
from archline.expr.values import evaluate_fact
from archline.ir.amounts import Amount, UnknownAmount, add_amounts, exact_amount
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope
from archline.ir.tree import UntracedError
from archline.language import parser
from archline.language import syntax as s
from archline.language.call_graph import find_reachable, find_recursive_component, has_recursion
from archline.language.checking.scopes import MACHINE_SYMBOLS
from archline.language.format_statements import format_limit
from archline.language.iterations import list_iterations
from archline.language.metrics import CALL, METRICS
from archline.language.model import Module
from archline.language.substitution import express_facts_in_sizes, find_exact_divisions

if TYPE_CHECKING:
    from archline.analysis.communication.path_steps import PathStep

T = TypeVar("T")
MAX_TERM_PRODUCTS = 120_000
RECURSION_EFFORT_FACTOR = 50
MAX_SAMPLES = 4
MAX_CACHED_COSTS = 256
MAX_MODULES = 8


class InvariantError(AssertionError):
    """A derived cost contradicts an invariant of all costs: a defect of the analysis, never of the input."""


_solved: OrderedDict[object, Costs] = OrderedDict()
"""Costs of recursive algorithms and of algorithms on grids, which take long to derive, by the key of their inputs."""


def derive(module: Module, algorithm: s.Algorithm, model: CostModel = STANDARD) -> Costs:
    """Derive the costs of one call of the algorithm, in its sizes. Never raises for a program that checks."""
    recursive = has_recursion(module, algorithm)
    if not recursive and not algorithm.grid:
        return _derive_costs(module, algorithm, model, recursive=False)
    key = model.asked, algorithm.name, *(_cache_key(part) for part in (algorithm, *find_reachable(module, algorithm)))
    if key not in _solved:
        _solved[key] = _derive_costs(module, algorithm, model, recursive)
        if len(_solved) > MAX_CACHED_COSTS:
            _solved.popitem(last=False)
    return _solved[key]


def clear_cost_caches() -> None:
    """Clear the caches of derived costs and of parsed texts, so that the time of derivations can be measured."""
    _solved.clear()
    _shared_derivation.cache_clear()
    parser.clear_parsed_texts()


def _cache_key(algorithm: s.Algorithm) -> object:
    """Return a key of an algorithm: its name, the path and text of its file, and its `where`."""
    source = algorithm.span.source
    return algorithm.name, str(source.path), source.text, tuple(format_fact(fact) for fact in algorithm.where)


@lru_cache(maxsize=MAX_MODULES)
def derive_bounds_without_guards(module: Module, algorithm: s.Algorithm) -> Mapping[str, Cost]:
    """Derive costs whose lower bounds take the cheaper outcome of each guard, and whose upper bounds the dearer one.

    Empty for a recursive algorithm and on a grid.
    """
    if algorithm.grid or has_recursion(module, algorithm):
        return {}
    with suppress(TooComplexError, RecursionError), limit_effort(MAX_TERM_PRODUCTS):
        total = STANDARD.count_event(CALL).then(
            Derivation(module, True, STANDARD).derive_total(algorithm)[0],
            declared_scope(module, algorithm).facts,
        )
        return {
            metric: build_cost(metric, total.total_amount(metric), total.declared, algorithm)
            for metric in STANDARD.asked
        }
    return {}


def derive_metric(module: Module, algorithm: s.Algorithm, metric: str) -> Costs:
    """Derive the costs of one call in a metric that is derived on request."""
    if METRICS[metric].counts is not None:
        return derive(module, algorithm, make_event_model(metric))
    return _derive_executed_accesses(module, algorithm)


def _derive_executed_accesses(module: Module, algorithm: s.Algorithm) -> Costs:
    """Derive the accesses; `+=` counts as a read and a write of its element, as in runs."""
    steps: tuple[DerivationStep, ...] = ()
    try:
        cost, steps = derive_accesses(module, algorithm, updates=2)
    except UntracedError as problem:
        cost = Cost(access_counts.METRIC, "unknown", None, None, problem.reason, problem.span)
    except TooComplexError as problem:
        cost = Cost(access_counts.METRIC, "unknown", None, None, str(problem), algorithm.span)
    return _build_costs(module, algorithm, {access_counts.METRIC: cost}, {}, steps)


def _derive_costs(module: Module, algorithm: s.Algorithm, model: CostModel, recursive: bool) -> Costs:
    if algorithm.grid:
        return _derive_on_grid(module, algorithm)

    statements, tally, steps = _derive_tally(module, algorithm, model, recursive)
    scope, signature = declared_scope(module, algorithm), module.signatures[algorithm]
    metrics = _build_metrics(model.asked, tally, algorithm, statements)
    by_name = _build_metrics((name for name in sorted(tally.sums) if "." in name), tally, algorithm, statements)
    kinds = {name.removeprefix("flops."): cost for name, cost in by_name.items()}
    costs = relate_costs(_build_costs(module, algorithm, metrics, kinds, steps), module, algorithm, scope.facts)
    if not find_recursive_component(module, algorithm):
        metrics, kinds = (
            {name: split_into_regimes(cost, scope.facts, signature.size_names) for name, cost in costs_by_name.items()}
            for costs_by_name in (costs.metrics, costs.flops_by_kind)
        )
        costs = replace(costs, metrics=metrics, flops_by_kind=kinds)
    _assert_invariants(costs, module, algorithm, scope)
    return costs


def _derive_tally(
    module: Module, algorithm: s.Algorithm, model: CostModel, recursive: bool
) -> tuple[Derivation, Tally, tuple[DerivationStep, ...]]:
    """Derive the tally of a call and its steps; unknown if that is too complex."""

    def derive_body(coarse: bool) -> tuple[Derivation, Result]:
        statements = _shared_derivation(module, coarse, model) if recursive else Derivation(module, coarse, model)
        return statements, statements.derive_total(algorithm)

    outcome = _derive_within_budget(derive_body, (RECURSION_EFFORT_FACTOR if recursive else 1) * model.effort_factor)
    if isinstance(outcome, str):
        outcome = Derivation(module, True, model), (make_unknown_tally(outcome, algorithm.span), ())
    statements, (tally, steps) = outcome
    return statements, model.count_event(CALL).then(tally, declared_scope(module, algorithm).facts), steps


def _build_metrics(
    names: Iterable[str], tally: Tally, algorithm: s.Algorithm, statements: Derivation
) -> dict[str, Cost]:
    """Build the costs of metrics and kinds, by name."""

    def find_amount(name: str) -> Amount:
        # An unknown amount may contain any kind.
        total = tally.total_amount(name.partition(".")[0])
        return total if "." not in name or isinstance(total, UnknownAmount) else tally.amount(name)

    costs = {name: build_cost(name, find_amount(name), tally.declared, algorithm) for name in names}
    if not find_recursive_component(statements.module, algorithm):
        return costs
    rounds = Tally(rounds=statements.recursions.derive_iteration_costs(algorithm)).fold_iterations(
        statements.iteration_symbols(algorithm)
    )
    return {name: _with_recurrence_results(cost, algorithm, statements, rounds) for name, cost in costs.items()}


def derive_statement_costs(module: Module, algorithm: s.Algorithm) -> Mapping[Place, Mapping[str, Cost]]:
    """Derive what the executions of each statement cost in one call, by where it begins and by metric.

    Flops and work sum to those of the call, but for 1 work of the call itself; a bound of a sum may be less than the
    sum of the bounds. Statements of recursive calls count too, so that a line has its cost at all levels. Empty on a
    grid.
    """
    if algorithm.grid:
        return {}
    statements, tally, _ = _derive_tally(module, algorithm, BY_STATEMENT, has_recursion(module, algorithm))
    names = [name for name in sorted(tally.sums) if "." in name]
    costs: dict[Place, dict[str, Cost]] = {}
    for name, cost in _build_metrics(names, tally, algorithm, statements).items():
        metric, place = split_kind(name)
        costs.setdefault(place, {})[metric] = cost
    return dict(sorted(costs.items()))


def derive_longest_message_costs(module: Module, algorithm: s.Algorithm) -> Costs:
    """Derive costs on a grid whose messages have at most K words: w words are ceil(w/K) messages."""
    return _derive_on_grid(module, algorithm, grid.LONGEST_MESSAGE)


def _derive_on_grid(module: Module, algorithm: s.Algorithm, longest: Poly | None = None) -> Costs:
    """Derive the costs of the longest paths through the processors of a grid."""
    metrics = _derive_within_budget(
        lambda coarse: grid.derive_path_costs(module, algorithm, coarse, longest), RECURSION_EFFORT_FACTOR
    )
    if isinstance(metrics, str):
        names = grid.list_grid_metrics(algorithm)
        metrics = {name: Cost(name, "unknown", None, None, metrics, algorithm.span) for name in names}
    costs = _build_costs(module, algorithm, metrics, {}, ())
    if longest is not None:
        costs = replace(costs, parameters=tuple(dict.fromkeys((*costs.parameters, *sorted(longest.names)))))
    _assert_invariants(costs, module, algorithm, declared_scope(module, algorithm))
    return costs


def derive_steps_on_grid(module: Module, algorithm: s.Algorithm, longest: Poly | None = None) -> tuple[PathStep, ...]:
    """Return the steps of the upper bounds on a grid, one for each statement; empty if that is too complex."""
    steps = _derive_within_budget(
        lambda coarse: grid.derive_steps(module, algorithm, coarse, longest), RECURSION_EFFORT_FACTOR
    )
    return () if isinstance(steps, str) else steps


def _build_costs(
    module: Module,
    algorithm: s.Algorithm,
    metrics: Mapping[str, Cost],
    kinds: Mapping[str, Cost],
    steps: tuple[DerivationStep, ...],
) -> Costs:
    signature = module.signatures[algorithm]
    facts = declared_scope(module, algorithm).facts
    used = {name for cost in metrics.values() for bound in (cost.lower, cost.upper) if bound for name in bound.names}
    iterations = [counted for counted in list_iterations(module, algorithm) if counted.name in used]
    processors = ("P",) if any("P" in s.find_names(axis.extent) for axis in algorithm.grid) else ()
    return Costs(
        algorithm.name,
        (*signature.size_names, *(counted.name for counted in iterations), *signature.indices, *processors),
        _list_assumptions(module, algorithm),
        metrics,
        kinds,
        tuple(step.map_values(facts.restore) for step in steps) if facts.quotients else steps,
        frozenset(
            (
                *(name for name in signature.size_names if signature.at_least[name] < 1),
                *(counted.name for counted in iterations if counted.least < 1),
                *signature.indices,
            )
        ),
        _find_index_range(module, algorithm, facts),
    )


def _find_index_range(module: Module, algorithm: s.Algorithm, facts: Facts) -> IndexRange | None:
    signature = module.signatures[algorithm]
    ends = signature.size_names if find_recursive_component(module, algorithm) else ()
    ranges = (find_index_range(signature.indices, facts, signature.size_names, ends, shift) for shift in (0, 1))
    return next((range_ for range_ in ranges if range_ is not None), None)


@lru_cache(maxsize=MAX_MODULES)
def _shared_derivation(module: Module, coarse: bool, model: CostModel) -> Derivation:
    """Return the one derivation of a module that all callers share, so that each recursion is solved once.

    `coarse` bounds every guard that the sizes do not decide, instead of counting it.
    """
    derivation = Derivation(module, coarse, model)
    if model is BY_STATEMENT:
        derivation.recursions.totals = _shared_derivation(module, coarse, STANDARD).recursions
    return derivation


def _derive_within_budget(derived: Callable[[bool], T], factor: int) -> T | str:
    """Call `derived` with guards counted, then, if that is too complex, with guards bounded; return its result.

    If both are too complex, return the reason; `factor` multiplies the limit on effort.
    """
    reason = ""
    for coarse in (False, True):
        try:
            with limit_effort(MAX_TERM_PRODUCTS * factor):
                return derived(coarse)
        except TooComplexError as problem:
            reason = str(problem)
        except RecursionError:
            reason = "its closed form is nested too deeply to derive"
    return reason


def _with_recurrence_results(cost: Cost, algorithm: s.Algorithm, statements: Derivation, rounds: Tally) -> Cost:
    """Add to a cost the bounds and values of its recurrence, and 1 for the outermost call if the metric counts calls.

    `rounds` has the costs of all iterations of loops without a bound, which the recurrence does not include.
    """
    facts = declared_scope(statements.module, algorithm).facts
    if cost.upper is not None and any(facts.positive(gap - cost.upper) for gap in (ZERO, cost.lower or ZERO)):
        # Both bounds follow from the assumptions of its calls, so that no run satisfies these.
        reason = f"the bounds of `{algorithm.name}` contradict each other: no run satisfies what its calls assume"
        return build_cost(cost.metric, UnknownAmount(reason, algorithm.span), frozenset(cost.declared), algorithm)
    metric, model = cost.metric, statements.model
    closed = statements.recursions.solve_metric(algorithm, metric)
    more = int(metric in model.count_event(CALL).names)
    bounds, interval_at = add_amount_to_solution(
        closed, add_amounts(exact_amount(Poly.constant(more)), rounds.amount(metric))
    )
    cost = replace(cost, bounds=bounds, interval_at=interval_at)
    if rounds.names:
        return cost
    explain = cache(partial(statements.recursions.describe_recurrence, algorithm, metric, more))
    return replace(cost, explain=explain, recursion=statements.recursions.build_recurrence(algorithm, metric))


def _list_assumptions(module: Module, algorithm: s.Algorithm) -> tuple[str, ...]:
    """List the assumptions of the costs: the algorithm's facts, and declarations in it and in its callees."""
    facts: list[str] = [Formula(fact) for fact in (*algorithm.where, *find_exact_divisions(algorithm))]
    for part in dict.fromkeys((algorithm, *find_reachable(module, algorithm))):
        place = "" if part is algorithm else f" of `{part.name}`"
        for statement in s.iterate_nodes(part.body):
            line = f"line {statement.span.line}{place}"
            facts += [join_phrases(Formula(fact), f" (assumed at {line})") for fact in getattr(statement, "facts", ())]
            if isinstance(statement, s.While) and (statement.limit is not None or statement.total is not None):
                facts.append(f"{line}: {format_limit(statement)}")
    return tuple(facts)


def _assert_invariants(costs: Costs, module: Module, algorithm: s.Algorithm, scope: Scope) -> None:
    """Check that free symbols are parameters, and at a few small sizes 0 <= lower <= upper and 1 <= span <= work.

    Raises InvariantError.
    """
    symbols = {*costs.parameters, *find_declared_cost_symbols(costs)}
    for cost in (*costs.metrics.values(), *costs.flops_by_kind.values()):
        for value in (cost.lower, cost.upper):
            if value is not None and not value.names <= symbols:
                raise InvariantError(f"{cost.metric} of {costs.algorithm} contains {sorted(value.names - symbols)}")
    if _may_stop_runs(algorithm, module):
        return
    # Without iterations, also of a `repeat`, no loop without a bound has a part in the costs.
    least = {**module.signatures[algorithm].at_least}
    iterations = dict.fromkeys((counted.name for counted in list_iterations(module, algorithm)), 0)
    allowed, implied = express_facts_in_sizes(algorithm), list_offsets_rules(scope)
    for more in range(MAX_SAMPLES):
        point = {name: least.get(name, 1) + more for name in symbols} | iterations
        if all(evaluate_fact(fact, point) for fact in allowed) and all(rule(point) for rule in implied):
            _assert_ordered(costs, point)


def _may_stop_runs(algorithm: s.Algorithm, module: Module) -> bool:
    """Test whether runs that satisfy the `where` may stop at a call, declared cost, `assume` or exact division."""
    return any(s.find_nodes(algorithm.body, s.Assume, s.Costs)) or any(
        (isinstance(node, s.Binary) and node.op == "/") or (isinstance(node, s.Call) and node in module.targets)
        for node in s.iterate_nodes(algorithm.body)
    )


def _assert_ordered(costs: Costs, point: Mapping[str, int]) -> None:
    all_costs = (*costs.metrics.values(), *costs.flops_by_kind.values())
    try:
        bounds = {cost.metric: evaluate_formulas(cost, point) for cost in all_costs if cost.lower is not None}
    except EvaluationError:
        return
    if any(end.denominator != 1 for interval in bounds.values() for end in interval.ends):
        # The program's exact divisions exclude these sizes.
        return
    for metric, count in bounds.items():
        if not 0 <= count.lower <= count.upper:
            between = f"between {count.lower} and {count.upper}"
            raise InvariantError(f"{metric} of {costs.algorithm} is {between} at {dict(point)}")
    if "work" in bounds and "span" in bounds and not costs["work"].declared:
        span, work = bounds["span"], bounds["work"]
        if span.lower < 1 or (costs["span"].exact and costs["work"].exact and span.lower > work.lower):
            raise InvariantError(f"span {span} and work {work} of {costs.algorithm} at {dict(point)}")


def find_declared_cost_symbols(costs: Costs) -> frozenset[str]:
    """Return the symbols of declared costs, such as the f of an extern that costs f flops; `--at` sets their values."""
    if not any(cost.declared for cost in costs):
        return frozenset()
    names: frozenset[str] = frozenset()
    for cost in costs:
        for value in (cost.lower, cost.upper):
            names |= value.names if value is not None else frozenset()
    return names - set(costs.parameters) - set(MACHINE_SYMBOLS)
