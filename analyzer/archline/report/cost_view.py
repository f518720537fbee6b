"""The view of derived costs: each with its values at a point, its growth, and how close it is to a lower bound."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property, partial
from typing import TYPE_CHECKING

from archline.algebra import atoms as a
from archline.algebra.polynomial import Poly
from archline.analysis.analyse import find_declared_cost_symbols
from archline.analysis.bounds import EVERYWHERE, Region
from archline.analysis.cache import parallel
from archline.analysis.checks.conditions import find_assumptions
from archline.analysis.cost import Cost, Costs, TouchedRegion, enclose_count
from archline.claims.growth_claims import format_growths
from archline.claims.optimality import OptimalityResult
from archline.costs.derived import DerivedCosts
from archline.expr.intervals import EvaluationError, Number, Point
from archline.expr.sequences import MEANINGS
from archline.expr.text import Formula, format_conjunction
from archline.growth.growths import Growth
from archline.ir.iteration_bounds import explain_missing_bound
from archline.language import syntax as s
from archline.language.call_graph import has_parallelism
from archline.language.iterations import IterationCount, list_iterations
from archline.records import record, replace
from archline.report import communication as communication_page
from archline.report.findings import CheckFinding, list_unset_and_unread
from archline.report.view import Contract, ValueRange, make_contract

if TYPE_CHECKING:
    from archline.analysis.cache.lru.distribution import LruCounts, LruLowerBound
    from archline.analysis.cache.parallel import SchedulerBound
    from archline.analysis.metrics.lines import Place
    from archline.analysis.metrics.tally import DerivationStep
    from archline.claims.published import PublishedComparison
    from archline.report.communication import CommunicationView

NO_THETA = "no Theta: none holds at all sizes, or none is proved"
Case = tuple[Region, Poly | None, Poly | None]
"""A lower and an upper bound with the region where they hold."""


@record(eq=False)
class CostRow(Cost):
    """The cost of one metric as a page shows it, with its values `at` a point, which are not below `least`.

    If `cost` and all `derived` costs of the algorithm are given, the growth and the distance to lower bounds are
    computed when a page shows them.
    """

    at: Point | None = None
    cost: Cost | None = None
    derived: DerivedCosts | None = None
    least: Number = 0

    @staticmethod
    def of(cost: Cost, at: Point | None, derived: DerivedCosts | None = None) -> CostRow:
        attributes = {attribute.name: getattr(cost, attribute.name) for attribute in fields(cost)}
        attributes["metric"] = cost.metric.removeprefix("flops.")
        return CostRow(**attributes, at=at, cost=cost, derived=derived)

    @property
    def place(self) -> str | None:
        """The position of what makes the cost unknown, `file:line`; None if there is none."""
        return None if self.span is None else f"{self.span.source.path}:{self.span.line}"

    @property
    def cases(self) -> Iterator[Case]:
        """The bounds of a known cost: a pair for each piece, or the lower bound, then an upper one per regime."""
        if self.by_cache:
            yield EVERYWHERE, self.lower, None
            yield from ((bound.where, None, bound.value) for bound in self.by_cache)
        else:
            yield from ((piece.where, piece.lower, piece.upper) for piece in self.pieces)

    @cached_property
    def _evaluated(self) -> tuple[ValueRange | None, Number | None, str]:
        """The cost at the point, its lower bound over all schedules there, and the reason if there is none."""
        values: ValueRange | None = None
        try:
            if self.at is not None and (values := evaluate_bounds(self, self.at)) is not None:
                values = ValueRange(max(values.lower, self.least), values.upper)
            minimum = (
                None
                if self.at is None or self.any_schedule_bound is None
                else self.any_schedule_bound.evaluate(self.at)
            )
            return values, minimum, ""
        except EvaluationError as problem:
            return values, None, str(problem)

    @property
    def values(self) -> ValueRange | None:
        """The cost at the view's point; None if the point is missing, or the value at it is not rational."""
        return self._evaluated[0]

    @property
    def any_order(self) -> Number | None:
        """The lower bound over all schedules at the view's point; None if the point or the bound is missing."""
        return self._evaluated[1]

    @property
    def why(self) -> str | None:
        """The reason that the cost is unknown, or has no value at the point; None if it has one."""
        return self._evaluated[2] or self.reason

    @cached_property
    def growth(self) -> str | None:
        """The order of growth; None if it is unknown."""
        return format_growths(self.growths)

    @property
    def growths(self) -> tuple[Growth, ...]:
        """The Theta class of the cost, or its O and Omega; empty if unknown."""
        return () if self.derived is None or self.cost is None else self.derived.growths(self.cost)

    @cached_property
    def growths_by_case(self) -> tuple[str, ...]:
        """The growth in each piece; empty if all pieces have the same, or it is unknown by pieces."""
        if self.derived is None or self.cost is None:
            return ()
        cases = self.derived.growths_by_case(self.cost)
        return tuple(format_growths(replace(growth, where=()) for growth in growths) or "" for growths in cases)

    @property
    def no_theta_reason(self) -> str | None:
        """The reason that an exact cost has no Theta; None if it has one in each of its cases, or is 0."""
        shown = self.derived is not None and self.exact and self.lower
        return NO_THETA if shown and "Theta" not in (self.growth or "") else None

    @property
    def attained(self) -> OptimalityResult | None:
        """The distance of io to the lower bound over all schedules; None for other metrics, or if it is unknown."""
        return None if self.derived is None or self.metric != "io" else self.derived.attained

    @property
    def published(self) -> PublishedComparison | None:
        """Bounds on io from the literature; None for other metrics, or if there are none."""
        return None if self.derived is None or self.metric != "io" else self.derived.published


def iterate_bound_relations(lower: Poly | None, upper: Poly | None) -> Iterator[tuple[str, Poly]]:
    """Yield each bound that is not None with its relation: `>=` and `<=`, or one with `=` if both are equal."""
    if lower is not None:
        yield "=" if lower == upper else ">=", lower
    if upper is not None and lower != upper:
        yield "<=", upper


@record
class LruView:
    """Exact counts of LRU misses in lines of `line` words, or the `reason` at `place` that there are none.

    Without a point, `counts` has sizes as symbols. At a point, `misses` has the misses for several numbers of lines;
    `bound` is the lower bound on io in the given cache that follows.
    """

    line: int
    counts: LruCounts | None = None
    reason: str = ""
    place: str | None = None
    accesses: int = 0
    misses: tuple[tuple[int, int], ...] | None = None
    bound: LruLowerBound | None = None


@record(eq=False)
class CostView:
    """The derived costs of an algorithm; `at` is the point of the rows' values.

    `symbols` are those of declared costs, such as the f of an extern that costs f flops.
    """

    algorithm: str
    place: str
    doc: str | None
    parameters: tuple[str, ...]
    symbols: tuple[str, ...]
    assumptions: tuple[str, ...]
    warnings: tuple[CheckFinding, ...]
    rows: tuple[CostRow, ...]
    kinds: tuple[CostRow, ...]
    contracts: tuple[Contract, ...]
    at: Point | None
    text: Callable[[Poly], Formula]
    tree: Callable[[Poly], s.Expr]
    """An expression of the view in the language's syntax, sizes in the algorithm's order."""
    restrict_to: Callable[[Region], Costs]
    """The costs in a region, whose `text` assumes the facts of the region."""
    derivation: tuple[DerivationStep, ...] = ()
    statements: Callable[[], Mapping[Place, Mapping[str, Cost]]] = dict
    """Returns the executions, flops and work of each statement, by its place."""
    lru: LruView | None = None
    divides: bool = False
    """Whether an assumption is that a division by `/` is exact."""
    cache_assumed: bool = False
    """Whether the Z and L of the point are the default ones."""
    schedules: tuple[SchedulerBound, ...] = ()
    """The io on several processors under schedules out of serial order."""
    communication: CommunicationView | None = None
    """Lower bounds on words and messages, where the problem of an algorithm on a grid is known."""
    replicated: Point | None = None
    """The sizes of a run in which several processors read one element of the input."""
    on_grid: bool = False
    """Whether the algorithm runs on a grid: its costs are those of critical paths, and io is not among them."""
    serial: bool = False
    """Whether nothing runs in parallel, so that the span is the work."""
    case: Callable[[], CostView | None] = lambda: None
    """Returns the view for grids with several processors along every axis; None unless its forms are shorter."""
    case_when: str = ""
    iterations: tuple[IterationCount, ...] = ()
    """The sizes among the parameters that count iterations of loops without a bound."""

    @property
    def meanings(self) -> tuple[str, ...]:
        """The definitions of the sequences in the costs whose names do not define them."""
        ends = [end for row in self.rows for end in (row.lower, row.upper) if end is not None]
        names = {atom.name for end in ends for atom in end.atoms_within() if isinstance(atom, a.Sequence)}
        return tuple(MEANINGS[name] for name in sorted(names & MEANINGS.keys())) if self.at is None else ()

    def select_metrics(self, metrics: Sequence[str] | None) -> CostView:
        """Restrict the view to some metrics; None stands for all."""
        if metrics is None:
            return self
        return replace(
            self,
            rows=tuple(row for row in self.rows if row.metric in metrics),
            kinds=self.kinds if "flops" in metrics else (),
            communication=self.communication if {"words", "messages"} & {*metrics} else None,
        )

    def list_growths(
        self, metrics: Sequence[str] | None, without: Sequence[str] = ()
    ) -> list[tuple[CostRow, str, str | None]]:
        """Return the rows of some metrics (None: all), each with its growth, and the reason if it has no Theta.

        At a point, growths and reasons are empty.
        """
        rows = [row for row in self.rows if row.metric in (metrics or (row.metric,)) and row.metric not in without]
        return [
            (row, "", None) if self.at is not None else (row, row.growth or "", row.no_theta_reason) for row in rows
        ]

    def list_minimum_extents(self, region: TouchedRegion) -> list[str]:
        """List the minimum extents at which a call touches all of a region."""
        return [f"{self.text(extent)} >= {least}" for extent, least in region.large]


def build_cost_view(
    derived: DerivedCosts, costs: Costs, at: Point | None = None, more: Sequence[Cost] = ()
) -> CostView:
    """Build the view of derived costs, evaluated `at` a point if there is one; `more` are shown without growth."""
    node = derived.node
    # Bounds of io alone may have iterations, as of a loop that no run reaches.
    used = {name for cost in costs for bound in (cost.lower, cost.upper) if bound is not None for name in bound.names}
    iterations = tuple(
        replace(counted, reason=explain_missing_bound(derived.module, counted.algorithm, counted.loop))
        for counted in list_iterations(derived.module, node)
        if counted.name in used or counted.name in costs.parameters
    )
    return CostView(
        algorithm=costs.algorithm,
        place=f"{node.name_span.source.path}:{node.name_span.line}",
        doc=node.doc,
        parameters=tuple(dict.fromkeys((*costs.parameters, *(counted.name for counted in iterations)))),
        text=costs.text,
        tree=costs.tree,
        restrict_to=costs.restrict_to,
        symbols=tuple(sorted(find_declared_cost_symbols(costs))),
        assumptions=costs.assumptions,
        warnings=list_unset_and_unread(*derived.executed, heeded=True),
        rows=(*(CostRow.of(cost, at, derived) for cost in costs), *(CostRow.of(cost, at) for cost in more)),
        kinds=tuple(CostRow.of(cost, at, derived) for cost in costs.flops_by_kind.values()),
        contracts=(),
        at=at,
        derivation=costs.derivation,
        statements=lambda: derived.statements,
        on_grid=bool(node.grid),
        iterations=iterations,
    )


def build_page_view(
    derived: DerivedCosts, at: Point | None = None, processors: int | str | None = None, without_io: bool = False
) -> CostView:
    """Build the view that pages show of derived costs, at a point, with the time and io on `processors` if given.

    With `without_io` the costs lack io.
    """
    if at is not None and "K" in at and derived.longest is None:
        derived = derived.with_longest
    more = () if processors is None else (derived.time_on(processors), derived.misses_on(processors))
    costs = derived.without_io if without_io else derived.costs
    verdicts, on_grid, communication = derived.ensures, derived.on_grid, derived.communication
    view = build_cost_view(derived, costs, at, more)
    needs = find_assumptions(*derived.executed)
    scheduled = any(cost.upper is not None and cost.metric.startswith("io(") for cost in more)
    return replace(
        view,
        assumptions=(*view.assumptions, parallel.SERIAL_ORDER_ASSUMPTION) if scheduled else view.assumptions,
        divides=any(getattr(need.node, "op", "") == "/" for need in needs if need.algorithm == derived.node.name),
        contracts=tuple(map(make_contract, verdicts)),
        serial=not has_parallelism(derived.module, derived.node),
        case=partial(_build_case_view, derived) if on_grid and at is None else view.case,
        replicated=None if communication is None else communication.replicating_run,
        communication=None if communication is None else communication_page.build_communication_view(derived, at),
        schedules=() if processors is None else derived.schedules(processors),
    )


def _build_case_view(derived: DerivedCosts) -> CostView | None:
    """Return the view for grids with several processors along every axis; None unless its forms are shorter."""
    general = derived.general
    if general is None:
        return None
    return replace(build_cost_view(general, general.costs), case_when=format_conjunction(derived.case.when))


def evaluate_bounds(cost: Cost, at: Point) -> ValueRange | None:
    """Return the bounds of a cost at a point, None if unknown. Raises EvaluationError if one has no rational value."""
    return ValueRange(*enclose_count(cost, at).ends) if cost.has_values else None
