"""Make the data of an algorithm in a report: formulas of its costs, values where these are sharper, and its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from archline.algebra.evaluate.exact import evaluate
from archline.algebra.polynomial import ZERO, Poly
from archline.analysis.bounds import Region
from archline.analysis.cost import Cost, enclose_count, evaluate_formulas
from archline.analysis.metrics.lines import EXECUTIONS
from archline.costs.derived import DerivedCosts
from archline.costs.sizes import Point
from archline.expr.data import to_data
from archline.expr.intervals import EvaluationError, Interval, Number
from archline.language.diagnostics import ArchlineError
from archline.language.metrics import METRICS
from archline.report.cost_view import CostRow, CostView
from archline.report.costs.full import list_kept
from archline.report.derivation import iterate_optimality_rows
from archline.report.json import pick, to_json_value
from archline.report.view import SourcePlace

MAX_SCALE = 5
"""The number of points at which all sizes grow together."""
MAX_ROUNDING = 1e-12
"""Where forms are this much larger than values at sizes, or more, a page shows the values."""
CACHES = tuple(2**exponent for exponent in range(7, 23, 2))
LINES = (8,)
"""The Z and L of values of io at sizes."""
ENDS = ("lower", "upper")
LINE_METRICS = (EXECUTIONS.name, "flops", "work")


class TargetData:
    """Makes the data of one algorithm; `scale` are points at which all of its sizes grow together.

    `moved` are the bytes that are fetched and written back, for pages with machines.
    """

    def __init__(self, report: DerivedCosts, view: CostView, scale: Sequence[Point], moved: CostRow | None) -> None:
        self.report, self.view, self.scale, self.moved = report, view, scale, moved

    def build(self) -> dict[str, Any]:
        report, view = self.report, self.view
        io = next((row for row in view.rows if row.metric == "io"), None)
        return {
            **pick(view, "name=algorithm", "summary=doc", "grid=on_grid", "assumptions"),
            "place": str(SourcePlace.of(report.node.name_span)),
            "sizes": list(view.parameters),
            "where": [
                *map(to_data, report.where),
                *([[">=", "Z", "L"]] if io is not None and io.upper is not None else []),
            ],
            "scale": [{name: convert_number(value) for name, value in point.items()} for point in self.scale],
            "metrics": [self.build_metric(row) for row in view.rows if row.metric != "io"],
            "io": None if io is None or io.upper is None else self.build_io(io),
            "bytes": None if self.moved is None or self.moved.upper is None else self.build_io(self.moved),
            "lines": list(self.iterate_lines()),
            "outside": {"work": 1},
            "lines_note": self.explain_missing_lines(),
            "claims": [
                {**pick(claim, "text", "outcome", "reason"), "place": str(claim.place)} for claim in view.contracts
            ],
            "sources": list(self._iterate_sources(io)),
        }

    # Metrics
    def build_metric(self, row: CostRow) -> dict[str, Any]:
        definition = METRICS.get(row.metric)
        values = self.find_sharper_values([row])
        cases = [
            self.build_case(where, self.build_amount(lower, upper, row.why, values, where))
            for where, lower, upper in row.cases
        ]
        return {
            "metric": row.metric,
            "unit": "" if definition is None else definition.unit,
            "meaning": "" if definition is None else definition.doc,
            "whole": definition is not None and definition.whole and row.status == "bounded",
            **pick(row, "status", "growth"),
            "cases": cases or [self.build_case(Region(), self.build_amount(None, None, row.why, values))],
        }

    def build_case(self, where: Region, amount: dict[str, Any]) -> dict[str, Any]:
        return {"where": list(map(to_data, where.facts)), "text": where.when, "amount": amount}

    def build_amount(
        self,
        lower: Poly | None,
        upper: Poly | None,
        reason: str | None,
        values: Mapping[str, Any] | None,
        where: Region | None = None,
    ) -> dict[str, Any]:
        text = self.view if where is None else self.view.restrict_to(where)
        low, high = (None if end is None else to_data(text.tree(end)) for end in (lower, upper))
        exact = lower is not None and lower == upper
        return {"lower": low, "upper": high, "exact": exact, "reason": reason, "grid": None if exact else values}

    def find_sharper_values(self, costs: Sequence[Cost]) -> Values | None:
        """Return the bounds of a sum of costs at the points of the scale; None if their forms are as sharp."""
        values, are_equal = _compare_values(costs, self.scale, evaluate_formulas)
        return None if are_equal else values

    # Cache misses
    def build_io(self, row: CostRow) -> dict[str, Any]:
        assert row.lower is not None

        def convert_value(value: Poly) -> Any:
            return to_data(self.view.tree(value))

        lowers = [("the least of all runs", row.lower), *((bound.by, bound.value) for bound in row.by_loop)]
        regimes = [
            {
                "where": list(map(to_data, bound.where.facts)),
                "text": bound.where.when,
                "value": convert_value(bound.value),
                "kept": to_json_value(list_kept(bound), convert_value),
            }
            for bound in row.by_cache
        ]
        optimality = () if row.attained is None else iterate_optimality_rows(row.attained)
        if not regimes and row.upper is not None:
            regimes = [{"where": [], "text": "", "value": convert_value(row.upper), "kept": []}]
        return {
            "metric": row.metric,
            "unit": "lines" if row.metric == "io" else "bytes",
            **pick(row, "status", "growth"),
            "optimality": [f"{name}: {text}" if name else text for name, text in optimality],
            "lowers": [{"by": by, "value": convert_value(value)} for by, value in lowers],
            "regimes": regimes,
            "grid": self.find_sharper_io(row),
        }

    def find_sharper_io(self, row: CostRow) -> dict[str, Any] | None:
        """Return bounds on io at sizes, by sizes, L and Z; None if the forms are as sharp."""
        grid = [
            [
                _compare_values([row], [{**point, "Z": words, "L": line} for words in CACHES], _enclose_by_forms)
                for line in LINES
            ]
            for point in self.scale
        ]
        if all(are_equal for by_line in grid for _, are_equal in by_line):
            return None
        values = {end: [[values[end] for values, _ in by_line] for by_line in grid] for end in ENDS}
        return {"Z": list(CACHES), "L": list(LINES), **values}

    # Lines
    def explain_missing_lines(self) -> str | None:
        if self.view.on_grid:
            return "on a grid costs are those of the longest path, which has parts of several processors"
        if self.report.lines:
            return None
        reason = next((row.why for row in self.view.rows if row.metric == "work" and row.why), "")
        return f"no costs of statements were derived{f': {reason}' if reason else ''}"

    def iterate_lines(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the algorithm, then others of its recursion, with what their statements cost."""
        node = self.report.node
        source = node.span.source.written_lines
        extent = range(node.span.line, min(node.span.end_line, len(source)) + 1)
        for line in (*extent, *sorted(self.report.lines.keys() - set(extent))):
            on_line = self.report.lines.get(line, {})
            amounts = {name: self.sum_costs(on_line[name]) if name in on_line else None for name in LINE_METRICS}
            yield {"line": line, "text": source[line - 1], **amounts}

    def sum_costs(self, costs: Sequence[Cost]) -> dict[str, Any]:
        """Return the sum of the costs of several statements, which is unknown where one is."""
        reason = next((cost.reason or "unknown" for cost in costs if cost.upper is None), None)
        values = None if all(cost.exact for cost in costs) else self.find_sharper_values(costs)
        if reason is not None:
            return self.build_amount(None, None, reason, values)
        lower, upper = (sum((end for cost in costs if (end := getattr(cost, name)) is not None), ZERO) for name in ENDS)
        return self.build_amount(lower, upper, None, values)

    # Sources
    def _iterate_sources(self, io: CostRow | None) -> Iterator[dict[str, str]]:
        published = None if io is None else io.published
        for bound in () if published is None else published.bounds:
            yield {"name": bound.by, "bound": f"io >= {bound.text}", "source": bound.source}


Values = dict[str, list[float | None]]
"""The lower and the upper bounds at several points; None where there is none."""
Enclosure = Callable[[Cost, Point], Interval]
"""A function that bounds a cost at a point."""


def _compare_values(costs: Sequence[Cost], points: Sequence[Point], enclose_by_forms: Enclosure) -> tuple[Values, bool]:
    """Return the sharpest bounds of a sum of costs at points, and whether those of the forms are equal."""
    sharp = [_sum_intervals(enclose_count, costs, point) for point in points]
    forms = [_sum_intervals(enclose_by_forms, costs, point) for point in points]
    values = {
        end: [None if pair is None else convert_number(pair[place]) for pair in sharp] for place, end in enumerate(ENDS)
    }
    return values, all(map(_is_equal, forms, sharp))


def _enclose_by_forms(cost: Cost, point: Point) -> Interval:
    """Evaluate the forms that a page shows of io: the greatest lower bound, and the least upper one that holds."""
    interval = evaluate_formulas(cost, point)
    lower = max([interval.lower, *(evaluate(bound.value, point) for bound in cost.by_loop)])
    return Interval(min(lower, interval.upper), interval.upper)


def _sum_intervals(enclose: Enclosure, costs: Sequence[Cost], point: Point) -> tuple[Number, Number] | None:
    """Sum the bounds of costs at a point; None if one has no value there."""
    try:
        intervals = [enclose(cost, point) for cost in costs]
    except (EvaluationError, ArchlineError, OverflowError):
        return None
    return sum(part.lower for part in intervals), sum(part.upper for part in intervals)


def _is_equal(form: tuple[Number, Number] | None, value: tuple[Number, Number] | None) -> bool:
    """Test whether the bounds of a form at a point are the sharpest ones there, up to the rounding of doubles."""
    if value is None or form is None:
        return value is None
    pairs = zip(form, value, strict=True)
    return all(a == b or (b != 0 and -MAX_ROUNDING <= (a - b) / b <= MAX_ROUNDING) for a, b in pairs)


def convert_number(value: Number) -> float:
    """Return a number as JSON has it; fractions become doubles."""
    return int(value) if value == int(value) else float(value)
