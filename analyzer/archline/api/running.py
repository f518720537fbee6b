"""Run an algorithm on data, and compare its counts with the derived bounds."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from archline.analysis.cache.parallel import derive_parallel_io_cost
from archline.analysis.cost import Cost
from archline.api.costs import CostReport
from archline.energy import running
from archline.energy.running import ExecutedRun
from archline.execution.cache import WorkStealing
from archline.expr.intervals import EvaluationError, Number, Point
from archline.language.metrics import BYTES_PER_WORD, EXECUTED, OF_CACHE
from archline.records import record, replace
from archline.report import runs
from archline.report.communication import CommunicationView, build_run_bounds
from archline.report.cost_view import evaluate_bounds
from archline.report.documents import Document, WithPage
from archline.report.paths import ExecutedPath
from archline.report.view import CheckedCounts as CountsView
from archline.report.view import RunView, ValueRange

if TYPE_CHECKING:
    from numpy.typing import NDArray


@record(eq=False)
class Run(ExecutedRun, WithPage):
    """The outputs and counts of a run; `str()` shows the counts with the derived bounds."""

    @property
    def outputs(self) -> Mapping[str, NDArray[Any]]:
        """The `out` and `inout` arrays after the run, by parameter."""
        return self.execution.outputs

    @property
    def value(self) -> int | float | None:
        """The value that the algorithm returned; None if it returns none."""
        return self.execution.value

    @cached_property
    def costs(self) -> CostReport:
        """The derived costs that the counts are compared with."""
        report = self._report if self._report is not None else self.algorithm.report()
        assert isinstance(report, CostReport)
        return report

    @property
    def time(self) -> Fraction | None:
        """The seconds on the given machine, along the critical path; None if no machine was given."""
        return None if self.counts.time is None else self.counts.time[0]

    @property
    def path(self) -> ExecutedPath | None:
        """The critical path through the processors, step by step; None unless it was requested."""
        metric = self.settings.path
        return None if metric is None else ExecutedPath(metric, self.execution.path)

    @property
    def outside(self) -> tuple[str, ...]:
        """The metrics whose counts are outside their derived bounds, which is a defect of archline."""
        return self.view.counts.outside

    @property
    def lower_bounds(self) -> CommunicationView | None:
        """The lower bounds on communication for the memory that the run had; None if the problem is unknown."""
        return build_run_bounds(self.costs, self.at, self.counts, self.execution.replicated)

    @property
    def replicated(self) -> bool:
        """Whether several processors of a grid read one element of a global array."""
        return self.execution.replicated

    @cached_property
    def view(self) -> RunView:
        """The counts, derived bounds and notes of the run that reports show."""
        point, processors = dict(self.at), self.settings.processors
        of_cache = {} if self.cache is None else {"Z": self.cache.Z, "L": self.cache.L}
        costs = self.costs.with_longest if "K" in point else self.costs
        metrics, unchecked = dict(costs.costs.metrics), dict[str, str]()
        serial = self.cache is not None and self._reason_not_derived is None and processors is None
        requested = () if costs.on_grid else ("accesses", *(("writebacks", "bytes") if serial else ()))
        metrics |= {metric: costs.including(metric).without_io[metric] for metric in requested}
        if self.cache is None:
            del metrics["io"]
        elif (reason := self._reason_not_derived) is not None:
            unchecked["io"] = reason
            del metrics["io"]
        elif processors is not None:
            several = derive_parallel_io_cost(
                self.algorithm.module, self.algorithm.node, metrics["io"], processors.count
            )
            # The bound holds under assumptions on the schedule, which this one satisfies.
            metrics["io"] = several if several.upper is None else replace(several, status="bounded")
        derived, unknown = evaluate_costs(metrics, {**point, **of_cache})
        unchecked |= unknown
        if derived.keys() >= {"io", "writebacks", "bytes"}:
            # The replacement with the fewest misses may move more bytes than another one.
            lines = derived["io"].upper + derived["writebacks"].upper
            derived["bytes"] = replace(derived["bytes"], upper=lines * of_cache["L"] * BYTES_PER_WORD)
            metrics["bytes"] = replace(metrics["bytes"], status="bounded")
        derived_kinds, _ = evaluate_costs(self.costs.costs.flops_by_kind, point)
        if "flops" in derived:
            # A kind that is missing on one side counts 0 there.
            derived_kinds = {kind: ValueRange(0, 0) for kind in self.counts.flops_by_kind} | derived_kinds
        kinds = {kind: self.counts.flops_by_kind.get(kind, 0) for kind in (*self.counts.flops_by_kind, *derived_kinds)}
        statuses = {metric: metrics[metric].status for metric in derived}
        for level, (cache, _) in self.levels.items():
            if "io" in metrics:
                # For the bytes of a run only the minimum over all replacement policies is known.
                extra, why = evaluate_costs({f"{level}_io": metrics["io"]}, {**point, "Z": cache.Z, "L": cache.L})
                derived, unchecked = derived | extra, unchecked | why
                statuses |= dict.fromkeys(extra, metrics["io"].status)
        counts = CountsView(
            self._collect_counts(), derived, statuses, kinds, derived_kinds, self.counts.own, self.counts.total
        )
        return RunView(self, counts, self.data + self._word_size_note, unchecked, self.lower_bounds, self.path)

    @property
    def _word_size_note(self) -> str:
        """A remark if the machine's words have another size than the 8 B that `bytes` assumes."""
        machine = self.settings.machine
        word = 8 if machine is None or self.cache is None else machine.values.get("word", 8)
        return "" if word == 8 else f"; byte counts assume words of 8 B, but the machine's words have {word} B"

    @property
    def _reason_not_derived(self) -> str | None:
        """The reason why the derived io does not apply to this run; None if it does."""
        if self.cache is not None and self.cache.policy != "optimal":
            return "the derived bounds assume optimal replacement"
        if self.settings.processors is not None and isinstance(self.settings.processors.schedule, WorkStealing):
            return "the derived bounds assume schedules that keep the serial order on each processor"
        return None

    def _collect_counts(self) -> dict[str, Number]:
        counted = {metric: getattr(self.counts, metric) for metric in EXECUTED}
        if self.private is not None:
            assert self.cache is not None
            counts = self.counts.with_cache(self.private.io, self.private.writebacks, self.cache.L)
            counted |= {metric: getattr(counts, metric) for metric in OF_CACHE}
        for level, (_, counts) in self.levels.items():
            counted |= {f"{level}_io": counts.io, f"{level}_bytes": counts.bytes}
        counted |= {metric: count for metric, count in self.counts.communication.items() if self._has_metric(metric)}
        return {metric: count for metric, count in counted.items() if count is not None}

    def _has_metric(self, metric: str) -> bool:
        """Test whether a communication metric applies: metrics between nodes need a grid with an axis inside nodes."""
        return not metric.startswith("node_") or any(axis.within is not None for axis in self.algorithm.node.grid)

    def __str__(self) -> str:
        return runs.render_run(self.view, 100)

    @property
    def page(self) -> Document:
        """The page that notebooks show."""
        return runs.make_page(self.view)


run, run_at = partial(running.run_on_arguments, Run), partial(running.run_at_sizes, Run)
"""Functions that run an algorithm on arguments, and on data that is generated for sizes."""


def evaluate_costs(costs: Mapping[str, Cost], point: Point) -> tuple[dict[str, ValueRange], dict[str, str]]:
    """Evaluate costs at a point; also return the reasons why some have no value."""
    derived: dict[str, ValueRange] = {}
    unchecked: dict[str, str] = {}
    for name, cost in costs.items():
        try:
            values = evaluate_bounds(cost, point)
        except EvaluationError as problem:
            unchecked[name] = str(problem)
            continue
        if values is None:
            unchecked[name] = cost.reason or "the cost is unknown"
        else:
            derived[name] = values
    return derived, unchecked
