"""Represent derived costs in Python: a `CostReport` has a `Metric` for each cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from archline.analysis.cache.lru import MAX_SECONDS
from archline.api import metrics
from archline.costs import sizes as given_sizes
from archline.costs.derived import DerivedCosts
from archline.expr.text import format_fact
from archline.records import replace
from archline.report import communication, paths
from archline.report.cost_view import CostView, LruView, build_cost_view, build_page_view
from archline.report.costs.page import make_page, render_first_page
from archline.report.derivation import render_derivation
from archline.report.documents import Document, WithPage

if TYPE_CHECKING:
    import sympy

    from archline.api.metrics import Metric
    from archline.costs.sizes import Point
    from archline.expr.intervals import Number
    from archline.report.communication import CommunicationView
    from archline.report.paths import PathTable


class CostReport(DerivedCosts, WithPage):
    """The derived costs of an algorithm: `.flops`, `.work`, `.span`, or by name, `report["work"]`."""

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
        """The operations on the longest chain of dependences."""
        return self["span"]

    @property
    def io(self) -> Metric:
        """Lines fetched into an ideal cache of Z words in lines of L words."""
        return self["io"]

    @property
    def words(self) -> Metric:
        """Words along the critical path through the processors of a grid; those between nodes if there are nodes."""
        return self["words"]

    @property
    def messages(self) -> Metric:
        """Messages along the critical path; those between nodes if there are nodes."""
        return self["messages"]

    @property
    def memory(self) -> Metric:
        """The maximum number of words of local arrays that a processor of a grid has at a time."""
        return self["memory"]

    def time(self, processors: int | str = "P") -> Metric:
        """Return the time on P processors, between max(span, work/P) and span + work/P (Brent's theorem).

        `processors` is a number, "P", or the name of a size. Raises ArchlineError (AL401, AL406) for others.
        """
        return metrics.Metric(self, self.time_on(processors))

    def io_on(self, processors: int | str = "P") -> Metric:
        """Return the lines fetched into the caches of P processors together, at most P times the lines of one.

        The bound holds if every processor keeps the serial order. Raises ArchlineError (AL401, AL406) as `time` does.
        """
        return metrics.Metric(self, self.misses_on(processors))

    @property
    def flops_by_kind(self) -> dict[str, Metric]:
        """Flops of each kind (add, mul, sqrt, ...)."""
        return {kind: metrics.Metric(self, cost) for kind, cost in self.without_io.flops_by_kind.items()}

    @cached_property
    def symbols(self) -> dict[str, sympy.Symbol]:
        """The sympy symbols of the bounds, by name; sizes are positive (or nonnegative) integers."""
        from archline.algebra.sympy_bridge import make_symbols

        return make_symbols({name: self.names.get_minimum(name) for name in self.names.all})

    def path_table(self, at: Point | None = None, *, everywhere: bool = False) -> PathTable:
        """Return the cost of each statement on the critical paths of an algorithm on a grid, at a point as numbers.

        With `everywhere` the forms hold for all sizes, else possibly only for several processors along each axis.
        """
        if at is not None and "K" in at and self.longest is None:
            return self.with_longest.path_table(at, everywhere=everywhere)
        case = self.everywhere if everywhere or at is not None else self.case
        costs = replace(self.without_io, metrics=case.costs.metrics)
        return paths.PathTable(build_cost_view(self, costs, at), case.steps, " and ".join(map(format_fact, case.when)))

    def view(self, at: Point | None = None, processors: int | str | None = None, without_io: bool = False) -> CostView:
        """Return the data of the reports on these costs, at a point, with the time and io on `processors` if given.

        With `without_io` the costs lack io.
        """
        return build_page_view(self, at, processors, without_io)

    def lower_bounds(
        self, sizes: Mapping[str, Number] | str | None = None, /, **named: Number
    ) -> CommunicationView | None:
        """Return the lower bounds on words and messages for the problem that an algorithm on a grid solves.

        With sizes they have values. None if the problem is not known (`cost(problem=...)` names it); the bounds are
        missing if the input is replicated. Raises ArchlineError (AL401 to AL407) for wrong or missing sizes.
        """
        point = given_sizes.merge_sizes(sizes, named)
        return communication.build_communication_view(
            self, self.point_of_run(point, (*self.names.sizes, *self.names.counted_iterations)) if point else None
        )

    def lru(self, line: int, at: Point | None = None, seconds: float = MAX_SECONDS) -> LruView:
        """Count LRU misses exactly, for lines of `line` words: as formulas, or at a point; with Z it bounds io too.

        Needs the extra `isl`. After `seconds` counting stops without a result. Raises ArchlineError (AL411, AL417).
        """
        return metrics.build_lru_view(self.module, self.node, line, at, seconds)

    def explain(self, metric: str = "work", width: int = 100) -> str:
        """Explain the derivation of a metric, step by step; on a grid by the statements on the critical path."""
        if self.on_grid:
            return paths.format_path_tables(self.path_table(), (metric,), width)

        return render_derivation(self.including(metric).view(), metric, width)

    def __getitem__(self, metric: str) -> Metric:
        report = self.including(metric)
        costs = report.costs if metric == "io" else report.without_io
        return metrics.Metric(report, costs[metric])

    def __iter__(self) -> Iterator[Metric]:
        return (metrics.Metric(self, cost) for cost in self.costs)

    def __repr__(self) -> str:
        return f"<costs of {self.name}: {', '.join(f'{metric.name} {metric.text}' for metric in self)}>"

    def __str__(self) -> str:
        return render_first_page(self.view(), 100)

    @property
    def page(self) -> Document:
        """The page that notebooks show."""
        return make_page(self.view())
