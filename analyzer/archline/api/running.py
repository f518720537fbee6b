"""Runs: an algorithm on data, its counts compared with what was derived for them."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from archline.analysis.cache.parallel import io_on
from archline.analysis.cost import Cost
from archline.api.caches import Settings, cache_at, cache_of
from archline.api.costs import CostReport
from archline.costs import rules
from archline.costs.sizes import Given, broken_facts
from archline.energy.estimates import ModelOnMachine
from archline.energy.formulas import parsed, value_of
from archline.energy.machines import Machine
from archline.energy.models import model
from archline.execution.cache import (
    Chunked,
    Policy,
    PrivateCaches,
    Schedule,
    StaticSchedule,
    WorkStealing,
    lru,
    optimal,
    private_caches,
)
from archline.execution.data import bind_matrix, generate
from archline.execution.matrix_market import read_matrix
from archline.execution.paths import METRICS
from archline.execution.results import Cache, RunCounts
from archline.execution.results import Run as Execution
from archline.execution.run import execute
from archline.expr.intervals import EvaluationError
from archline.language import syntax as s
from archline.language.diagnostics import ArchlineError, error
from archline.language.metrics import EXECUTED, OF_CACHE
from archline.records import field, record, replace
from archline.report import runs
from archline.report.communication import CommunicationView, counted_view
from archline.report.cost_view import values_at
from archline.report.documents import Document, WithPage
from archline.report.paths import ExecutedPath
from archline.report.view import CacheView, MatrixView, Number, Point, RunView, ValueRange
from archline.report.view import CheckedCounts as CountsView

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from archline.api.algorithms import Algorithm

MAX_PROCESSORS = 65536
USUAL = Settings(chosen_cache=True)
"""The default settings of a run: compiled where that is faster, on simulated processors."""


@record
class Processors:
    """P processors with a cache of their own each, under a schedule."""

    count: int
    schedule: Schedule
    described: str


@record(eq=False)
class Run(WithPage):
    """What a run returned and counted. `str()` of it shows the counts between the derived bounds."""

    algorithm: Algorithm
    execution: Execution
    given: Mapping[str, Number]
    cache: Cache | None
    settings: Settings
    data: str
    matrix: MatrixView | None
    private: PrivateCaches | None
    levels: Mapping[str, tuple[Cache, RunCounts]]
    """What each level of the machine's caches counts, by itself."""
    _report: CostReport | None = field(repr=False)

    @property
    def counts(self) -> RunCounts:
        """Flops, work, span, accesses, io, writebacks, memory; io is None without a cache."""
        return self.execution.counts

    @property
    def outputs(self) -> Mapping[str, NDArray[Any]]:
        """The `out` and `inout` arrays after the run, by parameter."""
        return self.execution.outputs

    @property
    def value(self) -> int | float | None:
        """What the algorithm returned."""
        return self.execution.value

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes of the run."""
        return self.execution.sizes

    @property
    def at(self) -> Mapping[str, Number]:
        """The sizes, and the values of the machine's symbols that were given."""
        return {**self.sizes, **self.given}

    @cached_property
    def costs(self) -> CostReport:
        """The derived costs that the counts are compared with."""
        return self._report if self._report is not None else self.algorithm.report()

    @property
    def time(self) -> Fraction | None:
        """Seconds on the machine that was given, along the path that takes longest; None where none was."""
        return None if self.counts.time is None else self.counts.time[0]

    @property
    def path(self) -> ExecutedPath | None:
        """The longest path through the processors, piece by piece; None where it was not asked for."""
        metric = self.settings.path
        return None if metric is None else ExecutedPath(metric, self.execution.path)

    @property
    def outside(self) -> tuple[str, ...]:
        """The metrics counted outside their derived bounds; a defect of archline where there is one."""
        return self.view.counts.outside

    @property
    def lower_bounds(self) -> CommunicationView | None:
        """The lower bounds on communication for the memory that the run had; None where the problem is not known."""
        return counted_view(self.costs, self.at, self.counts, self.execution.replicated)

    @property
    def replicated(self) -> bool:
        """Whether several processors of a grid read one element of a global array."""
        return self.execution.replicated

    @cached_property
    def view(self) -> RunView:
        """What the reports show."""
        point, machine, processors = dict(self.at), self.settings.machine, self.settings.processors
        of_cache = {} if self.cache is None else {"Z": self.cache.Z, "L": self.cache.L}
        costs = self.costs.with_longest if "K" in point else self.costs
        metrics, unchecked = dict(costs.costs.metrics), dict[str, str]()
        if self.cache is None:
            del metrics["io"]
        elif (reason := self._not_derived) is not None:
            unchecked["io"] = reason
            del metrics["io"]
        elif processors is not None:
            several = io_on(self.algorithm.module, self.algorithm.node, metrics["io"], processors.count)
            # The schedule is one for which the bound is declared to hold.
            metrics["io"] = several if several.upper is None else replace(several, status="bounded")
        derived, unknown = derived_at(metrics, {**point, **of_cache})
        unchecked |= unknown
        derived_kinds, _ = derived_at(self.costs.costs.flops_by_kind, point)
        if "flops" in derived:
            # A kind that only the one side knows counts nothing on the other.
            derived_kinds = {kind: ValueRange(0, 0) for kind in self.counts.flops_by_kind} | derived_kinds
        kinds = {kind: self.counts.flops_by_kind.get(kind, 0) for kind in (*self.counts.flops_by_kind, *derived_kinds)}
        statuses = {metric: metrics[metric].status for metric in derived}
        for level, (cache, _) in self.levels.items():
            if "io" in metrics:
                # Of the bytes of a run only the least that any replacement moves is known.
                found, why = derived_at({f"{level}_io": metrics["io"]}, {**point, "Z": cache.Z, "L": cache.L})
                derived, unchecked = derived | found, unchecked | why
                statuses |= dict.fromkeys(found, metrics["io"].status)
        return RunView(
            algorithm=self.algorithm.name,
            at=point,
            counts=CountsView(
                self._executed(), derived, statuses, kinds, derived_kinds, self.counts.own, self.counts.total
            ),
            cache=self._cache_view(),
            matrix=self.matrix,
            data=self.data + self._other_words,
            unchecked=unchecked,
            path=self.path,
            timed=None if self.counts.time is None or machine is None else (machine.name, *self.counts.time),
            communication=self.lower_bounds,
            replicated=self.execution.replicated,
            processor_io=() if self.private is None else tuple(each.io for each in self.private.caches),
        )

    @property
    def _other_words(self) -> str:
        """A remark where the words of the machine are not those that `bytes` are of."""
        machine = self.settings.machine
        word = 8 if machine is None or self.cache is None else machine.values.get("word", 8)
        return "" if word == 8 else f"; bytes are of words of 8 B, and those of the machine have {word} B"

    @property
    def _not_derived(self) -> str | None:
        """Why the io of this run is not what is derived; None where it is."""
        if self.cache is not None and self.cache.policy != "optimal":
            return "what is derived is of optimal replacement"
        if self.settings.processors is not None and isinstance(self.settings.processors.schedule, WorkStealing):
            return "what is derived is of schedules that keep the serial order on each processor"
        return None

    def _executed(self) -> dict[str, Number]:
        counted = {metric: getattr(self.counts, metric) for metric in EXECUTED}
        if self.private is not None:
            assert self.cache is not None
            counts = self.counts.with_cache(self.private.io, self.private.writebacks, self.cache.L)
            counted |= {metric: getattr(counts, metric) for metric in OF_CACHE}
        for level, (_, counts) in self.levels.items():
            counted |= {f"{level}_io": counts.io, f"{level}_bytes": counts.bytes}
        counted |= {metric: count for metric, count in self.counts.communication.items() if self._moves(metric)}
        return {metric: count for metric, count in counted.items() if count is not None}

    def _moves(self, metric: str) -> bool:
        """Whether a metric of communication can count anything: within nodes only where an axis is."""
        return not metric.startswith("node_") or any(axis.within is not None for axis in self.algorithm.node.grid)

    def _cache_view(self) -> CacheView | None:
        if self.cache is None:
            return None
        levels = tuple((name, each.Z, each.L) for name, (each, _) in self.levels.items())
        chosen, own = self.settings.chosen_cache, self.settings.processors
        count, described = (1, None) if own is None else (own.count, own.described)
        return CacheView(self.cache.Z, self.cache.L, self.cache.policy, chosen, count, described, levels)

    def __str__(self) -> str:
        return runs.run(self.view, 100)

    @property
    def page(self) -> Document:
        """What notebooks show."""
        return runs.document(self.view)


def derived_at(costs: Mapping[str, Cost], point: Point) -> tuple[dict[str, ValueRange], dict[str, str]]:
    """The derived values at a point; and for those without one, why."""
    derived: dict[str, ValueRange] = {}
    unchecked: dict[str, str] = {}
    for name, cost in costs.items():
        try:
            values = values_at(cost, point)
        except EvaluationError as problem:
            unchecked[name] = str(problem)
            continue
        if values is None:
            unchecked[name] = cost.reason or "the cost is unknown"
        else:
            derived[name] = values
    return derived, unchecked


def run_at(algorithm: Algorithm, at: Given, cache: Cache | None, settings: Settings = USUAL) -> Run:
    """Run on data generated for sizes; a sparse kernel on a matrix, where `at` gives the sizes the matrix does not.

    Raises ArchlineError: AL401 to AL407 for wrong sizes, AL420 to AL434 for what is no matrix, and as a run does.
    """
    report, file, seed = algorithm.report(), settings.matrix, settings.seed
    point = report.point(at, () if file is not None else report.names.for_a_run, settings.option)
    # On a grid there is no cache unless it is asked for.
    cache = None if algorithm.node.grid and not settings.chosen_cache else cache
    cache, chosen = cache_at(point, cache, settings.chosen_cache)
    sizes, symbols = split(algorithm, point)
    view = None
    if file is None:
        what, arguments = "data was", generate(*algorithm.executed, sizes, seed)
    else:
        matrix, block = read_matrix(file), settings.block
        view = MatrixView(str(file), matrix.n, matrix.m, matrix.nz, matrix.nr, matrix.nc, block)
        what, arguments = "vectors were", bind_matrix(*algorithm.executed, matrix, sizes, block=block, seed=seed)
    settings, data = replace(settings, chosen_cache=chosen), f"the {what} generated (seed {seed})"
    return run(algorithm, {**arguments, **symbols}, cache, settings, data, view, report)


def split(algorithm: Algorithm, point: Point) -> tuple[dict[str, int], Point]:
    """Sizes and indices of the algorithm, P on a grid; symbols of cost and of the machine."""
    own = {*algorithm.sizes, *algorithm.signature.indices, *(["P"] if algorithm.node.grid else [])}
    sizes = {name: int(value) for name, value in point.items() if name in own}
    return sizes, {name: value for name, value in point.items() if name not in own}


def run(
    algorithm: Algorithm,
    arguments: Mapping[str, Any],
    cache: Cache | None = None,
    settings: Settings = USUAL,
    data: str = "the data was given",
    matrix: MatrixView | None = None,
    report: CostReport | None = None,
) -> Run:
    """Run on arguments by parameter name; `data` says where these are from. Raises ArchlineError.

    On private caches, of processors, a cache must be given.
    """
    module, node = algorithm.executed
    processors, machine, levels, compiled = settings.processors, settings.machine, settings.levels, settings.compiled
    if node.grid and processors is not None:
        names = sorted(set().union(*(s.names(axis.extent) for axis in node.grid)))
        sizes = "P=8" if "P" in names else ",".join(f"{name}=..." for name in names)
        hint = f"give them among the sizes: `--at {sizes}`"
        raise error(rules.WRONG_SCHEDULE, f"the grid of `{node.name}` says how many processors it has", hint=hint)
    events = processors is not None
    # On one processor a machine says which caches are counted; the paths through several take its times.
    priced = machine is not None and (bool(node.grid) or cache_of(machine) is None)
    execution = execute(module, node, arguments, cache=None if events else cache, line=_line(cache), events=events,
                        compiled=compiled, engine=settings.engine, timeout=settings.timeout, trace=bool(levels),
                        prices=_prices(node, machine) if machine and priced else (), path=settings.path)  # fmt: skip
    broken = broken_facts(execution.sizes, algorithm.of_first_call)
    if broken:
        raise ArchlineError(broken)
    private = None
    if processors is not None and cache is not None:
        private = _private(execution, processors, cache)
    parameters = set(algorithm.parameters)
    given = {name: value for name, value in arguments.items() if name not in parameters}
    counted: dict[str, tuple[Cache, RunCounts]] = {}
    traces = {_line(cache): execution.trace}
    for name, each in levels:
        if each.L not in traces:
            again = execute(module, node, arguments, line=each.L, trace=True, races=False, compiled=compiled)
            traces[each.L] = again.trace
        trace = traces[each.L]
        assert trace is not None
        seen = (optimal if each.policy == "optimal" else lru)(trace.lines, each.lines, trace.writes)
        counted[name] = each, execution.counts.with_cache(seen.io, seen.writebacks, each.L)
    return Run(algorithm, execution, given, cache, settings, data, matrix, private, counted, report)


def _prices(algorithm: s.Algorithm, machine: Machine) -> tuple[Fraction, ...]:
    """The seconds of a unit of each metric of paths. Raises ArchlineError (AL411, AL458)."""
    if not algorithm.grid:
        message = f"machine `{machine.name}` has no cache to count: its size or its line is missing"
        raise error(rules.OPTIONS_CLASH, message, hint="give --parameter line=64, or --cache in place of --machine")
    on = ModelOnMachine(model("two_level"), machine, (*METRICS, "memory", "P", "nodes"))
    on.quantity("time")
    prices = {"flops": "gamma_t", "words": "beta_t", "messages": "alpha_t"}
    prices |= {"node_words": "node_beta_t", "node_messages": "node_alpha_t"}
    found = {name: value_of(on.complete(parsed(text)), on.constants).lower for name, text in prices.items()}
    return tuple(found.get(name, Fraction(0)) for name in METRICS)


def _line(cache: Cache | None) -> int:
    return 1 if cache is None else cache.L


def _private(execution: Execution, processors: Processors, cache: Cache) -> PrivateCaches:
    trace, events = execution.trace, execution.events
    assert trace is not None
    assert events is not None
    policy: Policy = "lru" if cache.policy == "lru" else "optimal"
    return private_caches(trace.lines, events, processors.schedule, processors.count, cache.lines, policy, trace.writes)


def read_schedule(text: str, count: int, seed: int) -> Processors:
    """`static`, `chunked:C`, `stealing` or `stealing:SEED`. Raises ArchlineError (AL409)."""
    kind, separator, number = text.partition(":")
    if not 1 <= count <= MAX_PROCESSORS:
        raise error(rules.WRONG_SCHEDULE, f"an execution takes 1 to {MAX_PROCESSORS} processors, not {count}")
    if separator and not (number.isascii() and number.isdigit() and len(number) < 19):
        raise error(rules.WRONG_SCHEDULE, f"`{text}`: behind the colon stands a whole number")
    match kind:
        case "static" if not separator:
            return Processors(count, StaticSchedule(), "static")
        case "chunked" if separator and int(number) >= 1:
            return Processors(count, Chunked(int(number)), f"chunked ({number} iterations)")
        case "stealing":
            chosen = int(number) if separator else seed
            return Processors(count, WorkStealing(chosen), f"work-stealing (seed {chosen})")
        case _:
            pass
    hint = "schedules are `static`, `chunked:C` with C >= 1, `stealing` and `stealing:SEED`"
    raise error(rules.WRONG_SCHEDULE, f"there is no schedule `{text}`", hint=hint)
