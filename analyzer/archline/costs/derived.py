"""Derive the costs of an algorithm on first use: bounds, growth, values at sizes, and verdicts on its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive_longest_message_costs, derive_metric, derive_statement_costs
from archline.analysis.bounds import Piece
from archline.analysis.cache import parallel
from archline.analysis.cache import traffic as cache_traffic
from archline.analysis.checks.failures import list_assumed_size_facts
from archline.analysis.checks.runs import Failure
from archline.analysis.communication import derive, place
from archline.analysis.cost import Cost, Costs
from archline.analysis.metrics.relations import time_cost
from archline.analysis.sampling import list_offsets_rules
from archline.claims import by_cases
from archline.claims import published as published_work
from archline.claims.decide import decide_claims
from archline.claims.growth_claims import format_growths, select_shown_growths
from archline.claims.optimality import OptimalityResult, optimality_regimes
from archline.claims.verdicts import Verdict
from archline.cost_growth.growth_of_cost import derive_cost_growth
from archline.costs import rules, sizes
from archline.execution.run_rules import IMPOSSIBLE_DATA
from archline.expr import build as b
from archline.expr.text import Formula, format_fact
from archline.growth.growths import Growth
from archline.ir.conditions import equivalent_constraints
from archline.ir.declarations import declared_scope
from archline.ir.scope import Scope
from archline.language import model
from archline.language import syntax as s
from archline.language.call_graph import has_recursion
from archline.language.diagnostics import ArchlineError, error
from archline.language.extra_facts import add_where_facts
from archline.language.metrics import DERIVABLE, OF_CACHE
from archline.records import replace

if TYPE_CHECKING:
    from archline.analysis.cache.parallel import SchedulerBound
    from archline.analysis.metrics.lines import Place
    from archline.claims.by_cases import GeneralCase
    from archline.claims.published import PublishedComparison
    from archline.costs.communication import ProblemBounds
    from archline.costs.sizes import Given, Point, SizeNames
    from archline.expr.intervals import Number


class DerivedCosts:
    """The costs of an algorithm under facts, each derived on first use."""

    def __init__(
        self,
        module: model.Module,
        node: s.Algorithm,
        costs: Costs,
        io: Callable[[], Cost],
        of_first_call: tuple[s.Fact, ...] = (),
        communication: ProblemBounds | None = None,
        needed: tuple[str, ...] = (),
        stopped: Callable[[Mapping[str, int]], Failure | None] = lambda _: None,
        executed: tuple[model.Module, s.Algorithm] | None = None,
    ) -> None:
        """Represent the `costs` and `io` of an algorithm, derived under its `where` without the facts `of_first_call`.

        Facts `of_first_call` need not hold in recursive calls. `needed` are conditions of runs that are not proved;
        `stopped` returns the failure that all runs at given sizes have, or None; `executed` is the algorithm under the
        facts of all calls, usually `module` and `node`.
        """
        self.module = module
        self.node = node
        self.executed = executed or (module, node)
        self._stopped = stopped
        texts = (*map(Formula, of_first_call), *needed)
        self.without_io = (
            replace(costs, assumptions=tuple(dict.fromkeys((*costs.assumptions, *texts)))) if texts else costs
        )
        self._io = io
        self.communication = communication
        self.longest: Poly | None = None
        self._of_any_length: Self | None = None
        self._growths: dict[str, tuple[Growth, ...]] = {}
        self._failures: dict[tuple[tuple[str, int], ...], Failure | None] = {}
        self._requested: dict[str, Self] = {}

    @cached_property
    def costs(self) -> Costs:
        """All costs, including io, which takes the longest to derive."""
        return replace(self.without_io, metrics={**self.without_io.metrics, "io": self._io()})

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self.node.name

    @property
    def on_grid(self) -> bool:
        """Whether the algorithm runs on the processors of a grid."""
        return bool(self.node.grid)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The derived metrics: flops, work, span, io, and words, messages and memory on a grid."""
        return (*self.without_io.metrics, "io")

    def including(self, metric: str) -> Self:
        """Return the costs with one more metric, derived if necessary. Raises KeyError for an unknown metric."""
        if metric in self.without_io.metrics or metric == "io":
            return self
        if metric not in DERIVABLE:
            raise KeyError(metric)
        if metric not in self._requested:
            if metric in OF_CACHE:
                traffic = {metric: cache_traffic.derive_traffic_cost(self.module, self.node, metric)}
                self._requested[metric] = self._replace_costs(traffic, self.communication, derivation=())
            else:
                costs = derive_metric(*self.executed, metric)
                self._requested[metric] = self._replace_costs(
                    costs.metrics, self.communication, derivation=costs.derivation
                )
        return self._requested[metric]

    @cached_property
    def statements(self) -> Mapping[Place, Mapping[str, Cost]]:
        """The executions, flops and work of each statement in one call, by its place; empty on a grid."""
        return derive_statement_costs(*self.executed)

    @cached_property
    def lines(self) -> Mapping[int, Mapping[str, tuple[Cost, ...]]]:
        """The costs of the statements of each line, by metric; in a recursion also of lines of its partners."""
        lines: dict[int, dict[str, tuple[Cost, ...]]] = {}
        for statement, costs in self.statements.items():
            on_line = lines.setdefault(statement.line, {})
            for metric, cost in costs.items():
                on_line[metric] = (*on_line.get(metric, ()), cost)
        return lines

    def _replace_costs(self, metrics: Mapping[str, Cost], communication: ProblemBounds | None, **others: Any) -> Self:
        """Return these costs with some metrics, the lower bounds, and other fields of `Costs` replaced."""
        costs = replace(self.without_io, metrics={**self.without_io.metrics, **metrics}, **others)
        about = (self.module, self.node, costs, lambda: self.costs["io"])
        return type(self)(*about, communication=communication, stopped=self._stopped, executed=self.executed)

    @cached_property
    def case(self) -> GeneralCase:
        """The case of several processors on every axis of a grid, if its costs have shorter forms.

        Otherwise, or if costs are unknown, the case of all sizes. It takes as long as the derivation for all sizes.
        """
        everywhere = self.everywhere
        if not self.on_grid or any(cost.upper is None for cost in self.without_io):
            return everywhere
        general = by_cases.derive_general_case(self.module, self.node, self.without_io, self.longest)
        return general if by_cases.has_shorter_forms(general, self.without_io) else everywhere

    @cached_property
    def general(self) -> Self | None:
        """The costs in the case of several processors on every axis; None if `case` is that of all sizes."""
        case = self.case
        return type(self)(case.module, case.node, case.costs, lambda: self.costs["io"]) if case.when else None

    @property
    def everywhere(self) -> GeneralCase:
        """The costs for all sizes, as a case without further facts."""
        return by_cases.GeneralCase(self.module, self.node, (), self.without_io, self.longest)

    @cached_property
    def with_longest(self) -> Self:
        """The costs on a grid if a message has at most K words, so that w words are ceil(w/K) messages."""
        if not self.on_grid or self.longest is not None:
            return self
        costs = derive_longest_message_costs(*self.executed)
        messages = {name: costs[name] for name in ("messages", "node_messages") if name in costs.metrics}
        report = self._replace_costs(messages, None, parameters=costs.parameters)
        report.longest = derive.LONGEST_MESSAGE
        report._of_any_length = self
        return report

    def write(self, value: Poly) -> Formula:
        """Format an expression in the language's syntax."""
        return self.without_io.text(value)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The sizes and indices that costs may contain, in the order of the algorithm."""
        return self.without_io.parameters

    @property
    def assumptions(self) -> tuple[str, ...]:
        """The assumptions of the costs, as text: facts, and unproved conditions of runs."""
        return self.without_io.assumptions

    @property
    def needed(self) -> tuple[str, ...]:
        """The assumptions that are not in the algorithm's `where`."""
        stated = set(map(format_fact, self.where))
        return tuple(assumption for assumption in self.assumptions if assumption not in stated)

    @property
    def where(self) -> tuple[s.Fact, ...]:
        """The facts of the algorithm's `where`."""
        return self.node.where

    def _require_valid_processors(self, processors: int | str) -> None:
        """Raise ArchlineError (AL401, AL406) unless `processors` is an integer >= 1, "P" or the name of a size."""
        if isinstance(processors, str) and processors != "P" and processors not in self.names.sizes:
            raise error(rules.UNKNOWN_SIZE, f"`{processors}` is neither P nor a size of `{self.name}`")
        if isinstance(processors, int) and processors < 1:
            hint = "give 1 processor or more, or `P` for any number"
            raise error(rules.TOO_SMALL, f"P is {processors}; it must be at least 1", hint=hint)

    @cached_property
    def recursive(self) -> bool:
        """Whether the algorithm is recursive, or calls a recursive one."""
        return has_recursion(self.module, self.node)

    @cached_property
    def names(self) -> SizeNames:
        """The names for which values can be given."""
        free: set[str] = set()
        for cost in (*self.costs, *self.costs.flops_by_kind.values()):
            free |= {name for value in (cost.lower, cost.upper) if value is not None for name in value.names}
        return sizes.SizeNames.of(self.module, self.node, free)

    @cached_property
    def ensures(self) -> tuple[Verdict, ...]:
        """The verdict on each `ensures` of the algorithm; in claims, messages may have any length."""
        if self._of_any_length is not None:
            return self._of_any_length.ensures
        # io takes the longest to derive, and most algorithms have no claim on it.
        named = {claim.metric for claim in self.node.ensures if claim.metric in DERIVABLE}
        costs = self.costs if "io" in named else self.without_io
        more = {metric: self.including(metric).without_io[metric] for metric in sorted(named.difference(costs.metrics))}
        costs = replace(costs, metrics={**costs.metrics, **more}) if more else costs
        return decide_claims(self.module, self.node, costs, facts=list_assumed_size_facts(*self.executed))

    def point(self, given: Given, needed: Iterable[str] | None = None, option: str = "") -> Point:
        """Check given values as a run does, and return them. Raises ArchlineError (AL401 to AL407, AL526).

        `needed` are the names that must have values, by default those of all costs. Hints of errors say to give
        them by `option`.
        """
        point = sizes.check_point(given, self.names, self.where, option=option, needed=needed)
        rules_of = list_offsets_rules(declared_scope(self.module, self.node))
        broken = next((rule for rule in rules_of if not rule(point)), None)
        if broken is not None:
            span = next(parameter.span for parameter in self.node.parameters if parameter.name == broken.array)
            facts = {rule: f"{self.write(rule.low)} <= {self.write(rule.high)}" for rule in rules_of}
            message = f"`{broken.array}` cannot have these sizes: `{facts[broken]}` does not hold"
            hint = "it requires " + " and ".join(facts[rule] for rule in rules_of if rule.array == broken.array)
            raise error(IMPOSSIBLE_DATA, message, span=span, hint=hint)
        return point

    def point_of_run(self, given: Given, needed: Iterable[str] | None = None, option: str = "") -> Point:
        """Check given values as `point` does, and that some run at them may end. Raises ArchlineError."""
        point = self.point(given, needed, option)
        self.require_runs(point)
        return point

    def require_runs(self, point: Mapping[str, Number]) -> None:
        """Raise ArchlineError if no run at a point ends."""
        whole = {name: int(value) for name, value in point.items() if value == int(value)}
        # All metrics of an energy are evaluated at the same points.
        key = tuple(sorted(whole.items()))
        if key not in self._failures:
            self._failures[key] = self._stopped(whole)
        failure = self._failures[key]
        if failure is not None:
            raise ArchlineError([failure.diagnostic])

    def growth(self, cost: Cost) -> str | None:
        """Return the growth of a cost as text; None if it is unknown."""
        return format_growths(self.growths(cost))

    def growths(self, cost: Cost) -> tuple[Growth, ...]:
        """Return the growths of a cost to show."""
        if cost.metric not in self._growths:
            costs = self.costs if cost.metric == "io" else self.without_io
            self._growths[cost.metric] = select_shown_growths(*self._under_assumptions, costs, cost)
        return self._growths[cost.metric]

    def growths_by_case(self, cost: Cost) -> list[list[Growth]]:
        """List for each piece of a cost the growths whose conditions hold there; empty if a piece has none."""
        growths, scope = self.growths(cost), declared_scope(*self._under_assumptions)
        if not all(growth.where for growth in growths):
            return []
        by_piece = [
            [growth for growth in growths if all(_holds_in_all_cases(piece, fact, scope) for fact in growth.where)]
            for piece in cost.by_case
        ]
        covered = (in_piece or not piece.upper for in_piece, piece in zip(by_piece, cost.by_case, strict=True))
        return by_piece if all(covered) else []

    @cached_property
    def _under_assumptions(self) -> tuple[model.Module, s.Algorithm]:
        """The algorithm under the facts about sizes that all results assume."""
        return add_where_facts(self.module, self.node, list_assumed_size_facts(*self.executed))

    @cached_property
    def attained(self) -> OptimalityResult | None:
        """The relation of io to the lower bound for any schedule; None if it is unknown."""
        return optimality_regimes(*self._under_assumptions, self.costs, self.costs["io"])

    @cached_property
    def published(self) -> PublishedComparison | None:
        """The published lower bounds on io of library algorithms from PolyBench, compared with the derived one.

        None for other algorithms, or if no bound for any schedule is derived.
        """
        return published_work.compare_published_bounds(self.module, self.node, self.costs, self.costs["io"])

    @property
    def replicated(self) -> Mapping[str, int] | None:
        """The sizes of a small run in which several processors of a grid read one element of the input.

        None if no run of up to COST_GRID processors shows that; then lower bounds on communication assume one copy
        of the input.
        """
        return None if self.communication is None else self.communication.replicating_run

    @cached_property
    def extents(self) -> Mapping[str, Cost]:
        """The numbers of processors and nodes of a grid."""
        return place.processor_counts(self.module, self.node) if self.on_grid else {}

    def cost(self, metric: str) -> Cost:
        """Return the cost of any metric, or an extent of the grid. Raises KeyError for an unknown metric."""
        if metric in self.extents:
            return self.extents[metric]
        report = self.including(metric)
        return (report.costs if metric == "io" else report.without_io)[metric]

    def time_on(self, processors: int | str) -> Cost:
        """Bound the time on P processors, between max(span, work/P) and span + work/P (Brent's theorem)."""
        self._require_valid_processors(processors)
        if isinstance(processors, str):
            return time_cost(self.costs, Poly.symbol(processors), processors)
        return time_cost(self.costs, Poly.constant(processors), str(processors))

    def misses_on(self, processors: int | str) -> Cost:
        """Bound the lines fetched into the caches of P processors together."""
        self._require_valid_processors(processors)
        return parallel.derive_parallel_io_cost(self.module, self.node, self.costs["io"], processors)

    def schedules(self, processors: int | str) -> tuple[SchedulerBound, ...]:
        """Return bounds on io on several processors for schedules that do not keep the serial order."""
        span = derive_cost_growth(self.module, self.node, self.costs, self.costs["span"]).upper
        return parallel.list_scheduler_bounds(
            self.module, self.node, self.costs["io"], processors, span or b.name("span")
        )


def _holds_in_all_cases(piece: Piece, condition: s.Fact, scope: Scope) -> bool:
    """Test whether a condition on sizes, or one operand of its `or`, holds in all cases of a piece."""
    if isinstance(condition, s.Binary) and condition.op == "or":
        return any(_holds_in_all_cases(piece, operand, scope) for operand in (condition.left, condition.right))
    needs = equivalent_constraints(condition, scope)
    return needs is not None and all(
        case.nonnegative(case.simplify(need.substitute(case.rewrites))) for case in piece.where.cases for need in needs
    )
