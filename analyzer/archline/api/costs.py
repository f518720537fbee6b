"""Derived costs, as Python sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from archline.algebra.polynomial import Poly
from archline.analysis.analyse import derive_metric, derive_with_longest
from archline.analysis.cache.lru.client import SECONDS
from archline.analysis.cache.parallel import Schedule, io_on, schedules
from archline.analysis.cache.traffic import traffic_cost
from archline.analysis.checks.failures import assumed_facts
from archline.analysis.checks.runs import Failure
from archline.analysis.communication.derive import LONGEST
from archline.analysis.cost import Cost, Costs
from archline.analysis.metrics.relations import time_on
from archline.analysis.sampling import offsets_rules
from archline.api import rules
from archline.api.metrics import Metric, lru_view
from archline.api.settings import Given, Number, Point, SizeNames, checked_point, unplaced
from archline.claims.by_cases import GeneralCase, general_case, is_shorter
from archline.claims.decide import decide
from archline.claims.growth import Verdict
from archline.claims.growth_of_cost import growth
from archline.claims.optimality import Attained, attained
from archline.claims.published import Published, published
from archline.claims.small_sizes import printed_growth
from archline.execution.results import RunCounts
from archline.execution.run_rules import IMPOSSIBLE_DATA
from archline.expr.text import format_expression
from archline.ir.declarations import declared
from archline.language import model
from archline.language import syntax as s
from archline.language.call_graph import has_parallelism, recurses
from archline.language.diagnostics import ArchlineError, error
from archline.language.metrics import DERIVABLE, OF_CACHE
from archline.language.printer import format_fact
from archline.records import replace
from archline.report.communication import CommunicationView, ProblemBounds
from archline.report.cost_view import CostView, LruView, cost_view
from archline.report.costs.page import document, first_page
from archline.report.derivation import text
from archline.report.documents import Document, WithPage
from archline.report.paths import PathTable, steps_text

if TYPE_CHECKING:
    import sympy


class CostReport(WithPage):
    """The derived costs of an algorithm: `.flops`, `.work`, `.span`, or by name, `report["work"]`."""

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
        """`costs` and io know the facts of `where` but those `of_first_call`, which are no facts of a recursion.

        `needed` is what runs need and is not proved; `stopped` tells what stops all runs at sizes; `executed` is the
        algorithm under the facts of all calls, the same as `module` and `node` where there are no others.
        """
        self._module = module
        self._node = node
        self._executed = executed or (module, node)
        self._stopped = stopped
        texts = (*map(format_fact, of_first_call), *needed)
        self._derived = replace(costs, assumptions=(*costs.assumptions, *texts)) if texts else costs
        self._io = io
        self._communication = communication
        self._longest: Poly | None = None
        self._of_any_length: CostReport | None = None
        self._growths: dict[str, str | None] = {}
        self._failures: dict[tuple[tuple[str, int], ...], Failure | None] = {}
        self._requested: dict[str, CostReport] = {}

    @property
    def name(self) -> str:
        """The algorithm's name."""
        return self._node.name

    @cached_property
    def _costs(self) -> Costs:
        return replace(self._derived, metrics={**self._derived.metrics, "io": self._io()})

    @property
    def costs(self) -> Costs:
        """What the analysis returned."""
        return self._costs

    @property
    def on_grid(self) -> bool:
        """Whether the algorithm runs on the processors of a grid."""
        return bool(self._node.grid)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is derived: flops, work, span, io, and words, messages and memory on a grid."""
        return (*self._derived.metrics, "io")

    def including(self, metric: str) -> CostReport:
        """The same with a metric that is derived on request, and its derivation. KeyError for what is not derived."""
        if metric in self._derived.metrics or metric == "io":
            return self
        if metric not in DERIVABLE:
            raise KeyError(metric)
        if metric not in self._requested:
            if metric in OF_CACHE:
                found = {metric: traffic_cost(self._module, self._node, metric)}
                self._requested[metric] = self._with(found, self._communication, derivation=())
            else:
                costs = derive_metric(*self._executed, metric)
                self._requested[metric] = self._with(costs.metrics, self._communication, derivation=costs.derivation)
        return self._requested[metric]

    def _with(self, metrics: Mapping[str, Cost], communication: ProblemBounds | None, **others: Any) -> CostReport:
        """The same with other costs."""
        costs = replace(self._derived, metrics={**self._derived.metrics, **metrics}, **others)
        about = (self._module, self._node, costs, lambda: self._costs["io"])
        return CostReport(*about, communication=communication, stopped=self._stopped, executed=self._executed)

    @cached_property
    def case(self) -> GeneralCase:
        """Of an algorithm on a grid: the costs where every axis has several processors, if that has shorter forms.

        It takes as long as the derivation for all sizes, and is left out where that leaves costs unknown.
        """
        plain = self._everywhere
        if not self.on_grid or any(each.upper is None for each in self._derived):
            return plain
        found = general_case(self._module, self._node, self._derived, self._longest)
        return found if is_shorter(found, self._derived) else plain

    @property
    def _everywhere(self) -> GeneralCase:
        return GeneralCase(self._module, self._node, (), self._derived, self._longest)

    @cached_property
    def with_longest(self) -> CostReport:
        """Of an algorithm on a grid: the costs where a message has K words at most; w words are ceil(w/K) messages."""
        if not self.on_grid or self._longest is not None:
            return self
        found = derive_with_longest(*self._executed)
        messages = {name: found[name] for name in ("messages", "node_messages") if name in found.metrics}
        report = self._with(messages, None, parameters=found.parameters)
        report._longest = LONGEST
        report._of_any_length = self
        return report

    def path_table(self, at: Point | None = None, *, everywhere: bool = False) -> PathTable:
        """What each statement adds to the longest paths of an algorithm on a grid; at a point, its values there.

        `everywhere` gives forms for all sizes, else they may be for several processors along each axis.
        """
        if at is not None and "K" in at and self._longest is None:
            return self.with_longest.path_table(at, everywhere=everywhere)
        case = self._everywhere if everywhere or at is not None else self.case
        view = cost_view(self._node, replace(self._derived, metrics=case.costs.metrics), (), at)
        return PathTable(view, case.steps, " and ".join(case.when))

    @property
    def without_io(self) -> Costs:
        """The same without io, which takes longest."""
        return self._derived

    def write(self, value: Poly) -> str:
        """An expression in the language's syntax."""
        return self._costs.text(value)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The sizes and indices that costs may hold, in the order of the algorithm."""
        return self._costs.parameters

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the costs rest on, as text: facts, and what runs need that is not proved."""
        return self._derived.assumptions

    @property
    def needed(self) -> tuple[str, ...]:
        """Those that are no facts of the algorithm's `where`."""
        stated = set(map(format_fact, self.where))
        return tuple(each for each in self.assumptions if each not in stated)

    @property
    def where(self) -> tuple[s.Fact, ...]:
        """The facts of the algorithm's `where`."""
        return self._node.where

    @property
    def flops(self) -> Metric:
        """Operations on reals."""
        return self["flops"]

    @property
    def work(self) -> Metric:
        """All operations, iterations, tests and calls."""
        return self["work"]

    @property
    def span(self) -> Metric:
        """The longest path."""
        return self["span"]

    @property
    def io(self) -> Metric:
        """Lines fetched into an ideal cache of Z words in lines of L words."""
        return self["io"]

    @property
    def words(self) -> Metric:
        """Words along the longest path through the processors of a grid; between nodes, where there are two levels."""
        return self["words"]

    @property
    def messages(self) -> Metric:
        """Messages along the longest path, likewise."""
        return self["messages"]

    @property
    def memory(self) -> Metric:
        """The most words of local arrays that a processor of a grid has at once."""
        return self["memory"]

    def time(self, processors: int | str = "P") -> Metric:
        """The time on P processors, between max(span, work/P) and span + work/P (Brent's theorem).

        `processors` is a number, "P", or the name of a size. Raises ArchlineError (AL401, AL406) for others.
        """
        return Metric(self, self._time(processors))

    def io_on(self, processors: int | str = "P") -> Metric:
        """Lines fetched into the caches of P processors together, at most P times those of one.

        It holds where every processor keeps the serial order. Raises ArchlineError (AL401, AL406) as `time` does.
        """
        return Metric(self, self._io_on(processors))

    def _io_on(self, processors: int | str) -> Cost:
        self._check_processors(processors)
        return io_on(self._module, self._node, self._costs["io"], processors)

    def _check_processors(self, processors: int | str) -> None:
        if isinstance(processors, str) and processors != "P" and processors not in self.names.sizes:
            raise error(rules.UNKNOWN_SIZE, f"there is no size `{processors}`, nor is that P")
        if isinstance(processors, int) and processors < 1:
            raise error(rules.TOO_SMALL, f"P is {processors}; it is at least 1")

    def _time(self, processors: int | str) -> Cost:
        self._check_processors(processors)
        if isinstance(processors, str):
            return time_on(self._costs, Poly.symbol(processors), processors)
        return time_on(self._costs, Poly.constant(processors), str(processors))

    @property
    def flops_by_kind(self) -> dict[str, Metric]:
        """Flops of each kind (add, mul, sqrt, ...)."""
        return {kind: Metric(self, cost) for kind, cost in self._costs.flops_by_kind.items()}

    @cached_property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """The sympy symbols of the bounds, by name; sizes are positive (or nonnegative) integers."""
        from archline.algebra.sympy_bridge import symbols

        return symbols({name: self.names.least(name) for name in self.names.all})

    @cached_property
    def recursive(self) -> bool:
        """Whether the algorithm is recursive, or calls one that is."""
        return recurses(self._module, self._node)

    @cached_property
    def names(self) -> SizeNames:
        """What values are given for."""
        free: set[str] = set()
        for cost in (*self._costs, *self._costs.flops_by_kind.values()):
            free |= {name for value in (cost.lower, cost.upper) if value is not None for name in value.names}
        return SizeNames.of(self._module, self._node, free)

    @cached_property
    def ensures(self) -> tuple[Verdict, ...]:
        """Whether each `ensures` of the algorithm holds; those about messages are about messages of any length."""
        if self._of_any_length is not None:
            return self._of_any_length.ensures
        # io takes longest, and most algorithms ensure nothing of it.
        named = {each.metric for each in self._node.ensures if each.metric in DERIVABLE}
        costs = self._costs if "io" in named else self._derived
        more = {metric: self.including(metric)._derived[metric] for metric in sorted(named.difference(costs.metrics))}
        costs = replace(costs, metrics={**costs.metrics, **more}) if more else costs
        return decide(self._module, self._node, costs, facts=assumed_facts(*self._executed))

    def point(self, given: Given, needed: Iterable[str] | None = None, option: str = "") -> Point:
        """The values checked, as a run checks them. Raises ArchlineError (AL401 to AL407, AL526)."""
        point = checked_point(given, self.names, self.where, option=option, needed=needed)
        rules_of = offsets_rules(declared(self._module, self._node))
        broken = next((rule for rule in rules_of if not rule(point)), None)
        if broken is not None:
            span = next(each.span for each in self._node.parameters if each.name == broken.array)
            facts = {rule: f"{self.write(rule.low)} <= {self.write(rule.high)}" for rule in rules_of}
            message = f"there is no `{broken.array}` of these sizes: `{facts[broken]}` does not hold"
            hint = "its sizes have " + " and ".join(facts[rule] for rule in rules_of if rule.array == broken.array)
            raise error(IMPOSSIBLE_DATA, message, span=span, hint=hint)
        return point

    def point_of_run(self, given: Given, needed: Iterable[str] | None = None, option: str = "") -> Point:
        """The values checked, at which some run may end: others have no cost. Raises ArchlineError, as that does."""
        point = self.point(given, needed, option)
        self.require_runs(point)
        return point

    def require_runs(self, point: Mapping[str, Number]) -> None:
        """Raises ArchlineError where no run at a point ends."""
        whole = {name: int(value) for name, value in point.items() if value == int(value)}
        # Each metric of an energy asks at the same points.
        key = tuple(sorted(whole.items()))
        if key not in self._failures:
            self._failures[key] = self._stopped(whole)
        failure = self._failures[key]
        if failure is not None:
            raise ArchlineError([failure.diagnostic])

    def growth(self, cost: Cost) -> str | None:
        """How a cost grows, as its metric's `growth` has it."""
        if cost.metric not in self._growths:
            costs = self._costs if cost.metric == "io" else self._derived
            self._growths[cost.metric] = printed_growth(self._module, self._node, costs, cost)
        return self._growths[cost.metric]

    @cached_property
    def attained(self) -> Attained | None:
        """How near io is to the least that any order of the same iterations fetches; None where it is unknown."""
        return attained(self._module, self._node, self._costs, self._costs["io"])

    @cached_property
    def published(self) -> Published | None:
        """Published lower bounds on io beside ours, for algorithms of the library that are kernels of PolyBench."""
        return published(self._module, self._node, self._costs, self._costs["io"])

    def _near(self, cost: Cost) -> tuple[Attained | None, Published | None]:
        return (self.attained, self.published) if cost.metric == "io" else (None, None)

    def view(self, at: Point | None = None, processors: int | str | None = None, without_io: bool = False) -> CostView:
        """What the reports show, at a point; the time and io on so many processors too, where some are given."""
        if at is not None and "K" in at and self.on_grid and self._longest is None:
            return self.with_longest.view(at, processors, without_io)
        more = () if processors is None else (self._time(processors), self._io_on(processors))
        costs = self._derived if without_io else self._costs
        view = cost_view(self._node, costs, self.ensures, at, self.growth, self._near, more)
        view = replace(view, serial=not has_parallelism(self._module, self._node))
        if self.on_grid and at is None:
            view = replace(view, case=lambda: self._case_view)
        if self._communication is not None:
            view = replace(view, replicated=self._communication.replicated, communication=self._lower_bounds(at))
        return view if processors is None else replace(view, schedules=self._schedules(processors))

    def counted_against(
        self, at: Mapping[str, Number], counts: RunCounts, replicated: bool
    ) -> CommunicationView | None:
        """The lower bounds for the memory of a run, compared with its counts; None where there are none."""
        if self._communication is None or counts.words is None:
            return None
        return self._communication.counted(at, counts, replicated)

    @property
    def communication(self) -> ProblemBounds | None:
        """Lower bounds for the communication of an algorithm on a grid; None for others."""
        return self._communication

    @property
    def replicated(self) -> Mapping[str, int] | None:
        """The sizes of a small run in which several processors of a grid read one element of the input.

        None where no run of up to COST_GRID processors shows that; then lower bounds on communication take one copy of
        the input for granted.
        """
        return None if self._communication is None else self._communication.replicated

    def lower_bounds(self, sizes: Mapping[str, Number] | None = None, /, **named: Number) -> CommunicationView | None:
        """The lower bounds on words and messages for the problem that an algorithm on a grid solves.

        With sizes they have values. None where the problem is not known (`problem` of `cost` names it); no bounds in it
        where the input is replicated. Raises ArchlineError (AL401 to AL407) for wrong or missing sizes.
        """
        given = {**(sizes or {}), **named}
        return self._lower_bounds(self.point_of_run(unplaced(given), self.names.sizes) if given else None)

    def _lower_bounds(self, at: Point | None) -> CommunicationView | None:
        return None if self._communication is None else self._communication.view(self._derived, at)

    @cached_property
    def _case_view(self) -> CostView | None:
        case = self.case
        if not case.when:
            return None
        costs = replace(case.costs, metrics={**case.costs.metrics, "io": self._costs["io"]})
        view = cost_view(self._node, costs, growth=lambda cost: printed_growth(case.module, case.node, costs, cost))
        return replace(view, case_when=case.when)

    def _schedules(self, processors: int | str) -> tuple[Schedule, ...]:
        span = growth(self._module, self._node, self._costs, self._costs["span"]).upper
        text = "span" if span is None else format_expression(span)
        return schedules(self._module, self._node, self._costs["io"], processors, text)

    def lru(self, line: int, at: Point | None = None, seconds: float = SECONDS) -> LruView:
        """Exact counts of LRU misses in lines of so many words: in sizes, or at a point, where Z bounds io too.

        Needs the extra `isl`. Counting that takes longer is given up. Raises ArchlineError (AL411, AL417).
        """
        return lru_view(self._module, self._node, line, at, seconds)

    def explain(self, metric: str = "work", width: int = 100) -> str:
        """The derivation of a metric, step by step; on a grid what each statement adds to the longest path."""
        if self.on_grid:
            return steps_text(self.path_table(), (metric,), width)

        return text(self.including(metric).view(), metric, width)

    def __getitem__(self, metric: str) -> Metric:
        report = self.including(metric)
        return Metric(report, report._costs[metric])

    def __iter__(self) -> Iterator[Metric]:
        return (Metric(self, cost) for cost in self._costs)

    def __repr__(self) -> str:
        return f"<costs of {self.name}: {', '.join(f'{each.name} {each.text}' for each in self)}>"

    def __str__(self) -> str:
        return first_page(self.view(), 100)

    @property
    def page(self) -> Document:
        """What notebooks show."""
        return document(self.view())
